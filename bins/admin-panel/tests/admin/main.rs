//! The admin panel as browsers meet it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod accounts;
mod audited;
mod common;
mod language;
mod live;
mod money;
mod panel;
mod roles;
