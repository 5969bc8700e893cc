//! Captures that are asked for at the same moment and share a statement, with the test in the way.

use std::sync::Arc;

use dropin_ports::{
    ChangeOrder, OrderChanged, PaymentStore, ResponseStore, ResponseStored, ResponseToStore, StoreError, StoredResponse,
};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Harness, Raw, keyed_capture};
use tokio::task::JoinHandle;

use super::batches::STUCK;
use super::checkouts::assert_no_deadlock;
use super::meanwhile::run_during;
use super::payments::holder;
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

/// How many are asked for at once.
const CAPTURES: usize = 60;

/// Which of those that are asked for together comes too late.
const LATE: usize = 7;

/// A store with authorized payments, and a capture of each, with a key of its own.
async fn captures(count: usize) -> (Arc<Database>, Store, Harness, Vec<ChangeOrder>) {
    let (database, store) = migrated();
    let database = Arc::new(database);
    let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), database.clone());
    let (merchant, _) = harness.merchant().await;
    let mut captures = vec![];
    for _ in 0..count {
        captures.push(keyed_capture(&harness.authorized(merchant.id).await));
    }
    (database, store, harness, captures)
}

fn change(store: &Store, change: &ChangeOrder) -> JoinHandle<Result<OrderChanged, StoreError>> {
    let (store, change) = (store.clone(), change.clone());
    tokio::spawn(async move { store.change_order(change).await })
}

#[tokio::test(flavor = "multi_thread")]
async fn captures_that_wait_together_are_begun_in_few_transactions() {
    let (database, store, harness, mut captures) = captures(CAPTURES).await;
    // What cannot be leaves those beside it in the batch: an Order that is not as it was, and a key that was used.
    captures[9].order.expected = captures[9].order.next.revision;
    captures[9].order.next = captures[9].order.next.clone().at_revision(captures[9].order.expected.next());
    let answer = StoredResponse { status: 200, etag: None, body: vec![] };
    let used = ResponseToStore { key_use: captures[11].key_use.unwrap(), answer };
    assert_eq!(store.store_response(used).await, Ok(ResponseStored::Done));
    let holder = holder(&database, "LOCK TABLE history IN SHARE ROW EXCLUSIVE MODE");
    let (first, rest) = captures.split_at(2);
    let mut changing: Vec<_> = first.iter().map(|one| change(&store, one)).collect();
    tokio::task::yield_now().await;
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    changing.extend(rest.iter().map(|one| change(&store, one)));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    for (number, one) in changing.into_iter().enumerate() {
        let expected = match number {
            9 => OrderChanged::Stale,
            11 => OrderChanged::KeyTaken,
            _ => OrderChanged::Done,
        };
        assert_eq!(one.await.unwrap(), Ok(expected), "{number}");
    }
    for table in ["processor_op WHERE kind = 'CAPTURE'", "answer"] {
        let count = |what: &str| {
            harness.raw.values(&format!("SELECT count({what})::text AS value FROM {table}"))[0]
                .parse::<usize>()
                .unwrap()
        };
        // The key that was used has an answer, too.
        assert_eq!(count("*"), CAPTURES - if table == "answer" { 1 } else { 2 });
        let transactions = count("DISTINCT xmin::text");
        assert!(transactions <= 7, "{transactions} of {table} for {CAPTURES}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_whose_connection_was_lost_is_begun_once() {
    let (database, store, harness, captures) = captures(1).await;
    let holder = holder(&database, "LOCK TABLE history IN ACCESS EXCLUSIVE MODE");
    let changing = change(&store, &captures[0]);
    let raw = RawPostgres::open(&database.url());
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    let first = raw.values(STUCK);
    raw.execute(&format!("SELECT pg_terminate_backend({})", first[0])).unwrap();
    wait_for(&raw, &format!("EXISTS ({STUCK} AND pid <> {})", first[0]));
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(changing.await.unwrap(), Ok(OrderChanged::Done));
    let begun = "SELECT count(*)::text AS value FROM processor_op WHERE kind = 'CAPTURE'";
    assert_eq!(harness.raw.values(begun), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn captures_with_the_same_keys_never_wait_for_each_other_in_a_circle() {
    let (database, store, harness, mut captures) = captures(2 * CAPTURES).await;
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    // The same keys in both halves, in another order within each batch, and of other Orders.
    let keys = |chunk: &[ChangeOrder]| chunk.iter().map(|one| one.key_use).rev().collect::<Vec<_>>();
    let keys: Vec<_> = captures[..CAPTURES].chunks(CAPTURES / 2).flat_map(keys).collect();
    for (capture, key_use) in captures[CAPTURES..].iter_mut().zip(keys) {
        capture.key_use = key_use;
    }
    // A batch of each store comes to wait for a key in the middle of both.
    let holder = holder(&database, &use_key(&captures[CAPTURES / 4]));
    let changing: Vec<_> = captures
        .iter()
        .enumerate()
        .map(|(number, one)| change(if number < CAPTURES { &store } else { &other }, one))
        .collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("2 <= (SELECT count(*) FROM ({STUCK}) AS stuck)"));
    holder.execute("ROLLBACK").unwrap();
    let mut done = 0;
    for one in changing {
        match one.await.unwrap() {
            Ok(OrderChanged::Done) => done += 1,
            came => assert_eq!(came, Ok(OrderChanged::KeyTaken)),
        }
    }
    assert_eq!(done, CAPTURES, "one of each two");
    let begun = "SELECT count(*)::text AS value FROM processor_op WHERE kind = 'CAPTURE'";
    assert_eq!(harness.raw.values(begun), [CAPTURES.to_string()]);
    assert_no_deadlock(&database, &[store, other], "answer");
}

/// Begins captures during `change`, and gives what came of the late one, of which nothing is written; the others are begun.
async fn capture_during(
    database: &Database,
    store: &Store,
    harness: &Harness,
    all: &[ChangeOrder],
    change_meanwhile: &str,
) -> Result<OrderChanged, StoreError> {
    let mut came = run_during(database, change_meanwhile, all.iter().map(|one| change(store, one))).await;
    let late = came.remove(LATE);
    assert!(came.iter().all(|one| *one == Ok(OrderChanged::Done)), "{came:?}");
    let (order, operation) = (all[LATE].order.next.id, all[LATE].operation.as_ref().unwrap().id);
    assert_eq!(store.find_payment(operation).await, Ok(None));
    assert_eq!(count(harness, &format!("answer WHERE operation_id = '{operation}'")), "0");
    assert_eq!(count(harness, &format!("history WHERE subject_id = '{order}' AND what = 'CAPTURE_REQUESTED'")), "0");
    late
}

/// Another request with the key of this one.
fn use_key(change: &ChangeOrder) -> String {
    let key = change.key_use.unwrap().key;
    let digest: String = key.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "INSERT INTO answer (merchant_id, digest, fingerprint, status, body, created_at, expires_at) VALUES \
         ('{}', '\\x{digest}', '\\x{}', 200, '', now(), now() + INTERVAL '1 day')",
        key.merchant_id,
        "07".repeat(32)
    )
}

fn count(harness: &Harness, rows: &str) -> String {
    harness.raw.values(&format!("SELECT count(*)::text AS value FROM {rows}")).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_changes_meanwhile_is_not_captured_as_it_was() {
    let (database, store, harness, captures) = captures(12).await;
    let order = captures[LATE].order.next.id;
    let change = format!("UPDATE purchase_order SET revision = revision + 1 WHERE id = '{order}'");
    let late = capture_during(&database, &store, &harness, &captures, &change).await;
    assert_eq!(late, Ok(OrderChanged::Stale));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_used_meanwhile_asks_for_no_capture() {
    let (database, store, harness, captures) = captures(12).await;
    let late = capture_during(&database, &store, &harness, &captures, &use_key(&captures[LATE])).await;
    assert_eq!(late, Ok(OrderChanged::KeyTaken));
}
