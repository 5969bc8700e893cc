//! A deployment whose processor is localstripe: a stand-in for Stripe that others wrote, behind a proxy of ours for what it lacks.

#[path = "../../../crates/adapters/processor-stripe/tests/stripe/localstripe.rs"]
pub(crate) mod proxied;

use std::time::Duration;

use dropin_tests::{Topology, World, cards, thousandths_of, until};
use serde_json::{Value, json};

use crate::stripe::{KeyFile, decide};
use crate::{AUTHORIZED, PAID};

/// localstripe declines it when it is charged.
const DECLINED: &str = cards::CAPTURE_REFUSED;

/// A shopper's card payments are authorized, captured and refunded at localstripe, and what it has fits our ledger.
async fn card_payments_at_localstripe(topology: Topology) {
    let (key, url) = (KeyFile::new(proxied::KEY), format!("http://{}", proxied::start().await));
    let key = key.path.display().to_string();
    let settings = [("PROCESSOR", "stripe"), ("PROCESSOR_URL", &url), ("PROCESSOR_KEY_FILE", &key)];
    let world = World::start_with(topology, &settings).await;
    let (merchant, receiver) = (&world.merchant, &world.receiver);
    // Reserved, taken in part later, and given back.
    let paid = world.authorized(cards::VISA).await;
    receiver.expect(&paid.session, &AUTHORIZED).await;
    let captured = merchant.capture(&paid.order, Some("12.50")).await;
    assert_eq!(captured.status, 200, "{}", captured.text());
    let refund = merchant.refund(&paid.order, "first", Some("2.50")).await;
    assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refund.text());
    receiver.expect(&paid.session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
    let told = merchant.order_text(&paid.order).await;
    assert_eq!(["CapturedAmount", "RefundedAmount"].map(|name| thousandths_of(&told, name)), [12_500, 2_500], "{told}");
    // Declined, then authenticated and taken at once: two attempts of one Session.
    let session = merchant.create_session(json!({"AutoCapture": true})).await;
    let declined = world.pay(&session, DECLINED).await;
    assert_eq!(declined["State"], "CREATED", "{declined}");
    let completed = decide(&world, &session, &world.pay(&session, cards::CHALLENGED).await, "pay").await;
    assert_eq!(completed["State"], "COMPLETED", "{completed}");
    receiver.expect(&session, &PAID).await;
    // Never taken.
    let given_up = world.authorized(cards::MASTERCARD).await;
    assert_eq!(merchant.cancel_order(&given_up.order).await.status, 200);
    receiver.expect(&given_up.session, &[&AUTHORIZED[..], &["ORDER_CANCELLED"]].concat()).await;
    // localstripe has no disputes. The settler asks every two seconds.
    let unread = || world.programs.logged().lines().filter(|line| line.contains("disputes cannot be read")).count();
    let is_said = async || (0 < unread()).then_some(());
    until("a warning that disputes cannot be read", Duration::from_secs(20), is_said).await;
    let twice_more = tokio::time::Instant::now() + Duration::from_secs(4);
    let report = compared(&world, &settings, Duration::from_secs(10)).await;
    assert_eq!((&report["Clean"], &report["Orders"], &report["OpenOperations"]), (&json!(true), &json!(4), &json!(0)));
    assert_eq!(report["JournalEntries"], 5, "four payments and a refund: {report}");
    tokio::time::sleep_until(twice_more).await;
    assert_eq!(unread(), 1, "once");
    world.finish_at_another_processor().await;
}

/// A merchant's payments go to an account of its own at localstripe, by the keys that it has one after the other.
async fn an_account_of_its_own_at_localstripe(topology: Topology) {
    let (key, url) = (KeyFile::new(proxied::KEY), format!("http://{}", proxied::start().await));
    let key = key.path.display().to_string();
    let settings = [("PROCESSOR", "stripe"), ("PROCESSOR_URL", &url), ("PROCESSOR_KEY_FILE", &key)];
    let world = World::start_with(topology, &settings).await;
    let set = |key: &str| {
        let file = KeyFile::new(key);
        let file = file.path.display().to_string();
        let line = ["merchant", "credentials", "set", &world.merchant.id, "stripe.ana", "--key-file", &file];
        let said = world.programs.dropin_command(&line).envs(settings.iter().copied()).output().unwrap();
        (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    assert!(set("sk_test_own_ana_1").0);
    let rule = ["merchant", "processor", "set", &world.merchant.id, "--rule", "stripe.ana"];
    let said = world.programs.dropin_command(&rule).envs(settings.iter().copied()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let paid = world.authorized(cards::VISA).await;
    assert!(!set("sk_test_own_bo_1").0);
    assert!(set("sk_test_own_ana_2").0);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let captured = world.merchant.capture(&paid.order, None).await;
    assert_eq!(captured.status, 200, "{}", captured.text());
    let refund = world.merchant.refund(&paid.order, "all", None).await;
    assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refund.text());
    // The deployment's own key knows nothing of it.
    let client = awc::Client::default();
    for (key, count) in [(proxied::KEY, 0), ("sk_test_own_ana_2", 1)] {
        let list = client.get(format!("{url}/v1/payment_intents?limit=10")).bearer_auth(key);
        let list = list.insert_header(("Stripe-Version", dropin_processor_stripe::API_VERSION));
        let listed: Value = list.send().await.unwrap().json().await.unwrap();
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(count), "{listed}");
    }
    world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn an_account_of_its_own_at_localstripe_by_all_in_one_on_sqlite() {
    an_account_of_its_own_at_localstripe(Topology::AllInOne).await;
}

#[actix_web::test]
async fn an_account_of_its_own_at_localstripe_by_every_program_on_postgresql() {
    an_account_of_its_own_at_localstripe(Topology::Split).await;
}

/// What `dropin ledger verify` says of our books and localstripe's lists, once nothing is open.
pub(crate) async fn compared(world: &World, settings: &[(&str, &str)], within: Duration) -> Value {
    let span = ["--from", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"];
    let line = [&["ledger", "verify", "--of", "stripe", "--json"], &span[..]].concat();
    until("nothing is open", within, async || {
        let said = world.programs.dropin_command(&line).envs(settings.iter().copied()).output().unwrap();
        let told = String::from_utf8_lossy(&said.stdout);
        let report: Value =
            serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told} {}", String::from_utf8_lossy(&said.stderr)));
        (report["OpenOperations"] == 0).then_some(report)
    })
    .await
}

#[actix_web::test]
async fn card_payments_at_localstripe_by_all_in_one_on_sqlite() {
    card_payments_at_localstripe(Topology::AllInOne).await;
}

#[actix_web::test]
async fn card_payments_at_localstripe_by_every_program_on_postgresql() {
    card_payments_at_localstripe(Topology::Split).await;
}
