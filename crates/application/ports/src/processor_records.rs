use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_money::Amount;

/// A span of time, its end not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSpan {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

/// Which of a processor's lists is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordList {
    /// Payments, whatever became of them.
    Payments,
    /// Refunds.
    Refunds,
}

/// What a payment or a refund has come to at its processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedMoney {
    /// No money is held or was moved: declined, released, failed.
    None,
    /// It is not decided.
    Open,
    /// So much is reserved.
    Reserved(Amount),
    /// So much was taken.
    Captured(Amount),
    /// So much was given back.
    Refunded(Amount),
}

impl RecordedMoney {
    /// How much is held or was moved.
    pub const fn amount(&self) -> Option<&Amount> {
        match self {
            Self::None | Self::Open => None,
            Self::Reserved(amount) | Self::Captured(amount) | Self::Refunded(amount) => Some(amount),
        }
    }
}

/// A payment or a refund as its processor's list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorRecord {
    /// The processor's own id of it.
    pub reference: String,
    /// When it was created there.
    pub created_at: Timestamp,
    /// The operation that it was asked for by; `None` where nobody here asked: a refund that was made by hand.
    pub operation: Option<OpId>,
    /// The Order, as it was told.
    pub order: Option<OrderId>,
    /// The merchant, as it was told.
    pub merchant: Option<MerchantId>,
    /// The merchant's reference, as it was told.
    pub merchant_reference: Option<String>,
    /// Id of the payment method in the catalogue, as it was told.
    pub payment_method: Option<String>,
    /// The operation by which a payment was captured, where nothing was taken at once; `None` also where that was done by hand.
    pub capture: Option<OpId>,
    /// What it came to.
    pub money: RecordedMoney,
}

/// A page of a processor's list. What is none of ours, as of an account that others use too, is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorRecordPage {
    /// What is on it.
    pub records: Vec<ProcessorRecord>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// A processor's list cannot be read now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the processor's list cannot be read: {0}")]
pub struct ProcessorRecordsUnavailable(pub String);

/// A processor's own lists of payments and refunds by the time of their creation.
#[async_trait]
pub trait ProcessorRecords: Send + Sync {
    /// The page of a list that begins at `next` of the page before, or the first one.
    async fn list_records(
        &self,
        list: RecordList,
        span: RecordSpan,
        next: Option<&str>,
    ) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable>;
}
