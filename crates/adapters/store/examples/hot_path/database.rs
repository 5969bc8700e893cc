//! Behind the store's back: what the server spent, and filling in SQL.

use std::fs;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use diesel::{PgConnection, SqliteConnection};
use dropin_kernel::MerchantId;

/// Clock ticks per second in /proc, on every Linux.
const TICKS: f64 = 100.0;

pub(crate) enum Database {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// What was spent so far.
pub(crate) struct Spent {
    /// User and system time of this process.
    pub(crate) own_cpu: Duration,
    /// The same of the store's server processes, WAL writer and checkpointer left out.
    pub(crate) server_cpu: Duration,
    /// Transactions that the server ended (those that only read included).
    pub(crate) commits: i64,
}

#[derive(QueryableByName)]
struct Pid {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

impl Database {
    pub(crate) fn open(url: &str) -> Self {
        match url.strip_prefix("sqlite://") {
            Some(path) => {
                let mut connection = SqliteConnection::establish(path).unwrap();
                connection.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
                Self::Sqlite(connection)
            }
            None => Self::Postgres(PgConnection::establish(url).unwrap()),
        }
    }

    pub(crate) fn look(&mut self) -> Spent {
        let own_cpu = cpu("self");
        let Self::Postgres(connection) = self else {
            return Spent { own_cpu, server_cpu: Duration::ZERO, commits: 0 };
        };
        let pids: Vec<Pid> = diesel::sql_query(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .load(connection)
        .unwrap();
        let server_cpu = pids.iter().map(|one| cpu(&one.pid.to_string())).sum();
        let commits: Count =
            diesel::sql_query("SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()")
                .get_result(connection)
                .unwrap();
        Spent { own_cpu, server_cpu, commits: commits.count }
    }

    /// Adds a merchant.
    pub(crate) fn add_merchant(&mut self) -> MerchantId {
        let id = MerchantId::new(crate::values::random());
        let sql = |now: &str| {
            format!(
                "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Bench', 86400000000, {now})"
            )
        };
        match self {
            Self::Postgres(connection) => connection.batch_execute(&sql("now()")).unwrap(),
            Self::Sqlite(connection) => connection.batch_execute(&sql("0")).unwrap(),
        }
        id
    }

    /// Adds Sessions of `merchant` with all that belongs to them, like those that are measured.
    pub(crate) fn fill(&mut self, merchant: MerchantId, rows: usize) {
        match self {
            Self::Postgres(connection) => {
                connection
                    .batch_execute("SET session_replication_role = replica; SET synchronous_commit = off")
                    .unwrap();
                in_parts(rows, |from, to| {
                    let numbers = format!("generate_series({from}, {to}) AS number");
                    connection.batch_execute(&postgres_part(&merchant.to_string(), &numbers)).unwrap();
                });
                for last in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
                    connection.batch_execute(last).unwrap();
                }
            }
            Self::Sqlite(connection) => {
                connection.batch_execute("PRAGMA synchronous = OFF").unwrap();
                in_parts(rows, |from, to| {
                    connection.batch_execute(&sqlite_part(&merchant.to_string(), from, to)).unwrap();
                });
                connection.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            }
        }
    }
}

fn in_parts(rows: usize, mut part: impl FnMut(usize, usize)) {
    const PART: usize = 250_000;
    for from in (1..=rows).step_by(PART) {
        part(from, rows.min(from + PART - 1));
        eprintln!("{} of {rows}", rows.min(from + PART - 1));
    }
}

const TERMS: &str = r#"{"merchant_reference":"order-00000000-0000-4000-8000-000000000000","auto_capture":true,"complete_url":"https://shop.example/paid?session={SessionId}","cancel_url":"https://shop.example/cart","items":[{"name":"Shirt","amount":2990,"quantity":1},{"name":"Socks","amount":499,"quantity":2}],"via_agent":false,"shipping":{"shipping_amount":500,"duty_amount":0,"recipient":{"name":"Ana Shopper","email":"ana@shop.example","phone":"+1 555 123 4567","address":{"street":"1 Main Street","city":"San Francisco","region":"US-CA","country":"US","postcode":"94105","phone":null}}},"tax":100,"discounts":null,"billing":"supplied"}"#;
const DETAILS: &str = r#"{"name":"Ana Shopper","email":"ana@shop.example","phone":"+1 555 123 4567","birth_date":null,"national_identifier":null,"company":null,"address":{"street":"1 Main Street","city":"San Francisco","region":"US-CA","country":"US","postcode":"94105","phone":null}}"#;

fn postgres_part(merchant: &str, numbers: &str) -> String {
    format!(
        "BEGIN;
         CREATE TEMPORARY TABLE part ON COMMIT DROP AS SELECT gen_random_uuid() AS id,
             (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(number % 4096), 3, '0')
                 || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid AS profile,
             'order-' || gen_random_uuid() AS reference, now() AS at FROM {numbers};
         INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
             SELECT '{merchant}', reference, 'SESSION', id FROM part;
         INSERT INTO billing_profile (id, merchant_id, details, created_at) SELECT profile, '{merchant}', '{DETAILS}', at FROM part;
         INSERT INTO session (id, merchant_id, revision, state, currency, total_minor, billing_profile_id, terms, created_at, updated_at, expires_at)
             SELECT id, '{merchant}', 1, 'CREATED', 'USD', 4089, profile, '{TERMS}', at, at, at + interval '1 day' FROM part;
         INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_after, happened_at)
             SELECT '{merchant}', 'SESSION', id, 'MERCHANT', 'bench', 'CREATE', 'CREATED', at FROM part;
         COMMIT;"
    )
}

fn sqlite_part(merchant: &str, from: usize, to: usize) -> String {
    let uuid = "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' \
         || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";
    format!(
        "BEGIN IMMEDIATE;
         CREATE TEMPORARY TABLE part AS WITH RECURSIVE numbers (number) AS
             (SELECT {from} UNION ALL SELECT number + 1 FROM numbers WHERE number < {to})
             SELECT {uuid} AS id, printf('%08x-0000-7000-8000-', number) || lower(hex(randomblob(6))) AS profile,
                 'order-' || {uuid} AS reference, 1790000000000000 + number AS at FROM numbers;
         INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
             SELECT '{merchant}', reference, 'SESSION', id FROM part;
         INSERT INTO billing_profile (id, merchant_id, details, created_at) SELECT profile, '{merchant}', '{DETAILS}', at FROM part;
         INSERT INTO session (id, merchant_id, revision, state, currency, total_minor, billing_profile_id, terms, created_at, updated_at, expires_at)
             SELECT id, '{merchant}', 1, 'CREATED', 'USD', 4089, profile, '{TERMS}', at, at, at + 86400000000 FROM part;
         INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_after, happened_at)
             SELECT '{merchant}', 'SESSION', id, 'MERCHANT', 'bench', 'CREATE', 'CREATED', at FROM part;
         DROP TABLE part;
         COMMIT;"
    )
}

/// User and system time of a process; nothing when it has ended.
fn cpu(process: &str) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_name, fields)| fields);
    let ticks = |at: usize| fields.split(' ').nth(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    Duration::from_secs_f64((ticks(11) + ticks(12)) / TICKS)
}
