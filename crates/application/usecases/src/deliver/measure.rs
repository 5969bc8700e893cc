//! Counters of a notifier since its start, for its metrics.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::EndpointId;
use dropin_notification::{AttemptOutcome, FailureClass};
use dropin_ports::{DurationCounts, Metric, MetricSample, MetricSource};

/// The outcome of an attempt, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutcomeClass {
    Acknowledged,
    OtherSuccess,
    Redirect,
    Gone,
    TooMany,
    OtherClientError,
    ServerError,
    OtherStatus,
    Timeout,
    Refused,
    Connection,
    Tls,
    Name,
    Target,
    Answer,
    Internal,
}

impl OutcomeClass {
    /// All, in the order of their numbers, with their names in the metrics.
    const ALL: [(Self, &'static str); 16] = [
        (Self::Acknowledged, "acknowledged"),
        (Self::OtherSuccess, "2xx"),
        (Self::Redirect, "3xx"),
        (Self::Gone, "410"),
        (Self::TooMany, "429"),
        (Self::OtherClientError, "4xx"),
        (Self::ServerError, "5xx"),
        (Self::OtherStatus, "other_status"),
        (Self::Timeout, "timeout"),
        (Self::Refused, "refused"),
        (Self::Connection, "connection"),
        (Self::Tls, "tls"),
        (Self::Name, "name"),
        (Self::Target, "target"),
        (Self::Answer, "answer"),
        (Self::Internal, "internal"),
    ];

    fn of(outcome: &AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Answered { status: 200, .. } => Self::Acknowledged,
            AttemptOutcome::Answered { status: 410, .. } => Self::Gone,
            AttemptOutcome::Answered { status: 429, .. } => Self::TooMany,
            AttemptOutcome::Answered { status, .. } => match status / 100 {
                2 => Self::OtherSuccess,
                3 => Self::Redirect,
                4 => Self::OtherClientError,
                5 => Self::ServerError,
                _ => Self::OtherStatus,
            },
            AttemptOutcome::Failed { why } => match why.class() {
                FailureClass::Timeout => Self::Timeout,
                FailureClass::Refused => Self::Refused,
                FailureClass::Connection => Self::Connection,
                FailureClass::Tls => Self::Tls,
                FailureClass::Name => Self::Name,
                FailureClass::Target => Self::Target,
                FailureClass::Answer => Self::Answer,
                FailureClass::Internal => Self::Internal,
            },
        }
    }
}

/// Longest times of the buckets: what a healthy notifier needs, and then what the retries make of it.
const BOUNDS: [Duration; 14] = [
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(15),
    Duration::from_millis(40),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(12 * 60 * 60),
    Duration::from_secs(72 * 60 * 60),
];

/// How long notifications took until they were acknowledged.
#[derive(Debug)]
struct AcknowledgedTimes(DurationCounts);

impl Default for AcknowledgedTimes {
    fn default() -> Self {
        Self(DurationCounts::new(&BOUNDS))
    }
}

/// The state of a circuit breaker that is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBreaker {
    /// Nothing is sent but a probe now and then.
    Open,
    /// A probe is in flight.
    HalfOpen,
}

/// What one notifier counts. Cheap: nothing here waits but [`Counters::breaker_opened`] and its like, which are rare.
#[derive(Debug, Default)]
pub struct Counters {
    attempts: [AtomicU64; OutcomeClass::ALL.len()],
    acknowledged: AcknowledgedTimes,
    parked: AtomicU64,
    fenced: AtomicU64,
    leases_expired: AtomicU64,
    breakers_opened: AtomicU64,
    breakers: Mutex<HashMap<EndpointId, OpenBreaker>>,
}

impl Counters {
    /// An attempt ended with this outcome.
    pub fn attempt(&self, outcome: &AttemptOutcome) {
        add(&self.attempts[OutcomeClass::of(outcome) as usize], 1);
    }

    /// A notification was acknowledged, so long after what it tells happened.
    pub fn acknowledged(&self, since_event: Duration) {
        self.acknowledged.0.count(since_event);
    }

    /// A notification was given up.
    pub fn parked(&self) {
        add(&self.parked, 1);
    }

    /// So many results changed nothing: somebody else had the notification by then, or they were written already when the answer was lost.
    pub fn fenced(&self, results: u32) {
        add(&self.fenced, u64::from(results));
    }

    /// A notification was claimed whose earlier holder died or was too slow.
    pub fn lease_expired(&self) {
        add(&self.leases_expired, 1);
    }

    /// Nothing is sent to `endpoint` from now on but a probe now and then. Counted once until [`Counters::breaker_closed`].
    pub fn breaker_opened(&self, endpoint: EndpointId) {
        if self.breakers().insert(endpoint, OpenBreaker::Open).is_none() {
            add(&self.breakers_opened, 1);
        }
    }

    /// A probe of `endpoint` is in flight; it ends with [`Counters::breaker_opened`] or [`Counters::breaker_closed`].
    pub fn breaker_half_open(&self, endpoint: EndpointId) {
        self.breakers().insert(endpoint, OpenBreaker::HalfOpen);
    }

    /// `endpoint` is back, or there is nothing for it any more.
    pub fn breaker_closed(&self, endpoint: EndpointId) {
        self.breakers().remove(&endpoint);
    }

    /// Whether the breaker of `endpoint` is not closed.
    pub(super) fn is_breaker_open(&self, endpoint: EndpointId) -> bool {
        self.breakers().contains_key(&endpoint)
    }

    fn breakers(&self) -> MutexGuard<'_, HashMap<EndpointId, OpenBreaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measures(&self) -> Vec<Metric> {
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let attempts = OutcomeClass::ALL.iter().zip(&self.attempts).map(|((_, outcome), counter)| MetricSample {
            labels: vec![("outcome", (*outcome).into())],
            value: total(counter),
        });
        let states: Vec<OpenBreaker> = self.breakers().values().copied().collect();
        let breakers =
            [(OpenBreaker::Open, "open"), (OpenBreaker::HalfOpen, "half_open")].map(|(breaker, state)| MetricSample {
                labels: vec![("state", state.into())],
                value: states.iter().filter(|one| **one == breaker).count() as u64,
            });
        vec![
            Metric::counters(
                "dropin_notification_attempts_total",
                "Tries to send a notification, by what came of them.",
                attempts.collect(),
            ),
            Metric::histograms(
                "dropin_notification_acknowledged_seconds",
                "Time from what a notification tells to the merchant's 200 for it.",
                vec![self.acknowledged.0.histogram(Vec::new())],
            ),
            Metric::counter(
                "dropin_notification_parked_total",
                "Notifications given up; an operator has to replay them.",
                total(&self.parked),
            ),
            Metric::counter(
                "dropin_notification_fenced_total",
                "Results that changed nothing: another notifier had taken over, or they were already written when the database's answer was lost.",
                total(&self.fenced),
            ),
            Metric::counter(
                "dropin_notification_leases_expired_total",
                "Notifications taken over from a notifier that died or was too slow.",
                total(&self.leases_expired),
            ),
            Metric::gauges(
                "dropin_notification_breakers",
                "Endpoints to which nothing is sent but a look now and then, because they answer nothing or errors only.",
                breakers.to_vec(),
            ),
            Metric::counter(
                "dropin_notification_breakers_opened_total",
                "How often an endpoint had to be spared.",
                total(&self.breakers_opened),
            ),
        ]
    }
}

#[async_trait]
impl MetricSource for Counters {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        Ok(self.measures())
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use dropin_notification::DeliveryFailure;
    use dropin_ports::MetricValues;
    use uuid::Uuid;

    use super::*;

    fn readings(counters: &Counters, name: &str) -> Vec<u64> {
        let all = counters.measures();
        let found = all.iter().find(|measure| measure.name == name).expect("such a measure");
        found.samples().iter().map(|reading| reading.value).collect()
    }

    #[test]
    fn every_outcome_is_counted_in_one_class() {
        assert!(OutcomeClass::ALL.iter().enumerate().all(|(number, (class, _))| *class as usize == number));
        let count = |outcome: AttemptOutcome, name: &str| {
            let counters = Counters::default();
            counters.attempt(&outcome);
            let number = OutcomeClass::ALL.iter().position(|(_, one)| *one == name).expect("such a class");
            let counted = readings(&counters, "dropin_notification_attempts_total");
            assert_eq!((counted[number], counted.iter().sum::<u64>()), (1, 1), "{outcome:?}");
        };
        for (status, name) in [
            (200, "acknowledged"),
            (204, "2xx"),
            (301, "3xx"),
            (410, "410"),
            (429, "429"),
            (404, "4xx"),
            (503, "5xx"),
            (101, "other_status"),
        ] {
            count(AttemptOutcome::Answered { status, retry_after: None }, name);
        }
        for (why, name) in [
            (DeliveryFailure::Late, "timeout"),
            (DeliveryFailure::Refused, "refused"),
            (DeliveryFailure::Closed, "connection"),
            (DeliveryFailure::HandshakeLate, "tls"),
            (DeliveryFailure::Unresolved, "name"),
            (DeliveryFailure::Uncertifiable, "target"),
            (DeliveryFailure::NotHttp, "answer"),
            (DeliveryFailure::Own("the endpoint's secret cannot be opened"), "internal"),
        ] {
            count(AttemptOutcome::Failed { why }, name);
        }
    }

    #[test]
    fn times_stand_in_every_bucket_that_is_long_enough() {
        let counters = Counters::default();
        for millis in [8, 9, 400_000_000] {
            counters.acknowledged(Duration::from_millis(millis));
        }
        let all = counters.measures();
        let Some(MetricValues::Histogram(times)) =
            all.into_iter().map(|one| one.values).find(|one| matches!(one, MetricValues::Histogram(_)))
        else {
            panic!("no times")
        };
        let [times] = &times[..] else { panic!("{times:?}") };
        let so_many: Vec<u64> = times.at_most.iter().map(|(_, so_many)| *so_many).collect();
        assert_eq!(so_many, [0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!((times.count, times.sum), (3, Duration::from_millis(400_000_017)));
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn an_endpoint_that_is_probed_in_vain_is_counted_once() {
        let counters = Counters::default();
        let endpoint = EndpointId::new(Uuid::from_u128(1));
        counters.breaker_opened(endpoint);
        counters.breaker_half_open(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [0, 1]);
        counters.breaker_opened(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [1, 0]);
        assert_eq!(readings(&counters, "dropin_notification_breakers_opened_total"), [1]);
        assert!(counters.is_breaker_open(endpoint));
        counters.breaker_closed(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [0, 0]);
        assert!(!counters.is_breaker_open(endpoint));
    }
}
