#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod calendar;
mod fixed;
mod limits;
mod merge;
mod offer;
mod pricing;
mod rate;
mod ratio;
mod settlement;
mod table;

pub use calendar::{is_publication_day, nth_publication_after, overdue_at};
pub use fixed::{Conversion, conversion_on};
pub use limits::{Limits, LimitsError};
pub use merge::{Merged, Refusal, RefusedQuote, SourceTable};
pub use offer::{Offer, OfferPolicy, OfferPolicyError, OfferSetId};
pub use pricing::{Markup, MarkupTooHigh, Pricing};
pub use rate::{Rate, RateError};
pub use settlement::{SettlementError, refund_share, settlement_amount};
pub use table::{Dated, Quote, Source, Table};
