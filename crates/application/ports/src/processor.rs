use async_trait::async_trait;
use dropin_card::Card;
use dropin_kernel::{OpId, OrderId};
use dropin_money::Amount;
use dropin_order::DeclineReason;

/// An authorization to ask for.
#[derive(Debug)]
pub struct AuthorizeRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The Order, for the processor's own records.
    pub order_id: OrderId,
    /// How much to reserve.
    pub amount: Amount,
    /// The card; wiped when dropped.
    pub card: Card,
}

/// A capture to ask for.
#[derive(Debug, Clone)]
pub struct CaptureRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The authorization to take from.
    pub authorization: OpId,
    /// How much to take; the rest is released.
    pub amount: Amount,
}

/// What a processor says of an operation (decisions.md section 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessorAnswer {
    /// Done, for this amount. A different amount than asked is for the caller to notice.
    Approved {
        /// What the processor says it did.
        amount: Amount,
    },
    /// Refused.
    Declined {
        /// Why.
        reason: DeclineReason,
        /// Whether another try may succeed.
        retryable: bool,
    },
    /// Accepted; the outcome comes later and is asked for by key.
    Pending,
    /// The processor was told to refuse this key for ever, before anything was done under it.
    Abandoned,
    /// Nobody knows: time-out, reset, 5xx or an answer that makes no sense. Ask again by key.
    Unknown {
        /// For the log; never card data.
        why: String,
    },
    /// Surely never sent: no connection could be made.
    NotSent,
}

/// What a processor says when asked for the status by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusAnswer {
    /// It knows the key.
    Known(ProcessorAnswer),
    /// It surely never did anything under the key (it may still arrive late).
    Absent,
    /// It cannot be asked now.
    Unreachable {
        /// For the log.
        why: String,
    },
}

/// A payment processor. Every operation is idempotent by its key; nothing here ever retries by itself.
#[async_trait]
pub trait Processor: Send + Sync {
    /// Reserves money.
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorAnswer;

    /// Takes reserved money.
    async fn capture(&self, request: CaptureRequest) -> ProcessorAnswer;

    /// What became of the operation with this key.
    async fn status(&self, key: OpId) -> StatusAnswer;

    /// Makes the processor refuse the key for ever, unless it has acted under it already: then that is the answer.
    async fn abandon(&self, key: OpId) -> StatusAnswer;
}
