//! The life of a Session as its merchant sees it over HTTP.

use std::time::Duration;

use crate::common::{Api, InjectedFault, request, session_id};
use dropin_ports::{Clock, OutboxStore, StoreError};
use serde_json::json;

#[actix_web::test]
async fn post_creates_and_get_returns_the_same() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    let id = created.session_id(201);
    let session = created.json();
    assert_eq!(session["State"], "CREATED");
    assert_eq!(session["BillingProfileId"], session["BillingProfile"]["BillingProfileId"]);
    assert_eq!(
        (&session["CreatedAt"], &session["UpdatedAt"]),
        (&json!("2026-11-18T11:06:40.000000Z"), &session["CreatedAt"])
    );
    assert_eq!(session["ExpiresAt"], "2026-11-19T11:06:40.000000Z");
    assert!(created.text.contains(r#""TotalAmount":29.00,"#), "{created:?}");
    assert!(session.get("Order").is_none() && session.get("PaymentMethod").is_none());
    let got = api.get(&api.ana, &id).await;
    assert_eq!((got.status, got.text), (200, created.text));
}

#[actix_web::test]
async fn amounts_are_exact_end_to_end() {
    let api = Api::start().await;
    for (at, (currency, amount, shown)) in [
        ("USD", "0.1", "0.10"),
        ("USD", "999999999999.99", "999999999999.99"),
        ("KWD", "1e-3", "0.001"),
        ("CLP", "5e2", "500"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = request(&format!("order-{at}"))
            .to_string()
            .replace("29", amount)
            .replace("\"USD\"", &format!("\"{currency}\""));
        let answer = api.send(Some(&api.ana), actix_web::http::Method::POST, "/v1/session", &[], body).await;
        let id = answer.session_id(201);
        let total = format!("\"TotalAmount\":{shown},");
        assert!(answer.text.contains(&total) && api.get(&api.ana, &id).await.text.contains(&total), "{answer:?}");
    }
}

#[actix_web::test]
async fn put_replaces_everything_and_keeps_the_rest() {
    let api = Api::start().await;
    let mut first = request("order-1");
    first["TaxAmount"] = json!(3);
    first["Discounts"] = json!([{"Name": "Sale", "Amount": 1}]);
    first["ViaAgent"] = json!(true);
    let created = api.create(&api.ana, &first).await;
    let id = created.session_id(201);
    api.clock.advance(Duration::from_secs(60));
    let mut second = request("order-2");
    second["Items"] = json!([{"Name": "Bag", "Amount": 5, "Quantity": 2}]);
    let replaced = api.put(&api.ana, &id, &second).await;
    assert_eq!(replaced.session_id(200), id);
    let (before, after) = (created.json(), replaced.json());
    assert_eq!(after["MerchantReference"], "order-2");
    assert_eq!((after["Items"].as_array().unwrap().len(), &after["Items"][0]["Name"]), (1, &json!("Bag")));
    assert!(replaced.text.contains(r#""TotalAmount":5.00,"#), "{replaced:?}");
    assert!(after.get("TaxAmount").is_none() && after.get("Discounts").is_none());
    assert_eq!((&after["ViaAgent"], &after["State"]), (&json!(false), &json!("CREATED")));
    assert_ne!(after["BillingProfileId"], before["BillingProfileId"]);
    assert_eq!((&after["CreatedAt"], &after["ExpiresAt"]), (&before["CreatedAt"], &before["ExpiresAt"]));
    assert_eq!(after["UpdatedAt"], "2026-11-18T11:07:40.000000Z");
    assert_eq!(api.get(&api.ana, &id).await.text, replaced.text);
}

#[actix_web::test]
async fn delete_cancels_once() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    let deleted = api.delete(&api.ana, &id).await;
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CANCELLED");
    api.delete(&api.ana, &id).await.is_error(409, "INVALID_SESSION_STATE");
    api.put(&api.ana, &id, &request("order-2")).await.is_error(409, "INVALID_SESSION_STATE");
}

#[actix_web::test]
async fn sessions_that_were_paid_or_tried_are_neither_replaced_nor_cancelled() {
    let api = Api::start().await;
    for (reference, approved, state) in
        [("order-1", None, "PROCESSING"), ("order-2", Some(true), "COMPLETED"), ("order-3", Some(false), "FAILED")]
    {
        let id = api.created(reference).await;
        match approved {
            None => drop(api.store.submit(session_id(&id)).await),
            Some(approved) => api.store.pay(session_id(&id), approved).await,
        }
        let before = api.get(&api.ana, &id).await;
        assert_eq!(before.json()["State"], state);
        assert_eq!(before.json().get("Order").is_some(), state == "COMPLETED", "{before:?}");
        api.delete(&api.ana, &id).await.is_error(409, "INVALID_SESSION_STATE");
        api.put(&api.ana, &id, &request("order-9")).await.is_error(409, "INVALID_SESSION_STATE");
        assert_eq!(api.get(&api.ana, &id).await.text, before.text);
    }
}

#[actix_web::test]
async fn a_completed_session_shows_its_order() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    api.store.pay(session_id(&id), true).await;
    let session = api.get(&api.ana, &id).await.json();
    assert_eq!(session["PaymentMethod"], "VISA");
    let order = &session["Order"];
    assert_eq!((&order["State"], &order["SessionId"]), (&json!("PAYMENT_AUTHORIZED"), &json!(id)));
    assert_eq!(order["MerchantReference"], "order-1");
    let shown = api
        .send(
            Some(&api.ana),
            actix_web::http::Method::GET,
            &format!("/v1/order/{}", order["OrderId"].as_str().unwrap()),
            &[],
            "",
        )
        .await;
    assert_eq!((shown.status, &shown.json()["OrderId"]), (200, &order["OrderId"]));
}

#[actix_web::test]
async fn an_expired_session_is_cancelled_before_and_after_the_sweeper() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    api.clock.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(api.sessions.expire_due(10).await, Ok(0));
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CREATED");
    api.clock.advance(Duration::from_secs(30));
    let seen = api.get(&api.ana, &id).await.json();
    assert_eq!((&seen["State"], &seen["UpdatedAt"]), (&json!("CANCELLED"), &seen["ExpiresAt"]));
    api.delete(&api.ana, &id).await.is_error(409, "INVALID_SESSION_STATE");
    api.put(&api.ana, &id, &request("order-1")).await.is_error(409, "INVALID_SESSION_STATE");
    assert_eq!(api.sessions.expire_due(10).await, Ok(1));
    assert_eq!(api.sessions.expire_due(10).await, Ok(0));
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "CANCELLED");
}

#[actix_web::test]
async fn the_merchant_is_told_of_an_expiry_and_not_of_its_own_cancellation() {
    let api = Api::start().await;
    let cancelled = api.created("order-1").await;
    assert_eq!(api.delete(&api.ana, &cancelled).await.status, 204);
    let expired = api.created("order-2").await;
    api.clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(api.sessions.expire_due(10).await, Ok(1));
    let now = api.clock.now();
    let claimed = api.outbox.claim_deliveries(&[], now, now.plus(Duration::from_secs(9)), 9, 9).await;
    let told = claimed.unwrap().deliveries;
    assert_eq!(told.iter().map(|one| one.event_type.as_str()).collect::<Vec<_>>(), ["SESSION_CANCELLED"]);
    let body: serde_json::Value = serde_json::from_slice(&told[0].body).unwrap();
    assert_eq!((&body["EventType"], &body["Reason"]), (&json!("SESSION_CANCELLED"), &json!("EXPIRED")));
    assert_eq!((&body["Session"]["SessionId"], &body["Session"]["State"]), (&json!(expired), &json!("CANCELLED")));
    assert!(body.get("Order").is_none() && body["Session"].get("BillingProfile").is_none());
}

#[actix_web::test]
async fn a_merchant_reference_is_used_once_for_ever() {
    let api = Api::start().await;
    let first = api.created("order-1").await;
    api.create(&api.ana, &request("order-1")).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    let second = api.created("order-2").await;
    api.put(&api.ana, &second, &request("order-1")).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    // A Session keeps its own, also one it had before.
    api.put(&api.ana, &second, &request("order-2")).await.session_id(200);
    api.put(&api.ana, &second, &request("order-3")).await.session_id(200);
    api.create(&api.ana, &request("order-2")).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    api.put(&api.ana, &second, &request("order-2")).await.session_id(200);
    // Cancelling frees nothing, and another merchant has its own.
    assert_eq!(api.delete(&api.ana, &first).await.status, 204);
    api.create(&api.ana, &request("order-1")).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    api.create(&api.bob, &request("order-1")).await.session_id(201);
}

#[actix_web::test]
async fn billing_profiles_are_reused_by_id_and_by_reference() {
    let api = Api::start().await;
    let mut with_reference = request("order-1");
    with_reference["BillingProfile"]["BillingProfileReference"] = json!("ana-1");
    let first = api.create(&api.ana, &with_reference).await.json();
    let named = |reference: &str, member: &str, value: &serde_json::Value| {
        let mut body = request(reference);
        body.as_object_mut().unwrap().remove("BillingProfile");
        body[member] = value.clone();
        body
    };
    let by_id = api.create(&api.ana, &named("order-2", "BillingProfileId", &first["BillingProfileId"])).await.json();
    assert_eq!(by_id["BillingProfile"], first["BillingProfile"]);
    assert!(by_id.get("BillingProfileReference").is_none());
    let by_reference = api.create(&api.ana, &named("order-3", "BillingProfileReference", &json!("ana-1"))).await.json();
    assert_eq!(by_reference["BillingProfile"], first["BillingProfile"]);
    assert_eq!(by_reference["BillingProfileReference"], "ana-1");
    // A newer profile takes the reference over; the older Session keeps what it had.
    with_reference["MerchantReference"] = json!("order-4");
    with_reference["BillingProfile"]["Name"] = json!("Ana B.");
    let newer = api.create(&api.ana, &with_reference).await.json();
    assert_ne!(newer["BillingProfileId"], first["BillingProfileId"]);
    let again = api.create(&api.ana, &named("order-5", "BillingProfileReference", &json!("ana-1"))).await.json();
    assert_eq!(again["BillingProfile"]["Name"], "Ana B.");
    assert_eq!(api.get(&api.ana, first["SessionId"].as_str().unwrap()).await.json(), first);
    // Another merchant's profiles do not exist.
    api.create(&api.bob, &named("order-1", "BillingProfileId", &first["BillingProfileId"]))
        .await
        .is_refused_for(&["BillingProfileId NOT_FOUND"]);
    api.create(&api.bob, &named("order-1", "BillingProfileReference", &json!("ana-1")))
        .await
        .is_refused_for(&["BillingProfileReference NOT_FOUND"]);
}

#[actix_web::test]
async fn the_loser_of_a_race_is_told_who_won() {
    let api = Api::start().await;
    let id = api.created("order-1").await;
    api.store.before_next_write(InjectedFault::Replaced);
    api.put(&api.ana, &id, &request("order-2")).await.is_error(409, "DUPLICATE_REQUEST");
    assert_eq!(api.get(&api.ana, &id).await.json()["MerchantReference"], "order-1");
    // A cancellation decides again.
    api.store.before_next_write(InjectedFault::Replaced);
    assert_eq!(api.delete(&api.ana, &id).await.status, 204);
    let id = api.created("order-3").await;
    api.store.before_next_write(InjectedFault::Submitted);
    api.put(&api.ana, &id, &request("order-4")).await.is_error(409, "INVALID_SESSION_STATE");
    let id = api.created("order-5").await;
    api.store.before_next_write(InjectedFault::Submitted);
    api.delete(&api.ana, &id).await.is_error(409, "INVALID_SESSION_STATE");
    assert_eq!(api.get(&api.ana, &id).await.json()["State"], "PROCESSING");
}

#[actix_web::test]
async fn one_session_that_cannot_be_expired_does_not_keep_the_others() {
    let api = Api::start().await;
    for at in 0..3 {
        api.created(&format!("order-{at}")).await;
    }
    api.clock.advance(Duration::from_secs(24 * 3_600));
    api.store.before_next_write(InjectedFault::Fails(StoreError::Refused("a CHECK constraint".to_owned())));
    assert_eq!(api.sessions.expire_due(10).await, Ok(2));
    api.store.before_next_write(InjectedFault::Fails(StoreError::OutcomeUnknown));
    assert_eq!(api.sessions.expire_due(10).await, Err(StoreError::OutcomeUnknown));
    assert_eq!(api.sessions.expire_due(10).await, Ok(1));
}
