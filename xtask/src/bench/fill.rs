//! Copies in SQL of what the services made, with ids of their own, until there are very many.

use std::time::{Duration, Instant};

use super::deployment::{Database, Deployment};
use crate::failure::Outcome;
use crate::programs::Programs;

const MAX_BATCH_ROWS: u64 = 250_000;

/// Columns of a step of history that every copy shares.
const HISTORY_COPIED: &str =
    "merchant_id, subject_kind, actor_kind, actor_name, what, state_before, state_after, happened_at";
const SQLITE_ID: &str = "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' \
                         || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";

pub(super) struct Copies<'a> {
    pub(super) what: &'static str,
    /// Scripts that make the copies numbered @FIRST@ to @LAST@, of @STORED@ in all, of one that is there.
    pub(super) postgres: &'a str,
    pub(super) sqlite: &'a str,
    /// Columns that every copy shares: in place of @COPIED@.
    pub(super) columns: &'static str,
    /// After this long no further part is begun.
    pub(super) time_max: Duration,
}

/// Makes copies from one number to another, or as many as time allows, and brings the database in order.
pub(super) fn fill(
    bench: &Programs,
    deployment: &Deployment,
    copies: &Copies<'_>,
    from: u64,
    wanted: u64,
) -> Outcome<()> {
    let (since, mut stored) = (Instant::now(), from);
    let (script, afterwards): (_, &[&str]) = match deployment.database {
        // Not to be done by the server itself while we measure.
        Database::Postgres => (copies.postgres, &["VACUUM (ANALYZE)", "CHECKPOINT"]),
        Database::Sqlite => (copies.sqlite, &["PRAGMA wal_checkpoint(TRUNCATE)"]),
    };
    let script = script.replace("@COPIED@", copies.columns).replace("@HISTORY@", HISTORY_COPIED);
    let script = script.replace("@ID@", SQLITE_ID).replace("@STORED@", &wanted.to_string());
    while stored < wanted && since.elapsed() < copies.time_max {
        let last = wanted.min(stored + MAX_BATCH_ROWS);
        let part = script.replace("@FIRST@", &(stored + 1).to_string()).replace("@LAST@", &last.to_string());
        deployment.run_script(bench, &part)?;
        stored = last;
        eprintln!("filled to {stored} of {wanted} {} after {:.0} s", copies.what, since.elapsed().as_secs_f64());
    }
    afterwards.iter().try_for_each(|sql| deployment.sql(bench, sql).map(drop))
}
