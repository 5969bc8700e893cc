//! What strangers may send as a shopper's submit.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use actix_web::http::Method;
use common::{Answer, Api, FINGERPRINT, card};
use dropin_card::Scheme;
use serde_json::json;
use uuid::Uuid;

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

async fn submit(api: &Api, session: &str, body: impl Into<Vec<u8>>) -> Answer {
    api.send(None, Method::POST, &format!("/v1/shopper/session/{session}/submit"), &[], body).await
}

#[actix_web::test]
async fn a_submit_for_no_session_is_not_read() {
    let api = Api::start().await;
    for body in ["{", "[]", "{\"Version\":\"x\"}", "no JSON at all"] {
        submit(&api, NOBODY, body).await.is_error(404, "SESSION_NOT_FOUND");
    }
    let session = api.session().await;
    submit(&api, &session, "{").await.is_error(400, "INVALID_REQUEST");
}

#[actix_web::test]
async fn a_submit_has_four_kibibytes_at_most() {
    let api = Api::start().await;
    let session = api.session().await;
    let padded = |padding: usize| json!({"Version": "x", "DeviceFingerprint": "a".repeat(padding)}).to_string();
    let empty = padded(0).len();
    submit(&api, &session, padded(4_096 - empty)).await.is_error(400, "INVALID_REQUEST");
    submit(&api, &session, padded(4_097 - empty)).await.is_error(413, "PAYLOAD_TOO_LARGE");
    submit(&api, NOBODY, padded(100_000)).await.is_error(413, "PAYLOAD_TOO_LARGE");
}

#[actix_web::test]
async fn a_co_badged_card_is_paid_by_the_scheme_that_the_shopper_chose() {
    let api = Api::start().await;
    let pays = async |number: &str, session: &str, stash: &str, method: Option<&str>| {
        api.stash(stash, card(number)).await;
        let mut body =
            json!({"Version": 1, "AttemptId": Uuid::new_v4(), "StashId": stash, "DeviceFingerprint": FINGERPRINT});
        if let Some(method) = method {
            body["PaymentMethod"] = method.into();
        }
        submit(&api, session, body.to_string()).await
    };
    let schemes = || std::mem::take(&mut *api.bank.schemes.lock().unwrap());
    for (stash, number, chosen, method, scheme) in [
        ("1", "4000002500001001", Some("CB"), "CB", Some(Scheme::CartesBancaires)),
        ("2", "4000002500001001", Some("VISA"), "VISA", Some(Scheme::Visa)),
        ("3", "4000002500001001", None, "VISA", Some(Scheme::Visa)),
        ("4", "4242424242424242", Some("VISA"), "VISA", None),
    ] {
        let session = api.session_of("EUR", "FR").await;
        let paid = pays(number, &session, stash, chosen).await;
        assert_eq!((paid.status, &paid.json()["PaymentMethod"]), (200, &json!(method)), "{stash}: {}", paid.text);
        assert_eq!(schemes(), scheme.into_iter().collect::<Vec<_>>(), "{stash}");
    }
    let french = api.session_of("EUR", "FR").await;
    pays("4242424242424242", &french, "5", Some("CB")).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    pays("4000002500001001", &french, "6", Some("MC")).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    let german = api.session_of("EUR", "DE").await;
    pays("4000002500001001", &german, "7", Some("CB")).await.is_refused_for(&["StashId VALUE_NOT_ALLOWED"]);
    assert!(schemes().is_empty(), "nothing of this was asked for");
}
