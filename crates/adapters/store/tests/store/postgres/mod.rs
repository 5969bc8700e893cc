//! The store on PostgreSQL: all cases of crates/adapters/store-contract, and what PostgreSQL alone has: connections that break.

mod batches;
mod changes;
mod checkouts;
mod closing;
mod contracts;
mod deployment;
mod event_log;
mod every_plan;
mod meanwhile;
mod outbox;
mod payments;
mod plans;
mod pooler;
mod screening;
mod wake;

use std::time::{Duration, Instant};

use crate::common::RawPostgres;
use crate::common::postgres::Database;
use dropin_ports::{AccessStore, Inserted, MerchantInserted, SessionStore, StoreError, StoreHealth};
use dropin_store::{OpenError, ReplaceError, Role, Store, StoreConfig};
use dropin_store_contract::{Harness, Raw, fresh, insertable, new_merchant};

/// All cases pass for a role that may do only what `dropin grants` grants.
fn open() -> Harness {
    let database = Database::migrated();
    let store = Store::open(StoreConfig::new(database.restricted_url(), Role::Service)).unwrap();
    Harness::new(store, RawPostgres::open(&database.url()), database)
}

mod contract {
    dropin_store_contract::all_cases!(super::open);
}

fn migrated() -> (Database, Store) {
    let database = Database::migrated();
    let store = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
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
    assert_eq!(newly[0][0], "2026-11-21-100000_foundation", "as CHANGELOG.md names it");
}

#[tokio::test]
async fn a_database_that_was_never_migrated_is_not_ready() {
    let database = Database::create();
    let store = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let Err(StoreError::Refused(why)) = store.ready().await else { panic!("ready without a schema") };
    assert!(why.contains("dropin migrate"), "{why}");
}

/// A command may wait for a minute, and the server must not end its statement before; one of a service ends soon after its caller was answered.
#[tokio::test]
async fn a_statement_may_run_two_seconds_longer_than_its_caller_waits_and_a_lock_one_less() {
    let (database, _store) = migrated();
    let raw = RawPostgres::open(&database.url());
    for sql in [
        "CREATE FUNCTION told() RETURNS TEXT LANGUAGE plpgsql AS \
            $$ BEGIN RAISE EXCEPTION 'ends after %, for a lock %; JIT %', \
                current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('jit'); END $$",
        "ALTER TABLE __diesel_schema_migrations RENAME TO versions",
        "CREATE VIEW __diesel_schema_migrations AS SELECT told() AS version",
    ] {
        raw.execute(sql).unwrap();
    }
    for (role, expected) in [
        (Role::Service, "ends after 5s, for a lock 2s; JIT off"),
        (Role::Tool, "ends after 62s, for a lock 59s; JIT off"),
    ] {
        let store = Store::open(StoreConfig::new(database.url(), role)).unwrap();
        let Err(StoreError::Refused(why)) = store.ready().await else { panic!("ready: {role:?}") };
        assert!(why.starts_with(expected), "{why}");
    }
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

/// A password that was changed is used by the next connection, without a restart; what runs goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_uses_the_user_of_now() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    assert_eq!(store.ready().await, Ok(()));
    let (scheme, rest) = database.url().split_once("://").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let (user, place) = rest.rsplit_once('@').map_or(("", rest.as_str()), |(user, place)| (user, place));
    let role = format!("next_{}", fresh().simple());
    let address = store.address().unwrap();
    let next = format!("{scheme}://{role}:next@{place}");
    let refused = address.replace_if_it_connects(&next).unwrap_err();
    assert!(matches!(&refused, ReplaceError::Connect(why) if why.contains(&role)), "{refused}");
    assert_eq!(address.replace(&database.url()), Ok(false), "what works stays");
    raw.execute(&format!("CREATE ROLE {role} SUPERUSER LOGIN PASSWORD 'next'")).unwrap();
    assert_eq!(address.replace_if_it_connects(&next), Ok(true));
    assert_eq!(address.replace_if_it_connects(&next), Ok(false));
    assert_eq!(store.ready().await, Ok(()), "the connection of before still serves");
    raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").unwrap();
    let new = new_merchant(false);
    assert_eq!(store.insert_merchant(new.clone()).await, Ok(MerchantInserted::Done));
    let users = raw.values("SELECT DISTINCT usename::text AS value FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
    assert_eq!(users, std::slice::from_ref(&role));
    assert_eq!(address.replace(&format!("{scheme}://{user}@{place}")), Ok(true));
    store.close();
    raw.execute(&format!("REASSIGN OWNED BY {role} TO CURRENT_USER")).unwrap();
    raw.execute(&format!("DROP ROLE {role}")).unwrap();
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
    new.merchant = new.merchant.edited(|parts| parts.name = "hush".to_owned()).unwrap();
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
