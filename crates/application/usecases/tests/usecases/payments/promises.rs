//! Whoever was told that a notification follows gets it (docs/SPECIFICATION.md#order-capture: PendingNotification, UnderReview).

use std::sync::Arc;
use std::time::Duration;

use dropin_order::OpKind;
use dropin_ports::{IssuerChecks, ProcessorReply, Waiting};
use dropin_usecases::payments::CaptureError;

use super::script::{Gate, approved, declined, unclear};
use super::world::{World, body, usd};

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
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
    let (id, told) = world.checkout("PAYLATER", false).await;
    assert_eq!((told.status, world.state(id).await), (200, "COMMIT_ACCEPTED"));
    assert!(body(&world.capture(id, Some("4.00")).await.unwrap()).contains("UnderReview"));
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::from_secs(2)).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.amounts.captured()), ("PROCESSED", &usd(400)));
    assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]);
}

#[tokio::test]
async fn a_pay_later_order_is_captured_after_the_review_only_when_that_was_wanted() {
    for (auto_capture, state, told) in [
        (false, "PAYMENT_AUTHORIZED", &["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED"][..]),
        (true, "PROCESSED", &["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]),
    ] {
        let world = World::new().await;
        world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
        let (id, _) = world.checkout("PAYLATER", auto_capture).await;
        let created = world.order(id).await.created_at;
        world.script.know(approved(&usd(1_000)));
        world.settle_after(Duration::from_secs(2)).await;
        let order = world.order(id).await;
        assert_eq!(order.state.as_str(), state, "AutoCapture {auto_capture}");
        assert_eq!(world.script.asked(OpKind::Capture).len(), usize::from(auto_capture));
        assert_eq!(world.events().await, told, "AutoCapture {auto_capture}");
        if !auto_capture {
            assert_eq!(order.expires_at, Some(created.plus(Duration::from_secs(7 * 24 * 3_600))));
            assert_eq!(world.capture(id, None).await.unwrap().status, 200);
            assert_eq!(world.state(id).await, "PROCESSED");
        }
    }
}

#[tokio::test]
async fn a_method_that_takes_the_money_at_once_tells_of_both_events_and_of_a_transfer_one() {
    let taken = ProcessorReply::Approved {
        amount: Some(usd(1_000)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    let world = World::new().await;
    world.script.say(OpKind::Authorize, taken.clone());
    let (id, told) = world.checkout("PAYPAL", true).await;
    assert!(body(&told).contains("\"Captured\":true"), "{}", body(&told));
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.amounts.captured()), ("PROCESSED", &usd(1_000)));
    assert!(world.script.asked(OpKind::Capture).is_empty(), "the money is there already");
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_PROCESSED"]);

    let world = World::new().await;
    let transfer = Waiting::Transfer { to: Box::default(), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(transfer));
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    world.script.know(taken);
    world.settle_after(Duration::from_secs(2)).await;
    assert_eq!(world.state(id).await, "PROCESSED");
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_PROCESSED"]);
}

/// Two numbers that are one on a transfer: the second open one gets a part of its Order's id, and a number is free again when nothing is awaited.
#[tokio::test]
async fn a_transfer_carries_the_merchants_number_which_is_unique_among_the_open_ones() {
    let world = World::new().await;
    let awaited = || ProcessorReply::Pending(Waiting::Transfer { to: Box::default(), until: None });
    let mut written = Vec::new();
    for reference in ["order_7", "order-7", "order#7"] {
        world.script.say(OpKind::Authorize, awaited());
        let (id, told) = world.checkout_named(reference, "BANKTRANSFER", true, None).await;
        let order = world.order(id).await;
        let page = format!("http://localhost:8083/v1/transfer/{id}");
        assert!(body(&told).contains(&format!(r#""Action":{{"Redirect":"{page}"}}"#)), "{}", body(&told));
        assert!(!body(&told).contains("BankDetails"), "{}", body(&told));
        assert_eq!(order.transfer_page.as_deref(), Some(page.as_str()));
        written.push((id, order.transfer_reference.clone().unwrap()));
    }
    let tail = |id: dropin_kernel::OrderId| format!("order-7-{}", &id.to_string()[28..].to_uppercase());
    assert_eq!(written[0].1, "order-7");
    assert_eq!((&written[1].1, &written[2].1), (&tail(written[1].0), &tail(written[2].0)));
    let asked = world.script.payment_references();
    assert_eq!(asked, written.iter().map(|(_, text)| Some(text.clone())).collect::<Vec<_>>(), "the processor is told");
    drop(
        world.payments.cancel(&world.caller.act(None), written[0].0, dropin_order::Channel::Order, None).await.unwrap(),
    );
    world.script.say(OpKind::Authorize, awaited());
    let (id, _) = world.checkout_named("order&7", "BANKTRANSFER", true, None).await;
    assert_eq!(world.order(id).await.transfer_reference.as_deref(), Some("order-7"), "free again");
}

#[tokio::test]
async fn a_capture_of_another_amount_than_the_one_in_flight_is_refused() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
    let (id, _) = world.checkout("PAYLATER", false).await;
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::from_secs(2)).await;
    world.script.say(OpKind::Capture, unclear());
    assert!(body(&world.capture(id, Some("4.00")).await.unwrap()).contains("PendingNotification"));
    let other = world.capture(id, Some("5.00")).await;
    assert!(matches!(other, Err(CaptureError::WrongState(_))), "{other:?}");
    for same in [None, Some("4.00")] {
        assert!(body(&world.capture(id, same).await.unwrap()).contains("PendingNotification"), "{same:?}");
    }
    world.script.know(approved(&usd(400)));
    world.settle_after(Duration::from_secs(2)).await;
    assert_eq!(world.order(id).await.amounts.captured(), &usd(400));
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
