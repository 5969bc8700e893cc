//! Statements of the hot path for SQLite: texts that are prepared once per connection.

mod append_only;
mod create;
mod transaction;

pub(crate) use append_only::enqueue_events;
pub(crate) use create::insert;
pub(crate) use transaction::{begin_read, end_read, release, savepoint, undo};
