//! The merchant ends an Order before it is captured (docs/SPECIFICATION.md#order-cancel).

use dropin_tests::{World, cards};
use serde_json::{Value, json};

use crate::{AUTHORIZED, CHARGED, PAID};

const VOIDED: [(&str, &str, &str); 2] = [("AUTHORIZE", "APPROVED", "29.90"), ("VOID", "APPROVED", "29.90")];
const CANCELLED: [&str; 3] = [AUTHORIZED[0], AUTHORIZED[1], "ORDER_CANCELLED"];

async fn is_refused(world: &World, order: &Value) {
    let refused = world.merchant.cancel_order(order).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", refused.text());
}

/// Every step of an Order's life is kept: each begins where the one before ended, and says who took it.
fn life(order: &Value) -> Vec<(String, String)> {
    let steps = order["History"].as_array().unwrap_or_else(|| panic!("{order}"));
    assert!(steps[0].get("Before").is_none(), "{order}");
    assert!(
        steps
            .windows(2)
            .all(|two| two[0]["After"] == two[1]["Before"] && two[0]["At"].as_str() <= two[1]["At"].as_str()),
        "{order}"
    );
    assert_eq!(steps.last().unwrap()["After"], order["State"]);
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    steps.iter().map(|step| (text(step, "Actor"), text(step, "What"))).collect()
}

crate::both! {
    /// PAYMENT_AUTHORIZED, merchant cancels: CANCELLED, and the reservation is given up.
    async fn an_authorization_is_cancelled(world: &World) {
        let paid = world.authorized(cards::VISA).await;
        for _ in 0..2 {
            let cancelled = world.merchant.cancel_order(&paid.order).await;
            assert_eq!((cancelled.status, cancelled.json()["State"].as_str()), (200, Some("CANCELLED")), "{}", cancelled.text());
        }
        world.receiver.expect(&paid.session, &CANCELLED).await;
        world.journal_has(&paid.session, &VOIDED).await;
        let order = world.merchant.order(&paid.order).await;
        let life = life(&order);
        assert!(life.contains(&("MERCHANT".to_owned(), "VOID_REQUESTED".to_owned())), "{life:?}");
        assert_eq!(life[0], ("SHOPPER".to_owned(), "START".to_owned()));
        for answer in [
            world.merchant.capture(&order, None).await,
            world.merchant.refund(&order, "too early", None).await,
        ] {
            assert_eq!((answer.status, answer.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", answer.text());
        }
    }

    /// After capture it is too late.
    async fn what_is_captured_is_not_cancelled(world: &World) {
        let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        world.receiver.expect(&paid.session, &PAID).await;
        is_refused(world, &paid.order).await;
        world.journal_has(&paid.session, &CHARGED).await;
    }

    /// While a capture is in flight it is too late as well: 4000…2016 completes seconds later.
    async fn what_is_being_captured_is_not_cancelled(world: &World) {
        let paid = world.authorized(cards::CAPTURE_PENDING).await;
        let pending = world.merchant.capture(&paid.order, None).await;
        assert_eq!(pending.json()["Reason"]["Code"], "PendingNotification", "{}", pending.text());
        is_refused(world, &paid.order).await;
        world.receiver.expect(&paid.session, &PAID).await;
        is_refused(world, &paid.order).await;
        let after = [CHARGED[0], ("CAPTURE", "PENDING", "29.90"), CHARGED[1]];
        world.journal_has(&paid.session, &after).await;
    }

    /// A void whose outcome is unknown keeps everything else away and is settled: done once, told once.
    async fn an_unknown_void_is_settled(world: &World) {
        for mode in ["error_500", "timeout_after_work", "duplicate"] {
            let paid = world.authorized(cards::VISA).await;
            world.faults(json!({"Mode": mode, "DelayMs": 100, "Remaining": 1, "Kinds": ["VOID"]})).await;
            let answer = world.merchant.cancel_order(&paid.order).await;
            assert_eq!(answer.status, 200, "{mode}: {}", answer.text());
            if mode != "duplicate" {
                assert_eq!(answer.json()["Reason"]["Code"], "PendingNotification", "{mode}: {}", answer.text());
            }
            let capture = world.merchant.capture(&paid.order, None).await;
            assert_eq!((capture.status, capture.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", capture.text());
            world.receiver.expect(&paid.session, &CANCELLED).await;
            world.journal_has(&paid.session, &VOIDED).await;
            assert_eq!(world.merchant.order(&paid.order).await["State"], "CANCELLED");
        }
    }

    /// Orders are found by reference too, cancelled ones included.
    async fn an_order_is_found_by_its_reference(world: &World) {
        let paid = world.authorized(cards::VISA).await;
        let reference = paid.order["MerchantReference"].as_str().unwrap();
        let find = async |reference: &str| {
            let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("MerchantReference", reference).finish();
            world.merchant.call("GET", &format!("/v1/order?{query}"), None).await
        };
        let found = find(reference).await;
        assert_eq!((found.status, &found.json()["OrderId"]), (200, &paid.order["OrderId"]), "{}", found.text());
        world.merchant.cancel_order(&paid.order).await;
        assert_eq!(find(reference).await.json()["State"], "CANCELLED");
        let missing = find("another").await;
        assert_eq!((missing.status, missing.code().as_str()), (404, "ORDER_NOT_FOUND"), "{}", missing.text());
        let failed = world.merchant.create_session(json!({"MerchantReference": "declined"})).await;
        world.pay(&failed, cards::DECLINED).await;
        assert_eq!(find("declined").await.status, 404, "an Order that was never shown");
    }
}
