#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod change;
mod ids;
mod span;
mod timestamp;
mod violation;

pub use change::{Change, Revision};
pub use ids::{
    ApiUserId, AttemptId, BillingProfileId, EndpointId, EventId, LedgerTransactionId, MerchantId, OpId, OrderId,
    ParseIdError, PaymentId, RateOfferId, RefundId, SessionId,
};
pub use span::{parse_span, write_span};
pub use timestamp::Timestamp;
pub use violation::{Violation, ViolationCode, Violations};
