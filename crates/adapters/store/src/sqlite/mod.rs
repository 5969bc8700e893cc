//! Statements of the hot path for SQLite: texts that are prepared once per connection.

mod create;
mod journal;
mod transaction;

pub(crate) use create::insert;
pub(crate) use journal::{announce, post};
pub(crate) use transaction::{begin_read, end_read, release, savepoint, undo};
