//! No card number may be found anywhere after it was stashed.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use dropin_http::Limits;
use dropin_usecases::stash::StashLimits;
use log::kv::{self, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};
use sandbox_processor::TEST_CARDS;

use crate::world::{SHOP, World, at, form};

/// Everything that anybody logs, at every level.
static LINES: Mutex<String> = Mutex::new(String::new());

struct Recorder;

struct Line(String);

impl<'kvs> VisitSource<'kvs> for Line {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        self.0.push_str(&format!(" {key}={value}"));
        Ok(())
    }
}

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let mut line = Line(format!("{} {}", record.target(), record.args()));
        record.key_values().visit(&mut line).expect("collecting cannot fail");
        LINES.lock().unwrap_or_else(PoisonError::into_inner).push_str(&format!("{}\n", line.0));
    }

    fn flush(&self) {}
}

fn record_logs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Recorder).expect("no other logger");
        log::set_max_level(LevelFilter::Trace);
    });
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.display().to_string(), fs::read(&path).expect("a file")));
        }
    }
    all
}

/// The number as text, with spaces, in hexadecimal, and its bytes backwards as some formats keep them.
fn spellings(number: &str) -> Vec<Vec<u8>> {
    let grouped: Vec<String> =
        number.as_bytes().chunks(4).map(|four| String::from_utf8_lossy(four).into_owned()).collect();
    let hex: String = number.bytes().map(|byte| format!("{byte:02x}")).collect();
    let packed =
        number.as_bytes().chunks(2).map(|two| u8::from_str_radix(&String::from_utf8_lossy(two), 16).expect("digits"));
    vec![
        number.as_bytes().to_vec(),
        grouped.join(" ").into_bytes(),
        grouped.join("-").into_bytes(),
        hex.clone().into_bytes(),
        hex.to_uppercase().into_bytes(),
        number.bytes().rev().collect(),
        packed.collect(),
    ]
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

#[actix_web::test]
async fn no_test_number_is_in_the_database_the_keys_the_logs_or_an_answer() {
    record_logs();
    let unlimited = Limits { merchant_rate: 0, client_rate: 0, ..Limits::default() };
    let world = World::start_with(unlimited, StashLimits::NONE).await;
    let mut said = String::new();
    for (count, number) in TEST_CARDS.iter().map(|card| card.number).enumerate() {
        let path = at(&format!("canary-{count}"));
        let code = if number.len() == 15 { "1234" } else { "123" };
        let stashed = world.post(&path, Some(SHOP), &form(number, code)).await;
        assert_eq!(
            (stashed.status, stashed.json()["Warnings"].as_array().map(Vec::len)),
            (200, Some(0)),
            "{}",
            stashed.body
        );
        let last4 = &number[number.len() - 4..];
        assert_eq!(stashed.json()["Last4"].as_str(), Some(last4));
        // Refused and misplaced ones must not be told either.
        let misplaced = [
            (200, format!("DeviceFingerprint=browser&card={{\"Number\":{number}}}")),
            (400, format!("DeviceFingerprint=browser&card={number}")),
            (400, format!("DeviceFingerprint=browser&card={{\"Number\":\"{number}\"")),
            (400, format!("DeviceFingerprint=browser&{number}=1&card")),
            (400, format!("card={{\"Number\":\"{number}\",\"{number}\":1,\"Expiry\":\"{number}\"}}")),
        ];
        for (status, form) in misplaced {
            let refused = world.post(&path, None, &form).await;
            assert_eq!(refused.status, status, "{}", refused.body);
            said.push_str(&refused.body);
        }
        said.push_str(&world.send("POST", &path, &[("Content-Type", "application/json")], number).await.body);
        said.push_str(&stashed.body);
    }
    let folder = world.folder.path().to_owned();
    let kept = files(&folder);
    let logs = LINES.lock().expect("the logs").clone();
    assert!(logs.contains("/stash/{merchant}/{stash:.*}"), "the requests were logged:\n{logs}");
    let database: Vec<_> = kept.iter().filter(|(name, _)| name.contains("dropin.db")).collect();
    assert!(database.iter().any(|(_, bytes)| contains(bytes, b"canary-15")), "the entries are in the files looked at");
    assert!(kept.iter().any(|(name, _)| name.ends_with(".key")), "so are the keys");
    for number in TEST_CARDS.iter().map(|card| card.number) {
        for needle in spellings(number) {
            for (name, bytes) in &kept {
                assert!(!contains(bytes, &needle), "{name} holds ...{}", &number[number.len() - 4..]);
            }
            assert!(!contains(logs.as_bytes(), &needle), "a log line holds ...{}", &number[number.len() - 4..]);
            assert!(!contains(said.as_bytes(), &needle), "an answer holds ...{}", &number[number.len() - 4..]);
        }
    }
    world.stop().await;
}
