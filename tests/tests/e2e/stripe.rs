//! A deployment whose processor is Stripe: a stand-in of ours for it, written from Stripe's API reference, in the process of the test.

#[path = "../../../crates/adapters/processor-stripe/tests/stripe/stand_in.rs"]
mod stand_in;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dropin_tests::{Topology, World, cards, thousandths_of};
use serde_json::{Value, json};

use crate::{AUTHORIZED, PAID};
use stand_in::{KEY, StandIn};

/// Starts a deployment that pays at a stand-in.
async fn start(topology: Topology) -> World {
    let url = format!("http://{}", StandIn::start().await);
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("stripe.key");
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let key = key.display().to_string();
    let settings = [("PROCESSOR", "stripe"), ("PROCESSOR_URL", &url), ("PROCESSOR_KEY_FILE", &key)];
    World::start_with(topology, &settings).await
}

async fn amount_of(world: &World, order: &Value, name: &str) -> i64 {
    thousandths_of(&world.merchant.order_text(order).await, name)
}

/// The shopper decides on the page and comes back; how the Session stands then.
async fn decide(world: &World, session: &str, progress: &Value, choice: &str) -> Value {
    assert_eq!((&progress["State"], &progress["Challenge"]), (&json!("REDIRECTED"), &json!(true)), "{progress}");
    let client = awc::Client::builder().disable_redirects().finish();
    let page = progress["RedirectUrl"].as_str().unwrap();
    let pressed = client.post(format!("{page}/{choice}")).send().await.unwrap();
    let back = pressed.headers().get("location").unwrap().to_str().unwrap().to_owned();
    world.come_back(&back).await;
    world.shopper(session).progress().await
}

async fn money_moves_at_stripe(topology: Topology) {
    let world = start(topology).await;
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
