//! The rows of docs/SPECIFICATION.md#http-errors.

use std::time::{Duration, Instant};

use crate::common::{Api, InjectedFault, User, request};
use actix_web::http::Method;
use dropin_ports::StoreError;
use serde_json::json;

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// Every Session operation.
const OPERATIONS: [(Method, &str); 4] = [
    (Method::POST, "/v1/session"),
    (Method::GET, "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"),
    (Method::PUT, "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"),
    (Method::DELETE, "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"),
];

#[actix_web::test]
async fn authentication_required() {
    let user = |name: &str, password: &str| User { name: name.to_owned(), password: password.to_owned() };
    for (method, path) in OPERATIONS {
        // A service of its own for each: after ten wrong passwords for one user the answer is another.
        let api = Api::start().await;
        let wrong = [
            user(&api.ana.name, "wrong"),
            user(&api.ana.name, ""),
            user("nobody", &api.ana.password),
            user(&api.ana.name, &api.bob.password),
            user(&api.ana.name.to_uppercase(), &api.ana.password),
        ];
        let missing = api.send(None, method.clone(), path, &[], "").await;
        missing.is_error(401, "AUTHENTICATION_REQUIRED");
        assert!(missing.header("www-authenticate").starts_with("Basic realm="), "{missing:?}");
        for user in &wrong {
            let invalid = api.send(Some(user), method.clone(), path, &[], "").await;
            invalid.is_error(401, "AUTHENTICATION_REQUIRED");
            assert!(invalid.header("www-authenticate").starts_with("Basic realm="), "{invalid:?}");
            assert_ne!(invalid.json()["Message"], missing.json()["Message"]);
        }
        for header in ["Basic", "Basic !!!", "Basic YQ==", "Bearer abc", ""] {
            let answer = api.send(None, method.clone(), path, &[("authorization", header)], "").await;
            answer.is_error(401, "AUTHENTICATION_REQUIRED");
        }
    }
}

#[actix_web::test]
async fn a_stranger_learns_nothing_else() {
    let api = Api::start().await;
    let text = [("content-type", "text/plain")];
    let answer = api.send(None, Method::POST, "/v1/session", &text, "{").await;
    answer.is_error(401, "AUTHENTICATION_REQUIRED");
    api.send(None, Method::GET, "/v1/session/x", &[], "").await.is_error(401, "AUTHENTICATION_REQUIRED");
}

#[actix_web::test]
async fn another_merchants_session_does_not_exist() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let body = if method == Method::PUT { request("order-2").to_string() } else { String::new() };
        let theirs = api.send(Some(&api.bob), method.clone(), &format!("/v1/session/{id}"), &[], body.clone()).await;
        let nobodys = api.send(Some(&api.bob), method.clone(), &format!("/v1/session/{NOBODY}"), &[], body).await;
        theirs.is_error(404, "SESSION_NOT_FOUND");
        assert_eq!((theirs.status, theirs.text), (nobodys.status, nobodys.text), "{method}");
    }
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
}

#[actix_web::test]
async fn validation_error_for_what_is_no_uuid() {
    let api = Api::start().await;
    let longer = format!("{NOBODY}0");
    for id in ["x", "1", "6f1c3b2a1d2e4f3a8b4c5d6e7f809112", longer.as_str(), "%00", "..%2f..", "%ff"] {
        api.get(&api.ana, id).await.is_error(400, "VALIDATION_ERROR");
        api.delete(&api.ana, id).await.is_error(400, "VALIDATION_ERROR");
        api.put(&api.ana, id, &request("order-1")).await.is_error(400, "VALIDATION_ERROR");
    }
}

#[actix_web::test]
async fn unsupported_media_type() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    let put = format!("/v1/session/{id}");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "json", ""] {
        let typed = [("content-type", kind)];
        for (method, path) in [(Method::POST, "/v1/session"), (Method::PUT, put.as_str())] {
            let answer = api.send(Some(&api.ana), method, path, &typed, request("order-2").to_string()).await;
            answer.is_error(415, "UNSUPPORTED_MEDIA_TYPE");
        }
    }
    let typed = [("content-type", "application/json; charset=UTF-8")];
    let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &typed, request("order-2").to_string()).await;
    answer.session_id(201);
}

#[actix_web::test]
async fn invalid_currency_only_when_no_field_is_wrong() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    let mut body = request("order-2");
    body["Currency"] = json!("JPY");
    for answer in [api.create(&api.ana, &body).await, api.put(&api.ana, &id, &body).await] {
        answer.is_error(400, "INVALID_CURRENCY");
        assert!(answer.json().get("FieldErrors").is_none(), "{answer:?}");
    }
    body["BillingProfile"]["Email"] = json!("ana");
    api.create(&api.ana, &body).await.is_refused_for(&["BillingProfile.Email FIELD_INVALID"]);
    body.as_object_mut().unwrap().remove("BillingProfile");
    body["BillingProfileId"] = json!(NOBODY);
    api.create(&api.ana, &body).await.is_refused_for(&["BillingProfileId NOT_FOUND"]);
    body["Currency"] = json!("XXX");
    api.create(&api.ana, &body).await.is_refused_for(&["Currency VALUE_NOT_ALLOWED"]);
}

#[actix_web::test]
async fn invalid_request_names_every_field() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    let mut types = request("order-2");
    types["AutoCapture"] = json!("yes");
    types["Items"] = json!([{"Name": "Mug", "Amount": "29", "Quantity": 1}, {"Name": 5, "Amount": 1}]);
    types["BillingProfile"].as_object_mut().unwrap().remove("Address");
    let expected = [
        "AutoCapture FIELD_INVALID",
        "BillingProfile.Address FIELD_MISSING",
        "Items[0].Amount FIELD_INVALID",
        "Items[1].Name FIELD_INVALID",
        "Items[1].Quantity FIELD_MISSING",
    ];
    api.create(&api.ana, &types).await.is_refused_for(&expected);
    api.put(&api.ana, &id, &types).await.is_refused_for(&expected);
    let mut meanings = request("order-2");
    meanings["CompleteUrl"] = json!("ftp://shop.example");
    meanings["Items"][0]["Amount"] = json!(-1);
    meanings["BillingProfile"]["Address"]["Country"] = json!("US");
    let expected = [
        "BillingProfile.Address.Postcode FIELD_MISSING",
        "BillingProfile.Address.Region FIELD_MISSING",
        "CompleteUrl FIELD_INVALID",
        "Items[0].Amount VALUE_OUT_OF_RANGE",
    ];
    api.create(&api.ana, &meanings).await.is_refused_for(&expected);
    api.put(&api.ana, &id, &meanings).await.is_refused_for(&expected);
    assert_eq!(api.get(&api.ana, &id).await.json()["MerchantReference"], "order-1");
}

#[actix_web::test]
async fn malformed_bodies_are_a_clear_400() {
    let api = Api::start().await;
    let good = request("order-1").to_string();
    let post = async |body: Vec<u8>| {
        let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body).await;
        answer.is_error(400, "INVALID_REQUEST");
        let error = answer.json();
        assert!(error.get("FieldErrors").is_none(), "{answer:?}");
        error["Message"].as_str().unwrap().to_owned()
    };
    assert!(post(b"{\n  \"a\": x}".to_vec()).await.contains("line 2, column 8"));
    assert!(post(good.as_bytes()[..good.len() - 1].to_vec()).await.contains("line 1"));
    assert!(post(format!("{good}x").into_bytes()).await.contains("column"));
    assert!(post(b"{\"a\":\"\xff\"}".to_vec()).await.contains("UTF-8"));
    assert!(post(good.replacen('{', "{\"Currency\":\"EUR\",", 1).into_bytes()).await.contains("twice"));
    assert!(
        post(good.replacen('{', &format!("{{\"x\":{}1{},", "[".repeat(40), "]".repeat(40)), 1).into_bytes())
            .await
            .contains("32")
    );
    for body in ["[]", "null", "\"{}\"", "1", "true"] {
        assert!(post(body.into()).await.contains("object"), "{body}");
    }
    let empty =
        api.send(Some(&api.ana), Method::POST, "/v1/session", &[("content-type", "application/json")], "").await;
    empty.is_error(400, "INVALID_REQUEST");
}

#[actix_web::test]
async fn number_bombs_cost_nothing() {
    let api = Api::start().await;
    for amount in ["1e1000000000", "1E-1000000000", "-1e999999999", "1e9223372036854775808", &"9".repeat(100_000)] {
        let body = request("order-1").to_string().replace("29", amount);
        // A bomb costs the same each time; what other tests take away meanwhile does not.
        let mut elapsed = Duration::MAX;
        for _ in 0..3 {
            let begun = Instant::now();
            let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body.clone()).await;
            elapsed = elapsed.min(begun.elapsed());
            answer.is_refused_for(&["Items[0].Amount VALUE_OUT_OF_RANGE"]);
        }
        assert!(elapsed < Duration::from_millis(50), "{elapsed:?} for {}", &amount[..amount.len().min(30)]);
    }
}

#[actix_web::test]
async fn five_hundred_items_and_no_more() {
    let api = Api::start().await;
    let with = |reference: &str, count: usize| {
        let mut body = request(reference);
        body["Items"] = json!(vec![json!({"Name": "Mug", "Amount": 0.5, "Quantity": 1_000_000}); count]);
        body
    };
    let answer = api.create(&api.ana, &with("order-1", 500)).await;
    let id = answer.session_id(201);
    assert!(answer.text.contains(r#""TotalAmount":250.00,"#));
    assert_eq!(api.get(&api.ana, &id).await.json()["Items"].as_array().unwrap().len(), 500);
    api.create(&api.ana, &with("order-2", 501)).await.is_refused_for(&["Items VALUE_OUT_OF_RANGE"]);
    api.create(&api.ana, &with("order-2", 0)).await.is_refused_for(&["Items VALUE_OUT_OF_RANGE"]);
}

#[actix_web::test]
async fn bodies_over_256_kib_are_refused() {
    let api = Api::start().await;
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(256 * 1024));
    let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body).await;
    answer.is_error(413, "PAYLOAD_TOO_LARGE");
}

#[actix_web::test]
async fn unknown_paths_and_methods() {
    let api = Api::start().await;
    for path in ["/", "/v1", "/v1/sessions", "/v2/session", "/v1/session/x/y"] {
        api.send(Some(&api.ana), Method::GET, path, &[], "").await.is_error(404, "NOT_FOUND");
    }
    for (method, path) in
        [(Method::GET, "/v1/session"), (Method::PATCH, OPERATIONS[1].1), (Method::POST, OPERATIONS[1].1)]
    {
        api.send(Some(&api.ana), method, path, &[], "").await.is_error(405, "METHOD_NOT_ALLOWED");
    }
}

#[actix_web::test]
async fn faults_of_the_store_are_500_and_503() {
    let api = Api::start().await;
    let secret = || "SECRET-HOST".to_owned();
    for (trouble, status, code) in [
        (StoreError::Corrupt { table: "session", what: secret() }, 500, "INTERNAL_SERVER_ERROR"),
        (StoreError::Refused(secret()), 500, "INTERNAL_SERVER_ERROR"),
        (StoreError::Unavailable(secret()), 503, "SERVICE_UNAVAILABLE"),
        (StoreError::OutcomeUnknown, 503, "OUTCOME_UNKNOWN"),
    ] {
        api.store.before_next_write(InjectedFault::Fails(trouble));
        let answer = api.create(&api.ana, &request("order-1")).await;
        answer.is_error(status, code);
        assert!(
            !answer.text.contains("SECRET") && (status == 500 || !answer.header("retry-after").is_empty()),
            "{answer:?}"
        );
    }
    api.create(&api.ana, &request("order-1")).await.session_id(201);
}

#[actix_web::test]
async fn what_is_not_offered_is_refused_and_not_ignored() {
    let api = Api::start().await;
    let mut body = request("order-1");
    body["RateOfferId"] = json!(NOBODY);
    body["OpenContract"] = json!(true);
    body["ContractId"] = json!(NOBODY);
    let expected = ["ContractId CONFLICT", "OpenContract CONFLICT", "RateOfferId NOT_FOUND"];
    api.create(&api.ana, &body).await.is_refused_for(&expected);
}
