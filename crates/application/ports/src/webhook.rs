use async_trait::async_trait;
use dropin_kernel::{EventId, Timestamp};
use dropin_notification::AttemptOutcome;

/// One signed POST to a merchant.
#[derive(Clone)]
pub struct WebhookRequest {
    /// Where.
    pub url: String,
    /// `webhook-id`.
    pub event_id: EventId,
    /// `webhook-sequence`.
    pub sequence: i64,
    /// The exact bytes.
    pub body: Vec<u8>,
    /// Sign with each of these (Standard Webhooks; several while a secret rotates).
    pub secrets: Vec<Vec<u8>>,
    /// `webhook-timestamp`.
    pub at: Timestamp,
}

/// What came of sending once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Whether and how the receiver answered.
    pub outcome: AttemptOutcome,
    /// Beginning of the answer's body, without secrets; at most 4 KiB.
    pub answer: Vec<u8>,
}

impl From<AttemptOutcome> for Sent {
    /// Without a body.
    fn from(outcome: AttemptOutcome) -> Self {
        Self { outcome, answer: Vec::new() }
    }
}

/// Sends notifications to addresses that merchants chose.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Sends once: no redirects, a limit on time and on what is read of the answer.
    async fn send(&self, request: WebhookRequest) -> Sent;
}
