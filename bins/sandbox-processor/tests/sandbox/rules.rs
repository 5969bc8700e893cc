//! Amounts, states, faults and the manners of the HTTP surface.

use std::time::Duration;

use crate::common::{KEY, PLAIN, Response, RunningProcessor, authorization, fresh_key, money, until};
use actix_web::http::Method;
use serde_json::json;

#[actix_web::test]
async fn an_authorization_is_captured_once_and_refunded_up_to_that() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let declined =
        |answer: Response, reason: &str| assert_eq!((answer.outcome(), answer.reason()), ("DECLINED", reason));
    let authorized = caller.authorized(PLAIN).await;
    declined(caller.refund(&fresh_key(), &authorized, "1").await, "NOT_CAPTURED");
    declined(caller.capture(&fresh_key(), &authorized, "29.91").await, "AMOUNT_TOO_LARGE");
    let euro = caller.post("/v1/captures", &fresh_key(), money(&authorized, "1", "EUR")).await;
    declined(euro, "CURRENCY_MISMATCH");
    let capture = caller.capture(&fresh_key(), &authorized, "20").await;
    assert_eq!(capture.outcome(), "APPROVED");
    assert!(capture.text.contains(r#""Amount":20.00,"Currency":"USD""#), "{}", capture.text);
    declined(caller.capture(&fresh_key(), &authorized, "9.90").await, "ALREADY_CAPTURED");
    declined(caller.void(&fresh_key(), &authorized).await, "ALREADY_CAPTURED");
    declined(caller.refund(&fresh_key(), &authorized, "20.01").await, "AMOUNT_TOO_LARGE");
    assert_eq!(caller.refund(&fresh_key(), &authorized, "12.34").await.outcome(), "APPROVED");
    declined(caller.refund(&fresh_key(), &authorized, "7.67").await, "AMOUNT_TOO_LARGE");
    assert_eq!(caller.refund(&fresh_key(), &authorized, "7.66").await.outcome(), "APPROVED");
    declined(caller.refund(&fresh_key(), &authorized, "0.01").await, "AMOUNT_TOO_LARGE");
    running.stop().await;
}

#[actix_web::test]
async fn a_voided_authorization_is_over() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    let void = caller.void(&fresh_key(), &authorized).await;
    assert_eq!((void.outcome(), void.body["Amount"].to_string()), ("APPROVED", "29.9".to_owned()));
    assert_eq!(caller.void(&fresh_key(), &authorized).await.reason(), "ALREADY_VOIDED");
    assert_eq!(caller.capture(&fresh_key(), &authorized, "1").await.reason(), "ALREADY_VOIDED");
    assert_eq!(caller.refund(&fresh_key(), &authorized, "1").await.reason(), "NOT_CAPTURED");
    assert_eq!(caller.void(&fresh_key(), &fresh_key()).await.reason(), "NOT_AUTHORIZED");
    running.stop().await;
}

#[actix_web::test]
async fn amounts_have_their_currencys_decimals() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (amount, currency, shown) in
        [("0.001", "KWD", "0.001"), ("5000", "JPY", "5000"), ("999999999999.99", "USD", "999999999999.99")]
    {
        let body = authorization(PLAIN).replace("29.90", amount).replace("USD", currency);
        let answer = caller.post("/v1/authorizations", &fresh_key(), body).await;
        assert!(answer.text.contains(&format!(r#""Amount":{shown},"Currency":"{currency}""#)), "{}", answer.text);
    }
    for (amount, currency) in [
        ("0", "USD"),
        ("-1", "USD"),
        ("0.001", "USD"),
        ("0.5", "JPY"),
        ("1000000000000", "USD"),
        ("1e999999999", "USD"),
    ] {
        let body = authorization(PLAIN).replace("29.90", amount).replace("USD", currency);
        let answer = caller.post("/v1/authorizations", &fresh_key(), body).await;
        assert_eq!((answer.status, answer.code()), (400, "INVALID_REQUEST"), "{amount} {currency}");
    }
    assert_eq!(caller.journal().await.len(), 3);
    running.stop().await;
}

#[actix_web::test]
async fn faults_hit_what_they_name_and_no_more() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    let switch = caller.faults(json!({"Mode": "error_500", "Remaining": 2, "Kinds": ["CAPTURE"]})).await;
    assert_eq!(switch.body, json!({"Mode": "error_500", "Remaining": 2, "Kinds": ["CAPTURE"]}));
    let key = fresh_key();
    for _ in 0..2 {
        assert_eq!(caller.authorize(&fresh_key(), PLAIN).await.status, 200);
        let failed = caller.capture(&key, &authorized, "1").await;
        assert_eq!((failed.status, failed.code()), (500, "INTERNAL_ERROR"));
        assert_eq!(caller.operation(&key).await.status, 404);
    }
    assert_eq!(caller.get("/v1/faults").await.body, json!({"Mode": "none"}));
    assert_eq!(caller.capture(&key, &authorized, "1").await.outcome(), "APPROVED");
    running.stop().await;
}

#[actix_web::test]
async fn every_fault_mode_leaves_a_consistent_journal() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let authorized = caller.authorized(PLAIN).await;
    caller.faults(json!({"Mode": "refuse", "Remaining": 1})).await;
    let refused = caller.capture(&fresh_key(), &authorized, "29.90").await;
    assert_eq!((refused.outcome(), refused.reason()), ("DECLINED", "CAPTURE_REFUSED"));
    assert_eq!(refused.body["Retryable"], true);

    caller.faults(json!({"Mode": "timeout_after_work", "Remaining": 1, "DelayMs": 20})).await;
    let key = fresh_key();
    let timed_out = caller.capture(&key, &authorized, "29.90").await;
    assert_eq!((timed_out.status, timed_out.code()), (504, "PROCESSOR_TIMEOUT"));
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");

    caller.faults(json!({"Mode": "duplicate", "Remaining": 1})).await;
    let key = fresh_key();
    let twice = caller.refund(&key, &authorized, "20").await;
    assert_eq!((twice.outcome(), twice.replayed), ("APPROVED", true));
    assert_eq!(caller.journaled(&key).await, ["APPROVED"]);

    caller.faults(json!({"Mode": "slow", "Remaining": 1, "DelayMs": 300})).await;
    let started = std::time::Instant::now();
    assert_eq!(caller.refund(&fresh_key(), &authorized, "1").await.outcome(), "APPROVED");
    assert!(Duration::from_millis(300) <= started.elapsed());

    caller.faults(json!({"Mode": "error_500"})).await;
    assert_eq!(caller.refund(&fresh_key(), &authorized, "1").await.status, 500);
    caller.faults(json!({"Mode": "none"})).await;
    assert_eq!(caller.refund(&fresh_key(), &authorized, "1").await.status, 200);
    assert_eq!(caller.faults(json!({"Mode": "loud"})).await.status, 400);
    running.stop().await;
}

#[actix_web::test]
async fn a_slow_call_arrives_although_its_caller_has_gone() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (late, abandoned) = (fresh_key(), fresh_key());
    caller.faults(json!({"Mode": "slow", "DelayMs": 1500, "Remaining": 2})).await;
    for (key, left) in [(&abandoned, 1), (&late, 0)] {
        let connection = caller.begin_authorization(key).await;
        until("its arrival", || async {
            let remaining = caller.get("/v1/faults").await.body["Remaining"].as_u64().unwrap_or(0);
            (remaining == left).then_some(())
        })
        .await;
        // A reset, the way of going away that ends a handler at once.
        connection.set_zero_linger().unwrap();
        drop(connection);
    }
    // Both calls are on their way, since both were counted; the first is abandoned before it gets through.
    assert_eq!(caller.operation(&late).await.status, 404);
    assert_eq!(caller.abandon(&abandoned).await.outcome(), "ABANDONED");
    until("the late call", || async { (caller.operation(&late).await.status == 200).then_some(()) }).await;
    assert_eq!(caller.operation(&late).await.outcome(), "APPROVED");
    assert_eq!(caller.capture(&fresh_key(), &late, "29.90").await.outcome(), "APPROVED");
    assert_eq!(caller.authorize(&abandoned, PLAIN).await.code(), "KEY_ABANDONED");
    assert_eq!(caller.journaled(&abandoned).await, ["ABANDONED"]);
    running.stop().await;
}

#[actix_web::test]
async fn a_card_without_a_code_is_taken() {
    let running = RunningProcessor::start().await;
    for code in [r#""VerificationCode":"""#, r#""VerificationCode":null"#] {
        let body = authorization(PLAIN).replace(r#""VerificationCode":"123""#, code);
        let answer = running.caller.post("/v1/authorizations", &fresh_key(), body).await;
        assert_eq!(answer.outcome(), "APPROVED", "{code}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn nothing_is_answered_without_the_bearer_key() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (basic, longer, lower) = (format!("Basic {KEY}"), format!("Bearer {KEY}x"), format!("bearer {KEY}"));
    for header in ["", "Bearer ", "Bearer wrong", KEY, &basic, &longer, &lower, "Bearer test-bearer-kez"] {
        for (method, path) in [
            (Method::POST, "/v1/authorizations"),
            (Method::GET, "/v1/journal"),
            (Method::PUT, "/v1/faults"),
            (Method::GET, "/v1/nowhere"),
        ] {
            let body = authorization(PLAIN);
            let headers = [("Authorization", header), ("Idempotency-Key", &fresh_key())];
            let answer = caller.send(method, path, &headers, body).await.unwrap();
            assert_eq!((answer.status, answer.code()), (401, "UNAUTHORIZED"), "{header} {path}");
        }
    }
    assert!(caller.journal().await.is_empty());
    running.stop().await;
}

#[actix_web::test]
async fn every_refusal_is_an_error_object() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let bearer = format!("Bearer {KEY}");
    let large = format!(r#"{{"OrderId":"{}"}}"#, "x".repeat(64 * 1024));
    let nested = "[".repeat(60_000);
    let (key, old) = (fresh_key(), fresh_key());
    for (method, path, key, body, status, code) in [
        (Method::GET, "/v1/nowhere", "", "", 404, "NOT_FOUND"),
        (Method::GET, "/v1/authorizations", "", "", 405, "METHOD_NOT_ALLOWED"),
        (Method::DELETE, "/v1/journal", "", "", 405, "METHOD_NOT_ALLOWED"),
        (Method::POST, "/v1/faults", "", "", 405, "METHOD_NOT_ALLOWED"),
        (Method::GET, "/v1/operations/4242", "", "", 400, "INVALID_REQUEST"),
        (Method::GET, &format!("/v1/operations/{old}"), "", "", 404, "OPERATION_NOT_FOUND"),
        (Method::GET, "/v1/journal?limit=1001", "", "", 400, "INVALID_REQUEST"),
        (Method::GET, "/v1/journal?limit=0", "", "", 400, "INVALID_REQUEST"),
        (Method::GET, "/v1/journal?after=x", "", "", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/voids", "", "{}", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/voids", "not-a-uuid", "{}", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/voids", &key, "", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/voids", &key, "{}", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/voids", &key, "\u{0}", 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/authorizations", &key, &nested, 400, "INVALID_REQUEST"),
        (Method::POST, "/v1/authorizations", &key, &large, 413, "PAYLOAD_TOO_LARGE"),
        (Method::PUT, "/v1/faults", "", "[]", 400, "INVALID_REQUEST"),
    ] {
        let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
        let answer = caller.send(method, path, &headers, body.to_owned()).await.unwrap();
        assert_eq!((answer.status, answer.code()), (status, code), "{path} {}", answer.text);
        assert!(answer.body["Message"].as_str().is_some_and(|message| message.len() > 10), "{}", answer.text);
    }
    assert!(caller.journal().await.is_empty());
    running.stop().await;
}
