//! The store on both databases: all cases of crates/adapters/store-contract, what each database alone has, and the schema.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;
mod postgres;
mod schema;
mod sqlite;
mod upgrade;
