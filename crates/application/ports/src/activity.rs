use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId, Revision, Timestamp};

use crate::store::StoreError;

/// How much there is of one Order: whatever is added to it or changed of it changes one of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OrderActivity {
    /// Whose.
    pub order: OrderId,
    /// Its revision.
    pub revision: Revision,
    /// Operations asked of the processor.
    pub operations: u32,
    /// Their tries.
    pub operation_tries: u32,
    /// Notifications of its payment.
    pub notifications: u32,
    /// Tries at these.
    pub notification_tries: u32,
    /// Refunds that operators asked for.
    pub money_requests: u32,
    /// Those of them that wait for a second operator.
    pub money_requests_waiting: u32,
}

/// An Order that our own review holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeldOrder {
    /// Which.
    pub order: OrderId,
    /// Whose.
    pub merchant: MerchantId,
    /// As it stands.
    pub revision: Revision,
}

/// How much became of a merchant's notifications lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NotificationActivity {
    /// Whose.
    pub merchant: MerchantId,
    /// When the newest was written, or the newest try at one ended.
    pub newest: Timestamp,
    /// Notifications and tries.
    pub count: u64,
}

/// How far the history of a merchant's Sessions and Orders has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistoryActivity {
    /// Whose.
    pub merchant: MerchantId,
    /// The place of its newest step.
    pub newest: i64,
}

/// Tells whether anything happened, for pages that stay open: what is told alike twice has not changed. Reads only, takes no locks, and a bounded number
/// of rows.
#[async_trait]
pub trait ActivityStore: Send + Sync {
    /// Of these Orders; of one that there is not, nothing.
    async fn order_activity(&self, orders: Vec<OrderId>) -> Result<Vec<OrderActivity>, StoreError>;

    /// The newest Orders that our own review holds, at most `limit`, newest first.
    async fn list_held_orders(&self, limit: u32) -> Result<Vec<HeldOrder>, StoreError>;

    /// Of notifications that were written since, and of tries that began since, by merchant, in any order.
    async fn notification_activity(&self, since: Timestamp) -> Result<Vec<NotificationActivity>, StoreError>;

    /// Of the newest `limit` steps of the history, by merchant, in any order.
    async fn history_activity(&self, limit: u32) -> Result<Vec<HistoryActivity>, StoreError>;
}
