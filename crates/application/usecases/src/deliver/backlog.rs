//! Metrics of the outbox: pending, parked and replaying notifications.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_ports::{Backlog, BacklogStore, Clock, Metric, MetricSample, MetricSource};
use tokio::sync::Mutex;

use super::Counters;

/// How long a reading of the queue is reused.
const READING_TTL: Duration = Duration::from_secs(15);

/// A reading is reused for this many times as long as it took: a long queue is read less often, so that reading takes at most a hundredth of a
/// connection's time.
const READING_COST_FACTOR: u32 = 100;

/// The queue as one notifier sees it.
pub struct QueueMetrics {
    store: Arc<dyn BacklogStore>,
    counters: Arc<Counters>,
    clock: Arc<dyn Clock>,
    /// The last reading of the queue, and until when it is reused.
    cached: Mutex<Option<(Backlog, Timestamp)>>,
}

impl QueueMetrics {
    /// `counters` are those of the notifier, which knows the endpoints whose breaker is open.
    pub fn new(store: Arc<dyn BacklogStore>, counters: Arc<Counters>, clock: Arc<dyn Clock>) -> Self {
        Self { store, counters, clock, cached: Mutex::default() }
    }

    fn measures(&self, backlog: &Backlog, now: Timestamp) -> Vec<Metric> {
        let sides = [("healthy", false), ("spared", true)];
        let spared: Vec<bool> =
            backlog.endpoints.iter().map(|one| self.counters.is_breaker_open(one.endpoint_id)).collect();
        let of = |side: bool| backlog.endpoints.iter().zip(&spared).filter(move |(_, one)| **one == side);
        let waiting = sides.map(|(endpoint, side)| MetricSample {
            labels: vec![("endpoint", endpoint.into())],
            value: of(side).map(|(one, _)| one.waiting).sum(),
        });
        let oldest = sides.map(|(endpoint, side)| MetricSample {
            labels: vec![("endpoint", endpoint.into())],
            value: of(side).map(|(one, _)| now.since(one.oldest_due).as_secs()).max().unwrap_or(0),
        });
        vec![
            Metric::gauges(
                "dropin_notification_pending",
                "Notifications that were not acknowledged yet, by whether their endpoint answers.",
                waiting.to_vec(),
            ),
            Metric::gauges(
                "dropin_notification_oldest_due_seconds",
                "For how long the notification that waits longest for its turn has been due; 0 when none is.",
                oldest.to_vec(),
            ),
            Metric::gauge(
                "dropin_notification_parked",
                "Notifications that were given up and wait for an operator to send them again.",
                backlog.parked,
            ),
            Metric::gauge(
                "dropin_notification_replays_waiting",
                "Notifications that an operator asked for again and that were not acknowledged yet.",
                backlog.replaying,
            ),
        ]
    }
}

#[async_trait]
impl MetricSource for QueueMetrics {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let mut cached = self.cached.lock().await;
        let begun = self.clock.now();
        if let Some((backlog, _)) = cached.as_ref().filter(|(_, until)| begun < *until) {
            return Ok(self.measures(backlog, begun));
        }
        *cached = None;
        let backlog = self.store.find_backlog().await.map_err(|error| error.to_string())?;
        let now = self.clock.now();
        let measures = self.measures(&backlog, now);
        *cached = Some((backlog, now.plus(READING_TTL.max(now.since(begun) * READING_COST_FACTOR))));
        Ok(measures)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use dropin_kernel::{EndpointId, MerchantId};
    use dropin_ports::{EndpointBacklog, EndpointStatus, StoreError};
    use uuid::Uuid;

    use super::*;

    fn endpoint(number: u128) -> EndpointId {
        EndpointId::new(Uuid::from_u128(number))
    }

    /// A queue that takes its time to tell, and counts how often it was asked.
    struct Queue {
        micros: AtomicI64,
        takes: i64,
        asked: AtomicU64,
    }

    impl Queue {
        fn pass(&self, micros: i64) {
            self.micros.fetch_add(micros, Ordering::SeqCst);
        }
    }

    impl Clock for Queue {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
        }
    }

    #[async_trait]
    impl BacklogStore for Queue {
        async fn find_backlog(&self) -> Result<Backlog, StoreError> {
            self.pass(self.takes);
            self.asked.fetch_add(1, Ordering::SeqCst);
            let one = |number, waiting, due: i64| EndpointBacklog {
                endpoint_id: endpoint(number),
                waiting,
                oldest_due: Timestamp::from_micros(due * 1_000_000),
            };
            // The last one is not due yet.
            Ok(Backlog { endpoints: vec![one(1, 5, 90), one(2, 70, 10), one(3, 1, 200)], parked: 3, replaying: 9 })
        }

        async fn endpoint_statuses(&self, _merchant: MerchantId) -> Result<Vec<EndpointStatus>, StoreError> {
            Ok(vec![])
        }
    }

    fn watch(takes: i64) -> (QueueMetrics, Arc<Queue>, Arc<Counters>) {
        let queue = Arc::new(Queue { micros: AtomicI64::new(100_000_000), takes, asked: AtomicU64::new(0) });
        let counters = Arc::<Counters>::default();
        (QueueMetrics::new(queue.clone(), counters.clone(), queue.clone()), queue, counters)
    }

    async fn values(watch: &QueueMetrics) -> Vec<Vec<u64>> {
        let measures = watch.collect_metrics().await.expect("measures");
        measures.iter().map(|measure| measure.samples().iter().map(|one| one.value).collect()).collect()
    }

    #[tokio::test]
    async fn what_waits_for_a_dead_endpoint_is_told_apart() {
        let (watch, queue, counters) = watch(0);
        assert_eq!(values(&watch).await, [vec![76, 0], vec![90, 0], vec![3], vec![9]]);
        counters.breaker_opened(endpoint(2));
        assert_eq!(values(&watch).await, [vec![6, 70], vec![10, 90], vec![3], vec![9]]);
        counters.breaker_opened(endpoint(1));
        assert_eq!(values(&watch).await[1], [0, 90]);
        assert_eq!(queue.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_long_queue_is_asked_less_often() {
        for (millis, rests) in [(0, 15_000), (149, 15_000), (2_000, 200_000)] {
            let (watch, queue, _) = watch(millis * 1_000);
            for times in 1..=3 {
                watch.collect_metrics().await.expect("measures");
                assert_eq!(queue.asked.load(Ordering::SeqCst), times);
                queue.pass(rests * 1_000 - 1);
                watch.collect_metrics().await.expect("measures");
                assert_eq!(queue.asked.load(Ordering::SeqCst), times, "{millis} ms");
                queue.pass(1);
            }
        }
    }
}
