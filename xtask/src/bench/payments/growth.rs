//! What payments lose when very many are stored and many operations wait: copies in SQL of one that was paid.

use std::time::Duration;

use clap::{Args, value_parser};

use super::site::Site;
use super::{SiteOptions, rate};
use crate::bench::deployment::{Database, Deployment};
use crate::bench::fill::{Copies, fill};
use crate::bench::goal;
use crate::failure::Outcome;
use crate::programs::Programs;

/// What is left of the rate of before, at least.
const RATIO_MIN: f64 = 0.95;

/// The end of all that is waited for: no settler takes it up in a bench.
const NEVER: [&str; 2] = ["TIMESTAMPTZ '2100-01-01'", "4102444800000000"];

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct GrowthOptions {
    /// Finished payments that are stored for a second measurement, copies of one, at most 5,000,000
    #[arg(long, default_value_t = 0, value_parser = value_parser!(u64).range(..=5_000_000), conflicts_with_all = ["checkout", "processor"])]
    stored: u64,
    /// Operations whose outcome is awaited beside it, at most 100,000
    #[arg(long, default_value_t = 0, value_parser = value_parser!(u64).range(..=100_000), conflicts_with_all = ["checkout", "processor"])]
    waiting: u64,
}

/// The rows of one payment in a table, of which copies are made.
struct Rows {
    table: &'static str,
    /// Which rows; `@ORDER@` and `@SESSION@` are those of the payment.
    of: &'static str,
    /// What a copy has of its own: a column, and what [`expression`] understands.
    own: &'static [(&'static str, &'static str)],
}

/// A whole payment. The answer kept for its key lives for a day, and is no part of it.
const PAYMENT: [Rows; 10] = [
    Rows {
        table: "merchant_reference",
        of: "owner_id = @SESSION@",
        own: &[("reference", "'stored-' || number"), ("owner_id", "ID(1,0)")],
    },
    Rows {
        table: "billing_profile",
        of: "id = (SELECT billing_profile_id FROM session WHERE id = @SESSION@)",
        own: &[("id", "ID(3,0)")],
    },
    Rows {
        table: "session",
        of: "id = @SESSION@",
        own: &[("id", "ID(1,0)"), ("order_id", "ID(2,0)"), ATTEMPT, ("billing_profile_id", "ID(3,0)")],
    },
    Rows {
        table: "purchase_order",
        of: "id = @ORDER@",
        own: &[("id", "ID(2,0)"), ("session_id", "ID(1,0)"), ("merchant_reference", "'stored-' || number"), ATTEMPT],
    },
    Rows {
        table: "processor_op",
        of: "order_id = @ORDER@",
        own: &[
            ("id", "CASE kind WHEN 'AUTHORIZE' THEN ID(4,0) ELSE ID(4,1) END"),
            ("order_id", "ID(2,0)"),
            ("authorization_id", "CASE kind WHEN 'AUTHORIZE' THEN NULL ELSE ID(4,0) END"),
        ],
    },
    Rows { table: "ledger_posting", of: "order_id = @ORDER@", own: &[("id", "ID(6,place)"), ("order_id", "ID(2,0)")] },
    Rows {
        table: "history",
        of: "subject_id IN (@SESSION@, @ORDER@)",
        own: &[("subject_id", "CASE subject_kind WHEN 'SESSION' THEN ID(1,0) ELSE ID(2,0) END")],
    },
    Rows {
        table: "outbox_event",
        of: "payment_id = @SESSION@",
        own: &[("payment_id", "ID(1,0)"), ("event_id", "ID(7,sequence)")],
    },
    Rows { table: "outbox_stream", of: "payment_id = @SESSION@", own: &[("payment_id", "ID(1,0)")] },
    Rows {
        table: "outbox_attempt",
        of: "event_id IN (SELECT event_id FROM outbox_event WHERE payment_id = @SESSION@)",
        own: &[("event_id", "ID(7,place)")],
    },
];
const ATTEMPT: (&str, &str) = ("attempt_id", "ID(5,0)");

/// An authorization whose outcome is awaited, of an Order without a Session.
const OPERATION: [Rows; 2] = [
    Rows {
        table: "purchase_order",
        of: "id = @ORDER@",
        own: &[
            ("id", "ID(8,0)"),
            ("session_id", "NULL"),
            ("attempt_id", "NULL"),
            ("merchant_reference", "'waiting-' || number"),
            ("state", "'PROCESSING'"),
            ("authorized_minor", "0"),
            ("captured_minor", "0"),
            ("expires_at", "NULL"),
        ],
    },
    Rows {
        table: "processor_op",
        of: "order_id = @ORDER@ AND kind = 'AUTHORIZE'",
        own: &[("id", "ID(9,0)"), ("order_id", "ID(8,0)"), ("state", "'UNKNOWN'"), ("due_at", "NEVER")],
    },
];

/// Measures once more with what the options ask for.
pub(super) fn measure(
    bench: &mut Programs,
    options: &SiteOptions,
    growth: GrowthOptions,
    site: &mut Site,
    before: f64,
) -> Outcome<()> {
    let GrowthOptions { stored, waiting } = growth;
    if stored == 0 && waiting == 0 {
        return Ok(());
    }
    site.stop(bench)?;
    let size = size(bench, &site.deployment)?;
    copy(bench, &site.deployment, "payments", &PAYMENT, stored)?;
    let grown = self::size(bench, &site.deployment)?.saturating_sub(size);
    if let Some(bytes) = grown.checked_div(stored) {
        println!("{bytes} bytes for each of {stored} stored payments, with its indexes.");
        if site.deployment.is_postgres() {
            print!("{}", site.deployment.sql(bench, &sizes(stored))?);
        }
    }
    copy(bench, &site.deployment, "operations", &OPERATION, waiting)?;
    site.start_again(bench)?;
    let after = rate(bench, options, site)?;
    let told = format!(
        "{after:.0} payments per second with {stored} stored and {waiting} operations waiting, {:.2} of {before:.0}; wanted: {RATIO_MIN}",
        after / before
    );
    print!("{}", goal(RATIO_MIN <= after / before, &told));
    Ok(())
}

fn size(bench: &Programs, deployment: &Deployment) -> Outcome<u64> {
    deployment.number(
        bench,
        match deployment.database {
            Database::Postgres => "SELECT pg_database_size(current_database())",
            Database::Sqlite => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        },
    )
}

/// Bytes of each table and of its indexes for each payment, the largest first.
fn sizes(payments: u64) -> String {
    let tables = PAYMENT.map(|rows| format!("'{}'", rows.table)).join(", ");
    format!(
        "SELECT relname || ': ' || pg_table_size(oid) / {payments} || ' + ' || pg_indexes_size(oid) / {payments} FROM pg_class \
         WHERE relname IN ({tables}) ORDER BY pg_total_relation_size(oid) DESC"
    )
}

fn copy(bench: &Programs, deployment: &Deployment, what: &'static str, rows: &[Rows], wanted: u64) -> Outcome<()> {
    if wanted == 0 {
        return Ok(());
    }
    let one = "FROM purchase_order WHERE state = 'PROCESSED' AND session_id IS NOT NULL ORDER BY created_at LIMIT 1";
    let id = |column: &str| {
        let said = deployment.sql(bench, &format!("SELECT {column} {one}"))?;
        Ok(format!("'{}'", said.trim()))
    };
    let (order, session) = (id("id")?, id("session_id")?);
    let mut script = match deployment.database {
        Database::Postgres => {
            "SET session_replication_role = replica; SET synchronous_commit = off; BEGIN;\n".to_owned()
        }
        // A file that is thrown away need not survive a power cut.
        Database::Sqlite => {
            "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE;\n"
                .to_owned()
        }
    };
    for rows in rows {
        let columns = columns(bench, deployment, rows.table)?;
        let insert = insert(deployment.database, rows, &columns);
        script += &insert.replace("@ORDER@", &order).replace("@SESSION@", &session);
    }
    script += "COMMIT;\n";
    let copies = Copies { what, postgres: &script, sqlite: &script, columns: "", time_max: Duration::MAX };
    fill(bench, deployment, &copies, 0, wanted)
}

/// The columns that the database does not fill by itself.
fn columns(bench: &Programs, deployment: &Deployment, table: &str) -> Outcome<Vec<String>> {
    let said = deployment.sql(
        bench,
        &match deployment.database {
            Database::Postgres => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = current_schema() \
                 AND is_identity = 'NO' AND column_default IS NULL ORDER BY ordinal_position"
            ),
            Database::Sqlite => format!(
                "SELECT name FROM pragma_table_info('{table}') WHERE dflt_value IS NULL AND NOT (pk = 1 AND type = 'INTEGER') ORDER BY cid"
            ),
        },
    )?;
    Ok(said.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn insert(database: Database, rows: &Rows, columns: &[String]) -> String {
    let values = columns.iter().map(|column| {
        let own = rows.own.iter().find(|(name, _)| name == column);
        own.map_or_else(|| format!("one.{column}"), |(_, value)| expression(database, value))
    });
    let numbers = match database {
        Database::Postgres => "generate_series(@FIRST@, @LAST@) AS number",
        Database::Sqlite => {
            "(WITH RECURSIVE numbers (number) AS (SELECT @FIRST@ UNION ALL SELECT number + 1 FROM numbers WHERE number < @LAST@) \
             SELECT number FROM numbers) AS numbers"
        }
    };
    format!(
        "INSERT INTO {table} ({}) SELECT {} FROM {numbers} CROSS JOIN (SELECT *, row_number() OVER () AS place FROM {table} WHERE {}) AS one;\n",
        columns.join(", "),
        values.collect::<Vec<_>>().join(", "),
        rows.of,
        table = rows.table,
    )
}

/// In the words of a database: `ID(kind,place)` is an id of the copy, in the order of the copies as the service's own are, and `NEVER` a time far ahead.
fn expression(database: Database, text: &str) -> String {
    let is_postgres = database == Database::Postgres;
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("ID(") {
        let Some((id, after)) = behind.split_once(')') else { break };
        let (kind, place) = id.split_once(',').unwrap_or((id, "0"));
        written += before;
        written += &match is_postgres {
            true => {
                format!("(lpad(to_hex(number), 8, '0') || '-0000-7000-8000-0000000000{kind}' || to_hex({place}))::uuid")
            }
            false => format!("printf('%08x-0000-7000-8000-0000000000{kind}%x', number, {place})"),
        };
        rest = after;
    }
    (written + rest).replace("NEVER", NEVER[usize::from(!is_postgres)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_ids_of_its_own_and_shares_the_rest() {
        let rows = Rows { table: "t", of: "id = @ORDER@", own: &[("id", "ID(2,place)"), ("due", "NEVER")] };
        let columns = ["id", "due", "total"].map(str::to_owned);
        assert_eq!(
            insert(Database::Postgres, &rows, &columns),
            "INSERT INTO t (id, due, total) SELECT (lpad(to_hex(number), 8, '0') || '-0000-7000-8000-00000000002' || to_hex(place))::uuid, \
             TIMESTAMPTZ '2100-01-01', one.total FROM generate_series(@FIRST@, @LAST@) AS number CROSS JOIN \
             (SELECT *, row_number() OVER () AS place FROM t WHERE id = @ORDER@) AS one;\n"
        );
        let sqlite = insert(Database::Sqlite, &rows, &columns);
        assert!(
            sqlite.contains(
                "SELECT printf('%08x-0000-7000-8000-00000000002%x', number, place), 4102444800000000, one.total"
            ),
            "{sqlite}"
        );
        assert_eq!(
            expression(Database::Sqlite, "CASE a WHEN 1 THEN ID(1,0) ELSE NULL END").matches("printf").count(),
            1
        );
    }
}
