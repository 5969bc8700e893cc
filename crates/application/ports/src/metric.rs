use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;

/// One value of a metric, with its labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSample {
    /// Names and values of labels; never anything that a caller wrote.
    pub labels: Vec<(&'static str, Cow<'static, str>)>,
    /// The number.
    pub value: u64,
}

/// A histogram of durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Names and values of labels; never anything that a caller wrote.
    pub labels: Vec<(&'static str, Cow<'static, str>)>,
    /// Cumulative buckets: how many took at most this long, shortest first.
    pub at_most: Vec<(Duration, u64)>,
    /// How many there were, the longest included.
    pub count: u64,
    /// How long all of them took, added up.
    pub sum: Duration,
}

/// Counts durations for a [`Histogram`]. It is never waited for.
#[derive(Debug)]
pub struct DurationCounts {
    bounds: &'static [Duration],
    /// Each duration stands in the first bucket that is long enough; the last one is for the longest.
    buckets: Vec<AtomicU64>,
    micros: AtomicU64,
}

impl DurationCounts {
    /// None yet. `bounds` are those of the buckets, shortest first.
    pub fn new(bounds: &'static [Duration]) -> Self {
        let buckets = std::iter::repeat_with(AtomicU64::default).take(bounds.len() + 1).collect();
        Self { bounds, buckets, micros: AtomicU64::default() }
    }

    /// Counts one.
    pub fn count(&self, time: Duration) {
        let bucket = self.bounds.iter().position(|bound| time <= *bound).unwrap_or(self.bounds.len());
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// All of them until now.
    pub fn histogram(&self, labels: Vec<(&'static str, Cow<'static, str>)>) -> Histogram {
        let mut count = 0;
        let mut so_far = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let at_most = self.bounds.iter().copied().zip(so_far.by_ref()).collect();
        let all = so_far.next().unwrap_or_default();
        Histogram { labels, at_most, count: all, sum: Duration::from_micros(self.micros.load(Ordering::Relaxed)) }
    }
}

/// The values of a [`Metric`], by type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricValues {
    /// Gauges.
    Gauge(Vec<MetricSample>),
    /// They only count up, from the start of the program. Their name ends in `_total`.
    Counter(Vec<MetricSample>),
    /// Times, counted from the start of the program. Their name ends in `_seconds`.
    Histogram(Vec<Histogram>),
}

/// A metric, as it is exported at /metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// The name that alerts are written with, for example `dropin_operations_open`.
    pub name: &'static str,
    /// What they say, in one sentence.
    pub help: &'static str,
    /// The numbers; those that are zero too, so that an alert has something to look at.
    pub values: MetricValues,
}

impl Metric {
    /// A gauge without labels.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::gauges(name, help, vec![MetricSample { labels: Vec::new(), value }])
    }

    /// A gauge, one sample for each set of labels.
    pub fn gauges(name: &'static str, help: &'static str, samples: Vec<MetricSample>) -> Self {
        Self { name, help, values: MetricValues::Gauge(samples) }
    }

    /// A counter without labels.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::counters(name, help, vec![MetricSample { labels: Vec::new(), value }])
    }

    /// A counter, one sample for each set of labels.
    pub fn counters(name: &'static str, help: &'static str, samples: Vec<MetricSample>) -> Self {
        Self { name, help, values: MetricValues::Counter(samples) }
    }

    /// A histogram for each set of labels.
    pub fn histograms(name: &'static str, help: &'static str, histograms: Vec<Histogram>) -> Self {
        Self { name, help, values: MetricValues::Histogram(histograms) }
    }

    /// Its samples; none for a histogram.
    pub fn samples(&self) -> &[MetricSample] {
        match &self.values {
            MetricValues::Gauge(samples) | MetricValues::Counter(samples) => samples,
            MetricValues::Histogram(_) => &[],
        }
    }
}

/// A part of a program that has metrics.
#[async_trait]
pub trait MetricSource: Send + Sync {
    /// The current metrics.
    ///
    /// # Errors
    /// Why that cannot be told now, for the log.
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String>;
}
