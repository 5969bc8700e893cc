//! Does a create cost more when millions of Sessions are stored? They are copies in SQL of one that the service made, with ids of their own.

use std::time::{Duration, Instant};

use super::compare::{Contender, Rounds, Row, compare};
use super::deployment::{Database, Deployment};
use super::figures::{ratio, table};
use super::run::Bench;
use super::sessions::{Plan, Sessions};
use crate::failure::Outcome;

/// Sessions per transaction.
const MAX_BATCH_ROWS: u64 = 250_000;
/// After this long no further part is begun.
const MAX_FILL_TIME: Duration = Duration::from_secs(15 * 60);
/// Runs are short, so that the small size stays small.
const SECONDS_MAX: u32 = 2;
/// A create may cost so much more at the large size than at the small one.
const COST_MAX: f64 = 1.2;

const COUNT: &str = "SELECT count(*) FROM session";
/// Columns of a Session that every copy shares, beside its own id, profile and times.
const SESSION_COPIED: &str =
    "merchant_id, revision, state, currency, total_minor, terms, created_at, updated_at, expires_at";
pub(super) const HISTORY_COPIED: &str =
    "merchant_id, subject_kind, actor_kind, actor_name, what, state_before, state_after, happened_at";
pub(super) const SQLITE_ID: &str = "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' \
                         || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";

/// One size's figures.
struct Measured {
    before: u64,
    after: u64,
    row: Row,
}

/// Measures creates at both sizes and prints how they relate.
pub(super) fn run(bench: &mut Bench, plan: &Plan, database: Database) -> Outcome<()> {
    let name = if database == Database::Postgres { "PostgreSQL" } else { "SQLite" };
    let mut sessions = Sessions::start(bench, database, 1)?;
    let mut sizes = Vec::new();
    for wanted in [plan.small, plan.large] {
        bench.end(sessions.service.program)?;
        fill(bench, &sessions.deployment, wanted)?;
        let before = sessions.deployment.number(bench, COUNT)?;
        sessions.service = sessions.deployment.start(bench, "session-api")?;
        let create = Contender::new("create", None, |seconds| sessions.run(bench, "POST", seconds, None));
        let rounds = Rounds { seconds: plan.rounds.seconds.min(SECONDS_MAX), ..plan.rounds };
        let row = compare(&format!("{name}, {before} stored"), &[create], rounds)?.remove(0);
        sizes.push(Measured { before, after: sessions.deployment.number(bench, COUNT)?, row });
    }
    bench.end(sessions.service.program)?;
    if let Some(database) = sessions.deployment.postgres_name() {
        bench.sql("postgres", &format!("DROP DATABASE {database}"))?;
    }
    println!("\n### A create by the number of stored Sessions, {name}\n\n{}", show(&sizes));
    Ok(())
}

/// Fills up to `wanted` Sessions, or as many as time allows, and brings the database in order. There must be one.
fn fill(bench: &Bench, deployment: &Deployment, wanted: u64) -> Outcome<()> {
    let since = Instant::now();
    let mut stored = deployment.number(bench, COUNT)?;
    let (script, afterwards): (_, &[&str]) = match deployment.database {
        // Not to be done by the server itself while we measure.
        Database::Postgres => (include_str!("fill_postgres.sql"), &["VACUUM (ANALYZE)", "CHECKPOINT"]),
        Database::Sqlite => (include_str!("fill_sqlite.sql"), &["PRAGMA wal_checkpoint(TRUNCATE)"]),
    };
    let script = script.replace("@SESSION@", SESSION_COPIED).replace("@HISTORY@", HISTORY_COPIED);
    let script = script.replace("@ID@", SQLITE_ID);
    while stored < wanted && since.elapsed() < MAX_FILL_TIME {
        let last = wanted.min(stored + MAX_BATCH_ROWS);
        let part = script.replace("@FIRST@", &(stored + 1).to_string()).replace("@LAST@", &last.to_string());
        deployment.run_script(bench, &part)?;
        stored = last;
        eprintln!("filled to {stored} of {wanted} Sessions after {:.0} s", since.elapsed().as_secs_f64());
    }
    afterwards.iter().try_for_each(|sql| deployment.sql(bench, sql).map(drop))
}

fn show(sizes: &[Measured]) -> String {
    let head =
        ["stored before", "after", "creates per second", "cost", "CPU us, program and PostgreSQL", "cost in CPU"];
    let first = &sizes[0].row;
    let cpu =
        |row: &Row| row.median(|sample| sample.program_cpu.unwrap_or_default() + sample.server_cpu.unwrap_or_default());
    let line = |size: &Measured| {
        vec![
            size.before.to_string(),
            size.after.to_string(),
            size.row.shown_rate(),
            ratio(first.per_second(), Some(size.row.per_second())),
            format!("{:.0}", cpu(&size.row)),
            ratio(cpu(&size.row), Some(cpu(first))),
        ]
    };
    let cost = sizes.last().map_or(0.0, |last| first.per_second() / last.row.per_second());
    let what =
        format!("a create at the large size costs {cost:.2} times one at the small size; wanted: less than {COST_MAX}");
    let rows: Vec<_> = sizes.iter().map(line).collect();
    format!("{}\n{}", table(&head, &rows), super::goal(cost < COST_MAX, &what))
}
