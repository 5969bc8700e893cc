//! Who may do what: from the table of operations, so that a new one is tested without a line here.

use std::time::{Duration, Instant};

use crate::common::{Answer, Api, User, request};
use actix_web::http::Method;
use dropin_access::{Permission, Permissions};
use dropin_http::ApiOperation;
use dropin_ports::AccessStore;
use serde_json::json;
use session_api::OPERATIONS;

const SOME_ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// Calls an operation with an id that does not exist wherever its address has one.
async fn call(api: &Api, user: &User, operation: &ApiOperation) -> Answer {
    let segments = operation.path.split('/').map(|one| if one.starts_with('{') { SOME_ID } else { one });
    let path = segments.collect::<Vec<_>>().join("/");
    api.send(Some(user), operation.method.clone(), &path, &[], "").await
}

/// A new API user of Ana's.
async fn user(api: &Api, permissions: impl IntoIterator<Item = Permission>) -> User {
    let ana = api.outbox.find_user(&api.ana.name).await.unwrap().unwrap().merchant_id;
    let permissions: Permissions = permissions.into_iter().collect();
    let added = api.merchants.add_user(ana, permissions).await.map_err(|error| error.to_string()).unwrap();
    User { name: added.username, password: added.password }
}

#[actix_web::test]
async fn every_operation_is_refused_to_a_user_without_its_permission() {
    let api = Api::start().await;
    let open: Vec<_> = OPERATIONS.iter().filter(|one| one.permission.is_none()).map(|one| one.name).collect();
    assert_eq!(open, ["getRates"], "open to everybody");
    for operation in OPERATIONS {
        let Some(needed) = operation.permission else { continue };
        let all_others = user(&api, Permissions::all().iter().filter(|one| *one != needed)).await;
        let refused = call(&api, &all_others, operation).await;
        refused.is_error(403, "NOT_AUTHORIZED");
        let message = refused.json()["Message"].as_str().unwrap().to_owned();
        assert!(message.contains(needed.as_str()), "{}: {message}", operation.name);
    }
}

#[actix_web::test]
async fn every_operation_needs_its_own_permission_alone() {
    let api = Api::start().await;
    for operation in OPERATIONS.iter().filter(|operation| operation.permission.is_some()) {
        let only = user(&api, operation.permission).await;
        let answer = call(&api, &only, operation).await;
        // Whatever else is wrong, the user is let in.
        assert!(!matches!(answer.status, 401 | 403 | 405 | 500..), "{}: {answer:?}", operation.name);
    }
}

#[actix_web::test]
async fn permission_is_asked_before_anything_else_of_a_request() {
    let api = Api::start().await;
    let reader = user(&api, [Permission::SessionRead]).await;
    let path = "/v1/session/not-an-id";
    api.send(Some(&reader), Method::PUT, path, &[], "{").await.is_error(403, "NOT_AUTHORIZED");
    api.send(Some(&reader), Method::GET, path, &[], "").await.is_error(400, "VALIDATION_ERROR");
    api.send(None, Method::PUT, path, &[], "{").await.is_error(401, "AUTHENTICATION_REQUIRED");
}

#[actix_web::test]
async fn users_of_one_merchant_share_what_is_the_merchants() {
    let api = Api::start().await;
    let id = api.created("shared").await;
    let reader = user(&api, [Permission::SessionRead]).await;
    assert_eq!(api.get(&reader, &id).await.status, 200);
    api.create(&reader, &request("another")).await.is_error(403, "NOT_AUTHORIZED");
    api.delete(&reader, &id).await.is_error(403, "NOT_AUTHORIZED");
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
}

/// The person of a stored billing profile is for those who may read Sessions.
#[actix_web::test]
async fn who_may_not_read_never_hears_a_stored_person() {
    let api = Api::start().await;
    let mut supplied = request("supplied");
    supplied["BillingProfile"]["BillingProfileReference"] = json!("ana-1");
    let profile = api.create(&api.ana, &supplied).await.json()["BillingProfileId"].clone();
    let writer = user(&api, [Permission::SessionWrite]).await;
    let both = user(&api, [Permission::SessionWrite, Permission::SessionRead]).await;
    for (name, value) in [("BillingProfileId", profile.clone()), ("BillingProfileReference", json!("ana-1"))] {
        let named = |reference: &str| {
            let mut body = request(reference);
            drop(body.as_object_mut().unwrap().remove("BillingProfile"));
            body[name] = value.clone();
            body
        };
        let (kept, key) = (format!("kept-{name}"), format!("key-{name}"));
        let body = named(&kept).to_string();
        let sent = api.send(Some(&both), Method::POST, "/v1/session", &[("idempotency-key", &key)], body.clone()).await;
        assert_eq!(sent.json()["BillingProfile"]["Email"], "ana@shop.example", "{sent:?}");
        let replayed =
            api.send(Some(&writer), Method::POST, "/v1/session", &[("idempotency-key", &key)], body.clone()).await;
        replayed.is_error(422, "IDEMPOTENCY_KEY_REUSED");
        let made = api.create(&writer, &named(&format!("made-{name}"))).await;
        let id = made.session_id(201);
        let put = api.put(&writer, &id, &named(&format!("put-{name}"))).await;
        for answer in [made, put] {
            assert_eq!(answer.json()["BillingProfileId"], profile, "{answer:?}");
            assert!(!answer.text.contains("ana@shop.example") && !answer.text.contains("Hauptstr"), "{answer:?}");
        }
        assert_eq!(api.get(&both, &id).await.json()["BillingProfile"]["Email"], "ana@shop.example");
    }
    // What it sent itself it hears again.
    let own = api.create(&writer, &request("own")).await;
    assert_eq!(own.json()["BillingProfile"]["Email"], "ana@shop.example");
}

#[actix_web::test]
async fn a_query_parameter_that_is_not_known_is_refused_with_the_nearest() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    for (path, nearest) in [
        ("/v1/order?MerchantReference=order-1&merchantreference=x".to_owned(), "MerchantReference"),
        ("/v1/event?Limit=5".to_owned(), "limit"),
    ] {
        let refused = api.read(&path).await;
        refused.is_error(400, "INVALID_REQUEST");
        let error = refused.json()["FieldErrors"][0].clone();
        assert_eq!(error["Code"], "FIELD_UNKNOWN", "{refused:?}");
        assert!(error["Message"].as_str().unwrap().ends_with(nearest), "{refused:?}");
    }
    api.read(&format!("/v1/session/{id}?fields=State")).await.is_refused_for(&["fields FIELD_UNKNOWN"]);
    assert_eq!(api.read("/v1/event?limit=5").await.status, 200);
}

#[actix_web::test]
async fn an_account_of_the_other_mode_is_refused_with_the_reason() {
    let api = Api::start().await;
    let sandbox =
        dropin_usecases::access::Merchants { targets: dropin_access::TargetPolicy::sandbox(), ..api.merchants.clone() };
    let wanted = dropin_usecases::access::CreateMerchant {
        name: "Trying out".to_owned(),
        webhook_url: None,
        origins: vec![],
        currencies: vec![dropin_money::Currency::Usd],
    };
    let made = sandbox.create(wanted).await.map_err(|error| error.to_string()).unwrap();
    let stranger = User { name: made.username, password: made.password };
    let refused = api.create(&stranger, &request("x")).await;
    refused.is_error(403, "NOT_AUTHORIZED");
    assert!(refused.json()["Message"].as_str().unwrap().contains("sandbox"), "{refused:?}");
}

#[actix_web::test]
async fn a_revoked_user_is_out_within_two_seconds() {
    let api = Api::start().await;
    let user = user(&api, [Permission::SessionRead]).await;
    let id = api.created("watched").await;
    assert_eq!(api.get(&user, &id).await.status, 200);
    api.merchants.revoke_user(&user.name).await.unwrap();
    let revoked = Instant::now();
    loop {
        let asked = revoked.elapsed();
        let answer = api.get(&user, &id).await;
        if answer.status == 401 {
            break;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(asked < Duration::from_secs(2), "let in {asked:?} after it was revoked");
    }
}

#[actix_web::test]
async fn guessing_is_told_to_wait_and_the_right_password_passes() {
    let api = Api::start().await;
    let guess = async |name: &str| {
        let wrong = User { name: name.to_owned(), password: "wrong".to_owned() };
        api.get(&wrong, SOME_ID).await
    };
    for name in [api.ana.name.as_str(), "nobody"] {
        for _ in 0..10 {
            guess(name).await.is_error(401, "AUTHENTICATION_REQUIRED");
        }
        let told = guess(name).await;
        told.is_error(429, "RATE_LIMITED");
        let wait: u64 = told.header("retry-after").parse().unwrap();
        assert!((1..=6).contains(&wait), "{told:?}");
    }
    assert_eq!(api.get(&api.ana, SOME_ID).await.status, 404, "the right password, from the same address");
    guess(&api.bob.name).await.is_error(401, "AUTHENTICATION_REQUIRED");
}
