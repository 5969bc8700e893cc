#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod archive;
mod csv;
mod days;
mod xml;

pub use days::{Days, FormatError, MAX_BYTES, Place, Wrong, exchange_rates, read_days};
/// Its [`Date`](time::Date) stands in the signatures of this crate.
pub use time;
