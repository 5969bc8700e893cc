//! No name of the repository is a metaphor where the field has a term (docs/GLOSSARY.md): what is refused, and where.

use std::fs;
use std::path::{Path, PathBuf};

const EVERYWHERE: &[&str] = &["crates", "bins", "tests", "xtask"];
const STORE: &[&str] = &["crates/adapters/store/", "crates/adapters/store-runtime/", "crates/adapters/store-contract/"];
const HTTP: &[&str] = &["crates/edge/http/"];
const USE_CASES: &[&str] = &["crates/application/usecases/"];
const PROCESSOR: &[&str] = &["crates/adapters/processor-http/"];
const DELIVERY: &[&str] = &["crates/application/usecases/src/deliver", "bins/notifier/"];

/// Names of files, modules, types, functions, constants and fields, with the term that stands for each, and the paths where the name is refused.
/// Words of the specification (Rates, post, journal of a processor) stay where they mean that.
const REFUSED: &[(&[&str], &str, &[&str])] = &[
    (
        &["Till", "till", "Tender", "tender", "Begun"],
        "AuthorizationFlow, PaymentInstrument, PrepareOutcome",
        EVERYWHERE,
    ),
    (&["breathe", "LONGEST_BREATH", "DECISIONS"], "backoff, MAX_BACKOFF, MAX_CAS_RETRIES", EVERYWHERE),
    (
        &["Terms"],
        "DecisionPolicy, ListenerContext",
        &["crates/application/usecases/src/payments/decide", "crates/edge/http/"],
    ),
    (&["Told"], "IdempotentOutcome, AttemptDisplay, AttemptUpdate", EVERYWHERE),
    (
        &["Flights", "flights", "landing", "Landed", "flying", "hungry"],
        "Dispatcher, FinishedAttempt, in_flight",
        EVERYWHERE,
    ),
    (&["Share", "Passage", "Looks", "look"], "EndpointState, BreakerPermit, PollThrottle, probe", DELIVERY),
    (&["lane", "Lane", "Ticket", "Timekeeper"], "worker pool, PendingCall, DeadlineTimer", EVERYWHERE),
    (
        &["Together", "together", "beside_others", "sorts", "Bunch"],
        "Batchable, run_batched, batch queues, Batch",
        STORE,
    ),
    (&["HASTY", "Wish", "wish"], "ASYNC_COMMIT, InputRow", EVERYWHERE),
    (&["Bell", "bell", "Ear", "ear", "deaf"], "WakeSignal, Subscription, polling fallback", EVERYWHERE),
    (&["journal", "remember", "announce"], "append_history, enqueue_events, post_ledger", STORE),
    (&["standing", "standing_of", "Standing"], "status, endpoint_status, queue_stats, RequestQuota", EVERYWHERE),
    (&["Dossier", "dossier"], "OrderDetails", EVERYWHERE),
    (
        &["door", "Door", "Crowd", "crowd", "kept", "watched", "open.rs", "Gate"],
        "acceptor, ConnectionLimiter, caching, AuthState",
        HTTP,
    ),
    (&["Rates", "Standing"], "RateLimiter, RequestQuota", HTTP),
    (&["Door", "door"], "StashQuota, ThrottleDecision", EVERYWHERE),
    (&["gate"], "strict_json", &["crates/application/wire/"]),
    (&["Compartment", "Place"], "Bulkhead, Permit", PROCESSOR),
    (&["Looks"], "PollThrottle", USE_CASES),
    (
        &["feed"],
        "event_log, rate_source, live pages",
        &[
            "crates/application/",
            "crates/adapters/store/src/",
            "crates/adapters/store-runtime/src/",
            "crates/adapters/rate-source/src/",
            "bins/admin-panel/",
        ],
    ),
    (&["books", "book"], "operation_store, purchases, delivery_log", EVERYWHERE),
    (&["Bench", "bench"], "Harness", &["crates/adapters/store-contract/"]),
    (
        &["answer.rs", "answers.rs", "words.rs", "face.ts", "counter.js"],
        "response, enums, view-model, backoffice",
        EVERYWHERE,
    ),
    (&["OTHERWISE", "TWICE", "NOT_HERE", "MOST", "MANY", "ENOUGH"], "a constant carries its noun and unit", EVERYWHERE),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every source file below the top folders, by its path from the root.
fn sources() -> Vec<String> {
    let mut folders: Vec<PathBuf> = EVERYWHERE.iter().map(|top| root().join(top)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && !["node_modules", "target", "dist"].contains(&name.as_str()) {
                folders.push(path);
            } else if [".rs", ".ts", ".js", ".mjs"].iter().any(|ending| name.ends_with(ending)) {
                let path = path.strip_prefix(root()).expect("a path below the root");
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// The names that a line of Rust defines: of an item, or of a field.
fn defined(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for word in ["pub(crate) ", "pub(super) ", "pub ", "async ", "unsafe ", "const fn ", "const unsafe "] {
        rest =
            rest.strip_prefix(word).map_or(rest, |rest| if word.ends_with("fn ") { rest } else { rest.trim_start() });
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let name = |text: &'_ str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    for word in ["struct ", "enum ", "trait ", "type ", "mod ", "fn ", "const ", "static "] {
        if let Some(item) = rest.strip_prefix(word) {
            return Some(&item[..name(item)]);
        }
    }
    let field = &rest[..name(rest)];
    let after = &rest[field.len()..];
    (!field.is_empty() && after.starts_with(": ") && after.ends_with(',')).then_some(field)
}

/// Words that a longer name may have, because they mean there what they say: `ToldCardFacts`.
const PLAIN_IN_LONGER_NAMES: &[&str] = &["Told"];

/// The words of the name of a file or a type, which a metaphor may be one of. Functions, fields and constants are sentences at times: only their whole
/// names are refused.
fn parts(name: &str) -> Vec<&str> {
    let is_file = name.contains('.');
    let is_type = name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
    let split: Vec<&str> = match (is_file, is_type) {
        (true, _) => name.split(['.', '_', '-']).collect(),
        (_, true) => name.match_indices(char::is_uppercase).map(|(at, _)| &name[at..]).map(first_word).collect(),
        _ => Vec::new(),
    };
    split.into_iter().filter(|part| !PLAIN_IN_LONGER_NAMES.contains(part)).collect()
}

/// `KeyStatus` begins with `Key`.
fn first_word(name: &str) -> &str {
    let end = name.char_indices().skip(1).find(|(_, c)| c.is_uppercase()).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

#[test]
fn nothing_is_named_by_a_metaphor() {
    let mut refused = Vec::new();
    let sources = sources();
    assert!(500 < sources.len(), "only {} sources: this test looks in the wrong place", sources.len());
    for path in &sources {
        let rules: Vec<_> =
            REFUSED.iter().filter(|(.., paths)| paths.iter().any(|top| path.starts_with(top))).collect();
        let mut names: Vec<String> = path.split('/').map(ToOwned::to_owned).collect();
        names.extend(path.split('/').filter_map(|part| part.split_once('.')).map(|(stem, _)| stem.to_owned()));
        let text = fs::read_to_string(root().join(path)).expect("a source file");
        if path.ends_with(".rs") {
            names.extend(text.lines().filter_map(defined).map(ToOwned::to_owned));
        }
        for name in names {
            let is_refused = |word: &&str| *word == name || parts(&name).contains(word);
            let rule = rules.iter().find(|(words, ..)| words.iter().any(is_refused));
            refused.extend(rule.map(|(_, term, _)| format!("{path}: {name} (say: {term})")));
        }
    }
    refused.sort();
    refused.dedup();
    assert!(refused.is_empty(), "these names are metaphors:\n{}", refused.join("\n"));
}

#[test]
fn a_name_is_found_where_it_is_defined() {
    for (line, name) in [
        ("pub(crate) struct Till<'a> {", Some("Till")),
        ("    pub async fn breathe(&self) {", Some("breathe")),
        ("    pub(super) told: bool,", Some("told")),
        ("const MOST: usize = 5;", Some("MOST")),
        ("    let lane = 5;", None),
        ("    // fn lane", None),
    ] {
        assert_eq!(defined(line), name, "{line}");
    }
}

#[test]
fn a_metaphor_is_found_in_a_longer_name() {
    assert_eq!(parts("KeyStanding"), ["Key", "Standing"]);
    assert_eq!(parts("key_standing.rs"), ["key", "standing", "rs"]);
    for sentence in ["what_stood_otherwise", "MAX_TOLD", "told", "ToldCardFacts"] {
        assert!(!parts(sentence).iter().any(|part| ["Told", "told", "otherwise"].contains(part)), "{sentence}");
    }
}
