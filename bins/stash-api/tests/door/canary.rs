//! No card number may be found anywhere after it was stashed.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use log::kv::{self, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};

use crate::world::{SHOP, World, at, form};

/// Published test numbers (decisions.md section 10).
const NUMBERS: [&str; 16] = [
    "4242424242424242",
    "5555555555554444",
    "378282246310005",
    "6011111111111117",
    "3530111333300000",
    "30569309025904",
    "4000000000000002",
    "4000000000009995",
    "4000000000003220",
    "4000000000009235",
    "4000000000002016",
    "4000000000000341",
    "4000000000007726",
    "4000000000005126",
    "4000000000000119",
    "4000000000003014",
];

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
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[actix_web::test]
async fn no_test_number_is_in_the_database_the_keys_the_logs_or_an_answer() {
    record_logs();
    let world = World::start().await;
    let mut said = String::new();
    for (count, number) in NUMBERS.iter().enumerate() {
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
            format!("DeviceFingerprint=browser&card={{\"Number\":{number}}}"),
            format!("DeviceFingerprint=browser&card={number}"),
            format!("DeviceFingerprint=browser&card={{\"Number\":\"{number}\""),
            format!("DeviceFingerprint=browser&{number}=1&card"),
            format!("card={{\"Number\":\"{number}\",\"{number}\":1,\"Expiry\":\"{number}\"}}"),
        ];
        for form in misplaced {
            let refused = world.post(&path, None, &form).await;
            assert_eq!(refused.status, 400, "{}", refused.body);
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
    for number in NUMBERS {
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
