use std::collections::BTreeSet;

use actix_web::http::Method;
use futures_util::future::join_all;
use serde_json::json;

use super::keyed;
use crate::common::{Answer, Api, request};

fn with(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[actix_web::test]
async fn of_many_creates_with_one_key_one_session_comes() {
    let api = Api::start().await;
    for round in 0..5 {
        let (key, body) = (format!("key {round}"), request(&format!("order-{round}")).to_string());
        let create = |_| keyed(&api, &api.ana, Method::POST, "/v1/session", &key, &body);
        let answers = join_all((0..32).map(create)).await;
        assert_eq!(with(&answers, 201), 32, "{answers:?}");
        let texts: BTreeSet<_> = answers.iter().map(|answer| (&answer.text, answer.header("etag"))).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        let fresh = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_empty()).count();
        assert_eq!(fresh, 1);
        assert_eq!(api.get(&api.ana, &answers[0].session_id(201)).await.text, answers[0].text);
    }
}

#[actix_web::test]
async fn of_many_creates_with_one_reference_one_session_comes() {
    let api = Api::start().await;
    let body = request("order-1").to_string();
    let keys: Vec<_> = (0..64).map(|number| format!("key {number}")).collect();
    let create = |key| keyed(&api, &api.ana, Method::POST, "/v1/session", key, &body);
    let answers = join_all(keys.iter().map(|key| create(key))).await;
    assert_eq!((with(&answers, 201), with(&answers, 409)), (1, 63));
    for answer in answers.iter().filter(|answer| answer.status == 409) {
        answer.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    }
    // Each of them stays as it was told.
    for (again, first) in join_all(keys.iter().map(|key| create(key))).await.iter().zip(&answers) {
        super::is_replay(again, first);
    }
}

#[actix_web::test]
async fn of_many_replacements_of_one_version_one_wins() {
    let api = Api::start().await;
    for round in 0..20 {
        let created = api.create(&api.ana, &request(&format!("order-{round}"))).await;
        let (path, tag) = (format!("/v1/session/{}", created.session_id(201)), created.header("etag").to_owned());
        let put = async |number: usize| {
            let body = request(&format!("order-{round}-{number}")).to_string();
            api.send(Some(&api.ana), Method::PUT, &path, &[("if-match", &tag)], body).await
        };
        let answers = join_all((0..8).map(put)).await;
        assert_eq!((with(&answers, 200), with(&answers, 412)), (1, 7), "{answers:?}");
        let winner = answers.iter().find(|answer| answer.status == 200).unwrap();
        assert_eq!(api.get(&api.ana, created.session_id(201).as_str()).await.text, winner.text);
    }
}

/// Without If-Match those that do not overlap replace each other; those that do: one wins, and the others learn it.
#[actix_web::test]
async fn overlapping_replacements_are_told() {
    let api = Api::start().await;
    for round in 0..20 {
        let id = api.created(&format!("order-{round}")).await;
        let path = format!("/v1/session/{id}");
        let put = async |number: usize| {
            let body = request(&format!("order-{round}-{number}")).to_string();
            api.send(Some(&api.ana), Method::PUT, &path, &[], body).await
        };
        let answers = join_all((0..8).map(put)).await;
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            lost.is_error(409, "DUPLICATE_REQUEST");
        }
        let stored = api.get(&api.ana, &id).await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).map(|answer| &answer.text).collect();
        assert!(won.contains(&&stored.text), "what is stored was told to somebody");
        // Every success counts one revision up, and nothing else does.
        let revision = |tag: &str| u64::from_str_radix(tag[1..].split('-').next().unwrap(), 16).unwrap();
        assert_eq!(revision(stored.header("etag")), 1 + won.len() as u64);
    }
}

#[actix_web::test]
async fn of_many_cancels_one_wins() {
    let api = Api::start().await;
    for round in 0..10 {
        let path = format!("/v1/session/{}", api.created(&format!("order-{round}")).await);
        let delete = async |number: usize| {
            // Half of them are repeats of one request, and so get one answer.
            let key = format!("key {}", if number.is_multiple_of(2) { 0 } else { number });
            (keyed(&api, &api.ana, Method::DELETE, &path, &key, "").await, number.is_multiple_of(2))
        };
        let answers = join_all((0..16).map(delete)).await;
        let repeats: BTreeSet<_> =
            answers.iter().filter(|one| one.1).map(|one| (one.0.status, one.0.text.clone())).collect();
        assert_eq!(repeats.len(), 1, "{answers:?}");
        let single: Vec<_> = answers.into_iter().filter(|one| !one.1).map(|one| one.0).collect();
        let won = with(&single, 204) + usize::from(repeats.iter().any(|(status, _)| *status == 204));
        assert_eq!((won, with(&single, 204) + with(&single, 409)), (1, 8));
        assert_eq!(api.send(Some(&api.ana), Method::GET, &path, &[], "").await.json()["State"], json!("CANCELLED"));
    }
}
