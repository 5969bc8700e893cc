//! Ways to pay that need the shopper, the provider or time: what each of them does, and how each of them ends.

mod cards;
mod local_methods;

use std::time::Duration;

use crate::common::{CHALLENGED, PLAIN, RETURN_URL, RunningProcessor, asking, authorization, fresh_key, until};
use sandbox_processor::Waits;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

/// Reviews that nobody but the test ends.
fn patient() -> Waits {
    Waits { review: HOUR, ..Waits::default() }
}

#[actix_web::test]
async fn the_caller_who_says_nothing_new_sees_nothing_new() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for number in [CHALLENGED, "4000000000009235"] {
        let answer = caller.authorize(&fresh_key(), number).await;
        assert_eq!((answer.outcome(), answer.reason()), ("DECLINED", "GENERIC_DECLINE"));
    }
    let plain = caller.post("/v1/authorizations", &fresh_key(), authorization(PLAIN)).await;
    let members: Vec<_> = plain.body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["Amount", "Checks", "Currency", "Key", "Kind", "Method", "Outcome", "Reference"]);
    running.stop().await;
}

#[actix_web::test]
async fn what_waits_too_long_expires() {
    let soon = Duration::from_millis(300);
    let waits = Waits { challenge: soon, page: soon, transfer: soon, pay_margin: Duration::ZERO, ..Waits::default() };
    let running = RunningProcessor::start_waiting(waits).await;
    let caller = &running.caller;
    for method in ["CARD", "PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER", "KIOSK"] {
        let (key, pending) = caller.pending(json!({"Method": method})).await;
        let page = pending.page();
        let form = caller.open(&page).await.form();
        until("its end", || async { (caller.operation(&key).await.outcome() == "DECLINED").then_some(()) }).await;
        assert_eq!(caller.operation(&key).await.reason(), "EXPIRED", "{method}");
        let closed = caller.open(&page).await;
        assert!(closed.text.contains("Too late") && !closed.text.contains("<form"), "{}", closed.text);
        for choice in ["succeed", "pay", "approve", "arrived"] {
            let late = caller.send_form(&page, &form, choice, None).await;
            assert_eq!((late.status, late.location.as_str()), (303, RETURN_URL));
        }
        assert_eq!(caller.journaled(&key).await, ["PENDING", "DECLINED"], "{method}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn the_page_itself_sees_that_its_time_is_over() {
    let running = RunningProcessor::start_waiting(Waits { challenge: Duration::ZERO, ..Waits::default() }).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({})).await;
    assert!(caller.open(&pending.page()).await.text.contains("Too late"));
    assert_eq!(caller.journaled(&key).await, ["PENDING", "DECLINED"]);
    running.stop().await;
}

#[actix_web::test]
async fn a_void_stops_what_is_pending() {
    let running = RunningProcessor::start_waiting(patient()).await;
    let caller = &running.caller;
    for (method, step, good) in [
        ("CARD", "", "succeed"),
        ("PAYPAL", "", "pay"),
        ("IDEAL", "", "pay"),
        ("KIOSK", "", "pay"),
        ("PAYLATER", "", "approve"),
        ("PAYLATER", "review", "approve"),
        ("BANKTRANSFER", "", "arrived"),
        ("BANKTRANSFER", "arrived", "arrived"),
    ] {
        let (key, pending) = caller.pending(json!({"Method": method})).await;
        let page = pending.page();
        let form = caller.open(&page).await.form();
        if !step.is_empty() {
            caller.send_form(&page, &form, step, (step == "arrived").then_some("1")).await;
        }
        let before = caller.journaled(&key).await.len();
        let void = fresh_key();
        let voided = caller.void(&void, &key).await;
        assert_eq!((voided.outcome(), voided.body["Amount"].to_string().as_str()), ("APPROVED", "29.9"), "{method}");
        let now = caller.operation(&key).await;
        assert_eq!((now.outcome(), now.reason(), &now.body["Retryable"]), ("DECLINED", "VOIDED", &json!(false)));
        assert!(caller.void(&void, &key).await.replayed);
        assert_eq!(caller.void(&fresh_key(), &key).await.reason(), "ALREADY_VOIDED");
        assert_eq!(caller.capture(&fresh_key(), &key, "1").await.reason(), "ALREADY_VOIDED");
        assert_eq!(caller.review(&key, "approve").await.status, 409);
        let closed = caller.open(&page).await;
        assert!(closed.text.contains("The shop has stopped this payment"), "{}", closed.text);
        assert!(closed.text.contains("href=\"https://shop.example/back?order=1&amp;x=2\""), "{}", closed.text);
        assert_eq!(caller.send_form(&page, &form, good, None).await.location, RETURN_URL);
        let journaled = caller.journaled(&key).await;
        assert_eq!((journaled.len(), journaled.last().unwrap().as_str()), (before + 1, "DECLINED"), "{method}");
        assert_eq!(caller.journaled(&void).await, ["APPROVED"]);
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_repeat_says_where_to_go_and_an_abandoned_key_stays_so() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let terms = json!({"Method": "PAYLATER", "ShopperCountry": "NL", "ReviewAllowed": true});
    let (key, pending) = caller.pending(terms.clone()).await;
    let again = caller.post("/v1/authorizations", &key, asking(terms.clone())).await;
    assert_eq!((again.replayed, &again.body), (true, &pending.body));
    for (name, other) in [
        ("Method", json!("PAYPAL")),
        ("ReturnUrl", json!("https://shop.example/elsewhere")),
        ("ShopperCountry", json!("DE")),
        ("ShopperCountry", Value::Null),
        ("ReviewAllowed", json!(false)),
    ] {
        let mut changed = terms.clone();
        changed[name] = other;
        let refused = caller.post("/v1/authorizations", &key, asking(changed)).await;
        assert_eq!((refused.status, refused.code()), (422, "IDEMPOTENCY_KEY_REUSED"), "{name}");
    }
    caller.press(&pending.page(), "approve").await;
    let replayed = caller.post("/v1/authorizations", &key, asking(terms.clone())).await;
    assert_eq!((replayed.outcome(), replayed.replayed), ("APPROVED", true));
    assert_eq!(caller.abandon(&key).await.body, replayed.body, "what is decided is not touched");
    let early = fresh_key();
    caller.abandon(&early).await;
    let late = caller.post("/v1/authorizations", &early, asking(terms)).await;
    assert_eq!((late.status, late.code()), (409, "KEY_ABANDONED"));
    assert_eq!(caller.operation(&early).await.body["Method"], Value::Null);
    running.stop().await;
}

#[actix_web::test]
async fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let card = json!({"Number": CHALLENGED, "ExpiryYear": "2099", "ExpiryMonth": "12"});
    let long = format!("https://shop.example/{}", "x".repeat(2_030));
    for (terms, names) in [
        (json!({"Method": ""}), "Method"),
        (json!({"Method": "KIOSK-7"}), "Method"),
        (json!({"Method": "K".repeat(33)}), "Method"),
        (json!({"Method": "KIOSK", "ReturnUrl": null}), "ReturnUrl"),
        (json!({"Method": "KIOSK", "Card": card}), "Card"),
        (json!({"Method": 1}), "Method"),
        (json!({"Method": "paypal"}), "Method"),
        (json!({"Method": "PAYPAL", "Card": card}), "Card"),
        (json!({"Card": null}), "Card"),
        (json!({"Method": "PAYPAL", "ReturnUrl": null}), "ReturnUrl"),
        (json!({"Method": "PAYLATER", "ReturnUrl": null}), "ReturnUrl"),
        (json!({"Method": "IDEAL", "ReturnUrl": "/back"}), "ReturnUrl"),
        (json!({"ReturnUrl": "javascript:alert(1)"}), "ReturnUrl"),
        (json!({"ReturnUrl": "https://a:b@shop.example/"}), "ReturnUrl"),
        (json!({"ReturnUrl": long}), "ReturnUrl"),
        (json!({"ReturnUrl": 7}), "ReturnUrl"),
        (json!({"ReviewAllowed": "yes"}), "ReviewAllowed"),
        (json!({"ShopperCountry": "nl"}), "ShopperCountry"),
        (json!({"ShopperCountry": "NLD"}), "ShopperCountry"),
    ] {
        let answer = caller.post("/v1/authorizations", &fresh_key(), asking(terms.clone())).await;
        assert_eq!((answer.status, answer.code()), (400, "INVALID_REQUEST"), "{terms}");
        let message = answer.body["Message"].as_str().unwrap();
        assert!(message.starts_with(names) && !message.contains("alert") && !message.contains("a:b"), "{message}");
    }
    assert!(caller.journal().await.is_empty());
    running.stop().await;
}
