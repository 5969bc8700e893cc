//! Deleting by age, in small transactions, so that no lock is held for long.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::{EventId, Timestamp};
use dropin_ports::EventsPurged;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::ids;
use crate::schema::outbox_event;

statement! {
    /// Deletes the oldest tries. Of several who do so at once, each takes others.
    DeleteTries { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM outbox_attempt WHERE ctid = ANY (ARRAY( \
        SELECT ctid FROM outbox_attempt WHERE started_at < ? ORDER BY started_at LIMIT ? FOR UPDATE SKIP LOCKED))";
    sqlite "DELETE FROM outbox_attempt WHERE rowid IN ( \
        SELECT rowid FROM outbox_attempt WHERE started_at < ? ORDER BY started_at LIMIT ?)";
}

pub(super) fn tries(connection: &mut AnyConnection, before: Timestamp, limit: u32) -> Result<u32, Fault> {
    let delete = DeleteTries { before: Instant(before), limit: i64::from(limit) };
    let deleted = on_each!(connection, inner => delete.execute(inner))?;
    counted(deleted)
}

statement! {
    CountTries { before: Instant => SqlInstant, }
    postgres COUNT_TRIES;
    sqlite COUNT_TRIES;
    returns BigInt;
}

const COUNT_TRIES: &str = "SELECT count(*) FROM outbox_attempt WHERE started_at < ?";

pub(super) fn count_attempts(connection: &mut AnyConnection, before: Timestamp) -> Result<u64, Fault> {
    let count = CountTries { before: Instant(before) };
    let count: i64 = on_each!(connection, inner => count.get_result(inner)).in_table("outbox_attempt")?;
    u64::try_from(count).map_err(|_negative| corrupt("outbox_attempt", "it has less than no rows"))
}

/// What must hold for an event to go: there is a newer one of its payment, which says where the payment's numbers go on; no stream is at it or has
/// to come to it; it is not parked.
macro_rules! is_over {
    () => {
        "EXISTS (SELECT 1 FROM outbox_event AS newer WHERE newer.payment_id = e.payment_id AND newer.sequence > e.sequence) \
        AND NOT EXISTS (SELECT 1 FROM outbox_parked AS parked WHERE parked.event_id = e.event_id) \
        AND NOT EXISTS (SELECT 1 FROM endpoint AS ep JOIN outbox_stream AS s ON s.endpoint_id = ep.id AND s.payment_id = e.payment_id \
            AND NOT s.detached WHERE ep.merchant_id = e.merchant_id AND e.sequence BETWEEN s.next_sequence AND s.last_sequence) \
        AND NOT EXISTS (SELECT 1 FROM endpoint AS ep JOIN outbox_stream AS s ON s.endpoint_id = ep.id AND s.payment_id = e.payment_id \
            AND s.detached WHERE ep.merchant_id = e.merchant_id AND (s.next_sequence = e.sequence OR EXISTS ( \
                SELECT 1 FROM outbox_replay_rest AS rest WHERE rest.stream_id = s.id AND rest.sequence = e.sequence)))"
    };
}

statement! {
    /// Deletes those events of a list that are over.
    DeleteEvents { events: String => Text, }
    postgres concat!("DELETE FROM outbox_event AS e WHERE e.event_id ", listed!(postgres), " AND ", is_over!(), " RETURNING e.event_id");
    sqlite concat!("DELETE FROM outbox_event AS e WHERE e.event_id ", listed!(sqlite), " AND ", is_over!(), " RETURNING event_id");
    returns SqlId;
}

statement! {
    /// Which events of a list are over.
    OverEvents { events: String => Text, }
    postgres concat!("SELECT e.event_id FROM outbox_event AS e WHERE e.event_id ", listed!(postgres), " AND ", is_over!());
    sqlite concat!("SELECT e.event_id FROM outbox_event AS e WHERE e.event_id ", listed!(sqlite), " AND ", is_over!());
    returns SqlId;
}

statement! {
    DeleteTriesOf { events: String => Text, }
    postgres concat!("DELETE FROM outbox_attempt WHERE event_id ", listed!(postgres));
    sqlite concat!("DELETE FROM outbox_attempt WHERE event_id ", listed!(sqlite));
}

statement! {
    DeleteDiscardedOf { events: String => Text, }
    postgres concat!("DELETE FROM outbox_discarded WHERE event_id ", listed!(postgres));
    sqlite concat!("DELETE FROM outbox_discarded WHERE event_id ", listed!(sqlite));
}

statement! {
    CountTriesOf { since: Instant => SqlInstant, events: String => Text, }
    postgres concat!("SELECT count(*) FROM outbox_attempt WHERE started_at >= ? AND event_id ", listed!(postgres));
    sqlite concat!("SELECT count(*) FROM outbox_attempt WHERE started_at >= ? AND event_id ", listed!(sqlite));
    returns BigInt;
}

statement! {
    /// Deletes who asked for what to be sent again: what is asked for next no longer has to come behind it.
    DeleteReplays { before: Instant => SqlInstant, }
    postgres DELETE_REPLAYS;
    sqlite DELETE_REPLAYS;
}

const DELETE_REPLAYS: &str = "DELETE FROM outbox_replay WHERE ends_at < ?";

/// The events that are looked at at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) before: Timestamp,
    pub(super) after: Option<EventId>,
    pub(super) look_at: u32,
}

impl Step {
    /// Deletes what is old and over.
    pub(super) fn delete(self, connection: &mut AnyConnection) -> Result<EventsPurged, Fault> {
        if self.after.is_none() {
            let delete = DeleteReplays { before: Instant(self.before) };
            on_each!(connection, inner => delete.execute(inner))?;
        }
        let (old, next) = self.old(connection)?;
        let old = lock(connection, old)?;
        if old.is_empty() {
            return Ok(EventsPurged { next, ..EventsPurged::default() });
        }
        // A statement of its own: it sees what somebody did who had one of the locks before.
        let delete = DeleteEvents { events: ids(old) };
        let gone: Vec<Id> = on_each!(connection, inner => delete.load(inner)).in_table("outbox_event")?;
        let (events, of) = (counted(gone.len())?, ids(gone));
        let delete = DeleteDiscardedOf { events: of.clone() };
        on_each!(connection, inner => delete.execute(inner))?;
        let delete = DeleteTriesOf { events: of };
        let tries = counted(on_each!(connection, inner => delete.execute(inner))?)?;
        Ok(EventsPurged { events, tries, next })
    }

    /// Counts it.
    pub(super) fn count(
        self,
        connection: &mut AnyConnection,
        tries_since: Option<Timestamp>,
    ) -> Result<EventsPurged, Fault> {
        let (old, next) = self.old(connection)?;
        if old.is_empty() {
            return Ok(EventsPurged { next, ..EventsPurged::default() });
        }
        let over = OverEvents { events: ids(old) };
        let over: Vec<Id> = on_each!(connection, inner => over.load(inner)).in_table("outbox_event")?;
        let events = counted(over.len())?;
        let since = Instant(tries_since.unwrap_or(Timestamp::from_micros(0)));
        let count = CountTriesOf { since, events: ids(over) };
        let tries: i64 = on_each!(connection, inner => count.get_result(inner)).in_table("outbox_attempt")?;
        Ok(EventsPurged { events, tries: u32::try_from(tries).unwrap_or(u32::MAX), next })
    }

    /// Those that are old, and where to go on. Ids are given in the order of time, so that nothing old comes behind a step without any.
    fn old(self, connection: &mut AnyConnection) -> Result<(Vec<Id>, Option<EventId>), Fault> {
        let mut events = outbox_event::table
            .select((outbox_event::event_id, outbox_event::happened_at))
            .order(outbox_event::event_id.asc())
            .limit(i64::from(self.look_at))
            .into_boxed();
        if let Some(after) = self.after {
            events = events.filter(outbox_event::event_id.gt(Id(after.uuid())));
        }
        let events: Vec<(Id, Instant)> = events.load(connection).in_table("outbox_event")?;
        let is_end = u32::try_from(events.len()).is_ok_and(|read| read < self.look_at);
        let last = events.last().map(|(id, _)| EventId::new(id.0));
        let old: Vec<Id> = events.into_iter().filter(|(_, at)| at.0 < self.before).map(|(id, _)| id).collect();
        let next = last.filter(|_| !is_end && !old.is_empty());
        Ok((old, next))
    }
}

/// Keeps everybody from queueing the events again meanwhile, except those that somebody is about to.
fn lock(connection: &mut AnyConnection, events: Vec<Id>) -> Result<Vec<Id>, Fault> {
    match connection {
        AnyConnection::Sqlite(_) => Ok(events),
        AnyConnection::Postgres(connection) => outbox_event::table
            .filter(outbox_event::event_id.eq_any(events))
            .select(outbox_event::event_id)
            .for_update()
            .skip_locked()
            .load(connection)
            .in_table("outbox_event"),
    }
}

fn counted(rows: usize) -> Result<u32, Fault> {
    u32::try_from(rows).map_err(|_beyond| corrupt("outbox_event", "more rows than can be counted"))
}
