//! What strangers may send as a shopper's submit.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use actix_web::http::Method;
use common::{Answer, Api};
use serde_json::json;

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
