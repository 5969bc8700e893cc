//! Events of a payment enqueued row by row: a statement that is prepared costs no round trip here.

use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::{RunQueryDsl, SqliteConnection};
use dropin_ports::NewEvent;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::statement;

statement! {
    LastSequence<'a> { payment: &'a Id => SqlId, }
    sqlite "SELECT max(sequence) FROM outbox_event WHERE payment_id = $1";
    returns Nullable<BigInt>;
}

statement! {
    InsertEvent<'a> {
        payment: Id => SqlId,
        sequence: i64 => BigInt,
        event: Id => SqlId,
        merchant: Id => SqlId,
        event_type: &'a str => Text,
        body: &'a [u8] => Binary,
        happened: Instant => SqlInstant,
    }
    sqlite "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) VALUES ($1, $2, $3, $4, $5, $6, $7)";
}

statement! {
    FanOut<'a> {
        payment: &'a Id => SqlId,
        first: i64 => BigInt,
        last: i64 => BigInt,
        now: Instant => SqlInstant,
        merchant: &'a Id => SqlId,
    }
    sqlite include_str!("fan_out.sqlite.sql");
}

/// The body with its Sequence as the first member; PostgreSQL's statements do the same.
fn sequenced(body: &[u8], sequence: i64) -> Vec<u8> {
    let mut whole = format!("{{\"Sequence\":{sequence},").into_bytes();
    whole.extend_from_slice(body.get(1..).unwrap_or_default());
    whole
}

/// Appends events of one payment and merchant in their order, and queues them for every endpoint.
pub(super) fn enqueue(connection: &mut SqliteConnection, first: &NewEvent, events: &[NewEvent]) -> Result<(), Fault> {
    let (payment, merchant) = (Id(first.payment_id.uuid()), Id(first.merchant_id.uuid()));
    let last: Option<i64> = LastSequence { payment: &payment }.get_result(connection)?;
    let so_far = last.unwrap_or(0);
    let mut sequence = so_far;
    for event in events {
        sequence += 1;
        let insert = InsertEvent {
            payment,
            sequence,
            event: Id(event.id.uuid()),
            merchant,
            event_type: event.event_type,
            body: &sequenced(&event.body, sequence),
            happened: Instant(event.at),
        };
        insert.execute(connection)?;
    }
    let (payment, merchant) = (&payment, &merchant);
    let fan_out = FanOut { payment, first: so_far + 1, last: sequence, now: Instant(first.at), merchant };
    fan_out.execute(connection)?;
    Ok(())
}
