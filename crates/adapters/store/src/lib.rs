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
mod contract;
mod create;
mod deployment;
mod dispute;
mod event_log;
mod find;
mod grants;
mod idempotency;
mod ledger;
mod migrations;
mod notifications;
mod operator;
mod outbox;
mod payment;
mod postgres;
mod processor_account;
#[cfg(test)]
mod query_plan;
mod rates;
mod replace;
mod rows;
mod schema;
mod screening;
mod screening_rules;
mod sealed;
mod session;
mod sqlite;
mod stash;
mod store;
mod wallet;

pub use checks::StoreCheck;
pub use clock::ClockDifference;
pub use deployment::{Deployment, DeploymentMode, StartRefused};
pub use dropin_store_runtime::config::{AddressRefused, DatabaseAddress, OpenError, ReplaceError, Role, StoreConfig};
pub use dropin_store_runtime::wake::WakeSubscription;
pub use grants::grants;
pub use store::Store;
