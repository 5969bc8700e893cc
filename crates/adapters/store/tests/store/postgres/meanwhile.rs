//! Payments and replacements of Sessions that share a statement, and what another program changes while it waits: that task comes too late, and those
//! beside it are done.

use dropin_kernel::MerchantId;
use dropin_ports::{AuthorizationPrepared, PaymentStore, PrepareAuthorization, Replaced, SessionStore, StoreError};
use dropin_store::Store;
use dropin_store_contract::{Harness, Raw};
use tokio::task::JoinHandle;

use super::batches::{STUCK, replacements};
use super::checkouts::{begin, opened, prepare, transactions};
use super::payments::holder;
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

/// How many tasks there are, and which of them is too late.
const TASKS: usize = 12;
const LATE: usize = 7;

/// Starts `tasks` while another program holds the rows of `change`, which commits when one of them waits for these.
pub(crate) async fn run_during<T>(
    database: &Database,
    change: &str,
    tasks: impl Iterator<Item = JoinHandle<T>>,
) -> Vec<T> {
    let holder = holder(database, change);
    let running: Vec<_> = tasks.collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    holder.execute("COMMIT").unwrap();
    let mut answers = vec![];
    for one in running {
        answers.push(one.await.unwrap());
    }
    answers
}

fn is_paid(prepared: &Result<AuthorizationPrepared, StoreError>) -> bool {
    matches!(prepared, Ok(AuthorizationPrepared::Done(Some(_))))
}

/// Pays Sessions, each with a card of its own, during `change`, and gives what came of each.
async fn pay_during(
    database: &Database,
    store: &Store,
    harness: &Harness,
    all: &[PrepareAuthorization],
    change: &str,
) -> Result<AuthorizationPrepared, StoreError> {
    let mut prepared = run_during(database, change, all.iter().map(|one| prepare(store, one))).await;
    let late = prepared.remove(LATE);
    assert!(prepared.iter().all(is_paid), "{prepared:?}");
    let PrepareAuthorization { order, operation, .. } = &all[LATE];
    assert_eq!(store.find_payment(operation.id).await, Ok(None), "nothing of it is written");
    let history = format!("SELECT what AS value FROM history WHERE subject_id = '{}'", order.id);
    assert!(harness.raw.values(&history).is_empty());
    late
}

/// Payments of Sessions, each with a card of its own.
async fn submits(harness: &Harness, merchant: MerchantId) -> Vec<PrepareAuthorization> {
    let mut all = vec![];
    for _ in 0..TASKS {
        let (session, stash) = (harness.session(merchant).await, harness.stashed(merchant).await);
        all.push(harness.submit(&session, &stash.key, session.created_at));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_of_sessions_that_wait_together_are_begun_in_few_transactions() {
    let (database, store, harness, merchant) = opened().await;
    let mut all = vec![];
    for _ in 0..5 {
        all.extend(submits(&harness, merchant).await);
    }
    let prepared = begin(&database, &store, &all).await;
    assert!(prepared.iter().all(is_paid), "{prepared:?}");
    let transactions = transactions(&harness, "purchase_order");
    assert!(transactions <= 6, "{transactions} for {}", all.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_replaced_meanwhile_is_not_paid_as_it_was() {
    let (database, store, harness, merchant) = opened().await;
    let all = submits(&harness, merchant).await;
    let session = all[LATE].order.session_id.unwrap();
    let change = format!("UPDATE session SET revision = revision + 1 WHERE id = '{session}'");
    let late = pay_during(&database, &store, &harness, &all, &change).await;
    assert!(matches!(late, Ok(AuthorizationPrepared::Stale)), "{late:?}");
    assert_eq!(harness.raw.values("SELECT stash_id AS value FROM stash").len(), 1, "its card is not used up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_used_up_meanwhile_pays_no_second_time() {
    let (database, store, harness, merchant) = opened().await;
    let all = submits(&harness, merchant).await;
    let change = format!("DELETE FROM stash WHERE stash_id = '{}'", all[LATE].stash.as_ref().unwrap().key.stash_id);
    let late = pay_during(&database, &store, &harness, &all, &change).await;
    assert!(matches!(late, Ok(AuthorizationPrepared::StashMissing)), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_submitted_meanwhile_is_not_replaced() {
    let (database, store) = migrated();
    let all = replacements(&store, TASKS).await;
    let next = &all[LATE].change.next;
    let change = format!("UPDATE session SET revision = revision + 1 WHERE id = '{}'", next.id);
    let replace = |one: &_| {
        let (store, one) = (store.clone(), Clone::clone(one));
        tokio::spawn(async move { store.replace_session(one).await })
    };
    let mut replaced = run_during(&database, &change, all.iter().map(replace)).await;
    assert_eq!(replaced.remove(LATE), Ok(Replaced::Stale));
    assert!(replaced.iter().all(|one| *one == Ok(Replaced::Done)), "{replaced:?}");
    let found = store.find_session(next.merchant_id, next.id).await.unwrap().unwrap().session;
    assert_ne!(found.terms, next.terms);
    let raw = RawPostgres::open(&database.url());
    let written = raw.values("SELECT count(*)::text AS value FROM history WHERE what = 'REPLACE'");
    assert_eq!(written, [(TASKS - 1).to_string()]);
}
