use std::time::Duration;

use actix_web::http::Method;
use dropin_ports::StoreError;
use serde_json::json;

use super::{is_fresh, is_replay, keyed};
use crate::common::{Api, InjectedFault, User, request};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NOBODY: &str = "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

#[actix_web::test]
async fn the_answer_of_every_executed_request_is_replayed_byte_for_byte() {
    let api = Api::start().await;
    let kept = format!("/v1/session/{}", api.created("kept").await);
    let gone = format!("/v1/session/{}", api.created("gone").await);
    let over = api.created("over").await;
    assert_eq!(api.delete(&api.ana, &over).await.status, 204);
    let over = format!("/v1/session/{over}");
    let body = |reference: &str| request(reference).to_string();
    let mut dear = request("dear");
    dear["Currency"] = json!("JPY");
    let (dear, wrong) = (dear.to_string(), json!({"Currency": 7}).to_string());
    for (number, (method, path, body, status)) in [
        (Method::POST, "/v1/session", body("new"), 201),
        (Method::PUT, &*kept, body("put"), 200),
        (Method::DELETE, &*gone, String::new(), 204),
        (Method::POST, "/v1/session", wrong.clone(), 400),
        (Method::POST, "/v1/session", "{".to_owned(), 400),
        (Method::POST, "/v1/session", dear, 400),
        (Method::PUT, &*kept, wrong, 400),
        (Method::PUT, NOBODY, body("nobody"), 404),
        (Method::DELETE, NOBODY, String::new(), 404),
        (Method::POST, "/v1/session", body("kept"), 409),
        (Method::PUT, &*over, body("over"), 409),
        (Method::DELETE, &*over, String::new(), 409),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("key {number}");
        let first = keyed(&api, &api.ana, method.clone(), path, &key, &body).await;
        is_fresh(&first, status);
        // Executed again it would be answered otherwise, or with another time.
        api.clock.advance(Duration::from_secs(1));
        for _ in 0..2 {
            is_replay(&keyed(&api, &api.ana, method.clone(), path, &key, &body).await, &first);
        }
    }
}

#[actix_web::test]
async fn a_refusal_stays_though_the_request_would_succeed_by_now() {
    let api = Api::start().await;
    let post = async || keyed(&api, &api.ana, Method::POST, "/v1/session", "k", &request("order-1").to_string()).await;
    let created = post().await;
    is_fresh(&created, 201);
    // The Session is cancelled meanwhile: the repeat tells what was answered, not how things stand.
    let id = created.session_id(201);
    assert_eq!(api.delete(&api.ana, &id).await.status, 204);
    is_replay(&post().await, &created);
    let path = format!("/v1/session/{}", api.created("order-2").await);
    let wrong = json!({}).to_string();
    let refused = keyed(&api, &api.ana, Method::PUT, &path, "k", &wrong).await;
    is_fresh(&refused, 400);
    // Another body is no repeat, whether it is right or wrong.
    for body in [request("order-3").to_string(), format!("{wrong} ")] {
        let reused = keyed(&api, &api.ana, Method::PUT, &path, "k", &body).await;
        reused.is_error(422, "IDEMPOTENCY_KEY_REUSED");
        assert_eq!(reused.header("idempotent-replayed"), "");
    }
    is_replay(&keyed(&api, &api.ana, Method::PUT, &path, "k", &wrong).await, &refused);
    assert_eq!(api.get(&api.ana, &path["/v1/session/".len()..]).await.json()["MerchantReference"], "order-2");
}

#[actix_web::test]
async fn a_key_with_another_body_is_refused_and_changes_nothing() {
    let api = Api::start().await;
    let first = keyed(&api, &api.ana, Method::POST, "/v1/session", "k", &request("order-1").to_string()).await;
    is_fresh(&first, 201);
    let other = request("order-2").to_string();
    keyed(&api, &api.ana, Method::POST, "/v1/session", "k", &other).await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    // Its MerchantReference is still free.
    is_fresh(&keyed(&api, &api.ana, Method::POST, "/v1/session", "l", &other).await, 201);
    let id = first.session_id(201);
    let path = format!("/v1/session/{id}");
    let delete = async |tag: &str| {
        let headers = [("idempotency-key", "k"), ("if-match", tag)];
        api.send(Some(&api.ana), Method::DELETE, &path, &headers, "").await
    };
    let refused = delete("\"another\"").await;
    refused.is_error(412, "PRECONDITION_FAILED");
    delete(first.header("etag")).await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    is_replay(&delete("\"another\"").await, &refused);
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
}

#[actix_web::test]
async fn a_key_belongs_to_merchant_method_and_address() {
    let api = Api::start().await;
    let (one, two) = (api.created("order-1").await, api.created("order-2").await);
    let theirs = api.create(&api.bob, &request("order-1")).await.session_id(201);
    let sent: [(&User, Method, String, String, u16); 6] = [
        (&api.ana, Method::POST, "/v1/session".into(), request("order-3").to_string(), 201),
        (&api.bob, Method::POST, "/v1/session".into(), request("order-3").to_string(), 201),
        (&api.ana, Method::PUT, format!("/v1/session/{one}"), request("order-4").to_string(), 200),
        (&api.ana, Method::DELETE, format!("/v1/session/{one}"), String::new(), 204),
        (&api.ana, Method::DELETE, format!("/v1/session/{two}"), String::new(), 204),
        (&api.bob, Method::DELETE, format!("/v1/session/{theirs}"), String::new(), 204),
    ];
    for (user, method, path, body, status) in &sent {
        is_fresh(&keyed(&api, user, method.clone(), path, "the same key", body).await, *status);
    }
    // GET knows no keys.
    is_fresh(&keyed(&api, &api.ana, Method::GET, &format!("/v1/session/{two}"), "the same key", "").await, 200);
    // The other merchant learns nothing, not even that the key was used.
    let foreign = keyed(&api, &api.bob, Method::DELETE, &format!("/v1/session/{one}"), "the same key", "").await;
    is_fresh(&foreign, 404);
}

#[actix_web::test]
async fn who_may_call_and_what_is_away_is_not_kept() {
    let api = Api::start().await;
    let body = request("order-1").to_string();
    let post = async |user: Option<&User>, headers: &[(&str, &str)], body: &str| {
        let headers = [&[("idempotency-key", "k")], headers].concat();
        api.send(user, Method::POST, "/v1/session", &headers, body).await
    };
    is_fresh(&post(None, &[], &body).await, 401);
    let thief = User { password: "wrong".to_owned(), ..api.ana.clone() };
    is_fresh(&post(Some(&thief), &[], &body).await, 401);
    is_fresh(&post(Some(&api.ana), &[("content-type", "text/plain")], &body).await, 415);
    is_fresh(&post(Some(&api.ana), &[], &" ".repeat(256 * 1024 + 1)).await, 413);
    for (trouble, code) in [
        (StoreError::Unavailable("away".to_owned()), "SERVICE_UNAVAILABLE"),
        (StoreError::OutcomeUnknown, "OUTCOME_UNKNOWN"),
        (StoreError::Refused("a CHECK constraint".to_owned()), "INTERNAL_SERVER_ERROR"),
    ] {
        api.store.before_next_write(InjectedFault::Fails(trouble));
        let away = post(Some(&api.ana), &[], &body).await;
        away.is_error(if code.starts_with("INTERNAL") { 500 } else { 503 }, code);
    }
    let created = post(Some(&api.ana), &[], &body).await;
    is_fresh(&created, 201);
    // And when the key has its answer, the reason to be refused comes first all the same.
    is_fresh(&post(Some(&thief), &[], &body).await, 401);
    is_fresh(&post(Some(&api.ana), &[("content-type", "text/plain")], &body).await, 415);
    is_replay(&post(Some(&api.ana), &[], &body).await, &created);
}

#[actix_web::test]
async fn a_key_counts_for_a_day() {
    let api = Api::start().await;
    let post = async |key: &str, body: &str| keyed(&api, &api.ana, Method::POST, "/v1/session", key, body).await;
    let body = request("order-1").to_string();
    let first = post("k", &body).await;
    api.clock.advance(DAY - Duration::from_secs(1));
    is_replay(&post("k", &body).await, &first);
    assert_eq!(api.answers.purge(100).await, Ok(0));
    api.clock.advance(Duration::from_secs(1));
    // Executed anew, and that answer counts from now on.
    let second = post("k", &body).await;
    is_fresh(&second, 409);
    api.clock.advance(Duration::from_secs(1));
    is_replay(&post("k", &body).await, &second);
    is_fresh(&post("l", &request("order-2").to_string()).await, 201);
    api.clock.advance(DAY);
    assert_eq!(api.answers.purge(1).await, Ok(1), "no more than asked for");
    assert_eq!((api.answers.purge(100).await, api.answers.purge(100).await), (Ok(1), Ok(0)));
}

#[actix_web::test]
async fn a_key_that_cannot_be_read_is_refused() {
    let api = Api::start().await;
    let body = request("order-1").to_string();
    let id = api.created("order-2").await;
    let path = format!("/v1/session/{id}");
    let (longest, too_long) = ("k".repeat(255), "k".repeat(256));
    for wrong in [&[""][..], &["a", "b"], &["schlüssel"], &[&*too_long]] {
        let headers: Vec<_> = wrong.iter().map(|key| ("idempotency-key", *key)).collect();
        for (method, path) in [(Method::POST, "/v1/session"), (Method::PUT, &*path), (Method::DELETE, &*path)] {
            let answer = api.send(Some(&api.ana), method, path, &headers, body.clone()).await;
            answer.is_error(400, "INVALID_REQUEST");
            assert!(answer.json()["Message"].as_str().unwrap().contains("Idempotency-Key"), "{answer:?}");
        }
    }
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
    let first = keyed(&api, &api.ana, Method::POST, "/v1/session", &longest, &body).await;
    is_fresh(&first, 201);
    is_replay(&keyed(&api, &api.ana, Method::POST, "/v1/session", &longest, &body).await, &first);
}
