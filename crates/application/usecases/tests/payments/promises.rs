//! Whoever was told that a notification follows gets it (decisions.md section 4, PendingNotification and UnderReview).

use std::sync::Arc;
use std::time::Duration;

use dropin_order::OpKind;
use dropin_ports::{ProcessorAnswer, Waiting};

use crate::script::{Gate, approved, declined, unclear};
use crate::world::{World, body, usd};

#[tokio::test]
async fn a_refusal_for_now_is_the_end_only_for_whoever_waits() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Capture, declined(true));
    let told = world.capture(id, None).await.unwrap();
    assert_eq!(told.status, 402);
    assert!(body(&told).contains("\"Retryable\":true"), "{}", body(&told));
    assert!(world.order(id).await.amounts.capture_pending().is_zero());
}

#[tokio::test]
async fn a_capture_that_somebody_was_promised_is_tried_again_until_it_succeeds() {
    let world = Arc::new(World::new().await);
    let id = world.authorized().await;
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    world.script.say(OpKind::Capture, declined(true));
    let first = tokio::spawn({
        let world = world.clone();
        async move { world.capture(id, None).await.unwrap() }
    });
    gate.arrived.notified().await;
    let second = world.capture(id, None).await.unwrap();
    assert!(body(&second).contains("PendingNotification"));
    gate.open.notify_one();
    let first = first.await.unwrap();
    assert_eq!(first.status, 200, "its refusal is not the end any more: {}", body(&first));
    assert_eq!(world.settle_after(Duration::from_secs(5)).await, 1);
    assert_eq!(world.state(id).await, "PROCESSED");
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_PROCESSED"]);
    let keys = world.script.asked(OpKind::Capture);
    assert!(keys.len() == 2 && keys[0] != keys[1], "the second try has a key of its own: {keys:?}");
}

#[tokio::test]
async fn an_unknown_capture_is_asked_about_and_sent_again_under_its_key_when_absent() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Capture, unclear());
    assert!(body(&world.capture(id, None).await.unwrap()).contains("PendingNotification"));
    world.settle_after(Duration::from_secs(1)).await;
    let keys = world.script.asked(OpKind::Capture);
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
    assert_eq!(world.state(id).await, "PROCESSED");
}

#[tokio::test]
async fn a_pay_later_order_in_review_is_captured_with_the_amount_that_was_asked_meanwhile() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, ProcessorAnswer::Pending(Waiting::Review));
    let (id, told) = world.checkout("PAYLATER", false).await;
    assert_eq!((told.status, world.state(id).await), (200, "COMMIT_ACCEPTED"));
    assert!(body(&world.capture(id, Some("4.00")).await.unwrap()).contains("UnderReview"));
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::from_secs(2)).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.amounts.captured()), ("PROCESSED", &usd(400)));
    assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", "ORDER_PROCESSED"]);
}

#[tokio::test]
async fn a_refund_refused_for_now_is_tried_again_and_one_refused_for_good_has_failed() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, declined(true));
    let told = world.refund(id, "r1", Some("4.00")).await.unwrap();
    assert_eq!(told.status, 201);
    assert!(body(&told).contains("IN_PROGRESS"));
    world.script.say(OpKind::Refund, declined(false));
    let told = world.refund(id, "r2", Some("6.00")).await.unwrap();
    assert!(body(&told).contains("FAILED"), "{}", body(&told));
    assert_eq!(world.settle_after(Duration::from_secs(5)).await, 1);
    let states: Vec<_> =
        world.refunds(id).await.iter().map(|one| (one.reference.clone(), one.state.as_str())).collect();
    assert_eq!(states, [("r1".to_owned(), "SUCCEEDED"), ("r2".to_owned(), "FAILED")]);
    let told = world.events().await;
    assert_eq!(told, ["ORDER_AUTHORIZED", "ORDER_PROCESSED", "REFUND_FAILED", "REFUND_SUCCEEDED"]);
    let order = world.order(id).await;
    assert_eq!((order.amounts.refunded(), order.amounts.refund_pending()), (&usd(400), &usd(0)));
    // The money of the failed one can be asked for again.
    assert!(body(&world.refund(id, "r3", None).await.unwrap()).contains("\"Amount\":6.00"));
}

#[tokio::test]
async fn a_refund_refused_for_now_for_a_day_has_failed() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, declined(true));
    drop(world.refund(id, "r1", None).await.unwrap());
    world.script.say(OpKind::Refund, declined(true));
    world.settle_after(Duration::from_secs(24 * 3_600)).await;
    assert_eq!(world.refunds(id).await[0].state.as_str(), "FAILED");
}
