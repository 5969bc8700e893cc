//! Streams, moved one by one: everything on SQLite, and on PostgreSQL what the shared statement leaves.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
use dropin_kernel::Timestamp;
use dropin_notification::HOLDS_BACK_FOR;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::{on_each, statement};

use super::attempt::{AttemptKey, AttemptUpdate, StreamChange};
use super::rows::{NewStream, StreamColumns, StreamRow};
use super::{parked, replayed};
use crate::schema::outbox_stream;

statement! {
    /// Streams that are not idle, out of those listed; locked in the order of endpoints and then of streams.
    Find { streams: String => Text, }
    postgres "SELECT id, endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, uncounted, first_try, leased \
        FROM outbox_stream WHERE id = ANY (string_to_array($1, ',')::bigint[]) AND next_sequence <= last_sequence \
        ORDER BY endpoint_id, id FOR UPDATE";
    sqlite "SELECT s.id, s.endpoint_id, s.payment_id, s.detached, s.next_sequence, s.last_sequence, s.attempt, s.uncounted, \
            s.first_try, s.leased \
        FROM json_each('[' || $1 || ']') AS listed \
        CROSS JOIN outbox_stream AS s ON s.id = listed.value WHERE s.next_sequence <= s.last_sequence";
    returns StreamColumns;
}

/// What was written one by one.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Streams whose next notification is leased now.
    pub(super) going_on: Vec<i64>,
    /// How many tries were still under way.
    pub(super) matched: u32,
}

/// Writes the results of attempts that are still under way: a late result finds its stream elsewhere (later sequence or attempt) or gone.
pub(super) fn write_each(
    connection: &mut AnyConnection,
    updates: &[AttemptUpdate],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Written, Fault> {
    let find = Find { streams: listed(updates.iter().map(|update| update.key.0)) };
    let rows: Vec<StreamRow> = on_each!(connection, inner => find.load(inner)).in_table("outbox_stream")?;
    let mut under_way: HashMap<AttemptKey, StreamRow> =
        rows.into_iter().map(|stream| (stream.current(), stream)).collect();
    let mut written = Written::default();
    for AttemptUpdate { key, change } in updates {
        let Some(stream) = under_way.remove(key) else { continue };
        written.matched += 1;
        let next_sequence = match change {
            StreamChange::GoOn { next } => *next,
            StreamChange::Parked => {
                parked::park(connection, &stream, now)?;
                stream.next_sequence + 1
            }
            StreamChange::Retry { at } => {
                retry(connection, &stream, *at, now)?;
                continue;
            }
            StreamChange::Held { at } => {
                // A result that is reported twice, because the first response was lost, is held once: nothing is leased any more.
                let uncounted = stream.uncounted + i32::from(stream.leased);
                Move { uncounted, ..Move::wait(&stream, *at) }.write(connection)?;
                continue;
            }
        };
        if go_on(connection, &stream, next_sequence, now, lease_until)? {
            written.going_on.push(stream.id);
        }
    }
    Ok(written)
}

statement! {
    /// Moves one stream.
    Move {
        next_sequence: i64 => BigInt,
        attempt: i32 => Integer,
        uncounted: i32 => Integer,
        first_try: Option<Instant> => Nullable<SqlInstant>,
        due_at: Instant => SqlInstant,
        leased: bool => Bool,
        stream: i64 => BigInt,
    }
    both "UPDATE outbox_stream SET next_sequence = $1, attempt = $2, uncounted = $3, first_try = $4, due_at = $5, leased = $6 WHERE id = $7";
}

impl Move {
    /// The same notification again, then.
    fn wait(stream: &StreamRow, at: Timestamp) -> Self {
        Self {
            next_sequence: stream.next_sequence,
            attempt: stream.attempt,
            uncounted: stream.uncounted,
            first_try: stream.first_try,
            due_at: Instant(at),
            leased: false,
            stream: stream.id,
        }
    }

    fn write(self, connection: &mut AnyConnection) -> Result<(), Fault> {
        on_each!(connection, inner => self.execute(inner))?;
        Ok(())
    }
}

/// Goes on to the notification `next_sequence`, under a lease if that has any time; whether it is handed out so.
fn go_on(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    next_sequence: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<bool, Fault> {
    if stream.detached {
        return replayed::advance(connection, stream, now, lease_until);
    }
    let is_there = next_sequence <= stream.last_sequence;
    let leased = is_there && now < lease_until;
    let (attempt, first_try, due_at) = if leased { (1, Some(Instant(now)), lease_until) } else { (0, None, now) };
    let due_at = Instant(due_at);
    Move { next_sequence, attempt, uncounted: 0, first_try, due_at, leased, stream: stream.id }.write(connection)?;
    Ok(leased)
}

statement! {
    /// When the stream's notification was sent for the first time since it was its turn, as far as that was kept.
    FirstSent { payment: Id => SqlId, sequence: i64 => BigInt, endpoint: Id => SqlId, since: Instant => SqlInstant, }
    both "SELECT min(sent.started_at) FROM outbox_event AS e \
        JOIN outbox_attempt AS sent ON sent.event_id = e.event_id \
        WHERE e.payment_id = $1 AND e.sequence = $2 AND sent.endpoint_id = $3 AND sent.started_at >= $4";
    returns Nullable<SqlInstant>;
}

/// Since when the stream's notification fails, if it was sent since `first_try`. What was claimed and given back unsent (a dead endpoint's breaker, a
/// stop) did not fail, however long ago that was.
fn failing_since(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    first_try: Instant,
) -> Result<Option<Timestamp>, Fault> {
    let first_sent = FirstSent {
        payment: stream.payment_id,
        sequence: stream.next_sequence,
        endpoint: stream.endpoint_id,
        since: first_try,
    };
    let sent: Option<Instant> =
        on_each!(connection, inner => first_sent.get_result(inner)).in_table("outbox_attempt")?;
    Ok(sent.map(|sent| sent.0))
}

/// Whether the stream's notification, which is due again at `due_at`, will have failed for so long by then that it holds nothing back.
pub(crate) fn lets_others_go(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    due_at: Timestamp,
) -> Result<bool, Fault> {
    let Some(first_try) = stream.first_try.filter(|first_try| first_try.0.plus(HOLDS_BACK_FOR) < due_at) else {
        return Ok(false);
    };
    let since = failing_since(connection, stream, first_try)?;
    Ok(since.is_some_and(|since| since.plus(HOLDS_BACK_FOR) < due_at))
}

/// Tries the same again at `at`. When it will have failed for more than an hour by then, the notification goes its own way from now on, and
/// those behind it are free when the hour is over.
fn retry(connection: &mut AnyConnection, stream: &StreamRow, at: Timestamp, now: Timestamp) -> Result<(), Fault> {
    let first_try = stream.first_try.ok_or_else(|| corrupt("outbox_stream", "tried without a first try"))?;
    if at <= first_try.0.plus(HOLDS_BACK_FOR) {
        return Move::wait(stream, at).write(connection);
    }
    let freed_at = failing_since(connection, stream, first_try)?.unwrap_or(first_try.0).plus(HOLDS_BACK_FOR);
    if stream.detached && freed_at < at {
        replayed::set_free(connection, stream, freed_at.max(now))?;
    }
    if stream.detached || at <= freed_at {
        return Move::wait(stream, at).write(connection);
    }
    diesel::update(outbox_stream::table.find(stream.id))
        .set((
            outbox_stream::detached.eq(true),
            outbox_stream::last_sequence.eq(stream.next_sequence),
            outbox_stream::due_at.eq(Instant(at)),
            outbox_stream::leased.eq(false),
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
        replayed: false,
    };
    diesel::insert_into(outbox_stream::table).values(rest).execute(connection)?;
    Ok(())
}
