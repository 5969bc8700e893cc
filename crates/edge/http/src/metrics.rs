//! Counts of requests, in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
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

/// Requests by method, route pattern and status. Only patterns of ours become labels, never what a caller wrote.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<Label, Count>>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Default)]
struct Count {
    requests: u64,
    micros: u128,
    at_most: [u64; BUCKETS.len()],
}

impl Metrics {
    pub(crate) fn count(&self, method: &Method, route: &str, status: Option<StatusCode>, took: Duration) {
        let status = status.map_or(499, |status| status.as_u16());
        let label = Label { route: route.to_owned(), method: known(method), status };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(label).or_default();
        count.requests += 1;
        count.micros += took.as_micros();
        for (counted, (bound, _)) in count.at_most.iter_mut().zip(BUCKETS) {
            *counted += u64::from(took.as_millis() < bound);
        }
    }

    /// Prometheus' text exposition format 0.0.4.
    pub(crate) fn render(&self) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP dropin_http_request_duration_seconds Time from the head of a request to its answer.\n\
             # TYPE dropin_http_request_duration_seconds histogram\n",
        );
        for (Label { route, method, status }, count) in all.iter() {
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
        text
    }
}

/// A caller may invent methods; they share one label.
fn known(method: &Method) -> &'static str {
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
    fn counts_fall_into_their_buckets() {
        let metrics = Metrics::default();
        let get = |millis| {
            metrics.count(&Method::GET, "/v1/session/{id}", Some(StatusCode::OK), Duration::from_millis(millis));
        };
        get(3);
        get(700);
        let text = metrics.render();
        for line in [
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"0.001\"} 0",
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"0.005\"} 1",
            "_bucket{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\",le=\"1\"} 2",
            "_sum{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\"} 0.703000",
            "_count{method=\"GET\",route=\"/v1/session/{id}\",status=\"200\"} 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
