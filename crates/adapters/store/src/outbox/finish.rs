use std::collections::HashMap;
use std::time::Duration;

use diesel::prelude::*;
use dropin_kernel::Timestamp;
use dropin_ports::{DeliveryKey, DeliveryResult};

use super::parked;
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::schema::outbox_stream;
use crate::sql::{Id, Instant};

/// How long a notification that fails may hold back the next ones of its payment (decisions.md section 9).
const HOLDS_BACK_FOR: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = outbox_stream)]
pub(super) struct StreamRow {
    pub(super) id: i64,
    pub(super) endpoint_id: Id,
    pub(super) payment_id: Id,
    pub(super) detached: bool,
    pub(super) next_sequence: i64,
    pub(super) last_sequence: i64,
    pub(super) attempt: i32,
    pub(super) first_try: Option<Instant>,
}

/// The columns that move a stream.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = outbox_stream, treat_none_as_null = true)]
struct Move {
    next_sequence: i64,
    attempt: i32,
    first_try: Option<Instant>,
    due_at: Instant,
}

#[derive(Debug, Insertable)]
#[diesel(table_name = outbox_stream)]
pub(super) struct NewStream {
    pub(super) endpoint_id: Id,
    pub(super) payment_id: Id,
    pub(super) detached: bool,
    pub(super) next_sequence: i64,
    pub(super) last_sequence: i64,
    pub(super) attempt: i32,
    pub(super) due_at: Instant,
}

/// Writes what came of tries. Returns the streams whose next notification is leased now.
pub(super) fn finish(
    connection: &mut AnyConnection,
    results: &[(DeliveryKey, DeliveryResult)],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<i64>, Fault> {
    let mut streams = lock(connection, results)?;
    let mut going_on = Vec::new();
    for (key, result) in results {
        // A late result finds its stream elsewhere: later sequence, later attempt, or gone. So does a result that comes twice.
        let Some(stream) = streams.remove(&key.stream).filter(|stream| stream.is(key)) else { continue };
        match result {
            DeliveryResult::Acknowledged => {}
            DeliveryResult::Parked => parked::park(connection, &stream, now)?,
            DeliveryResult::Retry { at } => {
                retry(connection, &stream, *at, now)?;
                continue;
            }
        }
        if advance(connection, &stream, now, lease_until)? {
            going_on.push(stream.id);
        }
    }
    Ok(going_on)
}

/// The streams of the results, locked in the order of their ids, as everybody does.
fn lock(
    connection: &mut AnyConnection,
    results: &[(DeliveryKey, DeliveryResult)],
) -> Result<HashMap<i64, StreamRow>, Fault> {
    let ids: Vec<i64> = results.iter().map(|(key, _result)| key.stream).collect();
    let query = outbox_stream::table.filter(outbox_stream::id.eq_any(ids)).order(outbox_stream::id);
    let rows: Vec<StreamRow> = match connection {
        AnyConnection::Postgres(connection) => query.select(StreamRow::as_select()).for_update().load(connection),
        AnyConnection::Sqlite(connection) => query.select(StreamRow::as_select()).load(connection),
    }
    .in_table("outbox_stream")?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

impl StreamRow {
    /// Whether `key` names the try that is under way.
    fn is(&self, key: &DeliveryKey) -> bool {
        self.next_sequence <= self.last_sequence
            && self.next_sequence == key.sequence
            && u32::try_from(self.attempt) == Ok(key.attempt)
    }
}

/// Goes on to the next notification; `false` when there is none now.
fn advance(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<bool, Fault> {
    if stream.detached {
        diesel::delete(outbox_stream::table.find(stream.id)).execute(connection)?;
        return Ok(false);
    }
    let next_sequence = stream.next_sequence + 1;
    let goes_on = next_sequence <= stream.last_sequence;
    let moved = if goes_on {
        Move { next_sequence, attempt: 1, first_try: Some(Instant(now)), due_at: Instant(lease_until) }
    } else {
        Move { next_sequence, attempt: 0, first_try: None, due_at: Instant(now) }
    };
    diesel::update(outbox_stream::table.find(stream.id)).set(moved).execute(connection)?;
    Ok(goes_on)
}

/// Tries the same again at `at`. When that is more than an hour after the first try, the notification goes its own way from now on, and
/// those behind it are free when the hour is over.
fn retry(connection: &mut AnyConnection, stream: &StreamRow, at: Timestamp, now: Timestamp) -> Result<(), Fault> {
    let first_try = stream.first_try.ok_or_else(|| corrupt("outbox_stream", "tried without a first try"))?;
    let freed_at = first_try.0.plus(HOLDS_BACK_FOR);
    if stream.detached || at <= freed_at {
        diesel::update(outbox_stream::table.find(stream.id))
            .set(outbox_stream::due_at.eq(Instant(at)))
            .execute(connection)?;
        return Ok(());
    }
    diesel::update(outbox_stream::table.find(stream.id))
        .set((
            outbox_stream::detached.eq(true),
            outbox_stream::last_sequence.eq(stream.next_sequence),
            outbox_stream::due_at.eq(Instant(at)),
        ))
        .execute(connection)?;
    let rest = NewStream {
        endpoint_id: stream.endpoint_id,
        payment_id: stream.payment_id,
        detached: false,
        next_sequence: stream.next_sequence + 1,
        last_sequence: stream.last_sequence,
        attempt: 0,
        due_at: Instant(freed_at.max(now)),
    };
    diesel::insert_into(outbox_stream::table).values(rest).execute(connection)?;
    Ok(())
}
