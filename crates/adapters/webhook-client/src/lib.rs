#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod client;
mod dialer;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod hostile;
mod internet;
mod meter;
mod redaction;
mod signature;
#[cfg(test)]
mod ssrf;
mod stream;
mod targets;
mod thread;

pub use client::{WebhookClient, WebhookClientConfig};
pub use dropin_access::{TargetPolicy, TargetRefused};
