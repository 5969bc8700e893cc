//! The shop of docs/INTEGRATION.md, as it stands there: two files, cut out of the document and run.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use dropin_tests::{World, browser, cards, until};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::PAID;

/// The code block behind `<!-- sample: NAME -->`.
fn cut_out(name: &str) -> String {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/INTEGRATION.md")).unwrap();
    let (_, rest) =
        document.split_once(&format!("<!-- sample: {name} -->\n```")).unwrap_or_else(|| panic!("no sample {name}"));
    let (_language, code) = rest.split_once('\n').unwrap();
    code.split_once("\n```\n").unwrap().0.to_owned()
}

/// The shop, for the world's merchant; killed when dropped.
struct Sample {
    url: String,
    _process: Child,
}

impl Sample {
    async fn start(world: &World) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://localhost:{port}");
        let merchant = &world.merchant.id;
        world.programs.run_dropin(&["merchant", "set", merchant, "--origin", &url]);
        let webhook = format!("{url}/webhook");
        let added = world.programs.run_dropin(&["merchant", "endpoint", "add", merchant, "--url", &webhook, "--json"]);
        let added: Value = serde_json::from_str(&added).unwrap();
        let folder = world.data.join("sample");
        fs::create_dir(&folder).unwrap();
        for name in ["server.mjs", "shop.html"] {
            fs::write(folder.join(name), cut_out(name)).unwrap();
        }
        let credentials = world.merchant.credentials();
        let process = Command::new("node")
            .arg("server.mjs")
            .current_dir(&folder)
            .env("BASE_URL", &world.base)
            .env("ASSET_URL", &world.asset)
            .env("SHOP_URL", &url)
            .env("API_USERNAME", credentials["Username"].as_str().unwrap())
            .env("API_PASSWORD", credentials["Password"].as_str().unwrap())
            .env("WEBHOOK_SECRET", added["WebhookSecret"].as_str().unwrap())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts (cargo xtask test installs it)");
        until("the sample answers", Duration::from_secs(20), async || {
            tokio::net::TcpStream::connect(("localhost", port)).await.ok()
        })
        .await;
        Self { url, _process: process }
    }
}

/// The table of test numbers names every one there is, and no other.
#[test]
fn the_document_names_every_test_number() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/INTEGRATION.md")).unwrap();
    let (_, section) = document.split_once("## 8. Test numbers").unwrap();
    let (table, _) = section.split_once("\n### ").unwrap();
    let digits = table.split(|c: char| !c.is_ascii_digit()).filter(|digits| 12 < digits.len());
    let (named, known): (BTreeSet<_>, BTreeSet<_>) = (digits.collect(), cards::all().collect());
    assert_eq!(named, known);
}

/// The page of section 3 waits for its server in a module's way; a classic script cannot.
#[test]
fn the_script_of_the_page_in_section_3_is_a_module() {
    let page = cut_out("page.html");
    assert!(page.contains(r#"<script type="module" src="/checkout.js"></script>"#), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("checkout.mjs");
    fs::write(&script, cut_out("checkout.js")).unwrap();
    let checked = std::process::Command::new("node").arg("--check").arg(&script).output().expect("node starts");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

crate::both! {
    /// Reload, Back, a second tab and another press on "Buy": one Session, paid once.
    async fn the_sample_shop_is_paid_once(world: &World) {
        let sample = Sample::start(world).await;
        let seen = browser::run("sample", &json!({"shop": sample.url, "number": cards::VISA})).await;
        assert_eq!(seen["problems"], json!([]), "{seen}");
        let sessions: BTreeSet<_> = seen["sessions"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert_eq!(sessions.len(), 1, "{seen}");
        assert!(4 < seen["sessions"].as_array().unwrap().len(), "it was asked for again and again: {seen}");
        assert_eq!((&seen["texts"], &seen["back"]), (&json!(["Paid. Thank you!", "Paid. Thank you!"]), &json!("/")), "{seen}");
        let session = *sessions.first().unwrap();
        world.merchant.adopt(session);
        world.receiver.expect(session, &PAID).await;
        assert_ne!(seen["next"], session, "the next purchase has a Session of its own");
        world.merchant.adopt(seen["next"].as_str().unwrap());
    }

    /// A transfer ends the purchase and begins the wait: the account stays in sight, the next cart is free, and in the end the page says so and rests.
    async fn the_sample_shop_shows_where_to_transfer_to(world: &World) {
        let sample = Sample::start(world).await;
        for (arrives, text) in [(true, "Paid. Thank you!"), (false, "The order was cancelled")] {
            let seen = browser::run("sampleTransfer", &json!({"shop": sample.url})).await;
            let (session, next) = (seen["session"].as_str().unwrap(), seen["next"].as_str().unwrap());
            for made in [session, next] {
                world.merchant.adopt(made);
            }
            assert_eq!((&seen["problems"], &seen["path"]), (&json!([]), &json!("/thanks")), "{seen}");
            assert_ne!(session, next, "the next purchase has a Session of its own");
            let shown = &world.merchant.session(session).await["Order"];
            for one in seen["seen"].as_array().unwrap() {
                assert!(one["text"].as_str().unwrap().contains("transfer €29.00"), "{seen}");
                let bank = one["bank"].as_str().unwrap();
                assert!(bank.contains(shown["BankDetails"]["Iban"].as_str().unwrap()), "{seen}");
                assert!(bank.contains(shown["BankDetails"]["PaymentReference"].as_str().unwrap()), "{seen}");
            }
            if arrives {
                world.transfer_arrives(shown["OrderId"].as_str().unwrap(), None).await;
            } else {
                assert_eq!(world.merchant.cancel_order(shown).await.status, 200);
            }
            let ended = browser::run("sampleEnd", &json!({"shop": sample.url, "session": session, "text": text})).await;
            assert_eq!((&ended["problems"], &ended["bank"], &ended["asked"]), (&json!([]), &json!(""), &json!(0)), "{ended}");
        }
    }

    /// Without dropin.js, and without an answer of its own server, the page says what happened.
    async fn the_sample_shop_says_what_is_missing(world: &World) {
        let sample = Sample::start(world).await;
        let seen = browser::run("sampleTroubles", &json!({"shop": sample.url})).await;
        assert_eq!(seen, json!(["The payment form did not load. Check your connection.", "The shop does not answer."]));
    }
}
