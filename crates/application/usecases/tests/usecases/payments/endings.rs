//! Orders that end before they are captured: cancelled, lapsed, too late.

use std::time::Duration;

use dropin_order::{BankDetails, Channel, DeclineReason, OpKind};
use dropin_ports::{IssuerChecks, ProcessorReply, ResponseStore, StatusReply, StoredResponse, Waiting};
use dropin_usecases::payments::{CancelError, CaptureError};

use super::script::{approved, declined, unclear};
use super::world::{World, answer, body, usd};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn cancel(world: &World, id: dropin_kernel::OrderId) -> Result<StoredResponse, CancelError> {
    world.payments.cancel(&world.caller.act(None), id, Channel::Order, None).await.map(answer)
}

fn transfer() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Transfer { to: Box::new(BankDetails::default()), until: None })
}

#[tokio::test]
async fn a_cancelled_authorization_is_voided_once() {
    let world = World::new().await;
    let id = world.authorized().await;
    assert_eq!(cancel(&world, id).await.unwrap().status, 200);
    assert_eq!(cancel(&world, id).await.unwrap().status, 200);
    assert_eq!((world.state(id).await, world.script.asked(OpKind::Void).len()), ("CANCELLED", 1));
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_CANCELLED"]);
    assert!(matches!(world.capture(id, None).await, Err(CaptureError::WrongState(_))));
}

#[tokio::test]
async fn a_void_of_unknown_outcome_is_pending_until_it_is_known_and_nothing_else_begins() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Void, unclear());
    let told = cancel(&world, id).await.unwrap();
    assert!(body(&told).contains("PendingNotification"), "{}", body(&told));
    assert!(matches!(world.capture(id, None).await, Err(CaptureError::WrongState(_))));
    world.settle_after(Duration::from_secs(1)).await;
    assert_eq!(world.state(id).await, "CANCELLED");
    let keys = world.script.asked(OpKind::Void);
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
}

#[tokio::test]
async fn a_void_that_the_processor_refuses_changes_nothing() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Void, declined(false));
    assert_eq!(cancel(&world, id).await.unwrap().status, 409);
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.voiding), ("PAYMENT_AUTHORIZED", None));
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED"]);
    drop(world.capture(id, None).await.unwrap());
    assert_eq!(world.state(id).await, "PROCESSED");
}

#[tokio::test]
async fn the_end_of_the_capture_window_voids() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.advance(7 * DAY - Duration::from_secs(1));
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 0);
    world.advance(Duration::from_secs(1));
    assert!(matches!(world.capture(id, None).await, Err(CaptureError::WrongState(_))), "before anybody swept");
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    assert_eq!(world.state(id).await, "CANCELLED");
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 0);
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_CANCELLED"]);
}

#[tokio::test]
async fn the_pay_later_window_begins_with_the_order() {
    let world = World::new().await;
    let page = Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(page));
    let (id, _) = world.checkout("PAYLATER", false).await;
    let created = world.order(id).await.created_at;
    world.script.know(approved(&usd(1_000)));
    world.settle_after(DAY).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.expires_at), ("PAYMENT_AUTHORIZED", Some(created.plus(7 * DAY))));
}

#[tokio::test]
async fn a_lapsed_order_whose_capture_is_in_flight_is_left_alone() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Capture, unclear());
    drop(world.capture(id, None).await.unwrap());
    world.advance(8 * DAY);
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 0);
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::ZERO).await;
    assert_eq!(world.state(id).await, "PROCESSED");
}

#[tokio::test]
async fn a_transfer_that_never_arrives_is_cancelled() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, transfer());
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    assert_eq!(world.state(id).await, "PROCESSING");
    world.advance(15 * DAY);
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    assert_eq!(world.state(id).await, "CANCELLED");
    // Its authorization is closed when it is looked at, without another word.
    world.script.know(ProcessorReply::Declined { reason: DeclineReason::Voided, retryable: false, credential: None });
    assert_eq!(world.settle_after(Duration::ZERO).await, 1);
    assert!(world.payments.store.list_open_operations(10).await.unwrap().is_empty());
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_CANCELLED"]);
}

#[tokio::test]
async fn a_transfer_that_arrives_while_it_is_being_cancelled_is_paid() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, transfer());
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    world.script.say(OpKind::Void, unclear());
    drop(cancel(&world, id).await.unwrap());
    let arrived = ProcessorReply::Approved {
        amount: Some(usd(1_000)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    // Due first is the authorization, then the void: one is answered, the other refused.
    for known in [arrived.clone(), declined(false), arrived] {
        world.script.know(known);
    }
    world.settle_after(Duration::from_secs(60)).await;
    world.settle_after(Duration::from_secs(60)).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.voiding), ("PROCESSED", None));
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_PROCESSED"]);
}

/// The void that was lost on the way is not sent again, and one that was refused for now is not repeated: both would come after the payment.
#[tokio::test]
async fn nothing_is_voided_after_the_shopper_has_paid() {
    let page = Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None };
    let paid = ProcessorReply::Approved {
        amount: Some(usd(1_000)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    for of_the_void in [StatusReply::Absent, StatusReply::Known(declined(true))] {
        let world = World::new().await;
        world.script.say(OpKind::Authorize, ProcessorReply::Pending(page.clone()));
        let (id, _) = world.checkout("PAYPAL", true).await;
        world.script.say(OpKind::Void, unclear());
        drop(cancel(&world, id).await.unwrap());
        world.script.know(paid.clone());
        world.script.know_status(of_the_void);
        world.settle_after(Duration::from_secs(60)).await;
        world.settle_after(Duration::from_secs(3_600)).await;
        let order = world.order(id).await;
        assert_eq!((order.state.as_str(), order.voiding), ("PROCESSED", None));
        assert_eq!(world.script.asked(OpKind::Void).len(), 1, "the merchant's own");
        assert!(world.payments.store.list_open_operations(10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn an_authorization_that_arrives_after_the_end_is_voided_at_once() {
    let world = World::new().await;
    let page = Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(page));
    let (id, _) = world.checkout("PAYPAL", true).await;
    assert_eq!(cancel(&world, id).await.unwrap().status, 200);
    assert_eq!(world.state(id).await, "CANCELLED");
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::from_secs(1)).await;
    assert_eq!((world.state(id).await, world.script.asked(OpKind::Void).len()), ("CANCELLED", 2));
    assert!(world.script.asked(OpKind::Capture).is_empty());
    assert!(world.payments.store.list_open_operations(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_checkout_with_capture_is_answered_with_what_became_of_both() {
    let world = World::new().await;
    let (_, told) = world.checkout("PAYPAL", true).await;
    let text = body(&told);
    assert!(text.contains("\"Authorized\":true") && text.contains("\"Captured\":true"), "{text}");
    world.script.say(OpKind::Capture, unclear());
    let text = body(&world.checkout("PAYPAL", true).await.1);
    assert!(text.contains("\"Authorized\":true") && text.contains("\"Captured\":false"), "{text}");
    world.script.say(OpKind::Authorize, declined(false));
    assert_eq!(world.checkout("PAYPAL", true).await.1.status, 402);
}

#[tokio::test]
async fn a_repeat_of_a_checkout_gets_what_became_of_authorization_and_capture() {
    let world = World::new().await;
    let key_use = world.key_use();
    let (_, told) = world.checkout_with("PAYPAL", true, Some(key_use)).await;
    let kept = world.store.find_response(key_use.key, key_use.at).await.unwrap().expect("the key was used");
    assert_eq!(kept.answer, Some(told.clone()));
    assert!(body(&told).contains("\"Captured\":true"), "{}", body(&told));
}

#[tokio::test]
async fn a_pay_later_review_can_be_cancelled_and_can_fail() {
    for (cancelled, state, event) in
        [(true, "CANCELLED", "ORDER_CANCELLED"), (false, "PROCESSING_FAILED", "ORDER_PROCESSING_FAILED")]
    {
        let world = World::new().await;
        world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
        let (id, _) = world.checkout("PAYLATER", true).await;
        if cancelled {
            drop(cancel(&world, id).await.unwrap());
        } else {
            world.script.know(declined(false));
            world.settle_after(Duration::from_secs(1)).await;
        }
        assert_eq!(world.state(id).await, state);
        assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", event]);
    }
}
