//! The exact bytes of answers and notifications, and what requests are taken for.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bodies;
mod checkout;
mod checkout_actions;
mod common;
mod contract_bodies;
mod contract_requests;
mod orders;
mod session_request;
mod stash;
