#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answer;
mod client;
mod dialer;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod hostile;
mod internet;
mod meter;
mod signature;
#[cfg(test)]
mod ssrf;
mod stream;
mod targets;
mod thread;

pub use client::{ClientConfig, WebhookClient};
pub use dropin_access::{TargetPolicy, TargetRefused};
