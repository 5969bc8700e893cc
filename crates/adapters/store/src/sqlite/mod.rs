//! Statements of the hot path for SQLite: texts that are prepared once per connection.

mod append_only;
mod create;

pub(crate) use append_only::enqueue_events;
pub(crate) use create::insert;
