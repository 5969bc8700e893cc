#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod calendar;
mod exchange;
mod fixed;
mod limits;
mod merge;
mod offer;
mod pricing;
mod rate;
mod ratio;
#[cfg(feature = "serde")]
mod serialized;
mod settlement;
mod table;

pub use calendar::{is_publication_day, nth_publication_after, overdue_at};
pub use exchange::{ExchangeError, ExchangeRate, ExchangeRateError};
pub use fixed::{Conversion, conversion_on};
pub use limits::{LimitsError, RateSourceLimits};
pub use merge::{Merged, QuoteRefusal, RefusedQuote, SourceTable};
pub use offer::{Offer, OfferPolicy, OfferPolicyError, OfferSetId};
pub use pricing::{Markup, MarkupTooHigh, Pricing};
pub use rate::{InverseTooSmall, Rate, RateError};
pub use table::{Dated, ParseDatedError, Quote, Source, Table};
/// Its [`Date`](time::Date) stands in the signatures of this crate.
pub use time;
