//! The server-to-server checkout over HTTP (docs/SPECIFICATION.md#checkout).

use crate::common::{Api, card, redirect};
use actix_web::http::Method;
use checkout_api::OPERATIONS;
use dropin_access::{Permission, Permissions};
use dropin_card::Scheme;
use dropin_order::DeclineReason;
use dropin_ports::{PaymentStore as _, ProcessorReply};
use serde_json::{Value, json};

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

#[actix_web::test]
async fn every_operation_needs_its_permission_and_no_other() {
    let api = Api::start().await;
    for operation in OPERATIONS.iter().filter(|operation| operation.permission.is_some()) {
        // What is done to an Order takes the same as in the Order API, whoever made the Order and however.
        let needed = match operation.path {
            "/v2.21" | "/v2.21/query" => Permission::Checkout,
            "/v2.21/capture" | "/v2.21/cancel" => Permission::OrderCapture,
            "/v2.21/refund" => Permission::OrderRefund,
            "/v2.21/openContract" | "/v2.21/closeContract" => Permission::ContractWrite,
            other => panic!("{other}: say what it takes"),
        };
        let only = api.user([needed]).await;
        let all_others = api.user(Permissions::all().iter().filter(|one| *one != needed)).await;
        let call = async |user| api.send(user, operation.method.clone(), operation.path, &[], "{}").await;
        call(None).await.is_error(401, "AUTHENTICATION_REQUIRED");
        call(Some(&all_others)).await.is_error(403, "NOT_AUTHORIZED");
        call(Some(&only)).await.is_error(400, "INVALID_REQUEST");
        api.send(Some(&only), Method::GET, operation.path, &[], "").await.is_error(405, "METHOD_NOT_ALLOWED");
    }
}

#[actix_web::test]
async fn a_card_is_reserved_or_captured_and_told_so() {
    let api = Api::start().await;
    let reserved = api.ask("", &api.carded("order-1", json!({})).await).await;
    assert_eq!(reserved.flags(), (true, false, true), "{reserved:?}");
    assert!(reserved.json()["Expiry"].is_string(), "{reserved:?}");
    let captured = api.ask("", &api.carded("order-2", json!({"Capture": true})).await).await;
    assert_eq!(captured.flags(), (true, true, true));
    assert_eq!(*api.bank.asked.lock().unwrap(), ["authorize", "authorize", "capture"]);
    for (query, told) in [
        (json!({"MerchantId": api.ana.merchant, "ReferenceId": "order-1"}), &reserved),
        (api.about(&captured.order()), &captured),
    ] {
        assert_eq!(api.ask("/query", &query).await.text, told.text);
    }
    let order = api.about(&reserved.order());
    let acted = api.ask("/capture", &order).await;
    let expected = json!({"OrderId": reserved.order(), "Completed": true, "UnderReview": false});
    assert_eq!((acted.status, acted.json()), (200, expected));
}

#[actix_web::test]
async fn a_refusal_names_the_order() {
    let api = Api::start().await;
    api.bank.will_say(ProcessorReply::Declined {
        reason: DeclineReason::InsufficientFunds,
        retryable: false,
        credential: None,
    });
    let declined = api.ask("", &api.carded("order-1", json!({"Capture": true})).await).await;
    declined.is_error(402, "PAYMENT_DECLINED");
    let found = api.ask("/query", &api.about(&declined.order())).await;
    assert_eq!((found.flags(), &found.json()["State"]), ((false, false, false), &json!("PROCESSING_FAILED")));
}

#[actix_web::test]
async fn an_unknown_outcome_is_no_refusal() {
    let api = Api::start().await;
    api.bank.will_say(ProcessorReply::Unknown { why: "time-out".to_owned() });
    let unknown = api.ask("", &api.carded("order-1", json!({"Capture": true})).await).await;
    assert_eq!((unknown.flags(), &unknown.json()["State"]), ((false, false, false), &json!("PROCESSING")));
}

#[actix_web::test]
async fn what_cannot_be_paid_with_or_twice() {
    let api = Api::start().await;
    api.ask("", &api.cart("order-0", json!({"PaymentMethod": "VISA", "StashId": "unseen"})))
        .await
        .is_refused_for(&["StashId NOT_FOUND"]);
    api.ask("", &api.carded("order-0", json!({"DeviceFingerprint": "another"})).await)
        .await
        .is_refused_for(&["StashId NOT_FOUND"]);
    api.ask("", &api.carded("order-0", json!({"PaymentMethod": "MC"})).await)
        .await
        .is_refused_for(&["PaymentMethod CONFLICT"]);
    let yen = json!({"ConsumerCurrency": "JPY"});
    api.ask("", &api.carded("order-0", yen).await).await.is_error(400, "INVALID_CURRENCY");
    assert!(api.bank.asked.lock().unwrap().is_empty(), "nothing of this was asked");
    let first = api.carded("order-1", json!({})).await;
    assert_eq!(api.ask("", &first).await.status, 200);
    // Sent once more without a key, its card is used up by itself; under another reference by somebody else.
    api.ask("", &first).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
    let mut other = first.clone();
    other["ReferenceId"] = "order-2".into();
    api.ask("", &other).await.is_refused_for(&["StashId NOT_FOUND"]);
    api.ask("", &api.carded("order-1", json!({})).await).await.is_error(409, "DUPLICATE_MERCHANT_REFERENCE_ID");
}

#[actix_web::test]
async fn a_merchant_speaks_for_itself_alone() {
    let api = Api::start().await;
    let order = api.ask("", &api.carded("order-1", json!({})).await).await.order();
    let refund = json!({"RefundReference": "r-1"});
    for what in ["", "/capture", "/cancel", "/refund", "/query"] {
        let body = json!({"MerchantId": "", "OrderId": order, "RefundReference": "r-1"});
        assert_eq!(api.ask(what, &body).await.status, 400, "{what}: a required member that is empty is missing");
    }
    for merchant in [api.bob.merchant.as_str(), NOBODY, "ana"] {
        let pay = api.cart("order-2", json!({"MerchantId": merchant}));
        api.ask("", &pay).await.is_error(404, "MERCHANT_NOT_FOUND");
        for what in ["/capture", "/cancel", "/refund", "/query"] {
            let mut body = json!({"MerchantId": merchant, "OrderId": order});
            if what == "/refund" {
                body["RefundReference"] = refund["RefundReference"].clone();
            }
            api.ask(what, &body).await.is_error(404, "MERCHANT_NOT_FOUND");
        }
    }
    for (what, order) in ["/capture", "/cancel", "/refund", "/query"].map(|what| (what, order.as_str())) {
        let mut body = json!({"MerchantId": api.bob.merchant, "OrderId": order});
        if what == "/refund" {
            body["RefundReference"] = json!("r-1");
        }
        let path = format!("/v2.21{what}");
        let theirs = api.send(Some(&api.bob), Method::POST, &path, &[], body.to_string()).await;
        body["OrderId"] = NOBODY.into();
        let nobodys = api.send(Some(&api.bob), Method::POST, &path, &[], body.to_string()).await;
        theirs.is_error(404, "ORDER_NOT_FOUND");
        assert_eq!(theirs.text, nobodys.text, "{what}");
    }
    let upper = json!({"MerchantId": api.ana.merchant.to_uppercase(), "OrderId": order});
    assert_eq!(api.ask("/query", &upper).await.status, 200, "a UUID in either case");
}

#[actix_web::test]
async fn cancels_and_refunds() {
    let api = Api::start().await;
    let reserved = api.ask("", &api.carded("order-1", json!({})).await).await.order();
    let cancelled = api.ask("/cancel", &api.about(&reserved)).await;
    assert_eq!((cancelled.status, &cancelled.json()["Completed"]), (200, &json!(true)));
    api.ask("/capture", &api.about(&reserved)).await.is_error(409, "INVALID_ORDER_STATE");
    let paid = api.ask("", &api.carded("order-2", json!({"Capture": true})).await).await.order();
    api.ask("/cancel", &api.about(&paid)).await.is_error(409, "INVALID_ORDER_STATE");
    let refund = |reference: &str, amount: Value| {
        let mut body = api.about(&paid);
        (body["RefundReference"], body["Amount"]) = (reference.into(), amount);
        body
    };
    let part = api.ask("/refund", &refund("r-1", json!(5))).await;
    assert_eq!((part.status, &part.json()["State"]), (201, &json!("SUCCEEDED")));
    assert_eq!(api.ask("/refund", &refund("r-1", Value::Null)).await.status, 200);
    api.ask("/refund", &refund("r-1", json!(6))).await.is_error(409, "DUPLICATE_REFUND_REFERENCE");
    api.ask("/refund", &refund("r-2", json!(16))).await.is_error(409, "REFUND_EXCEEDS_CAPTURED");
    assert_eq!(api.ask("/refund", &refund("r-2", Value::Null)).await.status, 201);
}

#[actix_web::test]
async fn a_redirect_leads_the_shopper_on() {
    let api = Api::start().await;
    api.bank.will_say(redirect("https://wallet.example/pay"));
    let told = api.ask("", &api.cart("order-1", json!({}))).await;
    assert_eq!(told.flags(), (false, false, false));
    assert_eq!(told.json()["Action"]["Redirect"], "https://wallet.example/pay");
    let way_back = format!("https://assets.example/v1/return/{}", told.order());
    assert_eq!(*api.bank.way_back.lock().unwrap(), Some(way_back));
}

#[actix_web::test]
async fn a_shopper_who_has_to_authenticate_and_cannot_come_back_is_told_of() {
    let api = Api::start().await;
    api.wallet("shop.example").await;
    let reason = DeclineReason::AuthenticationFailed;
    for (reference, back, code) in [
        ("order-1", Value::Null, "SHOPPER_AUTHENTICATION_REQUIRED"),
        ("order-2", json!("https://shop.example/back"), "PAYMENT_DECLINED"),
    ] {
        api.bank.will_say(ProcessorReply::Declined { reason, retryable: false, credential: None });
        let told = api.ask("", &api.tokened(reference, "{}", json!({"Return": back})).await).await;
        told.is_error(402, code);
        assert!(told.json()["OrderId"].is_string(), "{told:?}");
    }
}

#[actix_web::test]
async fn everything_that_moves_money_is_replayed_under_its_key() {
    let api = Api::start().await;
    let keyed = async |what: &str, key: &str, body: &Value| {
        let (path, key) = (format!("/v2.21{what}"), [("idempotency-key", key)]);
        api.send(Some(&api.ana), Method::POST, &path, &key, body.to_string()).await
    };
    let pay = api.carded("order-1", json!({"Capture": true})).await;
    let paid = keyed("", "k", &pay).await;
    let reserved = api.ask("", &api.carded("order-2", json!({})).await).await.order();
    let other = api.ask("", &api.carded("order-3", json!({})).await).await.order();
    let mut refund = api.about(&paid.order());
    refund["RefundReference"] = "r-1".into();
    api.bank.will_say(ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None });
    let declined = api.carded("order-4", json!({})).await;
    let cases = [
        ("", &declined, 402),
        ("", &pay, 200),
        ("/capture", &api.about(&reserved), 200),
        ("/cancel", &api.about(&other), 200),
        ("/refund", &refund, 201),
    ];
    for (number, (what, body, status)) in cases.into_iter().enumerate() {
        let key = if body == &pay { "k".to_owned() } else { format!("k{number}") };
        let first = keyed(what, &key, body).await;
        let again = keyed(what, &key, body).await;
        assert_eq!((first.status, again.status), (status, status), "{what}: {first:?}");
        assert_eq!((&again.text, again.header("idempotent-replayed")), (&first.text, "true"), "{what}");
    }
    keyed("", "k", &api.cart("order-5", json!({}))).await.is_error(422, "IDEMPOTENCY_KEY_REUSED");
    let asked = api.bank.asked.lock().unwrap().clone();
    assert_eq!(asked, ["authorize", "capture", "authorize", "authorize", "authorize", "capture", "void", "refund"]);
}

#[actix_web::test]
async fn a_co_badged_card_is_paid_by_the_scheme_that_is_named() {
    let api = Api::start().await;
    let french =
        json!({"Name": "Ana", "Email": "ana@shop.example", "Address": "1 rue Haute", "City": "Lyon", "Country": "FR"});
    for (reference, method, scheme) in [("order-1", "CB", Scheme::CartesBancaires), ("order-2", "VISA", Scheme::Visa)] {
        api.stash(reference, card("4000002500001001")).await;
        let change =
            json!({"PaymentMethod": method, "StashId": reference, "ConsumerCurrency": "EUR", "Consumer": french});
        let paid = api.ask("", &api.cart(reference, change)).await;
        assert_eq!(paid.status, 200, "{}", paid.text);
        assert_eq!(std::mem::take(&mut *api.bank.schemes.lock().unwrap()), [scheme]);
        let order = api.store.find_order_anywhere(paid.order().parse().unwrap()).await.unwrap();
        assert_eq!(order.map(|(order, ..)| order.payment_method.clone()).as_deref(), Some(method));
    }
}
