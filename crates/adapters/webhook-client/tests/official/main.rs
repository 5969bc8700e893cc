//! What the client sends over HTTP, judged by others: the official library of Standard Webhooks and what docs/INTEGRATION.md tells merchants
//! to do.

mod receiver;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dropin_kernel::{EventId, Timestamp};
use dropin_notification::AttemptOutcome;
use dropin_ports::{WebhookRequest, WebhookSender};
use dropin_webhook_client::{TargetPolicy, WebhookClient, WebhookClientConfig};
use receiver::{Captured, Receiver};
use serde_json::{Value, json};
use uuid::Uuid;

const NEW: [u8; 32] = *b"\xff\xfe\x00 the secret of now, 32 bytes.";
const OLD: [u8; 32] = *b"\x80\x81\x00 the one before it, 32 bytes.";
const MINUTE: i64 = 60 * 1_000_000;

/// As the merchant was shown it.
fn shown(secret: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

/// What the merchant's server got, and whether it should believe it under this secret.
struct Case {
    what: &'static str,
    got: Captured,
    secret: String,
    good: bool,
}

fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since_1970.as_micros()).expect("before the year 294247")
}

struct World {
    receiver: Receiver,
    client: WebhookClient,
}

impl World {
    async fn start() -> Self {
        let client = WebhookClient::start(WebhookClientConfig::new(TargetPolicy::sandbox())).expect("a thread");
        Self { receiver: Receiver::start().await, client }
    }

    /// Sends a notification of the Order's state as the `sequence`-th of its payment and returns what arrived.
    async fn send(&self, state: &str, sequence: i64, secrets: &[[u8; 32]], at: i64) -> Captured {
        let body = format!(
            r#"{{"EventType":"ORDER","Order":{{"OrderId":"1","State":"{state}","MerchantReference":"order-1001"}}, "Name":"Käthe €"}}"#
        );
        let request = WebhookRequest {
            url: self.receiver.url(),
            event_id: EventId::new(Uuid::from_u128(0xabc_0000 + u128::try_from(sequence).expect("small"))),
            sequence,
            body: body.into_bytes(),
            secrets: secrets.iter().map(|secret| secret.to_vec()).collect(),
            at: Timestamp::from_micros(at),
        };
        let sent = self.client.send(request).await;
        assert_eq!(sent.outcome, AttemptOutcome::Answered { status: 200, retry_after: None });
        self.receiver.last()
    }
}

/// Everything that a merchant may get to see from us, and what others might make of it.
async fn cases() -> Vec<Case> {
    let world = World::start().await;
    let case = |what, got: &Captured, secret: &[u8], good| Case { what, got: got.clone(), secret: shown(secret), good };
    let changed = |got: &Captured, name: &str, value: &str| {
        let mut got = got.clone();
        got.headers.insert(name.to_owned(), value.to_owned());
        got
    };
    let one = world.send("PAYMENT_AUTHORIZED", 2, &[NEW], now()).await;
    let again = world.send("PAYMENT_AUTHORIZED", 2, &[NEW], now() + 2_000_000).await;
    let both = world.send("PROCESSED", 3, &[NEW, OLD], now()).await;
    let late = world.send("PROCESSING", 1, &[NEW], now()).await;
    let stale = world.send("PROCESSED", 4, &[NEW], now() - 6 * MINUTE).await;
    let early = world.send("PROCESSED", 4, &[NEW], now() + 6 * MINUTE).await;
    let mut other_body = one.clone();
    other_body.body.retain(|byte| *byte != b' ');
    let forged = both.headers["webhook-signature"].replace("v1,", "v1,AAAA");
    vec![
        case("one secret", &one, &NEW, true),
        case("the same once more, signed anew", &again, &NEW, true),
        case("two secrets, by the new one", &both, &NEW, true),
        case("two secrets, by the old one", &both, &OLD, true),
        case("an older one that comes late", &late, &NEW, true),
        case("another secret", &one, &OLD, false),
        case("the body written anew", &other_body, &NEW, false),
        case("another id", &changed(&one, "webhook-id", "msg_other"), &NEW, false),
        case("another time", &changed(&one, "webhook-timestamp", &again_time(&one)), &NEW, false),
        case("no right signature", &changed(&both, "webhook-signature", &forged), &NEW, false),
        case(
            "another scheme",
            &changed(&one, "webhook-signature", &one.headers["webhook-signature"].replace("v1,", "v2,")),
            &NEW,
            false,
        ),
        case("too old", &stale, &NEW, false),
        case("from the future", &early, &NEW, false),
    ]
}

fn again_time(one: &Captured) -> String {
    let seconds: i64 = one.headers["webhook-timestamp"].parse().expect("seconds");
    (seconds - 1).to_string()
}

/// A folder of this test's own that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dropin-official-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Self(folder)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    fn write_cases(&self, cases: &[Case]) -> PathBuf {
        let all = cases.iter().map(|case| {
            json!({ "headers": case.got.headers, "body": STANDARD.encode(&case.got.body), "secret": case.secret })
        });
        self.write("cases.json", &Value::from_iter(all).to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The code block of docs/INTEGRATION.md whose first line begins so.
fn documented(first: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/INTEGRATION.md");
    let text = std::fs::read_to_string(path).expect("the guide");
    let mut blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let found = blocks.find(|(_, code)| code.starts_with(first));
    found.unwrap_or_else(|| panic!("docs/INTEGRATION.md has no code block that begins with {first:?}")).1.to_owned()
}

/// Runs a judge and reads what it says.
fn judged(program: &str, script: &str, arguments: &[PathBuf]) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/official");
    let ran = Command::new(program).arg(folder.join(script)).args(arguments).output();
    let advice = "`cargo xtask test --only install` brings what this test needs";
    let ran = ran.unwrap_or_else(|error| panic!("cannot start {program}: {error}; {advice}"));
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{script} failed; {advice}\n{complaint}");
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{script} said no JSON: {error}\n{complaint}"))
}

#[tokio::test]
async fn the_official_library_and_our_guide_believe_what_is_ours_and_nothing_else() {
    let (cases, folder) = (cases().await, Folder::new("node"));
    let snippet = folder.write("guide.mjs", &documented("// Node.js."));
    let verdicts = judged("node", "verify.mjs", &[folder.write_cases(&cases), snippet]);
    let verdicts = verdicts.as_array().expect("one verdict a case");
    assert_eq!(verdicts.len(), cases.len());
    for (case, verdict) in cases.iter().zip(verdicts) {
        assert_eq!(verdict, &json!({ "library": case.good, "documented": case.good }), "{}", case.what);
    }
    assert_eq!(cases[2].got.headers["webhook-signature"].split(' ').count(), 2, "both secrets sign");
}

#[tokio::test]
async fn our_guide_in_python_and_sql_keeps_each_once_and_the_latest_state() {
    let (cases, folder) = (cases().await, Folder::new("python"));
    let snippet = folder.write("guide.py", &documented("# Python."));
    let statements = folder.write("guide.sql", &documented("INSERT INTO notification"));
    let verdict = judged("python3", "verify.py", &[folder.write_cases(&cases), snippet, statements]);
    let good: Vec<bool> = cases.iter().map(|case| case.good).collect();
    assert_eq!(verdict["documented"], json!(good));
    // The second is the first again, the fourth the third; the fifth is an older one that comes late.
    assert_eq!(verdict["filed"], json!([true, false, true, false, true]));
    assert_eq!(verdict["purchase"], json!(["PROCESSED", 3]), "an older one takes nothing back");
}

/// Names as they are to be looked up: in lower case.
fn headers_of(head: &str) -> BTreeMap<String, String> {
    let pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect()
}
