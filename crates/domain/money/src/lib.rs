#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod allocation;
mod amount;
mod amount_text;
mod arithmetic;
mod currency;
mod decimal;
mod iso_currency;
mod rounding;
#[cfg(feature = "serde")]
mod serialized;

pub use amount::{Amount, AmountError, MAX_INTEGER_DIGITS};
pub use amount_text::ParseAmountError;
pub use arithmetic::ArithmeticError;
pub use currency::{Currency, UnknownCurrency};
pub use decimal::{Decimal, DecimalError};
pub use iso_currency::{IsoCurrency, UnknownIsoCurrency};
pub use rounding::{Rounding, UnknownRounding};
