//! Contracts under contention (docs/SPECIFICATION.md#contracts): a charge against the end of its contract, and browsers that open one at once. No card
//! is charged after its contract's end was confirmed, and none stays at the processor without a contract.

use std::time::Duration;

use dropin_tests::{Response, Shopper, Stashed, World, cards, until};
use serde_json::{Value, json};

use super::{CLIENTS, both_databases, only, race};

both_databases! {
    /// closeContract against charges.
    closes_race_charges: super::closes_race_charges => ["charged", "closed"]
}
both_databases! {
    /// Browsers with different cards, on one Session that opens a contract.
    subscribers_race_each_other: super::subscribers_race_each_other => ["mastercard", "visa"]
}

both_databases! {
    /// The removal of a saved card against submits with it.
    removals_race_submits: super::removals_race_submits => ["paid", "removed"]
}

/// Browsers with an attempt of their own.
const BROWSERS: usize = 4;

async fn closes_race_charges(world: &World, round: usize) -> &'static str {
    let contract = opened(world).await;
    let half = || 0..CLIENTS / 2;
    let mut charge = world.merchant.checkout_request(json!({"ContractId": contract}));
    for member in ["Return", "DeviceFingerprint"] {
        charge.as_object_mut().unwrap().remove(member);
    }
    let close = json!({"MerchantId": world.merchant.id, "ContractId": contract});
    let charges = half().map(|_| world.merchant.post_checkout("", None, &charge)).collect();
    let closes = half().map(|_| world.merchant.post_checkout("/closeContract", None, &close)).collect();
    let (charges, closes) = race(round, charges, closes).await;
    let codes = [(200, "PROCESSED"), (409, "INVALID_CONTRACT_STATE"), (409, "DUPLICATE_MERCHANT_REFERENCE_ID")];
    only(&charges, &codes);
    only(&closes, &[(200, "CLOSED"), (409, "INVALID_CONTRACT_STATE")]);
    assert_eq!(closes.iter().filter(|answer| answer.status == 200).count(), 1, "it is closed once");
    let charged: Vec<_> = charges.iter().filter(|answer| answer.status == 200).collect();
    assert!(charged.len() < 2, "one reference is charged once");
    world.receiver.expect(&contract, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
    no_card_is_left(world, 0).await;
    let shown = world.merchant.call("GET", &format!("/v1/contract/{contract}"), None).await.json();
    assert_eq!(shown["Orders"].as_array().unwrap().len(), charged.len(), "{shown}");
    match charged.first() {
        Some(answer) => {
            let order = answer.json()["OrderId"].as_str().unwrap().to_owned();
            world.receiver.expect(&order, &["ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
            "charged"
        }
        None => "closed",
    }
}

/// The id of a contract that may be charged.
async fn opened(world: &World) -> String {
    let stashed = world.stash(&world.merchant, cards::VISA).await;
    let mut request = world.merchant.checkout_request(json!({
        "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint, "Kind": "RECURRING",
    }));
    for member in ["Items", "Capture"] {
        request.as_object_mut().unwrap().remove(member);
    }
    let answer = world.merchant.post_checkout("/openContract", None, &request).await;
    assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("ACTIVE")), "{}", answer.text());
    answer.json()["ContractId"].as_str().unwrap().to_owned()
}

/// The deletion follows the end within a minute.
async fn no_card_is_left(world: &World, expected: usize) {
    until("the processor keeps no card without its contract", Duration::from_secs(60), async || {
        (stored(world).await.len() == expected).then_some(())
    })
    .await;
}

async fn stored(world: &World) -> Vec<Value> {
    world.stored_credentials().await["Credentials"].as_array().unwrap().clone()
}

async fn subscribers_race_each_other(world: &World, round: usize) -> &'static str {
    let before = stored(world).await.len();
    let session = world.merchant.create_session(json!({"OpenContract": true})).await;
    let shopper = world.shopper(&session);
    let (mut visas, mut mastercards) = (Vec::new(), Vec::new());
    for browser in 0..BROWSERS / 2 {
        visas.push(shopper.stash(&format!("visa-{browser}"), cards::VISA).await);
        mastercards.push(shopper.stash(&format!("mastercard-{browser}"), cards::MASTERCARD).await);
    }
    let (ones, others) = (submits(&shopper, &visas), submits(&shopper, &mastercards));
    let (by_visa, by_mastercard) = race(round, ones, others).await;
    for answers in [&by_visa, &by_mastercard] {
        let states =
            [(200, "COMPLETED"), (200, "PROCESSING"), (409, "SESSION_CHANGED"), (409, "INVALID_SESSION_STATE")];
        only(answers, &states);
    }
    let has_won = |answers: &[Response]| answers.iter().any(|answer| answer.status == 200);
    assert!(has_won(&by_visa) != has_won(&by_mastercard), "one side alone");
    let events = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "CONTRACT_OPENED", "ORDER_PROCESSED"];
    world.receiver.expect(&session, &events).await;
    let order = world.merchant.order_of(&session).await;
    let id = order["ContractId"].as_str().unwrap_or_else(|| panic!("{order}"));
    let contract = world.merchant.call("GET", &format!("/v1/contract/{id}"), None).await.json();
    assert_eq!(contract["State"], "ACTIVE", "{contract}");
    assert_eq!(stored(world).await.len(), before + 1, "the card that paid alone");
    match contract["Card"]["Scheme"].as_str() {
        Some("VISA") => "visa",
        _ => "mastercard",
    }
}

async fn removals_race_submits(world: &World, round: usize) -> &'static str {
    if round == 0 {
        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--saved-cards", "on"]);
        tokio::time::sleep(Duration::from_millis(2_100)).await;
    }
    let before = stored(world).await.len();
    let mut request = world.merchant.session_request(json!({"AllowContract": true}));
    request["BillingProfile"]["BillingProfileReference"] = json!(format!("customer-{round}"));
    let opening = world.merchant.create_session(request.clone()).await;
    let shopper = world.shopper(&opening);
    assert_eq!(shopper.submit_agreeing(&shopper.stash("saver", cards::VISA).await).await.status, 200);
    let opened = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "CONTRACT_OPENED", "ORDER_PROCESSED"];
    world.receiver.expect(&opening, &opened).await;
    let contract = world.merchant.order_of(&opening).await["ContractId"].as_str().expect("an id").to_owned();

    let change = json!({"BillingProfile": null, "BillingProfileReference": format!("customer-{round}")});
    let session = world.merchant.create_session(change).await;
    let shopper = world.shopper(&session);
    let mut attempts = Vec::new();
    for browser in 0..BROWSERS {
        attempts.push(shopper.stash_code(&format!("browser-{browser}"), "123").await);
    }
    let submits = attempts.iter().cycle().take(CLIENTS / 2).map(|one| shopper.submit_saved(&contract, one)).collect();
    let removals = (0..CLIENTS / 2).map(|_| shopper.remove_saved(&contract)).collect();
    let (submits, removals) = race(round, submits, removals).await;
    let (removed, refused): (Vec<_>, Vec<_>) = removals.into_iter().partition(|answer| answer.status == 204);
    only(&refused, &[(404, "CONTRACT_NOT_FOUND"), (409, "INVALID_SESSION_STATE")]);
    let codes = [
        (200, "COMPLETED"),
        (200, "PROCESSING"),
        (400, "INVALID_REQUEST"),
        (409, "SESSION_CHANGED"),
        (409, "INVALID_SESSION_STATE"),
    ];
    only(&submits, &codes);
    let is_paid = submits.iter().any(|answer| answer.status == 200);
    assert!(removed.len() < 2 && removed.is_empty() == is_paid, "one side alone: {} removed it", removed.len());
    if is_paid {
        world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
        assert_eq!(world.merchant.order_of(&session).await["ContractId"], json!(contract));
        assert_eq!(stored(world).await.len(), before + 1);
        return "paid";
    }
    assert_eq!(world.merchant.session(&session).await["State"], "CREATED");
    world.receiver.expect(&opening, &[&opened[..], &["CONTRACT_CLOSED"]].concat()).await;
    no_card_is_left(world, before).await;
    "removed"
}

/// Half of the clients: every browser sends its attempt several times.
fn submits<'a>(shopper: &'a Shopper, attempts: &'a [Stashed]) -> Vec<impl Future<Output = Response> + use<'a>> {
    attempts.iter().cycle().take(CLIENTS / 2).map(|attempt| shopper.submit_agreeing(attempt)).collect()
}
