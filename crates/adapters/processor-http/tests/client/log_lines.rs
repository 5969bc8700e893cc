//! What was logged about one processor.

use std::sync::{Mutex, Once};

use log::{LevelFilter, Log, Metadata, Record};

static LINES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

struct Recorder;

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(processor) = record.key_values().get("processor".into()) {
            LINES.lock().unwrap().push((processor.to_string(), format!("{} {}", record.level(), record.args())));
        }
    }

    fn flush(&self) {}
}

/// Begins to listen; what came before is lost.
pub(crate) fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Recorder).unwrap();
        log::set_max_level(LevelFilter::Info);
    });
}

/// Every line about the processor at this host and port.
pub(crate) fn about(processor: &str) -> Vec<String> {
    LINES.lock().unwrap().iter().filter(|(about, _)| about == processor).map(|(_, line)| line.clone()).collect()
}
