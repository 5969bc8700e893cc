//! Millions of Sessions in SQL: copies of one that the service made, with ids and references of their own.

use std::path::Path;
use std::time::{Duration, Instant};

use super::run::Bench;
use crate::command::captured;
use crate::failure::{Context, Outcome};

/// Sessions per transaction.
const PART: u64 = 250_000;
/// After this long no further part is begun.
const MOST: Duration = Duration::from_secs(15 * 60);

/// Columns of a Session that every copy shares, beside its own id, profile and times.
const SESSION_COPIED: &str =
    "merchant_id, revision, state, currency, total_minor, terms, created_at, updated_at, expires_at";
const HISTORY_COPIED: &str =
    "merchant_id, subject_kind, actor_kind, actor_name, what, state_before, state_after, happened_at";

/// Where to fill.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// A database of the bench's PostgreSQL.
    Postgres(&'a str),
    /// A SQLite file that no service has open.
    Sqlite(&'a Path),
}

impl Place<'_> {
    /// What SQL answers, unaligned and without heads.
    pub(crate) fn sql(self, bench: &Bench, sql: &str) -> Outcome<String> {
        match self {
            Self::Postgres(database) => bench.sql(database, sql),
            Self::Sqlite(file) => {
                let mut sqlite = bench.tool("sqlite3", 2 * MOST);
                captured(sqlite.args(["-batch", "-bail", "-cmd", ".timeout 60000"]).arg(file).arg(sql))
            }
        }
    }

    /// Sessions that are stored.
    pub(crate) fn count(self, bench: &Bench) -> Outcome<u64> {
        let said = self.sql(bench, "SELECT count(*) FROM session")?;
        said.trim().parse().context(|| format!("understand the number of Sessions `{}`", said.trim()))
    }

    /// Fills up to `wanted` Sessions, or as many as time allows, and brings the database in order. There must be one.
    pub(crate) fn fill(self, bench: &Bench, wanted: u64) -> Outcome<()> {
        let since = Instant::now();
        let mut stored = self.count(bench)?;
        while stored < wanted && since.elapsed() < MOST {
            let part = PART.min(wanted - stored);
            self.sql(
                bench,
                &match self {
                    Self::Postgres(_) => postgres_part(stored + 1, stored + part),
                    Self::Sqlite(_) => sqlite_part(stored + 1, stored + part),
                },
            )?;
            stored += part;
            eprintln!("filled to {stored} of {wanted} Sessions after {:.0} s", since.elapsed().as_secs_f64());
        }
        let afterwards: &[&str] = match self {
            // Not to be done by the server itself while we measure.
            Self::Postgres(_) => &["VACUUM (ANALYZE)", "CHECKPOINT"],
            Self::Sqlite(_) => &["PRAGMA wal_checkpoint(TRUNCATE)"],
        };
        afterwards.iter().try_for_each(|sql| self.sql(bench, sql).map(drop))
    }
}

/// Profiles have ids in order of time, as the service gives them.
fn postgres_part(first: u64, last: u64) -> String {
    format!(
        "SET session_replication_role = replica; SET synchronous_commit = off;
         BEGIN;
         CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS SELECT gen_random_uuid() AS id, 'filled-' || gen_random_uuid() AS reference,
             overlay(gen_random_uuid()::text PLACING to_char(number, 'FM00000000') || '-0000-7' FROM 1 FOR 15)::uuid AS profile
             FROM generate_series({first}, {last}) AS number;
         CREATE TEMPORARY TABLE one ON COMMIT DROP AS SELECT * FROM session LIMIT 1;
         INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
             SELECT merchant_id, fresh.reference, 'SESSION', fresh.id FROM one, fresh;
         INSERT INTO billing_profile (id, merchant_id, details, created_at)
             SELECT profile, merchant_id, details, created_at FROM fresh,
                 (SELECT * FROM billing_profile WHERE id = (SELECT billing_profile_id FROM one)) AS it;
         INSERT INTO session (id, billing_profile_id, {SESSION_COPIED}) SELECT fresh.id, profile, {SESSION_COPIED} FROM one, fresh;
         INSERT INTO history (subject_id, {HISTORY_COPIED}) SELECT fresh.id, {HISTORY_COPIED} FROM fresh,
             (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
         COMMIT;"
    )
}

fn sqlite_part(first: u64, last: u64) -> String {
    let random_id = "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' \
                     || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";
    format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY;
         BEGIN IMMEDIATE;
         CREATE TEMPORARY TABLE fresh AS WITH RECURSIVE numbers (number) AS
             (SELECT {first} UNION ALL SELECT number + 1 FROM numbers WHERE number < {last})
             SELECT {random_id} AS id, 'filled-' || {random_id} AS reference,
                 printf('%08d-0000-7', number) || substr({random_id}, 16) AS profile FROM numbers;
         CREATE TEMPORARY TABLE one AS SELECT * FROM session LIMIT 1;
         INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
             SELECT merchant_id, fresh.reference, 'SESSION', fresh.id FROM one, fresh;
         INSERT INTO billing_profile (id, merchant_id, details, created_at)
             SELECT profile, merchant_id, details, created_at FROM fresh,
                 (SELECT merchant_id, details, created_at FROM billing_profile WHERE id = (SELECT billing_profile_id FROM one)) AS it;
         INSERT INTO session (id, billing_profile_id, {SESSION_COPIED}) SELECT fresh.id, profile, {SESSION_COPIED} FROM one, fresh;
         INSERT INTO history (subject_id, {HISTORY_COPIED}) SELECT fresh.id, {HISTORY_COPIED} FROM fresh,
             (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
         DROP TABLE fresh;
         DROP TABLE one;
         COMMIT;"
    )
}
