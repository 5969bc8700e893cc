//! What came of tries: streams move, tries are recorded, and the next notification of each stream is handed out.

use std::collections::HashSet;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_notification::HOLDS_BACK_FOR;
use dropin_ports::{AttemptRecord, DeliveryResult, FinishedTry};

use super::delivery::{Handed, SentColumns, SentRow, found, receiver_and_message};
use super::listed;
use super::stream::{Written, write_each};
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::lane::{HASTY, Together, Verdict, Work};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::statement;

/// One try, as results name it: stream, sequence and attempt.
pub(super) type Try = (i64, i64, i32);

/// What is told of one try.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) which: Try,
    pub(super) what: What,
}

/// What becomes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// It goes on to that sequence.
    GoOn { next: i64 },
    /// It goes on to the next, and this one is put aside.
    Parked,
    /// The same again then.
    Retry { at: Timestamp },
    /// The same again then, and this try does not count.
    Held { at: Timestamp },
}

/// A try for the history.
#[derive(Debug, Clone)]
struct Record {
    attempt: i32,
    told: AttemptRecord,
}

/// What came of tries, to be written.
#[derive(Debug)]
pub(crate) struct Finishing {
    told: Vec<Told>,
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
    pub(super) left: Vec<Told>,
}

impl Finishing {
    /// Of two results of the same try, the first counts.
    pub(super) fn new(results: Vec<FinishedTry>, now: Timestamp, lease_until: Timestamp) -> Self {
        let (mut seen, mut recorded) = (HashSet::with_capacity(results.len()), HashSet::with_capacity(results.len()));
        let mut new = Self { told: Vec::with_capacity(results.len()), records: Vec::new(), now, lease_until };
        for FinishedTry { key, result, record } in results {
            // No stream is at an attempt that its column cannot hold.
            let Ok(attempt) = i32::try_from(key.attempt) else { continue };
            let record = record.map(|told| Record { attempt, told });
            new.records.extend(record.filter(|record| recorded.insert(record.key())));
            let what = match result {
                DeliveryResult::Acknowledged => What::GoOn { next: key.sequence + 1 },
                DeliveryResult::Parked => What::Parked,
                DeliveryResult::Retry { at } => What::Retry { at },
                DeliveryResult::Held { at } => What::Held { at },
            };
            let which = (key.stream, key.sequence, attempt);
            if seen.insert(which) {
                new.told.push(Told { which, what });
            }
        }
        new
    }

    /// Without anything for the history.
    pub(super) const fn only(told: Vec<Told>, now: Timestamp, lease_until: Timestamp) -> Self {
        Self { told, records: Vec::new(), now, lease_until }
    }

    fn all_together(&self, connection: &mut PgConnection) -> Result<Finished, Fault> {
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
        finished.left = self.told.iter().filter(|told| left.contains(&told.which.0)).copied().collect();
        Ok(finished)
    }

    fn statement(&self) -> MoveTogether<'_> {
        let told = &self.told;
        let records = &self.records;
        MoveTogether {
            streams: told.iter().map(|one| one.which.0).collect(),
            sequences: told.iter().map(|one| one.which.1).collect(),
            attempts: told.iter().map(|one| one.which.2).collect(),
            next: told.iter().map(|one| one.next()).collect(),
            parked: told.iter().map(|one| one.what == What::Parked).collect(),
            held: told.iter().map(|one| matches!(one.what, What::Held { .. })).collect(),
            again_at: told.iter().map(|one| one.again_at()).collect(),
            hands_out: self.now < self.lease_until,
            holds_back_for: HOLDS_BACK_FOR.as_secs().cast_signed(),
            first_try: Instant(self.now),
            lease_until: Instant(self.lease_until),
            idle_since: Instant(self.now),
            parked_at: Instant(self.now),
            endpoints: records.iter().map(|one| Id(one.told.endpoint_id.uuid())).collect(),
            events: records.iter().map(|one| Id(one.told.event_id.uuid())).collect(),
            tries: records.iter().map(|one| one.attempt).collect(),
            started: records.iter().map(|one| Instant(one.told.started_at)).collect(),
            took: records.iter().map(Record::took).collect(),
            statuses: records.iter().map(|one| one.told.status.map(i32::from)).collect(),
            whys: records.iter().map(|one| one.told.why).collect(),
            answers: records.iter().map(Record::answer).collect(),
        }
    }
}

/// Writes what is told of each try by itself, and hands out what is next.
pub(super) fn one_by_one(
    connection: &mut AnyConnection,
    told: &[Told],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Finished, Fault> {
    let Written { going_on, matched } = write_each(connection, told, now, lease_until)?;
    let handed =
        if going_on.is_empty() { Handed::default() } else { found(connection, &listed(going_on), lease_until, now)? };
    Ok(Finished { handed, matched, left: Vec::new() })
}

impl Told {
    /// Where it goes on.
    fn next(&self) -> Option<i64> {
        match self.what {
            What::GoOn { next } => Some(next),
            What::Parked => Some(self.which.1 + 1),
            What::Retry { .. } | What::Held { .. } => None,
        }
    }

    /// When the same is due again.
    fn again_at(&self) -> Option<Instant> {
        match self.what {
            What::Retry { at } | What::Held { at } => Some(Instant(at)),
            What::GoOn { .. } | What::Parked => None,
        }
    }
}

impl Record {
    /// What no other try has.
    fn key(&self) -> (EndpointId, EventId, i32, Timestamp) {
        (self.told.endpoint_id, self.told.event_id, self.attempt, self.told.started_at)
    }

    /// Microseconds.
    fn took(&self) -> i64 {
        i64::try_from(self.told.took.as_micros()).unwrap_or(i64::MAX)
    }

    fn answer(&self) -> Option<&[u8]> {
        Some(self.told.answer.as_slice()).filter(|answer| !answer.is_empty())
    }
}

impl Work for Finishing {
    type Answer = Finished;

    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<Finished>, Fault> {
        let finished = match connection {
            AnyConnection::Postgres(connection) => self.all_together(connection)?,
            AnyConnection::Sqlite(inner) => {
                for record in &self.records {
                    record.keep(inner)?;
                }
                one_by_one(connection, &self.told, self.now, self.lease_until)?
            }
        };
        Ok(Verdict::Keep(finished))
    }
}

impl Together for Finishing {
    const SETTINGS: &'static str = HASTY;

    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Finished>>, Fault> {
        super::each_by_itself(connection, all, Self::all_together)
    }
}

statement! {
    /// Keeps one try, unless that was done already.
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
    on Sqlite, SqliteConnection, "INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status, why, answer) \
        SELECT told.* FROM (SELECT ? AS endpoint_id, ? AS event_id, ? AS attempt, ? AS started_at, ? AS took, ? AS status, ? AS why, \
            ? AS answer) AS told WHERE NOT EXISTS ( \
            SELECT 1 FROM outbox_attempt AS a WHERE a.event_id = told.event_id AND a.endpoint_id = told.endpoint_id \
                AND a.attempt = told.attempt AND a.started_at = told.started_at)";
}

impl Record {
    fn keep(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        let keep = Keep {
            endpoint: Id(self.told.endpoint_id.uuid()),
            event: Id(self.told.event_id.uuid()),
            attempt: self.attempt,
            started_at: Instant(self.told.started_at),
            took: self.took(),
            status: self.told.status.map(i32::from),
            why: self.told.why,
            answer: self.answer(),
        };
        keep.execute(connection)?;
        Ok(())
    }
}

statement! {
    /// Locks the streams whose try is under way, moves them and hands out what is next. Untouched are those whose notification is tried again
    /// after its hour (TRUE): each becomes two streams, one after the other. So are streams that were asked for and go on: what comes behind is looked
    /// for under the lock, because whoever asks for more may have put it there while this waited.
    ///
    /// Locks are taken in the order of endpoints and then of streams: whoever tells every endpoint of a payment goes through endpoints in the
    /// same order, and whoever goes through the streams of one endpoint does so by their ids. An event that was told while a lock was waited for
    /// is not seen here; it is looked for afterwards.
    ///
    /// A try that is told of twice, because the first answer was lost, is held once, for nothing is leased any more, and stands once in the history.
    ///
    /// What was moved and what was not stand one below the other rather than joined: that would compare each row with each. Nothing is looked up
    /// for streams that are idle now: their keys are NULL.
    MoveTogether<'a> {
        streams: Vec<i64> => Array<BigInt>,
        sequences: Vec<i64> => Array<BigInt>,
        attempts: Vec<i32> => Array<Integer>,
        next: Vec<Option<i64>> => Array<Nullable<BigInt>>,
        parked: Vec<bool> => Array<Bool>,
        held: Vec<bool> => Array<Bool>,
        again_at: Vec<Option<Instant>> => Array<Nullable<SqlInstant>>,
        hands_out: bool => Bool,
        holds_back_for: i64 => BigInt,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
        idle_since: Instant => SqlInstant,
        parked_at: Instant => SqlInstant,
        endpoints: Vec<Id> => Array<SqlId>,
        events: Vec<Id> => Array<SqlId>,
        tries: Vec<i32> => Array<Integer>,
        started: Vec<Instant> => Array<SqlInstant>,
        took: Vec<i64> => Array<BigInt>,
        statuses: Vec<Option<i32>> => Array<Nullable<Integer>>,
        whys: Vec<Option<&'static str>> => Array<Nullable<Text>>,
        answers: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
    }
    on Pg, PgConnection, concat!("WITH result AS MATERIALIZED ( \
            SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?) WITH ORDINALITY \
                AS result (stream, sequence, attempt, next, parked, held, again_at, place) \
        ), found AS MATERIALIZED ( \
            SELECT s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt - s.uncounted AS tries, \
                result.place, result.next, result.next IS NULL AS again, result.parked, result.held, result.again_at, \
                result.next <= s.last_sequence AND ? AS goes_on, \
                s.detached AND NOT s.replayed AND result.next > s.last_sequence AS ends, \
                CASE WHEN s.replayed AND result.next IS NOT NULL THEN TRUE WHEN s.detached AND NOT s.replayed THEN FALSE \
                    ELSE NOT result.held AND result.again_at > s.first_try + ? * INTERVAL '1 second' END AS is_left \
            FROM result JOIN outbox_stream AS s ON s.id = result.stream \
            WHERE s.next_sequence = result.sequence AND s.attempt = result.attempt AND s.next_sequence <= s.last_sequence \
            ORDER BY s.endpoint_id, s.id FOR UPDATE OF s \
        ), moved AS ( \
            UPDATE outbox_stream AS s SET \
                next_sequence = CASE WHEN found.again THEN s.next_sequence ELSE found.next END, \
                attempt = CASE WHEN found.again THEN s.attempt WHEN found.goes_on THEN 1 ELSE 0 END, \
                uncounted = CASE WHEN found.held THEN s.uncounted + s.leased::integer WHEN found.again THEN s.uncounted ELSE 0 END, \
                first_try = CASE WHEN found.again THEN s.first_try WHEN found.goes_on THEN ? END, \
                due_at = CASE WHEN found.again THEN found.again_at WHEN found.goes_on THEN ? ELSE ? END, \
                leased = found.goes_on IS TRUE \
            FROM found WHERE s.id = found.id AND found.is_left IS NOT TRUE AND found.ends IS NOT TRUE \
            RETURNING s.id, CASE WHEN s.leased THEN s.id END AS leased, CASE WHEN s.leased THEN s.endpoint_id END AS endpoint_id, \
                CASE WHEN s.leased THEN s.payment_id END AS payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted \
        ), ended AS ( \
            DELETE FROM outbox_stream AS s USING found WHERE s.id = found.id AND found.ends AND found.is_left IS NOT TRUE \
        ), aside AS ( \
            INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at) \
            SELECT found.endpoint_id, e.event_id, found.tries, ? FROM found \
            JOIN outbox_event AS e ON e.payment_id = found.payment_id AND e.sequence = found.next_sequence \
            WHERE found.parked AND found.is_left IS NOT TRUE ORDER BY found.place \
            ON CONFLICT (endpoint_id, event_id) DO UPDATE \
            SET attempts = excluded.attempts, parked_at = excluded.parked_at, position = DEFAULT \
        ), kept AS ( \
            INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status, why, answer) \
            SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?) \
                AS told (endpoint_id, event_id, attempt, started_at, took, status, why, answer) WHERE NOT EXISTS ( \
                SELECT FROM outbox_attempt AS a WHERE a.event_id = told.event_id AND a.endpoint_id = told.endpoint_id \
                    AND a.attempt = told.attempt AND a.started_at = told.started_at) \
        ) SELECT moved.id, FALSE, moved.leased, moved.endpoint_id, moved.payment_id, moved.next_sequence, \
            moved.attempt, moved.first_try, moved.uncounted, FALSE, ", receiver_and_message!(), " \
        FROM moved LEFT JOIN endpoint ON endpoint.id = moved.endpoint_id \
        LEFT JOIN outbox_event AS e ON e.payment_id = moved.payment_id AND e.sequence = moved.next_sequence \
        UNION ALL SELECT id, is_left IS TRUE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, NULL, NULL, NULL FROM found WHERE is_left OR ends");
    returns (BigInt, Bool, Nullable<SentColumns>);
}
