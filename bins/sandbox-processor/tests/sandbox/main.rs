//! The sandbox processor over HTTP: cards, wallets, hosted pages, what it stores, and the program.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cards;
mod common;
mod credentials;
mod hosted;
mod idempotency;
mod pages;
mod program;
mod rules;
mod storage;
mod wallet;
