//! Events as merchants read them, beside transactions that overlap, and on databases that were restored.

use std::time::{Duration, Instant};

use dropin_kernel::{EventId, MerchantId};
use dropin_ports::{AccessStore, EventLog, EventLogPosition, MerchantInserted};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Raw, fresh, new_merchant};

use crate::common::RawPostgres;
use crate::common::cluster::Cluster;
use crate::common::postgres::Database;

struct EventLogFixture {
    url: String,
    store: Store,
    raw: RawPostgres,
    merchant: MerchantId,
    _database: Option<Database>,
}

/// Appends an event on a connection of its own.
fn append(raw: &RawPostgres, payment: &str, sequence: i64) -> EventId {
    let id = fresh();
    let insert = format!(
        "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
         SELECT '{payment}', {sequence}, '{id}', id, 'EVENT', '\\x7b7d', to_timestamp(0) FROM merchant"
    );
    assert_eq!(raw.execute(&insert), Ok(1));
    EventId::new(id)
}

impl EventLogFixture {
    async fn start() -> Self {
        let database = Database::create();
        let log = Self::at(database.url()).await;
        Self { _database: Some(database), ..log }
    }

    /// In an empty database.
    async fn at(url: String) -> Self {
        let store = Store::open(StoreConfig::new(&url, Role::Service)).unwrap();
        store.migrate().unwrap();
        let (raw, new) = (RawPostgres::open(&url), new_merchant(false));
        let merchant = new.merchant.id;
        assert_eq!(store.insert_merchant(new).await, Ok(MerchantInserted::Done));
        Self { url, store, raw, merchant, _database: None }
    }

    fn connection(&self) -> RawPostgres {
        RawPostgres::open(&self.url)
    }

    fn append(&self) -> EventId {
        append(&self.raw, &fresh().to_string(), 1)
    }

    /// What can be read after `after` right now.
    async fn now(&self, after: EventLogPosition) -> Vec<EventId> {
        let events = self.store.read_event_log(self.merchant, after, 100).await.unwrap().events;
        events.into_iter().map(|event| event.event_id).collect()
    }

    /// Waits until exactly `expected` stands after `after`; where to go on. Transactions of other tests on the same server hold readers up, too.
    async fn reads(&self, after: EventLogPosition, expected: &[EventId]) -> EventLogPosition {
        let give_up = Instant::now() + Duration::from_secs(10);
        loop {
            let events = self.store.read_event_log(self.merchant, after, 100).await.unwrap().events;
            let read: Vec<_> = events.iter().map(|event| event.event_id).collect();
            if read == expected {
                return events.last().map_or(after, |last| last.position);
            }
            assert!(expected.starts_with(&read) && Instant::now() < give_up, "{read:?} instead of {expected:?}");
            tokio::task::yield_now().await;
        }
    }

    fn number(&self, query: &str) -> i64 {
        self.raw.values(&format!("SELECT ({query})::text AS value"))[0].parse().unwrap()
    }

    /// As another copy of the database, whose ticks would go on from `ahead`.
    fn restore_with(&mut self, ahead: i64) {
        assert_eq!(self.raw.execute("UPDATE event_clock SET place = 'another cluster'"), Ok(1));
        self.number(&format!("setval('event_clock_ahead', {ahead})"));
        self.restart();
    }

    /// The same database as a program finds it that starts now.
    fn restart(&mut self) {
        self.store.close();
        self.store = Store::open(StoreConfig::new(&self.url, Role::Service)).unwrap();
    }

    /// The same database, on the server that is started now.
    fn restart_with(&mut self, cluster: &mut Cluster) {
        cluster.go_on();
        self.url = cluster.url();
        self.restart();
        self.raw = self.connection();
    }
}

#[tokio::test]
async fn whoever_reads_waits_for_every_transaction_that_began_before() {
    let log = EventLogFixture::start().await;
    let [first, second, third] = [0; 3].map(|_| log.connection());
    let some = || fresh().to_string();
    for writer in [&first, &second, &third] {
        writer.execute("BEGIN").unwrap();
    }
    let a = append(&first, &some(), 1);
    let b = append(&second, &some(), 1);
    // The last to begin is over first.
    let c = append(&third, &some(), 1);
    third.execute("COMMIT").unwrap();
    let d = log.append();
    assert_eq!(log.now(EventLogPosition::START).await, [], "two that came before are still there");
    second.execute("COMMIT").unwrap();
    assert_eq!(log.now(EventLogPosition::START).await, []);
    // Has the tick of now, behind what is over.
    let e = append(&first, &some(), 1);
    first.execute("COMMIT").unwrap();
    let after = log.reads(EventLogPosition::START, &[a, b, c, d, e]).await;
    // Whoever gives up holds nobody up.
    first.execute("BEGIN").unwrap();
    append(&first, &some(), 1);
    let f = log.append();
    assert_eq!(log.now(after).await, []);
    first.execute("ROLLBACK").unwrap();
    log.reads(after, &[f]).await;
}

#[tokio::test]
async fn events_of_a_payment_keep_their_order_whoever_began_first() {
    let log = EventLogFixture::start().await;
    let (payment, early) = (fresh().to_string(), log.connection());
    // Has its transaction id, and is overtaken before it writes.
    early.execute("BEGIN").unwrap();
    assert_eq!(early.values("SELECT (0 < txid_current())::text AS value"), ["true"]);
    let one = append(&log.raw, &payment, 1);
    let two = append(&early, &payment, 2);
    early.execute("COMMIT").unwrap();
    log.reads(EventLogPosition::START, &[one, two]).await;
}

#[tokio::test]
async fn a_restored_database_goes_on_behind_what_was_read() {
    let mut log = EventLogFixture::start().await;
    let set = log.number("SELECT last_value + txid_snapshot_xmin(txid_current_snapshot()) FROM event_clock_ahead");
    let now = log.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    assert!((0..600_000_000).contains(&(now - set)), "set to the time when it was made: {set}, {now}");
    let old = log.append();
    let after = log.reads(EventLogPosition::START, &[old]).await;
    // Another cluster, whose transactions count from far below.
    let ahead = log.number("SELECT last_value FROM event_clock_ahead");
    log.restore_with(ahead - 1_000_000);
    assert_eq!(log.now(after).await, []);
    let new = log.append();
    let after_both = log.reads(after, &[new]).await;
    log.reads(EventLogPosition::START, &[old, new]).await;
    // It is set once for a copy.
    let ahead = log.number("SELECT last_value FROM event_clock_ahead");
    log.restart();
    assert_eq!(log.now(after_both).await, []);
    assert_eq!(log.number("SELECT last_value FROM event_clock_ahead"), ahead);
}

/// The folder has the cluster's identifier and its timeline: nothing in it says that it is older than what was read.
#[tokio::test]
async fn a_folder_that_is_put_back_goes_on_behind_what_was_read() {
    let server =
        std::env::var("DROPIN_TEST_POSTGRES").expect("run `cargo xtask pg start` and paste the line it prints");
    let mut cluster = Cluster::start(&server);
    let mut log = EventLogFixture::at(cluster.url()).await;
    let kept = log.append();
    log.reads(EventLogPosition::START, &[kept]).await;
    cluster.stop();
    cluster.back_up();
    log.restart_with(&mut cluster);
    let after_kept = log.reads(EventLogPosition::START, &[kept]).await;
    let lost: Vec<_> = (0..30).map(|_| log.append()).collect();
    let after = log.reads(after_kept, &lost).await;
    cluster.stop();
    cluster.put_back();
    log.restart_with(&mut cluster);
    assert_eq!(log.now(after).await, []);
    let new = log.append();
    log.reads(after, &[new]).await;
    log.reads(EventLogPosition::START, &[kept, new]).await;
}

#[tokio::test]
async fn a_clock_that_is_behind_does_not_turn_the_event_log_back() {
    let mut log = EventLogFixture::start().await;
    let old = log.append();
    // As if it had been written in the year 2100.
    log.number("setval('event_clock_ahead', 4102444800000000)");
    let ahead = log.append();
    log.restore_with(1);
    let after = log.reads(EventLogPosition::START, &[old, ahead]).await;
    let new = log.append();
    log.reads(after, &[new]).await;
}

/// What there is of a merchant is found in the index, and no more of it is looked at than is asked for.
#[tokio::test]
async fn a_page_is_not_searched_for() {
    let log = EventLogFixture::start().await;
    log.raw
        .execute(
            "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
             SELECT gen_random_uuid(), 1, gen_random_uuid(), merchant.id, 'EVENT', '\\x7b7d', to_timestamp(0) \
             FROM merchant, generate_series(1, 5000)",
        )
        .unwrap();
    let mut after = EventLogPosition::START;
    let give_up = Instant::now() + Duration::from_secs(10);
    let mut pages = 0;
    // Often enough for a plan that is made once and kept.
    while pages < 8 {
        let page = log.store.read_event_log(log.merchant, after, 100).await.unwrap();
        if let Some(last) = page.events.last() {
            assert_eq!((page.events.len(), page.more), (100, true));
            (after, pages) = (last.position, pages + 1);
        }
        assert!(Instant::now() < give_up, "{pages} pages came");
    }
    // The server counts what a connection did when that ends.
    log.store.close();
    let read = || {
        log.number(
            "SELECT idx_tup_read + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'outbox_event') \
             FROM pg_stat_user_indexes WHERE indexrelname = 'outbox_event_feed'",
        )
    };
    while read() < 800 {
        assert!(Instant::now() < give_up, "the server never told what was read");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(read() < 1_000, "{}", read());
}
