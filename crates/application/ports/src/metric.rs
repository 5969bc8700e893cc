use std::borrow::Cow;
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
    /// Cumulative buckets: how many took at most this long, shortest first.
    pub at_most: Vec<(Duration, u64)>,
    /// How many there were, the longest included.
    pub count: u64,
    /// How long all of them took, added up.
    pub sum: Duration,
}

/// The values of a [`Metric`], by type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricValues {
    /// Gauges.
    Gauge(Vec<MetricSample>),
    /// They only count up, from the start of the program. Their name ends in `_total`.
    Counter(Vec<MetricSample>),
    /// Times, counted from the start of the program. Their name ends in `_seconds`.
    Histogram(Histogram),
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

    /// A histogram.
    pub fn histogram(name: &'static str, help: &'static str, histogram: Histogram) -> Self {
        Self { name, help, values: MetricValues::Histogram(histogram) }
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
