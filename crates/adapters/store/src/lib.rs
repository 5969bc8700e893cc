#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod append_only;
mod audit;
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
mod event_log;
mod fault;
mod find;
mod grants;
mod idempotency;
mod migrate;
mod notifications;
mod outbox;
mod payment;
mod pooler;
mod postgres;
mod rates;
mod rows;
mod schema;
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
