use async_trait::async_trait;
use dropin_kernel::{EndpointId, Timestamp};

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
    /// Notifications that somebody had sent again, as far as that is remembered.
    pub replayed: u64,
}

/// Tells how things stand in the queue.
#[async_trait]
pub trait BacklogStore: Send + Sync {
    /// Looks at all that waits; counts no further than about a million of each, so that it takes no longer than about a second.
    async fn find_backlog(&self) -> Result<Backlog, StoreError>;
}
