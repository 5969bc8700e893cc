//! What each state allows, and the error table.

use actix_web::http::Method;
use serde_json::json;

use super::{NOBODY, names, with};
use crate::common::{Api, request, session_id};

/// Brings a new Session into a state.
async fn in_state(api: &Api, reference: &str, state: &str) -> String {
    let id = api.created(reference).await;
    match state {
        "CREATED" => {}
        "PROCESSING" => drop(api.store.submit(session_id(&id)).await),
        "COMPLETED" => api.store.pay(session_id(&id), true).await,
        "FAILED" => api.store.pay(session_id(&id), false).await,
        "CANCELLED" => assert_eq!(api.delete(&api.ana, &id).await.status, 204),
        other => panic!("{other}"),
    }
    id
}

#[actix_web::test]
async fn replacing_and_cancelling_is_for_created_sessions() {
    let api = Api::start().await;
    for (at, state) in ["CREATED", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"].iter().enumerate() {
        let reference = format!("order-{at}");
        let id = in_state(&api, &reference, state).await;
        let shown = api.get(&api.ana, &id).await;
        assert_eq!((shown.status, &shown.json()["State"]), (200, &json!(state)));
        assert_eq!(shown.json().get("Order").is_some(), *state == "COMPLETED");
        assert_eq!(shown.json().get("PaymentMethod").is_some(), *state == "COMPLETED");
        let (replaced, cancelled) =
            (api.put(&api.ana, &id, &request(&reference)).await, api.delete(&api.ana, &id).await);
        if *state == "CREATED" {
            assert_eq!((replaced.status, &replaced.json()["State"]), (200, &json!("CREATED")));
            assert_eq!((cancelled.status, cancelled.text.as_str()), (204, ""));
            assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CANCELLED");
        } else {
            replaced.is_error(409, "INVALID_SESSION_STATE");
            cancelled.is_error(409, "INVALID_SESSION_STATE");
            assert_eq!(api.get(&api.ana, &id).await.text, shown.text);
        }
    }
}

/// A row of docs/SPECIFICATION.md#http-errors, and how to provoke it: method, address, content type, body.
type Row = (u16, &'static str, bool, Method, String, &'static str, Vec<u8>);

fn error_table(created: &str, completed: &str) -> Vec<Row> {
    let json = "application/json";
    let (new, nobody) = (request("order-9").to_string(), format!("/v1/session/{NOBODY}"));
    let wrong = with(request("order-9"), "/AutoCapture", None).to_string();
    let yen = with(request("order-9"), "/Currency", Some(json!("JPY"))).to_string();
    let taken = request("order-2").to_string();
    let post = |status, code, fields, kind, body: &str| {
        (status, code, fields, Method::POST, "/v1/session".to_owned(), kind, body.as_bytes().to_vec())
    };
    let put = |status, code, fields, path: &str, kind, body: &str| {
        (status, code, fields, Method::PUT, path.to_owned(), kind, body.as_bytes().to_vec())
    };
    let bare =
        |status, code, method: Method, path: &str| (status, code, false, method, path.to_owned(), "", Vec::new());
    let (mine, bad) = (format!("/v1/session/{created}"), "/v1/session/no-uuid");
    vec![
        post(400, "INVALID_REQUEST", true, json, &wrong),
        put(400, "INVALID_REQUEST", true, &mine, json, &wrong),
        post(400, "INVALID_CURRENCY", false, json, &yen),
        put(400, "INVALID_CURRENCY", false, &mine, json, &yen),
        put(400, "VALIDATION_ERROR", false, bad, json, &new),
        bare(400, "VALIDATION_ERROR", Method::GET, bad),
        bare(400, "VALIDATION_ERROR", Method::DELETE, bad),
        put(404, "SESSION_NOT_FOUND", false, &nobody, json, &new),
        bare(404, "SESSION_NOT_FOUND", Method::GET, &nobody),
        bare(404, "SESSION_NOT_FOUND", Method::DELETE, &nobody),
        post(409, "DUPLICATE_MERCHANT_REFERENCE_ID", false, json, &taken),
        put(409, "DUPLICATE_MERCHANT_REFERENCE_ID", false, &mine, json, &taken),
        bare(409, "INVALID_SESSION_STATE", Method::DELETE, &format!("/v1/session/{completed}")),
        put(409, "INVALID_SESSION_STATE", false, &format!("/v1/session/{completed}"), json, &new),
        post(415, "UNSUPPORTED_MEDIA_TYPE", false, "text/plain", &new),
        put(415, "UNSUPPORTED_MEDIA_TYPE", false, &mine, "application/xml", &new),
        // Errors of HTTP in general.
        bare(404, "NOT_FOUND", Method::GET, "/v1/nothing"),
        bare(405, "METHOD_NOT_ALLOWED", Method::PATCH, "/v1/session"),
        bare(405, "METHOD_NOT_ALLOWED", Method::POST, &mine),
        post(413, "PAYLOAD_TOO_LARGE", false, json, &format!("{{\"x\":\"{}\"}}", "x".repeat(256 << 10))),
        post(400, "INVALID_REQUEST", false, json, "{\"Items\": ["),
        post(400, "INVALID_REQUEST", false, json, "[]"),
    ]
}

#[actix_web::test]
async fn the_error_table() {
    let api = Api::start().await;
    let created = in_state(&api, "order-1", "CREATED").await;
    let completed = in_state(&api, "order-2", "COMPLETED").await;
    for (status, code, fields, method, path, kind, body) in error_table(&created, &completed) {
        let headers = [("content-type", kind)];
        let headers = if kind.is_empty() { &headers[..0] } else { &headers[..] };
        let answer = api.send(Some(&api.ana), method.clone(), &path, headers, body).await;
        assert_eq!((answer.status, &answer.json()["Code"]), (status, &json!(code)), "{method} {path}: {answer:?}");
        answer.is_error(status, code);
        let mut members = vec!["Code", "Message"];
        if fields {
            members.insert(1, "FieldErrors");
            answer.is_refused_for(&["AutoCapture FIELD_MISSING"]);
            let first = &answer.json()["FieldErrors"][0];
            assert_eq!(names(first), ["Code", "Field", "Message"]);
        }
        assert_eq!(names(&answer.json()), members, "{method} {path}");
        assert_eq!(answer.header("allow").is_empty(), status != 405, "{method} {path}: {answer:?}");
    }
    // Nothing of it changed anything.
    assert_eq!(api.get(&api.ana, &created).await.json()["MerchantReference"], "order-1");
}
