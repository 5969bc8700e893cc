#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod card;
mod scheme;

pub use card::Card;
pub use scheme::Scheme;
