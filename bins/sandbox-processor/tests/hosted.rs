//! Ways to pay that need the shopper, the provider or time: what each of them does, and how each of them ends.

mod common;

use std::time::Duration;

use common::{CHALLENGED, RETURN_URL, RunningProcessor, authorization, fresh_key, until};
use sandbox_processor::Waits;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

/// Reviews that nobody but the test ends.
fn patient() -> Waits {
    Waits { review: HOUR, ..Waits::default() }
}

#[actix_web::test]
async fn a_challenge_succeeds_fails_or_is_cancelled() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (choice, outcome, reason) in [
        ("succeed", "APPROVED", ""),
        ("fail", "DECLINED", "AUTHENTICATION_FAILED"),
        ("cancel", "DECLINED", "CANCELLED"),
    ] {
        let (key, pending) = caller.pending(json!({})).await;
        let page = pending.page();
        assert!(page.starts_with(&format!("{}/pages/", caller.base)) && !page.contains(&key), "{page}");
        assert!(pending.body["Action"]["ExpiresAt"].as_str().unwrap().ends_with('Z'));
        assert_eq!(caller.capture(&fresh_key(), &key, "1").await.reason(), "NOT_AUTHORIZED");
        let back = caller.press(&page, choice).await;
        assert_eq!((back.status, back.location.as_str()), (303, RETURN_URL), "{choice}");
        let now = caller.operation(&key).await;
        assert_eq!((now.outcome(), now.reason(), &now.body["Action"]), (outcome, reason, &Value::Null));
        assert_eq!(caller.journaled(&key).await, ["PENDING", outcome]);
        let capture = caller.capture(&fresh_key(), &key, "29.90").await;
        assert_eq!(capture.outcome(), outcome, "only what succeeded is captured");
    }
    running.stop().await;
}

#[actix_web::test]
async fn any_card_is_challenged_where_the_caller_asks_for_it() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let asked = |number: &str| {
        let mut body: Value = serde_json::from_str(&authorization(number)).unwrap();
        (body["Challenge"], body["ReturnUrl"], body["ReviewAllowed"]) = (json!(true), json!(RETURN_URL), json!(true));
        body
    };
    for (number, choice, outcome, reason) in [
        (common::PLAIN, "succeed", "APPROVED", ""),
        (common::PLAIN, "fail", "DECLINED", "AUTHENTICATION_FAILED"),
        ("4000000000009995", "succeed", "DECLINED", "INSUFFICIENT_FUNDS"),
        ("4000000000009995", "fail", "DECLINED", "AUTHENTICATION_FAILED"),
    ] {
        let key = fresh_key();
        let pending = caller.post("/v1/authorizations", &key, asked(number)).await;
        assert_eq!((pending.outcome(), &pending.body["Checks"]), ("PENDING", &Value::Null), "{number}");
        caller.press(&pending.page(), choice).await;
        let now = caller.operation(&key).await;
        assert_eq!((now.outcome(), now.reason()), (outcome, reason), "{number}");
        let checks =
            if outcome == "APPROVED" { json!({"CodeMatches": true, "Authenticated": true}) } else { Value::Null };
        assert_eq!(now.body["Checks"], checks, "{number}");
    }
    // Afterwards a card does what its number says.
    for (number, capture) in [("4000000000000341", "DECLINED"), ("4000000000009235", "APPROVED")] {
        let key = fresh_key();
        let pending = caller.post("/v1/authorizations", &key, asked(number)).await;
        caller.press(&pending.page(), "succeed").await;
        let now = caller.operation(&key).await;
        assert_eq!(now.body["UnderReview"] == true, number.ends_with("9235"), "{now:?}");
        assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), capture, "{number}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_challenge_is_part_of_what_was_asked_and_no_matter_to_other_methods() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Card": card(common::PLAIN), "Challenge": true})).await;
    let asking = |terms| caller.post("/v1/authorizations", &key, common::asking(terms));
    let again = asking(json!({"Card": card(common::PLAIN), "Challenge": true})).await;
    assert_eq!((again.replayed, again.page()), (true, pending.page()));
    let other = asking(json!({"Card": card(common::PLAIN), "Challenge": false})).await;
    assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    let odd = asking(json!({"Challenge": "yes"})).await;
    assert_eq!((odd.status, odd.code()), (400, "INVALID_REQUEST"));
    let away = json!({"Card": card(common::PLAIN), "Challenge": true, "ReturnUrl": null});
    let away = caller.post("/v1/authorizations", &fresh_key(), common::asking(away)).await;
    assert_eq!((away.outcome(), away.reason()), ("DECLINED", "AUTHENTICATION_REQUIRED"));
    let transfer = json!({"Method": "BANKTRANSFER", "Challenge": true});
    assert!(caller.pending(transfer).await.1.body["BankDetails"].is_object());
    let (paypal, page) = caller.pending(json!({"Method": "PAYPAL", "Challenge": true})).await;
    caller.press(&page.page(), "pay").await;
    let paid = caller.operation(&paypal).await;
    assert_eq!((paid.outcome(), &paid.body["Checks"]), ("APPROVED", &Value::Null));
    let token = json!({"Card": null, "Token": {"Type": "APPLEPAY", "Data": {}}});
    let approved = caller.post("/v1/authorizations", &fresh_key(), common::asking(token.clone())).await;
    assert_eq!(
        (approved.outcome(), &approved.body["Checks"]),
        ("APPROVED", &Value::Null),
        "of a token nothing is known"
    );
    let mut challenged = token;
    challenged["Challenge"] = json!(true);
    let (wallet, page) = caller.pending(challenged).await;
    caller.press(&page.page(), "succeed").await;
    assert_eq!(caller.operation(&wallet).await.body["Checks"], json!({"Authenticated": true}));
    running.stop().await;
}

#[actix_web::test]
async fn an_exemption_is_part_of_what_was_asked() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let terms = |number: &str, exemption: Value| {
        common::asking(json!({"Card": card(number), "Exemption": exemption, "ReturnUrl": RETURN_URL}))
    };
    let key = fresh_key();
    let approved = caller.post("/v1/authorizations", &key, terms(CHALLENGED, json!("LOW_VALUE"))).await;
    assert_eq!((approved.outcome(), &approved.body["Checks"]["Authenticated"]), ("APPROVED", &json!(false)));
    assert!(caller.post("/v1/authorizations", &key, terms(CHALLENGED, json!("LOW_VALUE"))).await.replayed);
    for other in [json!("ONE_LEG_OUT"), Value::Null] {
        let other = caller.post("/v1/authorizations", &key, terms(CHALLENGED, other)).await;
        assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    }
    let key = fresh_key();
    let refused = caller.post("/v1/authorizations", &key, terms("4000002760003184", json!("ONE_LEG_OUT"))).await;
    caller.press(&refused.page(), "succeed").await;
    let now = caller.operation(&key).await;
    assert_eq!((now.outcome(), &now.body["Checks"]["Authenticated"]), ("APPROVED", &json!(true)));
    let both = json!({"Card": card(CHALLENGED), "Exemption": "LOW_VALUE", "Challenge": true});
    for odd in [common::asking(both), terms(CHALLENGED, json!("CORPORATE")), terms(CHALLENGED, json!(5))] {
        let odd = caller.post("/v1/authorizations", &fresh_key(), odd).await;
        assert_eq!((odd.status, odd.code()), (400, "INVALID_REQUEST"), "{odd:?}");
    }
    running.stop().await;
}

fn card(number: &str) -> Value {
    let body: Value = serde_json::from_str(&authorization(number)).expect("an authorization is JSON");
    body["Card"].clone()
}

#[actix_web::test]
async fn a_co_badged_card_shows_the_scheme_that_was_chosen() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let by = |scheme: &str| {
        let mut card = card("4000002500001001");
        card["Scheme"] = json!(scheme);
        json!({"Card": card, "Challenge": true})
    };
    let (key, pending) = caller.pending(by("CB")).await;
    let page = caller.open(&pending.page()).await;
    assert!(page.text.contains("Cartes Bancaires"), "{}", page.text);
    let asking = |terms| caller.post("/v1/authorizations", &key, common::asking(terms));
    let other = asking(by("VISA")).await;
    assert_eq!((other.status, other.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    let unknown = asking(by("VISA ")).await;
    assert_eq!((unknown.status, unknown.code()), (400, "INVALID_REQUEST"));
    caller.press(&pending.page(), "succeed").await;
    let now = caller.operation(&key).await;
    assert_eq!((now.outcome(), &now.body["Scheme"]), ("APPROVED", &json!("CB")));
    let silent = caller.authorize(&fresh_key(), "4000002500001001").await;
    assert_eq!((silent.outcome(), silent.body.get("Scheme")), ("APPROVED", None));
    running.stop().await;
}

#[actix_web::test]
async fn the_caller_who_says_nothing_new_sees_nothing_new() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for number in [CHALLENGED, "4000000000009235"] {
        let answer = caller.authorize(&fresh_key(), number).await;
        assert_eq!((answer.outcome(), answer.reason()), ("DECLINED", "GENERIC_DECLINE"));
    }
    let plain = caller.post("/v1/authorizations", &fresh_key(), authorization(common::PLAIN)).await;
    let members: Vec<_> = plain.body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["Amount", "Checks", "Currency", "Key", "Kind", "Method", "Outcome", "Reference"]);
    running.stop().await;
}

#[actix_web::test]
async fn a_card_may_be_authorized_under_review() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for end in ["capture", "void"] {
        let key = fresh_key();
        let mut body: Value = serde_json::from_str(&authorization("4000000000009235")).unwrap();
        body["ReviewAllowed"] = json!(true);
        let answer = caller.post("/v1/authorizations", &key, &body).await;
        assert_eq!((answer.outcome(), &answer.body["UnderReview"]), ("APPROVED", &json!(true)));
        assert_eq!(caller.operation(&key).await.body, answer.body);
        assert_eq!(caller.review(&key, "approve").await.code(), "NOT_IN_REVIEW");
        let ended = match end {
            "capture" => caller.capture(&fresh_key(), &key, "29.90").await,
            _ => caller.void(&fresh_key(), &key).await,
        };
        assert_eq!(ended.outcome(), "APPROVED", "{end}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_wallet_is_authorized_and_a_bank_has_paid() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (method, captured) in [("PAYPAL", false), ("IDEAL", true), ("KIOSK", false)] {
        let (cancelled, pending) = caller.pending(json!({"Method": method})).await;
        caller.press(&pending.page(), "cancel").await;
        assert_eq!(caller.operation(&cancelled).await.reason(), "CANCELLED");

        let (key, pending) = caller.pending(json!({"Method": method})).await;
        assert_eq!(pending.body["Captured"], Value::Null);
        assert_eq!(caller.press(&pending.page(), "pay").await.location, RETURN_URL);
        let paid = caller.operation(&key).await;
        assert_eq!((paid.outcome(), &paid.body["Method"]), ("APPROVED", &json!(method)));
        assert_eq!(paid.body["Captured"], if captured { json!(true) } else { Value::Null });
        let capture = caller.capture(&fresh_key(), &key, "10").await;
        assert_eq!(capture.reason(), if captured { "ALREADY_CAPTURED" } else { "" });
        assert_eq!(caller.void(&fresh_key(), &key).await.reason(), "ALREADY_CAPTURED");
        assert_eq!(caller.refund(&fresh_key(), &key, "10").await.outcome(), "APPROVED");
        let rest = caller.refund(&fresh_key(), &key, "19.90").await;
        assert_eq!(rest.reason(), if captured { "" } else { "AMOUNT_TOO_LARGE" });
        let journal = caller.journal().await;
        let of_method: Vec<_> = journal.iter().filter(|entry| entry["Method"] == method).collect();
        // Two pages of two steps each, capture, void and two refunds.
        assert_eq!(of_method.len(), 8);
        let flagged: Vec<_> = of_method.iter().filter(|entry| entry["Captured"] == true).collect();
        assert_eq!(flagged.len(), usize::from(captured));
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_lender_approves_at_once_or_after_a_review() {
    let running =
        RunningProcessor::start_waiting(Waits { review: Duration::from_millis(100), ..Waits::default() }).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
    caller.press(&pending.page(), "approve").await;
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");
    assert_eq!(caller.capture(&fresh_key(), &key, "20").await.outcome(), "APPROVED");

    let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
    assert_eq!(caller.press(&pending.page(), "review").await.location, RETURN_URL);
    until("the lender", || async { (caller.operation(&key).await.outcome() == "APPROVED").then_some(()) }).await;
    assert_eq!(caller.journaled(&key).await, ["PENDING", "PENDING", "APPROVED"]);
    let reviewed: Vec<_> = caller.journal().await.into_iter().filter(|entry| entry["Review"] == true).collect();
    assert_eq!((reviewed.len(), &reviewed[0]["Key"]), (1, &json!(key)));
    assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), "APPROVED");
    running.stop().await;

    let declining = Waits { review: Duration::from_millis(50), review_approves: false, ..Waits::default() };
    let running = RunningProcessor::start_waiting(declining).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
    caller.press(&pending.page(), "review").await;
    until("the lender", || async { (caller.operation(&key).await.reason() == "REVIEW_DECLINED").then_some(()) }).await;
    running.stop().await;
}

#[actix_web::test]
async fn a_review_is_decided_once_by_hand() {
    let running = RunningProcessor::start_waiting(patient()).await;
    let caller = &running.caller;
    for (decision, other, outcome) in [("approve", "decline", "APPROVED"), ("decline", "approve", "DECLINED")] {
        let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
        assert_eq!(caller.review(&key, decision).await.code(), "NOT_IN_REVIEW", "the shopper has not chosen yet");
        caller.press(&pending.page(), "review").await;
        let waiting = caller.operation(&key).await;
        assert_eq!((waiting.outcome(), &waiting.body["Review"]), ("PENDING", &json!(true)));
        assert_eq!(waiting.body["Action"], Value::Null);
        assert!(caller.open(&pending.page()).await.text.contains("In review"));
        assert_eq!(caller.review(&key, "perhaps").await.code(), "INVALID_REQUEST");
        let decided = caller.review(&key, decision).await;
        assert_eq!((decided.status, decided.outcome(), decided.replayed), (200, outcome, false));
        let again = caller.review(&key, decision).await;
        assert_eq!((again.replayed, again.body), (true, decided.body));
        assert_eq!(caller.review(&key, other).await.status, 409);
        assert_eq!(caller.journaled(&key).await, ["PENDING", "PENDING", outcome]);
    }
    assert_eq!(caller.review(&fresh_key(), "approve").await.code(), "OPERATION_NOT_FOUND");
    running.stop().await;
}

#[actix_web::test]
async fn what_was_decided_without_a_review_is_in_none() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (choice, outcome) in [("approve", "APPROVED"), ("cancel", "DECLINED")] {
        let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
        caller.press(&pending.page(), choice).await;
        for decision in ["approve", "decline"] {
            let refused = caller.review(&key, decision).await;
            assert_eq!((refused.status, refused.code()), (409, "NOT_IN_REVIEW"), "{decision} after {choice}");
        }
        assert_eq!(caller.operation(&key).await.outcome(), outcome);
        assert_eq!(caller.journaled(&key).await, ["PENDING", outcome]);
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_lender_takes_no_payment_in_its_pages_last_hour() {
    let running = RunningProcessor::start_waiting(Waits { page: HOUR, pay_margin: HOUR, ..Waits::default() }).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
    let page = caller.open(&pending.page()).await;
    assert!(!page.text.contains("value=\"approve\"") && page.text.contains("value=\"cancel\""), "{}", page.text);
    for choice in ["approve", "review"] {
        let late = caller.send_form(&pending.page(), &page.form(), choice, None).await;
        assert_eq!(late.status, 409, "{choice}");
        assert!(late.text.contains("takes no payment any more"), "{}", late.text);
    }
    assert_eq!(caller.operation(&key).await.outcome(), "PENDING");
    caller.press(&pending.page(), "cancel").await;
    assert_eq!(caller.operation(&key).await.reason(), "CANCELLED");
    // The others have no such hour.
    let (key, pending) = caller.pending(json!({"Method": "PAYPAL"})).await;
    caller.press(&pending.page(), "pay").await;
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn a_transfer_has_paid_when_all_of_it_has_arrived() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (country, starts, length) in [("NL", "NL", 18), ("GB", "GB", 22), ("DE", "DE", 22), ("US", "DE", 22)] {
        let terms = json!({"Method": "BANKTRANSFER", "ShopperCountry": country, "ReturnUrl": null});
        let (key, pending) = caller.pending(terms).await;
        let details = pending.body["BankDetails"].as_object().unwrap();
        assert_eq!(details.len(), 9);
        assert!(details.values().all(Value::is_string));
        assert_eq!((details["PaymentReference"].as_str(), &pending.body["Action"]), (Some("order-1"), &Value::Null));
        let iban = details["Iban"].as_str().unwrap();
        assert!(iban.starts_with(starts) && iban.len() == length, "{iban}");
        assert!(pending.body["ExpiresAt"].is_string());
        let page = pending.page();
        let back = caller.press(&page, "arrived").await;
        assert_eq!(back.status, 303);
        // Without a shop to go back to, the browser goes to the page again.
        assert!(page.ends_with(&format!("/pages/{}", back.location)), "{}", back.location);
        let paid = caller.operation(&key).await;
        assert_eq!((paid.outcome(), &paid.body["Captured"]), ("APPROVED", &json!(true)));
        assert_eq!((paid.body["Received"].to_string().as_str(), &paid.body["SandboxPage"]), ("29.9", &Value::Null));
        assert_eq!(caller.capture(&fresh_key(), &key, "1").await.reason(), "ALREADY_CAPTURED");
        assert_eq!(caller.refund(&fresh_key(), &key, "29.90").await.outcome(), "APPROVED");
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_transfer_may_arrive_in_parts_and_be_too_much() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "BANKTRANSFER"})).await;
    let page = pending.page();
    let form = caller.open(&page).await.form();
    for amount in ["0", "-1", "ten", "0.001", "1e99", "999999999999999", ""] {
        let refused = caller.send_form(&page, &form, "arrived", Some(amount)).await;
        assert_eq!(refused.status, 422, "{amount}");
        assert!(refused.text.contains("role=\"alert\"") && refused.text.contains("such as 10.00"), "{}", refused.text);
        assert!(!refused.text.contains("JSON"), "{}", refused.text);
    }
    let first = caller.send_form(&page, &form, "arrived", Some("10.00")).await;
    assert_eq!((first.status, first.location.as_str()), (303, RETURN_URL));
    // A double click sends the same form again: it counts once.
    assert_eq!(caller.send_form(&page, &form, "arrived", Some("10.00")).await.status, 303);
    let waiting = caller.operation(&key).await;
    assert_eq!((waiting.outcome(), waiting.body["Received"].to_string().as_str()), ("PENDING", "10.0"));
    assert!(caller.open(&page).await.text.contains("10.00 USD"));
    let form = caller.open(&page).await.form();
    caller.send_form(&page, &form, "arrived", Some("20")).await;
    let paid = caller.operation(&key).await;
    assert_eq!((paid.outcome(), paid.body["Received"].to_string().as_str()), ("APPROVED", "30.0"));
    assert_eq!(paid.body["Amount"].to_string(), "29.9");
    // What came too much is no part of the authorization.
    assert_eq!(caller.refund(&fresh_key(), &key, "29.91").await.reason(), "AMOUNT_TOO_LARGE");
    assert_eq!(caller.journaled(&key).await, ["PENDING", "PENDING", "APPROVED"]);
    let received: Vec<_> = caller.journal().await.iter().map(|entry| entry["Received"].to_string()).collect();
    assert_eq!(received[..3], ["null", "10.0", "30.0"]);
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
    let again = caller.post("/v1/authorizations", &key, common::asking(terms.clone())).await;
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
        let refused = caller.post("/v1/authorizations", &key, common::asking(changed)).await;
        assert_eq!((refused.status, refused.code()), (422, "IDEMPOTENCY_KEY_REUSED"), "{name}");
    }
    caller.press(&pending.page(), "approve").await;
    let replayed = caller.post("/v1/authorizations", &key, common::asking(terms.clone())).await;
    assert_eq!((replayed.outcome(), replayed.replayed), ("APPROVED", true));
    assert_eq!(caller.abandon(&key).await.body, replayed.body, "what is decided is not touched");
    let early = fresh_key();
    caller.abandon(&early).await;
    let late = caller.post("/v1/authorizations", &early, common::asking(terms)).await;
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
        let answer = caller.post("/v1/authorizations", &fresh_key(), common::asking(terms.clone())).await;
        assert_eq!((answer.status, answer.code()), (400, "INVALID_REQUEST"), "{terms}");
        let message = answer.body["Message"].as_str().unwrap();
        assert!(message.starts_with(names) && !message.contains("alert") && !message.contains("a:b"), "{message}");
    }
    assert!(caller.journal().await.is_empty());
    running.stop().await;
}
