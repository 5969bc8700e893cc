//! No statement in a file of its own goes through a whole table that payments fill (`Seq Scan`), though PostgreSQL looked at the tables (ANALYZE) only while they were empty.

use std::collections::BTreeSet;
use std::sync::Arc;

use dropin_ports::{OrderChanged, PaymentStore, Settled};
use dropin_store::Store;
use dropin_store_contract::{Harness, Raw, audited, checkout_approval, keyed_capture};

use super::checkouts::keyed;
use super::contracts::{new_charge, open};
use super::migrated;
use crate::common::{RawPostgres, statements};

/// Copies of each row.
const COPIES: u32 = 2_000;

/// What every payment fills.
const GROWN: [&str; 16] = [
    "answer",
    "audit_log",
    "billing_profile",
    "checkout",
    "contract",
    "contract_credential",
    "contract_try",
    "history",
    "ledger_posting",
    "merchant_reference",
    "outbox_event",
    "outbox_stream",
    "processor_op",
    "purchase_order",
    "refund",
    "session",
];

/// How connections of batches are set, see `by_key` in `worker_pool/batch.rs`.
const BY_KEY: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// What runs in batches.
const BATCHED: [&str; 14] = [
    "claim_all",
    "claim_one",
    "create",
    "find_batch",
    "find_leased",
    "move_streams",
    "peek",
    "prepare",
    "put_batch",
    "put_shoppers",
    "read_counts",
    "replace",
    "settle",
    "write_counts",
];

/// Statements that may read a whole table, since they are about all of it: an operator removes an account, and all that waits is counted.
const ABOUT_ALL: [(&str, &str); 3] =
    [("count_uses", "contract_credential"), ("count_uses", "processor_op"), ("count_waiting", "outbox_stream")];

/// Keys of a table's rows that are made anew in a copy; the others are shared.
const COPY: &str = "
CREATE FUNCTION copy_rows(name text, copies integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE own text;
BEGIN
    SELECT string_agg(DISTINCT format('%L, %s', a.attname, CASE t.typname
        WHEN 'uuid' THEN 'md5(n::text)::uuid' WHEN 'text' THEN '''copy-'' || n' WHEN 'int8' THEN '1000000 + n'
        ELSE 'sha256(n::text::bytea)' END), ', ')
    INTO own
    FROM pg_index AS i
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    JOIN pg_type AS t ON t.oid = a.atttypid
    WHERE i.indrelid = name::regclass AND i.indisunique AND t.typname IN ('uuid', 'text', 'int8', 'bytea')
        AND a.attname NOT IN ('merchant_id', 'sequence', 'state', 'owner_kind', 'fingerprint');
    -- A function in FROM runs once for each row; as (…).* it runs for each column.
    EXECUTE format('INSERT INTO %I OVERRIDING SYSTEM VALUE SELECT made.* FROM (SELECT * FROM %I LIMIT 1) AS one, generate_series(1, %s) AS n, '
        'jsonb_populate_record(NULL::%I, to_jsonb(one) || (SELECT jsonb_object_agg(key, value) '
        'FROM jsonb_each(jsonb_build_object(%s)) WHERE to_jsonb(one) -> key <> ''null'')) AS made', name, name, copies, name, own);
END $$";

/// A generic plan, line by line.
const PLAN: &str = "
CREATE FUNCTION plan_of(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE parameters integer;
BEGIN
    SELECT coalesce(cardinality(parameter_types), 0) INTO parameters FROM pg_prepared_statements AS p WHERE p.name = $1;
    RETURN QUERY EXECUTE 'EXPLAIN EXECUTE ' || name || CASE WHEN parameters = 0 THEN '' ELSE
        '(' || array_to_string(array_fill('NULL'::text, ARRAY[parameters]), ',') || ')' END;
END $$";

/// Pays, and has the tables grow.
async fn grow(harness: &Harness, store: &Store) {
    let (merchant, _) = harness.merchant().await;
    let captured = keyed_capture(&harness.authorized(merchant.id).await);
    assert_eq!(store.change_order(captured).await, Ok(OrderChanged::Done));
    harness.refunding(&harness.processed(merchant.id).await, "return", None).await;
    harness.held(merchant.id).await;
    let checkout = keyed(merchant.id);
    store.prepare_authorization(checkout.clone()).await.unwrap();
    let mut approval = checkout_approval(&checkout, "{}");
    approval.audit = Some(audited());
    assert_eq!(store.settle(approval).await, Ok(Settled::Done));
    for contract in open(store, merchant.id, 1).await {
        store.prepare_authorization(new_charge(&contract)).await.unwrap();
    }
    harness.raw.execute(COPY).unwrap();
    harness.raw.execute("SET session_replication_role = replica").unwrap();
    for table in GROWN {
        assert_ne!(harness.raw.values(&format!("SELECT count(*)::text AS value FROM {table}")), ["0"], "{table}");
        let copied = harness.raw.execute(&format!("SELECT copy_rows('{table}', {COPIES})"));
        assert!(copied.is_ok(), "{table}: {copied:?}");
    }
    harness.raw.execute("SET session_replication_role = origin").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_goes_by_an_index() {
    let (database, store) = migrated();
    let (url, database) = (database.url(), Arc::new(database));
    let harness = Harness::new(store.clone(), RawPostgres::open(&url), database.clone());
    harness.raw.execute("ANALYZE").unwrap();
    let freeze = "SELECT 'ALTER TABLE ' || relname || ' SET (autovacuum_enabled = false)' AS value FROM pg_class \
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    for sql in harness.raw.values(freeze) {
        harness.raw.execute(&sql).unwrap();
    }
    grow(&harness, &store).await;
    harness.raw.execute(PLAN).unwrap();
    let mut through = BTreeSet::new();
    for file in statements::of("postgres") {
        let name = file.path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
        let raw = RawPostgres::open(&url);
        let settings =
            if BATCHED.contains(&name.as_str()) { BY_KEY } else { "SET plan_cache_mode = force_generic_plan" };
        for setting in settings.split(';') {
            raw.execute(setting).unwrap();
        }
        raw.execute(&format!("PREPARE one AS {}", file.text)).unwrap();
        for line in raw.values("SELECT value FROM plan_of('one') AS value") {
            let table = line.split_once("Seq Scan on ").and_then(|(_, rest)| rest.split(' ').next());
            if let Some(table) = table.filter(|table| GROWN.contains(table)) {
                through.insert((name.clone(), table.to_owned()));
            }
        }
    }
    let expected = ABOUT_ALL.map(|(name, table)| (name.to_owned(), table.to_owned()));
    assert_eq!(through, BTreeSet::from(expected));
}
