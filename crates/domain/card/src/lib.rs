#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod brand;
mod card;
mod card_hash;
mod client_facts;
mod co_badge;
mod iin_range;
mod last_four;
mod plaintext;
mod scheme;
mod stashed;
mod wallet;
mod warning;

pub use brand::CardBrand;
pub use card::Card;
pub use card_hash::CardHash;
pub use client_facts::ClientFacts;
pub use last_four::{InvalidLastFour, LastFour};
pub use plaintext::MalformedPlaintext;
pub use scheme::Scheme;
pub use stashed::{StashContents, StashedData, StashedKind};
pub use wallet::{Wallet, WalletToken};
pub use warning::{NUMBER_LENGTHS, Warning};
/// What exposes a secret gives it in this crate's wrapper, which wipes it.
pub use zeroize;
