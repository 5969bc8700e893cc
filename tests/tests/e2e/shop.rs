//! The demo shop, as a newcomer clicks through it after `cargo run`.

use std::collections::BTreeSet;

use dropin_tests::{browser, cards, world::Demo};
use serde_json::{Value, json};

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (360, 740);

fn viewport((width, height): (u32, u32)) -> Value {
    json!({"width": width, "height": height})
}

/// Plays a scenario of tests/browser/shop.mjs at both sizes; the browser's console has nothing to complain of.
async fn played(demo: &Demo, scenario: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for size in [DESKTOP, PHONE] {
        let input = json!({
            "shop": demo.shop, "viewport": viewport(size), "number": cards::VISA, "declined": cards::NO_FUNDS,
            "held": cards::UNDER_REVIEW,
        });
        let seen = browser::run(scenario, &input).await;
        assert_eq!(seen["problems"], json!([]), "{scenario} at {size:?}: {seen}");
        all.push(seen);
    }
    all
}

/// Whether all Sessions that a scenario saw were one.
fn is_one_session(seen: &Value) -> bool {
    let sessions: BTreeSet<_> = seen["sessions"].as_array().unwrap().iter().map(Value::to_string).collect();
    sessions.len() == 1 && seen["sessions"][0].is_string()
}

/// Presets and variables are tried on a form that works, and the page says what to write.
#[actix_web::test]
async fn looks_are_tried_on_a_form_that_pays() {
    let demo = Demo::start().await;
    for seen in played(&demo, "looks").await {
        let code = seen["code"].as_str().unwrap();
        for part in
            ["/v1/appearance.css\">", "<div id=\"payment\" class=\"dropin-night\">", "--button--border-radius: 3px;"]
        {
            assert!(code.contains(part), "{part} missing in {code}");
        }
    }
    demo.finish().await;
}

/// One cart is one Session, however often its page is loaded, and Back after paying is the shelf.
#[actix_web::test]
async fn back_and_reload_pay_once() {
    let demo = Demo::start().await;
    for seen in played(&demo, "backAndReload").await {
        assert!(is_one_session(&seen), "{seen}");
        assert_eq!(seen["amounts"], json!(["€28.90", "€52.90"]), "{seen}");
        assert_eq!((&seen["back"], &seen["typed"]), (&json!({"path": "/", "count": "0"}), &json!("/")), "{seen}");
        assert_eq!(seen["events"], 3, "one payment's notifications: {seen}");
    }
    demo.finish().await;
}

/// Two tabs of one cart.
#[actix_web::test]
async fn two_tabs_of_the_shop_pay_once() {
    let demo = Demo::start().await;
    for seen in played(&demo, "twoTabs").await {
        assert!(is_one_session(&seen), "{seen}");
        assert_eq!((&seen["events"], &seen["counts"]), (&json!(3), &json!(["0", "0"])), "{seen}");
    }
    demo.finish().await;
}

/// Another country while the drop-in is open replaces the Session; while the shopper is at the bank it cannot be changed.
#[actix_web::test]
async fn the_country_may_change_until_somebody_pays() {
    let demo = Demo::start().await;
    for seen in played(&demo, "countryWhilePaying").await {
        assert!(is_one_session(&seen), "{seen}");
        assert_eq!((&seen["before"], &seen["locked"], &seen["back"]), (&json!(0), &json!(true), &json!("/")), "{seen}");
    }
    demo.finish().await;
}

/// CancelUrl is the page with the drop-in: the same Session is tried again, and paid at the third try. The merchant's side sees why the others
/// failed, and hears of the payment alone.
#[actix_web::test]
async fn a_shopper_who_cancelled_elsewhere_pays_in_the_same_session() {
    let demo = Demo::start().await;
    for seen in played(&demo, "cancelElsewhere").await {
        assert!(is_one_session(&seen), "{seen}");
        assert!(seen["said"].as_str().unwrap().contains("The payment was cancelled"), "{seen}");
        let tries = seen["tries"].as_str().unwrap();
        assert!(tries.contains("PAYPAL CANCELLED_BY_SHOPPER") && tries.contains("VISA INSUFFICIENT_FUNDS"), "{seen}");
        assert_eq!(seen["events"], json!(["ORDER_PROCESSED", "ORDER_AUTHORIZED", "SESSION_COMPLETED"]), "{seen}");
    }
    demo.finish().await;
}

/// After onFailure the shop reads the Session. While a payment of it may be under way it offers the same one; a new one only when it is over.
#[actix_web::test]
async fn a_drop_in_that_failed_makes_no_second_session() {
    let demo = Demo::start().await;
    // A card of its own for each: one that is tried more than five times in an hour is challenged.
    for (size, declined) in [(DESKTOP, cards::NO_FUNDS), (PHONE, cards::DECLINED)] {
        let input = json!({"shop": demo.shop, "viewport": viewport(size), "declined": declined});
        let seen = browser::run("afterFailure", &input).await;
        assert_eq!(seen["problems"], json!([]), "{seen}");
        assert_eq!(seen["offered"], json!(["Try again", "Try again with a new Session"]), "{seen}");
        assert!(seen["sessions"][0] == seen["sessions"][1] && seen["sessions"][0] != seen["sessions"][2], "{seen}");
    }
    demo.finish().await;
}

/// The last page says where to send the money and what the shop waits for.
#[actix_web::test]
async fn the_shop_says_where_to_transfer_to() {
    let demo = Demo::start().await;
    for seen in played(&demo, "transferInShop").await {
        let details = seen["details"].as_str().unwrap();
        assert!(["IBAN", "BIC", "Reference"].iter().all(|name| details.contains(name)), "{seen}");
        assert!(seen["title"].as_str().unwrap().contains("transfer"), "{seen}");
    }
    demo.finish().await;
}

/// The last page of a payment that is held says so, and how it is decided.
#[actix_web::test]
async fn a_held_payment_names_the_command_that_decides() {
    let demo = Demo::start().await;
    for seen in played(&demo, "heldInShop").await {
        assert!(seen["title"].as_str().unwrap().contains("held for a review"), "{seen}");
        let command = seen["command"].as_str().unwrap();
        let order = command.strip_prefix("dropin order review ").and_then(|rest| rest.strip_suffix(" approve"));
        assert!(order.is_some_and(|order| order.len() == 36), "{seen}");
    }
    demo.finish().await;
}

/// The shopper reads what is agreed to and pays the first month; the shop charges the next one, once, and ends the subscription.
#[actix_web::test]
async fn a_subscription_is_charged_again_and_ended() {
    let demo = Demo::start().await;
    for seen in played(&demo, "subscription").await {
        assert_eq!((&seen["price"], &seen["methods"]), (&json!("€16.90 a month"), &json!(0)), "{seen}");
        let agreed = seen["agreement"].as_str().unwrap();
        assert!(agreed.contains("store this card") && agreed.contains("until you cancel"), "{seen}");
        assert_eq!((&seen["charged"], &seen["later"]), (&json!(["€16.90, paid"]), &json!(1)), "charged once: {seen}");
        let ended = seen["ended"].as_str().unwrap();
        assert!(ended.contains("CLOSED") && ended.contains("Nothing more is charged"), "{seen}");
        let events: BTreeSet<_> = seen["events"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let expected =
            ["CONTRACT_CLOSED", "CONTRACT_OPENED", "ORDER_AUTHORIZED", "ORDER_PROCESSED", "SESSION_COMPLETED"];
        assert_eq!(events, BTreeSet::from(expected), "{seen}");
        assert_eq!(seen["wide"], json!(false), "{seen}");
    }
    demo.finish().await;
}

/// The shop knows its customer from the second purchase on: the saved card is offered, pays by its code, and is removed. None of it is a subscription.
#[actix_web::test]
async fn a_returning_customer_pays_with_the_card_that_was_saved() {
    let demo = Demo::start().await;
    for seen in played(&demo, "returning").await {
        let says_saved = |page: &str| seen[page].as_str().unwrap().contains("This card is saved");
        assert_eq!((says_saved("saved"), says_saved("last"), &seen["panels"]), (true, false, &json!(0)), "{seen}");
        assert!(seen["offered"].as_str().unwrap().contains("4242"), "{seen}");
        assert!(seen["again"].as_str().unwrap().contains("Paid. Thank you."), "{seen}");
    }
    demo.finish().await;
}

/// The payment form speaks the language that its shopper chooses, also after a reload; each language is named in its own words.
#[actix_web::test]
async fn the_shop_switches_the_language_of_the_form() {
    let demo = Demo::start().await;
    for size in [DESKTOP, PHONE] {
        let input = json!({"shop": demo.shop, "viewport": viewport(size), "tags": ["de", "ar", "zh-Hant", "pt-BR"]});
        let seen = browser::run("languages", &input).await;
        assert_eq!(seen["problems"], json!([]), "{seen}");
        let spoken: Vec<_> =
            seen["seen"].as_array().unwrap().iter().map(|one| (&one["lang"], &one["dir"], &one["wide"])).collect();
        let expected = [("de-DE", "ltr"), ("ar-EG", "rtl"), ("zh-Hant-TW", "ltr"), ("pt-BR", "ltr"), ("pt-BR", "ltr")];
        let expected: Vec<_> = expected.map(|(lang, dir)| (json!(lang), json!(dir), json!(false))).into();
        assert_eq!(spoken, expected.iter().map(|(lang, dir, wide)| (lang, dir, wide)).collect::<Vec<_>>(), "{seen}");
        assert_eq!(seen["seen"][0]["label"], "Kartennummer", "{seen}");
        let own: BTreeSet<_> = seen["own"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(own.len(), 36, "{seen}");
    }
    demo.finish().await;
}

/// Notifications stand in view beside the payment, and nothing is wider than a phone. Every published number is listed.
#[actix_web::test]
async fn everything_stands_in_view() {
    let demo = Demo::start().await;
    let viewports = json!([viewport(DESKTOP), viewport(PHONE)]);
    let seen = browser::run("inView", &json!({"shop": demo.shop, "viewports": viewports, "number": cards::VISA})).await;
    let known: BTreeSet<_> = cards::all().map(str::to_owned).collect();
    for seen in seen.as_array().unwrap() {
        assert_eq!((&seen["problems"], &seen["wide"]), (&json!([]), &json!([false, false])), "{seen}");
        let listed = seen["cards"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().replace(' ', ""));
        assert_eq!(listed.collect::<BTreeSet<_>>(), known);
    }
    assert_eq!(seen[0]["visible"], json!([true, true, true]), "at {DESKTOP:?}: {seen}");
    demo.finish().await;
}

/// Pick a thing, pay it, and see the Order and the notifications arrive: charged at once, when it ships, by wallet, and at a bank.
#[actix_web::test]
async fn a_newcomer_clicks_through_the_shop() {
    let demo = Demo::start().await;
    assert!(demo.private_memory_kib() < 16 * 1024, "idle: {} KiB", demo.private_memory_kib());
    let (desktop, phone) = (json!({"width": 1280, "height": 900}), json!({"width": 390, "height": 844}));
    let at_once = json!({"shop": demo.shop, "viewport": desktop, "number": cards::VISA, "events": 3});
    let seen = browser::run("shop", &at_once).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    let stream = seen["stream"].as_str().unwrap_or_default();
    let order = ["ORDER_PROCESSED", "ORDER_AUTHORIZED", "SESSION_COMPLETED"].map(|event| stream.find(event));
    assert!(order[0].is_some() && order.is_sorted(), "newest first: {stream}");
    assert!(seen["panel"].as_str().is_some_and(|panel| panel.contains("COMPLETED")), "{seen}");
    let later =
        json!({"shop": demo.shop, "viewport": phone, "number": cards::MASTERCARD, "events": 5, "shipLater": true});
    let seen = browser::run("shop", &later).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    assert_eq!(seen["stream"].as_str().map(|stream| stream.matches("ORDER_PROCESSED").count()), Some(2), "{seen}");
    let seen = browser::run("tour", &json!({"shop": demo.shop, "viewport": {"width": 1280, "height": 900}})).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    assert!(seen["prices"]["currencies"].as_u64().is_some_and(|count| count > 50), "{seen}");
    // At the rates of the sandbox's own feed.
    let prices = (&seen["prices"]["EUR"], &seen["prices"]["JPY"], &seen["prices"]["KWD"]);
    assert_eq!(prices, (&json!("€24.00"), &json!("JP¥3,840"), &json!("KWD 8.160")), "{seen}");
    assert!(seen["later"].as_str().is_some_and(|text| text.contains("4 payments")), "{seen}");
    assert_eq!(seen["paid"], json!(["US$31.79", "€28.90"]), "{seen}");
    demo.finish().await;
}
