//! What statements read when the tables have grown since PostgreSQL last looked at them (ANALYZE), counted by the server.

use std::sync::Arc;
use std::time::Duration;

use dropin_contract::TryResult;
use dropin_kernel::{MerchantId, OpId, Timestamp};
use dropin_order::Channel;
use dropin_ports::{
    AccessStore, AttemptRecord, AttemptResult, AuthorizationPrepared, BackOfficeStore, CredentialChange, Delivery,
    DeliveryResult, Inserted, KeyUse, MerchantInserted, OrderChanged, OrderSearch, OutboxStore, PaymentStore,
    ReplaceSession, Replaced, RequestKey, ResponseToStore, ScreeningStore, SearchBounds, SearchFilter, SessionStore,
    Settled, StoredResponse,
};
use dropin_store::Store;
use dropin_store_contract::{
    Harness, Raw, any_decision, approval, charged, checkout_approval, fresh, insertable, keyed_capture, new_merchant,
    replacement, sealed,
};

use super::checkouts::keyed;
use super::contracts::{begun, new_charge, open};
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;
use crate::common::screening::new_try;

/// Rows that nobody needs; a statement that goes by the key reads none of them.
const UNRELATED_ROWS: u64 = 5_000;

/// So often a statement runs on each side of the growth, that both connections have made their plan, which they keep.
const RUNS: usize = 8;

/// So many results are written together.
const BATCH_ROWS: usize = 10;

/// Keeps statistics as they are until the test says ANALYZE.
fn freeze_statistics(raw: &dyn Raw, table: &str) {
    raw.execute(&format!("ALTER TABLE {table} SET (autovacuum_enabled = false)")).unwrap();
}

/// What the server has counted once every connection of the store is closed, which tells it.
fn counted(database: &Database, store: &Store, what: &str) -> u64 {
    store.close();
    let raw = RawPostgres::open(&database.url());
    wait_for(
        &raw,
        "NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'WITH %')",
    );
    raw.values(&format!("SELECT ({what})::text AS value"))[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_does_not_read_the_other_open_operations() {
    let (database, store) = migrated();
    let (url, database) = (database.url(), Arc::new(database));
    let harness = Harness::new(store.clone(), RawPostgres::open(&url), database.clone());
    freeze_statistics(&*harness.raw, "processor_op");
    let (merchant, _) = harness.merchant().await;
    let add_operations = |state: &str| {
        // Their Orders do not matter here.
        harness.raw.execute("SET session_replication_role = replica").unwrap();
        let add = format!(
            "INSERT INTO processor_op (id, order_id, kind, state, currency, amount_minor, epoch, tries, due_at, created_at, channel) \
             SELECT gen_random_uuid(), gen_random_uuid(), kind, '{state}', currency, amount_minor, epoch, tries, \
                TIMESTAMPTZ '2100-01-01', created_at, channel \
             FROM (SELECT * FROM processor_op LIMIT 1) AS one, generate_series(1, {UNRELATED_ROWS})"
        );
        harness.raw.execute(&add).unwrap();
        harness.raw.execute("SET session_replication_role = origin").unwrap();
    };
    let settle = async || {
        for _ in 0..RUNS {
            let payment = harness.submitted(merchant.id).await;
            assert_eq!(store.settle(approval(&payment)).await, Ok(Settled::Done));
        }
    };
    settle().await;
    add_operations("APPROVED");
    harness.raw.execute("ANALYZE processor_op").unwrap();
    settle().await;
    add_operations("UNKNOWN");
    settle().await;
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'processor_op_due'";
    let read = counted(&database, &store, read);
    assert!(read < UNRELATED_ROWS, "{read} entries of processor_op_due were read to settle {RUNS} payments");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_reads_no_keys_and_references_of_others() {
    let (database, store) = migrated();
    let (url, database) = (database.url(), Arc::new(database));
    let harness = Harness::new(store.clone(), RawPostgres::open(&url), database.clone());
    let tables = ["answer", "merchant_reference", "checkout", "purchase_order", "processor_op"];
    let analyze = || harness.raw.execute(&format!("ANALYZE {}", tables.join(", "))).unwrap();
    tables.iter().for_each(|table| freeze_statistics(&*harness.raw, table));
    let (merchant, _) = harness.merchant().await;
    let pay = async || {
        for number in 0..RUNS {
            let prepare = keyed(merchant.id);
            let prepared = store.prepare_authorization(prepare.clone()).await.unwrap();
            assert!(matches!(prepared, AuthorizationPrepared::Done(None)), "{prepared:?}");
            let mut approval = checkout_approval(&prepare, "{}");
            if number % 2 == 0 {
                // Its capture is awaited.
                let (operation, now) = (&prepare.operation, prepare.now);
                let capture = operation.capture(OpId::new(fresh()), operation.amount, now, now);
                approval.follow_up = Some(capture.through(Channel::CheckoutPayment));
                approval.answer = None;
            }
            let is_captured = approval.follow_up.is_some();
            assert_eq!(store.settle(approval).await, Ok(Settled::Done));
            if !is_captured {
                let payment = store.find_payment(prepare.operation.id).await.unwrap().unwrap();
                assert_eq!(store.change_order(keyed_capture(&payment)).await, Ok(OrderChanged::Done));
            }
        }
    };
    analyze();
    pay().await;
    analyze();
    pay().await;
    // Their operations do not matter here.
    harness.raw.execute("SET session_replication_role = replica").unwrap();
    for add in [
        "INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, created_at, expires_at) \
         SELECT merchant_id, sha256(n::text::bytea), fingerprint, gen_random_uuid(), created_at, expires_at \
         FROM (SELECT * FROM answer LIMIT 1) AS one, generate_series(1, {rows}) AS n",
        "INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id) \
         SELECT merchant_id, 'order-' || n, 'CHECKOUT', gen_random_uuid() \
         FROM (SELECT * FROM merchant_reference LIMIT 1) AS one, generate_series(1, {rows}) AS n",
    ] {
        harness.raw.execute(&add.replace("{rows}", &UNRELATED_ROWS.to_string())).unwrap();
    }
    harness.raw.execute("SET session_replication_role = origin").unwrap();
    pay().await;
    let read = "(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('answer', 'merchant_reference')) \
        + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('answer', 'merchant_reference'))";
    let read = counted(&database, &store, &format!("SELECT ({read})::bigint"));
    assert!(read < UNRELATED_ROWS, "{read} rows were read for {} checkouts", 3 * RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_reads_no_contracts_of_others() {
    let (database, store) = migrated();
    let (url, database) = (database.url(), Arc::new(database));
    let harness = Harness::new(store.clone(), RawPostgres::open(&url), database.clone());
    let tables = ["contract", "contract_try", "contract_credential"];
    tables.iter().for_each(|table| freeze_statistics(&*harness.raw, table));
    let (merchant, _) = harness.merchant().await;
    let charge = async || {
        for contract in open(&store, merchant.id, RUNS).await {
            let charge = new_charge(&contract);
            let prepared = store.prepare_authorization(charge.clone()).await.unwrap();
            assert!(matches!(prepared, AuthorizationPrepared::Done(None)), "{prepared:?}");
            let mut settlement = charged(&begun(&charge), TryResult::Approved, charge.now);
            // The processor told of a newer credential, too.
            settlement.contract.as_mut().unwrap().credential = CredentialChange::Store(sealed(2));
            assert_eq!(store.settle(settlement).await, Ok(Settled::Done));
        }
    };
    charge().await;
    harness.raw.execute(&format!("ANALYZE {}", tables.join(", "))).unwrap();
    charge().await;
    // Their Orders do not matter here.
    harness.raw.execute("SET session_replication_role = replica").unwrap();
    for (table, key) in [("contract", "id"), ("contract_try", "order_id"), ("contract_credential", "contract_id")] {
        let copy = format!(
            "INSERT INTO {table} SELECT made.* \
             FROM (SELECT stored FROM {table} AS stored LIMIT 1) AS one, generate_series(1, {UNRELATED_ROWS}) AS n, \
                jsonb_populate_record(one.stored, jsonb_build_object('{key}', md5(n::text)::uuid, 'reference', 'copy-' || n)) AS made"
        );
        harness.raw.execute(&copy).unwrap();
    }
    harness.raw.execute("SET session_replication_role = origin").unwrap();
    charge().await;
    let named = "relname IN ('contract', 'contract_try', 'contract_credential')";
    let read = format!(
        "SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE {named}) \
            + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE {named}))::bigint"
    );
    let read = counted(&database, &store, &read);
    assert!(read < UNRELATED_ROWS, "{read} rows were read to open and charge {} contracts", 3 * RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn finishing_does_not_read_the_other_attempts() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    freeze_statistics(&raw, "outbox_attempt");
    raw.execute("ANALYZE outbox_attempt").unwrap();
    assert_eq!(store.insert_merchant(new_merchant(true)).await, Ok(MerchantInserted::Done));
    for _ in 0..2 * RUNS * BATCH_ROWS {
        let (payment, event) = (fresh(), fresh());
        for sql in [
            format!(
                "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
                 SELECT '{payment}', 1, '{event}', id, 'EVENT', '\\x7b7d', to_timestamp(0) FROM merchant"
            ),
            format!(
                "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
                 SELECT id, '{payment}', FALSE, 1, 1, 0, to_timestamp(0) FROM endpoint"
            ),
        ] {
            raw.execute(&sql).unwrap();
        }
    }
    let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
    let claimed = store.claim_deliveries(&[], at(100), at(500), 1_000, 1_000).await.unwrap().deliveries;
    assert_eq!(claimed.len(), 2 * RUNS * BATCH_ROWS);
    let (before, after) = claimed.split_at(claimed.len() / 2);
    let finish = async |deliveries: &[Delivery]| {
        for batch in deliveries.chunks(BATCH_ROWS) {
            let finished = batch.iter().map(|one| {
                let record = AttemptRecord {
                    endpoint_id: one.endpoint_id,
                    event_id: one.event_id,
                    started_at: at(100),
                    took: Duration::from_millis(1),
                    status: Some(200),
                    why: None,
                    answer: vec![],
                };
                AttemptResult { key: one.key, result: DeliveryResult::Acknowledged, record: Some(record) }
            });
            let finished = store.finish_deliveries(finished.collect(), at(101), at(116)).await.unwrap();
            assert_eq!(finished.fenced, 0);
        }
    };
    finish(before).await;
    raw.execute(&format!(
        "INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status) \
         SELECT gen_random_uuid(), gen_random_uuid(), 1, to_timestamp(0), 1, 200 FROM generate_series(1, {UNRELATED_ROWS})"
    ))
    .unwrap();
    finish(after).await;
    let read = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'outbox_attempt'";
    let read = counted(&database, &store, read);
    assert!(read < UNRELATED_ROWS, "{read} entries of its indexes were read to write down {}", claimed.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_a_try_does_not_read_the_other_counts() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    let tables = ["velocity_counter", "payment_try"];
    for table in tables {
        freeze_statistics(&raw, table);
        raw.execute(&format!("ANALYZE {table}")).unwrap();
    }
    let merchant = MerchantId::new(fresh());
    let count = async || {
        for _ in 0..RUNS {
            store.screen_try(new_try(merchant), any_decision()).await.unwrap();
        }
    };
    count().await;
    raw.execute(&format!(
        "INSERT INTO velocity_counter (hash, counts, revision, counts_until) \
         SELECT substring(sha256(number::text::bytea) FROM 1 FOR 16), '', 1, now() FROM generate_series(1, {UNRELATED_ROWS}) AS number"
    ))
    .unwrap();
    raw.execute(&format!(
        "INSERT INTO payment_try (order_id, merchant_id, tried_at, state, keys, session_hash, amount_cents) \
         SELECT gen_random_uuid(), '{merchant}', now(), 'TRIED', '\\x01', substring(sha256(number::text::bytea) FROM 1 FOR 16), 1 \
         FROM generate_series(1, {UNRELATED_ROWS}) AS number"
    ))
    .unwrap();
    count().await;
    let [counts, tries] = tables.map(|table| {
        format!(
            "(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = '{table}') \
             + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = '{table}')"
        )
    });
    let read = counted(&database, &store, &format!("SELECT ({counts} + {tries})::bigint"));
    assert!(read < UNRELATED_ROWS, "{read} rows were read to count {} tries", 2 * RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_a_try_does_not_read_the_other_shoppers() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    freeze_statistics(&raw, "known_shopper");
    raw.execute("ANALYZE known_shopper").unwrap();
    let merchant = MerchantId::new(fresh());
    let count = async || {
        for _ in 0..RUNS {
            store.screen_try(new_try(merchant), any_decision()).await.unwrap();
        }
    };
    count().await;
    // Their merchant does not matter here.
    raw.execute("SET session_replication_role = replica").unwrap();
    raw.execute(&format!(
        "INSERT INTO known_shopper (merchant_id, hash, first_paid_at, seen_at) \
         SELECT '{merchant}', sha256(number::text::bytea), now(), now() FROM generate_series(1, {UNRELATED_ROWS}) AS number"
    ))
    .unwrap();
    count().await;
    let read = "SELECT sum(idx_tup_read)::bigint + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'known_shopper') \
        FROM pg_stat_user_indexes WHERE relname = 'known_shopper'";
    let read = counted(&database, &store, read);
    assert!(read < UNRELATED_ROWS, "{read} rows were read to know the shoppers of {} tries", 2 * RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_for_a_card_does_not_read_the_other_orders() {
    let (database, store) = migrated();
    let (url, database) = (database.url(), Arc::new(database));
    let harness = Harness::new(store.clone(), RawPostgres::open(&url), database.clone());
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    // The merchant's own Orders of other cards, before and after it.
    harness.raw.execute("SET session_replication_role = replica").unwrap();
    let add = format!(
        "INSERT INTO purchase_order SELECT made.* \
         FROM (SELECT * FROM purchase_order LIMIT 1) AS one, generate_series(1, {UNRELATED_ROWS}) AS n, \
            jsonb_populate_record(NULL::purchase_order, to_jsonb(one) || jsonb_build_object('id', md5(n::text)::uuid, 'session_id', NULL, \
                'card_last_four', (1000 + n % 1000)::text, 'created_at', one.created_at + (n - 2500) * INTERVAL '1 minute')) AS made"
    );
    harness.raw.execute(&add).unwrap();
    harness.raw.execute("SET session_replication_role = origin").unwrap();
    let ends = format!("UPDATE purchase_order SET card_last_four = '4242' WHERE id = '{}'", payment.order.id);
    harness.raw.execute(&ends).unwrap();
    harness.raw.execute("ANALYZE purchase_order").unwrap();
    harness.raw.execute("SELECT pg_stat_force_next_flush()").unwrap();
    let read = "(SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'purchase_order') \
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'purchase_order')";
    let before: u64 = harness.raw.values(&format!("SELECT ({read})::text AS value"))[0].parse().unwrap();
    for merchants in [None, Some(vec![merchant.id])] {
        let search = OrderSearch {
            filter: SearchFilter { merchants, ..SearchFilter::default() },
            state: None,
            under_review: false,
            payment_method: None,
            last_four: Some("4242".parse().unwrap()),
            after: None,
            limit: 50,
            bounds: SearchBounds::default(),
        };
        for _ in 0..RUNS {
            let found = store.search_orders(search.clone()).await.unwrap().found;
            assert_eq!(found.iter().map(|order| order.id).collect::<Vec<_>>(), [payment.order.id]);
        }
    }
    let read = counted(&database, &store, &format!("SELECT {read}")) - before;
    assert!(read < UNRELATED_ROWS, "{read} rows were read to find one");
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_reads_no_other_session() {
    const READ_TABLES: &str = "('session', 'billing_profile', 'merchant_reference', 'answer', 'history')";
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    for table in ["session", "merchant_reference", "answer"] {
        freeze_statistics(&raw, table);
    }
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let replace = async |first: usize| {
        for number in first..first + RUNS {
            let new = insertable(id);
            assert_eq!(store.insert_session(new.clone()).await, Ok(Inserted::Done));
            let replacement = replacement(&new.session, insertable(id).session.terms.clone());
            let replacement = ReplaceSession { response: Some(kept_answer(id, number)), ..replacement };
            assert_eq!(store.replace_session(replacement).await, Ok(Replaced::Done));
        }
    };
    replace(0).await;
    raw.execute("SET session_replication_role = replica").unwrap();
    for (table, key, value) in [
        ("session", "id", "md5(n::text)::uuid"),
        ("merchant_reference", "reference", "'copy-' || n"),
        ("answer", "digest", "sha256(n::text::bytea)"),
    ] {
        let copy = format!(
            "INSERT INTO {table} SELECT made.* \
             FROM (SELECT stored FROM {table} AS stored LIMIT 1) AS one, generate_series(1, {UNRELATED_ROWS}) AS n, \
                jsonb_populate_record(one.stored, jsonb_build_object('{key}', {value})) AS made"
        );
        raw.execute(&copy).unwrap();
    }
    raw.execute("SET session_replication_role = origin").unwrap();
    replace(RUNS).await;
    let read = format!(
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname IN {READ_TABLES}"
    );
    let read = counted(&database, &store, &read);
    assert!(read < UNRELATED_ROWS, "{read} rows were read to replace {} Sessions", 2 * RUNS);
}

/// The answer to the request with the key of that number.
fn kept_answer(merchant_id: MerchantId, number: usize) -> ResponseToStore {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    let (at, until) = (Timestamp::from_micros(0), Timestamp::from_micros(1));
    let key_use = KeyUse { key: RequestKey { merchant_id, digest }, fingerprint: [0; 32], at, until };
    ResponseToStore { key_use, answer: StoredResponse { status: 200, etag: None, body: vec![] } }
}
