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

/// How things stand in the queue of notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Endpoints for which anything waits.
    pub endpoints: Vec<EndpointBacklog>,
    /// Notifications that were given up and not sent again since.
    pub parked: u64,
    /// Notifications that somebody asked for again and that were neither acknowledged nor given up since; they wait for their endpoints, too.
    pub replaying: u64,
}

/// As far as what waits for an endpoint, and what is parked, is counted for people: this many means so many or more.
pub const COUNTED_TO: u32 = 10_000;

/// How an endpoint stands, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointStanding {
    /// Which.
    pub endpoint_id: EndpointId,
    /// Payments of which something is due, under way, or to be tried again, up to [`COUNTED_TO`]. What goes its own way, because it failed for an
    /// hour or was asked for, counts by itself.
    pub waiting: u32,
    /// When the one that waits longest for its turn was or will be due; `None` where nothing waits.
    pub oldest_due: Option<Timestamp>,
    /// Notifications that were given up and not sent again since, up to [`COUNTED_TO`].
    pub parked: u32,
    /// The newest try at what waits, as far as that is kept; of the 100 that were tried and are due last.
    pub last_try: Option<LastTry>,
}

/// What came of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTry {
    /// When it began.
    pub started_at: Timestamp,
    /// HTTP status, if an answer came.
    pub status: Option<u16>,
    /// What happened instead of an answer.
    pub why: Option<String>,
}

/// Tells how things stand in the queue.
#[async_trait]
pub trait BacklogStore: Send + Sync {
    /// Looks at all that waits; counts no further than about a million of each, so that it takes no longer than about a second.
    async fn find_backlog(&self) -> Result<Backlog, StoreError>;

    /// How the endpoints of a merchant stand that were not removed, in the order of their ids. Looks at so much only, however much waits.
    async fn of_endpoints(&self, merchant: MerchantId) -> Result<Vec<EndpointStanding>, StoreError>;
}
