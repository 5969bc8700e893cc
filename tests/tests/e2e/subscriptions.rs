//! Contracts that Sessions open: a subscription with and without a first payment (docs/SPECIFICATION.md#open-contract-session).

use std::time::Duration;

use dropin_tests::{Response, World, browser, cards, until};
use serde_json::{Value, json};

use crate::CHARGED;

/// What a Session sends that is paid at once and opens a contract.
const OPENED: [&str; 4] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "CONTRACT_OPENED", "ORDER_PROCESSED"];
/// What one sends that only verifies the card.
const VERIFIED: [&str; 4] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED", "CONTRACT_OPENED"];

/// A Session of 29.90 USD that opens a contract, of a customer whose profile has a reference.
async fn subscription(world: &World, change: Value) -> String {
    let mut request = world.merchant.session_request(json!({"OpenContract": true, "AllowContract": true}));
    request["BillingProfile"]["BillingProfileReference"] = json!("customer-7");
    request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    world.merchant.create_session(request).await
}

/// Nothing is to be paid.
fn free() -> Value {
    json!({"AutoCapture": false, "Items": [{"Name": "First month", "Amount": 0, "Quantity": 1}]})
}

async fn submit(world: &World, session: &str, card: &str) -> Response {
    let shopper = world.shopper(session);
    let stashed = shopper.stash("subscriber", card).await;
    shopper.submit_agreeing(&stashed).await
}

/// The contract that the Session opened, whose merchant heard of it among the events of the payment.
async fn opened(world: &World, session: &str, events: [&str; 4]) -> String {
    let told = world.receiver.expect(session, &events).await;
    let told = told.into_iter().find(|one| one.event == "CONTRACT_OPENED").unwrap().body;
    let order = world.merchant.order_of(session).await;
    let id = order["ContractId"].as_str().unwrap_or_else(|| panic!("{order}")).to_owned();
    assert_eq!((&told["Contract"]["ContractId"], &told["Contract"]["Kind"]), (&json!(id), &json!("RECURRING")));
    id
}

async fn contract(world: &World, id: &str) -> Value {
    let answer = world.merchant.call("GET", &format!("/v1/contract/{id}"), None).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn charge(world: &World, contract: &str) -> Response {
    let mut request = world.merchant.checkout_request(json!({"ContractId": contract}));
    let members = request.as_object_mut().unwrap();
    members.remove("Return");
    members.remove("DeviceFingerprint");
    world.merchant.post_checkout("", None, &request).await
}

/// Charges it three times, and closes it.
async fn lives(world: &World, id: &str, session: &str, events: [&str; 4]) {
    for _ in 0..3 {
        let charged = charge(world, id).await;
        assert_eq!((charged.status, &charged.json()["Captured"]), (200, &json!(true)), "{}", charged.text());
        let order = charged.json()["OrderId"].as_str().unwrap().to_owned();
        world.receiver.expect(&order, &["ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
    }
    assert_eq!(contract(world, id).await["Orders"].as_array().unwrap().len(), 4, "the first Order and three charges");
    let verified: Value = serde_json::from_str(&world.programs.run_dropin(&["ledger", "verify", "--json"])).unwrap();
    assert_eq!((&verified["Clean"], &verified["StoredCards"]), (&json!(true), &json!(1)), "{verified}");
    let body = json!({"MerchantId": world.merchant.id, "ContractId": id});
    let closed = world.merchant.post_checkout("/closeContract", None, &body).await;
    assert_eq!((closed.status, &closed.json()["State"]), (200, &json!("CLOSED")), "{}", closed.text());
    world.receiver.expect(session, &[&events[..], &["CONTRACT_CLOSED"]].concat()).await;
    until("the card is deleted at the processor", Duration::from_secs(20), async || {
        (credentials(world).await == 0).then_some(())
    })
    .await;
}

/// How many credentials the processor has.
async fn credentials(world: &World) -> usize {
    world.stored_credentials().await["Credentials"].as_array().unwrap().len()
}

#[track_caller]
fn is_refused_for(answer: &Response, field: &str, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_REQUEST"), "{}", answer.text());
    let body = answer.json();
    let errors = body["FieldErrors"].as_array().unwrap();
    assert!(errors.iter().any(|one| one["Field"] == field && one["Code"] == code), "{body}");
}

crate::both! {
    /// The first payment opens it; the merchant's server charges it later, without the shopper.
    async fn a_session_opens_a_contract_with_its_payment(world: &World) {
        let session = subscription(world, json!({})).await;
        let shopper = world.shopper(&session);
        let view = shopper.view().await;
        assert_eq!(view["OpensContract"], "RECURRING");
        assert_eq!(view["TokenMethods"], json!([]), "a wallet's token is of one payment: {view}");
        let methods = view["PaymentMethods"].as_array().unwrap();
        assert!(!methods.is_empty() && methods.iter().all(|method| method["Class"] == "Card"), "only cards are stored: {view}");
        is_refused_for(&shopper.submit_method("PAYPAL").await, "Consent", "FIELD_MISSING");
        let stashed = shopper.stash("subscriber", cards::VISA).await;
        is_refused_for(&shopper.submit(1, &stashed).await, "Consent", "FIELD_MISSING");

        let answer = shopper.submit_agreeing(&stashed).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        let id = opened(world, &session, OPENED).await;
        let seen = contract(world, &id).await;
        assert_eq!((&seen["State"], &seen["Card"]["Last4"], &seen["BillingProfileReference"]), (&json!("ACTIVE"), &json!("4242"), &json!("customer-7")));
        assert_eq!((&seen["Consent"]["TextVersion"], &seen["Consent"]["Locale"]), (&json!("2026-11"), &json!("de_AT")));
        assert_eq!(seen["Orders"][0]["OrderId"], world.merchant.order_of(&session).await["OrderId"]);
        assert_eq!(seen["SessionId"], session);
        world.journal_has(&session, &CHARGED).await;
        lives(world, &id, &session, OPENED).await;
    }

    /// Nothing is charged: the card is verified and stored.
    async fn a_session_of_nothing_opens_a_contract(world: &World) {
        let session = subscription(world, free()).await;
        let answer = submit(world, &session, cards::VISA).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        let id = opened(world, &session, VERIFIED).await;
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "0.00")]).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!(order["State"], "PROCESSED", "{order}");
        let captured = world.merchant.capture(&order, None).await;
        assert_eq!((captured.status, &captured.json()["Reason"]["Code"]), (200, &json!("Captured")), "{}", captured.text());
        let refunded = world.merchant.refund(&order, "refund-1", None).await;
        assert_eq!(refunded.status, 409, "{}", refunded.text());
        lives(world, &id, &session, VERIFIED).await;
    }

    /// Of a declined card nothing is stored, and nobody hears of a contract; the next card of the Session opens it.
    async fn a_declined_card_opens_nothing(world: &World) {
        for (change, events) in [(json!({}), OPENED), (free(), VERIFIED)] {
            let session = subscription(world, change).await;
            let answer = submit(world, &session, cards::DECLINED).await;
            assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("CREATED")), "{}", answer.text());
            let before = credentials(world).await;
            let answer = submit(world, &session, cards::MASTERCARD).await;
            assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
            opened(world, &session, events).await;
            assert_eq!(credentials(world).await, before + 1);
        }
        let listed = world.merchant.call("GET", "/v1/contract?BillingProfileReference=customer-7", None).await.json();
        assert_eq!(listed["Contracts"].as_array().unwrap().len(), 2, "{listed}");
    }

    /// The issuer wants to see the shopper before the card is stored.
    async fn a_card_that_asks_to_be_stored_is_stored_after_its_page(world: &World) {
        for (choice, state, stored) in [("fail", "CREATED", 0), ("succeed", "COMPLETED", 1)] {
            let session = subscription(world, json!({})).await;
            let answer = submit(world, &session, cards::ASKS_TO_STORE).await;
            assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("REDIRECTED")), "{}", answer.text());
            let page = answer.json()["RedirectUrl"].as_str().unwrap().to_owned();
            world.come_back(&world.press(&page, choice, None).await).await;
            let rest = world.shopper(&session).rest().await;
            assert_eq!(rest["State"], state, "{rest}");
            if stored == 1 {
                opened(world, &session, OPENED).await;
            } else {
                world.receiver.expect(&session, &[]).await;
            }
            assert_eq!(credentials(world).await, stored);
        }
    }

    /// What opens no contract takes no consent, and a change of the Session is seen before anything is agreed to.
    async fn consent_belongs_to_a_contract(world: &World) {
        let session = world.merchant.create_session(json!({})).await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.view().await.get("OpensContract"), None);
        let stashed = shopper.stash("nobody", cards::VISA).await;
        is_refused_for(&shopper.submit_agreeing(&stashed).await, "Consent", "VALUE_NOT_ALLOWED");
        let request = world.merchant.session(&session).await;
        let changed = json!({"MerchantReference": request["MerchantReference"], "OpenContract": true});
        let replaced = world.merchant.replace(&session, changed).await;
        assert_eq!((replaced.status, &replaced.json()["OpenContract"]), (200, &json!(true)), "{}", replaced.text());
        let late = shopper.submit(1, &stashed).await;
        assert_eq!((late.status, late.code().as_str()), (409, "SESSION_CHANGED"), "{}", late.text());
        let answer = shopper.submit_agreeing(&stashed).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        opened(world, &session, OPENED).await;
    }

    /// In the drop-in, with and without a first payment: the shopper reads what is agreed, and the merchant charges it afterwards.
    async fn a_shopper_subscribes_in_the_drop_in(world: &World) {
        for (change, events, button) in [(json!({}), OPENED, "29.90"), (free(), VERIFIED, "Save card")] {
            let session = subscription(world, change).await;
            let seen = browser::run("subscribe", &world.page_for(&session, cards::VISA)).await;
            assert_eq!((&seen["heard"], &seen["problems"]), (&json!([["success"]]), &json!([])), "{seen}");
            assert!(seen["label"].as_str().is_some_and(|label| label.contains(button)), "{seen}");
            let read = seen["agreement"].as_str().unwrap();
            assert!(read.contains("store this card") && read.contains("until you cancel"), "{seen}");
            assert_eq!(seen["described"], seen["agreement"], "read out with the button: {seen}");
            let id = opened(world, &session, events).await;
            assert_eq!(contract(world, &id).await["Consent"]["Locale"], "en_US");
            lives(world, &id, &session, events).await;
        }
    }
}
