use std::time::Duration;

use actix_web::http::Method;

use super::{is_fresh, is_replay};
use crate::common::{Answer, Api, InjectedFault, request, session_id};

async fn put(api: &Api, id: &str, reference: &str, headers: &[(&str, &str)]) -> Answer {
    api.send(Some(&api.ana), Method::PUT, &format!("/v1/session/{id}"), headers, request(reference).to_string()).await
}

async fn delete(api: &Api, id: &str, tag: &str) -> Answer {
    api.send(Some(&api.ana), Method::DELETE, &format!("/v1/session/{id}"), &[("if-match", tag)], "").await
}

async fn get(api: &Api, path: &str, tag: &str) -> Answer {
    api.send(Some(&api.ana), Method::GET, path, &[("if-none-match", tag)], "").await
}

#[actix_web::test]
async fn every_version_of_a_session_has_a_tag_of_its_own() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let id = created.session_id(201);
    let mut tags = vec![created.header("etag").to_owned()];
    assert!(tags[0].starts_with('"') && tags[0].ends_with('"') && 2 < tags[0].len(), "{tags:?}");
    let got = api.get(&api.ana, &id).await;
    assert_eq!((got.header("etag"), &got.text), (&*tags[0], &created.text));
    let replaced = put(&api, &id, "order-2", &[]).await;
    tags.push(replaced.header("etag").to_owned());
    assert_eq!(api.get(&api.ana, &id).await.header("etag"), tags[1]);
    api.store.submit(session_id(&id)).await;
    tags.push(api.get(&api.ana, &id).await.header("etag").to_owned());
    let paid = api.created("order-3").await;
    api.store.pay(session_id(&paid), true).await;
    tags.push(api.get(&api.ana, &paid).await.header("etag").to_owned());
    // Over, but not written down yet; and then written down at another time, which the answer shows.
    let over = api.created("order-4").await;
    api.clock.advance(Duration::from_secs(24 * 60 * 60));
    let shown = api.get(&api.ana, &over).await;
    api.clock.advance(Duration::from_secs(5));
    assert_eq!(api.get(&api.ana, &over).await.text, shown.text);
    assert_eq!(api.sessions.expire_due(10).await, Ok(1));
    let written = api.get(&api.ana, &over).await;
    assert!([&shown, &written].iter().all(|answer| answer.json()["State"] == "CANCELLED"), "{shown:?} {written:?}");
    // Nothing changes when that is written down: CANCELLED is final.
    assert_eq!((&written.text, written.header("etag")), (&shown.text, shown.header("etag")));
    tags.push(shown.header("etag").to_owned());
    for (number, tag) in tags.iter().enumerate() {
        assert!(!tags[..number].contains(tag), "{number} of {tags:?}");
    }
}

#[actix_web::test]
async fn what_is_known_is_not_sent_again() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let (path, tag) = (format!("/v1/session/{}", created.session_id(201)), created.header("etag").to_owned());
    for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let answer = get(&api, &path, &known).await;
        assert_eq!((answer.status, answer.text.as_str(), answer.header("etag")), (304, "", &*tag), "{known}");
        assert_eq!(answer.header("content-type"), "");
    }
    is_fresh(&get(&api, &path, "\"other\"").await, 200);
    get(&api, &path, "other").await.is_error(400, "INVALID_REQUEST");
    get(&api, "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", "*").await.is_error(404, "SESSION_NOT_FOUND");
    api.store.pay(session_id(&created.session_id(201)), true).await;
    let paid = get(&api, &path, &tag).await;
    is_fresh(&paid, 200);
    let order = format!("/v1/order/{}", paid.json()["Order"]["OrderId"].as_str().unwrap());
    let shown = get(&api, &order, &tag).await;
    is_fresh(&shown, 200);
    let again = get(&api, &order, shown.header("etag")).await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", shown.header("etag")));
}

#[actix_web::test]
async fn only_the_version_that_was_seen_is_replaced() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let (id, first) = (created.session_id(201), created.header("etag").to_owned());
    let second = put(&api, &id, "order-2", &[("if-match", &first)]).await;
    assert_eq!(second.status, 200, "{second:?}");
    put(&api, &id, "order-3", &[("if-match", &first)]).await.is_error(412, "PRECONDITION_FAILED");
    // A weak tag never matches, and a list is one however it is split.
    let tag = second.header("etag").to_owned();
    put(&api, &id, "order-3", &[("if-match", &format!("W/{tag}"))]).await.is_error(412, "PRECONDITION_FAILED");
    for wrong in ["", "other", "*, \"a\"", "\"a", tag.trim_matches('"')] {
        let refused = put(&api, &id, "order-3", &[("if-match", wrong)]).await;
        refused.is_error(400, "INVALID_REQUEST");
        assert!(refused.json()["Message"].as_str().unwrap().contains("If-Match"), "{refused:?}");
    }
    assert_eq!(api.get(&api.ana, &id).await.json()["MerchantReference"], "order-2");
    let third = put(&api, &id, "order-3", &[("if-match", "\"other\""), ("if-match", &tag)]).await;
    assert_eq!(third.status, 200, "{third:?}");
    assert_eq!(put(&api, &id, "order-4", &[("if-match", "*")]).await.status, 200);
    // What is not there, or cannot be replaced any more, is told before the version.
    let nobody = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    put(&api, nobody, "order-5", &[("if-match", "*")]).await.is_error(404, "SESSION_NOT_FOUND");
    assert_eq!(api.delete(&api.ana, &id).await.status, 204);
    put(&api, &id, "order-5", &[("if-match", &tag)]).await.is_error(409, "INVALID_SESSION_STATE");
}

#[actix_web::test]
async fn only_the_version_that_was_seen_is_cancelled() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let (id, tag) = (created.session_id(201), created.header("etag").to_owned());
    assert_eq!(put(&api, &id, "order-2", &[]).await.status, 200);
    delete(&api, &id, &tag).await.is_error(412, "PRECONDITION_FAILED");
    delete(&api, &id, "*, *").await.is_error(400, "INVALID_REQUEST");
    let tag = api.get(&api.ana, &id).await.header("etag").to_owned();
    assert_eq!(delete(&api, &id, &tag).await.status, 204);
    delete(&api, &id, "*").await.is_error(409, "INVALID_SESSION_STATE");
}

/// Somebody replaces the Session between our look and our write.
#[actix_web::test]
async fn a_version_that_is_overtaken_is_not_changed() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let (id, tag) = (created.session_id(201), created.header("etag").to_owned());
    api.store.before_next_write(InjectedFault::Replaced);
    put(&api, &id, "order-2", &[("if-match", &tag)]).await.is_error(412, "PRECONDITION_FAILED");
    let tag = api.get(&api.ana, &id).await.header("etag").to_owned();
    api.store.before_next_write(InjectedFault::Replaced);
    delete(&api, &id, &tag).await.is_error(412, "PRECONDITION_FAILED");
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
}

#[actix_web::test]
async fn a_repeat_is_answered_though_the_version_has_moved_on() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let (id, tag) = (created.session_id(201), created.header("etag").to_owned());
    let headers = [("if-match", &*tag), ("idempotency-key", "k")];
    let replaced = put(&api, &id, "order-2", &headers).await;
    is_fresh(&replaced, 200);
    is_replay(&put(&api, &id, "order-2", &headers).await, &replaced);
    put(&api, &id, "order-2", &[("idempotency-key", "k")]).await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    put(&api, &id, "order-2", &[("if-match", &tag)]).await.is_error(412, "PRECONDITION_FAILED");
}
