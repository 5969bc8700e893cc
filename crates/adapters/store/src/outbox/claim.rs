//! Taking streams that are due.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text};
use dropin_kernel::{EndpointId, Timestamp};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::statement;
use dropin_store_runtime::worker_pool::{ASYNC_COMMIT, Batchable, Batched, Kind, TxOutcome, Work, each_by_itself};

use super::delivery::{Handed, SentColumns, SentRow};

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

statement! {
    ClaimAll<'a> {
        now: Instant => SqlInstant,
        full: &'a [Id] => Array<SqlId>,
        limit: i64 => BigInt,
        turn: i64 => BigInt,
        per_endpoint: i64 => BigInt,
        lease_until: Instant => SqlInstant,
    }
    postgres include_str!("claim_all.postgres.sql");
    returns ClaimedColumns;
}

statement! {
    ClaimOne<'a> { endpoint: &'a Id => SqlId, now: Instant => SqlInstant, lease_until: Instant => SqlInstant, }
    postgres include_str!("claim_one.postgres.sql");
    returns ClaimedColumns;
}

statement! {
    ChooseAll<'a> {
        now: Instant => SqlInstant,
        full: &'a str => Text,
        limit: i64 => BigInt,
        turn: i64 => BigInt,
        per_endpoint: i64 => BigInt,
    }
    sqlite include_str!("choose_all.sqlite.sql");
    returns ClaimedColumns;
}

statement! {
    ChooseOne<'a> { endpoint: &'a Id => SqlId, now: Instant => SqlInstant, }
    sqlite include_str!("choose_one.sqlite.sql");
    returns ClaimedColumns;
}

statement! {
    /// Leases them.
    Lease<'a> { first_try: Instant => SqlInstant, lease_until: Instant => SqlInstant, streams: &'a str => Text, }
    sqlite "UPDATE outbox_stream \
        SET attempt = attempt + 1, uncounted = uncounted + leased, first_try = coalesce(first_try, $1), due_at = $2, \
            leased = 1 \
        WHERE id IN (SELECT value FROM json_each('[' || $3 || ']'))";
}

impl Claiming {
    /// From 0 to 7, one after the other or by chance: a share of one is left to what was asked for every eighth time.
    fn turn(&self) -> i64 {
        self.now.micros().rem_euclid(8)
    }

    fn on_postgres(&self, connection: &mut PgConnection) -> Result<Handed, Fault> {
        let (now, lease_until) = (Instant(self.now), Instant(self.lease_until));
        let rows: Vec<ClaimedRow> = match &self.of {
            Of::All { full, per_endpoint, limit } => {
                let full: Vec<_> = full.iter().map(|id| Id(id.uuid())).collect();
                let (per_endpoint, limit) = (i64::from(*per_endpoint), i64::from(*limit));
                let claim = ClaimAll { now, full: &full, limit, turn: self.turn(), per_endpoint, lease_until };
                claim.load(connection)
            }
            Of::One(endpoint) => ClaimOne { endpoint: &Id(endpoint.uuid()), now, lease_until }.load(connection),
        }
        .in_table("outbox_stream")?;
        Ok(self.hand(rows))
    }

    fn on_sqlite(&self, connection: &mut SqliteConnection) -> Result<Handed, Fault> {
        let now = Instant(self.now);
        let mut rows: Vec<ClaimedRow> = match &self.of {
            Of::All { full, per_endpoint, limit } => {
                let full = full.iter().map(EndpointId::to_string).collect::<Vec<_>>().join(",");
                let (per_endpoint, limit) = (i64::from(*per_endpoint), i64::from(*limit));
                ChooseAll { now, full: &full, limit, turn: self.turn(), per_endpoint }.load(connection)
            }
            Of::One(endpoint) => ChooseOne { endpoint: &Id(endpoint.uuid()), now }.load(connection),
        }
        .in_table("outbox_stream")?;
        if rows.is_empty() {
            return Ok(Handed::default());
        }
        let streams = listed(rows.iter().map(|(stream, ..)| *stream));
        Lease { first_try: now, lease_until: Instant(self.lease_until), streams: &streams }.execute(connection)?;
        for (stream, ..) in rows.iter_mut().filter_map(|(.., row)| row.0.as_mut().ok()) {
            stream.attempt += 1;
            stream.uncounted += i32::from(stream.lease_expired);
            stream.first_try.get_or_insert(now);
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
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-claim";
    const SETTINGS: &'static str = ASYNC_COMMIT;

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Handed>, Fault> {
        each_by_itself(connection, all, Self::on_postgres)
    }
}
