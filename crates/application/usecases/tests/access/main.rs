//! Accounts and how their users are let in, over the real store and keys.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod accounts;
mod authenticate;
mod endpoints;
mod harness;
mod key_rotation;
mod screening_rules;
