#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod card;
mod plaintext;
mod scheme;
mod stashed;
mod wallet;
mod warning;

pub use card::Card;
pub use plaintext::MalformedPlaintext;
pub use scheme::Scheme;
pub use stashed::{StashedData, StashedKind};
pub use wallet::{Wallet, WalletToken};
pub use warning::{NUMBER_LENGTHS, Warning};
