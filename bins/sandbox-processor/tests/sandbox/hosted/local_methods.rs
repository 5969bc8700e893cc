//! Methods without a card: wallets, banks, lenders with their reviews, and transfers.

use std::time::Duration;

use crate::common::{RETURN_URL, RunningProcessor, fresh_key, until};
use sandbox_processor::Waits;
use serde_json::{Value, json};

use super::{HOUR, patient};

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
