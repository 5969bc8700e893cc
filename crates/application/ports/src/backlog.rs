use async_trait::async_trait;
use dropin_kernel::{EndpointId, MerchantId, Timestamp};

use crate::store::StoreError;

/// What waits for one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointBacklog {
    /// Which.
    pub endpoint_id: EndpointId,
    /// Notifications that it has not acknowledged: due, under way, or to be tried again.
    pub waiting: u64,
    /// When the one that waits longest for its turn was or will be due.
    pub oldest_due: Timestamp,
}

/// Numbers of the notification queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Endpoints for which anything waits.
    pub endpoints: Vec<EndpointBacklog>,
    /// Notifications that were given up and not sent again since.
    pub parked: u64,
    /// Notifications in replay that were neither acknowledged nor given up since; they wait for their endpoints, too.
    pub replaying: u64,
}

/// The status of an endpoint counts waiting payments and parked notifications up to this number, which means "this many or more".
pub const STATUS_COUNT_LIMIT: u32 = 10_000;

/// The delivery status of an endpoint, for the operator and the merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Which.
    pub endpoint_id: EndpointId,
    /// Payments of which an event is due, under way, or to be tried again, up to [`STATUS_COUNT_LIMIT`]. What goes its own way, because it failed for an
    /// hour or was asked for, counts by itself.
    pub waiting: u32,
    /// When the one that waits longest for its turn was or will be due; `None` where nothing waits.
    pub oldest_due: Option<Timestamp>,
    /// Notifications that were given up and not sent again since, up to [`STATUS_COUNT_LIMIT`].
    pub parked: u32,
    /// The newest try at what waits, as far as that is kept; of the 100 that were tried and are due last.
    pub last_attempt: Option<LastAttempt>,
}

/// What came of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    /// When it began.
    pub started_at: Timestamp,
    /// HTTP status, if an answer came.
    pub status: Option<u16>,
    /// What happened instead of an answer.
    pub why: Option<String>,
}

/// Reads the state of the notification queue.
#[async_trait]
pub trait BacklogStore: Send + Sync {
    /// Looks at all that waits; counts no further than about a million of each, so that it takes no longer than about a second.
    async fn find_backlog(&self) -> Result<Backlog, StoreError>;

    /// The status of the endpoints of a merchant that were not removed, in the order of their ids. Reads a bounded number of rows.
    async fn endpoint_statuses(&self, merchant: MerchantId) -> Result<Vec<EndpointStatus>, StoreError>;
}
