//! What parts of the program tell at `/metrics` beside the counts of requests.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_ports::{Measure, Measured};
use futures_util::future::join_all;
use tokio::sync::Mutex;

/// Longest wait for one part.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long what was told counts: whoever watches may ask as often as he likes, and the parts are asked no oftener.
const FRESH: Duration = Duration::from_secs(1);

/// The parts, and what they said.
#[derive(Default)]
pub(crate) struct Watched {
    parts: Vec<Arc<dyn Measured>>,
    said: Mutex<Option<(Instant, String)>>,
}

impl Watched {
    pub(crate) fn new(parts: Vec<Arc<dyn Measured>>) -> Self {
        Self { parts, said: Mutex::default() }
    }

    /// Prometheus' text exposition format 0.0.4. A part that cannot tell is left out, so that what it told before is not taken for the truth.
    pub(crate) async fn render(&self) -> String {
        let mut said = self.said.lock().await;
        if let Some((_, text)) = said.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return text.clone();
        }
        let told = join_all(self.parts.iter().map(|part| tokio::time::timeout(PATIENCE, part.measure()))).await;
        let mut text = String::new();
        for told in told {
            match told.unwrap_or_else(|_elapsed| Err("no answer came in time".to_owned())) {
                Ok(measures) => measures.iter().for_each(|measure| render(&mut text, measure)),
                Err(why) => log::warn!(why = why.as_str(); "a part of /metrics is left out"),
            }
        }
        *said = Some((Instant::now(), text.clone()));
        text
    }
}

fn render(text: &mut String, measure: &Measure) {
    let Measure { name, help, counts_up, readings } = measure;
    let kind = if *counts_up { "counter" } else { "gauge" };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for reading in readings {
        let labels: Vec<_> = reading.labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{name}{labels} {}", reading.value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use dropin_ports::Reading;

    use super::*;

    /// Counts how often it was asked, and knows nothing the first time.
    struct Part(AtomicU64);

    #[async_trait]
    impl Measured for Part {
        async fn measure(&self) -> Result<Vec<Measure>, String> {
            let asked = self.0.fetch_add(1, Ordering::Relaxed);
            if asked == 0 {
                return Err("the database is away".to_owned());
            }
            let labels = vec![("kind", "CAPTURE".into()), ("state", "UNKNOWN".into())];
            let counted = vec![Reading { labels, value: asked }];
            let by_kind = Measure { name: "by_kind_total", help: "Some.", counts_up: true, readings: counted };
            Ok(vec![Measure::now("asked", "How often.", asked), by_kind])
        }
    }

    #[tokio::test]
    async fn parts_are_asked_once_in_a_while_and_left_out_when_they_cannot_tell() {
        let watched = Watched::new(vec![Arc::new(Part(AtomicU64::new(0)))]);
        assert_eq!(watched.render().await, "");
        assert_eq!(watched.render().await, "", "asked a moment ago");
        *watched.said.lock().await = None;
        let expected = "# HELP asked How often.\n# TYPE asked gauge\nasked 1\n\
            # HELP by_kind_total Some.\n# TYPE by_kind_total counter\nby_kind_total{kind=\"CAPTURE\",state=\"UNKNOWN\"} 1\n";
        assert_eq!(watched.render().await, expected);
    }
}
