#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod access;
pub mod audit;
pub mod audit_log;
pub mod catalogue;
pub mod contracts;
pub mod deliver;
pub mod disputes;
pub mod events;
pub mod idempotency;
pub mod key_rotation;
pub mod notifications;
pub mod operators;
pub mod payments;
mod random;
pub mod rates;
pub mod screening;
pub mod sessions;
pub mod stash;
mod store_cache;
pub mod wallet;
