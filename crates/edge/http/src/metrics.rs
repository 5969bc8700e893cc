//! Counts of requests and connections, in the text form that Prometheus reads.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::http::{Method, StatusCode};

/// Upper bounds of the latency buckets, in milliseconds and as Prometheus wants to see them.
const BUCKETS: [(u128, &str); 9] = [
    (1, "0.001"),
    (5, "0.005"),
    (10, "0.01"),
    (50, "0.05"),
    (100, "0.1"),
    (500, "0.5"),
    (1_000, "1"),
    (5_000, "5"),
    (30_000, "30"),
];

/// Everything that one server counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    shards: Mutex<Vec<Arc<Shard>>>,
    pub(crate) counters: Counters,
}

/// What happens to connections, and requests that are too many.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections that are open now.
    pub(crate) open: AtomicU64,
    /// Connections of a client that had enough.
    pub(crate) refused: AtomicU64,
    /// Connections without a request for too long.
    pub(crate) cut_idle: AtomicU64,
    /// Connections whose client does not take its answer.
    pub(crate) cut_unread: AtomicU64,
    /// Connections that sent on and on behind an answer.
    pub(crate) cut_flood: AtomicU64,
    /// Requests that actix' parser refused.
    pub(crate) unreadable: AtomicU64,
    /// Requests over the rate of a client address.
    pub(crate) limited_client: AtomicU64,
    /// Requests over the rate of a merchant.
    pub(crate) limited_merchant: AtomicU64,
    /// Bodies over the memory that those without a proven merchant may take.
    pub(crate) limited_body: AtomicU64,
    /// Bytes that such bodies take now.
    pub(crate) body_bytes: AtomicU64,
    /// Requests that were too many at once on one connection.
    pub(crate) limited_connection: AtomicU64,
}

impl Counters {
    /// One more.
    pub(crate) fn increment(event: &AtomicU64) {
        event.fetch_add(1, Ordering::Relaxed);
    }

    fn render(&self, text: &mut String) {
        let value = |event: &AtomicU64| event.load(Ordering::Relaxed);
        family(text, "dropin_http_connections", "gauge", "Open connections.", &[("", value(&self.open))]);
        let help = "Connections refused because their client address had too many.";
        family(text, "dropin_http_connections_refused_total", "counter", help, &[("", value(&self.refused))]);
        let help =
            "Connections closed on a client that held them: idle, its answer unread, or sending on behind its answer.";
        let reasons = [
            ("{reason=\"idle\"}", value(&self.cut_idle)),
            ("{reason=\"unread\"}", value(&self.cut_unread)),
            ("{reason=\"flood\"}", value(&self.cut_flood)),
        ];
        family(text, "dropin_http_connections_cut_total", "counter", help, &reasons);
        let help = "Requests refused because they cannot be read as HTTP/1.1, or their head was too slow.";
        family(text, "dropin_http_unreadable_total", "counter", help, &[("", value(&self.unreadable))]);
        let limits = [
            ("{limit=\"client\"}", value(&self.limited_client)),
            ("{limit=\"merchant\"}", value(&self.limited_merchant)),
            ("{limit=\"connection\"}", value(&self.limited_connection)),
            ("{limit=\"body\"}", value(&self.limited_body)),
        ];
        let help = "Requests refused with 429 or 503: over a client's or merchant's rate, too many at once on a connection, or no memory left for their body.";
        family(text, "dropin_http_rate_limited_total", "counter", help, &limits);
        let help = "Bytes that the bodies of running requests take which have proven no merchant.";
        family(text, "dropin_http_body_bytes", "gauge", help, &[("", value(&self.body_bytes))]);
    }
}

/// Writes one family of values, each with its labels.
fn family(text: &mut String, name: &str, kind: &str, help: &str, values: &[(&str, u64)]) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in values {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

/// Requests by route pattern, method and status, as one worker counted them: its lock is never waited for but by a rendering. Only
/// patterns of ours become labels, never what a caller wrote.
#[derive(Debug, Default)]
pub(crate) struct Shard(Mutex<HashMap<String, Vec<Row>>>);

#[derive(Debug, Clone)]
struct Row {
    method: &'static str,
    status: u16,
    count: Count,
}

#[derive(Debug, Clone, Default)]
struct Count {
    requests: u64,
    micros: u64,
    at_most: [u64; BUCKETS.len()],
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.micros += other.micros;
        for (sum, more) in self.at_most.iter_mut().zip(other.at_most) {
            *sum += more;
        }
    }
}

impl Shard {
    pub(crate) fn count(&self, method: &Method, route: &str, status: Option<StatusCode>, took: Duration) {
        let (method, status) = (method_label(method), status.map_or(499, |status| status.as_u16()));
        let mut routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An entry would need a String for every request.
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Vec::new());
        }
        let Some(rows) = routes.get_mut(route) else { return };
        let found = rows.iter().position(|row| row.method == method && row.status == status);
        let row = found.unwrap_or_else(|| {
            rows.push(Row { method, status, count: Count::default() });
            rows.len() - 1
        });
        let count = &mut rows[row].count;
        count.requests += 1;
        count.micros += u64::try_from(took.as_micros()).unwrap_or_default();
        for (counted, (bound, _)) in count.at_most.iter_mut().zip(BUCKETS) {
            *counted += u64::from(took.as_millis() < bound);
        }
    }
}

impl Metrics {
    /// A shard for one more worker.
    pub(crate) fn shard(&self) -> Arc<Shard> {
        let shard = Arc::<Shard>::default();
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).push(shard.clone());
        shard
    }

    /// Prometheus' text exposition format 0.0.4.
    pub(crate) fn render(&self) -> String {
        let mut text = String::from(
            "# HELP dropin_http_request_duration_seconds Time from the head of a request to its answer.\n\
             # TYPE dropin_http_request_duration_seconds histogram\n",
        );
        for ((route, method, status), count) in self.sums() {
            let name = "dropin_http_request_duration_seconds";
            let route = route.replace('\\', "\\\\").replace('"', "\\\"");
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (counted, (_, bound)) in count.at_most.iter().zip(BUCKETS) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {counted}");
            }
            let (requests, seconds, rest) = (count.requests, count.micros / 1_000_000, count.micros % 1_000_000);
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {requests}");
            let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}.{rest:06}");
            let _ = writeln!(text, "{name}_count{{{labels}}} {requests}");
        }
        self.counters.render(&mut text);
        text
    }

    /// The sums over all workers. Each is held up only while its own counts are copied.
    fn sums(&self) -> BTreeMap<(String, &'static str, u16), Count> {
        let shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut sums = BTreeMap::<_, Count>::new();
        for shard in shards {
            let routes = shard.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (route, rows) in routes {
                for Row { method, status, count } in rows {
                    sums.entry((route.clone(), method, status)).or_default().add(&count);
                }
            }
        }
        sums
    }
}

/// A caller may invent methods, and write anything into them; in metrics and logs they share one word.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_workers_fall_into_their_buckets() {
        let metrics = Metrics::default();
        let workers = [metrics.shard(), metrics.shard()];
        for (worker, millis) in workers.iter().zip([3, 700]) {
            worker.count(&Method::GET, "/v1/session/{id}", Some(StatusCode::OK), Duration::from_millis(millis));
        }
        Counters::increment(&metrics.counters.limited_merchant);
        let text = metrics.render();
        for line in [
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"0.001\"} 0",
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"0.005\"} 1",
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"1\"} 2",
            "_sum{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\"} 0.703000",
            "_count{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\"} 2",
            "dropin_http_rate_limited_total{limit=\"merchant\"} 1",
            "dropin_http_connections_cut_total{reason=\"idle\"} 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
