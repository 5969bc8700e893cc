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
    /// How many of the tries the schedule does not count: probes of a dead endpoint, and tries that ended with the notifier that made them.
    pub uncounted: u32,
    /// When the event happened.
    pub happened_at: Timestamp,
    /// When the endpoint wants to be tried again; `None` for the deployment's schedule.
    pub retry: Option<Schedule>,
    /// Whether it was claimed because an earlier lease had run out: the notifier that held it died or was too slow.
    pub lease_expired: bool,
}

impl Delivery {
    /// Which of the tries that count this is, from 1.
    pub fn tries(&self) -> u32 {
        self.key.attempt.saturating_sub(self.uncounted).max(1)
    }
}

/// The result of a claim.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// To be sent, each under a lease.
    pub deliveries: Vec<Delivery>,
    /// Endpoints of which as much was leased as one claim takes of each, whether or not it is to be sent: more may be due there now.
    pub more: Vec<EndpointId>,
}

/// The result of a try.
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
    /// Try the same again then, and do not count this try: it was a probe of a dead endpoint, or was never made.
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

/// The result of one try, with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    /// Which.
    pub key: DeliveryKey,
    /// The result.
    pub result: DeliveryResult,
    /// For the history; `None` when nothing was sent.
    pub record: Option<AttemptRecord>,
}

impl AttemptResult {
    /// Without anything for the history.
    pub const fn new(key: DeliveryKey, result: DeliveryResult) -> Self {
        Self { key, result, record: None }
    }
}

/// The outcome of writing results.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FinishedDeliveries {
    /// The next notification of each stream that goes on, under a lease.
    pub next: Vec<Delivery>,
    /// Results that changed nothing. Another notifier holds the stream by now, or has ended it, and the notification may have been sent twice; or the
    /// results were written before, and the answer to that was lost.
    pub fenced: u32,
}

/// The queue of notifications: one stream per endpoint and payment, in order.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Takes streams that are due, at most `per_endpoint` of one endpoint and `limit` in all, and leases each until `lease_until` (a crash
    /// needs no reaper: the lease is the stream's next due time). Endpoints share the limit equally, so that fewer than `limit` may be taken
    /// though more are due: [`Claimed::more`] says where. Replays get what new notifications leave, and about an eighth where there are
    /// always new ones.
    ///
    /// What is due at an endpoint that was removed is parked here instead; see [`OutboxStore::park_removed`].
    ///
    /// Endpoints in `full` are skipped: the caller has as many of their notifications in flight as it may, and a claim would count tries that are never
    /// made.
    async fn claim_deliveries(
        &self,
        full: &[EndpointId],
        now: Timestamp,
        lease_until: Timestamp,
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Claimed, StoreError>;

    /// Takes one stream of `endpoint` that is due, the one that is due longest, and leases it until `lease_until`, to probe an endpoint that claims
    /// skip. A probe that failed and is [`DeliveryResult::Held`] until later leaves the next one to another stream.
    async fn claim_probe(
        &self,
        endpoint: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError>;

    /// Parks the next notification of streams that are due at `endpoint`, under no lease, and have waited since before `give_up_before`: counted from
    /// the first try, or from when the event was written where no try was made (of a replay: from when it was due; of one behind it in the same payment:
    /// from its turn). For an endpoint that claims skip, whose notifications would otherwise never end. Reads all that is due there, about half a
    /// microsecond each: not for every moment. At most `limit` streams; each goes on with its next notification, which waits for its own time.
    /// Returns how many notifications were parked: at `limit` there may be more.
    async fn park_overdue(
        &self,
        endpoint: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError>;

    /// Writes results with their records, each whole or not at all; an error says that none is known to be written. A result whose key no longer
    /// matches changes nothing (its record is written all the same, because it was sent). Returns the next notification of each stream that goes on, under a lease until `lease_until`;
    /// when that is not after `now`, none is returned and the next ones are due at once.
    async fn finish_deliveries(
        &self,
        results: Vec<AttemptResult>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError>;

    /// Parks what waits for an endpoint that was removed, at most `limit` payments of it, so that nothing is lost without a trace. Returns how many
    /// notifications were parked and whether there may be more.
    async fn park_removed(&self, endpoint: EndpointId, now: Timestamp, limit: u32) -> Result<(u32, bool), StoreError>;
}
