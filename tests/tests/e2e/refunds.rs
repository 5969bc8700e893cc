//! Captured money goes back (docs/SPECIFICATION.md#order-refund).

use dropin_tests::{Paid, Response, World, cards, thousandths_of};
use serde_json::{Value, json};

use crate::{AUTHORIZED, CHARGED, PAID, is_refused};

async fn captured(world: &World, card: &str) -> Paid {
    let paid = world.paid(card, json!({"AutoCapture": true})).await;
    world.receiver.expect(&paid.session, &PAID).await;
    paid
}

#[track_caller]
fn is(answer: &Response, status: u16, state: &str) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, body["State"].as_str()), (status, Some(state)), "{}", answer.text());
    body
}

async fn refunded(world: &World, paid: &Paid) -> i64 {
    thousandths_of(&world.merchant.order_text(&paid.order).await, "RefundedAmount")
}

/// PAID and these.
fn then(events: &[&'static str]) -> Vec<&'static str> {
    [&PAID[..], events].concat()
}

crate::both! {
    /// Several parts up to what was captured; then nothing more.
    async fn parts_are_refunded_until_nothing_is_left(world: &World) {
        let paid = captured(world, cards::VISA).await;
        let (merchant, order) = (&world.merchant, &paid.order);
        let first = merchant.refund(order, "first", Some("10.00")).await;
        let made = is(&first, 201, "SUCCEEDED");
        assert_eq!((&made["RefundReference"], &made["Currency"]), (&json!("first"), &json!("USD")));
        assert!(made["RefundId"].is_string() && made["CreatedAt"].is_string(), "{made}");
        assert_eq!(thousandths_of(&first.text(), "Amount"), 10_000);
        for same in [Some("10.00"), Some("10"), None] {
            assert_eq!(is(&merchant.refund(order, "first", same).await, 200, "SUCCEEDED")["RefundId"], made["RefundId"]);
        }
        is_refused(&merchant.refund(order, "first", Some("9.99")).await, 409, "DUPLICATE_REFUND_REFERENCE");
        is_refused(&merchant.refund(order, "second", Some("19.91")).await, 409, "REFUND_EXCEEDS_CAPTURED");
        let rest = merchant.refund(order, "second", None).await;
        is(&rest, 201, "SUCCEEDED");
        assert_eq!(thousandths_of(&rest.text(), "Amount"), 19_900);
        is_refused(&merchant.refund(order, "third", None).await, 409, "REFUND_EXCEEDS_CAPTURED");
        is_refused(&merchant.refund(order, "third", Some("0.01")).await, 409, "REFUND_EXCEEDS_CAPTURED");
        let told = world.receiver.expect(&paid.session, &then(&["REFUND_SUCCEEDED"; 2])).await;
        assert_eq!(told[3].body["Refund"]["RefundId"], made["RefundId"]);
        assert_eq!((&told[4].body["Refund"]["RefundReference"], &told[4].body["Order"]["State"]), (&json!("second"), &json!("PROCESSED")));
        assert_eq!(refunded(world, &paid).await, 29_900);
        world.journal_has(&paid.session, &[CHARGED[0], CHARGED[1], ("REFUND", "APPROVED", "10.00"), ("REFUND", "APPROVED", "19.90")]).await;
    }

    /// Shown one by one, as a list and with the Order.
    async fn refunds_are_shown(world: &World) {
        let paid = captured(world, cards::VISA).await;
        let (merchant, order) = (&world.merchant, &paid.order);
        let body = r#"{"RefundReference": "r-1", "Amount": 1.50, "Description": "A broken handle"}"#;
        let made = merchant.about("POST", order, "/refund", Some(body.to_owned())).await.json();
        merchant.refund(order, "r-2", Some("2")).await;
        let list = merchant.about("GET", order, "/refund", None).await.json();
        assert_eq!(list["Refunds"].as_array().unwrap().len(), 2, "{list}");
        let one = format!("/refund/{}", made["RefundId"].as_str().unwrap());
        let shown = merchant.about("GET", order, &one, None).await;
        assert_eq!((shown.status, &shown.json()), (200, &list["Refunds"][0]));
        assert_eq!((shown.json()["Description"].as_str(), shown.json()["State"].as_str()), (Some("A broken handle"), Some("SUCCEEDED")));
        assert_eq!(merchant.order(order).await["Refunds"], list["Refunds"]);
        let nothing = format!("/refund/{}", uuid::Uuid::new_v4());
        assert_eq!(merchant.about("GET", order, &nothing, None).await.status, 404);
        // Another Order's refund is not this one's.
        let other = captured(world, cards::VISA).await;
        assert_eq!(merchant.about("GET", &other.order, &one, None).await.status, 404);
        world.receiver.expect(&paid.session, &then(&["REFUND_SUCCEEDED"; 2])).await;
    }

    /// What cannot be refunded, and why.
    async fn wrong_refunds_are_refused(world: &World) {
        let waiting = world.authorized(cards::VISA).await;
        is_refused(&world.merchant.refund(&waiting.order, "r", None).await, 409, "INVALID_ORDER_STATE");
        let part = world.merchant.capture(&waiting.order, Some("10.00")).await;
        assert_eq!(part.json()["State"], "PROCESSED", "{}", part.text());
        is_refused(&world.merchant.refund(&waiting.order, "r", Some("10.01")).await, 409, "REFUND_EXCEEDS_CAPTURED");
        for (body, field) in [
            (r#"{"Amount": 1}"#, "RefundReference"),
            (r#"{"RefundReference": ""}"#, "RefundReference"),
            (r#"{"RefundReference": "r", "Amount": 0}"#, "Amount"),
            (r#"{"RefundReference": "r", "Amount": -1}"#, "Amount"),
            (r#"{"RefundReference": "r", "Amount": 0.001}"#, "Amount"),
            (r#"{"RefundReference": "r", "Amount": "1"}"#, "Amount"),
        ] {
            let refused = world.merchant.about("POST", &waiting.order, "/refund", Some(body.to_owned())).await;
            is_refused(&refused, 400, "INVALID_REQUEST");
            assert_eq!(refused.json()["FieldErrors"][0]["Field"], field, "{body}");
        }
        world.receiver.expect(&waiting.session, &PAID).await;
        world.journal_has(&waiting.session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "10.00")]).await;
    }

    /// docs/SPECIFICATION.md#test-numbers, 4000…7726: pending, then succeeds. Meanwhile its amount is spoken for.
    async fn a_pending_refund_succeeds_later(world: &World) {
        let paid = captured(world, cards::REFUND_PENDING).await;
        let (merchant, order) = (&world.merchant, &paid.order);
        let made = is(&merchant.refund(order, "slow", Some("20.00")).await, 201, "IN_PROGRESS");
        assert_eq!(is(&merchant.refund(order, "slow", None).await, 200, "IN_PROGRESS")["RefundId"], made["RefundId"]);
        assert_eq!(refunded(world, &paid).await, 0);
        is_refused(&merchant.refund(order, "more", Some("9.91")).await, 409, "REFUND_EXCEEDS_CAPTURED");
        let told = world.receiver.expect(&paid.session, &then(&["REFUND_SUCCEEDED"])).await;
        assert_eq!((&told[3].body["Refund"]["State"], &told[3].body["Refund"]["RefundId"]), (&json!("SUCCEEDED"), &made["RefundId"]));
        assert_eq!(refunded(world, &paid).await, 20_000);
        is(&merchant.refund(order, "slow", None).await, 200, "SUCCEEDED");
        world.journal_has(&paid.session, &[CHARGED[0], CHARGED[1], ("REFUND", "PENDING", "20.00"), ("REFUND", "APPROVED", "20.00")]).await;
    }

    /// docs/SPECIFICATION.md#test-numbers, 4000…5126: pending, then fails. Its amount can be refunded again.
    async fn a_pending_refund_fails_later(world: &World) {
        let paid = captured(world, cards::REFUND_FAILS).await;
        let (merchant, order) = (&world.merchant, &paid.order);
        is(&merchant.refund(order, "in vain", None).await, 201, "IN_PROGRESS");
        let told = world.receiver.expect(&paid.session, &then(&["REFUND_FAILED"])).await;
        assert_eq!((&told[3].body["Refund"]["State"], &told[3].body["Order"]["State"]), (&json!("FAILED"), &json!("PROCESSED")));
        assert_eq!(refunded(world, &paid).await, 0);
        is(&merchant.refund(order, "in vain", None).await, 200, "FAILED");
        let again = merchant.refund(order, "again", None).await;
        is(&again, 201, "IN_PROGRESS");
        assert_eq!(thousandths_of(&again.text(), "Amount"), 29_900);
        world.receiver.expect(&paid.session, &then(&["REFUND_FAILED"; 2])).await;
    }

    /// A refund whose outcome is unknown is settled by asking for its key: done once, told once.
    async fn an_unknown_refund_is_settled(world: &World) {
        for mode in ["error_500", "timeout_after_work", "duplicate"] {
            let paid = captured(world, cards::VISA).await;
            world.faults(json!({"Mode": mode, "DelayMs": 100, "Remaining": 1, "Kinds": ["REFUND"]})).await;
            let made = world.merchant.refund(&paid.order, "r", Some("5.00")).await;
            is(&made, 201, if mode == "duplicate" { "SUCCEEDED" } else { "IN_PROGRESS" });
            world.receiver.expect(&paid.session, &then(&["REFUND_SUCCEEDED"])).await;
            world.journal_has(&paid.session, &[CHARGED[0], CHARGED[1], ("REFUND", "APPROVED", "5.00")]).await;
        }
    }

    /// A refund that the processor refuses for now is tried again by itself, under a new key, until it is decided.
    async fn a_refund_refused_for_now_is_tried_again(world: &World) {
        let paid = captured(world, cards::VISA).await;
        world.faults(json!({"Mode": "refuse", "Remaining": 1, "Kinds": ["REFUND"]})).await;
        is(&world.merchant.refund(&paid.order, "r", Some("5.00")).await, 201, "IN_PROGRESS");
        is(&world.merchant.refund(&paid.order, "r", Some("5.00")).await, 200, "IN_PROGRESS");
        world.receiver.expect(&paid.session, &then(&["REFUND_SUCCEEDED"])).await;
        world.journal_has(&paid.session, &[CHARGED[0], CHARGED[1], ("REFUND", "DECLINED", "5.00"), ("REFUND", "APPROVED", "5.00")]).await;
    }

    /// AUTHORIZED alone gives nothing back, and neither does a cancelled Order.
    async fn nothing_is_refunded_before_capture(world: &World) {
        let paid = world.authorized(cards::VISA).await;
        is_refused(&world.merchant.refund(&paid.order, "r", Some("1")).await, 409, "INVALID_ORDER_STATE");
        world.receiver.expect(&paid.session, &AUTHORIZED).await;
    }
}
