//! Taking streams that are due.

use std::collections::HashMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::{EndpointId, Timestamp};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::statement;
use dropin_store_runtime::worker_pool::{ASYNC_COMMIT, Batchable, TxOutcome, Work};

use super::delivery::{Handed, SentColumns, SentRow, receiver_and_message};
use super::listed;

/// Streams to be leased.
#[derive(Debug)]
pub(crate) struct Claiming {
    pub(super) of: Of,
    pub(super) now: Timestamp,
    pub(super) lease_until: Timestamp,
}

/// Whose.
#[derive(Debug)]
pub(super) enum Of {
    /// Of all endpoints but those, so many of each and in all.
    All { full: Vec<EndpointId>, per_endpoint: u32, limit: u32 },
    /// One of that endpoint.
    One(EndpointId),
}

/// A stream, its endpoint, after how many of that more may be due there, and what is to be sent.
type ClaimedRow = (i64, Id, i64, SentRow);

/// The columns of a [`ClaimedRow`].
type ClaimedColumns = (BigInt, SqlId, BigInt, SentColumns);

/// Endpoints with anything to do, each with the earliest due time of what is new and of what somebody asked for: found by hopping through the index,
/// so that neither idle ones nor what waits behind that costs anything.
macro_rules! pending {
    (postgres) => {
        "WITH RECURSIVE pending (endpoint_id, replayed, due_at) AS ( \
                SELECT * FROM (SELECT endpoint_id, replayed, due_at FROM outbox_stream WHERE next_sequence <= last_sequence \
                    ORDER BY endpoint_id, replayed, due_at LIMIT 1) AS one \
                UNION ALL \
                SELECT next.endpoint_id, next.replayed, next.due_at FROM pending CROSS JOIN LATERAL ( \
                    SELECT s.endpoint_id, s.replayed, s.due_at FROM outbox_stream AS s \
                    WHERE s.next_sequence <= s.last_sequence AND (s.endpoint_id, s.replayed) > (pending.endpoint_id, pending.replayed) \
                    ORDER BY s.endpoint_id, s.replayed, s.due_at LIMIT 1) AS next \
            )"
    };
    (sqlite) => {
        "WITH RECURSIVE pending (endpoint_id, replayed, due_at) AS ( \
                SELECT * FROM (SELECT endpoint_id, replayed, due_at FROM outbox_stream WHERE next_sequence <= last_sequence \
                    ORDER BY endpoint_id, replayed, due_at LIMIT 1) \
                UNION ALL \
                SELECT follower.endpoint_id, follower.replayed, follower.due_at FROM pending JOIN outbox_stream AS follower \
                ON follower.id = ( \
                    SELECT x.id FROM outbox_stream AS x \
                    WHERE x.next_sequence <= x.last_sequence AND (x.endpoint_id, x.replayed) > (pending.endpoint_id, pending.replayed) \
                    ORDER BY x.endpoint_id, x.replayed, x.due_at LIMIT 1) \
            )"
    };
}
pub(super) use pending;

/// How many are leased of each endpoint that is ready, and how many of them may be new ones: an eighth is left to what was asked for, if any of that
/// is due, or it would wait for ever where there is always something new. `turn` has that eighth come out even for small numbers.
macro_rules! share {
    ($least:literal, $greatest:literal, $left:literal) => {
        concat!(
            "share AS MATERIALIZED (SELECT endpoint_id, replays, size, size - ",
            $left,
            " AS new FROM ready CROSS JOIN (SELECT ",
            $least,
            "(?, ",
            $greatest,
            "(1, ? / nullif(count(*), 0))) AS size FROM ready) AS equal)"
        )
    };
}

/// What follows when the streams are chosen and locked. Those that were leased already belonged to somebody who died: the try does not count.
macro_rules! lease {
    () => {
        concat!(
            ", claimed AS ( \
                UPDATE outbox_stream AS s SET attempt = s.attempt + 1, uncounted = s.uncounted + locked.leased::integer, \
                    first_try = coalesce(s.first_try, ?), due_at = ?, leased = TRUE \
                FROM locked WHERE s.id = locked.id \
                RETURNING s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, \
                    locked.leased AS lease_expired, locked.due_at, locked.enough \
            ) SELECT claimed.id, claimed.endpoint_id, claimed.enough, claimed.id, claimed.endpoint_id, claimed.payment_id, claimed.next_sequence, \
                claimed.attempt, claimed.first_try, claimed.uncounted, claimed.lease_expired, ",
            receiver_and_message!(),
            " FROM claimed LEFT JOIN endpoint ON endpoint.id = claimed.endpoint_id \
            LEFT JOIN outbox_event AS e ON e.payment_id = claimed.payment_id AND e.sequence = claimed.next_sequence \
            ORDER BY claimed.due_at"
        )
    };
}

/// Locks streams that are due at the endpoint that stands there, out of the new ones or of those that were asked for; nobody waits for a lock.
macro_rules! lock_due {
    ($kind:literal, $endpoint:literal, $limit:literal) => {
        concat!(
            "SELECT id, leased, due_at FROM outbox_stream WHERE endpoint_id = ",
            $endpoint,
            " AND ",
            $kind,
            " AND next_sequence <= last_sequence AND due_at <= ? ORDER BY due_at LIMIT ",
            $limit,
            " FOR UPDATE SKIP LOCKED"
        )
    };
}

statement! {
    /// Leases streams that are due and says what is to be sent. Each endpoint with any gets an equal share of the limit, so that none starves
    /// another and no more is locked than is leased. What was asked for gets what the new ones leave of it, and its eighth: however much was asked
    /// for, what happens now is told now.
    ClaimAll<'a> {
        now: Instant => SqlInstant,
        full: &'a [Id] => Array<SqlId>,
        most_endpoints: i64 => BigInt,
        turn: i64 => BigInt,
        per_endpoint: i64 => BigInt,
        limit: i64 => BigInt,
        due: Instant => SqlInstant,
        due_again: Instant => SqlInstant,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
    }
    on Pg, PgConnection, concat!(
        pending!(postgres), ", ready AS MATERIALIZED ( \
            SELECT endpoint_id, bool_or(replayed) AS replays FROM pending WHERE due_at <= ? AND endpoint_id <> ALL (?) \
            GROUP BY endpoint_id ORDER BY min(due_at) LIMIT ? \
        ), ", share!("least", "greatest", "CASE WHEN replays THEN (size + ?) / 8 ELSE 0 END"), ", new AS MATERIALIZED ( \
            SELECT s.*, share.endpoint_id, greatest(1, share.new) AS enough FROM share CROSS JOIN LATERAL (",
                lock_due!("NOT replayed", "share.endpoint_id", "share.new"), ") AS s \
        ), again AS MATERIALIZED ( \
            SELECT s.*, share.endpoint_id, greatest(1, share.new) AS enough FROM share CROSS JOIN LATERAL (",
                lock_due!("replayed", "share.endpoint_id",
                    "(share.size - (SELECT count(*) FROM new WHERE new.endpoint_id = share.endpoint_id))"), ") AS s WHERE share.replays \
        ), locked AS MATERIALIZED (SELECT * FROM new UNION ALL SELECT * FROM again)",
        lease!()
    );
    returns ClaimedColumns;
}

statement! {
    /// Leases the stream of one endpoint that is due longest.
    ClaimOne<'a> {
        endpoint: &'a Id => SqlId,
        due: Instant => SqlInstant,
        endpoint_again: &'a Id => SqlId,
        due_again: Instant => SqlInstant,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
    }
    on Pg, PgConnection, concat!(
        "WITH locked AS MATERIALIZED ( \
            SELECT id, leased, due_at, 1::bigint AS enough FROM ( \
                SELECT * FROM (", lock_due!("NOT replayed", "?", "1"), ") AS new \
                UNION ALL SELECT * FROM (", lock_due!("replayed", "?", "1"), ") AS again) AS either ORDER BY due_at LIMIT 1 \
        )",
        lease!()
    );
    returns ClaimedColumns;
}

/// What the two statements of SQLite select of the streams that they chose (`due`): as they are before they are leased.
macro_rules! chosen {
    () => {
        concat!(
            " SELECT s.id, s.endpoint_id, due.enough, s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, s.leased, ",
            receiver_and_message!(),
            " FROM due CROSS JOIN outbox_stream AS s ON s.id = due.id JOIN endpoint ON endpoint.id = s.endpoint_id \
            LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence ORDER BY s.due_at"
        )
    };
}

statement! {
    /// Streams that are due, chosen as on PostgreSQL: as many as may be of each kind, numbered, and of those the new ones first.
    ChooseAll<'a> {
        now: Instant => SqlInstant,
        full: &'a str => Text,
        most_endpoints: i64 => BigInt,
        turn: i64 => BigInt,
        per_endpoint: i64 => BigInt,
        limit: i64 => BigInt,
        due: Instant => SqlInstant,
    }
    on Sqlite, SqliteConnection, concat!(
        pending!(sqlite), ", ready AS MATERIALIZED ( \
            SELECT endpoint_id, max(replayed) AS replays FROM pending WHERE due_at <= ? AND instr(?, endpoint_id) = 0 \
            GROUP BY endpoint_id ORDER BY min(due_at) LIMIT ? \
        ), ", share!("min", "max", "replays * ((size + ?) / 8)"), ", kind (replayed) AS (SELECT 0 UNION ALL SELECT 1), candidate AS ( \
            SELECT s.id, s.endpoint_id, s.replayed, s.due_at, share.size, share.new, \
                row_number() OVER (PARTITION BY s.endpoint_id, s.replayed ORDER BY s.due_at) AS place \
            FROM share CROSS JOIN kind CROSS JOIN outbox_stream AS s ON s.id IN ( \
                SELECT x.id FROM outbox_stream AS x WHERE x.endpoint_id = share.endpoint_id AND x.replayed = kind.replayed \
                    AND x.next_sequence <= x.last_sequence AND x.due_at <= ? \
                ORDER BY x.due_at LIMIT (SELECT max(size) FROM share)) \
        ), due AS MATERIALIZED ( \
            SELECT id, max(1, new) AS enough FROM ( \
                SELECT id, size, new, row_number() OVER (PARTITION BY endpoint_id ORDER BY replayed, due_at) AS place \
                FROM candidate WHERE replayed OR place <= new) AS sorted WHERE place <= size \
        )",
        chosen!()
    );
    returns ClaimedColumns;
}

statement! {
    /// The stream of one endpoint that is due longest.
    ChooseOne<'a> {
        endpoint: &'a Id => SqlId,
        due: Instant => SqlInstant,
        endpoint_again: &'a Id => SqlId,
        due_again: Instant => SqlInstant,
    }
    on Sqlite, SqliteConnection, concat!(
        "WITH due AS MATERIALIZED ( \
            SELECT id, 1 AS enough FROM ( \
                SELECT * FROM (SELECT id, due_at FROM outbox_stream WHERE endpoint_id = ? AND replayed = 0 \
                    AND next_sequence <= last_sequence AND due_at <= ? ORDER BY due_at LIMIT 1) \
                UNION ALL SELECT * FROM (SELECT id, due_at FROM outbox_stream WHERE endpoint_id = ? AND replayed = 1 \
                    AND next_sequence <= last_sequence AND due_at <= ? ORDER BY due_at LIMIT 1)) ORDER BY due_at LIMIT 1 \
        )",
        chosen!()
    );
    returns ClaimedColumns;
}

statement! {
    /// Leases them.
    Lease<'a> { first_try: Instant => SqlInstant, lease_until: Instant => SqlInstant, streams: &'a str => Text, }
    on Sqlite, SqliteConnection, "UPDATE outbox_stream SET attempt = attempt + 1, uncounted = uncounted + leased, \
            first_try = coalesce(first_try, ?), due_at = ?, leased = 1 \
        WHERE id IN (SELECT value FROM json_each('[' || ? || ']'))";
}

impl Claiming {
    /// From 0 to 7, one after the other or by chance: a share of one is left to what was asked for every eighth time.
    fn turn(&self) -> i64 {
        self.now.micros().rem_euclid(8)
    }

    fn on_postgres(&self, connection: &mut PgConnection) -> Result<Handed, Fault> {
        let (due, first_try, lease_until) = (Instant(self.now), Instant(self.now), Instant(self.lease_until));
        let rows: Vec<ClaimedRow> = match &self.of {
            Of::All { full, per_endpoint, limit } => {
                let full: Vec<_> = full.iter().map(|id| Id(id.uuid())).collect();
                let (per_endpoint, limit) = (i64::from(*per_endpoint), i64::from(*limit));
                let claim = ClaimAll {
                    now: due,
                    full: &full,
                    most_endpoints: limit,
                    turn: self.turn(),
                    per_endpoint,
                    limit,
                    due,
                    due_again: due,
                    first_try,
                    lease_until,
                };
                claim.load(connection)
            }
            Of::One(endpoint) => {
                let endpoint = &Id(endpoint.uuid());
                let (endpoint_again, due_again) = (endpoint, due);
                ClaimOne { endpoint, due, endpoint_again, due_again, first_try, lease_until }.load(connection)
            }
        }
        .in_table("outbox_stream")?;
        Ok(self.hand(rows))
    }

    fn on_sqlite(&self, connection: &mut SqliteConnection) -> Result<Handed, Fault> {
        let due = Instant(self.now);
        let mut rows: Vec<ClaimedRow> = match &self.of {
            Of::All { full, per_endpoint, limit } => {
                let full = full.iter().map(EndpointId::to_string).collect::<Vec<_>>().join(",");
                let (per_endpoint, limit) = (i64::from(*per_endpoint), i64::from(*limit));
                let (now, most_endpoints, turn) = (due, limit, self.turn());
                ChooseAll { now, full: &full, most_endpoints, turn, per_endpoint, limit, due }.load(connection)
            }
            Of::One(endpoint) => {
                let endpoint = &Id(endpoint.uuid());
                ChooseOne { endpoint, due, endpoint_again: endpoint, due_again: due }.load(connection)
            }
        }
        .in_table("outbox_stream")?;
        if rows.is_empty() {
            return Ok(Handed::default());
        }
        let streams = listed(rows.iter().map(|(stream, ..)| *stream));
        Lease { first_try: due, lease_until: Instant(self.lease_until), streams: &streams }.execute(connection)?;
        for (stream, ..) in rows.iter_mut().filter_map(|(.., row)| row.0.as_mut().ok()) {
            stream.attempt += 1;
            stream.uncounted += i32::from(stream.lease_expired);
            stream.first_try.get_or_insert(due);
        }
        Ok(self.hand(rows))
    }

    fn hand(&self, rows: Vec<ClaimedRow>) -> Handed {
        let mut handed = Handed::default();
        let mut leased: HashMap<Id, i64> = HashMap::new();
        for (stream, endpoint, enough, row) in rows {
            // Those that cannot be read took their places as well.
            let of_endpoint = leased.entry(endpoint).or_default();
            *of_endpoint += 1;
            if *of_endpoint == enough {
                handed.more.push(EndpointId::new(endpoint.0));
            }
            handed.add(stream, row, self.now);
        }
        handed
    }
}

impl Work for Claiming {
    type Answer = Handed;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Handed>, Fault> {
        let handed = match connection {
            AnyConnection::Postgres(connection) => self.on_postgres(connection)?,
            AnyConnection::Sqlite(connection) => self.on_sqlite(connection)?,
        };
        Ok(TxOutcome::Commit(handed))
    }
}

impl Batchable for Claiming {
    const SETTINGS: &'static str = ASYNC_COMMIT;

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Handed>>, Fault> {
        super::each_by_itself(connection, all, Self::on_postgres)
    }
}
