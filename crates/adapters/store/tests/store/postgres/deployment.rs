//! What a restricted role may do, and how far the clocks are apart.

use std::time::Duration;

use dropin_ports::{MetricSource, MetricValues, StoreError, StoreHealth};
use dropin_store::{Role, Store, StoreConfig, grants};
use dropin_store_contract::Raw;

use super::migrated;
use crate::common::RawPostgres;
use crate::common::deployment;
use crate::common::postgres::Database;

#[tokio::test(flavor = "multi_thread")]
async fn a_database_belongs_to_one_master_key_and_one_mode() {
    let (database, _store) = migrated();
    deployment::belongs_to_one(&database.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_is_remembered_when_it_was_chosen_and_fits() {
    let (database, _store) = migrated();
    deployment::remembers_what_was_chosen_and_fits(&database.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_proves_that_a_write_works() {
    let (database, _store) = migrated();
    let raw = RawPostgres::open(&database.url());
    deployment::proves_writes(&database.url(), &raw).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_grant_is_named() {
    let (database, _owner) = migrated();
    let raw = RawPostgres::open(&database.url());
    let mut config = StoreConfig::new(database.restricted_url(), Role::Service);
    config.write_check = Duration::ZERO;
    let store = Store::open(config).unwrap();
    assert_eq!(store.ready().await, Ok(()));
    assert_eq!(store.find_missing_grants().await, Ok(vec![]));
    raw.execute(&format!("REVOKE INSERT ON session FROM {}", database.role())).unwrap();
    assert_eq!(store.find_missing_grants().await, Ok(vec!["INSERT on session".to_owned()]));
    let told = store.check_all().await;
    let why = told.iter().find(|check| check.name == "grants").unwrap().result.clone().unwrap_err();
    assert!(why.contains("INSERT on session") && why.contains("dropin grants"), "{why}");
    raw.execute(&format!("REVOKE UPDATE ON deployment FROM {}", database.role())).unwrap();
    assert_eq!(
        store.ready().await,
        Err(StoreError::Refused("permission denied for table deployment".to_owned())),
        "a database that does not let us write"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn migrating_is_advised_before_granting() {
    let database = Database::create();
    let store = Store::open(StoreConfig::new(database.url(), Role::Tool)).unwrap();
    let told = store.check_all().await;
    let why = |name: &str| told.iter().find(|check| check.name == name).unwrap().result.clone().unwrap_err();
    assert!(why("schema").contains("dropin migrate"), "{told:?}");
    assert!(why("grants").starts_with("`dropin migrate` comes first"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_the_schema_has_no_grants() {
    let (database, _owner) = migrated();
    let raw = RawPostgres::open(&database.url());
    raw.execute(&format!("REVOKE USAGE ON SCHEMA public FROM {}", database.role())).unwrap();
    raw.execute("REVOKE USAGE ON SCHEMA public FROM public").unwrap();
    let store = Store::open(StoreConfig::new(database.restricted_url(), Role::Tool)).unwrap();
    let missing = store.find_missing_grants().await.unwrap();
    assert!(missing.contains(&"SELECT on session".to_owned()) && 36 < missing.len(), "{missing:?}");
}

#[test]
fn every_table_is_granted() {
    let (database, _store) = migrated();
    let raw = RawPostgres::open(&database.url());
    let sql = grants("r", "d");
    // Programs of before have been granted theirs.
    let all = "SELECT relname::text AS value FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') \
        AND relname NOT IN ('ledger_transaction', 'ledger_entry')";
    for table in raw.values(all) {
        assert!(
            sql.contains(&format!(" ON TABLE {table} TO")),
            "{table}: add it to crates/adapters/store/src/grants.rs"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_an_hour_behind_is_measured() {
    let (database, store) = migrated();
    let raw = RawPostgres::open(&database.url());
    let near = store.measure_clock().await.unwrap().unwrap();
    assert!(!near.is_too_much(), "{near}: one machine");
    // A server whose clock is an hour ahead.
    raw.execute("CREATE SCHEMA ahead").unwrap();
    raw.execute(
        "CREATE FUNCTION ahead.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql \
         AS $$ SELECT pg_catalog.clock_timestamp() + INTERVAL '1 hour' $$",
    )
    .unwrap();
    raw.execute(&format!("ALTER DATABASE {} SET search_path = ahead, pg_catalog, public", database.name())).unwrap();
    database.cut_connections();
    let far = store.measure_clock().await.unwrap().unwrap();
    assert!(far.is_too_much() && far.to_string().contains("behind"), "{far}");
    let measures = store.collect_metrics().await.unwrap();
    let MetricValues::Gauge(readings) = &measures[0].values else { panic!("{measures:?}") };
    let behind = readings.iter().find(|one| one.labels == [("direction", "behind".into())]).unwrap();
    assert!((3_599_000..=3_600_000).contains(&behind.value), "{measures:?}");
    let told = store.check_all().await;
    assert!(told.iter().find(|check| check.name == "clock").unwrap().result.is_err(), "{told:?}");
}
