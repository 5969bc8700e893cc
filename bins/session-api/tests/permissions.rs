//! Who may do what: from the table of operations, so that a new one is tested without a line here.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use std::time::{Duration, Instant};

use actix_web::http::Method;
use common::{Answer, Api, User, request};
use dropin_access::{Permission, Permissions};
use dropin_http::Operation;
use dropin_ports::AccessStore;
use session_api::OPERATIONS;

const SOME_ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// Calls an operation with an id that does not exist wherever its address has one.
async fn call(api: &Api, user: &User, operation: &Operation) -> Answer {
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
