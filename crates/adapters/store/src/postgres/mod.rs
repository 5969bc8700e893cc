//! Statements of the hot path that only PostgreSQL has: one for many callers.

mod create;
mod find;

pub(crate) use create::insert;
pub(crate) use find::find;
