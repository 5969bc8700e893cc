//! What ends because its time is over: hosted pages that nobody comes back from, transfers that never arrive, capture windows.

use dropin_order::{Order, VoidPlan};
use dropin_ports::{LapsedOrder, StoreError};
use tokio::task::JoinSet;

use super::Payments;

impl Payments {
    /// Voids what has lapsed, oldest first, `page` Orders at once; says how many there were. Who comes second finds it under way. One that cannot be
    /// ended, because its rows make no sense, keeps no other from its end.
    ///
    /// # Errors
    /// The [`StoreError`] of the first that could not be ended, after the others; what is left stays lapsed.
    pub async fn expire_orders(&self, page: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        let (mut found, mut after, mut first) = (0, None, None);
        loop {
            let lapsed = self.store.find_lapsed_orders(now, after, page).await?;
            let last = lapsed.len() < page as usize;
            found += u32::try_from(lapsed.len()).unwrap_or(page);
            after = lapsed.last().copied();
            match self.expire_all(lapsed).await {
                Ok(()) => {}
                // The next ones would fare no better.
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(error) => first = first.or(Some(error)),
            }
            if last {
                return first.map_or(Ok(found), Err);
            }
        }
    }

    async fn expire_all(&self, lapsed: Vec<LapsedOrder>) -> Result<(), StoreError> {
        let mut under_way = JoinSet::new();
        for LapsedOrder { id, .. } in lapsed {
            let payments = self.clone();
            // Each on its own: a processor that does not answer holds up none of the others.
            under_way.spawn(async move {
                let found = payments.store.find_order_anywhere(id).await?;
                match found {
                    Some((order, _session)) => payments.expire(&order).await,
                    None => Ok(()),
                }
            });
        }
        let mut first = Ok(());
        while let Some(ended) = under_way.join_next().await {
            let ended = ended.map_err(|error| StoreError::Refused(error.to_string())).flatten();
            first = first.and(ended);
        }
        first
    }

    async fn expire(&self, order: &Order) -> Result<(), StoreError> {
        // Whatever happened to it meanwhile goes before.
        let Ok(VoidPlan::Ask(step)) = order.plan_expiry(self.clock.now()) else { return Ok(()) };
        self.void_unasked(order, *step).await.map(drop)
    }
}
