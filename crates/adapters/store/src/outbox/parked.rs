use diesel::prelude::*;
use diesel::sql_types::Integer;
use dropin_kernel::{EndpointId, Timestamp};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::replayed;
use super::rows::StreamRow;
use crate::schema::{endpoint, outbox_event, outbox_stream};

statement! {
    /// Puts an event aside. One that was aside for that endpoint already (a replay went astray) stands anew, as the newest of all.
    Park { endpoint_id: Id => SqlId, event_id: Id => SqlId, attempts: i32 => Integer, parked_at: Instant => SqlInstant, }
    postgres "INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at) \
        VALUES ($1, $2, $3, $4) \
        ON CONFLICT (endpoint_id, event_id) DO UPDATE \
        SET attempts = excluded.attempts, parked_at = excluded.parked_at, position = DEFAULT";
    sqlite "INSERT OR REPLACE INTO outbox_parked (endpoint_id, event_id, attempts, parked_at) VALUES ($1, $2, $3, $4)";
}

impl Park {
    fn write(self, connection: &mut AnyConnection) -> Result<(), Fault> {
        on_each!(connection, inner => self.execute(inner))?;
        Ok(())
    }
}

/// Puts the stream's current notification aside for a person to look at.
pub(super) fn park(connection: &mut AnyConnection, stream: &StreamRow, now: Timestamp) -> Result<(), Fault> {
    let event_id: Option<Id> = outbox_event::table
        .find((stream.payment_id, stream.next_sequence))
        .select(outbox_event::event_id)
        .first(connection)
        .optional()
        .in_table("outbox_event")?;
    let event_id = event_id.ok_or_else(|| corrupt("outbox_stream", "its next event is missing"))?;
    Park { endpoint_id: stream.endpoint_id, event_id, attempts: stream.tries(), parked_at: Instant(now) }
        .write(connection)
}

/// Parks what waits for an endpoint that was removed, `limit` streams of it; how many notifications, and whether there may be more.
pub(super) fn park_removed(
    connection: &mut AnyConnection,
    endpoint_id: EndpointId,
    now: Timestamp,
    limit: u32,
) -> Result<(u32, bool), Fault> {
    let endpoint_id = Id(endpoint_id.uuid());
    let query = outbox_stream::table
        .filter(outbox_stream::endpoint_id.eq(endpoint_id))
        .filter(outbox_stream::next_sequence.le(outbox_stream::last_sequence))
        .filter(diesel::dsl::exists(
            endpoint::table.filter(endpoint::id.eq(endpoint_id)).filter(endpoint::removed_at.is_not_null()),
        ))
        .order(outbox_stream::id)
        .limit(i64::from(limit));
    let streams: Vec<StreamRow> = match connection {
        AnyConnection::Postgres(connection) => query.select(StreamRow::as_select()).for_update().load(connection),
        AnyConnection::Sqlite(connection) => query.select(StreamRow::as_select()).load(connection),
    }
    .in_table("outbox_stream")?;
    let more = u32::try_from(streams.len()) == Ok(limit);
    let mut parked = 0;
    for stream in &streams {
        parked += park_rest(connection, stream, stream.attempt, now)?;
    }
    Ok((parked, more))
}

/// Parks a stream that was leased until then for an endpoint which has been removed, unless it moved meanwhile. The try that the lease counted
/// is not made.
pub(super) fn park_leased(
    connection: &mut AnyConnection,
    stream: i64,
    lease_until: Timestamp,
    now: Timestamp,
) -> Result<(), Fault> {
    let query = outbox_stream::table.find(stream).filter(outbox_stream::due_at.eq(Instant(lease_until)));
    let found: Option<StreamRow> = match connection {
        AnyConnection::Postgres(connection) => query.select(StreamRow::as_select()).for_update().first(connection),
        AnyConnection::Sqlite(connection) => query.select(StreamRow::as_select()).first(connection),
    }
    .optional()
    .in_table("outbox_stream")?;
    let Some(stream) = found else { return Ok(()) };
    let parked = park_rest(connection, &stream, (stream.attempt - 1).max(0), now)?;
    let endpoint = EndpointId::new(stream.endpoint_id.0);
    log::warn!(
        "parked {parked} notifications to endpoint {endpoint}, which was removed; `dropin notification replay --endpoint {endpoint} --to ID` \
         sends them elsewhere"
    );
    Ok(())
}

/// Puts everything aside that a stream still holds, and ends it. `attempts` is how often its first notification was tried; the others never were.
fn park_rest(connection: &mut AnyConnection, stream: &StreamRow, attempts: i32, now: Timestamp) -> Result<u32, Fault> {
    let behind = replayed::take_all(connection, stream.id)?;
    let waiting: Vec<(i64, Id)> = outbox_event::table
        .filter(outbox_event::payment_id.eq(stream.payment_id))
        .filter(
            outbox_event::sequence
                .between(stream.next_sequence, stream.last_sequence)
                .or(outbox_event::sequence.eq_any(behind)),
        )
        .order(outbox_event::sequence)
        .select((outbox_event::sequence, outbox_event::event_id))
        .load(connection)
        .in_table("outbox_event")?;
    let parked = waiting.len();
    for (sequence, event_id) in waiting {
        let attempts = if sequence == stream.next_sequence { attempts } else { 0 };
        Park { endpoint_id: stream.endpoint_id, event_id, attempts, parked_at: Instant(now) }.write(connection)?;
    }
    diesel::delete(outbox_stream::table.find(stream.id)).execute(connection)?;
    u32::try_from(parked).map_err(|_beyond| corrupt("outbox_stream", "more events than can be counted"))
}
