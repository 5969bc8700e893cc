//! Deleting by age, in small transactions, so that no lock is held for long.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::{EventId, Timestamp};
use dropin_ports::EventsPurged;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::{on_each, statement};

use crate::schema::outbox_event;

statement! {
    /// Deletes the oldest tries. Of several who do so at once, each takes others.
    DeleteTries { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM outbox_attempt \
        WHERE ctid = ANY ( \
            ARRAY(SELECT ctid FROM outbox_attempt WHERE started_at < $1 ORDER BY started_at LIMIT $2 FOR UPDATE SKIP LOCKED) \
        )";
    sqlite "DELETE FROM outbox_attempt WHERE rowid IN (SELECT rowid FROM outbox_attempt WHERE started_at < $1 ORDER BY started_at LIMIT $2)";
}

pub(super) fn tries(connection: &mut AnyConnection, before: Timestamp, limit: u32) -> Result<u32, Fault> {
    let delete = DeleteTries { before: Instant(before), limit: i64::from(limit) };
    let deleted = on_each!(connection, inner => delete.execute(inner))?;
    counted(deleted)
}

statement! {
    CountTries { before: Instant => SqlInstant, }
    both "SELECT count(*) FROM outbox_attempt WHERE started_at < $1";
    returns BigInt;
}

pub(super) fn count_attempts(connection: &mut AnyConnection, before: Timestamp) -> Result<u64, Fault> {
    let count = CountTries { before: Instant(before) };
    let count: i64 = on_each!(connection, inner => count.get_result(inner)).in_table("outbox_attempt")?;
    u64::try_from(count).map_err(|_negative| corrupt("outbox_attempt", "it has less than no rows"))
}

statement! {
    DeleteEvents { events: String => Text, }
    postgres include_str!("delete_events.postgres.sql");
    sqlite include_str!("delete_events.sqlite.sql");
    returns SqlId;
}

statement! {
    OverEvents { events: String => Text, }
    postgres include_str!("find_over_events.postgres.sql");
    sqlite include_str!("find_over_events.sqlite.sql");
    returns SqlId;
}

statement! {
    DeleteTriesOf { events: String => Text, }
    postgres "DELETE FROM outbox_attempt WHERE event_id = ANY (string_to_array($1, ',')::uuid[])";
    sqlite "DELETE FROM outbox_attempt WHERE event_id IN (SELECT value FROM json_each('[\"' || replace($1, ',', '\",\"') || '\"]'))";
}

statement! {
    DeleteDiscardedOf { events: String => Text, }
    postgres "DELETE FROM outbox_discarded WHERE event_id = ANY (string_to_array($1, ',')::uuid[])";
    sqlite "DELETE FROM outbox_discarded WHERE event_id IN (SELECT value FROM json_each('[\"' || replace($1, ',', '\",\"') || '\"]'))";
}

statement! {
    CountTriesOf { since: Instant => SqlInstant, events: String => Text, }
    postgres "SELECT count(*) FROM outbox_attempt WHERE started_at >= $1 AND event_id = ANY (string_to_array($2, ',')::uuid[])";
    sqlite "SELECT count(*) FROM outbox_attempt \
        WHERE started_at >= $1 AND event_id IN (SELECT value FROM json_each('[\"' || replace($2, ',', '\",\"') || '\"]'))";
    returns BigInt;
}

statement! {
    /// Deletes who asked for what to be sent again: what is asked for next no longer has to come behind it.
    DeleteReplays { before: Instant => SqlInstant, }
    both "DELETE FROM outbox_replay WHERE ends_at < $1";
}

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
        let delete = DeleteEvents { events: listed(old) };
        let gone: Vec<Id> = on_each!(connection, inner => delete.load(inner)).in_table("outbox_event")?;
        let (events, of) = (counted(gone.len())?, listed(gone));
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
        let over = OverEvents { events: listed(old) };
        let over: Vec<Id> = on_each!(connection, inner => over.load(inner)).in_table("outbox_event")?;
        let events = counted(over.len())?;
        let since = Instant(tries_since.unwrap_or(Timestamp::from_micros(0)));
        let count = CountTriesOf { since, events: listed(over) };
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

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_counted_as_over_is_what_is_deleted() {
        let condition = |text: &'static str| text.split_once("AND EXISTS").unwrap().1.split([';']).next().unwrap();
        let counted = condition(include_str!("find_over_events.postgres.sql"));
        for text in [
            include_str!("find_over_events.sqlite.sql"),
            include_str!("delete_events.postgres.sql"),
            include_str!("delete_events.sqlite.sql"),
        ] {
            assert_eq!(condition(text).split("RETURNING").next().unwrap().trim_end(), counted.trim_end());
        }
    }
}
