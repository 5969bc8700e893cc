//! Cards that shoppers save by choice, pay with again and have forgotten (docs/SPECIFICATION.md#one-click), and contracts that merchants bring their
//! shoppers back to (docs/SPECIFICATION.md#contract-return).

use std::time::Duration;

use dropin_tests::{Merchant, Response, Shopper, World, cards, until};
use serde_json::{Value, json};

use crate::{CHARGED, is_refused, is_refused_for};

/// What a Session sends that is paid at once.
const PAID: [&str; 3] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];
/// What one sends whose card is saved.
pub(crate) const SAVED: [&str; 4] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "CONTRACT_OPENED", "ORDER_PROCESSED"];

/// The merchant offers saved cards, as its operator has set.
pub(crate) async fn offer(world: &World, merchant: &Merchant, switch: &str) {
    world.programs.run_dropin(&["merchant", "set", &merchant.id, "--saved-cards", switch]);
    // Running services follow within two seconds.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
}

/// A first Session of this customer, which lets the card be saved.
pub(crate) async fn allowing(world: &World, customer: &str) -> String {
    let mut request = world.merchant.session_request(json!({"AllowContract": true}));
    request["BillingProfile"]["BillingProfileReference"] = json!(customer);
    world.merchant.create_session(request).await
}

/// A Session of a customer who was there before; `change` replaces members.
pub(crate) async fn returning(merchant: &Merchant, customer: &str, change: Value) -> String {
    let mut request = json!({"BillingProfile": null, "BillingProfileReference": customer});
    request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    merchant.create_session(request).await
}

/// The contract of a card that this customer saves with a first payment.
async fn save(world: &World, customer: &str, number: &str) -> String {
    let session = allowing(world, customer).await;
    let shopper = world.shopper(&session);
    let stashed = shopper.stash("saver", number).await;
    let answer = shopper.submit_agreeing(&stashed).await;
    assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
    world.receiver.expect(&session, &SAVED).await;
    text(&world.merchant.order_of(&session).await["ContractId"])
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

async fn listed(shopper: &Shopper) -> Vec<Value> {
    shopper.view().await["SavedCards"].as_array().expect("always a list").clone()
}

async fn pay(shopper: &Shopper, contract: &str, code: &str) -> Response {
    let stashed = shopper.stash_code("returner", code).await;
    shopper.submit_saved(contract, &stashed).await
}

pub(crate) async fn contract(world: &World, id: &str) -> Value {
    let answer = world.merchant.call("GET", &format!("/v1/contract/{id}"), None).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// The processor keeps exactly so many cards.
pub(crate) async fn cards_are_kept(world: &World, expected: usize) {
    until("the processor keeps as many cards", Duration::from_secs(20), async || {
        let kept = world.stored_credentials().await["Credentials"].as_array().unwrap().len();
        (kept == expected).then_some(())
    })
    .await;
}

/// No card is kept that nobody here can charge or delete.
pub(crate) async fn nothing_is_orphaned(world: &World) {
    let verified: Value = serde_json::from_str(&world.programs.run_dropin(&["ledger", "verify", "--json"])).unwrap();
    assert_eq!(verified["Clean"], json!(true), "{verified}");
}

/// A charge by the merchant's server.
pub(crate) async fn charge(world: &World, contract: &str) -> Response {
    let mut request = world.merchant.checkout_request(json!({"ContractId": contract}));
    let members = request.as_object_mut().unwrap();
    members.remove("Return");
    members.remove("DeviceFingerprint");
    world.merchant.post_checkout("", None, &request).await
}

crate::both! {
    /// The tick decides; what cannot be saved is paid with as ever.
    async fn a_card_is_saved_by_choice(world: &World) {
        let session = allowing(world, "chooser").await;
        let shopper = world.shopper(&session);
        let view = shopper.view().await;
        assert_eq!((&view["AllowsContract"], view.get("OpensContract")), (&json!("ONE_CLICK"), None), "{view}");
        let methods: Vec<_> = view["PaymentMethods"].as_array().unwrap().iter().map(|one| text(&one["Id"])).collect();
        assert!(methods.contains(&"PAYPAL".to_owned()), "nothing is taken away: {view}");
        is_refused_for(&shopper.submit_method_agreeing("PAYPAL").await, "Consent", "VALUE_NOT_ALLOWED");
        let stashed = shopper.stash("chooser", cards::VISA).await;
        let answer = shopper.submit(1, &stashed).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        world.receiver.expect(&session, &PAID).await;
        assert_eq!(world.merchant.order_of(&session).await.get("ContractId"), None, "nobody ticked");
        cards_are_kept(world, 0).await;

        let saved = save(world, "chooser", cards::VISA).await;
        let seen = contract(world, &saved).await;
        assert_eq!((&seen["State"], &seen["Kind"], &seen["BillingProfileReference"]), (&json!("ACTIVE"), &json!("ONE_CLICK"), &json!("chooser")));
        cards_are_kept(world, 1).await;
        is_refused_for(&charge(world, &saved).await, "ContractId", "VALUE_NOT_ALLOWED");

        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--saved-card-kind", "unscheduled"]);
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        let session = allowing(world, "chooser-2").await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.view().await["AllowsContract"], "UNSCHEDULED");
        let stashed = shopper.stash("chooser", cards::VISA).await;
        assert_eq!(shopper.submit_agreeing(&stashed).await.status, 200);
        world.receiver.expect(&session, &SAVED).await;
        let order = world.merchant.order_of(&session).await;
        let charged = charge(world, &text(&order["ContractId"])).await;
        assert_eq!((charged.status, &charged.json()["Captured"]), (200, &json!(true)), "{}", charged.text());
        world.receiver.expect(&text(&charged.json()["OrderId"]), &["ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--saved-card-kind", "one-click"]);
    }

    /// The shopper comes back, types the code of the saved card, pays, and has it forgotten.
    async fn a_returning_shopper_pays_with_a_saved_card_and_removes_it(world: &World) {
        let id = save(world, "returner", cards::VISA).await;
        let other = save(world, "returner", cards::AMEX).await;
        offer(world, &world.merchant, "on").await;
        let session = returning(&world.merchant, "returner", json!({})).await;
        let shopper = world.shopper(&session);
        let expected = json!({
            "ContractId": id, "PaymentMethod": "VISA", "Scheme": "VISA", "Last4": "4242", "Expiry": "2031-12", "Removable": true,
        });
        let cards = listed(&shopper).await;
        assert_eq!((cards.len(), &cards[0]["ContractId"], &cards[1]), (2, &json!(other), &expected), "the newest first");

        is_refused_for(&pay(&shopper, &id, "12").await, "StashId", "FIELD_INVALID");
        is_refused_for(&pay(&shopper, &id, "1234").await, "StashId", "FIELD_INVALID");
        is_refused_for(&pay(&shopper, &other, "123").await, "StashId", "FIELD_INVALID");
        let card = shopper.stash("returner", cards::VISA).await;
        is_refused_for(&shopper.submit_saved(&id, &card).await, "StashId", "FIELD_INVALID");
        let code = shopper.stash_code("returner", "123").await;
        is_refused_for(&shopper.submit(1, &code).await, "StashId", "FIELD_INVALID");
        is_refused_for(&shopper.submit_saved_agreeing(&id, &code).await, "Consent", "VALUE_NOT_ALLOWED");
        world.journal_has(&session, &[]).await;

        let answer = shopper.submit_saved(&id, &code).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        let again = shopper.submit_saved(&id, &code).await;
        assert_eq!(again.json()["OrderId"], answer.json()["OrderId"], "the same attempt");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
        assert_eq!(world.merchant.order_of(&session).await["ContractId"], json!(id));
        assert_eq!(contract(world, &id).await["Orders"].as_array().unwrap().len(), 2);
        assert_eq!(listed(&shopper).await, Vec::<Value>::new(), "a Session that is over shows no card");
        is_refused(&shopper.remove_saved(&id).await, 409, "INVALID_SESSION_STATE");

        let session = returning(&world.merchant, "returner", json!({})).await;
        let shopper = world.shopper(&session);
        assert_eq!(listed(&shopper).await[0]["ContractId"], json!(id), "the one that was used last comes first");
        assert_eq!(shopper.remove_saved(&id).await.status, 204);
        is_refused(&shopper.remove_saved(&id).await, 404, "CONTRACT_NOT_FOUND");
        let cards = listed(&shopper).await;
        assert_eq!((cards.len(), &cards[0]["ContractId"]), (1, &json!(other)));
        is_refused_for(&pay(&shopper, &id, "123").await, "ContractId", "NOT_FOUND");
        let closed = contract(world, &id).await;
        assert_eq!((&closed["State"], &closed["StateReason"]), (&json!("CLOSED"), &json!("SHOPPER")));
        let opened_by = text(&closed["SessionId"]);
        world.receiver.expect(&opened_by, &[&SAVED[..], &["CONTRACT_CLOSED"]].concat()).await;
        cards_are_kept(world, 1).await;
        nothing_is_orphaned(world).await;
    }

    /// Nothing stored is shown or taken but under every one of the conditions.
    async fn saved_cards_are_shown_under_their_conditions_alone(world: &World) {
        let id = save(world, "careful", cards::VISA).await;
        let session = returning(&world.merchant, "careful", json!({})).await;
        let shopper = world.shopper(&session);
        assert_eq!(listed(&shopper).await, Vec::<Value>::new(), "the merchant has not switched them on");
        is_refused_for(&pay(&shopper, &id, "123").await, "ContractId", "NOT_FOUND");
        is_refused(&shopper.remove_saved(&id).await, 404, "CONTRACT_NOT_FOUND");
        offer(world, &world.merchant, "on").await;
        assert_eq!(listed(&shopper).await.len(), 1, "and now it has");

        let mut in_full = world.merchant.session_request(json!({}));
        in_full["BillingProfile"]["BillingProfileReference"] = json!("careful");
        let stranger = world.another_merchant().await;
        offer(world, &stranger, "on").await;
        let mut theirs = stranger.session_request(json!({}));
        theirs["BillingProfile"]["BillingProfileReference"] = json!("careful");
        stranger.create_session(theirs).await;
        let mut nobody = world.merchant.session_request(json!({}));
        nobody["BillingProfile"]["BillingProfileReference"] = json!("nobody");
        world.merchant.create_session(nobody).await;
        let free = json!({"OpenContract": true, "Items": [{"Name": "Trial", "Amount": 0, "Quantity": 1}]});
        for session in [
            returning(&world.merchant, "careful", json!({"ViaAgent": true})).await,
            returning(&world.merchant, "careful", json!({"Currency": "EUR"})).await,
            returning(&world.merchant, "careful", free).await,
            returning(&world.merchant, "nobody", json!({})).await,
            returning(&stranger, "careful", json!({})).await,
            world.merchant.create_session(in_full).await,
        ] {
            let shopper = world.shopper(&session);
            assert_eq!(listed(&shopper).await, Vec::<Value>::new(), "{}", world.merchant.session(&session).await);
            is_refused_for(&pay(&shopper, &id, "123").await, "ContractId", "NOT_FOUND");
            let of_nobody = shopper.remove_saved("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112").await;
            let of_another = shopper.remove_saved(&id).await;
            assert_eq!((of_another.status, of_another.text()), (404, of_nobody.text()), "as one that does not exist");
        }
        // The profile that was sent in full is the newest of its reference: by its id the cards are there.
        let profile = text(&world.merchant.session(&returning(&world.merchant, "careful", json!({})).await).await["BillingProfileId"]);
        let session = world.merchant.create_session(json!({"BillingProfile": null, "BillingProfileId": profile})).await;
        assert_eq!(listed(&world.shopper(&session)).await.len(), 1);
        assert_eq!(contract(world, &id).await["State"], "ACTIVE");
    }

    /// The bank may ask for 3-D Secure, and may say no: the card stays or goes by the rules of contracts.
    async fn a_saved_card_is_authenticated_and_declined_like_any_other(world: &World) {
        offer(world, &world.merchant, "on").await;
        let session = allowing(world, "asked").await;
        let shopper = world.shopper(&session);
        let stashed = shopper.stash("asked", cards::ASKS_ALWAYS).await;
        let answer = shopper.submit_agreeing(&stashed).await;
        assert_eq!(answer.json()["State"], "REDIRECTED", "{}", answer.text());
        world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), "succeed", None).await).await;
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);
        let session = returning(&world.merchant, "asked", json!({})).await;
        let shopper = world.shopper(&session);
        for (choice, state) in [("fail", "CREATED"), ("succeed", "COMPLETED")] {
            let answer = pay(&shopper, &id, "123").await;
            assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("REDIRECTED")), "{}", answer.text());
            is_refused(&shopper.remove_saved(&id).await, 409, "INVALID_SESSION_STATE");
            world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), choice, None).await).await;
            until("the attempt comes to rest", Duration::from_secs(20), async || {
                (shopper.progress().await["State"] == state).then_some(())
            })
            .await;
        }
        world.receiver.expect(&session, &PAID).await;
        assert_eq!(contract(world, &id).await["State"], "ACTIVE");

        let session = allowing(world, "poor").await;
        let shopper = world.shopper(&session);
        let answer = shopper.submit_agreeing(&shopper.stash("poor", cards::SHORT_LATER).await).await;
        world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), "succeed", None).await).await;
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);
        let session = returning(&world.merchant, "poor", json!({})).await;
        let shopper = world.shopper(&session);
        let answer = pay(&shopper, &id, "123").await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("CREATED")), "{}", answer.text());
        assert_eq!(answer.json()["Attempt"]["ErrorCode"], "PAYMENT_DECLINED");
        assert_eq!(listed(&shopper).await.len(), 1, "short of money is not for ever");
        let stashed = shopper.stash("poor", cards::VISA).await;
        let version = shopper.view().await["Version"].as_i64().unwrap();
        assert_eq!(shopper.submit(version, &stashed).await.json()["State"], "COMPLETED", "another card pays");
        world.receiver.expect(&session, &PAID).await;
        nothing_is_orphaned(world).await;
    }

    /// The merchant's charge needs the shopper, who pays a Session that names the contract; then the issuer is asked again.
    async fn a_merchant_brings_its_shopper_back_to_a_contract(world: &World) {
        let mut request = world.merchant.session_request(json!({"OpenContract": true}));
        request["BillingProfile"]["BillingProfileReference"] = json!("subscriber");
        let session = world.merchant.create_session(request).await;
        let shopper = world.shopper(&session);
        let answer = shopper.submit_agreeing(&shopper.stash("subscriber", cards::ASKS_ALWAYS).await).await;
        world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), "succeed", None).await).await;
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);
        let refused = charge(world, &id).await;
        is_refused(&refused, 402, "SHOPPER_AUTHENTICATION_REQUIRED");
        world.receiver.expect(&text(&refused.json()["OrderId"]), &["ORDER_PROCESSING_FAILED"]).await;
        let unasked = charge(world, &id).await;
        is_refused(&unasked, 402, "SHOPPER_AUTHENTICATION_REQUIRED");
        assert_eq!(unasked.json().get("OrderId"), None, "the issuer is not asked again: {}", unasked.text());

        let mut another = world.merchant.session_request(json!({"ContractId": id}));
        another["BillingProfile"]["BillingProfileReference"] = json!("somebody else");
        let answer = world.merchant.post_session(another.to_string().into_bytes()).await;
        is_refused_for(&answer, "ContractId", "CONFLICT");
        is_refused_for(&answer, "BillingProfile.BillingProfileReference", "CONFLICT");
        let created = returning(&world.merchant, "subscriber", json!({"ContractId": id})).await;
        assert_eq!(world.merchant.session(&created).await["ContractId"], json!(id));
        let shopper = world.shopper(&created);
        let view = shopper.view().await;
        assert_eq!((&view["SavedCards"][0]["ContractId"], &view["SavedCards"][0]["Removable"]), (&json!(id), &json!(false)));
        is_refused(&shopper.remove_saved(&id).await, 404, "CONTRACT_NOT_FOUND");
        let answer = pay(&shopper, &id, "123").await;
        assert_eq!(answer.json()["State"], "REDIRECTED", "{}", answer.text());
        world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), "succeed", None).await).await;
        world.receiver.expect(&created, &PAID).await;
        let asked = charge(world, &id).await;
        is_refused(&asked, 402, "SHOPPER_AUTHENTICATION_REQUIRED");
        world.receiver.expect(&text(&asked.json()["OrderId"]), &["ORDER_PROCESSING_FAILED"]).await;
        nothing_is_orphaned(world).await;
    }

    /// Another card takes the place of the contract's, which is deleted at the processor; a card that is declined does not.
    async fn a_new_card_takes_the_place_of_a_contracts(world: &World) {
        let mut request = world.merchant.session_request(json!({"OpenContract": true}));
        request["BillingProfile"]["BillingProfileReference"] = json!("mover");
        let session = world.merchant.create_session(request).await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.submit_agreeing(&shopper.stash("mover", cards::VISA).await).await.status, 200);
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);

        let created = returning(&world.merchant, "mover", json!({"ContractId": id})).await;
        let shopper = world.shopper(&created);
        let view = shopper.view().await;
        assert_eq!(view["OpensContract"], "RECURRING");
        let methods = view["PaymentMethods"].as_array().unwrap();
        assert!(!methods.is_empty() && methods.iter().all(|method| method["Class"] == "Card"), "only cards are stored: {view}");
        let stashed = shopper.stash("mover", cards::MASTERCARD).await;
        is_refused_for(&shopper.submit(1, &stashed).await, "Consent", "FIELD_MISSING");
        let declined = shopper.submit_agreeing(&shopper.stash("mover", cards::DECLINED).await).await;
        assert_eq!((declined.status, &declined.json()["State"]), (200, &json!("CREATED")), "{}", declined.text());
        assert_eq!(contract(world, &id).await["Card"]["Last4"], "4242");
        cards_are_kept(world, 1).await;

        let answer = shopper.submit_agreeing(&stashed).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        world.receiver.expect(&created, &PAID).await;
        let moved = contract(world, &id).await;
        assert_eq!((&moved["State"], &moved["PaymentMethod"], &moved["Card"]["Last4"]), (&json!("ACTIVE"), &json!("MC"), &json!("4444")));
        assert_eq!(world.merchant.order_of(&created).await["ContractId"], json!(id));
        cards_are_kept(world, 1).await;
        let charged = charge(world, &id).await;
        assert_eq!((charged.status, &charged.json()["Captured"]), (200, &json!(true)), "{}", charged.text());
        world.receiver.expect(&text(&charged.json()["OrderId"]), &["ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
        nothing_is_orphaned(world).await;
    }

    /// The issuer refuses the card for good: the contract is suspended until its shopper gives another card, and the merchant charges on.
    async fn a_suspended_contract_goes_on_with_a_new_card(world: &World) {
        let mut request = world.merchant.session_request(json!({"OpenContract": true}));
        request["BillingProfile"]["BillingProfileReference"] = json!("suspended");
        let session = world.merchant.create_session(request).await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.submit_agreeing(&shopper.stash("suspended", cards::VISA).await).await.status, 200);
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);
        // ISO 8583, field 39: no such card number.
        world.faults(json!({"Mode": "refuse", "Remaining": 1, "Kinds": ["AUTHORIZE"], "ResponseCode": "14"})).await;
        is_refused(&charge(world, &id).await, 402, "PAYMENT_DECLINED");
        world.receiver.expect(&session, &[&SAVED[..], &["CONTRACT_SUSPENDED"]].concat()).await;
        assert_eq!(contract(world, &id).await["State"], "SUSPENDED");
        is_refused(&charge(world, &id).await, 409, "INVALID_CONTRACT_STATE");

        let created = returning(&world.merchant, "suspended", json!({"ContractId": id})).await;
        let shopper = world.shopper(&created);
        assert_eq!(listed(&shopper).await, Vec::<Value>::new(), "the refused card is not offered");
        let answer = shopper.submit_agreeing(&shopper.stash("suspended", cards::MASTERCARD).await).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        world.receiver.expect(&created, &PAID).await;
        let active = contract(world, &id).await;
        assert_eq!((&active["State"], &active["Card"]["Last4"]), (&json!("ACTIVE"), &json!("4444")), "{active}");
        let again = [&SAVED[..], &["CONTRACT_SUSPENDED", "CONTRACT_OPENED"]].concat();
        world.receiver.expect(&session, &again).await;
        let charged = charge(world, &id).await;
        assert_eq!((charged.status, &charged.json()["Captured"]), (200, &json!(true)), "{}", charged.text());
        cards_are_kept(world, 1).await;
        nothing_is_orphaned(world).await;
    }

    /// What cannot be brought back to is said when the Session is created.
    async fn a_session_names_a_contract_that_its_merchant_can_charge(world: &World) {
        let saved = save(world, "namer", cards::VISA).await;
        let create = async |merchant: &Merchant, change: Value| {
            merchant.post_session(merchant.session_request(change).to_string().into_bytes()).await
        };
        is_refused_for(&create(&world.merchant, json!({"ContractId": saved})).await, "ContractId", "VALUE_NOT_ALLOWED");
        let nobodys = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        is_refused_for(&create(&world.merchant, json!({"ContractId": nobodys})).await, "ContractId", "NOT_FOUND");
        let session = world.merchant.create_session(json!({"OpenContract": true})).await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.submit_agreeing(&shopper.stash("namer", cards::VISA).await).await.status, 200);
        world.receiver.expect(&session, &SAVED).await;
        let id = text(&world.merchant.order_of(&session).await["ContractId"]);
        is_refused_for(&create(&world.another_merchant().await, json!({"ContractId": id})).await, "ContractId", "NOT_FOUND");
        let euros = create(&world.merchant, json!({"ContractId": id, "Currency": "EUR"})).await;
        is_refused_for(&euros, "ContractId", "CONFLICT");
        is_refused_for(&euros, "Currency", "CONFLICT");
        for member in ["AllowContract", "OpenContract"] {
            let both = create(&world.merchant, json!({"ContractId": id, member: true})).await;
            is_refused_for(&both, "ContractId", "CONFLICT");
            is_refused_for(&both, member, "CONFLICT");
        }
        let named = world.merchant.create_session(json!({"ContractId": id})).await;
        let body = json!({"MerchantId": world.merchant.id, "ContractId": id});
        assert_eq!(world.merchant.post_checkout("/closeContract", None, &body).await.status, 200);
        is_refused_for(&create(&world.merchant, json!({"ContractId": id})).await, "ContractId", "VALUE_NOT_ALLOWED");
        assert_eq!(listed(&world.shopper(&named)).await, Vec::<Value>::new(), "it was closed meanwhile");
        is_refused_for(&pay(&world.shopper(&named), &id, "123").await, "ContractId", "NOT_FOUND");
        world.receiver.expect(&session, &[&SAVED[..], &["CONTRACT_CLOSED"]].concat()).await;
    }
}
