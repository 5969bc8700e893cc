//! The Order API over HTTP: what a merchant sees of an Order's life, cancels and refunds (docs/SPECIFICATION.md#order-api).

use crate::common::{Answer, Api, ProcessorStub, User, declined};
use actix_web::http::Method;
use dropin_ports::{ProcessorReply, Waiting};
use futures_util::future::join;
use serde_json::{Value, json};

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

async fn post(api: &Api, user: &User, path: &str, body: Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    api.send(Some(user), Method::POST, path, &[], body).await
}

async fn ask(api: &Api, order: &str, what: &str, body: Value) -> Answer {
    post(api, &api.ana, &format!("{order}/{what}"), body).await
}

async fn state(api: &Api, order: &str) -> String {
    api.read(order).await.json()["State"].as_str().unwrap().to_owned()
}

/// An Order of 29.00 USD that was captured.
async fn captured(api: &Api, reference: &str) -> String {
    let order = api.authorized(reference).await;
    assert_eq!(ask(api, &order, "capture", Value::Null).await.status, 200);
    order
}

/// What happened, in the order in which it is shown: (what, who, after).
fn steps(order: &Value) -> Vec<(String, String, String)> {
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    let steps = order["History"].as_array().unwrap().iter();
    steps.map(|step| (text(step, "What"), text(step, "Actor"), text(step, "After"))).collect()
}

#[actix_web::test]
async fn an_order_is_read_by_id_and_by_reference_with_its_life() {
    let api = Api::with(ProcessorStub::new()).await;
    let order = captured(&api, "order 1 & more").await;
    ask(&api, &order, "refund", json!({"RefundReference": "r-1", "Amount": 5})).await;
    let shown = api.read(&order).await;
    let body = shown.json();
    assert_eq!((&body["State"], &body["MerchantReference"]), (&json!("PROCESSED"), &json!("order 1 & more")));
    assert!(shown.text.contains(r#""CapturedAmount":29.00,"RefundedAmount":5.00,"#), "{}", shown.text);
    assert_eq!(body["Refunds"][0]["RefundReference"], "r-1");
    let told = steps(&body);
    let what: Vec<_> = told.iter().map(|(what, ..)| what.as_str()).collect();
    assert_eq!(what, ["CAPTURE_REQUESTED", "CAPTURED", "REFUND_REQUESTED", "REFUND_SUCCEEDED"]);
    let captured = &body["History"][0];
    assert_eq!((&captured["Actor"], &captured["User"]), (&json!("MERCHANT"), &json!(api.ana.name)));
    assert_eq!((&captured["Before"], &captured["After"]), (&json!("PAYMENT_AUTHORIZED"), &json!("PAYMENT_AUTHORIZED")));
    let found = api.read("/v1/order?MerchantReference=order+1+%26+more").await;
    assert_eq!((&found.text, found.header("etag")), (&shown.text, shown.header("etag")));
    let etag = [("if-none-match", found.header("etag"))];
    for path in [order.as_str(), "/v1/order?MerchantReference=order+1+%26+more"] {
        assert_eq!(api.send(Some(&api.ana), Method::GET, path, &etag, "").await.status, 304, "{path}");
    }
}

#[actix_web::test]
async fn a_search_has_to_name_a_reference_of_ones_own() {
    let api = Api::start().await;
    api.authorized("order-1").await;
    let find = async |query: &str| api.read(&format!("/v1/order{query}")).await;
    assert_eq!(find("?MerchantReference=order-1").await.status, 200);
    find("?MerchantReference=order-2").await.is_error(404, "ORDER_NOT_FOUND");
    for missing in ["", "?MerchantReference=+"] {
        find(missing).await.is_refused_for(&["MerchantReference FIELD_MISSING"]);
    }
    find("?merchantReference=order-1").await.is_refused_for(&["merchantReference FIELD_UNKNOWN"]);
    find("?MerchantReference=a%00b").await.is_refused_for(&["MerchantReference FIELD_INVALID"]);
    find("?MerchantReference=order-1&MerchantReference=order-2").await.is_error(400, "INVALID_REQUEST");
    let path = "/v1/order?MerchantReference=order-1";
    api.send(Some(&api.bob), Method::GET, path, &[], "").await.is_error(404, "ORDER_NOT_FOUND");
    let unpaid = api.created("order-3").await;
    assert!(!unpaid.is_empty());
    find("?MerchantReference=order-3").await.is_error(404, "ORDER_NOT_FOUND");
}

#[actix_web::test]
async fn a_cancel_voids_once_and_is_repeated_harmlessly() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    let cancelled = ask(&api, &order, "cancel", Value::Null).await;
    assert_eq!((cancelled.status, &cancelled.json()["State"]), (200, &json!("CANCELLED")), "{cancelled:?}");
    assert!(cancelled.json().get("Reason").is_none(), "{cancelled:?}");
    let again = ask(&api, &order, "cancel", Value::Null).await;
    assert_eq!((again.status, &again.json()["State"]), (200, &json!("CANCELLED")));
    assert_eq!(*bank.asked.borrow(), 1);
    ask(&api, &order, "capture", Value::Null).await.is_error(409, "INVALID_ORDER_STATE");
    ask(&api, &order, "refund", json!({"RefundReference": "r"})).await.is_error(409, "INVALID_ORDER_STATE");
    assert_eq!(*bank.asked.borrow(), 1);
    let captured = captured(&api, "order-2").await;
    ask(&api, &captured, "cancel", Value::Null).await.is_error(409, "INVALID_ORDER_STATE");
}

#[actix_web::test]
async fn a_cancel_that_is_not_confirmed_is_pending_and_keeps_everything_else_away() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    bank.will_say(ProcessorReply::Unknown { why: "time-out".to_owned() });
    for _ in 0..2 {
        let pending = ask(&api, &order, "cancel", Value::Null).await;
        let body = pending.json();
        assert_eq!((pending.status, &body["Reason"]["Code"]), (200, &json!("PendingNotification")), "{pending:?}");
        assert_eq!(body["State"], "PAYMENT_AUTHORIZED");
    }
    assert_eq!(*bank.asked.borrow(), 1);
    ask(&api, &order, "capture", Value::Null).await.is_error(409, "INVALID_ORDER_STATE");
    api.settle().await;
    assert_eq!(state(&api, &order).await, "CANCELLED");
}

#[actix_web::test]
async fn a_cancel_while_a_capture_is_in_flight_is_refused() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = api.authorized("order-1").await;
    bank.hold();
    let (capture, ()) = join(ask(&api, &order, "capture", Value::Null), async {
        bank.until_asked(1).await;
        ask(&api, &order, "cancel", Value::Null).await.is_error(409, "INVALID_ORDER_STATE");
        bank.release();
    })
    .await;
    assert_eq!((capture.status, &*state(&api, &order).await), (200, "PROCESSED"));
}

#[actix_web::test]
async fn too_many_decimals_have_one_code_everywhere() {
    let api = Api::with(ProcessorStub::new()).await;
    let order = api.authorized("order-1").await;
    for (amount, code) in [(json!(0.001), "FIELD_INVALID"), (json!(29.01), "VALUE_OUT_OF_RANGE")] {
        let refused = ask(&api, &order, "capture", json!({"Amount": amount})).await;
        refused.is_refused_for(&[&format!("Amount {code}")]);
    }
    assert_eq!(ask(&api, &order, "capture", Value::Null).await.status, 200, "nothing was captured before");
    let refund = json!({"RefundReference": "r-1", "Amount": 0.001});
    ask(&api, &order, "refund", refund).await.is_refused_for(&["Amount FIELD_INVALID"]);
}

#[actix_web::test]
async fn several_partial_refunds_up_to_what_was_captured() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = captured(&api, "order-1").await;
    let refund = async |body: Value| ask(&api, &order, "refund", body).await;
    let first = refund(json!({"RefundReference": "r-1", "Amount": 10.00, "Description": "one broke"})).await;
    let body = first.json();
    assert_eq!((first.status, &body["State"], &body["Currency"]), (201, &json!("SUCCEEDED"), &json!("USD")));
    assert!(first.text.contains(r#""Amount":10.00,"#) && body["Description"] == "one broke", "{first:?}");
    let too_much = refund(json!({"RefundReference": "r-2", "Amount": 19.01})).await;
    too_much.is_error(409, "REFUND_EXCEEDS_CAPTURED");
    assert!(too_much.json()["Message"].as_str().unwrap().contains("19.00 USD"), "{too_much:?}");
    for (body, code) in [
        (json!({"RefundReference": "r-2", "Amount": 0}), "VALUE_OUT_OF_RANGE"),
        (json!({"RefundReference": "r-2", "Amount": 0.001}), "FIELD_INVALID"),
        (json!({"RefundReference": "r-2", "Amount": "1"}), "FIELD_INVALID"),
    ] {
        refund(body).await.is_refused_for(&[&format!("Amount {code}")]);
    }
    let rest = refund(json!({"RefundReference": "r-2"})).await;
    assert!(rest.status == 201 && rest.text.contains(r#""Amount":19.00,"#), "{rest:?}");
    refund(json!({"RefundReference": "r-3"})).await.is_error(409, "REFUND_EXCEEDS_CAPTURED");
    assert_eq!(*bank.asked.borrow(), 3, "one capture and two refunds");
    let list = api.read(&format!("{order}/refund")).await;
    let refunds = list.json()["Refunds"].clone();
    let references: Vec<_> =
        refunds.as_array().unwrap().iter().map(|one| one["RefundReference"].as_str().unwrap()).collect();
    assert_eq!((list.status, references), (200, vec!["r-1", "r-2"]));
    let id = body["RefundId"].as_str().unwrap();
    assert_eq!(api.read(&format!("{order}/refund/{id}")).await.text, first.text);
}

#[actix_web::test]
async fn a_refund_reference_names_one_refund() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = captured(&api, "order-1").await;
    let refund = async |body: Value| ask(&api, &order, "refund", body).await;
    let first = refund(json!({"RefundReference": "r-1", "Amount": 10})).await;
    for same in [json!({"RefundReference": "r-1", "Amount": 10.0}), json!({"RefundReference": " r-1 "})] {
        let again = refund(same).await;
        assert_eq!((again.status, &again.text), (200, &first.text));
    }
    refund(json!({"RefundReference": "r-1", "Amount": 11})).await.is_error(409, "DUPLICATE_REFUND_REFERENCE");
    let another = captured(&api, "order-2").await;
    assert_eq!(ask(&api, &another, "refund", json!({"RefundReference": "r-1"})).await.status, 201, "per Order");
    assert_eq!(*bank.asked.borrow(), 4);
}

#[actix_web::test]
async fn refunds_that_take_time_and_refunds_that_fail() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let order = captured(&api, "order-1").await;
    bank.will_say(ProcessorReply::Pending(Waiting::Processor));
    let slow = ask(&api, &order, "refund", json!({"RefundReference": "slow", "Amount": 20})).await;
    assert_eq!((slow.status, &slow.json()["State"]), (201, &json!("IN_PROGRESS")));
    let more = ask(&api, &order, "refund", json!({"RefundReference": "more", "Amount": 10})).await;
    more.is_error(409, "REFUND_EXCEEDS_CAPTURED");
    bank.will_say(declined(false));
    let failed = ask(&api, &order, "refund", json!({"RefundReference": "failed", "Amount": 9})).await;
    assert_eq!((failed.status, &failed.json()["State"]), (201, &json!("FAILED")));
    bank.will_say(declined(false));
    api.settle().await;
    let id = slow.json()["RefundId"].as_str().unwrap().to_owned();
    assert_eq!(api.read(&format!("{order}/refund/{id}")).await.json()["State"], "FAILED");
    let all = ask(&api, &order, "refund", json!({"RefundReference": "all"})).await;
    assert!(all.text.contains(r#""Amount":29.00,"#), "all of it is there again: {all:?}");
}

#[actix_web::test]
async fn what_is_not_there_or_is_another_merchants() {
    let api = Api::with(ProcessorStub::new()).await;
    let order = captured(&api, "order-1").await;
    let made = ask(&api, &order, "refund", json!({"RefundReference": "r-1", "Amount": 1})).await;
    let id = made.json()["RefundId"].as_str().unwrap().to_owned();
    let other = captured(&api, "order-2").await;
    api.read(&format!("{order}/refund/{NOBODY}")).await.is_error(404, "REFUND_NOT_FOUND");
    api.read(&format!("{other}/refund/{id}")).await.is_error(404, "REFUND_NOT_FOUND");
    api.read(&format!("/v1/order/{NOBODY}/refund/{id}")).await.is_error(404, "ORDER_NOT_FOUND");
    api.read(&format!("/v1/order/{NOBODY}/refund")).await.is_error(404, "ORDER_NOT_FOUND");
    for path in [format!("{order}/refund/x"), format!("/v1/order/x/refund/{id}"), "/v1/order/x/refund".to_owned()] {
        api.read(&path).await.is_error(400, "VALIDATION_ERROR");
    }
    for (what, body) in [("cancel", Value::Null), ("refund", json!({"RefundReference": "r-1"}))] {
        for path in [format!("{order}/{what}"), format!("/v1/order/{NOBODY}/{what}")] {
            post(&api, &api.bob, &path, body.clone()).await.is_error(404, "ORDER_NOT_FOUND");
        }
        post(&api, &api.ana, &format!("/v1/order/x/{what}"), body).await.is_error(400, "VALIDATION_ERROR");
    }
    for path in [format!("{order}/refund"), format!("{order}/refund/{id}")] {
        api.send(Some(&api.bob), Method::GET, &path, &[], "").await.is_error(404, "ORDER_NOT_FOUND");
    }
}

#[actix_web::test]
async fn cancels_and_refunds_are_replayed_under_their_key() {
    let bank = ProcessorStub::new();
    let api = Api::with(bank.clone()).await;
    let keyed = async |path: &str, key: &str, body: &str| {
        api.send(Some(&api.ana), Method::POST, path, &[("idempotency-key", key)], body).await
    };
    let cancel = format!("{}/cancel", api.authorized("order-1").await);
    let refund = format!("{}/refund", captured(&api, "order-2").await);
    let body = r#"{"RefundReference":"r-1","Amount":5}"#;
    for (path, body) in [(&cancel, ""), (&refund, body)] {
        let first = keyed(path, "k", body).await;
        let again = keyed(path, "k", body).await;
        assert_eq!(first.header("idempotent-replayed"), "", "{first:?}");
        assert_eq!((again.status, again.header("idempotent-replayed")), (first.status, "true"), "{again:?}");
        assert_eq!(again.text, first.text);
    }
    keyed(&refund, "k", r#"{"RefundReference":"r-1","Amount":6}"#).await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(*bank.asked.borrow(), 3, "a void, a capture and a refund");
}
