#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod access;
pub mod answers;
pub mod audit;
pub mod catalogue;
mod chance;
pub mod deliver;
pub mod events;
pub mod notifications;
pub mod payments;
pub mod rates;
mod recent;
pub mod sessions;
pub mod stash;
pub mod wallet;
