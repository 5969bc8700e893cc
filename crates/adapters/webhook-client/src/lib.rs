#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod client;
#[cfg(test)]
mod hostile;
mod signature;
mod target;
mod thread;

pub use client::{ClientConfig, WebhookClient};
pub use target::{TargetPolicy, TargetRefused};
