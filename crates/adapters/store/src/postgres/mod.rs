//! Statements of the hot path that only PostgreSQL has: one for many callers.

mod create;
mod find;
mod journal;
mod operation;
mod prepare;
mod settle;

pub(crate) use create::insert;
pub(crate) use find::find;
pub(crate) use journal::{announce, post, remember};
pub(crate) use prepare::prepare;
pub(crate) use settle::settle;
