use std::collections::{HashMap, HashSet};
use std::time::Duration;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text};
use dropin_kernel::Timestamp;
use dropin_ports::{DeliveryResult, FinishedTry};

use super::{listed, parked};
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::schema::outbox_stream;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

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

/// The columns of a [`StreamRow`].
pub(super) type StreamColumns = (BigInt, SqlId, SqlId, Bool, BigInt, BigInt, Integer, Nullable<SqlInstant>);

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

/// One try, as results name it.
type Try = (i64, i64, i32);

/// What came of one try.
type Told = (Try, DeliveryResult);

/// Writes what came of tries. Returns the streams whose next notification is leased now.
pub(super) fn finish(
    connection: &mut AnyConnection,
    results: &[FinishedTry],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<(Vec<i64>, u32), Fault> {
    let results = first_of_each(results);
    // A late result finds its stream elsewhere: later sequence, later attempt, or gone.
    let (mut going_on, mut left) = match connection {
        AnyConnection::Postgres(connection) => move_together(connection, &results, now, lease_until)?,
        AnyConnection::Sqlite(connection) => (Vec::new(), find(connection, &results)?),
    };
    for (which, result) in &results {
        let Some(stream) = left.remove(which) else { continue };
        match result {
            DeliveryResult::Acknowledged => {}
            DeliveryResult::Parked => parked::park(connection, &stream, now)?,
            DeliveryResult::Retry { at } | DeliveryResult::Held { at } => {
                retry(connection, &stream, *at, now)?;
                continue;
            }
        }
        if advance(connection, &stream, now, lease_until)? {
            going_on.push(stream.id);
        }
    }
    Ok((going_on, 0))
}

/// The results by the tries that they name; of two for the same, the first counts.
fn first_of_each(results: &[FinishedTry]) -> Vec<Told> {
    let mut seen = HashSet::with_capacity(results.len());
    let named = results.iter().filter_map(|FinishedTry { key, result, .. }| {
        // No stream is at an attempt that its column cannot hold.
        Some(((key.stream, key.sequence, i32::try_from(key.attempt).ok()?), *result))
    });
    named.filter(|(which, _)| seen.insert(*which)).collect()
}

impl StreamRow {
    /// The try that is under way.
    fn current(&self) -> Try {
        (self.id, self.next_sequence, self.attempt)
    }
}

statement! {
    /// Locks the streams whose try is under way, and moves those with the usual results: acknowledged, or tried again within its hour. Returns
    /// those that go on (TRUE), and untouched those that are left to be done one by one (NULL).
    ///
    /// Locks are taken in the order of endpoints and then of streams: whoever tells every endpoint of a payment goes through endpoints in the
    /// same order, and whoever goes through the streams of one endpoint does so by their ids.
    MoveTogether<'a> {
        streams: &'a [i64] => Array<BigInt>,
        sequences: &'a [i64] => Array<BigInt>,
        attempts: &'a [i32] => Array<Integer>,
        parked: &'a [bool] => Array<Bool>,
        retry_at: &'a [Option<Instant>] => Array<Nullable<SqlInstant>>,
        holds_back_for: i64 => BigInt,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
        idle_since: Instant => SqlInstant,
    }
    on Pg, PgConnection, "WITH result AS MATERIALIZED ( \
            SELECT * FROM unnest(?, ?, ?, ?, ?) AS result (stream, sequence, attempt, parked, retry_at) \
        ), found AS MATERIALIZED ( \
            SELECT s.id, s.endpoint_id, s.payment_id, s.detached, s.next_sequence, s.last_sequence, s.attempt, s.first_try, \
                result.retry_at, CASE WHEN result.parked THEN FALSE WHEN result.retry_at IS NULL THEN NOT s.detached \
                    ELSE s.detached OR result.retry_at <= s.first_try + ? * INTERVAL '1 second' END AS usual \
            FROM result JOIN outbox_stream AS s ON s.id = result.stream \
            WHERE s.next_sequence = result.sequence AND s.attempt = result.attempt AND s.next_sequence <= s.last_sequence \
            ORDER BY s.endpoint_id, s.id FOR UPDATE OF s \
        ), moved AS ( \
            UPDATE outbox_stream AS s SET \
                next_sequence = CASE WHEN found.retry_at IS NULL THEN s.next_sequence + 1 ELSE s.next_sequence END, \
                attempt = CASE WHEN found.retry_at IS NOT NULL THEN s.attempt \
                    WHEN s.next_sequence < s.last_sequence THEN 1 ELSE 0 END, \
                first_try = CASE WHEN found.retry_at IS NOT NULL THEN s.first_try \
                    WHEN s.next_sequence < s.last_sequence THEN ? END, \
                due_at = CASE WHEN found.retry_at IS NOT NULL THEN found.retry_at \
                    WHEN s.next_sequence < s.last_sequence THEN ? ELSE ? END \
            FROM found WHERE s.id = found.id AND found.usual \
            RETURNING s.id, found.retry_at IS NULL AND s.next_sequence <= s.last_sequence AS goes_on \
        ) SELECT found.id, found.endpoint_id, found.payment_id, found.detached, found.next_sequence, found.last_sequence, \
            found.attempt, found.first_try, moved.goes_on \
        FROM found LEFT JOIN moved ON moved.id = found.id WHERE moved.goes_on IS NOT FALSE";
    returns (StreamColumns, Nullable<Bool>);
}

/// Writes the usual results with one statement. Returns the streams that go on, and those that are left, locked.
fn move_together(
    connection: &mut PgConnection,
    results: &[Told],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<(Vec<i64>, HashMap<Try, StreamRow>), Fault> {
    let retry_at = |result: &DeliveryResult| match result {
        DeliveryResult::Retry { at } | DeliveryResult::Held { at } => Some(Instant(*at)),
        DeliveryResult::Acknowledged | DeliveryResult::Parked => None,
    };
    let together = MoveTogether {
        streams: &results.iter().map(|((stream, ..), _)| *stream).collect::<Vec<_>>(),
        sequences: &results.iter().map(|((_, sequence, _), _)| *sequence).collect::<Vec<_>>(),
        attempts: &results.iter().map(|((.., attempt), _)| *attempt).collect::<Vec<_>>(),
        parked: &results.iter().map(|(_, result)| *result == DeliveryResult::Parked).collect::<Vec<_>>(),
        retry_at: &results.iter().map(|(_, result)| retry_at(result)).collect::<Vec<_>>(),
        holds_back_for: HOLDS_BACK_FOR.as_secs().cast_signed(),
        first_try: Instant(now),
        lease_until: Instant(lease_until),
        idle_since: Instant(now),
    };
    let rows: Vec<(StreamRow, Option<bool>)> = together.load(connection).in_table("outbox_stream")?;
    let (mut going_on, mut left) = (Vec::with_capacity(rows.len()), HashMap::new());
    for (stream, goes_on) in rows {
        match goes_on {
            Some(_) => going_on.push(stream.id),
            None => drop(left.insert(stream.current(), stream)),
        }
    }
    Ok((going_on, left))
}

statement! {
    /// Streams that are not idle, out of those listed.
    Find<'a> { streams: &'a str => Text, }
    on diesel::sqlite::Sqlite, SqliteConnection, "SELECT s.id, s.endpoint_id, s.payment_id, s.detached, s.next_sequence, \
            s.last_sequence, s.attempt, s.first_try \
        FROM json_each('[' || ? || ']') AS listed CROSS JOIN outbox_stream AS s ON s.id = listed.value \
        WHERE s.next_sequence <= s.last_sequence";
    returns StreamColumns;
}

/// The streams of the results by the tries that are under way. Nobody else writes meanwhile.
fn find(connection: &mut SqliteConnection, results: &[Told]) -> Result<HashMap<Try, StreamRow>, Fault> {
    let streams = listed(results.iter().map(|((stream, ..), _)| *stream));
    let rows: Vec<StreamRow> = Find { streams: &streams }.load(connection).in_table("outbox_stream")?;
    Ok(rows.into_iter().map(|stream| (stream.current(), stream)).collect())
}

statement! {
    /// Moves one stream.
    Move {
        next_sequence: i64 => BigInt,
        attempt: i32 => Integer,
        first_try: Option<Instant> => Nullable<SqlInstant>,
        due_at: Instant => SqlInstant,
        stream: i64 => BigInt,
    }
    postgres MOVE;
    sqlite MOVE;
}

const MOVE: &str = "UPDATE outbox_stream SET next_sequence = ?, attempt = ?, first_try = ?, due_at = ? WHERE id = ?";

impl Move {
    fn write(self, connection: &mut AnyConnection) -> Result<(), Fault> {
        on_each!(connection, inner => self.execute(inner))?;
        Ok(())
    }
}

/// Goes on to the next notification, which is handed out unless the lease has no time; `false` when there is none now.
pub(super) fn advance(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<bool, Fault> {
    if stream.detached {
        diesel::delete(outbox_stream::table.find(stream.id)).execute(connection)?;
        return Ok(false);
    }
    let (next_sequence, stream_id) = (stream.next_sequence + 1, stream.id);
    let goes_on = next_sequence <= stream.last_sequence && now < lease_until;
    let moved = if goes_on {
        let (first_try, due_at) = (Some(Instant(now)), Instant(lease_until));
        Move { next_sequence, attempt: 1, first_try, due_at, stream: stream_id }
    } else {
        Move { next_sequence, attempt: 0, first_try: None, due_at: Instant(now), stream: stream_id }
    };
    moved.write(connection)?;
    Ok(goes_on)
}

/// Tries the same again at `at`. When that is more than an hour after the first try, the notification goes its own way from now on, and
/// those behind it are free when the hour is over.
fn retry(connection: &mut AnyConnection, stream: &StreamRow, at: Timestamp, now: Timestamp) -> Result<(), Fault> {
    let first_try = stream.first_try.ok_or_else(|| corrupt("outbox_stream", "tried without a first try"))?;
    let freed_at = first_try.0.plus(HOLDS_BACK_FOR);
    if stream.detached || at <= freed_at {
        let again = Move {
            next_sequence: stream.next_sequence,
            attempt: stream.attempt,
            first_try: Some(first_try),
            due_at: Instant(at),
            stream: stream.id,
        };
        return again.write(connection);
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
