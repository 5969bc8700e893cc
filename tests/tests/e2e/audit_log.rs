//! Every act that changes anything on a person's behalf is in the audit log, and the log is sealed (docs/SPECIFICATION.md#audit-log). Every operation of the
//! merchants' services has a row here; an operation without a row fails. Commands have theirs in `bins/dropin/tests/cli/audited_commands.rs`.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dropin_tests::{Response, World, cards, until};
use serde_json::{Value, json};

use crate::contracts::opened;
use crate::disputes::{disputed, form, hand_in, path, then};
use crate::{AUTHORIZED, PAID};

/// What an operation leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    /// An entry with this action.
    Entry(&'static str),
    /// It begins something or pays: history says so, and who did it.
    History,
    /// It only reads.
    Nothing,
}

use Trace::{Entry, History, Nothing};

const OPERATIONS: &[(&str, Trace)] = &[
    ("createSession", History),
    ("getSession", Nothing),
    ("replaceSession", History),
    ("cancelSession", Entry("SESSION_CANCEL")),
    ("listContracts", Nothing),
    ("getContract", Nothing),
    ("findOrder", Nothing),
    ("getOrder", Nothing),
    ("captureOrder", Entry("ORDER_CAPTURE")),
    ("cancelOrder", Entry("ORDER_CANCEL")),
    ("refundOrder", Entry("ORDER_REFUND")),
    ("listDisputes", Nothing),
    ("acceptDispute", Entry("DISPUTE_ACCEPT")),
    ("handInEvidence", Entry("DISPUTE_EVIDENCE")),
    ("listRefunds", Nothing),
    ("getRefund", Nothing),
    ("listEvents", Nothing),
    ("getRates", Nothing),
    ("checkout", History),
    ("captureCheckout", Entry("ORDER_CAPTURE")),
    ("cancelCheckout", Entry("ORDER_CANCEL")),
    ("refundCheckout", Entry("ORDER_REFUND")),
    ("queryCheckout", Nothing),
    ("openContract", History),
    ("closeContract", Entry("CONTRACT_CLOSE")),
    ("getPaymentMethods", Nothing),
    ("startWalletSession", Nothing),
];

#[test]
fn every_operation_has_a_row() {
    let all = session_api::OPERATIONS.iter().chain(checkout_api::OPERATIONS);
    let operations: BTreeSet<_> = all.clone().map(|operation| operation.name).collect();
    let rows: BTreeSet<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(operations, rows, "operations on the left, rows on the right");
    for operation in all.filter(|operation| operation.method == "GET") {
        assert!(OPERATIONS.contains(&(operation.name, Nothing)), "{} changes nothing", operation.name);
    }
}

/// The entries of the merchant, oldest first.
fn entries(world: &World) -> Vec<Value> {
    let printed = world.programs.run_dropin(&["audit", "list", "--merchant", &world.merchant.id, "--json"]);
    let mut found: Vec<Value> = serde_json::from_str(&printed).unwrap();
    found.reverse();
    found
}

fn heads(world: &World) -> String {
    world.programs.run_dropin(&["audit", "head"])
}

fn verify(world: &World) -> Value {
    serde_json::from_str(&world.programs.run_dropin(&["audit", "verify", "--json"])).unwrap()
}

/// Waits until every entry has its seal.
async fn sealed(world: &World) {
    until("everything is sealed", Duration::from_secs(10), async || (verify(world)["Waiting"] == 0).then_some(()))
        .await;
}

#[track_caller]
fn is_done(answer: &Response) {
    assert!((200..300).contains(&answer.status), "{} {}", answer.status, answer.text());
}

/// A server-to-server payment that is authorized.
async fn authorized_checkout(world: &World, number: &str) -> String {
    let stashed = world.stash(&world.merchant, number).await;
    let card = json!({
        "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint, "Capture": false,
    });
    let answer = world.merchant.post_checkout("", None, &world.merchant.checkout_request(card)).await;
    is_done(&answer);
    answer.json()["OrderId"].as_str().unwrap().to_owned()
}

/// Runs an operation that acts, and says what it acted on.
async fn act(world: &World, operation: &str) -> String {
    let merchant = &world.merchant;
    let id = |order: &Value| order["OrderId"].as_str().unwrap().to_owned();
    let about = |order: &str| json!({"MerchantId": merchant.id, "OrderId": order});
    match operation {
        "cancelSession" => {
            let session = merchant.create_session(json!({})).await;
            is_done(&merchant.cancel(&session).await);
            session
        }
        "captureOrder" | "cancelOrder" => {
            let paid = world.authorized(cards::VISA).await;
            is_done(&match operation {
                "captureOrder" => merchant.capture(&paid.order, None).await,
                _ => merchant.cancel_order(&paid.order).await,
            });
            id(&paid.order)
        }
        "refundOrder" => {
            let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
            world.receiver.expect(&paid.session, &PAID).await;
            is_done(&merchant.refund(&paid.order, "r-1", Some("9.90")).await);
            world.receiver.expect(&paid.session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
            id(&paid.order)
        }
        "acceptDispute" | "handInEvidence" => {
            let (paid, dispute) = disputed(world).await;
            let (answer, told) = match operation {
                "acceptDispute" => {
                    (merchant.about("POST", &paid.order, &path(&dispute, "accept"), None).await, "DISPUTE_CLOSED")
                }
                _ => (hand_in(world, &paid, &dispute, form("Sent by post."), "audited").await, "DISPUTE_UPDATED"),
            };
            is_done(&answer);
            world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", told])).await;
            id(&paid.order)
        }
        "captureCheckout" | "cancelCheckout" => {
            let order = authorized_checkout(world, cards::VISA).await;
            let what = if operation == "captureCheckout" { "/capture" } else { "/cancel" };
            is_done(&merchant.post_checkout(what, None, &about(&order)).await);
            order
        }
        "refundCheckout" => {
            let order = authorized_checkout(world, cards::VISA).await;
            is_done(&merchant.post_checkout("/capture", None, &about(&order)).await);
            let mut body = about(&order);
            body["RefundReference"] = "r-2".into();
            body["Amount"] = 1.into();
            is_done(&merchant.post_checkout("/refund", None, &body).await);
            order
        }
        "closeContract" => {
            let contract = opened(world, cards::VISA, json!({})).await;
            let body = json!({"MerchantId": merchant.id, "ContractId": contract});
            is_done(&merchant.post_checkout("/closeContract", None, &body).await);
            world.receiver.expect(&contract, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
            contract
        }
        other => panic!("say how {other} acts"),
    }
}

crate::both! {
    /// Each operation that acts leaves one entry of the API user who asked, from where, with what stood before and after; nothing else leaves one.
    async fn every_operation_that_acts_is_on_the_record(world: &World) {
        let user = world.merchant.credentials()["Username"].clone();
        for (operation, trace) in OPERATIONS {
            let Entry(action) = trace else { continue };
            let before = entries(world).len();
            let subject = act(world, operation).await;
            let all = entries(world);
            let new: Vec<_> = all[before..].iter().filter(|entry| entry["SubjectId"] == json!(subject) && entry["Action"] == json!(action)).collect();
            assert_eq!(new.len(), 1, "{operation}: {:?}", &all[before..]);
            let entry = new[0];
            assert_eq!((&entry["Actor"], &entry["Name"]), (&json!("MERCHANT"), &user), "{entry}");
            assert_eq!((&entry["Address"], &entry["MerchantId"]), (&json!("127.0.0.1"), &json!(world.merchant.id)), "{entry}");
            assert_ne!(entry["Before"], entry["After"], "{entry}");
            assert!(entry["Before"]["State"].is_string() && entry["After"]["State"].is_string(), "{entry}");
        }
        let refund = entries(world).into_iter().find(|entry| entry["Action"] == "ORDER_REFUND").unwrap();
        assert_eq!((&refund["After"]["Amount"], &refund["After"]["RefundReference"]), (&json!("9.90"), &json!("r-1")), "{refund}");
        // What pays, reads, or is refused leaves none.
        let before = entries(world).len();
        let paid = world.authorized(cards::VISA).await;
        world.receiver.expect(&paid.session, &AUTHORIZED).await;
        assert_eq!(world.merchant.refund(&paid.order, "early", None).await.status, 409);
        assert_eq!(entries(world).len(), before, "{:?}", entries(world));
        sealed(world).await;
        let report = verify(world);
        assert_eq!((&report["Whole"], &report["Findings"]), (&json!(true), &json!([])), "{report}");
    }

    /// Reviews, replays, wallets and settings by command name the OS user and the note.
    async fn commands_on_payments_are_on_the_record(world: &World) {
        let held = world.paid(cards::UNDER_REVIEW, json!({"AutoCapture": false})).await;
        let told = world.receiver.expect(&held.session, &AUTHORIZED).await;
        let order = held.order["OrderId"].as_str().unwrap();
        let run = |arguments: &[&str]| world.programs.run_dropin(arguments);
        run(&["order", "review", order, "approve", "--as", "ada", "--note", "called the shopper"]);
        world.receiver.expect(&held.session, &[&AUTHORIZED[..], &["ORDER_REVIEW_APPROVED"]].concat()).await;
        run(&["notification", "replay", &told[0].id, "--as", "ada"]);
        world.set_wallet_up().await;
        run(&["wallet", "remove", &world.merchant.id]);
        let all = entries(world);
        for action in ["MERCHANT_CREATE", "REVIEW_APPROVE", "NOTIFICATION_REPLAY", "WALLET_SET", "WALLET_DOMAIN_ADD", "WALLET_REMOVE"] {
            let entry = all.iter().find(|entry| entry["Action"] == action);
            let entry = entry.unwrap_or_else(|| panic!("{action} in {all:?}"));
            assert_eq!(entry["Actor"], "COMMAND_LINE", "{entry}");
            assert!(entry["Name"].as_str().is_some_and(|name| !name.is_empty()), "{entry}");
        }
        let review = all.iter().find(|entry| entry["Action"] == "REVIEW_APPROVE").unwrap();
        assert_eq!((&review["Note"], &review["SubjectId"]), (&json!("called the shopper"), &json!(order)), "{review}");
        assert_eq!((&review["Before"]["UnderReview"], &review["After"]["UnderReview"]), (&json!(true), &json!(false)), "{review}");
        let text = all.iter().map(Value::to_string).collect::<String>();
        for secret in ["whsec_", "PRIVATE KEY", "BEGIN CERTIFICATE"] {
            assert!(!text.contains(secret), "{secret}");
        }
        assert!(!text.contains(&world.merchant.password()));
    }

    /// An entry is sealed within a second or so, and a head that was kept elsewhere goes on being true.
    async fn entries_are_sealed_within_a_second(world: &World) {
        sealed(world).await;
        let kept = heads(world);
        let line = kept.lines().find(|line| line.starts_with(&world.merchant.id)).unwrap().to_owned();
        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--name", "Renamed", "--note", "a new sign"]);
        let begun = Instant::now();
        until("the head moves on", Duration::from_secs(10), async || (heads(world) != kept).then_some(())).await;
        // Two commands start meanwhile, on a machine that may have much else to do.
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        world.programs.run_dropin(&["audit", "verify", "--head", &line]);
        let mut other = line.clone();
        let last = other.pop().unwrap();
        other.push(if last == '0' { '1' } else { '0' });
        let refused = world.programs.try_dropin(&["audit", "verify", "--head", &other]).unwrap_err();
        assert!(refused.contains("BROKEN"), "{refused}");
        let beyond = format!("{}:999:{}", world.merchant.id, line.rsplit(':').next().unwrap());
        let refused = world.programs.try_dropin(&["audit", "verify", "--head", &beyond]).unwrap_err();
        assert!(refused.contains("there was a number 999"), "{refused}");
    }

    /// What OPERATIONS.md tells an auditor to run.
    async fn an_auditor_checks_an_export_with_the_public_key_alone(world: &World) {
        sealed(world).await;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).display().to_string();
        let export = file("audit.jsonl");
        world.programs.run_dropin(&["audit", "export", "--from", "1h", "--to", "2100-01-01T00:00:00Z", "--output", &export]);
        std::fs::write(file("audit.pem"), world.programs.run_dropin(&["audit", "key"])).unwrap();
        let lines = std::fs::read_to_string(&export).unwrap();
        assert!(lines.lines().any(|line| line.contains("MERCHANT_CREATE") && line.contains("\"Sequence\":1")), "{lines}");
        let succeeds = |program: &str, arguments: &[&str]| {
            let mut command = std::process::Command::new(program);
            let command = command.args(arguments).current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().unwrap_or_else(|error| panic!("{program}: {error}")).success()
        };
        let hash = || succeeds("sha256sum", &["-c", "audit.jsonl.sha256"]);
        let signature = || succeeds("openssl", &[
            "pkeyutl", "-verify", "-pubin", "-inkey", "audit.pem", "-rawin", "-in", "audit.jsonl.sha256", "-sigfile", "audit.jsonl.sha256.sig",
        ]);
        assert!(hash() && signature());
        std::fs::write(&export, lines.replacen("MERCHANT_CREATE", "MERCHANT_CHANGE", 1)).unwrap();
        assert!(!hash() && signature(), "the file was altered");
        let manifest = std::fs::read_to_string(file("audit.jsonl.sha256")).unwrap();
        std::fs::write(file("audit.jsonl.sha256"), manifest.replacen('a', "b", 1).replacen('0', "1", 1)).unwrap();
        assert!(!signature(), "its hash was altered");
    }
}
