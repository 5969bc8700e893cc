//! Two things at once about one Order: whatever comes second leaves nothing stuck, nothing open for ever, and no money without an Order.

use std::time::Duration;

use dropin_kernel::OrderId;
use dropin_order::{BankDetails, Channel, DeclineReason, OpKind};
use dropin_ports::{Acting, IssuerChecks, ProcessorReply, Waiting};
use dropin_usecases::payments::{CancelError, CaptureError};

use super::script::{approved, declined, unclear};
use super::world::{World, answer, usd};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

fn paid(minor: i64) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(usd(minor)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

async fn nothing_is_open(world: &World) -> bool {
    world.payments.store.list_open_operations(10).await.unwrap().is_empty()
}

/// A pay-later review that the merchant cancels while nobody hears the processor's answer.
async fn cancelled_in_the_dark(world: &World) -> OrderId {
    cancelled_after(world, Duration::ZERO).await
}

async fn cancelled_after(world: &World, age: Duration) -> OrderId {
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
    let (id, _) = world.checkout("PAYLATER", false).await;
    world.advance(age);
    world.script.say(OpKind::Void, unclear());
    drop(world.payments.cancel(&world.caller.act(None), id, Channel::Order, None).await.map(answer).unwrap());
    assert!(world.order(id).await.voiding.is_some());
    id
}

#[tokio::test]
async fn a_void_of_what_was_refused_meanwhile_is_over() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.checkout("PAYPAL", true).await;
    world.advance(2 * DAY);
    world.script.say(OpKind::Void, unclear());
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    // The page's time is over at the processor, too: the authorization is due first, then the void finds nothing to void.
    world.script.know(ProcessorReply::Declined { reason: DeclineReason::Expired, retryable: false, credential: None });
    world.script.know(declined(false));
    assert_eq!(world.settle_after(Duration::from_secs(60)).await, 2);
    assert_eq!(world.state(id).await, "CANCELLED");
    assert!(nothing_is_open(&world).await, "nobody has to look after it any more");
    assert_eq!(world.events().await, ["ORDER_CANCELLED"]);
}

#[tokio::test]
async fn a_review_that_is_approved_while_it_is_being_cancelled_goes_on_when_it_cannot_be_voided() {
    let world = World::new().await;
    let id = cancelled_in_the_dark(&world).await;
    world.script.know(approved(&usd(1_000)));
    world.script.know(declined(false));
    world.settle_after(Duration::from_secs(60)).await;
    // It is authorized now, so the refused void is tried again until somebody has looked.
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.amounts.captured()), ("PAYMENT_AUTHORIZED", &usd(0)));
    assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED"]);
}

#[tokio::test]
async fn a_review_that_is_paid_while_it_is_being_cancelled_is_paid() {
    let world = World::new().await;
    let id = cancelled_in_the_dark(&world).await;
    world.script.know(paid(1_000));
    world.script.know(declined(false));
    world.settle_after(Duration::from_secs(60)).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.voiding, order.expires_at), ("PROCESSED", None, None));
    assert_eq!(order.amounts.captured(), &usd(1_000));
    assert!(nothing_is_open(&world).await);
    assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]);
}

/// The void may still reach the processor: until its call cannot be on its way any more, it is neither over nor sent again.
#[tokio::test]
async fn a_void_that_the_processor_has_not_seen_yet_is_not_given_up_at_once() {
    let world = World::new().await;
    let id = cancelled_after(&world, Duration::from_secs(60)).await;
    world.script.know(paid(1_000));
    assert_eq!(world.settle_after(Duration::from_millis(100)).await, 1, "the authorization");
    assert_eq!(world.state(id).await, "PROCESSED");
    assert_eq!(world.settle_after(Duration::from_secs(10)).await, 1, "the void");
    assert!(!nothing_is_open(&world).await, "the void");
    world.settle_after(Duration::from_secs(60)).await;
    assert!(nothing_is_open(&world).await);
    assert_eq!((world.state(id).await, world.script.asked(OpKind::Void).len()), ("PROCESSED", 1));
}

#[tokio::test]
async fn a_review_that_the_provider_lets_lapse_has_failed() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(Waiting::Review));
    let (id, _) = world.checkout("PAYLATER", true).await;
    drop(world.capture(id, Some("4.00")).await.unwrap());
    world.script.know(ProcessorReply::Declined { reason: DeclineReason::Expired, retryable: false, credential: None });
    world.settle_after(Duration::from_secs(2)).await;
    let order = world.order(id).await;
    assert_eq!((order.state.as_str(), order.capture_promised), ("PROCESSING_FAILED", None));
    assert_eq!(world.events().await, ["ORDER_COMMIT_ACCEPTED", "ORDER_PROCESSING_FAILED"]);
}

#[tokio::test]
async fn a_transfer_of_less_is_neither_cancelled_nor_lapses_before_somebody_decides() {
    let world = World::new().await;
    let transfer = Waiting::Transfer { to: Box::new(BankDetails::default()), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(transfer));
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    world.script.know(paid(900));
    world.settle_after(Duration::from_secs(60)).await;
    assert!(world.order(id).await.under_review);
    let cancelled = world.payments.cancel(&world.caller.act(None), id, Channel::Order, None).await.map(answer);
    assert!(matches!(cancelled, Err(CancelError::WrongState(_))), "{cancelled:?}");
    world.advance(15 * DAY);
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 0);
    assert!(world.script.asked(OpKind::Void).is_empty());
    world.script.know(paid(900));
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state.as_str(), outcome.order.amounts.captured()), ("PROCESSED", &usd(900)));
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_PROCESSED"]);
}

#[tokio::test]
async fn what_waits_for_days_is_looked_at_every_quarter_of_an_hour() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    drop(world.checkout("PAYPAL", false).await);
    for (age, pause) in [(Duration::from_secs(80), Duration::from_secs(10)), (DAY, Duration::from_secs(15 * 60))] {
        world.script.know(page());
        assert_eq!(world.settle_after(age).await, 1);
        world.script.know(page());
        assert_eq!(world.settle_after(pause - Duration::from_millis(1)).await, 0, "after {age:?}");
        assert_eq!(world.settle_after(pause / 8).await, 1, "after {age:?}");
    }
}

#[tokio::test]
async fn a_part_is_captured_only_where_the_method_allows_it() {
    let world = World::new().await;
    let id = world.authorized().await;
    for part in ["4.00", "10.01", "0"] {
        let refused = world.capture(id, Some(part)).await;
        assert!(matches!(refused, Err(CaptureError::Amount(_))), "{part}: {refused:?}");
    }
    assert!(world.script.asked(OpKind::Capture).is_empty());
    assert_eq!(world.capture(id, Some("10.00")).await.unwrap().status, 200);
    assert_eq!(world.state(id).await, "PROCESSED");
}
