//! Statements of the hot path that only PostgreSQL has: one for many callers.

mod create;
mod find;
mod journal;

pub(crate) use create::insert;
pub(crate) use find::find;
pub(crate) use journal::{announce, post, remember};
