//! The store on PostgreSQL: the whole contract, and what PostgreSQL alone has: connections that break.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod common;

use std::time::{Duration, Instant};

use common::RawPostgres;
use common::postgres::Database;
use dropin_ports::{
    AccessStore, AnswerKey, Inserted, KeyUse, MerchantInserted, NewSession, Remember, SessionStore, StoreError,
    StoreHealth, StoredAnswer,
};
use dropin_store::{OpenError, Role, Store, StoreConfig};
use dropin_store_contract::{Bench, Raw, insertable, new_merchant};

fn open() -> Bench {
    let (database, store) = migrated();
    Bench::new(store, RawPostgres::open(&database.url()), database)
}

mod contract {
    dropin_store_contract::all_cases!(super::open);
}

fn migrated() -> (Database, Store) {
    let database = Database::create();
    let store = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    assert!(!store.migrate().unwrap().is_empty());
    (database, store)
}

/// A store whose callers wait for `deadline` only.
fn impatient(database: &Database, deadline: Duration) -> Store {
    let mut config = StoreConfig::new(database.url(), Role::Service);
    config.deadline = deadline;
    Store::open(config).unwrap()
}

/// Waits until `condition` holds, as seen from behind the store.
fn wait_for(raw: &RawPostgres, condition: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    while raw.values(&format!("SELECT ({condition})::text AS value")) != ["true"] {
        assert!(Instant::now() < end, "never: {condition}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn migrating_twice_at_once_is_fine() {
    let database = Database::create();
    let migrate = || {
        let store = Store::open(StoreConfig::new(database.url(), Role::Tool)).unwrap();
        store.migrate().unwrap()
    };
    let applied = std::thread::scope(|scope| [0; 4].map(|_| scope.spawn(migrate)).map(|one| one.join().unwrap()));
    let newly: Vec<_> = applied.iter().filter(|versions| !versions.is_empty()).collect();
    assert_eq!(newly.len(), 1, "one of them did it all: {applied:?}");
}

#[tokio::test]
async fn a_database_that_was_never_migrated_is_not_ready() {
    let database = Database::create();
    let store = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let Err(StoreError::Refused(why)) = store.ready().await else { panic!("ready without a schema") };
    assert!(why.contains("dropin migrate"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_is_told_in_time_and_found_again() {
    let (database, store) = migrated();
    let kept = new_merchant(false);
    assert_eq!(store.insert_merchant(kept.clone()).await, Ok(MerchantInserted::Done));
    database.take_away();
    let refused = new_merchant(false);
    for _ in 0..10 {
        let begun = Instant::now();
        let written = store.insert_merchant(refused.clone()).await;
        assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
        let found = store.find_merchant(kept.merchant.id).await;
        assert!(matches!(found, Err(StoreError::Unavailable(_))), "{found:?}");
        assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    }
    database.bring_back();
    assert_eq!(store.find_merchant(kept.merchant.id).await, Ok(Some(kept.merchant)), "by itself, at once");
    assert_eq!(store.find_merchant(refused.merchant.id).await, Ok(None));
    assert_eq!(store.ready().await, Ok(()));
}

#[test]
fn a_server_that_is_away_is_told() {
    let store = Store::open(StoreConfig::new("postgres://postgres:hush@127.0.0.1:1/none", Role::Tool)).unwrap();
    let error = store.migrate().unwrap_err();
    assert!(matches!(&error, OpenError::Connect(_)), "{error}");
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_that_were_cut_are_not_noticed() {
    let (database, store) = migrated();
    for _ in 0..5 {
        let new = new_merchant(false);
        // Every thread has had a connection to lose.
        let all: Vec<_> = (0..16)
            .map(|_| {
                tokio::spawn({
                    let store = store.clone();
                    async move { store.list_merchants().await.unwrap() }
                })
            })
            .collect();
        for one in all {
            one.await.unwrap();
        }
        database.cut_connections();
        assert_eq!(store.insert_merchant(new.clone()).await, Ok(MerchantInserted::Done));
        assert_eq!(store.find_merchant(new.merchant.id).await, Ok(Some(new.merchant)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_before_commit_changed_nothing() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    let holder = RawPostgres::open(&database.url());
    let new = new_merchant(false);
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE api_user IN ACCESS EXCLUSIVE MODE").unwrap();
    let writing = tokio::spawn({
        let (store, new) = (store.clone(), new.clone());
        async move { store.insert_merchant(new).await }
    });
    wait_for(
        &raw,
        "EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%api_user%' AND pid <> pg_backend_pid())",
    );
    raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()").unwrap();
    let written = writing.await.unwrap();
    assert_eq!(written, Err(StoreError::Unavailable("the connection was lost".to_owned())));
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(store.find_merchant(new.merchant.id).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_during_commit_leaves_the_outcome_unknown() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    // A COMMIT that takes its time.
    raw.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END'",
    )
    .unwrap();
    raw.execute("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON api_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()").unwrap();
    let new = new_merchant(false);
    let writing = tokio::spawn({
        let (store, new) = (store.clone(), new.clone());
        async move { store.insert_merchant(new).await }
    });
    wait_for(
        &raw,
        "EXISTS (SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep' AND datname = current_database())",
    );
    raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT' AND datname = current_database()").unwrap();
    assert_eq!(writing.await.unwrap(), Err(StoreError::OutcomeUnknown));
    raw.execute("DROP TRIGGER slow ON api_user").unwrap();
    assert_eq!(store.insert_merchant(new).await, Ok(MerchantInserted::Done), "this time it had not happened");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_passes_while_a_write_runs_leaves_the_outcome_unknown() {
    let (database, _patient) = migrated();
    let store = impatient(&database, Duration::from_millis(200));
    // So that the connection is there already.
    assert_eq!(store.list_merchants().await, Ok(vec![]));
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE merchant IN ACCESS EXCLUSIVE MODE").unwrap();
    let new = new_merchant(false);
    assert_eq!(store.insert_merchant(new.clone()).await, Err(StoreError::OutcomeUnknown));
    let read = store.find_merchant(new.merchant.id).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "a read changes nothing: {read:?}");
    holder.execute("ROLLBACK").unwrap();
    // What was running goes on, and here it succeeds.
    let raw = RawPostgres::open(&database.url());
    wait_for(&raw, &format!("EXISTS (SELECT 1 FROM merchant WHERE id = '{}')", new.merchant.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_database_wants_again_is_run_again() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    // Fails the first runs with the given code, whatever becomes of them: a sequence is not rolled back.
    for (code, message) in [("40001", "could not serialize"), ("40P01", "deadlock detected")] {
        for (failures, runs) in [(1, 2), (4, 5), (100, 5)] {
            raw.execute("CREATE SEQUENCE runs").unwrap();
            raw.execute(&format!(
                "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('runs') <= {failures} THEN RAISE EXCEPTION '{message}' USING ERRCODE = '{code}'; END IF; RETURN NULL; END $$"
            ))
            .unwrap();
            raw.execute("CREATE TRIGGER fail AFTER INSERT ON api_user FOR EACH ROW EXECUTE FUNCTION fail()").unwrap();
            let new = new_merchant(false);
            let written = store.insert_merchant(new.clone()).await;
            if failures < 5 {
                assert_eq!(written, Ok(MerchantInserted::Done), "{code}");
            } else {
                assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
            }
            assert_eq!(store.find_merchant(new.merchant.id).await.unwrap().is_some(), failures < 5);
            assert_eq!(raw.values("SELECT last_value::text AS value FROM runs"), [runs.to_string()]);
            raw.execute("DROP FUNCTION fail CASCADE").unwrap();
            raw.execute("DROP SEQUENCE runs").unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_do_not_reach_errors() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    raw.execute("ALTER TABLE merchant ADD CONSTRAINT merchant_nameless CHECK (name = '')").unwrap();
    let mut new = new_merchant(false);
    new.merchant.name = "hush".to_owned();
    let Err(StoreError::Refused(why)) = store.insert_merchant(new).await else { panic!("the CHECK did not hold") };
    assert_eq!(why, "CheckViolation of merchant_nameless");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_left_for_the_next_connection() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let new = insertable(merchant.merchant.id);
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    database.on_server(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name()));
    database.cut_connections();
    let standby = StoreError::Unavailable("the server is a standby".to_owned());
    assert_eq!(store.insert_merchant(new_merchant(false)).await, Err(standby.clone()));
    assert_eq!(store.insert_session(new.clone()).await, Err(standby), "surely nothing was written");
    database.on_server(&format!("ALTER DATABASE {} RESET default_transaction_read_only", database.name()));
    // The connections that led there are gone, so that nothing has to be cut.
    assert_eq!(store.insert_session(new).await, Ok(Inserted::Done));
    assert_eq!(store.insert_merchant(new_merchant(false)).await, Ok(MerchantInserted::Done));
}

/// Who waits for a lock in the test's database.
const STUCK: &str =
    "SELECT pid::text AS value FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";

/// Inserts `all` at once, while the table of references is locked so that they come to wait together, and answers in their order.
async fn insert_together(
    database: &Database,
    store: &Store,
    all: Vec<NewSession>,
) -> Vec<Result<Inserted, StoreError>> {
    let raw = RawPostgres::open(&database.url());
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute("LOCK TABLE merchant_reference IN ACCESS EXCLUSIVE MODE").unwrap();
    let insert = |new| {
        let store = store.clone();
        tokio::spawn(async move { store.insert_session(new).await })
    };
    let (first, rest) = all.split_at(2);
    let mut inserting: Vec<_> = first.iter().cloned().map(insert).collect();
    tokio::task::yield_now().await;
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    inserting.extend(rest.iter().cloned().map(insert));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    let mut answers = vec![];
    for one in inserting {
        answers.push(one.await.unwrap());
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_wait_together_share_a_transaction() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let all: Vec<_> = (0..100).map(|_| insertable(id)).collect();
    let answers = insert_together(&database, &store, all.clone()).await;
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
async fn one_that_is_refused_leaves_those_beside_it_alone() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let stranger = insertable(new_merchant(false).merchant.id);
    let twin = insertable(id);
    let mut all: Vec<_> = (0..40).map(|_| insertable(id)).collect();
    all[20] = stranger;
    all[30] = twin.clone();
    all[31] = insertable(id);
    all[31].session.terms.merchant_reference = twin.session.terms.merchant_reference;
    let answers = insert_together(&database, &store, all).await;
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
}

/// The same Session with a key of that number.
fn with_key(mut new: NewSession, number: usize) -> NewSession {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    let key = AnswerKey { merchant_id: new.session.merchant_id, digest };
    let (at, until) = (new.session.created_at, new.session.expires_at);
    let answer = StoredAnswer { status: 201, etag: None, body: vec![] };
    new.remember = Some(Remember { key_use: KeyUse { key, fingerprint: [0; 32], at, until }, answer });
    new
}

#[tokio::test]
async fn a_key_that_comes_twice_at_once_does_not_part_those_beside_it() {
    let (database, store) = migrated();
    let merchant = new_merchant(false);
    let id = merchant.merchant.id;
    assert_eq!(store.insert_merchant(merchant).await, Ok(MerchantInserted::Done));
    let all = (0..32).map(|number| with_key(insertable(id), number.min(30))).collect();
    let mut answers = insert_together(&database, &store, all).await;
    answers[30..].sort_by_key(|answer| *answer == Ok(Inserted::KeyTaken));
    assert_eq!(answers.pop(), Some(Ok(Inserted::KeyTaken)));
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
        let references = [(); 3].map(|()| insertable(id).session.terms.merchant_reference);
        let insert = |number: usize| {
            // Each of 3 keys with each of 3 references.
            let mut new = with_key(insertable(id), 3 * round + number % 3);
            new.session.terms.merchant_reference = references[number / 3 % 3].clone();
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
async fn stuck_create(
    database: &Database,
    store: &Store,
) -> (RawPostgres, tokio::task::JoinHandle<Result<Inserted, StoreError>>) {
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
