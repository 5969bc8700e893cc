//! session-api: its operations over HTTP, and the program as an operator starts it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;
mod contract;
mod errors;
mod events;
mod idempotency;
mod orders;
mod permissions;
mod program;
mod rates;
mod sessions;
