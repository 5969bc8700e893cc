//! A deployment with two processors side by side: the sandbox processor, and a stand-in of ours for Stripe, written from its API reference.

use std::fs;
use std::time::Duration;

use dropin_tests::{Topology, World, cards, until};
use serde_json::{Value, json};

use crate::contracts::{opened, to_charge};
use crate::stripe::stand_in::{KEY, StandIn};
use crate::stripe::{KeyFile, key_was_read, send_event};
use crate::{AUTHORIZED, PAID};

/// A deployment whose file names the stand-in as `acquirer`.
pub(crate) struct Deployment {
    pub(crate) world: World,
    key: KeyFile,
    pub(crate) file: String,
    /// Where the stand-in is.
    pub(crate) stripe: String,
}

impl Deployment {
    pub(crate) async fn start(topology: Topology) -> Self {
        let (key, url) = (KeyFile::new(KEY), format!("http://{}", StandIn::start().await));
        let path = key.path.with_file_name("processors.toml");
        let text = format!(
            "[[processor]]\nid = \"acquirer\"\nkind = \"stripe\"\nurl = \"{url}\"\nkey_file = \"stripe.key\"\n"
        );
        fs::write(&path, text).unwrap();
        let file = path.display().to_string();
        let world = World::start_with(topology, &[("DROPIN_PROCESSORS", &file)]).await;
        Self { world, key, file, stripe: url }
    }

    /// Sets the merchant's rules, and waits until a new Session offers PayPal, which the main processor alone does, or offers it no longer.
    pub(crate) async fn route(&self, rules: &[&str], offers_paypal: bool) {
        let id = self.world.merchant.id.as_str();
        let mut arguments = vec!["--processors", &self.file, "merchant", "processor"];
        arguments.extend(if rules.is_empty() { ["clear", id] } else { ["set", id] });
        rules.iter().for_each(|rule| arguments.extend(["--rule", *rule]));
        self.world.programs.run_dropin(&arguments);
        let session = self.world.merchant.create_session(json!({})).await;
        let shopper = self.world.shopper(&session);
        until("the rules are followed", Duration::from_secs(10), async || {
            let view = shopper.view().await.to_string();
            (view.contains("PAYPAL") == offers_paypal).then_some(())
        })
        .await;
    }
}

/// What the program at an address tells at /metrics.
async fn metrics(address: &str) -> String {
    let url = url::Url::parse(address).unwrap().join("/metrics").unwrap();
    let mut told = awc::Client::default().get(url.as_str()).send().await.unwrap();
    String::from_utf8(told.body().limit(1 << 20).await.unwrap().to_vec()).unwrap()
}

/// A checkout of the merchant's server with what was stored; how its answer tells the money.
async fn charge(world: &World, contract: &str) -> Value {
    let answer = world.merchant.post_checkout("", None, &to_charge(world, contract, json!({}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// Each Order and each stored card stays with the processor that took it, whatever rules the merchant has since. Where one refuses its key, the next that
/// the rule names is asked.
async fn each_payment_stays_with_its_processor(topology: Topology) {
    let mut deployment = Deployment::start(topology).await;
    let unknown = deployment.world.programs.try_dropin(&[
        "merchant",
        "processor",
        "set",
        &deployment.world.merchant.id,
        "--rule",
        "acquirer",
    ]);
    assert!(unknown.unwrap_err().contains("accounts of this merchant are sandbox"));
    // At the main one, as long as no rule says otherwise.
    let first = deployment.world.paid(cards::VISA, json!({})).await;
    deployment.route(&["sandbox currencies=EUR", "acquirer currencies=USD countries=DE,US", "acquirer"], false).await;
    // The sandbox processor refuses the capture of this card for good, and holds payments by the other one for review.
    let second = deployment.world.authorized(cards::CAPTURE_REFUSED).await;
    let third = deployment.world.paid(cards::UNDER_REVIEW, json!({})).await;
    assert_eq!(third.order["UnderReview"], false, "{}", third.order);
    let contract = opened(&deployment.world, cards::VISA, json!({})).await;
    deployment.route(&[], true).await;
    let world = &deployment.world;
    for paid in [&first, &third] {
        world.receiver.expect(&paid.session, &PAID).await;
        let refund = world.merchant.refund(&paid.order, "all", None).await;
        assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refund.text());
        world.receiver.expect(&paid.session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
    }
    world.receiver.expect(&second.session, &AUTHORIZED).await;
    let captured = world.merchant.capture(&second.order, None).await;
    assert_eq!(captured.status, 200, "{}", captured.text());
    world.receiver.expect(&second.session, &PAID).await;
    let charged = charge(world, &contract).await;
    assert_eq!(charged["Captured"], true, "{charged}");
    world.receiver.expect(charged["OrderId"].as_str().unwrap(), &PAID[1..]).await;
    // What only the acquirer does is offered; the acquirer refuses its key, so the next one is asked.
    deployment.route(&["acquirer,sandbox methods=VISA", "acquirer"], false).await;
    deployment.key.put("sk_test_revoked");
    key_was_read(&mut deployment.world, 1).await;
    let world = &deployment.world;
    let next = world.merchant.create_session(json!({})).await;
    until("the next one is asked", Duration::from_secs(20), async || {
        // An acquirer that takes longer than a second to refuse the key is asked for the payment, and refuses that.
        let progress = world.pay(&next, cards::VISA).await;
        assert!(progress["State"] == "COMPLETED" || progress["Attempt"]["ErrorCode"] == "TRY_LATER", "{progress}");
        (progress["State"] == "COMPLETED").then_some(())
    })
    .await;
    world.receiver.expect(&next, &PAID).await;
    world.programs.run_dropin(&["ledger", "verify", "--without-processor"]);
    deployment.world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn each_payment_stays_with_its_processor_by_all_in_one_on_sqlite() {
    each_payment_stays_with_its_processor(Topology::AllInOne).await;
}

#[actix_web::test]
async fn each_payment_stays_with_its_processor_by_every_program_on_postgresql() {
    each_payment_stays_with_its_processor(Topology::Split).await;
}

/// A merchant's payments go to the account that it has of its own, and stay there: also when its key is replaced, and when no rule names it any more.
async fn a_merchant_is_paid_into_its_own_account(topology: Topology) {
    let deployment = Deployment::start(topology).await;
    let (world, id) = (&deployment.world, deployment.world.merchant.id.as_str());
    let command = |line: &str, name: &str, key: Option<&KeyFile>| {
        let key = key.map(|key| key.path.display().to_string());
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let more = key.map(|key| ["--key-file".to_owned(), key]).into_iter().flatten();
        let file =
            ["--processors".to_owned(), deployment.file.clone(), "merchant".to_owned(), "credentials".to_owned()];
        let name = (!name.is_empty()).then(|| name.to_owned());
        let all: Vec<String> = file.into_iter().chain(words).chain([id.to_owned()]).chain(name).chain(more).collect();
        world.programs.try_dropin(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let set = |name: &str, key: &str| command("set", name, Some(&KeyFile::new(key)));
    for (name, key, why) in [
        ("acquirer", "sk_test_own_ana_1", "is a processor's name"),
        ("sandbox.ana", "sk_test_own_ana_1", "which is a sandbox processor"),
        ("gone.ana", "sk_test_own_ana_1", "no processor gone"),
        ("acquirer.ana", "sk_test_own_ana_revoked", "does not accept the key"),
        ("acquirer.ana", "sk_live_own_ana_1", "sk_test_"),
        ("acquirer.ana", "two words", "in one line"),
    ] {
        let refused = set(name, key).unwrap_err();
        assert!(refused.contains(why) && !refused.contains(key), "{refused}");
    }
    set("acquirer.ana", "sk_test_own_ana_1").unwrap();
    let other = set("acquirer.ana", "sk_test_own_bo_1").unwrap_err();
    assert!(other.contains("another account"), "{other}");
    let twice = set("acquirer.again", "sk_test_own_ana_1").unwrap_err();
    assert!(twice.contains("another name"), "{twice}");
    let listed = command("list --json", "", None).unwrap();
    assert!(listed.contains("\"acct_ana\"") && !listed.contains("sk_test"), "{listed}");
    let doctor = ["--processors", &deployment.file, "doctor", "--json"];
    let said = world.programs.dropin_command(&doctor).output().unwrap().stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("acquirer.ana can be asked"), "{said}");
    deployment.route(&["acquirer.ana"], false).await;
    let paid = world.paid(cards::VISA, json!({})).await;
    let held = world.authorized(cards::VISA).await;
    let contract = opened(world, cards::VISA, json!({})).await;
    // The books of the account, and not those of the deployment's own.
    let compared = |of: &str| {
        let span = ["--from", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z", "--json"];
        let line = [&["--processors", &deployment.file, "ledger", "verify", "--of", of], &span[..]].concat();
        serde_json::from_str::<Value>(&world.programs.run_dropin(&line)).unwrap()
    };
    until("everything is written down", Duration::from_secs(10), async || {
        let report = compared("acquirer.ana");
        assert_eq!((&report["Clean"], &report["Orders"]), (&json!(true), &json!(3)), "{report}");
        (report["OpenOperations"] == 0).then_some(())
    })
    .await;
    assert_eq!(compared("acquirer")["Orders"], 0);
    // Approvals are counted for the processor that the account is at, calls for the account.
    let told = metrics(&world.checkout).await;
    let is_told = |line: &str| told.lines().any(|told| told.starts_with(line) && !told.ends_with(" 0"));
    assert!(is_told(r#"dropin_authorizations_total{processor="acquirer",method="VISA",outcome="APPROVED"}"#), "{told}");
    for metric in [r#"calls_total{call="authorize",outcome="approved""#, r#"call_seconds_count{room="payments""#] {
        assert!(is_told(&format!("dropin_processor_{metric},processor=\"acquirer.ana\"}}")), "{metric}: {told}");
    }
    // Another key of the same account.
    set("acquirer.ana", "sk_test_own_ana_2").unwrap();
    deployment.route(&[], true).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let refund = world.merchant.refund(&paid.order, "all", None).await;
    assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refund.text());
    let captured = world.merchant.capture(&held.order, None).await;
    assert_eq!(captured.status, 200, "{}", captured.text());
    world.receiver.expect(&held.session, &PAID).await;
    assert_eq!(charge(world, &contract).await["Captured"], true);
    for (name, secret, status) in
        [("acquirer.ana", "whsec_any", 404), ("acquirer.bo", "whsec_any", 404), ("acquirer.ana.x", "whsec_any", 404)]
    {
        assert_eq!(send_event(world, name, secret, 0, &json!({"id": "ch_1"})).await, status, "{name}");
    }
    // Money of it may still be given back.
    let refused = command("remove", "acquirer.ana", None).unwrap_err();
    assert!(refused.contains("2 Orders are open") || refused.contains("3 Orders are open"), "{refused}");
    set("acquirer.spare", "sk_test_own_spare_1").unwrap();
    deployment.route(&["acquirer.spare"], false).await;
    let named = command("remove", "acquirer.spare", None).unwrap_err();
    assert!(named.contains("a rule of the merchant's names"), "{named}");
    deployment.route(&[], true).await;
    command("remove", "acquirer.spare", None).unwrap();
    assert!(!command("list", "", None).unwrap().contains("spare"));
    deployment.world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn a_merchant_is_paid_into_its_own_account_by_all_in_one_on_sqlite() {
    a_merchant_is_paid_into_its_own_account(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_merchant_is_paid_into_its_own_account_by_every_program_on_postgresql() {
    a_merchant_is_paid_into_its_own_account(Topology::Split).await;
}
