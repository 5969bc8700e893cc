use diesel::prelude::*;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_ports::ParkedEvent;

use super::finish::{NewStream, StreamRow};
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::schema::{outbox_event, outbox_parked, outbox_stream};
use crate::sql::{Id, Instant};

#[derive(Debug, Insertable)]
#[diesel(table_name = outbox_parked)]
struct ParkedRow {
    endpoint_id: Id,
    event_id: Id,
    attempts: i32,
    parked_at: Instant,
}

/// Puts the stream's current notification aside for a person to look at.
pub(super) fn park(connection: &mut AnyConnection, stream: &StreamRow, now: Timestamp) -> Result<(), Fault> {
    let event_id: Option<Id> = outbox_event::table
        .find((stream.payment_id, stream.next_sequence))
        .select(outbox_event::event_id)
        .first(connection)
        .optional()
        .in_table("outbox_event")?;
    let row = ParkedRow {
        endpoint_id: stream.endpoint_id,
        event_id: event_id.ok_or_else(|| corrupt("outbox_stream", "its next event is missing"))?,
        attempts: stream.attempt,
        parked_at: Instant(now),
    };
    diesel::insert_into(outbox_parked::table).values(row).execute(connection)?;
    Ok(())
}

#[derive(Queryable)]
struct Found {
    endpoint_id: Id,
    attempts: i32,
    parked_at: Instant,
    merchant_id: Id,
    payment_id: Id,
    event_id: Id,
    event_type: String,
}

/// What is parked, newest first.
pub(super) fn list(connection: &mut AnyConnection, limit: u32) -> Result<Vec<ParkedEvent>, Fault> {
    let rows: Vec<Found> = outbox_parked::table
        .inner_join(outbox_event::table.on(outbox_event::event_id.eq(outbox_parked::event_id)))
        .order(outbox_parked::position.desc())
        .limit(i64::from(limit))
        .select((
            outbox_parked::endpoint_id,
            outbox_parked::attempts,
            outbox_parked::parked_at,
            outbox_event::merchant_id,
            outbox_event::payment_id,
            outbox_event::event_id,
            outbox_event::event_type,
        ))
        .load(connection)
        .in_table("outbox_parked")?;
    rows.into_iter().map(Found::restore).collect()
}

impl Found {
    fn restore(self) -> Result<ParkedEvent, Fault> {
        Ok(ParkedEvent {
            merchant_id: MerchantId::new(self.merchant_id.0),
            endpoint_id: EndpointId::new(self.endpoint_id.0),
            payment_id: PaymentId::new(self.payment_id.0),
            event_id: EventId::new(self.event_id.0),
            event_type: self.event_type,
            attempts: u32::try_from(self.attempts).map_err(|_negative| corrupt("outbox_parked", "attempts"))?,
            parked_at: self.parked_at.0,
        })
    }
}

/// Queues a parked notification again as a stream of its own, since its payment has gone on without it; `false` when it is not parked.
pub(super) fn replay(
    connection: &mut AnyConnection,
    event: EventId,
    endpoint: EndpointId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let (event_id, endpoint_id) = (Id(event.uuid()), Id(endpoint.uuid()));
    if diesel::delete(outbox_parked::table.find((endpoint_id, event_id))).execute(connection)? == 0 {
        return Ok(false);
    }
    let (payment_id, sequence): (Id, i64) = outbox_event::table
        .filter(outbox_event::event_id.eq(event_id))
        .select((outbox_event::payment_id, outbox_event::sequence))
        .first(connection)
        .in_table("outbox_event")?;
    let stream = NewStream {
        endpoint_id,
        payment_id,
        detached: true,
        next_sequence: sequence,
        last_sequence: sequence,
        attempt: 0,
        due_at: Instant(now),
    };
    diesel::insert_into(outbox_stream::table).values(stream).execute(connection)?;
    Ok(true)
}
