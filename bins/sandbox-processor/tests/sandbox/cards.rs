//! Every published number does what docs/SPECIFICATION.md#test-numbers says.

use std::time::Duration;

use crate::common::{PLAIN, RunningProcessor, authorization, fresh_key, until};
use futures_util::future::join_all;
use serde_json::{Value, json};

#[actix_web::test]
async fn every_brand_is_authorized_and_captured_at_once() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for number in
        [PLAIN, "5555555555554444", "378282246310005", "6011111111111117", "3530111333300000", "30569309025904"]
    {
        let authorized = caller.authorized(number).await;
        let capture = caller.capture(&fresh_key(), &authorized, "29.90").await;
        assert_eq!((capture.status, capture.outcome()), (200, "APPROVED"), "{number}");
        assert_eq!(caller.operation(&authorized).await.body["Amount"].to_string(), "29.9");
        assert_eq!(caller.journaled(&authorized).await, ["APPROVED"]);
    }
    let last4: Vec<_> = caller.journal().await.iter().map(|entry| entry["Last4"].clone()).collect();
    assert_eq!(last4[..3], [json!("4242"), json!("4242"), json!("4444")]);
    running.stop().await;
}

#[actix_web::test]
async fn declines_say_why_and_are_journaled_once() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let unknown = "0".repeat(16);
    for (number, reason) in [
        ("4000000000000002", "GENERIC_DECLINE"),
        ("4000000000009995", "INSUFFICIENT_FUNDS"),
        ("4000000000009979", "DO_NOT_TRY_AGAIN"),
        ("4000000000003220", "GENERIC_DECLINE"),
        ("4000000000009235", "GENERIC_DECLINE"),
        (unknown.as_str(), "INVALID_CARD"),
    ] {
        let key = fresh_key();
        let answer = caller.authorize(&key, number).await;
        assert_eq!((answer.status, answer.outcome(), answer.reason()), (200, "DECLINED", reason), "{number}");
        assert_eq!(answer.body["Retryable"], false);
        assert_eq!(caller.journaled(&key).await, ["DECLINED"]);
        let capture = caller.capture(&fresh_key(), &key, "1").await;
        assert_eq!((capture.outcome(), capture.reason()), ("DECLINED", "NOT_AUTHORIZED"));
    }
    let expired = authorization(PLAIN).replace("2099", "2020");
    let answer = caller.post("/v1/authorizations", &fresh_key(), expired).await;
    assert_eq!((answer.outcome(), answer.reason()), ("DECLINED", "EXPIRED_CARD"));
    running.stop().await;
}

#[actix_web::test]
async fn what_the_issuer_checked_stands_beside_its_yes() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let with_postcode = |number: &str| {
        authorization(number).replace(r#""VerificationCode":"#, r#""Postcode":"SW1A 1AA","VerificationCode":"#)
    };
    let without_code = |number: &str| authorization(number).replace(r#","VerificationCode":"123""#, "");
    for (body, checks) in [
        (authorization(PLAIN), json!({"CodeMatches": true, "Authenticated": false})),
        (without_code(PLAIN), json!({"Authenticated": false})),
        (with_postcode(PLAIN), json!({"AddressMatches": true, "CodeMatches": true, "Authenticated": false})),
        (
            with_postcode("4000000000000036"),
            json!({"AddressMatches": false, "CodeMatches": true, "Authenticated": false}),
        ),
        (authorization("4000000000000101"), json!({"CodeMatches": false, "Authenticated": false})),
        (without_code("4000000000000101"), json!({"Authenticated": false})),
        (
            authorization("4000000000000036"),
            json!({"AddressMatches": false, "CodeMatches": true, "Authenticated": false}),
        ),
        (
            authorization("4000000360000006"),
            json!({"CodeMatches": true, "Authenticated": false, "CardCountry": "AU", "CardFunding": "CREDIT"}),
        ),
        (
            authorization("5105105105105100"),
            json!({"CodeMatches": true, "Authenticated": false, "CardCountry": "US", "CardFunding": "PREPAID"}),
        ),
    ] {
        let key = fresh_key();
        let answer = caller.post("/v1/authorizations", &key, &body).await;
        assert_eq!((answer.outcome(), &answer.body["Checks"]), ("APPROVED", &checks));
        assert_eq!(caller.operation(&key).await.body, answer.body, "by its key");
        let capture = caller.capture(&fresh_key(), &key, "29.90").await;
        assert_eq!((capture.outcome(), &capture.body["Checks"]), ("APPROVED", &Value::Null));
    }
    let declined = caller.authorize(&fresh_key(), "4000000000000002").await;
    assert_eq!(declined.body["Checks"], Value::Null);
    running.stop().await;
}

#[actix_web::test]
async fn a_pending_capture_is_reserved_and_then_approved() {
    let running =
        RunningProcessor::start_in(tempfile::tempdir().unwrap(), Duration::from_millis(300), Duration::ZERO).await;
    let caller = &running.caller;
    let authorized = caller.authorized("4000000000002016").await;
    let key = fresh_key();
    let capture = caller.capture(&key, &authorized, "20.00").await;
    assert_eq!((capture.status, capture.outcome()), (200, "PENDING"));
    let refund = caller.refund(&fresh_key(), &authorized, "1").await;
    assert_eq!(refund.reason(), "NOT_CAPTURED");
    assert_eq!(caller.void(&fresh_key(), &authorized).await.reason(), "ALREADY_CAPTURED");
    assert_eq!(caller.capture(&fresh_key(), &authorized, "9.90").await.reason(), "ALREADY_CAPTURED");
    assert_eq!(caller.journaled(&key).await, ["PENDING"]);
    until("the capture to be approved", || async {
        (caller.operation(&key).await.outcome() == "APPROVED").then_some(())
    })
    .await;
    assert_eq!(caller.journaled(&key).await, ["PENDING", "APPROVED"]);
    let again = caller.capture(&key, &authorized, "20.00").await;
    assert_eq!((again.outcome(), again.replayed), ("APPROVED", true));
    assert_eq!(caller.refund(&fresh_key(), &authorized, "20.00").await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn the_journal_alone_settles_what_is_due() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized("4000000000002016").await;
    let key = fresh_key();
    caller.capture(&key, &authorized, "29.90").await;
    until("the journal to say so", || async { (caller.journaled(&key).await.len() == 2).then_some(()) }).await;
    running.stop().await;
}

#[actix_web::test]
async fn a_refused_capture_is_final_but_the_authorization_can_be_voided() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized("4000000000000341").await;
    for _ in 0..2 {
        let capture = caller.capture(&fresh_key(), &authorized, "29.90").await;
        assert_eq!((capture.outcome(), capture.reason()), ("DECLINED", "CAPTURE_REFUSED"));
        assert_eq!(capture.body["Retryable"], false);
    }
    assert_eq!(caller.void(&fresh_key(), &authorized).await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn pending_refunds_end_as_their_number_says() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (number, end, left) in
        [("4000000000007726", "APPROVED", "AMOUNT_TOO_LARGE"), ("4000000000005126", "DECLINED", "")]
    {
        let authorized = caller.authorized(number).await;
        caller.capture(&fresh_key(), &authorized, "29.90").await;
        let key = fresh_key();
        assert_eq!(caller.refund(&key, &authorized, "20").await.outcome(), "PENDING");
        let settled = until("the refund to end", || async {
            Some(caller.operation(&key).await).filter(|refund| refund.outcome() != "PENDING")
        })
        .await;
        assert_eq!(settled.outcome(), end);
        assert_eq!(settled.reason(), if end == "DECLINED" { "REFUND_REFUSED" } else { "" });
        assert_eq!(caller.journaled(&key).await, ["PENDING", end]);
        // What a failed refund had reserved is free again.
        assert_eq!(caller.refund(&fresh_key(), &authorized, "20").await.reason(), left);
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_pending_refund_reserves_its_amount() {
    let running =
        RunningProcessor::start_in(tempfile::tempdir().unwrap(), Duration::from_secs(600), Duration::ZERO).await;
    let caller = &running.caller;
    let authorized = caller.authorized("4000000000007726").await;
    caller.capture(&fresh_key(), &authorized, "29.90").await;
    assert_eq!(caller.refund(&fresh_key(), &authorized, "20").await.outcome(), "PENDING");
    assert_eq!(caller.refund(&fresh_key(), &authorized, "9.91").await.reason(), "AMOUNT_TOO_LARGE");
    assert_eq!(caller.refund(&fresh_key(), &authorized, "9.90").await.outcome(), "PENDING");
    running.stop().await;
}

#[actix_web::test]
async fn a_lost_answer_is_a_500_over_work_that_was_done() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let key = fresh_key();
    let lost = caller.authorize(&key, "4000000000000119").await;
    assert_eq!((lost.status, lost.code()), (500, "INTERNAL_ERROR"));
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");
    assert_eq!(caller.journaled(&key).await, ["APPROVED"]);
    let again = caller.authorize(&key, "4000000000000119").await;
    assert_eq!((again.status, again.outcome(), again.replayed), (200, "APPROVED", true));
    assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn silence_does_nothing_and_stops_nobody() {
    let silence = Duration::from_secs(3);
    let running = RunningProcessor::start_in(tempfile::tempdir().unwrap(), Duration::ZERO, silence).await;
    let caller = &running.caller;
    let keys: Vec<String> = (0..200).map(|_| fresh_key()).collect();
    // A switch that changes nothing but counts down: it tells when all calls have arrived.
    caller.faults(json!({"Mode": "slow", "DelayMs": 0, "Remaining": keys.len()})).await;
    let started = std::time::Instant::now();
    let calls = keys.iter().map(|key| {
        let (caller, key) = (caller.clone(), key.clone());
        actix_web::rt::spawn(async move { caller.authorize(&key, "4000000000003014").await })
    });
    let silent: Vec<_> = calls.collect();
    until("all to arrive", || async { (caller.get("/v1/faults").await.body["Mode"] == "none").then_some(()) }).await;
    // Two hundred callers wait, and the processor works on: it holds neither a thread nor the store for them.
    let authorized = caller.authorized(PLAIN).await;
    assert_eq!(caller.capture(&fresh_key(), &authorized, "1").await.outcome(), "APPROVED");
    assert_eq!(caller.abandon(&keys[0]).await.outcome(), "ABANDONED");
    assert!(started.elapsed() < silence, "the others were held up");
    assert!(silent.iter().all(|call| !call.is_finished()));
    for answer in join_all(silent).await.into_iter().skip(1) {
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.code()), (504, "PROCESSOR_TIMEOUT"));
    }
    assert!(silence <= started.elapsed());
    assert_eq!(caller.operation(&keys[1]).await.code(), "OPERATION_NOT_FOUND");
    let after = caller.authorize(&keys[0], "4000000000003014").await;
    assert_eq!((after.status, after.code()), (409, "KEY_ABANDONED"));
    assert_eq!(caller.journal().await.len(), 3);
    running.stop().await;
}
