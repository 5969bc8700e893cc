#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod client;
mod identity;
mod names;
#[cfg(test)]
mod tests;
mod thread;

pub use client::{WalletClient, WalletClientConfig};
