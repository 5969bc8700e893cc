#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod change;
mod coded_enum;
mod ids;
mod processor_id;
mod span;
mod timestamp;
mod violation;

pub use change::{Change, Revision};
pub use coded_enum::UnknownCode;
pub use ids::{
    ApiUserId, AttemptId, AuditEntryId, BillingProfileId, ContractId, DisputeAnswerId, DisputeId, EndpointId, EventId,
    LedgerTransactionId, MerchantId, MoneyRequestId, OpId, OperatorId, OperatorSessionId, OrderId, ParseIdError,
    PaymentId, RateOfferId, RefundId, SessionId,
};
pub use processor_id::{InvalidProcessorId, MAX_PROCESSOR_ID_BYTES, ProcessorId};
#[cfg(feature = "serde")]
pub use span::span_text;
pub use span::{parse_span, write_span};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use violation::{Violation, ViolationCode, Violations};

/// The crate whose traits the macros of this one implement.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;
/// The types of these crates stand in the signatures of this one.
pub use {time, uuid};
