//! The use cases over the real store, with a clock that the test moves and a processor that says what each case scripts.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod access;
mod audit_log;
mod databases;
mod operators;
mod payments;
mod rates;
mod wallet;
