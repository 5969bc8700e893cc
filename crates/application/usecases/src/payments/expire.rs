//! What ends because its time is over: hosted pages that nobody comes back from, transfers that never arrive, capture windows.

use dropin_order::{Order, VoidPlan};
use dropin_ports::{Actor, OrderChanged, StoreError};
use tokio::task::JoinSet;

use super::Payments;
use super::capture::change;

impl Payments {
    /// Voids what has lapsed, at most `limit` Orders, oldest first; says how many there were. Who comes second finds it under way.
    ///
    /// # Errors
    /// [`StoreError`]; what is left stays lapsed.
    pub async fn expire_orders(&self, limit: u32) -> Result<u32, StoreError> {
        let lapsed = self.store.find_lapsed_orders(self.clock.now(), limit).await?;
        let found = u32::try_from(lapsed.len()).unwrap_or(limit);
        let mut under_way = JoinSet::new();
        for order in lapsed {
            let payments = self.clone();
            // Each on its own: a processor that does not answer holds up none of the others.
            under_way.spawn(async move { payments.expire(&order).await });
        }
        let mut first = Ok(found);
        while let Some(ended) = under_way.join_next().await {
            let ended = ended.map_err(|error| StoreError::Refused(error.to_string())).flatten();
            first = first.and_then(|found| ended.map(|()| found));
        }
        first
    }

    async fn expire(&self, order: &Order) -> Result<(), StoreError> {
        // Whatever happened to it meanwhile goes before.
        let Ok(VoidPlan::Ask(step)) = order.plan_expiry(self.clock.now()) else { return Ok(()) };
        let operation = self.prepare_void(order, &step).await?;
        match self.store.change_order(change(order, &Actor::System, *step, Some(operation.clone()), None)).await? {
            OrderChanged::Done => self.finish(order.merchant_id, operation).await,
            OrderChanged::Stale | OrderChanged::KeyTaken | OrderChanged::DuplicateRefund => Ok(()),
        }
    }
}
