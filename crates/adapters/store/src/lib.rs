#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod activity;
mod audit;
mod audit_log;
mod back_office;
mod checks;
mod clock;
mod columns;
mod contract;
mod deployment;
mod dispute;
mod event_log;
mod grants;
mod health;
mod history;
mod idempotency;
mod ledger;
mod migrations;
mod notifications;
mod open;
mod operator;
mod outbox;
mod payment;
mod processor_account;
#[cfg(test)]
mod query_plan;
mod rates;
mod rows;
mod schema;
mod screening;
mod sealed;
mod session;
mod start_state;
mod stash;
mod store;
mod wallet;

pub use checks::StoreCheck;
pub use clock::ClockDifference;
pub use dropin_store_runtime::config::{AddressRefused, DatabaseAddress, OpenError, ReplaceError, Role, StoreConfig};
pub use dropin_store_runtime::wake::WakeSubscription;
pub use grants::grants;
pub use start_state::{Deployment, DeploymentMode, StartRefused};
pub use store::Store;
