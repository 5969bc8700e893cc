//! The queue of notifications. A stream is one small row; its `due_at` is readiness, lease and retry time in one.

mod claim;
mod finish;
mod parked;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_ports::{Delivery, DeliveryKey, DeliveryResult, OutboxStore, ParkedEvent, Replayed, StoreError};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::lane::Verdict;
use crate::rows::retiring;
use crate::schema::{endpoint, outbox_event, outbox_stream};
use crate::sql::{Id, Instant};
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
        self.write(move |connection| {
            let streams = claim::claim(connection, &full, now, lease_until, per_endpoint, limit)?;
            deliveries(connection, &streams, now).map(Verdict::Keep)
        })
        .await
    }

    async fn finish_deliveries(
        &self,
        results: Vec<(DeliveryKey, DeliveryResult)>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.write(move |connection| {
            let streams = finish::finish(connection, &results, now, lease_until)?;
            deliveries(connection, &streams, now).map(Verdict::Keep)
        })
        .await
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

#[derive(Queryable, Selectable)]
#[diesel(table_name = outbox_stream)]
struct ClaimedRow {
    id: i64,
    endpoint_id: Id,
    payment_id: Id,
    next_sequence: i64,
    attempt: i32,
    first_try: Option<Instant>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = endpoint)]
struct ReceiverRow {
    url: String,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<Instant>,
    removed_at: Option<Instant>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
struct MessageRow {
    event_id: Id,
    merchant_id: Id,
    event_type: String,
    body: Vec<u8>,
}

/// What to send for streams that were just claimed. What waits for an endpoint that was removed is parked on the way.
fn deliveries(connection: &mut AnyConnection, streams: &[i64], now: Timestamp) -> Result<Vec<Delivery>, Fault> {
    if streams.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(ClaimedRow, ReceiverRow, Option<MessageRow>)> = outbox_stream::table
        .inner_join(endpoint::table)
        .left_join(
            outbox_event::table.on(outbox_event::payment_id
                .eq(outbox_stream::payment_id)
                .and(outbox_event::sequence.eq(outbox_stream::next_sequence))),
        )
        .filter(outbox_stream::id.eq_any(streams))
        .order(outbox_stream::id)
        .select((ClaimedRow::as_select(), ReceiverRow::as_select(), Option::<MessageRow>::as_select()))
        .load(connection)
        .in_table("outbox_stream")?;
    let mut found = Vec::with_capacity(rows.len());
    for (stream, receiver, message) in rows {
        if receiver.removed_at.is_some() {
            // An event that was written while the endpoint was being removed.
            parked::park_claimed(connection, stream.id, now)?;
            continue;
        }
        // A broken stream must not hold up all others: it stays under its lease and is loud each time.
        found.extend(delivery(stream, receiver, message, now).map_err(Fault::into_store_error).ok());
    }
    Ok(found)
}

fn delivery(
    stream: ClaimedRow,
    receiver: ReceiverRow,
    message: Option<MessageRow>,
    now: Timestamp,
) -> Result<Delivery, Fault> {
    let message = message.ok_or_else(|| corrupt("outbox_stream", "its next event is missing"))?;
    let attempt = u32::try_from(stream.attempt).map_err(|_negative| corrupt("outbox_stream", "attempt"))?;
    let first_try = stream.first_try.ok_or_else(|| corrupt("outbox_stream", "claimed without a first try"))?;
    let previous = retiring("endpoint", receiver.previous_secret.map(SealedSecret), receiver.previous_until)?;
    let mut secrets = vec![SealedSecret(receiver.secret)];
    secrets.extend(previous.filter(|old| old.at(now).is_some()).map(|old| old.credential));
    Ok(Delivery {
        key: DeliveryKey { stream: stream.id, sequence: stream.next_sequence, attempt },
        merchant_id: MerchantId::new(message.merchant_id.0),
        endpoint_id: EndpointId::new(stream.endpoint_id.0),
        url: receiver.url,
        secrets,
        payment_id: PaymentId::new(stream.payment_id.0),
        event_id: EventId::new(message.event_id.0),
        event_type: message.event_type,
        body: message.body,
        first_try: first_try.0,
    })
}
