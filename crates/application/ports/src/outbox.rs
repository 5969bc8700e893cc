use std::time::Duration;

use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_notification::Schedule;

use crate::store::StoreError;

/// Names one try at one delivery, so that a late result of an earlier holder changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryKey {
    /// The stream in the queue.
    pub stream: i64,
    /// The notification's number within its payment, from 1.
    pub sequence: i64,
    /// The number of the try, from 1.
    pub attempt: u32,
}

/// A notification to send now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Which try this is.
    pub key: DeliveryKey,
    /// Whose notification it is.
    pub merchant_id: MerchantId,
    /// Whether the merchant's account is one of a sandbox.
    pub sandbox: bool,
    /// Where it goes.
    pub endpoint_id: EndpointId,
    /// The endpoint's URL.
    pub url: String,
    /// What signs it: the endpoint's secret, and the one of before while it still counts.
    pub secrets: Vec<SealedSecret>,
    /// From when on the first of `secrets` signs alone.
    pub old_secret_until: Option<Timestamp>,
    /// The payment it belongs to.
    pub payment_id: PaymentId,
    /// `webhook-id`.
    pub event_id: EventId,
    /// EventType.
    pub event_type: String,
    /// The exact bytes.
    pub body: Vec<u8>,
    /// When the first try at this notification was made.
    pub first_try: Timestamp,
    /// How many of the tries the schedule does not count: looks whether a dead endpoint is back, and tries that our own death ended.
    pub uncounted: u32,
    /// When what it tells happened.
    pub happened_at: Timestamp,
    /// When the endpoint wants to be tried again; `None` for the deployment's schedule.
    pub retry: Option<Schedule>,
    /// Whether it was claimed because an earlier lease had run out: whoever held that died or was too slow.
    pub lease_expired: bool,
}

impl Delivery {
    /// Which of the tries that count this is, from 1.
    pub fn tries(&self) -> u32 {
        self.key.attempt.saturating_sub(self.uncounted).max(1)
    }
}

/// What was claimed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// To be sent, each under a lease.
    pub deliveries: Vec<Delivery>,
    /// Endpoints of which as much was leased as one claim takes of each, whether or not it is to be sent: more may be due there now.
    pub more: Vec<EndpointId>,
}

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult {
    /// Acknowledged: the stream goes on.
    Acknowledged,
    /// Try the same again then.
    Retry {
        /// When.
        at: Timestamp,
    },
    /// Parked: the stream goes on without it.
    Parked,
    /// Try the same again then, and do not count this try: it was only a look whether a dead endpoint is back, or was never made.
    Held {
        /// When.
        at: Timestamp,
    },
}

/// One try for the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Where it went.
    pub endpoint_id: EndpointId,
    /// The notification.
    pub event_id: EventId,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// HTTP status, if an answer came.
    pub status: Option<u16>,
    /// What happened instead of an answer.
    pub why: Option<&'static str>,
    /// Beginning of the answer's body, without secrets; at most 4 KiB.
    pub answer: Vec<u8>,
}

/// What came of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTry {
    /// Which.
    pub key: DeliveryKey,
    /// What came of it.
    pub result: DeliveryResult,
    /// For the history; `None` when nothing was sent.
    pub record: Option<AttemptRecord>,
}

impl FinishedTry {
    /// Without anything for the history.
    pub const fn new(key: DeliveryKey, result: DeliveryResult) -> Self {
        Self { key, result, record: None }
    }
}

/// What came of writing down what came of tries.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FinishedDeliveries {
    /// The next notification of each stream that goes on, under a lease.
    pub next: Vec<Delivery>,
    /// Results that changed nothing: somebody else has the stream by now, or had its end, and the notification may have been sent twice; or they
    /// were already written when the answer was lost, and are told once more.
    pub fenced: u32,
}

/// The queue of notifications: one stream per endpoint and payment, in order.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Takes streams that are due, at most `per_endpoint` of one endpoint and `limit` in all, and leases each until `lease_until` (a crash
    /// needs no reaper: the lease is the stream's next due time). Endpoints share the limit equally, so that fewer than `limit` may be taken
    /// though more are due: [`Claimed::more`] says where. What somebody asked for again takes what is left when what is new has been taken, and about
    /// an eighth where there is always something new.
    ///
    /// What is due at an endpoint that was removed is parked here instead; see [`OutboxStore::park_removed`].
    ///
    /// Endpoints in `full` are passed over: the caller already works on as much for them as it may, and taking more would only count tries that
    /// are never made.
    async fn claim_deliveries(
        &self,
        full: &[EndpointId],
        now: Timestamp,
        lease_until: Timestamp,
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Claimed, StoreError>;

    /// Takes one stream of `endpoint` that is due, the one that is due longest, and leases it until `lease_until`: a look whether an endpoint that
    /// is passed over is back. A look that failed and is [`DeliveryResult::Held`] until later lets another stream have the next one.
    async fn claim_probe(
        &self,
        endpoint: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError>;

    /// Parks the next notification of streams that are due at `endpoint`, under nobody's lease, and wait for longer than since `give_up_before`,
    /// counted from the first try or, where none was made, from when it was told (of a replay: from when it was due; what comes behind it in the same
    /// payment is when its turn comes). Looks at all that is due there, about half a microsecond each: not for every moment. For an endpoint
    /// that is passed over, whose notifications would otherwise never come to their end. At most `limit` streams; each goes on with what comes
    /// behind, which waits for its own time. Returns how many notifications were parked: at `limit` there may be more.
    async fn park_overdue(
        &self,
        endpoint: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError>;

    /// Writes what came of tries with their records, each whole or not at all; an error says that none is known to be written. A result whose key no longer matches changes nothing (its record is
    /// written all the same, because it was sent). Returns the next notification of each stream that goes on, under a lease until `lease_until`;
    /// when that is not after `now`, nothing is handed out and what is next is due at once.
    async fn finish_deliveries(
        &self,
        results: Vec<FinishedTry>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError>;

    /// Parks what waits for an endpoint that was removed, at most `limit` payments of it, so that nothing is lost without a trace. Returns how many
    /// notifications were parked and whether there may be more.
    async fn park_removed(&self, endpoint: EndpointId, now: Timestamp, limit: u32) -> Result<(u32, bool), StoreError>;
}
