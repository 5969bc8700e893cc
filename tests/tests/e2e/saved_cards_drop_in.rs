//! Shoppers in Chromium who save a card, come back to it and have it removed (docs/SPECIFICATION.md#drop-in-saved-cards).

use dropin_tests::{World, browser, cards};
use serde_json::{Value, json};

use crate::saved_cards::{
    SAVED, allowing, cards_are_kept, charge, contract, nothing_is_orphaned, offer, returning, text,
};
use crate::{CHARGED, PAID};

/// The consent text of a card that only the shopper can pay with.
const TEXT_VERSION: &str = "2026-11-one-click";

fn with(mut input: Value, more: Value) -> Value {
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

/// Pays in the drop-in, with the box as asked.
async fn first_payment(world: &World, customer: &str, number: &str, more: Value) -> String {
    let session = allowing(world, customer).await;
    let seen = browser::run("save", &with(world.page_for(&session, number), more)).await;
    assert_eq!((&seen["heard"], &seen["problems"]), (&json!([["success"]]), &json!([])), "{seen}");
    assert_eq!(seen["ticked"], false, "never beforehand: {seen}");
    let read = text(&seen["described"]);
    assert!(read.contains("store this card") && read.contains("only when you confirm a payment"), "{seen}");
    session
}

async fn comes_back(world: &World, session: &str, more: Value) -> Value {
    let seen = browser::run("returns", &with(world.page_for(session, ""), more)).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    seen
}

crate::both! {
    /// The box is ticked, the card is paid with again by its code alone, and removed.
    async fn a_shopper_saves_a_card_pays_with_it_and_removes_it_in_the_drop_in(world: &World) {
        offer(world, &world.merchant, "on").await;
        let first = first_payment(world, "ada", cards::VISA, json!({"tick": true})).await;
        world.receiver.expect(&first, &SAVED).await;
        let id = text(&world.merchant.order_of(&first).await["ContractId"]);
        let saved = contract(world, &id).await;
        assert_eq!((&saved["Kind"], &saved["Card"]["Last4"]), (&json!("ONE_CLICK"), &json!("4242")));
        assert_eq!((&saved["Consent"]["TextVersion"], &saved["Consent"]["Locale"]), (&json!(TEXT_VERSION), &json!("en_US")));

        let again = returning(&world.merchant, "ada", json!({})).await;
        let phone = json!({"code": "123", "viewport": {"width": 360, "height": 740}});
        let seen = comes_back(world, &again, phone).await;
        assert_eq!(seen["names"], json!(["Visa •••• 4242, 12/31", "Another card"]), "{seen}");
        assert_eq!((&seen["open"], &seen["heard"]), (&json!(["Visa •••• 4242, 12/31"]), &json!([["success"]])), "{seen}");
        assert_eq!((&seen["paid"]["method"], &seen["removable"]), (&json!("VISA"), &json!(true)), "{seen}");
        world.receiver.expect(&again, &PAID).await;
        world.journal_has(&again, &CHARGED).await;
        assert_eq!(world.merchant.order_of(&again).await["ContractId"], json!(id));

        let last = returning(&world.merchant, "ada", json!({})).await;
        let seen = browser::run("removes", &world.page_for(&last, cards::MASTERCARD)).await;
        assert_eq!((&seen["heard"], &seen["problems"]), (&json!([["success"]]), &json!([])), "{seen}");
        assert_eq!(seen["before"]["names"], json!(["Visa •••• 4242, 12/31", "Another card"]), "{seen}");
        assert_eq!(seen["after"], json!({"names": ["Card"], "open": ["Card"]}), "{seen}");
        assert_eq!(seen["focused"], "Card", "{seen}");
        world.receiver.expect(&last, &PAID).await;
        let closed = contract(world, &id).await;
        assert_eq!((&closed["State"], &closed["StateReason"]), (&json!("CLOSED"), &json!("SHOPPER")), "{closed}");
        world.receiver.expect(&first, &[&SAVED[..], &["CONTRACT_CLOSED"]].concat()).await;
        cards_are_kept(world, 0).await;
        nothing_is_orphaned(world).await;
    }

    /// Who does not tick is shown nothing stored, ever.
    async fn a_shopper_who_does_not_tick_is_shown_no_card(world: &World) {
        offer(world, &world.merchant, "on").await;
        let first = first_payment(world, "grace", cards::VISA, json!({"tick": false})).await;
        world.receiver.expect(&first, &PAID).await;
        assert_eq!(world.merchant.order_of(&first).await.get("ContractId"), None);
        cards_are_kept(world, 0).await;
        let session = returning(&world.merchant, "grace", json!({"AllowContract": true})).await;
        let seen = comes_back(world, &session, json!({})).await;
        assert_eq!(seen["names"], json!([]), "{seen}");
    }

    /// The issuer refused a charge until the shopper authenticates: a Session that names the contract asks for the code of its card and then for the
    /// bank's dialog, and offers no way to remove the card.
    async fn a_merchant_brings_its_shopper_back_to_a_contract_in_the_drop_in(world: &World) {
        let mut request = world.merchant.session_request(json!({"OpenContract": true}));
        request["BillingProfile"]["BillingProfileReference"] = json!("mary");
        let first = world.merchant.create_session(request).await;
        let shopper = world.shopper(&first);
        let answer = shopper.submit_agreeing(&shopper.stash("mary", cards::ASKS_ALWAYS).await).await;
        world.come_back(&world.press(&text(&answer.json()["RedirectUrl"]), "succeed", None).await).await;
        world.receiver.expect(&first, &SAVED).await;
        let id = text(&world.merchant.order_of(&first).await["ContractId"]);
        let refused = charge(world, &id).await;
        assert_eq!((refused.status, &refused.json()["Code"]), (402, &json!("SHOPPER_AUTHENTICATION_REQUIRED")));
        let back = returning(&world.merchant, "mary", json!({"ContractId": id})).await;
        let seen = comes_back(world, &back, json!({"code": "123", "challenged": true})).await;
        assert_eq!(seen["names"], json!(["Visa •••• 3184, 12/31", "Another card"]), "{seen}");
        assert_eq!((&seen["removable"], &seen["heard"]), (&json!(false), &json!([["success"]])), "{seen}");
        world.receiver.expect(&back, &PAID).await;
        assert_eq!(world.merchant.order_of(&back).await["ContractId"], json!(id));
        assert_eq!(contract(world, &id).await["State"], "ACTIVE");
        cards_are_kept(world, 1).await;
        nothing_is_orphaned(world).await;
    }

    /// A bank that asks each time asks in the same dialog.
    async fn a_saved_card_is_authenticated_in_the_dialog(world: &World) {
        offer(world, &world.merchant, "on").await;
        let first = first_payment(world, "joan", cards::ASKS_ALWAYS, json!({"tick": true, "challenged": true})).await;
        world.receiver.expect(&first, &SAVED).await;
        let again = returning(&world.merchant, "joan", json!({})).await;
        let seen = comes_back(world, &again, json!({"code": "123", "challenged": true})).await;
        assert_eq!(seen["heard"], json!([["success"]]), "{seen}");
        world.receiver.expect(&again, &PAID).await;
    }
}
