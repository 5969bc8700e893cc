//! The measurements of other components that `/metrics` shows beside the counts of requests.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_ports::{Histogram, Metric, MetricSample, MetricSource, MetricValues};
use futures_util::future::join_all;
use tokio::sync::Mutex;

/// Longest wait for one source.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the rendered text is served again: however often `/metrics` is scraped, the sources are measured no oftener.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The sources, and their last rendered measurements.
#[derive(Default)]
pub(crate) struct MetricsRegistry {
    sources: Vec<Arc<dyn MetricSource>>,
    cached: Mutex<Option<(Instant, String)>>,
}

impl MetricsRegistry {
    pub(crate) fn new(sources: Vec<Arc<dyn MetricSource>>) -> Self {
        Self { sources, cached: Mutex::default() }
    }

    /// Prometheus' text exposition format 0.0.4. A source that fails is left out, so that an old value is not taken for the current one.
    pub(crate) async fn render(&self) -> String {
        let mut cached = self.cached.lock().await;
        if let Some((_, text)) = cached.as_ref().filter(|(when, _)| when.elapsed() < CACHE_TTL) {
            return text.clone();
        }
        let results =
            join_all(self.sources.iter().map(|source| tokio::time::timeout(SOURCE_TIMEOUT, source.collect_metrics())))
                .await;
        let mut text = String::new();
        for result in results {
            match result.unwrap_or_else(|_elapsed| Err("no answer came in time".to_owned())) {
                Ok(measures) => measures.iter().for_each(|measure| render(&mut text, measure)),
                Err(why) => log::warn!(why = why.as_str(); "a part of /metrics is left out"),
            }
        }
        *cached = Some((Instant::now(), text.clone()));
        text
    }
}

// Writing to a String cannot fail, so its results are dropped below.

fn render(text: &mut String, measure: &Metric) {
    let Metric { name, help, values } = measure;
    let kind = match values {
        MetricValues::Gauge(_) => "gauge",
        MetricValues::Counter(_) => "counter",
        MetricValues::Histogram(_) => "histogram",
    };
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    match values {
        MetricValues::Gauge(readings) | MetricValues::Counter(readings) => {
            readings.iter().for_each(|one| render_reading(text, name, one));
        }
        MetricValues::Histogram(all) => all.iter().for_each(|one| render_histogram(text, name, one)),
    }
}

fn render_reading(text: &mut String, name: &str, reading: &MetricSample) {
    let _ = writeln!(text, "{name}{} {}", rendered_labels(&reading.labels, None), reading.value);
}

/// Labels in braces, with the bound of a bucket behind them if there is one; nothing where there are none.
fn rendered_labels(labels: &[(&'static str, Cow<'static, str>)], bound: Option<&str>) -> String {
    let bound = bound.map(|bound| format!("le=\"{bound}\""));
    let labels = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).chain(bound);
    let labels = labels.collect::<Vec<_>>().join(",");
    if labels.is_empty() { labels } else { format!("{{{labels}}}") }
}

/// Times are written in seconds, as Prometheus wants all of them.
fn render_histogram(text: &mut String, name: &str, histogram: &Histogram) {
    let Histogram { labels, at_most, count, sum } = histogram;
    let bounds = at_most.iter().map(|(bound, cumulative)| (bound.as_secs_f64().to_string(), cumulative));
    for (bound, cumulative) in bounds.chain([("+Inf".to_owned(), count)]) {
        let _ = writeln!(text, "{name}_bucket{} {cumulative}", rendered_labels(labels, Some(&bound)));
    }
    let labels = rendered_labels(labels, None);
    let _ = writeln!(text, "{name}_sum{labels} {}\n{name}_count{labels} {count}", sum.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// Counts how often it was asked, and knows nothing the first time.
    struct CountingSource(AtomicU64);

    #[async_trait]
    impl MetricSource for CountingSource {
        async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
            let asked = self.0.fetch_add(1, Ordering::Relaxed);
            if asked == 0 {
                return Err("the database is away".to_owned());
            }
            let labels = vec![("kind", "CAPTURE".into()), ("state", "UNKNOWN".into())];
            let counted = vec![MetricSample { labels, value: asked }];
            let by_kind = Metric::counters("by_kind_total", "Some.", counted);
            Ok(vec![Metric::gauge("asked", "How often.", asked), by_kind])
        }
    }

    #[tokio::test]
    async fn parts_are_asked_once_in_a_while_and_left_out_when_they_cannot_tell() {
        let registry = MetricsRegistry::new(vec![Arc::new(CountingSource(AtomicU64::new(0)))]);
        assert_eq!(registry.render().await, "");
        assert_eq!(registry.render().await, "", "asked a moment ago");
        *registry.cached.lock().await = None;
        let expected = "# HELP asked How often.\n# TYPE asked gauge\nasked 1\n\
            # HELP by_kind_total Some.\n# TYPE by_kind_total counter\nby_kind_total{kind=\"CAPTURE\",state=\"UNKNOWN\"} 1\n";
        assert_eq!(registry.render().await, expected);
    }

    /// Reads a text as `promtool check metrics` does. Returns the samples: name with labels, and value.
    fn samples(text: &str) -> Vec<(&str, f64)> {
        let (mut kinds, mut samples) = (Vec::<(&str, &str)>::new(), Vec::<(&str, f64)>::new());
        for line in text.lines() {
            if let Some(told) = line.strip_prefix("# HELP ") {
                let (name, help) = told.split_once(' ').expect("a name and what it says");
                assert!(!help.is_empty() && kinds.iter().all(|(known, _)| *known != name), "{line}");
                continue;
            }
            if let Some(told) = line.strip_prefix("# TYPE ") {
                kinds.push(told.split_once(' ').expect("a name and its kind"));
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a series and its value");
            let name = series.split('{').next().expect("something");
            let (family, kind) = *kinds.last().expect("a kind before the first value");
            let belongs = match kind {
                "histogram" => ["_bucket", "_sum", "_count"].iter().any(|end| name.strip_suffix(end) == Some(family)),
                "counter" => name == family && name.ends_with("_total"),
                _ => name == family && !name.ends_with("_total"),
            };
            assert!(belongs, "{line} under {kind} {family}");
            assert!(samples.iter().all(|(known, _)| *known != series), "{series} twice");
            samples.push((series, value.parse().unwrap_or_else(|_| panic!("no number: {line}"))));
        }
        samples
    }

    #[test]
    fn times_are_told_as_a_histogram() {
        let millis = Duration::from_millis;
        let at_most = vec![(millis(5), 1), (millis(250), 3), (millis(10_000), 3)];
        let mut text = String::new();
        let waited = Histogram { labels: Vec::new(), at_most, count: 4, sum: millis(60_403) };
        render(&mut text, &Metric::histograms("waited_seconds", "How long.", vec![waited]));
        let by_room = |room: &'static str, count| Histogram {
            labels: vec![("room", room.into())],
            at_most: vec![(millis(50), 1)],
            count,
            sum: millis(90),
        };
        render(&mut text, &Metric::histograms("asked_seconds", "How long.", vec![by_room("a", 2), by_room("b", 1)]));
        render(&mut text, &Metric::counter("gone_total", "How many.", 2));
        let expected = [
            ("waited_seconds_bucket{le=\"0.005\"}", 1.0),
            ("waited_seconds_bucket{le=\"0.25\"}", 3.0),
            ("waited_seconds_bucket{le=\"10\"}", 3.0),
            ("waited_seconds_bucket{le=\"+Inf\"}", 4.0),
            ("waited_seconds_sum", 60.403),
            ("waited_seconds_count", 4.0),
            ("asked_seconds_bucket{room=\"a\",le=\"0.05\"}", 1.0),
            ("asked_seconds_bucket{room=\"a\",le=\"+Inf\"}", 2.0),
            ("asked_seconds_sum{room=\"a\"}", 0.09),
            ("asked_seconds_count{room=\"a\"}", 2.0),
            ("asked_seconds_bucket{room=\"b\",le=\"0.05\"}", 1.0),
            ("asked_seconds_bucket{room=\"b\",le=\"+Inf\"}", 1.0),
            ("asked_seconds_sum{room=\"b\"}", 0.09),
            ("asked_seconds_count{room=\"b\"}", 1.0),
            ("gone_total", 2.0),
        ];
        assert_eq!(samples(&text), expected);
    }
}
