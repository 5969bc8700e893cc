//! Screening in numbers, and in log lines that do not flood.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{ALARM_LASTS, Clock, Metric, MetricSample, MetricSource};
use dropin_risk::{Decision, Screening};

/// How often a failure of one part is logged at most.
const LOG_PAUSE: Duration = Duration::from_secs(60);
/// How often a merchant's alarm that lasts is noted in the store.
const ALARM_NOTED: Duration = Duration::from_secs(60);

/// What screening could not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScreeningPart {
    /// Find the rate of the payment's currency.
    Rates,
    /// Hash what is counted.
    Keys,
    /// Count the try.
    Count,
    /// Find the rules again for what the issuer said.
    Rules,
    /// Keep what it decided.
    Keep,
    /// Count what became of the try.
    Outcome,
    /// Note an alarm, so that its merchant is notified.
    Alarm,
    /// Ask a service outside for a score.
    Score,
}

impl ScreeningPart {
    const ALL: [Self; 8] =
        [Self::Rates, Self::Keys, Self::Count, Self::Rules, Self::Keep, Self::Outcome, Self::Alarm, Self::Score];

    const fn name(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Keys => "keys",
            Self::Count => "count",
            Self::Rules => "rules",
            Self::Keep => "keep",
            Self::Outcome => "outcome",
            Self::Alarm => "alarm",
            Self::Score => "score",
        }
    }

    const fn consequence(self) -> &'static str {
        match self {
            Self::Rates => "payments are screened without their amount",
            Self::Keys | Self::Count => "payments are screened without counts, so card testing is not noticed",
            Self::Rules => "what issuers said of approved payments is left out",
            Self::Keep => {
                "merchants are not told what it decided, and a payment that ends in another process is not held for a review"
            }
            Self::Outcome => "a decline or a payment is missing in the counts",
            Self::Alarm => "a merchant whose declines jump is not notified yet",
            Self::Score => "the rules' default stands for the score from outside",
        }
    }
}

/// How often something happened that is logged seldom.
#[derive(Default)]
struct Occurrences {
    count: AtomicU64,
    /// Microseconds since 1970 of the last log line.
    logged: AtomicU64,
}

impl Occurrences {
    /// Counts one; whether it is to be logged.
    fn note(&self, now: Timestamp) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed);
        let (at, logged) = (u64::try_from(now.micros()).unwrap_or(0), self.logged.load(Ordering::Relaxed));
        let is_due = logged == 0 || LOG_PAUSE.as_micros() <= u128::from(at.saturating_sub(logged));
        is_due && self.logged.compare_exchange(logged, at, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// What a process counts of its screening.
pub struct ScreeningMetrics {
    clock: Arc<dyn Clock>,
    decisions: [AtomicU64; Decision::ALL.len()],
    failures: [Occurrences; ScreeningPart::ALL.len()],
    /// Cards that were approved without the challenge that was asked for.
    unchallenged: Occurrences,
    /// Merchants whose declines jump.
    alarms: Mutex<HashMap<MerchantId, SeenAlarm>>,
}

/// When a merchant's alarm was seen and noted last.
struct SeenAlarm {
    seen_at: Timestamp,
    noted_at: Timestamp,
}

impl ScreeningMetrics {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            decisions: Default::default(),
            failures: Default::default(),
            unchallenged: Occurrences::default(),
            alarms: Mutex::default(),
        }
    }

    /// Counts a decision before the processor is asked; tells of an alarm when it begins. Whether an alarm is to be noted in the store.
    pub(super) fn decided(&self, merchant: MerchantId, screening: &Screening, now: Timestamp) -> bool {
        self.decisions[screening.decision() as usize].fetch_add(1, Ordering::Relaxed);
        if !screening.is_in_alarm() {
            return false;
        }
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.retain(|_, alarm| now.since(alarm.seen_at) < ALARM_LASTS);
        let before = alarms.get(&merchant).map(|alarm| alarm.noted_at);
        let is_due = before.is_none_or(|noted_at| ALARM_NOTED <= now.since(noted_at));
        let noted_at = before.filter(|_| !is_due).unwrap_or(now);
        if alarms.insert(merchant, SeenAlarm { seen_at: now, noted_at }).is_none() {
            let merchant = merchant.to_string();
            log::warn!(
                merchant = merchant.as_str();
                "screening: the declines of a merchant jump, as they do when cards are tested there; new shoppers are asked to authenticate while it lasts"
            );
        }
        is_due
    }

    /// Counts a failure. It is logged once in a minute, without anything of the payment.
    pub(super) fn failed(&self, part: ScreeningPart, why: &str) {
        if self.failures[part as usize].note(self.clock.now()) {
            log::error!(part = part.name(), why; "screening: it goes on without a part: {}", part.consequence());
        }
    }

    /// Counts a card that was approved without word of the authentication that was asked for.
    pub(super) fn unchallenged(&self) {
        if self.unchallenged.note(self.clock.now()) {
            log::warn!(
                "screening: the processor approved a card without saying that the shopper authenticated, as it was asked to; see whether it knows Challenge"
            );
        }
    }

    fn measures(&self) -> Vec<Metric> {
        let now = self.clock.now();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let decisions = Decision::ALL.into_iter().zip(&self.decisions);
        let decisions = decisions.map(|(decision, counter)| MetricSample {
            labels: vec![("decision", decision.as_str().into())],
            value: read(counter),
        });
        let failures = ScreeningPart::ALL.into_iter().zip(&self.failures);
        let failures = failures.map(|(part, failures)| MetricSample {
            labels: vec![("part", part.name().into())],
            value: read(&failures.count),
        });
        let alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let alarmed = alarms.values().filter(|alarm| now.since(alarm.seen_at) < ALARM_LASTS).count();
        vec![
            Metric::counters(
                "dropin_screening_decisions_total",
                "Payments by what screening decided before the processor was asked.",
                decisions.collect(),
            ),
            Metric::counters(
                "dropin_screening_failures_total",
                "How often screening went on without a part: the rate of a currency, hashes, counts, rules, keeping what it decided, noting an alarm, the score from outside.",
                failures.collect(),
            ),
            Metric::counter(
                "dropin_screening_unchallenged_total",
                "Cards that the processor approved without word of the authentication that screening asked for.",
                read(&self.unchallenged.count),
            ),
            Metric::gauge(
                "dropin_screening_alarms",
                "Merchants whose declines jumped in the last ten minutes, as this process saw it.",
                u64::try_from(alarmed).unwrap_or(u64::MAX),
            ),
        ]
    }
}

#[async_trait]
impl MetricSource for ScreeningMetrics {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        Ok(self.measures())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI64;

    use dropin_kernel::uuid::Uuid;
    use dropin_risk::{Facts, Rules, Velocity, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow};

    use super::*;

    struct TestClock(AtomicI64);

    impl Clock for TestClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }
    }

    fn value(metrics: &ScreeningMetrics, name: &str, label: &str) -> u64 {
        let measured = metrics.measures();
        let metric = measured.iter().find(|metric| metric.name == name).unwrap();
        let is_meant = |sample: &&MetricSample| sample.labels.first().is_none_or(|(_, value)| value == label);
        metric.samples().iter().find(is_meant).unwrap().value
    }

    #[test]
    fn an_alarm_lasts_ten_minutes_after_the_last_payment_that_shows_it() {
        let clock = Arc::new(TestClock(AtomicI64::new(1_790_000_000_000_000)));
        let metrics = ScreeningMetrics::new(clock.clone());
        let merchant = MerchantId::new(Uuid::from_u128(1));
        let counts = VelocityCounts { tries: 20, declines: 20, ..VelocityCounts::default() };
        let mut velocity = Velocity::default();
        for window in VelocityWindow::ALL {
            velocity.set(VelocityKey::Merchant, window, VelocitySum { counts, cards: 20 });
        }
        let quiet = Rules::built_in().screen(Facts::default());
        let alarmed = Rules::built_in().screen(Facts { velocity, ..Facts::default() });
        assert!(!metrics.decided(merchant, &quiet, clock.now()));
        assert_eq!(value(&metrics, "dropin_screening_alarms", ""), 0);
        assert!(metrics.decided(merchant, &alarmed, clock.now()));
        assert!(!metrics.decided(merchant, &alarmed, clock.now()), "it was noted a moment ago");
        assert_eq!(value(&metrics, "dropin_screening_alarms", ""), 1, "one merchant");
        assert_eq!(value(&metrics, "dropin_screening_decisions_total", quiet.decision().as_str()), 1);
        assert_eq!(value(&metrics, "dropin_screening_decisions_total", alarmed.decision().as_str()), 2);
        for (seconds, is_due) in [(59, false), (1, true), (1, false)] {
            clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
            assert_eq!(metrics.decided(merchant, &alarmed, clock.now()), is_due, "{seconds}");
        }
        clock.0.fetch_add(601_000_000, Ordering::SeqCst);
        assert_eq!(value(&metrics, "dropin_screening_alarms", ""), 0);
    }

    #[test]
    fn every_failure_is_counted_though_few_are_logged() {
        let clock = Arc::new(TestClock(AtomicI64::new(1_790_000_000_000_000)));
        let metrics = ScreeningMetrics::new(clock);
        for _ in 0..3 {
            metrics.failed(ScreeningPart::Count, "away");
        }
        let counted = |part| value(&metrics, "dropin_screening_failures_total", part);
        assert_eq!((counted("count"), counted("keep")), (3, 0));
    }
}
