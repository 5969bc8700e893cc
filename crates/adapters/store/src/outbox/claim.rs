//! Taking streams that are due.

use std::collections::HashMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::{EndpointId, Timestamp};

use super::delivery::{Handed, LeasedRow, SentColumns, SentRow, receiver_and_message};
use super::listed;
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::lane::{HASTY, Together, Verdict, Work};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::statement;

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

/// A stream, how many are leased of each endpoint at most, and what is to be sent.
type ClaimedRow = (i64, i64, SentRow);

/// The columns of a [`ClaimedRow`].
type ClaimedColumns = (BigInt, BigInt, SentColumns);

/// Endpoints with anything to do, each with its earliest due time: found by hopping through the index, so that neither idle ones nor what waits
/// behind that costs anything.
macro_rules! pending {
    (postgres) => {
        "WITH RECURSIVE pending (endpoint_id, due_at) AS ( \
                SELECT * FROM (SELECT endpoint_id, due_at FROM outbox_stream WHERE next_sequence <= last_sequence \
                    ORDER BY endpoint_id, due_at LIMIT 1) AS one \
                UNION ALL \
                SELECT next.endpoint_id, next.due_at FROM pending CROSS JOIN LATERAL ( \
                    SELECT s.endpoint_id, s.due_at FROM outbox_stream AS s \
                    WHERE s.next_sequence <= s.last_sequence AND s.endpoint_id > pending.endpoint_id \
                    ORDER BY s.endpoint_id, s.due_at LIMIT 1) AS next \
            )"
    };
    (sqlite) => {
        "WITH RECURSIVE pending (endpoint_id, due_at) AS ( \
                SELECT * FROM (SELECT endpoint_id, due_at FROM outbox_stream WHERE next_sequence <= last_sequence \
                    ORDER BY endpoint_id, due_at LIMIT 1) \
                UNION ALL \
                SELECT follower.endpoint_id, follower.due_at FROM pending JOIN outbox_stream AS follower ON follower.id = ( \
                    SELECT x.id FROM outbox_stream AS x WHERE x.next_sequence <= x.last_sequence AND x.endpoint_id > pending.endpoint_id \
                    ORDER BY x.endpoint_id, x.due_at LIMIT 1) \
            )"
    };
}
pub(super) use pending;

/// How many are leased of each endpoint that is ready, at most.
macro_rules! share {
    ($least:literal, $greatest:literal) => {
        concat!("share AS MATERIALIZED (SELECT ", $least, "(?, ", $greatest, "(1, ? / count(*))) AS size FROM ready)")
    };
}

/// What follows when the streams are chosen and locked. Those that were leased already belonged to somebody who died: the try does not count.
macro_rules! lease {
    ($share:literal) => {
        concat!(
            ", claimed AS ( \
                UPDATE outbox_stream AS s SET attempt = s.attempt + 1, uncounted = s.uncounted + locked.leased::integer, \
                    first_try = coalesce(s.first_try, ?), due_at = ?, leased = TRUE \
                FROM locked WHERE s.id = locked.id \
                RETURNING s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, \
                    locked.leased AS lease_expired, locked.due_at \
            ) SELECT claimed.id, ", $share, ", claimed.id, claimed.endpoint_id, claimed.payment_id, claimed.next_sequence, claimed.attempt, \
                claimed.first_try, claimed.uncounted, claimed.lease_expired, ",
            receiver_and_message!(),
            " FROM claimed LEFT JOIN endpoint ON endpoint.id = claimed.endpoint_id \
            LEFT JOIN outbox_event AS e ON e.payment_id = claimed.payment_id AND e.sequence = claimed.next_sequence \
            ORDER BY claimed.due_at"
        )
    };
}

statement! {
    /// Leases streams that are due and says what is to be sent. Each endpoint with any gets an equal share of the limit, so that none starves
    /// another and no more is locked than is leased.
    ClaimAll<'a> {
        now: Instant => SqlInstant,
        full: &'a [Id] => Array<SqlId>,
        most_endpoints: i64 => BigInt,
        per_endpoint: i64 => BigInt,
        limit: i64 => BigInt,
        due: Instant => SqlInstant,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
    }
    on Pg, PgConnection, concat!(
        pending!(postgres), ", ready AS MATERIALIZED ( \
            SELECT endpoint_id FROM pending WHERE due_at <= ? AND endpoint_id <> ALL (?) ORDER BY due_at LIMIT ? \
        ), ", share!("least", "greatest"), ", locked AS MATERIALIZED ( \
            SELECT s.id, s.leased, s.due_at FROM ready CROSS JOIN LATERAL ( \
                SELECT id, leased, due_at FROM outbox_stream \
                WHERE endpoint_id = ready.endpoint_id AND next_sequence <= last_sequence AND due_at <= ? \
                ORDER BY due_at LIMIT (SELECT size FROM share) FOR UPDATE SKIP LOCKED) AS s \
        )",
        lease!("(SELECT size FROM share)")
    );
    returns ClaimedColumns;
}

statement! {
    /// Leases the stream of one endpoint that is due longest.
    ClaimOne<'a> {
        endpoint: &'a Id => SqlId,
        due: Instant => SqlInstant,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
    }
    on Pg, PgConnection, concat!(
        "WITH locked AS MATERIALIZED ( \
            SELECT id, leased, due_at FROM outbox_stream \
            WHERE endpoint_id = ? AND next_sequence <= last_sequence AND due_at <= ? ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED \
        )",
        lease!("1::bigint")
    );
    returns ClaimedColumns;
}

/// What the two statements of SQLite select of the streams that they chose (`due`): as they are before they are leased.
macro_rules! chosen {
    ($share:literal) => {
        concat!(
            " SELECT s.id, ", $share, ", s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, s.leased, ",
            receiver_and_message!(),
            " FROM due CROSS JOIN outbox_stream AS s ON s.id = due.id JOIN endpoint ON endpoint.id = s.endpoint_id \
            LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence ORDER BY s.due_at"
        )
    };
}

statement! {
    /// Streams that are due, chosen as on PostgreSQL.
    ChooseAll<'a> {
        now: Instant => SqlInstant,
        full: &'a str => Text,
        most_endpoints: i64 => BigInt,
        per_endpoint: i64 => BigInt,
        limit: i64 => BigInt,
        due: Instant => SqlInstant,
    }
    on Sqlite, SqliteConnection, concat!(
        pending!(sqlite), ", ready AS MATERIALIZED ( \
            SELECT endpoint_id FROM pending WHERE due_at <= ? AND instr(?, endpoint_id) = 0 ORDER BY due_at LIMIT ? \
        ), ", share!("min", "max"), ", due AS MATERIALIZED ( \
            SELECT s.id FROM ready CROSS JOIN outbox_stream AS s ON s.id IN ( \
                SELECT x.id FROM outbox_stream AS x \
                WHERE x.endpoint_id = ready.endpoint_id AND x.next_sequence <= x.last_sequence AND x.due_at <= ? \
                ORDER BY x.due_at LIMIT (SELECT size FROM share)) \
        )",
        chosen!("(SELECT size FROM share)")
    );
    returns ClaimedColumns;
}

statement! {
    /// The stream of one endpoint that is due longest.
    ChooseOne<'a> { endpoint: &'a Id => SqlId, due: Instant => SqlInstant, }
    on Sqlite, SqliteConnection, concat!(
        "WITH due AS MATERIALIZED ( \
            SELECT id FROM outbox_stream WHERE endpoint_id = ? AND next_sequence <= last_sequence AND due_at <= ? ORDER BY due_at LIMIT 1 \
        )",
        chosen!("1")
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
    fn on_postgres(&self, connection: &mut PgConnection) -> Result<Handed, Fault> {
        let (due, first_try, lease_until) = (Instant(self.now), Instant(self.now), Instant(self.lease_until));
        let rows: Vec<ClaimedRow> = match &self.of {
            Of::All { full, per_endpoint, limit } => {
                let full: Vec<_> = full.iter().map(|id| Id(id.uuid())).collect();
                let (per_endpoint, limit) = (i64::from(*per_endpoint), i64::from(*limit));
                let (now, most_endpoints) = (due, limit);
                let claim =
                    ClaimAll { now, full: &full, most_endpoints, per_endpoint, limit, due, first_try, lease_until };
                claim.load(connection)
            }
            Of::One(endpoint) => {
                ClaimOne { endpoint: &Id(endpoint.uuid()), due, first_try, lease_until }.load(connection)
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
                ChooseAll { now: due, full: &full, most_endpoints: limit, per_endpoint, limit, due }.load(connection)
            }
            Of::One(endpoint) => ChooseOne { endpoint: &Id(endpoint.uuid()), due }.load(connection),
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
        for (stream, share, row) in rows {
            if let Ok((LeasedRow { endpoint_id, .. }, ..)) = &row.0 {
                let of_endpoint = leased.entry(*endpoint_id).or_default();
                *of_endpoint += 1;
                if *of_endpoint == share {
                    handed.more.push(EndpointId::new(endpoint_id.0));
                }
            }
            handed.add(stream, row, self.now);
        }
        handed
    }
}

impl Work for Claiming {
    type Answer = Handed;

    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<Handed>, Fault> {
        let handed = match connection {
            AnyConnection::Postgres(connection) => self.on_postgres(connection)?,
            AnyConnection::Sqlite(connection) => self.on_sqlite(connection)?,
        };
        Ok(Verdict::Keep(handed))
    }
}

impl Together for Claiming {
    const SETTINGS: &'static str = HASTY;

    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Handed>>, Fault> {
        super::each_by_itself(connection, all, Self::on_postgres)
    }
}
