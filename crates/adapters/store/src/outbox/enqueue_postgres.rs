//! Events of a payment enqueued with one statement: each would cost a round trip and a plan's start.

use diesel::sql_types::{Array, Binary, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::NewEvent;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::statement;

statement! {
    EnqueueEvents<'a> {
        payment: Id => SqlId,
        merchant: Id => SqlId,
        events: Vec<Id> => Array<SqlId>,
        types: Vec<&'static str> => Array<Text>,
        bodies: Vec<&'a [u8]> => Array<Binary>,
        happened: Vec<Instant> => Array<SqlInstant>,
    }
    postgres include_str!("enqueue_events.postgres.sql");
}

/// Appends events of one payment and merchant in their order, and queues them for every endpoint.
pub(super) fn enqueue(connection: &mut PgConnection, first: &NewEvent, events: &[NewEvent]) -> Result<(), Fault> {
    let enqueue = EnqueueEvents {
        payment: Id(first.payment_id.uuid()),
        merchant: Id(first.merchant_id.uuid()),
        events: events.iter().map(|event| Id(event.id.uuid())).collect(),
        types: events.iter().map(|event| event.event_type).collect(),
        bodies: events.iter().map(|event| event.body.as_slice()).collect(),
        happened: events.iter().map(|event| Instant(event.at)).collect(),
    };
    enqueue.execute(connection)?;
    Ok(())
}
