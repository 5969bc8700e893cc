//! A person looks at an Order before it is captured (docs/SPECIFICATION.md#order-transitions; docs/SPECIFICATION.md#test-numbers, 4000…9235).

use dropin_tests::{Paid, World, cards, thousandths_of};
use serde_json::{Value, json};

use crate::{AUTHORIZED, CHARGED, PAID};

async fn held(world: &World, auto_capture: bool) -> Paid {
    let paid = world.paid(cards::UNDER_REVIEW, json!({"AutoCapture": auto_capture})).await;
    assert_eq!((&paid.order["State"], &paid.order["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(true)));
    let told = world.receiver.expect(&paid.session, &AUTHORIZED).await;
    assert_eq!(told[1].body["Order"]["UnderReview"], true, "every Order event says so");
    paid
}

fn decide(world: &World, paid: &Paid, decision: &str) -> String {
    world.programs.run_dropin(&["order", "review", paid.order["OrderId"].as_str().unwrap(), decision, "--as", "ada"])
}

fn then(events: &[&'static str]) -> Vec<&'static str> {
    [&AUTHORIZED[..], events].concat()
}

async fn capture_reason(world: &World, paid: &Paid, amount: Option<&str>) -> Value {
    let answer = world.merchant.capture(&paid.order, amount).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["Reason"]["Code"].clone()
}

crate::both! {
    /// A capture asked for meanwhile happens when the review is approved.
    async fn a_capture_waits_for_the_approval(world: &World) {
        let paid = held(world, false).await;
        for _ in 0..2 {
            assert_eq!(capture_reason(world, &paid, None).await, "UnderReview");
        }
        world.journal_has(&paid.session, &CHARGED[..1]).await;
        decide(world, &paid, "approve");
        let told = world.receiver.expect(&paid.session, &then(&["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"])).await;
        assert_eq!((&told[2].body["Order"]["State"], &told[2].body["Order"]["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(false)));
        world.journal_has(&paid.session, &CHARGED).await;
        assert_eq!(capture_reason(world, &paid, None).await, "Captured");
    }

    /// The part that was asked for meanwhile, and no more.
    async fn a_part_asked_for_meanwhile_is_captured(world: &World) {
        let paid = held(world, true).await;
        assert_eq!(capture_reason(world, &paid, Some("10.00")).await, "UnderReview");
        for wrong in ["29.91", "0"] {
            let refused = world.merchant.capture(&paid.order, Some(wrong)).await;
            assert_eq!((refused.status, refused.json()["FieldErrors"][0]["Field"].as_str()), (400, Some("Amount")), "{}", refused.text());
        }
        decide(world, &paid, "approve");
        world.receiver.expect(&paid.session, &then(&["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"])).await;
        assert_eq!(thousandths_of(&world.merchant.order_text(&paid.order).await, "CapturedAmount"), 10_000);
        world.journal_has(&paid.session, &[CHARGED[0], ("CAPTURE", "APPROVED", "10.00")]).await;
    }

    /// Under review with AutoCapture: captured when approved.
    async fn an_automatic_capture_waits_for_the_approval(world: &World) {
        let paid = held(world, true).await;
        decide(world, &paid, "approve");
        world.receiver.expect(&paid.session, &then(&["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"])).await;
        world.journal_has(&paid.session, &CHARGED).await;
    }

    /// Without either, approval alone: it may be captured now.
    async fn an_approved_order_may_be_captured(world: &World) {
        let paid = held(world, false).await;
        decide(world, &paid, "approve");
        world.receiver.expect(&paid.session, &then(&["ORDER_REVIEW_APPROVED"])).await;
        let order = world.merchant.order(&paid.order).await;
        assert_eq!((&order["State"], &order["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(false)));
        assert_eq!(capture_reason(world, &paid, None).await, "Captured");
        world.receiver.expect(&paid.session, &then(&["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"])).await;
    }

    /// Declined: DECLINED, and the reservation is given up, whatever was asked for meanwhile.
    async fn a_declined_order_is_given_up(world: &World) {
        for auto_capture in [false, true] {
            let paid = held(world, auto_capture).await;
            assert_eq!(capture_reason(world, &paid, None).await, "UnderReview");
            for _ in 0..2 {
                decide(world, &paid, "decline");
            }
            let told = world.receiver.expect(&paid.session, &then(&["ORDER_DECLINED"])).await;
            assert_eq!(told[2].body["Order"]["State"], "DECLINED");
            world.journal_has(&paid.session, &[CHARGED[0], ("VOID", "APPROVED", "29.90")]).await;
            let capture = world.merchant.capture(&paid.order, None).await;
            assert_eq!((capture.status, capture.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", capture.text());
        }
    }

    /// The merchant need not wait for the review.
    async fn an_order_under_review_is_cancelled(world: &World) {
        let paid = held(world, true).await;
        let cancelled = world.merchant.cancel_order(&paid.order).await;
        assert_eq!((cancelled.status, cancelled.json()["State"].as_str()), (200, Some("CANCELLED")), "{}", cancelled.text());
        world.receiver.expect(&paid.session, &then(&["ORDER_CANCELLED"])).await;
        world.journal_has(&paid.session, &[CHARGED[0], ("VOID", "APPROVED", "29.90")]).await;
    }

    /// One that was never held is not there to be decided, and nothing happens to it.
    async fn an_order_that_is_not_held_is_not_reviewed(world: &World) {
        let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        world.receiver.expect(&paid.session, &PAID).await;
        let order = paid.order["OrderId"].as_str().unwrap();
        for id in [order, &uuid::Uuid::new_v4().to_string()] {
            let said = world.programs.try_dropin(&["order", "review", id, "decline", "--as", "ada"]);
            assert!(said.is_err_and(|said| !said.is_empty()));
        }
        assert_eq!(world.merchant.order(&paid.order).await["State"], "PROCESSED");
    }
}
