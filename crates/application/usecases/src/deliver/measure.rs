//! What a notifier has done since it was started, in numbers for whoever watches.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::EndpointId;
use dropin_notification::{AttemptOutcome, FailureClass};
use dropin_ports::{Measure, Measured, Reading, Spread};

/// What came of a try, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
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

impl Class {
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

/// Times, each in the first bucket that is long enough; the last one is for the longest.
#[derive(Debug, Default)]
struct Times {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Times {
    fn count(&self, time: Duration) {
        let bucket = BOUNDS.iter().position(|bound| time <= *bound).unwrap_or(BOUNDS.len());
        add(&self.buckets[bucket], 1);
        add(&self.micros, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn spread(&self) -> Spread {
        let mut count = 0;
        let mut so_far = |bucket: &AtomicU64| {
            count += bucket.load(Ordering::Relaxed);
            count
        };
        let at_most = BOUNDS.iter().zip(&self.buckets).map(|(bound, bucket)| (*bound, so_far(bucket))).collect();
        let count = so_far(&self.buckets[BOUNDS.len()]);
        Spread { at_most, count, sum: Duration::from_micros(self.micros.load(Ordering::Relaxed)) }
    }
}

/// How a guard in front of an endpoint stands that does not let everything pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// Nothing is sent but a look now and then.
    Open,
    /// A look is under way.
    HalfOpen,
}

/// What one notifier counts. Cheap: nothing here waits but [`Counters::breaker_opened`] and its like, which are rare.
#[derive(Debug, Default)]
pub struct Counters {
    attempts: [AtomicU64; Class::ALL.len()],
    acknowledged: Times,
    parked: AtomicU64,
    fenced: AtomicU64,
    leases_expired: AtomicU64,
    breakers_opened: AtomicU64,
    guards: Mutex<HashMap<EndpointId, Guard>>,
}

impl Counters {
    /// A try was made, and this came of it.
    pub fn attempt(&self, outcome: &AttemptOutcome) {
        add(&self.attempts[Class::of(outcome) as usize], 1);
    }

    /// A notification was acknowledged, so long after what it tells happened.
    pub fn acknowledged(&self, since_event: Duration) {
        self.acknowledged.count(since_event);
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

    /// Nothing is sent to `endpoint` from now on but a look now and then. Counted once until [`Counters::breaker_closed`].
    pub fn breaker_opened(&self, endpoint: EndpointId) {
        if self.guards().insert(endpoint, Guard::Open).is_none() {
            add(&self.breakers_opened, 1);
        }
    }

    /// A look whether `endpoint` is back is under way; it ends with [`Counters::breaker_opened`] or [`Counters::breaker_closed`].
    pub fn breaker_half_open(&self, endpoint: EndpointId) {
        self.guards().insert(endpoint, Guard::HalfOpen);
    }

    /// `endpoint` is back, or there is nothing for it any more.
    pub fn breaker_closed(&self, endpoint: EndpointId) {
        self.guards().remove(&endpoint);
    }

    /// Whether this notifier sends nothing to `endpoint` but looks now and then.
    pub(super) fn is_guarded(&self, endpoint: EndpointId) -> bool {
        self.guards().contains_key(&endpoint)
    }

    fn guards(&self) -> MutexGuard<'_, HashMap<EndpointId, Guard>> {
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measures(&self) -> Vec<Measure> {
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let attempts = Class::ALL.iter().zip(&self.attempts).map(|((_, outcome), counter)| Reading {
            labels: vec![("outcome", (*outcome).into())],
            value: total(counter),
        });
        let standing: Vec<Guard> = self.guards().values().copied().collect();
        let guards = [(Guard::Open, "open"), (Guard::HalfOpen, "half_open")].map(|(guard, state)| Reading {
            labels: vec![("state", state.into())],
            value: standing.iter().filter(|one| **one == guard).count() as u64,
        });
        vec![
            Measure::counted(
                "dropin_notification_attempts_total",
                "Tries to send a notification, by what came of them.",
                attempts.collect(),
            ),
            Measure::spread(
                "dropin_notification_acknowledged_seconds",
                "Time from what a notification tells to the merchant's 200 for it.",
                self.acknowledged.spread(),
            ),
            Measure::total(
                "dropin_notification_parked_total",
                "Notifications given up; somebody has to replay them.",
                total(&self.parked),
            ),
            Measure::total(
                "dropin_notification_fenced_total",
                "Results that changed nothing: another notifier had taken over, or they were already written when the database's answer was lost.",
                total(&self.fenced),
            ),
            Measure::total(
                "dropin_notification_leases_expired_total",
                "Notifications taken over from a notifier that died or was too slow.",
                total(&self.leases_expired),
            ),
            Measure::stands(
                "dropin_notification_breakers",
                "Endpoints to which nothing is sent but a look now and then, because they answer nothing or errors only.",
                guards.to_vec(),
            ),
            Measure::total(
                "dropin_notification_breakers_opened_total",
                "How often an endpoint had to be spared.",
                total(&self.breakers_opened),
            ),
        ]
    }
}

#[async_trait]
impl Measured for Counters {
    async fn measure(&self) -> Result<Vec<Measure>, String> {
        Ok(self.measures())
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use dropin_notification::Failure;
    use dropin_ports::Values;
    use uuid::Uuid;

    use super::*;

    fn readings(counters: &Counters, name: &str) -> Vec<u64> {
        let all = counters.measures();
        let found = all.iter().find(|measure| measure.name == name).expect("such a measure");
        found.readings().iter().map(|reading| reading.value).collect()
    }

    #[test]
    fn every_outcome_is_counted_in_one_class() {
        assert!(Class::ALL.iter().enumerate().all(|(number, (class, _))| *class as usize == number));
        let count = |outcome: AttemptOutcome, name: &str| {
            let counters = Counters::default();
            counters.attempt(&outcome);
            let number = Class::ALL.iter().position(|(_, one)| *one == name).expect("such a class");
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
            (Failure::Late, "timeout"),
            (Failure::Refused, "refused"),
            (Failure::Closed, "connection"),
            (Failure::HandshakeLate, "tls"),
            (Failure::Unresolved, "name"),
            (Failure::Uncertifiable, "target"),
            (Failure::NotHttp, "answer"),
            (Failure::Own("the endpoint's secret cannot be opened"), "internal"),
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
        let Some(Values::Spread(spread)) =
            all.into_iter().map(|one| one.values).find(|one| matches!(one, Values::Spread(_)))
        else {
            panic!("no times")
        };
        let so_many: Vec<u64> = spread.at_most.iter().map(|(_, so_many)| *so_many).collect();
        assert_eq!(so_many, [0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!((spread.count, spread.sum), (3, Duration::from_millis(400_000_017)));
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn an_endpoint_that_is_looked_at_in_vain_is_spared_once() {
        let counters = Counters::default();
        let endpoint = EndpointId::new(Uuid::from_u128(1));
        counters.breaker_opened(endpoint);
        counters.breaker_half_open(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [0, 1]);
        counters.breaker_opened(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [1, 0]);
        assert_eq!(readings(&counters, "dropin_notification_breakers_opened_total"), [1]);
        assert!(counters.is_guarded(endpoint));
        counters.breaker_closed(endpoint);
        assert_eq!(readings(&counters, "dropin_notification_breakers"), [0, 0]);
        assert!(!counters.is_guarded(endpoint));
    }
}
