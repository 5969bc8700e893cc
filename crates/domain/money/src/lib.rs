#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod amount;
mod currency;
mod decimal;

pub use amount::{Amount, AmountError, MAX_INTEGER_DIGITS};
pub use currency::{Currency, UnknownCurrency};
pub use decimal::{Decimal, DecimalError};
