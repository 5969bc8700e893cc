#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod config;
pub mod connection;
pub mod fault;
pub mod migrate;
pub mod pooler;
pub mod sql;
pub mod statement;
mod threads;
mod tls;
pub mod wake;
pub mod worker_pool;
