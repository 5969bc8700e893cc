use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_notification::EventFilter;
use uuid::Uuid;

use crate::audit_log::NewAuditEntry;
use crate::store::StoreError;

/// The delivery state of a notification at one endpoint. It is not stored: it is derived from the streams of the endpoint, from what is parked or
/// discarded and from what is known of tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryState {
    /// A stream is at it, or has still to come to it: it is under way, is tried again, or waits for the one before.
    Pending,
    /// Given up, and it can be sent again.
    Parked,
    /// Acknowledged: a try was answered 200. Where tries are deleted by age already, a stream that has passed it says as much.
    Delivered,
    /// Passed over, before or after tries, because the endpoint was not told of such events when its turn came.
    NotWanted,
    /// Given up at an endpoint that was removed, and sent to another one instead.
    Moved,
    /// Given up, and discarded by an operator or the merchant.
    Discarded,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Parked, Self::Delivered, Self::NotWanted, Self::Moved, Self::Discarded];

    /// Its name for people and scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Parked => "PARKED",
            Self::Delivered => "DELIVERED",
            Self::NotWanted => "NOT_WANTED",
            Self::Moved => "MOVED",
            Self::Discarded => "DISCARDED",
        }
    }
}

/// A notification at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Where it goes.
    pub endpoint_id: EndpointId,
    /// Whether that endpoint was removed.
    pub removed: bool,
    /// Whether the endpoint subscribes to such events now.
    pub wanted: bool,
    /// Its state there.
    pub state: DeliveryState,
    /// How often it was tried since it was queued last; of one that is over, as often as is known.
    pub tries: u32,
    /// When it is due, or whoever sends it now has to be done; `None` while it waits for the one before, and when it is over.
    pub due_at: Option<Timestamp>,
    /// When it was given up, while it is parked.
    pub parked_at: Option<Timestamp>,
    /// When the newest try began that was answered 200, as long as that is known.
    pub delivered_at: Option<Timestamp>,
}

/// A notification without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// `webhook-id`.
    pub event_id: EventId,
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// The payment it belongs to.
    pub payment_id: PaymentId,
    /// `webhook-sequence`: its number within the payment, from 1.
    pub sequence: i64,
    /// EventType.
    pub event_type: String,
    /// When the event happened.
    pub happened_at: Timestamp,
    /// Its status at the merchant's endpoints that it was enqueued for, in the order of their ids.
    pub statuses: Vec<DeliveryStatus>,
}

/// A try of before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAttempt {
    /// Where it went.
    pub endpoint_id: EndpointId,
    /// Its number since the notification was queued, from 1.
    pub attempt: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// HTTP status, if an answer came.
    pub status: Option<u16>,
    /// What happened instead of an answer.
    pub why: Option<String>,
    /// Beginning of the answer's body; at most 4 KiB.
    pub answer: Vec<u8>,
}

/// A notification with all that is kept about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationDetails {
    /// What it is, and its status.
    pub notification: Notification,
    /// The exact bytes.
    pub body: Vec<u8>,
    /// What came of tries, as long as they are kept; oldest first.
    pub tries: Vec<PastAttempt>,
}

/// Which notifications are meant; everything that is `None` leaves the choice open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotificationFilter {
    /// Of that merchant.
    pub merchant: Option<MerchantId>,
    /// To that endpoint.
    pub endpoint: Option<EndpointId>,
    /// Of such types.
    pub types: Option<EventFilter>,
    /// That stand so at an endpoint.
    pub state: Option<DeliveryState>,
    /// That happened then or later.
    pub since: Option<Timestamp>,
    /// That happened before then.
    pub until: Option<Timestamp>,
    /// Of that payment; the Order's id names it too.
    pub payment: Option<PaymentId>,
}

/// A look at notifications. They come in the order of their ids, which are given in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationQuery {
    /// Which.
    pub filter: NotificationFilter,
    /// Those that come after this one.
    pub after: Option<EventId>,
    /// Oldest first; else newest first.
    pub oldest_first: bool,
    /// At most so many.
    pub limit: u32,
}

/// A part of what was looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotificationPage {
    /// In their order; where an endpoint or a state is looked for, only with the statuses that are meant.
    pub notifications: Vec<Notification>,
    /// Where to look on; `None` at the end. A page may be short, or empty, before the end: a look goes through so many only.
    pub next: Option<EventId>,
}

/// A request to send notifications again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// Names what was asked for at once, however many steps it takes.
    pub id: Uuid,
    /// Who.
    pub by: String,
    /// What, in words.
    pub wanted: String,
    /// How long one is due after the other, and all of them after those that were asked for before; `None` for at once.
    pub gap: Option<Duration>,
    /// Only counts what would come of it.
    pub dry_run: bool,
    /// The entry of the audit log, written where anything is queued or hurried.
    pub audit: NewAuditEntry,
}

/// A notification that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayItem {
    /// Which.
    pub event: EventId,
    /// The endpoint where it stands so.
    pub from: EndpointId,
    /// How it must stand there, because the choice was made by that; `None` if it does not matter. Where it waits for a later time then, it is due at
    /// once.
    pub state: Option<DeliveryState>,
}

/// What came of asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Queued again.
    pub queued: u32,
    /// Waiting for that endpoint until later, and due at once now.
    pub hurried: u32,
    /// Waiting for that endpoint already, so that nothing was done.
    pub waiting: u32,
    /// In another state by now, or gone.
    pub changed: u32,
    /// Of a type that the endpoint does not subscribe to.
    pub unwanted: u32,
    /// Not for that endpoint: it was removed, does not exist or is another merchant's.
    pub refused: u32,
}

/// A request to discard parked notifications without sending them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardRequest {
    /// Which, each with the endpoint where it is parked.
    pub items: Vec<(EventId, EndpointId)>,
    /// Who asks.
    pub by: String,
    /// Only counts them.
    pub dry_run: bool,
    /// The entry of the audit log, written where anything is discarded.
    pub audit: NewAuditEntry,
}

/// What was deleted of old events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventsPurged {
    /// Events.
    pub events: u32,
    /// What was kept of their tries.
    pub tries: u32,
    /// Where to go on; `None` at the end.
    pub next: Option<EventId>,
}

/// Notifications as people who run a deployment see them: what became of each, sending again, and deleting by age.
#[async_trait]
pub trait NotificationStore: Send + Sync {
    /// Looks for notifications.
    async fn list_notifications(&self, query: NotificationQuery) -> Result<NotificationPage, StoreError>;

    /// One with all that is kept about it.
    async fn find_notification(&self, id: EventId) -> Result<Option<NotificationDetails>, StoreError>;

    /// Queues notifications again for the endpoint `to`, unchanged and under their ids, and notes who asked. Those of one payment follow each other
    /// as ever: the next when the one before is acknowledged, parked again or has failed for an hour. What is parked or discarded stops being so. Other
    /// payments, and what is new, do not wait for them.
    async fn replay(
        &self,
        to: EndpointId,
        items: Vec<ReplayItem>,
        asked: ReplayRequest,
        now: Timestamp,
    ) -> Result<ReplayCounts, StoreError>;

    /// Takes notifications off the list of what is parked: they stand as discarded from now on, and who said so is kept with them. How many were (still)
    /// parked.
    async fn discard(&self, asked: DiscardRequest, now: Timestamp) -> Result<u32, StoreError>;

    /// Deletes at most `limit` of the tries that began before then, oldest first; how many.
    async fn purge_attempts(&self, before: Timestamp, limit: u32) -> Result<u32, StoreError>;

    /// How many tries began before then.
    async fn count_attempts(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Goes through the next `look_at` events after `after` and deletes those that happened before then, wait nowhere, are not parked, and are not
    /// the newest of their payment (its number is where the next one goes on), with what is kept of them. The first step, which is after none, deletes
    /// who asked for what to be sent again, too, where that was done before then.
    async fn purge_events(
        &self,
        before: Timestamp,
        after: Option<EventId>,
        look_at: u32,
    ) -> Result<EventsPurged, StoreError>;

    /// Counts what [`NotificationStore::purge_events`] would delete. Of tries only those that began at `tries_since` or later, where the older ones are
    /// counted already.
    async fn count_events(
        &self,
        before: Timestamp,
        tries_since: Option<Timestamp>,
        after: Option<EventId>,
        look_at: u32,
    ) -> Result<EventsPurged, StoreError>;
}
