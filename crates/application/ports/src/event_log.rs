use async_trait::async_trait;
use dropin_kernel::{EventId, MerchantId, PaymentId, Timestamp};

use crate::store::StoreError;

/// A position in a merchant's event log. No event is ever inserted before a position that was given out, whatever commits late
/// and whatever is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventLogPosition {
    /// Says which transaction wrote the event; the store's own count.
    pub tick: i64,
    /// Tells events of one tick apart.
    pub number: i64,
}

impl EventLogPosition {
    /// Before every event.
    pub const START: Self = Self { tick: 0, number: 0 };
}

/// An event as it was or would be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Where it stands.
    pub position: EventLogPosition,
    /// `webhook-id`.
    pub event_id: EventId,
    /// The payment it belongs to.
    pub payment_id: PaymentId,
    /// `webhook-sequence`: its number within the payment, from 1.
    pub sequence: i64,
    /// EventType.
    pub event_type: String,
    /// When the event happened.
    pub happened_at: Timestamp,
    /// The exact bytes.
    pub body: Vec<u8>,
}

/// A page of a merchant's event log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventLogPage {
    /// In their order.
    pub events: Vec<LoggedEvent>,
    /// Whether there are more behind them already.
    pub more: bool,
}

/// A merchant's events in a stable order: events of one payment in the order of its changes.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// The first `limit` of the merchant's events that stand after `after`, or fewer when their bodies come to several megabytes; at least one where
    /// there is one. An event is there once everything that may stand before it is written or undone.
    async fn read_event_log(
        &self,
        merchant: MerchantId,
        after: EventLogPosition,
        limit: u32,
    ) -> Result<EventLogPage, StoreError>;
}
