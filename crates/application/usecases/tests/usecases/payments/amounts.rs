//! Another amount than was asked for is never accepted silently.

use std::time::Duration;

use dropin_order::{OpKind, RefundState};
use dropin_ports::{Acting, IssuerChecks, ProcessorReply};
use dropin_usecases::payments::{CancelError, CaptureError, ReviewError};

use super::script::{approved, declined};
use super::world::{World, body, usd};

#[tokio::test]
async fn an_authorization_of_less_is_held_and_captured_as_it_is_once_approved() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, approved(&usd(900)));
    let (id, _) = world.checkout("PAYPAL", true).await;
    let held = world.order(id).await;
    assert_eq!((held.state.as_str(), held.under_review), ("PAYMENT_AUTHORIZED", true));
    assert!(body(&world.capture(id, None).await.unwrap()).contains("UnderReview"));
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state.as_str(), outcome.order.amounts.captured()), ("PROCESSED", &usd(900)));
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"]);
    let life = world.store_history(id).await;
    assert!(life.contains(&"AUTHORIZED_OTHERWISE by SYSTEM".to_owned()), "{life:?}");
    assert!(life.contains(&"REVIEW_APPROVED by OPERATOR ana".to_owned()), "{life:?}");
}

#[tokio::test]
async fn an_authorization_of_more_is_held_and_voided_once_declined() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, approved(&usd(1_100)));
    let (id, _) = world.checkout("PAYPAL", false).await;
    assert_eq!(world.order(id).await.amounts.total_authorized(), &usd(1_000), "never more than the total is ours");
    let outcome = world.payments.review(id, false, "ana", &Acting::system()).await.unwrap();
    assert_eq!(outcome.order.state.as_str(), "DECLINED");
    assert_eq!(world.script.asked(OpKind::Void).len(), 1);
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_DECLINED"]);
}

#[tokio::test]
async fn a_capture_of_less_is_held_until_somebody_accepts_it() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Capture, approved(&usd(900)));
    assert!(body(&world.capture(id, None).await.unwrap()).contains("PendingNotification"));
    let held = world.order(id).await;
    assert_eq!((held.state.as_str(), held.under_review), ("PAYMENT_AUTHORIZED", true));
    // Looking again changes nothing and tells nobody.
    world.script.know(approved(&usd(900)));
    assert_eq!(world.settle_after(Duration::from_secs(61)).await, 1);
    assert_eq!(world.order(id).await.revision, held.revision);
    let declined = world.payments.review(id, false, "ana", &Acting::system()).await;
    assert_eq!(declined, Err(ReviewError::MoneyMoved));
    world.script.know(approved(&usd(900)));
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state.as_str(), outcome.order.amounts.captured()), ("PROCESSED", &usd(900)));
    assert_eq!(world.events().await, ["ORDER_AUTHORIZED", "ORDER_PROCESSED"]);
}

#[tokio::test]
async fn a_capture_of_more_or_in_another_currency_is_never_accepted() {
    let world = World::new().await;
    let id = world.authorized().await;
    let foreign = dropin_money::Amount::from_minor(dropin_money::Currency::Eur, 1_000).unwrap();
    for wrong in [usd(1_001), foreign] {
        world.script.say(OpKind::Capture, approved(&wrong));
        drop(world.capture(id, None).await.unwrap());
        world.script.know(approved(&wrong));
        let refused = world.payments.review(id, true, "ana", &Acting::system()).await;
        assert!(matches!(refused, Err(ReviewError::NotAcceptable(_))), "{refused:?}");
        assert_eq!(world.state(id).await, "PAYMENT_AUTHORIZED");
    }
}

#[tokio::test]
async fn a_payment_of_less_is_held_until_somebody_accepts_it() {
    let world = World::new().await;
    let paid = |minor| ProcessorReply::Approved {
        amount: Some(usd(minor)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    world.script.say(OpKind::Authorize, paid(900));
    let (id, answer) = world.checkout("PAYPAL", false).await;
    assert_eq!((answer.status, world.state(id).await), (200, "PROCESSING"));
    assert!(world.order(id).await.under_review);
    world.script.know(paid(900));
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state.as_str(), outcome.order.amounts.captured()), ("PROCESSED", &usd(900)));
}

#[tokio::test]
async fn what_an_operator_does_is_about_the_order_that_was_seen() {
    let world = World::new().await;
    let id = world.captured().await;
    let seen = world.order(id).await.revision;
    world.script.say(OpKind::Refund, approved(&usd(300)));
    drop(world.refund(id, "r1", Some("4.00")).await.unwrap());
    world.script.know(approved(&usd(300)));
    for approve in [true, false] {
        let unseen = world.payments.review_as_seen(seen, id, approve, "ana", &Acting::system()).await;
        assert_eq!(unseen, Err(ReviewError::Changed));
    }
    let act = world.caller.act(None);
    let captured = world.payments.capture_as_seen(seen, &act, id, None).await.map(drop);
    assert_eq!(captured, Err(CaptureError::Changed), "though there is nothing to capture either");
    assert_eq!(world.payments.cancel_as_seen(seen, &act, id).await.map(drop), Err(CancelError::Changed));
    assert_eq!(world.order(id).await.amounts.refunded(), &usd(0), "nothing was accepted");
    let seen = world.order(id).await.revision;
    assert_eq!(world.payments.capture_as_seen(seen, &act, id, None).await.map(drop), Ok(()), "captured already");
    assert!(matches!(world.payments.cancel_as_seen(seen, &act, id).await, Err(CancelError::WrongState(_))));
    drop(world.payments.review_as_seen(seen, id, true, "ana", &Acting::system()).await.unwrap());
    assert_eq!(world.order(id).await.amounts.refunded(), &usd(300));
}

#[tokio::test]
async fn an_approval_without_an_amount_is_no_approval() {
    let world = World::new().await;
    let nothing = ProcessorReply::Approved {
        amount: None,
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    world.script.say(OpKind::Authorize, nothing);
    let (id, _) = world.checkout("PAYPAL", false).await;
    assert_eq!(world.state(id).await, "PROCESSING");
    world.script.know(approved(&usd(1_000)));
    world.settle_after(Duration::from_secs(1)).await;
    assert_eq!(world.state(id).await, "PAYMENT_AUTHORIZED");
}

#[tokio::test]
async fn a_refund_of_less_is_held_until_somebody_accepts_it() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, approved(&usd(300)));
    assert!(body(&world.refund(id, "r1", Some("4.00")).await.unwrap()).contains("IN_PROGRESS"));
    assert!(world.order(id).await.under_review);
    world.script.know(approved(&usd(300)));
    drop(world.payments.review(id, true, "ana", &Acting::system()).await.unwrap());
    let order = world.order(id).await;
    assert_eq!((order.amounts.refunded(), order.amounts.refund_pending()), (&usd(300), &usd(0)));
    assert_eq!(world.refunds(id).await[0].amount, usd(300));
}

#[tokio::test]
async fn a_hold_ends_when_the_processor_takes_back_what_it_did_otherwise() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, approved(&usd(300)));
    drop(world.refund(id, "r1", Some("4.00")).await.unwrap());
    assert!(world.order(id).await.under_review);
    world.script.know(declined(false));
    assert_eq!(world.settle_after(Duration::from_secs(61)).await, 1);
    let order = world.order(id).await;
    assert_eq!(world.refunds(id).await[0].state, RefundState::Failed);
    assert_eq!((order.under_review, order.amounts.refundable()), (false, usd(1_000)), "nothing is left to be reviewed");
}

#[tokio::test]
async fn a_refund_as_asked_ends_no_hold_of_another() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, approved(&usd(300)));
    drop(world.refund(id, "r1", Some("4.00")).await.unwrap());
    for (name, said) in [("r2", approved(&usd(100))), ("r3", declined(false))] {
        world.script.say(OpKind::Refund, said);
        drop(world.refund(id, name, Some("1.00")).await.unwrap());
        assert!(world.order(id).await.under_review, "r1 is not decided after {name}");
    }
    world.script.know(approved(&usd(300)));
    drop(world.payments.review(id, true, "ana", &Acting::system()).await.unwrap());
    let order = world.order(id).await;
    assert_eq!((order.under_review, order.amounts.refunded()), (false, &usd(400)));
}
