#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod answers;
mod audit;
mod columns;
mod config;
mod connection;
mod create;
mod fault;
mod feed;
mod find;
mod journal;
mod lane;
mod migrate;
mod notifications;
mod outbox;
mod payment;
mod postgres;
mod rates;
mod rows;
mod schema;
mod session;
mod sorts;
mod sql;
mod sqlite;
mod stash;
mod statement;
mod store;
mod wake;
mod wallet;

pub use config::{OpenError, Role, StoreConfig};
pub use store::Store;
pub use wake::WakeUps;
