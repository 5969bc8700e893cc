//! A deployment whose processor is Stripe: a stand-in of ours for it, written from Stripe's API reference, in the process of the test.

#[path = "../../../crates/adapters/processor-stripe/tests/stripe/stand_in.rs"]
pub(crate) mod stand_in;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use aws_lc_rs::hmac;
use dropin_processor_stripe::API_VERSION;
use dropin_tests::{Topology, World, cards, thousandths_of, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::contracts::{opened, to_charge};
use crate::disputes::{disputed, form, hand_in, path, then};
use crate::{AUTHORIZED, PAID};
use stand_in::{KEY, StandIn};

/// What the stand-in's events are signed with.
const EVENT_SECRET: &str = "whsec_of_this_test";

/// A private file with a key.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    _folder: TempDir,
}

impl KeyFile {
    pub(crate) fn new(key: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = Self { path: folder.path().join("stripe.key"), _folder: folder };
        file.put(key);
        file
    }

    pub(crate) fn put(&self, key: &str) {
        let next = self.path.with_extension("next");
        fs::write(&next, key).unwrap();
        fs::set_permissions(&next, PermissionsExt::from_mode(0o600)).unwrap();
        fs::rename(next, &self.path).unwrap();
    }
}

/// Starts a deployment that pays at a stand-in, whose events are signed with [`EVENT_SECRET`].
async fn start(topology: Topology, key: &KeyFile) -> World {
    let (url, key) = (format!("http://{}", StandIn::start().await), key.path.display().to_string());
    let secrets = KeyFile::new(&format!("whsec_of_before\n{EVENT_SECRET}\n"));
    let events = secrets.path.display().to_string();
    let settings = [
        ("PROCESSOR", "stripe"),
        ("PROCESSOR_URL", &url),
        ("PROCESSOR_KEY_FILE", &key),
        ("PROCESSOR_EVENT_SECRETS_FILE", &events),
    ];
    World::start_with(topology, &settings).await
}

/// Sends an event about `object`, signed with `secret` so many seconds ago; the status of the answer.
pub(crate) async fn send_event(world: &World, processor: &str, secret: &str, age: i64, object: &Value) -> u16 {
    let body = json!({"id": "evt_1", "type": "any", "data": {"object": object}}).to_string();
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().cast_signed() - age;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{at}.{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let request = awc::Client::default().post(format!("{}/v1/processor/{processor}/event", world.checkout));
    let request = request.insert_header(("Stripe-Signature", format!("t={at},v1={hex}")));
    let answer = request.content_type("application/json; charset=utf-8").send_body(body).await.unwrap();
    answer.status().as_u16()
}

/// Stripe's events make the settler ask, and are believed nothing: neither early, doubled, forged, old nor unknown ones change anything.
async fn events_are_hints(topology: Topology) {
    let world = start(topology, &KeyFile::new(KEY)).await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let progress = world.pay(&session, cards::CHALLENGED).await;
    let page = progress["RedirectUrl"].as_str().unwrap_or_else(|| panic!("{progress}"));
    let (stripe, intent) = page.split_once("/page/").unwrap();
    let client = awc::Client::builder().disable_redirects().finish();
    let read = client.get(format!("{stripe}/v1/payment_intents/{intent}")).bearer_auth(KEY);
    let mut shown = read.insert_header(("Stripe-Version", API_VERSION)).send().await.unwrap();
    let mut object: Value = shown.json().await.unwrap();
    // It says what is not so yet.
    object["status"] = json!("succeeded");
    assert_eq!(send_event(&world, "stripe", EVENT_SECRET, 0, &object).await, 200);
    for (processor, secret, age, status) in [
        ("stripe", "whsec_forged", 0, 400),
        ("stripe", EVENT_SECRET, 301, 400),
        ("stripe", EVENT_SECRET, -301, 400),
        ("sandbox", EVENT_SECRET, 0, 404),
    ] {
        assert_eq!(send_event(&world, processor, secret, age, &object).await, status, "{processor} {secret} {age}");
    }
    assert_eq!(world.shopper(&session).progress().await["State"], "REDIRECTED");
    client.post(format!("{page}/pay")).send().await.unwrap();
    // The shopper does not come back. In Stripe's metadata stands the operation; another's, or none, is nobody's.
    for object in [
        &object,
        &json!({"id": "ch_1"}),
        &object,
        &json!({"metadata": {"dropin_operation": uuid::Uuid::nil()}}),
        &json!({"object": "dispute", "id": "du_of_nobody"}),
    ] {
        assert_eq!(send_event(&world, "stripe", "whsec_of_before", 299, object).await, 200);
    }
    until("the Session is paid", Duration::from_secs(10), async || {
        (world.shopper(&session).progress().await["State"] == "COMPLETED").then_some(())
    })
    .await;
    assert_eq!(send_event(&world, "stripe", EVENT_SECRET, 0, &object).await, 200);
    world.receiver.expect(&session, &PAID).await;
    world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn events_are_hints_by_all_in_one_on_sqlite() {
    events_are_hints(Topology::AllInOne).await;
}

#[actix_web::test]
async fn events_are_hints_by_every_program_on_postgresql() {
    events_are_hints(Topology::Split).await;
}

/// Waits until the service that asks for payments has read the key file again, as often as this.
pub(crate) async fn key_was_read(world: &mut World, times: usize) {
    let service = world.programs.process_of("checkout-api");
    until("the key is read again", Duration::from_secs(10), async || {
        let log = service.logged();
        (times <= log.matches("read the processor's key again").count()).then_some(())
    })
    .await;
}

/// A key that Stripe refuses stops payments before anything is used up: neither attempt nor reference nor stash entry; the same requests pay once the key
/// is right.
async fn a_refused_key_uses_nothing_up(topology: Topology) {
    let key = KeyFile::new(KEY);
    let mut world = start(topology, &key).await;
    let stashed = world.stash(&world.merchant, cards::VISA).await;
    let request = world.merchant.checkout_request(json!({
        "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint, "Capture": true,
    }));
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let shopper = world.shopper(&session);
    let typed = shopper.stash("cart", cards::VISA).await;
    let version = shopper.view().await["Version"].as_i64().unwrap();
    let contract = opened(&world, cards::VISA, json!({})).await;
    let charge = to_charge(&world, &contract, json!({}));
    let charged = world.merchant.post_checkout("", Some("charged"), &charge).await;
    assert_eq!(charged.status, 200, "{}", charged.text());
    key.put("sk_test_revoked");
    key_was_read(&mut world, 1).await;
    // What the processor said a second ago holds for a second.
    until("the key is refused", Duration::from_secs(5), async || {
        let new = world.merchant.post_checkout("", None, &to_charge(&world, &contract, json!({}))).await;
        (new.status == 503).then_some(())
    })
    .await;
    // What was done with an Idempotency-Key is told, not refused.
    let again = world.merchant.post_checkout("", Some("charged"), &charge).await;
    assert_eq!((again.status, again.header("idempotent-replayed"), again.text()), (200, Some("true"), charged.text()));
    for _ in 0..2 {
        for refused in [shopper.submit(version, &typed).await, world.merchant.post_checkout("", None, &request).await] {
            assert_eq!((refused.status, refused.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{}", refused.text());
            assert!(refused.header("retry-after").is_some(), "{}", refused.text());
        }
    }
    let unpaid = world.merchant.session(&session).await;
    assert_eq!((&unpaid["State"], &unpaid["Attempts"]), (&json!("CREATED"), &Value::Null), "{unpaid}");
    key.put(KEY);
    key_was_read(&mut world, 2).await;
    let paid = until("the key counts again", Duration::from_secs(5), async || {
        let answer = world.merchant.post_checkout("", None, &request).await;
        (answer.status != 503).then_some(answer)
    })
    .await;
    assert_eq!((paid.status, &paid.json()["Captured"]), (200, &json!(true)), "{}", paid.text());
    assert_eq!(shopper.submit(version, &typed).await.status, 200);
    assert_eq!(shopper.rest().await["State"], "COMPLETED");
    world.receiver.expect(&session, &PAID).await;
    for order in [&paid, &charged] {
        world.receiver.expect(order.json()["OrderId"].as_str().unwrap(), &PAID[1..]).await;
    }
    world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn a_refused_key_uses_nothing_up_by_all_in_one_on_sqlite() {
    a_refused_key_uses_nothing_up(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_refused_key_uses_nothing_up_by_every_program_on_postgresql() {
    a_refused_key_uses_nothing_up(Topology::Split).await;
}

async fn amount_of(world: &World, order: &Value, name: &str) -> i64 {
    thousandths_of(&world.merchant.order_text(order).await, name)
}

/// The shopper decides on the page and comes back; how the Session stands then.
pub(crate) async fn decide(world: &World, session: &str, progress: &Value, choice: &str) -> Value {
    assert_eq!((&progress["State"], &progress["Challenge"]), (&json!("REDIRECTED"), &json!(true)), "{progress}");
    let client = awc::Client::builder().disable_redirects().finish();
    let page = progress["RedirectUrl"].as_str().unwrap();
    let pressed = client.post(format!("{page}/{choice}")).send().await.unwrap();
    let back = pressed.headers().get("location").unwrap().to_str().unwrap().to_owned();
    world.come_back(&back).await;
    world.shopper(session).progress().await
}

async fn money_moves_at_stripe(topology: Topology) {
    let world = start(topology, &KeyFile::new(KEY)).await;
    let (merchant, receiver) = (&world.merchant, &world.receiver);
    // Taken at once and given back in parts.
    let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
    receiver.expect(&paid.session, &PAID).await;
    for (reference, amount) in [("first", Some("10.00")), ("second", None)] {
        let made = merchant.refund(&paid.order, reference, amount).await;
        assert_eq!((made.status, &made.json()["State"]), (201, &json!("SUCCEEDED")), "{}", made.text());
    }
    receiver.expect(&paid.session, &[&PAID[..], &["REFUND_SUCCEEDED"; 2]].concat()).await;
    assert_eq!(amount_of(&world, &paid.order, "RefundedAmount").await, 29_900);
    // A part, later.
    let later = world.authorized(cards::MASTERCARD).await;
    let captured = merchant.capture(&later.order, Some("12.50")).await;
    assert_eq!(captured.status, 200, "{}", captured.text());
    assert_eq!(amount_of(&world, &later.order, "CapturedAmount").await, 12_500);
    receiver.expect(&later.session, &PAID).await;
    // Never.
    let given_up = world.authorized(cards::VISA).await;
    let cancelled = merchant.cancel_order(&given_up.order).await;
    assert_eq!((cancelled.status, &merchant.order(&given_up.order).await["State"]), (200, &json!("CANCELLED")));
    receiver.expect(&given_up.session, &[&AUTHORIZED[..], &["ORDER_CANCELLED"]].concat()).await;
    // Declined, then failed at the bank, then paid after a challenge: three attempts of one Session.
    let session = merchant.create_session(json!({"AutoCapture": true})).await;
    let declined = world.pay(&session, cards::DECLINED).await;
    assert_eq!(declined["State"], "CREATED", "{declined}");
    let failed = decide(&world, &session, &world.pay(&session, cards::CHALLENGED).await, "fail").await;
    assert_eq!(failed["State"], "CREATED", "{failed}");
    let paid = decide(&world, &session, &world.pay(&session, cards::CHALLENGED).await, "pay").await;
    assert_eq!(paid["State"], "COMPLETED", "{paid}");
    let attempts = &merchant.session(&session).await["Attempts"];
    let codes: Vec<_> = attempts.as_array().unwrap().iter().map(|attempt| attempt["Code"].clone()).collect();
    assert_eq!(codes, [json!("PAYMENT_DECLINED"), json!("AUTHENTICATION_FAILED"), Value::Null], "{attempts}");
    receiver.expect(&session, &PAID).await;
    world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn money_moves_at_stripe_by_all_in_one_on_sqlite() {
    money_moves_at_stripe(Topology::AllInOne).await;
}

#[actix_web::test]
async fn money_moves_at_stripe_by_every_program_on_postgresql() {
    money_moves_at_stripe(Topology::Split).await;
}

/// A dispute is told, answered with a file, and decided by the bank; another one is accepted.
async fn disputes_at_stripe(topology: Topology) {
    let world = start(topology, &KeyFile::new(KEY)).await;
    let (paid, dispute) = disputed(&world).await;
    let given = hand_in(&world, &paid, &dispute, form("winning_evidence"), "evidence").await;
    assert_eq!((given.status, &given.json()["State"]), (200, &json!("UNDER_REVIEW")), "{}", given.text());
    let events = then(&["DISPUTE_OPENED", "DISPUTE_UPDATED", "DISPUTE_CLOSED"]);
    let told = world.receiver.expect(&paid.session, &events).await;
    assert_eq!(told[events.len() - 1].body["Dispute"]["State"], "WON");
    let (paid, dispute) = disputed(&world).await;
    let accepted = world.merchant.about("POST", &paid.order, &path(&dispute, "accept"), None).await;
    assert_eq!((accepted.status, &accepted.json()["State"]), (200, &json!("ACCEPTED")), "{}", accepted.text());
    world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", "DISPUTE_CLOSED"])).await;
    world.finish_at_another_processor().await;
}

#[actix_web::test]
async fn disputes_at_stripe_by_all_in_one_on_sqlite() {
    disputes_at_stripe(Topology::AllInOne).await;
}

#[actix_web::test]
async fn disputes_at_stripe_by_every_program_on_postgresql() {
    disputes_at_stripe(Topology::Split).await;
}
