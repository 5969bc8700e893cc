//! What ends because its time is over: hosted pages that nobody comes back from, transfers that never arrive, capture windows.

use dropin_order::{Order, VoidPlan};
use dropin_ports::{Actor, OrderChanged, StoreError};

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
        for order in lapsed {
            self.expire(&order).await?;
        }
        Ok(found)
    }

    async fn expire(&self, order: &Order) -> Result<(), StoreError> {
        // Whatever happened to it meanwhile goes before.
        let Ok(VoidPlan::Ask(step)) = order.plan_expiry(self.clock.now()) else { return Ok(()) };
        let operation = self.prepare_void(order, &step).await?;
        match self.store.change_order(change(order, &Actor::System, *step, Some(operation.clone()), None)).await? {
            OrderChanged::Done => self.finish(operation).await,
            OrderChanged::Stale | OrderChanged::KeyTaken | OrderChanged::DuplicateRefund => Ok(()),
        }
    }
}
