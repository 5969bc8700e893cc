//! The queue of notifications. A stream is one small row; its `due_at` is readiness, lease and retry time in one.

mod attempt;
mod claim;
mod delivery;
mod endpoint_status;
mod enqueue;
mod enqueue_postgres;
mod enqueue_sqlite;
mod finish;
mod overdue;
mod parked;
mod queue_stats;
mod replayed;
mod rows;
mod stream;
mod wanted;

use async_trait::async_trait;
use dropin_kernel::{EndpointId, Timestamp};
use dropin_ports::{AttemptResult, Claimed, Delivery, FinishedDeliveries, OutboxStore, StoreError};

pub(crate) use claim::Claiming;
use claim::Of;
use delivery::Handed;
use dropin_store_runtime::sql::listed;
use dropin_store_runtime::worker_pool::TxOutcome;
pub(crate) use enqueue::enqueue_events;
use finish::Finished;
pub(crate) use finish::Finishing;
pub(crate) use rows::{NewStream, StreamColumns, StreamRow};
pub(crate) use stream::lets_others_go;

use crate::store::Store;

#[async_trait]
impl OutboxStore for Store {
    async fn claim_deliveries(
        &self,
        full: &[EndpointId],
        now: Timestamp,
        lease_until: Timestamp,
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        let of = Of::All { full: full.to_vec(), per_endpoint, limit };
        self.claim(Claiming { of, now, lease_until }).await
    }

    async fn claim_probe(
        &self,
        endpoint: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        Ok(self.claim(Claiming { of: Of::One(endpoint), now, lease_until }).await?.deliveries.pop())
    }

    async fn park_overdue(
        &self,
        endpoint: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        let find = move |connection: &mut _| overdue::find(connection, endpoint, give_up_before, now, limit);
        let updates = self.read(find).await?;
        if updates.is_empty() {
            return Ok(0);
        }
        Ok(self.finish(Finishing::only(updates, now, now)).await?.matched)
    }

    async fn finish_deliveries(
        &self,
        results: Vec<AttemptResult>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError> {
        if results.is_empty() {
            return Ok(FinishedDeliveries::default());
        }
        let reported = u32::try_from(results.len()).unwrap_or(u32::MAX);
        let finished = self.finish(Finishing::new(results, now, lease_until)).await?;
        let next = self.hand_out(finished.handed, now, lease_until).await;
        Ok(FinishedDeliveries { next, fenced: reported.saturating_sub(finished.matched) })
    }

    async fn park_removed(&self, endpoint: EndpointId, now: Timestamp, limit: u32) -> Result<(u32, bool), StoreError> {
        self.write(move |connection| parked::park_removed(connection, endpoint, now, limit).map(TxOutcome::Commit))
            .await
    }
}

impl Store {
    async fn claim(&self, claiming: Claiming) -> Result<Claimed, StoreError> {
        let (now, lease_until) = (claiming.now, claiming.lease_until);
        let mut handed = self.run_batched(claiming).await?;
        let more = std::mem::take(&mut handed.more);
        Ok(Claimed { deliveries: self.hand_out(handed, now, lease_until).await, more })
    }

    /// Writes what came of tries: with one statement what that can, the rest one by one.
    async fn finish(&self, finishing: Finishing) -> Result<Finished, StoreError> {
        let (now, lease_until) = (finishing.now, finishing.lease_until);
        let mut finished = self.run_batched(finishing).await?;
        let left = std::mem::take(&mut finished.left);
        if left.is_empty() {
            return Ok(finished);
        }
        let of = u32::try_from(left.len()).unwrap_or(u32::MAX);
        let write =
            move |connection: &mut _| finish::one_by_one(connection, &left, now, lease_until).map(TxOutcome::Commit);
        match self.write(write).await {
            Ok(rest) => {
                finished.matched += rest.matched;
                finished.handed.merge(rest.handed);
            }
            // The others are written; the caller must not report them again.
            Err(error) => {
                finished.matched += of;
                log::warn!(
                    "{of} notifications are tried again when their lease ends, because what came of them was not kept: {error}"
                );
            }
        }
        Ok(finished)
    }

    /// What is sent of what was leased. The rest is done here, after the statement that leased it was committed, so that nobody waits for its
    /// locks meanwhile and every event is seen that was told before a lock was free: events are looked for that were not seen, unwanted ones
    /// are passed over, what is left for an endpoint that was removed is parked.
    ///
    /// What cannot be done now is due again when its lease ends.
    async fn hand_out(&self, mut handed: Handed, now: Timestamp, lease_until: Timestamp) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        loop {
            deliveries.append(&mut handed.deliveries);
            for stream in std::mem::take(&mut handed.removed) {
                self.park_leased(stream, now, lease_until).await;
            }
            let more = if !handed.unseen.is_empty() {
                let unseen = listed(std::mem::take(&mut handed.unseen));
                let find = move |connection: &mut _| delivery::found(connection, &unseen, lease_until, now);
                self.read(find).await.map(Handed::seen)
            } else if !handed.unwanted.is_empty() {
                self.pass_over(std::mem::take(&mut handed.unwanted), now, lease_until).await
            } else {
                return deliveries;
            };
            match more {
                Ok(more) => handed.merge(more),
                Err(error) => log::warn!("some notifications are sent when their lease ends: {error}"),
            }
        }
    }

    /// Skips events that their endpoint does not subscribe to; returns what comes behind them.
    async fn pass_over(
        &self,
        unwanted: Vec<delivery::Unwanted>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Handed, StoreError> {
        let updates = self.read(move |connection| wanted::pass_over(connection, &unwanted)).await?;
        Ok(self.finish(Finishing::only(updates, now, lease_until)).await?.handed)
    }

    /// Parks an event that was written while its endpoint was being removed.
    async fn park_leased(&self, stream: i64, now: Timestamp, lease_until: Timestamp) {
        let park =
            move |connection: &mut _| parked::park_leased(connection, stream, lease_until, now).map(TxOutcome::Commit);
        if let Err(error) = self.write(park).await {
            log::warn!("stream {stream} of an endpoint that was removed is parked when its lease has ended: {error}");
        }
    }
}
