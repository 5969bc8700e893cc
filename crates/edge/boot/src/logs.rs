//! Logs on standard error: text for people, JSON lines for machines. Never the message of a panic: it may quote data.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;
use dropin_ports::Clock;
use env_logger::fmt::Formatter;
use log::Record;
use log::kv::{self, Key, Value, VisitSource};

use crate::system::SystemClock;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object for each line.
    Json,
}

/// The format of lines that are written past the log: why a program does not start, and what it prints when it does.
static FORMAT: AtomicU8 = AtomicU8::new(0);

/// Whether lines are JSON, as far as is known by now.
pub fn is_json() -> bool {
    FORMAT.load(Ordering::Relaxed) == 1
}

/// Sets the format of lines past the log; none leaves it as it is.
pub(crate) fn set_format(format: Option<LogFormat>) {
    if let Some(format) = format {
        FORMAT.store(u8::from(format == LogFormat::Json), Ordering::Relaxed);
    }
}

/// Says on standard error why the program ends.
pub fn report_failure(message: &str) {
    let line = match is_json() {
        true => json_text("ERROR", message, serde_json::Map::new()),
        false => format!("error: {message}"),
    };
    // Where even standard error is closed, the exit status is left.
    let _ = writeln!(io::stderr(), "{line}");
}

/// One line of JSON like those of the log, with these members besides.
pub fn json_text(level: &str, message: &str, members: serde_json::Map<String, serde_json::Value>) -> String {
    let mut line = serde_json::Map::new();
    line.insert("time".to_owned(), SystemClock.now().to_string().into());
    line.insert("level".to_owned(), level.into());
    line.insert("target".to_owned(), "dropin".into());
    line.insert("message".to_owned(), message.into());
    line.extend(members);
    serde_json::Value::Object(line).to_string()
}

/// Starts logging with a filter such as `info` or `warn,access=info` (env_logger's language), and logs panics by their
/// place only. A second call changes nothing.
pub fn start_logs(filter: &str, format: LogFormat) {
    set_format(Some(format));
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(filter);
    match format {
        LogFormat::Text => builder.format_timestamp_millis(),
        LogFormat::Json => builder.format(json_line),
    };
    // Tests in one process may all ask for logs; the first wins.
    let _ = builder.try_init();
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        log::error!("panic at {place}");
    }));
}

fn json_line(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let mut line = serde_json::Map::new();
    line.insert("time".to_owned(), out.timestamp_millis().to_string().into());
    line.insert("level".to_owned(), record.level().as_str().into());
    line.insert("target".to_owned(), record.target().into());
    line.insert("message".to_owned(), record.args().to_string().into());
    // Collecting cannot fail; a value that cannot be shown is left out.
    let _ = record.key_values().visit(&mut Collect(&mut line));
    writeln!(out, "{}", serde_json::Value::Object(line))
}

struct Collect<'a>(&'a mut serde_json::Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for Collect<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        let value = value.to_u64().map_or_else(|| value.to_string().into(), serde_json::Value::from);
        self.0.entry(key.as_str()).or_insert(value);
        Ok(())
    }
}
