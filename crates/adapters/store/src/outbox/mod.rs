//! The queue of notifications. A stream is one small row; its `due_at` is readiness, lease and retry time in one.

mod claim;
mod delivery;
mod finish;
mod overdue;
mod parked;
mod replayed;

use async_trait::async_trait;
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_ports::{Delivery, FinishedDeliveries, FinishedTry, OutboxStore, ParkedEvent, Replayed, StoreError};

use crate::lane::Verdict;
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
    ) -> Result<Vec<Delivery>, StoreError> {
        let full = full.iter().map(EndpointId::to_string).collect::<Vec<_>>().join(",");
        let claim = move |connection: &mut _| {
            claim::claim(connection, &full, now, lease_until, per_endpoint, limit).map(Verdict::Keep)
        };
        let streams = self.write(claim).await?;
        self.leased(streams, now, lease_until).await
    }

    async fn claim_probe(
        &self,
        endpoint: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let probe = move |connection: &mut _| claim::probe(connection, endpoint, now, lease_until).map(Verdict::Keep);
        let streams = self.write(probe).await?;
        Ok(self.leased(streams, now, lease_until).await?.pop())
    }

    async fn park_overdue(
        &self,
        endpoint: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        let park = move |connection: &mut _| {
            overdue::park(connection, endpoint, give_up_before, now, limit).map(Verdict::Keep)
        };
        self.write(park).await
    }

    async fn finish_deliveries(
        &self,
        results: Vec<FinishedTry>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError> {
        let finish =
            move |connection: &mut _| finish::finish(connection, &results, now, lease_until).map(Verdict::Keep);
        let (streams, fenced) = self.write(finish).await?;
        let next = self.leased(streams, now, lease_until).await?;
        Ok(FinishedDeliveries { next, fenced })
    }

    async fn next_delivery_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(claim::next_due).await
    }

    async fn list_parked(&self, limit: u32) -> Result<Vec<ParkedEvent>, StoreError> {
        self.read(move |connection| parked::list(connection, limit)).await
    }

    async fn replay_parked(
        &self,
        event: EventId,
        endpoint: EndpointId,
        to: EndpointId,
        now: Timestamp,
    ) -> Result<Replayed, StoreError> {
        self.write(move |connection| parked::replay(connection, event, endpoint, to, now).map(Verdict::Keep)).await
    }

    async fn park_removed(&self, endpoint: EndpointId, now: Timestamp, limit: u32) -> Result<(u32, bool), StoreError> {
        self.write(move |connection| parked::park_removed(connection, endpoint, now, limit).map(Verdict::Keep)).await
    }
}

impl Store {
    /// What to send for streams that have just been leased. Read when that is committed, so that nobody waits for their locks meanwhile, and so
    /// that every event is seen that was told before a lock was free. A stream that is under another lease by then is left to its holder.
    async fn leased(
        &self,
        streams: Vec<i64>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        if streams.is_empty() {
            return Ok(Vec::new());
        }
        let streams = listed(streams);
        let found = self.read(move |connection| delivery::find(connection, &streams, lease_until, now)).await?;
        for stream in found.removed {
            // An event that was written while the endpoint was being removed.
            let park =
                move |connection: &mut _| parked::park_leased(connection, stream, lease_until, now).map(Verdict::Keep);
            if self.write(park).await.is_err() {
                log::warn!("a notification of an endpoint that was removed is parked when its lease has ended");
            }
        }
        Ok(found.deliveries)
    }
}

/// Streams as the statements take a list of them.
fn listed(streams: impl IntoIterator<Item = i64>) -> String {
    streams.into_iter().map(|stream| stream.to_string()).collect::<Vec<_>>().join(",")
}
