//! What is stored: append-only, whole after a restart, free of card numbers.

use std::path::Path;
use std::time::Duration;

use crate::common::{
    CARDHOLDER, PLAIN, RunningProcessor, asking, authorization, charging, fresh_key, open, storing, until,
};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use sandbox_processor::{Config, OpenStoreError, SandboxProcessor, TEST_CARDS};
use serde_json::json;

#[actix_web::test]
async fn what_is_written_stays_written() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    caller.capture(&fresh_key(), &authorized, "10").await;
    caller.refund(&fresh_key(), &authorized, "5").await;
    let before = caller.journal().await;
    let mut store = open(&running.database);
    for attack in [
        "UPDATE journal SET amount = 1",
        "UPDATE journal SET at = 0 WHERE number = 1",
        "DELETE FROM journal",
        "INSERT OR REPLACE INTO journal SELECT * FROM journal WHERE number = 1",
        "INSERT OR REPLACE INTO journal (number, at, key, kind, outcome, amount, currency)
         SELECT 99, 0, key, kind, outcome, 1, 'USD' FROM journal WHERE number = 1",
        "INSERT INTO journal (number, at, key, kind, outcome) SELECT 99, at, key, kind, 'DECLINED' FROM journal WHERE number = 1",
        "INSERT INTO journal (number, at, key, kind, outcome) SELECT 99, at, key, kind, 'PENDING' FROM journal WHERE number = 1",
        "UPDATE operations SET outcome = 'DECLINED', reason = 'GENERIC_DECLINE', retryable = 0",
        "UPDATE operations SET amount = 1",
        "DELETE FROM operations",
        "INSERT OR REPLACE INTO operations SELECT * FROM operations",
        "UPDATE authorizations SET captured = 2991",
        "UPDATE authorizations SET captured = 0",
        "UPDATE authorizations SET capture_pending = 2000",
        "UPDATE authorizations SET refunded = 1001",
        "UPDATE authorizations SET refund_pending = 501",
        "UPDATE authorizations SET voided = 1",
        "UPDATE authorizations SET authorized = 9999",
        "UPDATE authorizations SET refunded = -1",
        "UPDATE authorizations SET captured = 'a lot'",
        "DELETE FROM authorizations",
    ] {
        let refused = diesel::sql_query(attack).execute(&mut store);
        assert!(refused.is_err(), "{attack}");
    }
    assert_eq!(caller.journal().await, before);
    running.stop().await;
}

#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

/// What guards an insert looks at as many rows when there are a million as when there are ten.
#[actix_web::test]
async fn no_guard_reads_a_whole_table() {
    let running = RunningProcessor::start().await;
    let mut store = open(&running.database);
    let triggers = "SELECT sql AS detail FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%BEFORE INSERT%'";
    let triggers: Vec<Line> = diesel::sql_query(triggers).load(&mut store).unwrap();
    assert!(3 <= triggers.len());
    for Line { detail: trigger } in triggers {
        let (_, condition) = trigger.split_once("WHEN ").unwrap();
        let (condition, _) = condition.split_once("BEGIN").unwrap();
        let mut parts = condition.split("NEW.");
        let first = parts.next().unwrap().to_owned();
        let bound = parts.fold(first, |text, part| {
            text + "?1" + part.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_')
        });
        let plan = diesel::sql_query(format!("EXPLAIN QUERY PLAN SELECT 1 WHERE {bound}"));
        let plan: Vec<String> = plan.load::<Line>(&mut store).unwrap().into_iter().map(|line| line.detail).collect();
        assert!(plan.iter().any(|line| line.starts_with("SEARCH")), "{trigger}: {plan:?}");
        assert!(
            !plan.iter().any(|line| line.starts_with("SCAN") && line != "SCAN CONSTANT ROW"),
            "{trigger}: {plan:?}"
        );
    }
    running.stop().await;
}

#[actix_web::test]
async fn what_is_pending_only_goes_forward() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (_, pending) = caller.pending(json!({"Method": "BANKTRANSFER"})).await;
    let form = caller.open(&pending.page()).await.form();
    caller.send_form(&pending.page(), &form, "arrived", Some("10")).await;
    caller.pending(json!({"Method": "PAYLATER"})).await;
    let before = caller.journal().await;
    let mut store = open(&running.database);
    for attack in [
        "UPDATE operations SET received = 999 WHERE method = 'BANKTRANSFER'",
        "UPDATE operations SET received = 2990 WHERE method = 'BANKTRANSFER'",
        "UPDATE operations SET received = 1 WHERE method = 'PAYLATER'",
        "UPDATE operations SET outcome = 'APPROVED', stage = NULL, due_at = NULL, due_outcome = NULL WHERE method = 'BANKTRANSFER'",
        "UPDATE operations SET outcome = 'APPROVED', due_at = NULL, due_outcome = NULL WHERE method = 'PAYLATER'",
        "UPDATE operations SET outcome = 'DECLINED', reason = 'EXPIRED', retryable = 0, stage = NULL, due_at = NULL, due_outcome = NULL, received = 0
         WHERE method = 'BANKTRANSFER'",
        "UPDATE operations SET stage = 'REVIEW' WHERE method = 'BANKTRANSFER'",
        "UPDATE operations SET stage = 'TRANSFER' WHERE method = 'PAYLATER'",
        "UPDATE operations SET due_at = due_at + 1",
        "UPDATE operations SET method = 'CARD'",
        "UPDATE operations SET return_url = 'https://elsewhere.example/'",
        "UPDATE operations SET page_token = lower(hex(randomblob(16)))",
        "UPDATE operations SET form_token = page_token",
        "INSERT INTO authorizations (key, scenario, currency, authorized) SELECT key, 'PLAIN', currency, amount FROM operations",
    ] {
        let refused = diesel::sql_query(attack).execute(&mut store);
        assert!(refused.is_err(), "{attack}");
    }
    assert_eq!(caller.journal().await, before);
    running.stop().await;
}

#[actix_web::test]
async fn a_database_of_the_first_version_is_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("books").join("processor.db");
    std::fs::create_dir(database.parent().unwrap()).unwrap();
    let mut store = open(&database);
    store.batch_execute(include_str!("../../migrations/00000000000001_journal/up.sql")).unwrap();
    let key = |n: u32| format!("10000000-0000-4000-8000-{n:012}");
    store
        .batch_execute(&format!(
            "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
             INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000001');
             INSERT INTO operations (key, kind, outcome, amount, currency, order_id, last4)
             VALUES ('{0}', 'AUTHORIZE', 'APPROVED', 2990, 'USD', 'order-1', '4242');
             INSERT INTO authorizations (key, scenario, currency, authorized, capture_pending) VALUES ('{0}', 'PENDING_CAPTURE', 'USD', 2990, 1000);
             INSERT INTO operations (key, kind, outcome, amount, currency, order_id, last4, authorization_key, due_at, due_outcome)
             VALUES ('{1}', 'CAPTURE', 'PENDING', 1000, 'USD', 'order-1', '4242', '{0}', 1, 'APPROVED');
             INSERT INTO operations (key, kind, outcome) VALUES ('{2}', 'AUTHORIZE', 'ABANDONED');
             INSERT INTO journal (at, key, kind, outcome, amount, currency, order_id, authorization_key, last4)
             SELECT 1, key, kind, outcome, amount, currency, order_id, authorization_key, last4 FROM operations ORDER BY key;",
            key(1),
            key(2),
            key(3)
        ))
        .unwrap();
    drop(store);
    let running = RunningProcessor::start_in(folder, Duration::ZERO, Duration::ZERO).await;
    let caller = &running.caller;
    let old = caller.authorize(&key(1), PLAIN).await;
    assert_eq!((old.replayed, old.outcome(), &old.body["Method"]), (true, "APPROVED", &json!("CARD")));
    assert_eq!(
        old.body["Checks"],
        json!({"Authenticated": false}),
        "whether a code came along, nobody wrote down then"
    );
    assert_eq!(caller.journaled(&key(2)).await, ["PENDING", "APPROVED"]);
    assert_eq!(caller.store_card(PLAIN, "RECURRING").await.body["Amount"].as_f64(), Some(0.0));
    assert_eq!(caller.pending(json!({"Method": "KIOSK"})).await.1.body["Method"], json!("KIOSK"));
    assert_eq!(caller.refund(&fresh_key(), &key(1), "10").await.outcome(), "APPROVED");
    assert_eq!(caller.authorize(&key(3), PLAIN).await.code(), "KEY_ABANDONED");
    assert_eq!(caller.operation(&key(3)).await.body["Method"], serde_json::Value::Null);
    running.stop().await;
}

#[actix_web::test]
async fn a_restart_keeps_everything() {
    let first = RunningProcessor::start_in(tempfile::tempdir().unwrap(), Duration::from_secs(1), Duration::ZERO).await;
    let caller = &first.caller;
    let authorized = caller.authorized(PLAIN).await;
    let late = caller.authorized("4000000000002016").await;
    let (pending, abandoned) = (fresh_key(), fresh_key());
    assert_eq!(caller.capture(&pending, &late, "29.90").await.outcome(), "PENDING");
    caller.abandon(&abandoned).await;
    let (waiting, page) = caller.pending(json!({"Method": "PAYPAL"})).await;
    let page = page.page().strip_prefix(&caller.base).unwrap().to_owned();
    let form = caller.open(&page).await.form();
    let differs = caller.authorized("4000000000000101").await;
    let checked = caller.operation(&differs).await.body;
    assert_eq!(checked["Checks"], json!({"CodeMatches": false, "Authenticated": false}));
    let (operation, journal) = (caller.operation(&authorized).await.body, caller.journal().await);
    let folder = first.stop().await;

    let second = RunningProcessor::start_in(folder, Duration::ZERO, Duration::ZERO).await;
    let caller = &second.caller;
    assert_eq!(caller.operation(&authorized).await.body, operation);
    assert_eq!(caller.operation(&differs).await.body, checked);
    assert_eq!(caller.journal().await[..journal.len()], journal);
    assert_eq!(caller.authorize(&abandoned, PLAIN).await.code(), "KEY_ABANDONED");
    let replayed = caller.authorize(&authorized, PLAIN).await;
    assert_eq!((replayed.replayed, &replayed.body), (true, &operation));
    until("the capture of before the restart", || async {
        (caller.operation(&pending).await.outcome() == "APPROVED").then_some(())
    })
    .await;
    assert_eq!(caller.capture(&fresh_key(), &authorized, "29.90").await.outcome(), "APPROVED");
    assert_eq!(caller.send_form(&page, &form, "pay", None).await.status, 303);
    assert_eq!(caller.operation(&waiting).await.outcome(), "APPROVED");
    second.stop().await;
}

#[actix_web::test]
async fn no_card_number_reaches_the_files() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let unknown = "0".repeat(16);
    for number in TEST_CARDS.iter().map(|card| card.number).chain([unknown.as_str()]) {
        let key = fresh_key();
        caller.authorize(&key, number).await;
        caller.authorize(&key, number).await;
        caller.capture(&fresh_key(), &key, "29.90").await;
        caller.refund(&fresh_key(), &key, "1").await;
        caller.post("/v1/authorizations", &fresh_key(), authorization(number).replace("29.90", "0")).await;
        caller.post("/v1/captures", &fresh_key(), authorization(number)).await;
        caller.post("/v1/authorizations", &fresh_key(), storing(number, "RECURRING", "0")).await;
        caller.post("/v1/authorizations", &fresh_key(), charging(number, "FIRST", Some(number))).await;
        caller.delete_credential(number).await;
        let card = json!({"Number": number, "ExpiryYear": "2099", "ExpiryMonth": "12", "Name": CARDHOLDER});
        let terms = json!({"Card": card, "ReviewAllowed": true});
        caller.post("/v1/authorizations", &fresh_key(), asking(terms)).await;
    }
    let text = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap();
    let files: Vec<_> = std::fs::read_dir(running.database.parent().unwrap())
        .unwrap()
        .map(|entry| text(&entry.unwrap().path()))
        .collect();
    // The search can find: what is kept is there.
    assert!(files.iter().any(|file| file.contains("order-1") && file.contains("4242")));
    for needle in TEST_CARDS.iter().map(|card| card.number).chain([unknown.as_str(), CARDHOLDER]) {
        assert!(files.iter().all(|file| !file.contains(needle)), "{needle}");
    }
    running.stop().await;
}

#[test]
fn an_unusable_configuration_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let config = |name: &str, key: &str| Config {
        database: folder.path().join(name),
        key: key.to_owned(),
        capture_delay: Duration::ZERO,
        silence: Duration::ZERO,
    };
    for key in ["", "two words", "ключ"] {
        assert!(matches!(SandboxProcessor::open(config("processor.db", key)), Err(OpenStoreError::Key)), "{key}");
    }
    std::fs::write(folder.path().join("text"), "this is no database, and nothing of it may be lost".repeat(100))
        .unwrap();
    let error = SandboxProcessor::open(config("text", "k")).expect_err("a text file");
    assert!(matches!(error, OpenStoreError::Database { .. }), "{error}");
    let error = SandboxProcessor::open(config("text/processor.db", "k")).expect_err("a file as a folder");
    assert!(matches!(error, OpenStoreError::File { .. }), "{error}");
    let shown = format!("{:?}", SandboxProcessor::open(config("processor.db", "secret-key")).unwrap());
    assert!(!shown.contains("secret-key"), "{shown}");
}
