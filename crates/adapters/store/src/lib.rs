#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod activity;
mod append_only;
mod audit;
mod audit_log;
mod back_office;
mod batch_queues;
mod checks;
mod clock;
mod columns;
mod config;
mod connection;
mod contract;
mod create;
mod deployment;
mod dispute;
mod event_log;
mod fault;
mod find;
mod grants;
mod idempotency;
mod ledger;
mod migrate;
mod notifications;
mod operator;
mod outbox;
mod payment;
mod pooler;
mod postgres;
#[cfg(test)]
mod query_plan;
mod rates;
mod rows;
mod schema;
mod screening;
mod screening_rules;
mod sealed;
mod session;
mod sql;
mod sqlite;
mod stash;
mod statement;
mod store;
mod tls;
mod wake;
mod wallet;
mod worker_pool;

pub use checks::StoreCheck;
pub use clock::ClockDifference;
pub use config::{AddressRefused, DatabaseAddress, OpenError, ReplaceError, Role, StoreConfig};
pub use deployment::{Deployment, DeploymentMode, StartRefused};
pub use grants::grants;
pub use store::Store;
pub use wake::WakeSubscription;
