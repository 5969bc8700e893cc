//! Results of tries beside somebody who tells more of the same payments. The test plays that somebody, with locks held as long as it takes.

use std::sync::Arc;

use dropin_kernel::Timestamp;
use dropin_ports::{
    AccessStore, AttemptResult, BacklogStore, Delivery, DeliveryResult, FinishedDeliveries, MerchantInserted,
    OutboxStore,
};
use dropin_store::Store;
use dropin_store_contract::cases::outbox::workers_and_writers_lose_nothing_and_turn_nothing_round;
use dropin_store_contract::{Harness, Raw, fresh, new_merchant, run};

use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

/// A queue in which one payment is told to two endpoints of a merchant.
struct Queue {
    database: Database,
    store: Store,
    raw: RawPostgres,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

impl Queue {
    async fn start() -> Self {
        let (database, store) = migrated();
        let raw = RawPostgres::open(&database.url());
        let new = new_merchant(true);
        assert_eq!(store.insert_merchant(new).await, Ok(MerchantInserted::Done));
        let queue = Self { database, store, raw };
        queue.run(&format!(
            "INSERT INTO endpoint (id, merchant_id, url, secret) \
             SELECT '{}', merchant_id, 'https://shop.example/second', secret FROM endpoint",
            fresh()
        ));
        queue.tell(&format!("'{}'", fresh()), 1);
        queue.run(
            "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
             SELECT endpoint.id, payment_id, FALSE, 1, 1, 0, happened_at FROM endpoint, outbox_event ORDER BY endpoint.id",
        );
        queue
    }

    fn run(&self, sql: &str) {
        self.raw.execute(sql).unwrap();
    }

    /// Appends an event.
    fn tell(&self, payment: &str, sequence: i64) {
        self.run(&format!(
            "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
             SELECT {payment}, {sequence}, '{}', id, 'EVENT', '\\x7b7d', to_timestamp(0) FROM merchant",
            fresh()
        ));
    }

    /// Makes event 2 the next one at the endpoint that comes first or last.
    fn queue_at(&self, which: &str) {
        self.run(&format!(
            "UPDATE outbox_stream SET last_sequence = 2 \
             WHERE endpoint_id = (SELECT endpoint_id FROM outbox_stream ORDER BY endpoint_id {which} LIMIT 1)"
        ));
    }

    /// Waits until somebody waits for a lock.
    fn until_somebody_waits(&self) {
        let watching = RawPostgres::open(&self.database.url());
        let waiting =
            "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')";
        wait_for(&watching, waiting);
    }

    /// Acknowledges all of `deliveries`, in a task of its own.
    fn acknowledge(&self, deliveries: &[Delivery]) -> tokio::task::JoinHandle<Vec<Delivery>> {
        let results = deliveries.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
        let store = self.store.clone();
        tokio::spawn(async move { store.finish_deliveries(results, at(101), at(116)).await.unwrap().next })
    }

    async fn claim(&self) -> Vec<Delivery> {
        self.store.claim_deliveries(&[], at(100), at(115), 10, 10).await.unwrap().deliveries
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_while_a_result_waits_is_sent_next() {
    let queue = Queue::start().await;
    let first = queue.claim().await;
    assert_eq!(first.len(), 2);
    queue.run("BEGIN");
    queue.tell("(SELECT payment_id FROM outbox_event)", 2);
    queue.queue_at("ASC");
    queue.queue_at("DESC");
    let finish = queue.acknowledge(&first);
    queue.until_somebody_waits();
    queue.run("COMMIT");
    let next = finish.await.unwrap();
    let told: Vec<_> = next.iter().map(|one| (one.key.sequence, one.key.attempt, one.first_try)).collect();
    assert_eq!(told, [(2, 1, at(101)); 2], "not idle, and no event is missing");
    assert_eq!(queue.acknowledge(&next).await.unwrap(), []);
    assert_eq!(queue.store.find_backlog().await.unwrap().endpoints, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_and_what_is_told_lock_in_one_order() {
    let queue = Queue::start().await;
    // The stream of the endpoint that comes first is the newer one, as after a notification that was set aside.
    queue.run(
        "UPDATE outbox_stream SET id = DEFAULT \
         WHERE endpoint_id = (SELECT endpoint_id FROM outbox_stream ORDER BY endpoint_id LIMIT 1)",
    );
    let first = queue.claim().await;
    assert_eq!(first.len(), 2);
    // Sooner than a deadlock is looked for.
    queue.run("SET lock_timeout = '500ms'");
    queue.run("BEGIN");
    queue.tell("(SELECT payment_id FROM outbox_event)", 2);
    queue.queue_at("ASC");
    let finish = queue.acknowledge(&first);
    queue.until_somebody_waits();
    queue.queue_at("DESC");
    queue.run("COMMIT");
    assert_eq!(finish.await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_lease_that_somebody_else_holds_is_left_to_them() {
    let queue = Queue::start().await;
    let first = queue.claim().await;
    let second = queue.store.claim_deliveries(&[], at(200), at(215), 10, 10).await.unwrap().deliveries;
    assert_eq!((first.len(), second.len()), (2, 2));
    assert_eq!(queue.acknowledge(&first).await.unwrap(), [], "late");
    let results = second.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Retry { at: at(230) })).collect();
    assert_eq!(queue.store.finish_deliveries(results, at(201), at(216)).await, Ok(FinishedDeliveries::default()));
    let waiting = queue.store.find_backlog().await.unwrap().endpoints;
    assert_eq!(waiting.iter().map(|one| one.oldest_due).collect::<Vec<_>>(), [at(230); 2]);
}

#[test]
fn workers_and_writers_never_wait_in_a_circle() {
    // A deadlock would be run again without a word, so the server is asked.
    let (database, store) = migrated();
    let url = database.url();
    let harness = || Harness::new(store, RawPostgres::open(&url), database);
    run(harness, async |harness: Arc<Harness>| {
        workers_and_writers_lose_nothing_and_turn_nothing_round(harness.clone()).await;
        let raw = RawPostgres::open(&url);
        // What a session counted is told when it has been idle for a moment.
        wait_for(&raw, "(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) > 100");
        let deadlocks = "SELECT deadlocks::text AS value FROM pg_stat_database WHERE datname = current_database()";
        assert_eq!(raw.values(deadlocks), ["0"]);
        drop(harness);
    });
}
