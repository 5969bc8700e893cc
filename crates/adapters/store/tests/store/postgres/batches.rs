//! Creates, finds and replacements that wait at the same moment and share a statement.

use std::sync::Mutex;

use dropin_ports::{
    AccessStore, Inserted, KeyUse, MerchantInserted, NewSession, ReplaceSession, Replaced, RequestKey, ResponseToStore,
    SessionStore, StoreError, StoreHealth, StoredResponse,
};
use dropin_session::BillingChoice;
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Raw, insertable, insertable_with, new_merchant, replacement};
use tokio::task::JoinHandle;

use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

/// Who waits for a lock in the test's database.
pub(crate) const STUCK: &str =
    "SELECT pid::text AS value FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";

/// Runs `all` at once, while the table of references is locked so that they come to wait together, and answers in their order.
async fn run_batched<W: Clone, T>(database: &Database, all: &[W], run: impl Fn(W) -> JoinHandle<T>) -> Vec<T> {
    let raw = RawPostgres::open(&database.url());
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE merchant_reference IN ACCESS EXCLUSIVE MODE").unwrap();
    let (first, rest) = all.split_at(2);
    let mut running: Vec<_> = first.iter().cloned().map(&run).collect();
    tokio::task::yield_now().await;
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    running.extend(rest.iter().cloned().map(&run));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    let mut answers = vec![];
    for one in running {
        answers.push(one.await.unwrap());
    }
    answers
}

async fn insert_batched(database: &Database, store: &Store, all: Vec<NewSession>) -> Vec<Result<Inserted, StoreError>> {
    let insert = |new| {
        let store = store.clone();
        tokio::spawn(async move { store.insert_session(new).await })
    };
    run_batched(database, &all, insert).await
}

async fn replace_batched(
    database: &Database,
    store: &Store,
    all: &[ReplaceSession],
) -> Vec<Result<Replaced, StoreError>> {
    let replace = |replacement| {
        let store = store.clone();
        tokio::spawn(async move { store.replace_session(replacement).await })
    };
    run_batched(database, all, replace).await
}

/// Sessions of one merchant, and a replacement of each.
pub(crate) async fn replacements(store: &Store, count: usize) -> Vec<ReplaceSession> {
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let mut all = vec![];
    for _ in 0..count {
        let new = insertable(id);
        assert_eq!(store.insert_session(new.clone()).await, Ok(Inserted::Done));
        all.push(replacement(&new.session, insertable(id).session.terms.clone()));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_wait_together_share_a_transaction() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let all: Vec<_> = (0..100).map(|_| insertable(id)).collect();
    let answers = insert_batched(&database, &store, all.clone()).await;
    assert!(answers.iter().all(|answer| *answer == Ok(Inserted::Done)), "{answers:?}");
    let raw = RawPostgres::open(&database.url());
    let transactions = raw.values("SELECT count(DISTINCT xmin::text)::text AS value FROM session");
    assert!(transactions[0].parse::<usize>().unwrap() <= 50, "{transactions:?} for 100");
    let find = |new: &NewSession| {
        let (store, session) = (store.clone(), new.session.clone());
        tokio::spawn(async move { (store.find_session(id, session.id).await.unwrap().unwrap().session, session) })
    };
    for found in all.iter().map(find).collect::<Vec<_>>() {
        let (found, expected) = found.await.unwrap();
        assert_eq!(found, expected, "each gets its own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_that_wait_together_share_a_transaction() {
    let (database, store) = migrated();
    let mut all = replacements(&store, 110).await;
    // Every batch has some whose key was used before.
    let used = with_key(insertable(all[0].change.next.merchant_id), 0);
    assert_eq!(store.insert_session(used.clone()).await, Ok(Inserted::Done));
    all.iter_mut().step_by(11).for_each(|one| one.response = used.response.clone());
    let answers = replace_batched(&database, &store, &all).await;
    for (one, answer) in all.iter().zip(&answers) {
        let expected = if one.response.is_some() { Replaced::KeyTaken } else { Replaced::Done };
        assert_eq!(*answer, Ok(expected), "{answers:?}");
    }
    let raw = RawPostgres::open(&database.url());
    let transactions = raw.values("SELECT count(DISTINCT xmin::text)::text AS value FROM session WHERE revision = 2");
    assert!(transactions[0].parse::<usize>().unwrap() <= 50, "{transactions:?} for 100");
    all.retain(|one| one.response.is_none());
    for replacement in &all {
        let next = &replacement.change.next;
        let found = store.find_session(next.merchant_id, next.id).await.unwrap().unwrap();
        assert_eq!(found.session, *next, "each gets its own");
    }
    assert_eq!(raw.values("SELECT count(*)::text AS value FROM history WHERE what = 'REPLACE'"), ["100"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_replaced_twice_in_a_statement_has_one_winner() {
    let (database, store) = migrated();
    let mut all = replacements(&store, 30).await;
    let session = store.find_session(all[20].change.next.merchant_id, all[20].change.next.id).await.unwrap().unwrap();
    all.push(replacement(&session.session, insertable(session.session.merchant_id).session.terms.clone()));
    let mut answers = replace_batched(&database, &store, &all).await;
    let second = answers.pop().unwrap();
    let mut twins = [answers.swap_remove(20), second];
    twins.sort_by_key(|answer| *answer == Ok(Replaced::Stale));
    assert_eq!(twins, [Ok(Replaced::Done), Ok(Replaced::Stale)]);
    assert!(answers.iter().all(|answer| *answer == Ok(Replaced::Done)), "{answers:?}");
    let raw = RawPostgres::open(&database.url());
    for table in ["history", "merchant_reference", "billing_profile"] {
        assert_eq!(raw.values(&format!("SELECT count(*)::text AS value FROM {table}")), ["60"], "{table}");
    }
    assert_eq!(raw.values("SELECT count(*)::text AS value FROM session WHERE revision = 2"), ["30"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_is_refused_leaves_those_beside_it_alone() {
    record();
    let (database, store) = migrated();
    let mut all = replacements(&store, 40).await;
    let next = &all[20].change.next;
    // Names a billing profile that is not there.
    let unknown =
        insertable_with(next.merchant_id, |terms| terms.billing_choice = BillingChoice::ById).session.terms.clone();
    let session = store.find_session(next.merchant_id, next.id).await.unwrap().unwrap().session;
    all[20] = replacement(&session, unknown);
    let answers = replace_batched(&database, &store, &all).await;
    for (number, answer) in answers.iter().enumerate() {
        match number {
            20 => assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}"),
            _ => assert_eq!(*answer, Ok(Replaced::Done), "{number}"),
        }
    }
    let found = store.find_session(session.merchant_id, session.id).await.unwrap().unwrap();
    assert_eq!(found.session, session);
    expect_logged(&["INFO a shared statement of ", "each is done alone", "session_billing_profile_fkey"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_whose_connection_was_lost_is_looked_after() {
    let (database, store) = migrated();
    let one = replacements(&store, 1).await.remove(0);
    let (raw, holder) = (RawPostgres::open(&database.url()), RawPostgres::open(&database.url()));
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE history IN ACCESS EXCLUSIVE MODE").unwrap();
    let replacing = tokio::spawn({
        let (store, one) = (store.clone(), one.clone());
        async move { store.replace_session(one).await }
    });
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    let first = raw.values(STUCK);
    raw.execute(&format!("SELECT pg_terminate_backend({})", first[0])).unwrap();
    wait_for(&raw, &format!("EXISTS ({STUCK} AND pid <> {})", first[0]));
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(replacing.await.unwrap(), Ok(Replaced::Done));
    let found = store.find_session(one.change.next.merchant_id, one.change.next.id).await.unwrap().unwrap();
    assert_eq!(found.session, one.change.next);
    assert_eq!(raw.values("SELECT count(*)::text AS value FROM history"), ["2"]);
}

/// What all tests of this program have logged.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Recorder;

impl log::Log for Recorder {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LOGGED.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

/// From now on what is logged can be looked at.
pub(crate) fn record() {
    if log::set_logger(&Recorder).is_ok() {
        log::set_max_level(log::LevelFilter::Info);
    }
}

#[track_caller]
pub(crate) fn expect_logged(parts: &[&str]) {
    let logged = LOGGED.lock().unwrap().clone();
    assert!(logged.iter().any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?} in none of {logged:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_refused_leaves_those_beside_it_alone() {
    record();
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let stranger = insertable(new_merchant(false).merchant.id);
    let twin = insertable(id);
    let mut all: Vec<_> = (0..40).map(|_| insertable(id)).collect();
    all[20] = stranger;
    all[30] = twin.clone();
    all[31] = insertable_with(id, |terms| terms.merchant_reference = twin.session.terms.merchant_reference.clone());
    let answers = insert_batched(&database, &store, all).await;
    for (number, answer) in answers.iter().enumerate() {
        match number {
            20 => assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}"),
            30 | 31 => {}
            _ => assert_eq!(*answer, Ok(Inserted::Done), "{number}"),
        }
    }
    let mut twins = [answers[30].clone().unwrap(), answers[31].clone().unwrap()];
    twins.sort_by_key(|answer| *answer == Inserted::DuplicateReference);
    assert_eq!(twins, [Inserted::Done, Inserted::DuplicateReference]);
    let raw = RawPostgres::open(&database.url());
    for table in ["session", "billing_profile", "merchant_reference", "history"] {
        assert_eq!(raw.values(&format!("SELECT count(*)::text AS value FROM {table}")), ["38"], "{table}");
    }
    expect_logged(&["INFO a shared statement of ", "each is done alone", "merchant_fkey"]);
}

/// The same Session with a key of that number.
fn with_key(mut new: NewSession, number: usize) -> NewSession {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    let key = RequestKey { merchant_id: new.session.merchant_id, digest };
    let (at, until) = (new.session.created_at, new.session.expires_at);
    let answer = StoredResponse { status: 201, etag: None, body: vec![] };
    new.response = Some(ResponseToStore { key_use: KeyUse { key, fingerprint: [0; 32], at, until }, answer });
    new
}

#[tokio::test]
async fn a_key_that_comes_twice_does_not_part_those_beside_it() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    // One came before, and one comes twice.
    assert_eq!(store.insert_session(with_key(insertable(id), 20)).await, Ok(Inserted::Done));
    let all = (0..32).map(|number| with_key(insertable(id), number.min(30))).collect();
    let mut answers = insert_batched(&database, &store, all).await;
    answers[30..].sort_by_key(|answer| *answer == Ok(Inserted::KeyTaken));
    assert_eq!(answers.pop(), Some(Ok(Inserted::KeyTaken)));
    assert_eq!(answers.remove(20), Ok(Inserted::KeyTaken));
    assert!(answers.iter().all(|answer| *answer == Ok(Inserted::Done)), "{answers:?}");
    let raw = RawPostgres::open(&database.url());
    let transactions = raw.values("SELECT count(DISTINCT xmin::text)::text AS value FROM session");
    assert!(transactions[0].parse::<usize>().unwrap() <= 5, "{transactions:?} for 31");
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_that_share_keys_and_references_never_wait_for_each_other() {
    let (database, store) = migrated();
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    for round in 0..100 {
        let references = [(); 3].map(|()| insertable(id).session.terms.merchant_reference.clone());
        let insert = |number: usize| {
            // Each of 3 keys with each of 3 references.
            let reference = references[number / 3 % 3].clone();
            let new = insertable_with(id, |terms| terms.merchant_reference = reference);
            let new = with_key(new, 3 * round + number % 3);
            let store = if number.is_multiple_of(2) { store.clone() } else { other.clone() };
            tokio::spawn(async move { (number % 3, store.insert_session(new).await.unwrap()) })
        };
        let mut done = vec![];
        for inserting in (0..27).map(insert).collect::<Vec<_>>() {
            let (key, inserted) = inserting.await.unwrap();
            done.extend((inserted == Inserted::Done).then_some(key));
        }
        done.sort_unstable();
        assert!(!done.is_empty() && done.is_sorted_by(|one, two| one < two), "one Session for a key at most: {done:?}");
    }
    // A connection says what it has seen when it ends.
    let raw = RawPostgres::open(&database.url());
    let sessions = raw.values("SELECT count(*)::text AS value FROM session");
    assert_eq!(raw.values("SELECT count(*)::text AS value FROM answer"), sessions);
    store.close();
    other.close();
    wait_for(&raw, "(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'session') > 0");
    let deadlocks = "SELECT deadlocks::text AS value FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(raw.values(deadlocks), ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_who_ask_together_see_their_own_only() {
    let (database, store) = migrated();
    let mut sessions = vec![];
    for _ in 0..2 {
        let merchant = new_merchant(false);
        let new = insertable(merchant.merchant.id);
        assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
        assert_eq!(store.insert_session(new.clone()).await, Ok(Inserted::Done));
        sessions.push(new.session);
    }
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE session IN ACCESS EXCLUSIVE MODE").unwrap();
    let find = |number: usize| {
        let (store, who, whose) = (store.clone(), &sessions[number % 2], &sessions[number / 2 % 2]);
        let (merchant, id) = (who.merchant_id, whose.id);
        tokio::spawn(async move { store.find_session(merchant, id).await.unwrap().map(|found| found.session) })
    };
    let mut finding: Vec<_> = (0..2).map(find).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    finding.extend((2..100).map(find));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    for (number, found) in finding.into_iter().enumerate() {
        let own = (number % 2 == number / 2 % 2).then(|| sessions[number % 2].clone());
        assert_eq!(found.await.unwrap(), own, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_already_is_not_read_to_create_or_find() {
    const SESSIONS: usize = 150;
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    for number in 0..SESSIONS {
        let new = with_key(insertable(id), number);
        let session = new.session.id;
        assert_eq!(store.insert_session(new).await, Ok(Inserted::Done));
        assert!(store.find_session(id, session).await.unwrap().is_some());
    }
    // A connection says what it has read when it ends.
    store.close();
    let raw = RawPostgres::open(&database.url());
    wait_for(&raw, &format!("(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'answer') = {SESSIONS}"));
    wait_for(
        &raw,
        &format!("(SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'session_pkey') >= {SESSIONS}"),
    );
    let read = "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::text AS value FROM pg_stat_user_tables \
        WHERE relname IN ('session', 'billing_profile', 'answer', 'merchant_reference', 'history')";
    // A find reads two rows, a create looks one profile up again for its foreign key.
    let read: usize = raw.values(read)[0].parse().unwrap();
    assert!(read <= 4 * SESSIONS, "{read} rows for {SESSIONS} Sessions");
}

/// A create whose statement waits for a lock, and whoever holds that.
async fn stuck_create(database: &Database, store: &Store) -> (RawPostgres, JoinHandle<Result<Inserted, StoreError>>) {
    let merchant = new_merchant(false);
    let new = insertable(merchant.merchant.id);
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE history IN ACCESS EXCLUSIVE MODE").unwrap();
    let creating = tokio::spawn({
        let store = store.clone();
        async move { store.insert_session(new).await }
    });
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    (holder, creating)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_connection_was_lost_is_looked_after() {
    record();
    let (database, store) = migrated();
    let (holder, creating) = stuck_create(&database, &store).await;
    // The holder's transaction would see who waits as of its first look.
    let raw = RawPostgres::open(&database.url());
    let first = raw.values(STUCK);
    raw.execute(&format!("SELECT pg_terminate_backend({})", first[0])).unwrap();
    wait_for(&raw, &format!("EXISTS ({STUCK} AND pid <> {})", first[0]));
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(creating.await.unwrap(), Ok(Inserted::Done));
    assert_eq!(raw.values("SELECT count(*)::text AS value FROM session"), ["1"]);
    expect_logged(&["WARN a shared statement of 1 steps failed", "looking what became", "connection was lost"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_cannot_be_looked_after_has_an_unknown_outcome() {
    let (database, store) = migrated();
    let (_holder, creating) = stuck_create(&database, &store).await;
    database.take_away();
    assert_eq!(creating.await.unwrap(), Err(StoreError::OutcomeUnknown));
    database.bring_back();
    assert_eq!(store.ready().await, Ok(()));
}
