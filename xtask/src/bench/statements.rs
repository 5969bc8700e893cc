//! What PostgreSQL did, statement by statement: its extension pg_stat_statements counts.

use serde::Deserialize;

use super::figures::{figure, table};
use crate::failure::{Context, Outcome};
use crate::programs::Programs;

const LIBRARY: &str = "pg_stat_statements";
/// So many of the dearest are shown.
const SHOWN: usize = 25;
/// Characters of a statement's text that are shown.
const TEXT_MAX: usize = 110;

#[derive(Debug, Deserialize)]
pub(crate) struct Statement {
    calls: f64,
    /// In all; milliseconds.
    took: f64,
    rows: f64,
    /// Bytes written to the log.
    wal: f64,
    /// Pages found in memory or read.
    pages: f64,
    text: String,
}

/// Has the server count from its next start on, which is now.
pub(crate) fn load(bench: &mut Programs) -> Outcome<()> {
    bench.load_library(LIBRARY)
}

/// Prepares one of the databases.
pub(crate) fn prepare(bench: &Programs, database: &str) -> Outcome<()> {
    bench.sql(database, &format!("CREATE EXTENSION {LIBRARY}")).map(drop)
}

pub(crate) fn forget(bench: &Programs, database: &str) -> Outcome<()> {
    bench.sql(database, "SELECT pg_stat_statements_reset()").map(drop)
}

/// The dearest first.
pub(crate) fn read(bench: &Programs, database: &str) -> Outcome<Vec<Statement>> {
    let sql = format!(
        "SELECT json_build_object('calls', calls, 'took', total_exec_time, 'rows', rows, 'wal', wal_bytes, \
         'pages', shared_blks_hit + shared_blks_read, 'text', regexp_replace(query, '\\s+', ' ', 'g')) \
         FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '{database}') \
         ORDER BY total_exec_time DESC LIMIT {SHOWN}"
    );
    let said = bench.sql(database, &sql)?;
    let read = said.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    read.context(|| format!("understand what {LIBRARY} tells:\n{said}"))
}

/// A table of what one payment takes.
pub(crate) fn show(statements: &[Statement], payments: u64) -> String {
    let head = [
        "statement",
        "calls per payment",
        "us per payment",
        "us per call",
        "rows per call",
        "pages per call",
        "WAL bytes per payment",
    ];
    let payments = payments.max(1) as f64;
    let rows = statements.iter().map(|one| {
        let text: String = one.text.chars().take(TEXT_MAX).collect();
        let calls = one.calls.max(1.0);
        let figures = [
            one.calls / payments,
            one.took * 1e3 / payments,
            one.took * 1e3 / calls,
            one.rows / calls,
            one.pages / calls,
            one.wal / payments,
        ];
        std::iter::once(text.replace('|', "/")).chain(figures.map(figure)).collect()
    });
    table(&head, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_for_one_payment() {
        let text = "SELECT a || b FROM c".to_owned();
        let statement = Statement { calls: 30.0, took: 6.0, rows: 30.0, wal: 500.0, pages: 90.0, text };
        let shown = show(&[statement], 10);
        let cells: Vec<&str> =
            shown.lines().nth(2).unwrap().split(" | ").map(|cell| cell.trim_matches([' ', '|'])).collect();
        assert_eq!(cells, ["SELECT a // b FROM c", "3.00", "600", "200", "1.00", "3.00", "50.0"]);
    }
}
