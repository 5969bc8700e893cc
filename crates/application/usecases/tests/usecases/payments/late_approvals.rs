//! Approvals of attempts that had failed here: voided, or their money given back (docs/SPECIFICATION.md#late-approval).

use std::time::Duration;

use dropin_kernel::{OrderId, SessionId};
use dropin_order::{OpKind, Stuck};
use dropin_ports::{Acting, IssuerChecks, ProcessorReply, Waiting};

use super::attempts::{TOTAL, attempt, ledger_agrees, nothing_is_open, orders, page_for_half_an_hour, paid, progress};
use super::script::{approved, declined, unclear};
use super::world::{World, usd};

#[tokio::test]
async fn an_approval_waits_for_the_void_that_is_under_way() {
    let review = ProcessorReply::Pending(Waiting::Review);
    for (voided, approval, expected) in [
        (true, approved(&usd(TOTAL)), "CREATED PAGE_EXPIRED 4"),
        (true, review.clone(), "CREATED PAGE_EXPIRED 4"),
        (false, approved(&usd(TOTAL)), "COMPLETED"),
        (false, paid(TOTAL), "COMPLETED"),
        (false, review.clone(), "COMPLETED"),
    ] {
        let world = World::new().await;
        world.script.say(OpKind::Authorize, page_for_half_an_hour(&world));
        let (id, _) = world.submitted("PAYPAL").await;
        world.advance(Duration::from_secs(3_600));
        world.script.say(OpKind::Void, unclear());
        assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
        // The shopper has paid on the page, or the lender looks at it, and nobody knows whether that is being voided.
        let order = orders(&world, id).await[0].0;
        world.script.know(approval.clone());
        world.shopper.return_shopper(order, Duration::ZERO).await.unwrap();
        assert_eq!(progress(&world, id).await, "REDIRECTED", "a payment that may be voided is none");
        // The void is due first.
        let void = ProcessorReply::Approved {
            amount: None,
            captured: false,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default(),
        };
        world.script.know(if voided { void } else { declined(false) });
        world.script.know(approval.clone());
        assert_eq!(world.settle_after(Duration::from_secs(15 * 60)).await, 2);
        assert_eq!(progress(&world, id).await, expected);
        assert_eq!(nothing_is_open(&world).await, approval != review, "a review is watched to its end");
        ledger_agrees(&world).await;
    }
}

/// A Session whose first attempt failed by the end of its page, and the Order of that; its authorization is still open.
async fn failed_with_an_open_authorization(world: &World) -> (SessionId, OrderId) {
    world.script.say(OpKind::Authorize, page_for_half_an_hour(world));
    let (id, _) = world.submitted("PAYPAL").await;
    world.advance(Duration::from_secs(3_600));
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    assert_eq!(progress(world, id).await, "CREATED PAGE_EXPIRED 4");
    (id, orders(world, id).await[0].0)
}

#[tokio::test]
async fn money_taken_for_a_failed_attempt_is_given_back_in_full() {
    let world = World::new().await;
    let (id, order) = failed_with_an_open_authorization(&world).await;
    world.submit(id, attempt(), "PAYPAL").await.unwrap();
    world.script.know(paid(TOTAL));
    world.settle_after(Duration::from_secs(60)).await;
    let late = world.order(order).await;
    assert_eq!(
        (late.state.as_str(), late.amounts.captured(), late.amounts.refunded()),
        ("PROCESSING_FAILED", &usd(TOTAL), &usd(TOTAL))
    );
    assert_eq!(world.script.asked(OpKind::Refund).len(), 1);
    assert!(nothing_is_open(&world).await);
    assert_eq!(progress(&world, id).await, "COMPLETED", "by the second attempt");
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"], "no event of the late money");
    ledger_agrees(&world).await;
}

#[tokio::test]
async fn a_refund_of_late_money_is_asked_for_until_it_is_done() {
    let world = World::new().await;
    let (id, order) = failed_with_an_open_authorization(&world).await;
    world.script.know(paid(TOTAL));
    world.script.say(OpKind::Refund, unclear());
    world.settle_after(Duration::from_secs(60)).await;
    ledger_agrees(&world).await;
    // Absent at the processor: the same is sent again, and then refused for good; that is asked again as well.
    world.script.say(OpKind::Refund, declined(false));
    world.settle_after(Duration::from_secs(60)).await;
    assert_eq!(world.order(order).await.amounts.refund_pending(), &usd(TOTAL));
    world.settle_after(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(world.order(order).await.amounts.refunded(), &usd(TOTAL));
    assert_eq!(world.script.asked(OpKind::Refund).len(), 3);
    assert_eq!(progress(&world, id).await, "CREATED PAGE_EXPIRED 4", "late money completes nothing");
    assert_eq!(world.events().await, [""; 0]);
    ledger_agrees(&world).await;
}

#[tokio::test]
async fn a_refund_of_late_money_by_another_amount_waits_for_the_operator() {
    let world = World::new().await;
    let (_, order) = failed_with_an_open_authorization(&world).await;
    let given = || approved(&usd(TOTAL - 1_000));
    world.script.know(paid(TOTAL));
    world.script.say(OpKind::Refund, given());
    world.settle_after(Duration::from_secs(60)).await;
    world.script.know(given());
    world.settle_after(Duration::from_secs(3_600)).await;
    let late = world.order(order).await;
    assert_eq!((late.under_review, late.amounts.refund_pending()), (false, &usd(TOTAL)), "it stays as it ended");
    let [open] = &world.payments.store.list_open_operations(10).await.unwrap()[..] else { panic!("out of sight") };
    assert_eq!((open.kind, open.stuck(world.now())), (OpKind::Refund, Some(Stuck::Unknown)));
    world.script.know(given());
    drop(world.payments.review(order, true, "ana", &Acting::system()).await.unwrap());
    let late = world.order(order).await;
    assert_eq!((late.amounts.refunded(), late.amounts.refund_pending()), (&usd(TOTAL - 1_000), &usd(0)));
    assert!(nothing_is_open(&world).await);
    assert_eq!(world.events().await, [""; 0]);
}

#[tokio::test]
async fn an_approval_of_a_failed_attempt_is_voided_and_booked() {
    let world = World::new().await;
    let (id, order) = failed_with_an_open_authorization(&world).await;
    world.script.know(approved(&usd(TOTAL)));
    world.script.say(OpKind::Void, unclear());
    world.settle_after(Duration::from_secs(60)).await;
    assert_eq!(world.order(order).await.amounts.total_authorized(), &usd(TOTAL));
    ledger_agrees(&world).await;
    world.settle_after(Duration::from_secs(60)).await;
    assert_eq!(world.order(order).await.amounts.total_authorized(), &usd(0));
    assert!(nothing_is_open(&world).await);
    assert_eq!(progress(&world, id).await, "CREATED PAGE_EXPIRED 4");
    assert_eq!(world.events().await, [""; 0]);
    ledger_agrees(&world).await;
}
