//! What came of tries: streams move, tries are recorded, and the next notification of each stream is handed out.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text};
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_notification::HOLDS_BACK_FOR;
use dropin_ports::{AttemptRecord, AttemptResult, DeliveryResult};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::statement;
use dropin_store_runtime::worker_pool::{ASYNC_COMMIT, Batchable, Batched, Kind, TxOutcome, Work, each_by_itself};

use super::attempt::{AttemptUpdate, StreamChange};
use super::delivery::{Handed, SentColumns, SentRow, found};
use super::stream::{Written, write_each};

/// A try for the history.
#[derive(Debug, Clone)]
struct Record {
    attempt: i32,
    record: AttemptRecord,
}

/// What came of tries, to be written.
#[derive(Debug)]
pub(crate) struct Finishing {
    updates: Vec<AttemptUpdate>,
    records: Vec<Record>,
    pub(super) now: Timestamp,
    pub(super) lease_until: Timestamp,
}

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// The next notifications of streams that go on.
    pub(super) handed: Handed,
    /// How many tries were still under way.
    pub(super) matched: u32,
    /// To be written one by one.
    pub(super) left: Vec<AttemptUpdate>,
}

impl Finishing {
    /// Of two results of the same try, the first counts.
    pub(super) fn new(results: Vec<AttemptResult>, now: Timestamp, lease_until: Timestamp) -> Self {
        let (mut seen, mut recorded) = (HashSet::with_capacity(results.len()), HashSet::with_capacity(results.len()));
        let mut new = Self { updates: Vec::with_capacity(results.len()), records: Vec::new(), now, lease_until };
        for AttemptResult { key: delivery, result, record } in results {
            // No stream is at an attempt that its column cannot hold.
            let Ok(attempt) = i32::try_from(delivery.attempt) else { continue };
            let record = record.map(|record| Record { attempt, record });
            new.records.extend(record.filter(|record| recorded.insert(record.key())));
            let change = match result {
                DeliveryResult::Acknowledged => StreamChange::GoOn { next: delivery.sequence + 1 },
                DeliveryResult::Parked => StreamChange::Parked,
                DeliveryResult::Retry { at } => StreamChange::Retry { at },
                DeliveryResult::Held { at } => StreamChange::Held { at },
            };
            let key = (delivery.stream, delivery.sequence, attempt);
            if seen.insert(key) {
                new.updates.push(AttemptUpdate { key, change });
            }
        }
        new
    }

    /// Without anything for the history.
    pub(super) const fn only(updates: Vec<AttemptUpdate>, now: Timestamp, lease_until: Timestamp) -> Self {
        Self { updates, records: Vec::new(), now, lease_until }
    }

    fn write_batched(&self, connection: &mut PgConnection) -> Result<Finished, Fault> {
        let rows: Vec<(i64, bool, Option<SentRow>)> = self.statement().load(connection).in_table("outbox_stream")?;
        let mut finished = Finished::default();
        let mut left = HashSet::new();
        for (stream, is_left, next) in rows {
            if is_left {
                left.insert(stream);
                continue;
            }
            finished.matched += 1;
            if let Some(next) = next {
                finished.handed.add(stream, next, self.now);
            }
        }
        finished.left = self.updates.iter().filter(|update| left.contains(&update.key.0)).copied().collect();
        Ok(finished)
    }

    fn statement(&self) -> MoveStreams<'_> {
        let updates = &self.updates;
        let records = &self.records;
        MoveStreams {
            streams: updates.iter().map(|one| one.key.0).collect(),
            sequences: updates.iter().map(|one| one.key.1).collect(),
            attempts: updates.iter().map(|one| one.key.2).collect(),
            next: updates.iter().map(|one| one.next()).collect(),
            parked: updates.iter().map(|one| one.change == StreamChange::Parked).collect(),
            held: updates.iter().map(|one| matches!(one.change, StreamChange::Held { .. })).collect(),
            again_at: updates.iter().map(|one| one.again_at()).collect(),
            hands_out: self.now < self.lease_until,
            holds_back_for: HOLDS_BACK_FOR.as_secs().cast_signed(),
            now: Instant(self.now),
            lease_until: Instant(self.lease_until),
            endpoints: records.iter().map(|one| Id(one.record.endpoint_id.uuid())).collect(),
            events: records.iter().map(|one| Id(one.record.event_id.uuid())).collect(),
            tries: records.iter().map(|one| one.attempt).collect(),
            started: records.iter().map(|one| Instant(one.record.started_at)).collect(),
            took: records.iter().map(Record::took).collect(),
            statuses: records.iter().map(|one| one.record.status.map(i32::from)).collect(),
            whys: records.iter().map(|one| one.record.why).collect(),
            answers: records.iter().map(Record::answer).collect(),
        }
    }
}

/// Writes each result by a statement of its own, and hands out what is next.
pub(super) fn one_by_one(
    connection: &mut AnyConnection,
    updates: &[AttemptUpdate],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Finished, Fault> {
    let Written { going_on, matched } = write_each(connection, updates, now, lease_until)?;
    let handed =
        if going_on.is_empty() { Handed::default() } else { found(connection, &listed(going_on), lease_until, now)? };
    Ok(Finished { handed, matched, left: Vec::new() })
}

impl Record {
    /// What no other try has.
    fn key(&self) -> (EndpointId, EventId, i32, Timestamp) {
        (self.record.endpoint_id, self.record.event_id, self.attempt, self.record.started_at)
    }

    /// Microseconds.
    fn took(&self) -> i64 {
        i64::try_from(self.record.took.as_micros()).unwrap_or(i64::MAX)
    }

    fn answer(&self) -> Option<&[u8]> {
        Some(self.record.answer.as_slice()).filter(|answer| !answer.is_empty())
    }
}

impl Work for Finishing {
    type Answer = Finished;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Finished>, Fault> {
        let finished = match connection {
            AnyConnection::Postgres(connection) => self.write_batched(connection)?,
            AnyConnection::Sqlite(inner) => {
                for record in &self.records {
                    record.keep(inner)?;
                }
                one_by_one(connection, &self.updates, self.now, self.lease_until)?
            }
        };
        Ok(TxOutcome::Commit(finished))
    }
}

impl Batchable for Finishing {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-finish";
    const SETTINGS: &'static str = ASYNC_COMMIT;

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Finished>, Fault> {
        each_by_itself(connection, all, Self::write_batched)
    }
}

statement! {
    Keep<'a> {
        endpoint: Id => SqlId,
        event: Id => SqlId,
        attempt: i32 => Integer,
        started_at: Instant => SqlInstant,
        took: i64 => BigInt,
        status: Option<i32> => Nullable<Integer>,
        why: Option<&'static str> => Nullable<Text>,
        answer: Option<&'a [u8]> => Nullable<Binary>,
    }
    sqlite include_str!("keep_attempt.sqlite.sql");
}

impl Record {
    fn keep(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        let keep = Keep {
            endpoint: Id(self.record.endpoint_id.uuid()),
            event: Id(self.record.event_id.uuid()),
            attempt: self.attempt,
            started_at: Instant(self.record.started_at),
            took: self.took(),
            status: self.record.status.map(i32::from),
            why: self.record.why,
            answer: self.answer(),
        };
        keep.execute(connection)?;
        Ok(())
    }
}

statement! {
    MoveStreams<'a> {
        streams: Vec<i64> => Array<BigInt>,
        sequences: Vec<i64> => Array<BigInt>,
        attempts: Vec<i32> => Array<Integer>,
        next: Vec<Option<i64>> => Array<Nullable<BigInt>>,
        parked: Vec<bool> => Array<Bool>,
        held: Vec<bool> => Array<Bool>,
        again_at: Vec<Option<Instant>> => Array<Nullable<SqlInstant>>,
        hands_out: bool => Bool,
        holds_back_for: i64 => BigInt,
        now: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
        endpoints: Vec<Id> => Array<SqlId>,
        events: Vec<Id> => Array<SqlId>,
        tries: Vec<i32> => Array<Integer>,
        started: Vec<Instant> => Array<SqlInstant>,
        took: Vec<i64> => Array<BigInt>,
        statuses: Vec<Option<i32>> => Array<Nullable<Integer>>,
        whys: Vec<Option<&'static str>> => Array<Nullable<Text>>,
        answers: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
    }
    postgres include_str!("move_streams.postgres.sql");
    returns (BigInt, Bool, Nullable<SentColumns>);
}
