//! What upgrades make of databases that were filled by the program of before, and that they can be gone back on.

use crate::common::postgres::Database;
use crate::common::{RawPostgres, RawSqlite, path, sqlite_url};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::Raw;
use tempfile::TempDir;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

/// The id of everything that there is one of.
const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809110";

/// A database that the first `versions` migrations were applied to.
struct Old {
    postgres: PgConnection,
    sqlite: SqliteConnection,
    /// With how an instant and two bytes are spelled.
    raws: [(Box<dyn Raw>, &'static str, &'static str); 2],
    url: String,
    database: Database,
    _folder: TempDir,
}

impl Old {
    fn after(versions: usize) -> Self {
        let (database, (folder, url)) = (Database::create(), sqlite_url());
        let mut postgres = PgConnection::establish(&database.url()).unwrap();
        let mut sqlite = SqliteConnection::establish(path(&url)).unwrap();
        sqlite.batch_execute("PRAGMA foreign_keys = OFF").unwrap();
        for _ in 0..versions {
            postgres.run_next_migration(POSTGRES).unwrap();
            sqlite.run_next_migration(SQLITE).unwrap();
        }
        let raws: [(Box<dyn Raw>, _, _); 2] = [
            (Box::new(RawPostgres::open(&database.url())), "'2026-11-21T00:00:00Z'", "'\\x0102'"),
            (Box::new(RawSqlite::open(path(&url))), "7", "x'0102'"),
        ];
        Self { postgres, sqlite, raws, url, database, _folder: folder }
    }

    /// Inserts rows, written with `{id}`, `{now}` and `{bytes}`.
    fn fill(&self, rows: &[&str]) {
        for (raw, now, bytes) in &self.raws {
            for row in rows {
                let row = row.replace("{id}", ID).replace("{now}", now).replace("{bytes}", bytes);
                raw.execute(&row).unwrap_or_else(|why| panic!("{row}: {why}"));
            }
        }
    }

    /// Opens both as a newer program does, and applies what is missing.
    fn upgrade(&self) {
        for url in [&self.database.url(), &self.url] {
            let store = Store::open(StoreConfig::new(url, Role::Tool)).unwrap();
            store.migrate().unwrap();
            store.close();
        }
    }

    /// Goes back to what the first `versions` migrations made.
    fn revert_to(&mut self, versions: usize) {
        while versions < self.postgres.applied_migrations().unwrap().len() {
            self.postgres.revert_last_migration(POSTGRES).unwrap();
            self.sqlite.revert_last_migration(SQLITE).unwrap();
        }
    }

    /// What `query` gives on both alike.
    fn values(&self, query: &str) -> Vec<String> {
        let [postgres, sqlite] = [0, 1].map(|number: usize| self.raws[number].0.values(query));
        assert_eq!(postgres, sqlite, "{query}");
        postgres
    }
}

/// What an upgrade makes of accounts that were written before there were permissions and modes.
#[test]
fn accounts_of_before_keep_all_permissions_and_are_sandbox_accounts() {
    let old = Old::after(1);
    old.fill(&[
        "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Old', 1, {now})",
        "INSERT INTO api_user (id, merchant_id, username, password) VALUES ('{id}', '{id}', 'api-old', {bytes})",
        "INSERT INTO endpoint (id, merchant_id, url, secret) VALUES ('{id}', '{id}', 'https://old.example/', {bytes})",
        "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
         VALUES ('{id}', 1, '{id}', '{id}', 'TEST', {bytes}, {now})",
        "INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at) VALUES ('{id}', '{id}', 7, {now})",
    ]);
    old.upgrade();
    let all = "session:write,session:read,order:read,order:capture,order:refund,checkout";
    assert_eq!(old.values("SELECT permissions AS value FROM api_user"), [all], "those that there were then");
    assert_eq!(old.values("SELECT name AS value FROM merchant WHERE sandbox"), ["Old"]);
    assert_eq!(old.values("SELECT CAST(attempts AS TEXT) AS value FROM outbox_parked"), ["7"]);
    assert_eq!(
        old.values("SELECT name AS value FROM merchant WHERE NOT screening"),
        ["Old"],
        "no payment is declined by an upgrade"
    );
    let living = "SELECT url AS value FROM endpoint WHERE removed_at IS NULL AND previous_until IS NULL";
    assert_eq!(old.values(living), ["https://old.example/"]);
}

/// Payments as the first programs wrote them: one paid, one that failed, one that waits for its capture.
fn payments() -> Vec<String> {
    let mut rows = vec![
        "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Old', 1, {now})"
            .to_owned(),
        "INSERT INTO billing_profile (id, merchant_id, details, created_at) VALUES ('{id}', '{id}', '{}', {now})"
            .to_owned(),
    ];
    for (number, session, order, reason) in [
        (1, "COMPLETED", "PROCESSED", "NULL"),
        (2, "FAILED", "PROCESSING_FAILED", "'INSUFFICIENT_FUNDS'"),
        (3, "PROCESSING", "PROCESSING", "NULL"),
    ] {
        let id = format!("{}{number}", &ID[..ID.len() - 1]);
        rows.push(format!(
            "INSERT INTO session (id, merchant_id, revision, state, currency, total_minor, billing_profile_id, terms, \
                created_at, updated_at, expires_at) \
             VALUES ('{id}', '{{id}}', 1, 'CREATED', 'USD', 2990, '{{id}}', '{{}}', {{now}}, {{now}}, {{now}})"
        ));
        rows.push(format!(
            "INSERT INTO purchase_order (id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, \
                currency, total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor, \
                refund_pending_minor, auto_capture, payment_method, created_at, updated_at, capture_before) \
             VALUES ('{id}', '{{id}}', '{id}', 'ref-{number}', {number}, '{order}', FALSE, TRUE, 'USD', 2990, 2990, 1000, 0, 0, 0, \
                TRUE, 'VISA', {{now}}, {{now}}, {{now}})"
        ));
        rows.push(format!(
            "UPDATE session SET state = '{session}', order_id = '{id}', attempt_id = '{id}', failure_reason = {reason} \
             WHERE id = '{id}'"
        ));
        rows.push(format!(
            "INSERT INTO processor_op (id, order_id, kind, state, currency, amount_minor, epoch, tries, due_at, created_at) \
             VALUES ('{id}', '{id}', 'AUTHORIZE', 'UNKNOWN', 'USD', 2990, 3, 4, {{now}}, {{now}})"
        ));
        rows.push(format!(
            "INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, created_at, expires_at) \
             SELECT '{{id}}', digest, digest, '{id}', {{now}}, {{now}} FROM \
                (SELECT CAST('{:0>32}' AS {{blob}}) AS digest) AS made",
            number
        ));
        for what in ["START", "AUTHORIZED"] {
            rows.push(format!(
                "INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_after, happened_at) \
                 VALUES ('{{id}}', 'ORDER', '{id}', 'MERCHANT', 'Zoë', '{what}', '{order}', {{now}})"
            ));
        }
    }
    rows
}

/// What is in the tables that the upgrade touches.
fn kept(old: &Old, ends: &str) -> Vec<Vec<String>> {
    [
        "SELECT CAST(id AS TEXT) || state || coalesce(failure_reason, '-') || CAST(order_id AS TEXT) || CAST(total_minor AS TEXT) AS value \
         FROM session ORDER BY id"
            .to_owned(),
        format!(
            "SELECT CAST(id AS TEXT) || merchant_reference || CAST(session_id AS TEXT) || CAST(captured_minor AS TEXT) AS value \
             FROM purchase_order WHERE {ends} IS NOT NULL ORDER BY id"
        ),
        "SELECT CAST(id AS TEXT) || state || CAST(epoch AS TEXT) || CAST(tries AS TEXT) AS value FROM processor_op ORDER BY position"
            .to_owned(),
        "SELECT what || actor_kind || coalesce(actor_name, '-') AS value FROM history ORDER BY position"
            .to_owned(),
        "SELECT CAST(operation_id AS TEXT) AS value FROM answer ORDER BY operation_id".to_owned(),
    ]
    .map(|query| old.values(&query))
    .to_vec()
}

/// What SQLite knows of its tables, with the spelling that exchanging leaves taken out.
fn sqlite_schema(old: &Old) -> Vec<String> {
    let made =
        old.raws[1].0.values("SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS value FROM sqlite_master");
    let mut made: Vec<_> = made
        .iter()
        .map(|one| one.replace('"', "").split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ","))
        .collect();
    made.sort();
    made
}

#[test]
fn payments_of_before_are_kept_whole() {
    let mut old = Old::after(3);
    let rows: Vec<_> = payments();
    for (number, blob) in [(0, "BYTEA"), (1, "BLOB")] {
        let (raw, now, bytes) = &old.raws[number];
        for row in &rows {
            let row = row.replace("{id}", ID).replace("{now}", now).replace("{bytes}", bytes).replace("{blob}", blob);
            raw.execute(&row).unwrap_or_else(|why| panic!("{row}: {why}"));
        }
    }
    let (before, schema) = (kept(&old, "capture_before"), sqlite_schema(&old));
    assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 6, 3]);
    old.upgrade();
    assert_eq!(kept(&old, "expires_at"), before);
    assert_eq!(old.values("SELECT DISTINCT channel AS value FROM processor_op WHERE refund_id IS NULL"), ["ORDER"]);
    let unknown = "SELECT CAST(count(*) AS TEXT) AS value FROM purchase_order WHERE card_hash IS NULL";
    assert_eq!(old.values(unknown), ["3"]);
    judged(&old);
    // What the program of before cannot read is told in its words, and everything else is as it was.
    let id = format!("{}2", &ID[..ID.len() - 1]);
    old.fill(&[
        &format!("UPDATE session SET failure_reason = 'PAYMENT_EXPIRED' WHERE id = '{id}'"),
        &format!(
            "INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_after, happened_at) \
             VALUES ('{{id}}', 'ORDER', '{id}', 'OPERATOR', 'Bob', 'TEST', 'PROCESSED', {{now}})"
        ),
        &format!(
            "INSERT INTO refund (id, order_id, merchant_id, reference, currency, amount_minor, state, created_at, updated_at) \
             VALUES ('{id}', '{id}', '{{id}}', 'r', 'USD', 5, 'SUCCEEDED', {{now}}, {{now}})"
        ),
        &format!(
            "INSERT INTO processor_op (id, order_id, kind, state, currency, amount_minor, authorization_id, refund_id, epoch, tries, \
                due_at, created_at) \
             VALUES ('{{id}}', '{id}', 'REFUND', 'APPROVED', 'USD', 5, '{id}', '{id}', 0, 0, {{now}}, {{now}})"
        ),
        &format!("INSERT INTO checkout (order_id, merchant_id, document) VALUES ('{id}', '{{id}}', '{{}}')"),
        &format!("UPDATE purchase_order SET voiding = 'EXPIRED', capture_promised_minor = 5 WHERE id = '{id}'"),
        "UPDATE purchase_order SET card_hash = {bytes} WHERE state = 'PROCESSING'",
    ]);
    old.revert_to(3);
    let mut expected = before;
    expected[0][1] = expected[0][1].replace("INSUFFICIENT_FUNDS", "PAYMENT_DECLINED");
    expected[3].push("TESTSYSTEM-".to_owned());
    assert_eq!(kept(&old, "capture_before"), expected);
    assert_eq!(sqlite_schema(&old), schema, "every table, index, trigger and view is as it was");
    old.upgrade();
    assert_eq!(kept(&old, "expires_at"), expected);
    judged(&old);
}

/// References lead somewhere, what is only appended stays, and positions go on where they were.
fn judged(old: &Old) {
    let sqlite = &old.raws[1].0;
    let broken = sqlite.values("SELECT \"table\" AS value FROM pragma_foreign_key_check");
    assert_eq!(broken, Vec::<String>::new());
    assert_eq!(sqlite.values("SELECT integrity_check AS value FROM pragma_integrity_check"), ["ok"]);
    for (raw, now, _) in &old.raws {
        for damage in [
            "DELETE FROM session",
            "DELETE FROM purchase_order",
            "DELETE FROM processor_op",
            "UPDATE history SET what = 'NOTHING'",
            "DELETE FROM history",
            "UPDATE session SET failure_reason = 'LUCK' WHERE state = 'FAILED'",
        ] {
            raw.execute(damage).expect_err(damage);
        }
        let last = "SELECT CAST(max(position) AS TEXT) AS value FROM history";
        let before: i64 = raw.values(last)[0].parse().unwrap();
        raw.execute("BEGIN").unwrap();
        raw.execute(&format!(
            "INSERT INTO history (merchant_id, subject_kind, subject_id, actor_kind, what, state_after, happened_at) \
             VALUES ('{ID}', 'ORDER', '{ID}', 'SHOPPER', 'LATER', 'PROCESSED', {now})"
        ))
        .unwrap();
        assert!(before < raw.values(last)[0].parse().unwrap());
        raw.execute("ROLLBACK").unwrap();
    }
}

/// A posting of a program of before, which writes a transaction and its entries by one statement on PostgreSQL.
fn post_as_before(old: &Old, number: usize, entries: &str) {
    let id = format!("{}{number}", &ID[..ID.len() - 1]);
    let [(postgres, then, _), (sqlite, now, _)] = &old.raws;
    let posted = |now: &str| {
        format!(
            "INSERT INTO ledger_transaction (id, order_id, currency, entry_count, posted_at) \
             VALUES ('{id}', (SELECT id FROM purchase_order), 'USD', 2, {now})"
        )
    };
    let entered =
        format!("INSERT INTO ledger_entry (transaction_id, account, minor) VALUES {}", entries.replace("{id}", &id));
    postgres.execute(&format!("WITH posted AS ({}) {entered}", posted(then))).unwrap();
    // SQLite has no programs of before beside one of after.
    if old.raws[1].0.values("SELECT name AS value FROM sqlite_master WHERE name = 'ledger_entry'").len() == 1 {
        sqlite.execute(&posted(now)).unwrap();
        sqlite.execute(&entered).unwrap();
    }
}

/// What is posted stays, whichever program posts it, and can be gone back on.
#[test]
fn the_ledger_of_before_is_kept_row_by_row() {
    const BEFORE: usize = 36;
    let mut old = Old::after(BEFORE);
    old.fill(&[
        "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Old', 1, {now})",
        "INSERT INTO purchase_order (id, merchant_id, merchant_reference, revision, state, under_review, shown, currency, total_minor, \
            authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture, payment_method, \
            created_at, updated_at) \
         VALUES ('{id}', '{id}', 'r', 1, 'PROCESSED', FALSE, TRUE, 'USD', 2990, 2990, 2990, 0, 0, 0, TRUE, 'VISA', {now}, {now})",
    ]);
    post_as_before(&old, 1, "('{id}', 'SHOPPER', -2990), ('{id}', 'AUTHORIZED', 2990)");
    post_as_before(&old, 2, "('{id}', 'SHOPPER', 0), ('{id}', 'AUTHORIZED', 0)");
    let entries = "SELECT account || CAST(minor AS TEXT) AS value FROM ledger_entry ORDER BY transaction_id, account";
    let (before, schema) = (old.values(entries), sqlite_schema(&old));
    assert_eq!(before, ["AUTHORIZED2990", "SHOPPER-2990", "AUTHORIZED0", "SHOPPER0"]);
    old.upgrade();
    let postings = "SELECT CAST(shopper_minor AS TEXT) || ' ' || CAST(authorized_minor AS TEXT) || ' ' || CAST(captured_minor AS TEXT) || ' ' \
        || CAST(refunded_minor + disputed_minor + charged_back_minor AS TEXT) AS value FROM ledger_posting ORDER BY id";
    assert_eq!(old.values(postings), ["-2990 2990 0 0", "0 0 0 0"]);
    old.fill(&[
        "INSERT INTO ledger_posting (id, order_id, currency, shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor, \
            charged_back_minor, posted_at) VALUES ('{id}', '{id}', 'USD', 0, -2990, 2990, 0, 0, 0, {now})",
    ]);
    // A program of before goes on, on PostgreSQL.
    post_as_before(&old, 3, "('{id}', 'CAPTURED', -90), ('{id}', 'DISPUTED', 90)");
    let [postgres, sqlite] = [0, 1].map(|number: usize| old.raws[number].0.values(postings));
    assert_eq!(sqlite, ["0 -2990 2990 0", "-2990 2990 0 0", "0 0 0 0"]);
    assert_eq!(postgres, ["0 -2990 2990 0", "-2990 2990 0 0", "0 0 0 0", "0 0 -90 90"]);
    old.revert_to(BEFORE);
    assert_eq!(sqlite_schema(&old), schema, "as it was");
    let [postgres, sqlite] = [0, 1].map(|number: usize| old.raws[number].0.values(entries));
    let new = ["AUTHORIZED-2990", "CAPTURED2990"].map(str::to_owned);
    assert_eq!(sqlite, [&new[..], &before].concat());
    assert_eq!(postgres, [&new[..], &before, &["CAPTURED-90", "DISPUTED90"].map(str::to_owned)].concat());
}

/// An upgrade that would leave a reference without its row changes nothing, and says so each time.
#[test]
fn a_broken_reference_stops_the_upgrade_of_sqlite() {
    let mut old = Old::after(3);
    old.fill(&[
        "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Old', 1, {now})",
        "INSERT INTO billing_profile (id, merchant_id, details, created_at) VALUES ('{id}', '{id}', '{}', {now})",
        "INSERT INTO session (id, merchant_id, revision, state, currency, total_minor, billing_profile_id, terms, created_at, \
            updated_at, expires_at) \
         VALUES ('{id}', '{id}', 1, 'CREATED', 'USD', 2990, '{id}', '{}', {now}, {now}, {now})",
    ]);
    // Behind everybody's back, as a curious hand may.
    old.sqlite.batch_execute("DELETE FROM billing_profile").unwrap();
    let schema = sqlite_schema(&old);
    for _ in 0..2 {
        let refused = Store::open(StoreConfig::new(&old.url, Role::Service)).unwrap_err().to_string();
        assert!(refused.contains("references_without_a_row"), "{refused}");
        assert_eq!(sqlite_schema(&old), schema);
    }
    assert_eq!(old.raws[1].0.values("SELECT state AS value FROM session"), ["CREATED"]);
}

/// Events of before can be read, in the order in which they were written.
#[test]
fn events_of_before_are_read_first() {
    let mut old = Old::after(8);
    old.fill(&[
        "INSERT INTO merchant (id, name, session_lifetime_micros, created_at) VALUES ('{id}', 'Old', 1, {now})",
    ]);
    let event = |sequence: usize| {
        let id = format!("{}{sequence}", &ID[..ID.len() - 1]);
        format!(
            "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
             VALUES ('{{id}}', {sequence}, '{id}', '{{id}}', 'TEST', {{bytes}}, {{now}})"
        )
    };
    let endpoint =
        "INSERT INTO endpoint (id, merchant_id, url, secret) VALUES ('{id}', '{id}', 'https://old.example/', {bytes})";
    let parked = "INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at) \
        SELECT '{id}', event_id, 7, {now} FROM outbox_event WHERE sequence = 2";
    old.fill(&[&event(2), &event(1), endpoint, parked]);
    let schema = sqlite_schema(&old);
    old.upgrade();
    old.fill(&[&event(3)]);
    for ((raw, ..), order) in old.raws.iter().zip(["tick, position", "position"]) {
        let read = raw.values(&format!("SELECT CAST(sequence AS TEXT) AS value FROM outbox_event ORDER BY {order}"));
        assert_eq!(read, ["2", "1", "3"]);
    }
    assert_eq!(old.values("SELECT CAST(attempts AS TEXT) AS value FROM outbox_parked"), ["7"]);
    for (raw, ..) in &old.raws {
        raw.execute("UPDATE outbox_event SET event_type = 'OTHER'").unwrap_err();
        raw.execute("DELETE FROM outbox_event WHERE sequence = 2").unwrap_err();
    }
    old.revert_to(8);
    assert_eq!(sqlite_schema(&old), schema, "as it was");
    assert_eq!(
        old.values("SELECT CAST(sequence AS TEXT) AS value FROM outbox_event ORDER BY sequence"),
        ["1", "2", "3"]
    );
}
