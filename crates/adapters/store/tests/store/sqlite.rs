//! The store on SQLite: all cases of crates/adapters/store-contract, and what SQLite alone has.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::common::{RawSqlite, deployment, path, screening, sqlite_url, wakes};
use dropin_kernel::MerchantId;
use dropin_ports::{
    AccessStore, EventLog, EventLogPosition, MerchantInserted, MetricSource, PaymentStore, Settled, StoreError,
    StoreHealth,
};
use dropin_store::{OpenError, Role, Store, StoreConfig};
use dropin_store_contract::{Harness, Raw, approval, fresh, new_merchant};

/// In a copy of the first database that was brought up to date.
fn open() -> Harness {
    static FIRST: OnceLock<Vec<u8>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let (_folder, url) = sqlite_url();
        service(&url).close();
        std::fs::read(path(&url)).unwrap()
    });
    let (folder, url) = sqlite_url();
    std::fs::write(path(&url), first).unwrap();
    let store = Store::open(StoreConfig::new(&url, Role::Service)).unwrap();
    Harness::new(store, RawSqlite::open(path(&url)), folder)
}

mod contract {
    dropin_store_contract::all_cases!(super::open);
}

fn service(url: &str) -> Store {
    Store::open(StoreConfig::new(url, Role::Service)).unwrap()
}

fn tool(url: &str) -> Store {
    Store::open(StoreConfig::new(url, Role::Tool)).unwrap()
}

#[test]
fn a_database_serves_one_service_and_any_tools() {
    let (_folder, url) = sqlite_url();
    let running = service(&url);
    let error = Store::open(StoreConfig::new(&url, Role::Service)).unwrap_err();
    assert!(matches!(&error, OpenError::InUse(_)), "{error}");
    assert!(error.to_string().contains("stop it first, or use PostgreSQL"), "{error}");
    let beside = tool(&url);
    drop(beside);
    running.close();
    // The lock ends with the last write, however the store is left.
    let next = service(&url);
    drop(next);
    service(&url).close();
}

#[tokio::test]
async fn a_tool_writes_beside_a_service() {
    let (_folder, url) = sqlite_url();
    let running = service(&url);
    let beside = tool(&url);
    let (mut by_tool, mut by_service) = (vec![], vec![]);
    for _ in 0..20 {
        let (one, two) = (new_merchant(true), new_merchant(true));
        let (written_one, written_two) =
            tokio::join!(beside.insert_merchant(one.clone()), running.insert_merchant(two.clone()));
        assert_eq!((written_one, written_two), (Ok(MerchantInserted::Done), Ok(MerchantInserted::Done)));
        by_tool.push(one.merchant);
        by_service.push(two.merchant);
    }
    for (one, two) in by_tool.into_iter().zip(by_service) {
        assert_eq!(running.find_merchant(one.id).await, Ok(Some(one)));
        assert_eq!(beside.find_merchant(two.id).await, Ok(Some(two)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_that_two_programs_count_at_once_each_hear_of_those_before() {
    let (_folder, url) = sqlite_url();
    let running = service(&url);
    screening::is_counted_by_two_programs(&running, &tool(&url)).await;
}

#[tokio::test]
async fn a_tool_alone_brings_the_schema_up_to_date() {
    let (_folder, url) = sqlite_url();
    let alone = tool(&url);
    assert_eq!(alone.ready().await, Ok(()));
    // It does not keep the lock.
    assert_eq!(service(&url).ready().await, Ok(()));
}

#[test]
fn a_tool_does_not_touch_an_older_service() {
    let (_folder, url) = sqlite_url();
    let _running = service(&url);
    RawSqlite::open(path(&url)).execute("DELETE FROM __diesel_schema_migrations").unwrap();
    let error = Store::open(StoreConfig::new(&url, Role::Tool)).unwrap_err().to_string();
    assert!(error.contains("restart the running service"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, url) = sqlite_url();
    let _running = service(&url);
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
        seen += 1;
    }
    assert!(2 <= seen, "the database and its lock");
}

#[test]
fn a_missing_folder_is_told() {
    let error =
        Store::open(StoreConfig::new("sqlite:///nowhere/at/all/store.db", Role::Service)).unwrap_err().to_string();
    assert!(error.contains("does its folder exist") && error.contains("/nowhere/at/all"), "{error}");
}

#[tokio::test]
async fn closing_finishes_what_waits() {
    let (_folder, url) = sqlite_url();
    let store = service(&url);
    let mut racers = vec![];
    for _ in 0..200 {
        let (store, new) = (store.clone(), new_merchant(false));
        racers.push(tokio::spawn(async move { (new.merchant.id, store.insert_merchant(new).await) }));
    }
    tokio::task::yield_now().await;
    let closing = store.clone();
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    let again = service(&url);
    let (mut done, mut refused) = (0, 0);
    for racer in racers {
        let (id, written) = racer.await.unwrap();
        let found = again.find_merchant(id).await.unwrap();
        match written {
            Ok(MerchantInserted::Done) => {
                done += 1;
                assert!(found.is_some(), "answered, so it is durable");
            }
            Err(StoreError::Unavailable(_)) => {
                refused += 1;
                assert!(found.is_none(), "refused, so it never ran");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(done + refused, 200);
    let late = store.find_merchant(MerchantId::new(fresh())).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
}

/// An event of the one merchant that there is.
fn tell(raw: &RawSqlite) -> String {
    let id = fresh().to_string();
    raw.execute(&format!(
        "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
         SELECT '{id}', 1, '{id}', id, 'EVENT', x'7b7d', 0 FROM merchant"
    ))
    .unwrap();
    id
}

#[tokio::test]
async fn an_older_copy_in_its_place_goes_on_behind_what_was_read() {
    let (folder, url) = sqlite_url();
    let (store, new) = (service(&url), new_merchant(false));
    let merchant = new.merchant.id;
    store.insert_merchant(new).await.unwrap();
    let begun = tell(&RawSqlite::open(path(&url)));
    store.close();
    let copy = folder.path().join("copy.db");
    RawSqlite::open(path(&url)).execute(&format!("VACUUM INTO '{}'", copy.display())).unwrap();
    let store = service(&url);
    for _ in 0..3 {
        tell(&RawSqlite::open(path(&url)));
    }
    let read = store.read_event_log(merchant, EventLogPosition::START, 10).await.unwrap().events;
    assert_eq!(read.len(), 4);
    store.close();
    for side in ["-wal", "-shm"] {
        let _not_there = std::fs::remove_file(format!("{}{side}", path(&url)));
    }
    std::fs::copy(&copy, path(&url)).unwrap();
    // The time by which the numbers go on is told in seconds.
    let second = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let before = second();
    while second() == before {
        std::thread::sleep(Duration::from_millis(5));
    }
    let store = service(&url);
    let new = tell(&RawSqlite::open(path(&url)));
    let after = store.read_event_log(merchant, read[3].position, 10).await.unwrap().events;
    assert_eq!(after.iter().map(|event| event.event_id.to_string()).collect::<Vec<_>>(), std::slice::from_ref(&new));
    let all = store.read_event_log(merchant, EventLogPosition::START, 10).await.unwrap().events;
    assert_eq!(all.iter().map(|event| event.event_id.to_string()).collect::<Vec<_>>(), [begun, new]);
}

/// Holds the one write lock that SQLite has, as a backup or a curious hand may.
struct Held(RawSqlite);

impl Held {
    fn by(url: &str) -> Self {
        let raw = RawSqlite::open(path(url));
        raw.execute("BEGIN IMMEDIATE").unwrap();
        Self(raw)
    }

    fn release(self) {
        self.0.execute("ROLLBACK").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_wait_no_longer_than_their_deadline() {
    let (_folder, url) = sqlite_url();
    let store = service(&url);
    let held = Held::by(&url);
    let new = new_merchant(false);
    let begun = Instant::now();
    let written = store.insert_merchant(new.clone()).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
    assert!(begun.elapsed() < Duration::from_millis(3_300), "{:?}", begun.elapsed());
    // Readers do not notice.
    assert_eq!(store.find_merchant(new.merchant.id).await, Ok(None));
    held.release();
    // By itself, and what was refused never happens later.
    while store.insert_merchant(new_merchant(false)).await.is_err() {}
    assert_eq!(store.find_merchant(new.merchant.id).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_told_at_once() {
    let (_folder, url) = sqlite_url();
    let store = service(&url);
    let held = Held::by(&url);
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..1_400 {
        let (store, new) = (store.clone(), new_merchant(false));
        racers.spawn(async move {
            let begun = Instant::now();
            (store.insert_merchant(new).await, begun.elapsed())
        });
    }
    let mut at_once = 0;
    while let Some(Ok((written, took))) = racers.join_next().await {
        let Err(StoreError::Unavailable(why)) = written else { panic!("{written:?}") };
        if why.contains("too many steps are waiting") {
            at_once += 1;
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
    }
    // 1,024 wait, and the writer may have taken a batch or two of 32.
    assert!((250..=376).contains(&at_once), "{at_once}");
    held.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_step_never_runs() {
    let (_folder, url) = sqlite_url();
    let mut config = StoreConfig::new(&url, Role::Service);
    config.deadline = Duration::from_millis(50);
    let store = Store::open(config).unwrap();
    let held = Held::by(&url);
    let new = new_merchant(false);
    let written = store.insert_merchant(new.clone()).await;
    assert_eq!(written, Err(StoreError::Unavailable("no turn came within the deadline".to_owned())));
    held.release();
    while store.insert_merchant(new_merchant(false)).await.is_err() {}
    assert_eq!(store.find_merchant(new.merchant.id).await, Ok(None));
}

#[tokio::test]
async fn only_what_is_committed_wakes_a_notifier() {
    let (folder, url) = sqlite_url();
    let (store, notify) = (service(&url), Arc::default());
    let wake_ups = store.wake(&notify).unwrap();
    let woken = async || wake_ups.collect_metrics().await.unwrap()[1].samples()[0].value;
    let harness = Harness::new(store.clone(), RawSqlite::open(path(&url)), folder);
    let (merchant, _) = harness.merchant().await;
    let (changed, kept) = (harness.submitted(merchant.id).await, harness.submitted(merchant.id).await);
    let change = format!("UPDATE purchase_order SET revision = revision + 1 WHERE id = '{}'", changed.order.id);
    harness.raw.execute(&change).unwrap();
    let twice = {
        let mut settlement = approval(&kept);
        settlement.events[0].id = settlement.events[1].id;
        settlement
    };
    assert_eq!(store.settle(approval(&changed)).await, Ok(Settled::Stale));
    assert!(matches!(store.settle(twice).await, Err(StoreError::Refused(_))));
    assert_eq!(store.settle(approval(&kept)).await, Ok(Settled::Done));
    tokio::time::timeout(Duration::from_secs(20), notify.notified()).await.expect("never woken");
    store.close();
    assert_eq!((woken().await, wake_ups.is_listening()), (1, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_that_tells_something_wakes_the_notifier() {
    let (folder, url) = sqlite_url();
    let (store, notify) = (service(&url), Arc::default());
    let wake_ups = store.wake(&notify).unwrap();
    let harness = Harness::new(store.clone(), RawSqlite::open(path(&url)), folder);
    wakes::once_for_each_change(store, harness, &wake_ups).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_belongs_to_one_master_key_and_one_mode() {
    let (_folder, url) = sqlite_url();
    Store::open(StoreConfig::new(&url, Role::Tool)).unwrap().close();
    deployment::belongs_to_one(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_is_remembered_when_it_was_chosen_and_fits() {
    let (_folder, url) = sqlite_url();
    Store::open(StoreConfig::new(&url, Role::Tool)).unwrap().close();
    deployment::remembers_what_was_chosen_and_fits(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_proves_that_a_write_works() {
    let (_folder, url) = sqlite_url();
    Store::open(StoreConfig::new(&url, Role::Tool)).unwrap().close();
    let raw = RawSqlite::open(path(&url));
    deployment::proves_writes(&url, &raw).await;
    // What SQLite says of a full disk.
    raw.execute("INSERT INTO deployment (id) VALUES (1)").unwrap();
    raw.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON deployment BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
    )
    .unwrap();
    let store = Store::open(StoreConfig::new(&url, Role::Service)).unwrap();
    let Err(StoreError::Unavailable(why)) = store.ready().await else { panic!("ready with a full disk") };
    assert_eq!(why, "database or disk is full");
}
