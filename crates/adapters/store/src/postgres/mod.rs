//! Statements of the hot path that only PostgreSQL has: one for many callers.

mod append_only;
mod create;
mod find;
mod operation;
mod prepare;
mod replace;
mod settle;

pub(crate) use append_only::{append_history, append_history_with_audit, enqueue_events};
pub(crate) use create::insert;
pub(crate) use find::find;
pub(crate) use prepare::prepare;
pub(crate) use replace::replace;
pub(crate) use settle::settle;
