use dropin_order::{DeclineReason, OpKind};
use dropin_ports::ProcessorReply;

use crate::asking::{
    CHALLENGED, PLAIN, approved, authorize, authorized, captured, card, declined, eur, is_approved, known, on_page,
    register, request,
};
use crate::harness::{Choice, ProcessorHarness};

pub async fn a_void_releases_what_was_reserved(harness: &dyn ProcessorHarness) {
    let asked = authorized(harness, 10_00).await;
    let void = asked.void();
    let reply = harness.processor().void(void.clone()).await;
    assert!(is_approved(&reply), "{reply:?}");
    let status = harness.processor().status(asked.query_of(void.key, OpKind::Void)).await;
    assert!(is_approved(&known(status.clone())), "{status:?}");
    let capture = harness.processor().capture(asked.capture(10_00)).await;
    assert_eq!(declined(&capture), Some(DeclineReason::Voided), "{capture:?}");
}

pub async fn a_void_ends_a_page_that_waits(harness: &dyn ProcessorHarness) {
    let (asked, page) = on_page(harness, request(card(CHALLENGED), eur(5_00))).await;
    let reply = harness.processor().void(asked.void()).await;
    assert!(is_approved(&reply), "{reply:?}");
    harness.press(&page, Choice::Pay).await;
    let reply = known(harness.processor().status(asked.query()).await);
    assert_eq!(declined(&reply), Some(DeclineReason::Voided), "nobody can pay it any more: {reply:?}");
}

pub async fn several_refunds_are_made_of_one_capture(harness: &dyn ProcessorHarness) {
    let asked = captured(harness, 10_00).await;
    let mut refunds = Vec::new();
    for minor in [3_00, 3_00, 4_00] {
        let refund = asked.refund(minor);
        let reply = harness.processor().refund(refund.clone()).await;
        assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(minor)), "{reply:?}");
        refunds.push((refund.key, reply));
    }
    for (key, reply) in refunds {
        assert_eq!(known(harness.processor().status(asked.query_of(key, OpKind::Refund)).await), reply);
    }
    let beyond = harness.processor().refund(asked.refund(1)).await;
    assert!(matches!(beyond, ProcessorReply::Declined { retryable: false, .. }), "{beyond:?}");
}

pub async fn a_key_has_one_effect(harness: &dyn ProcessorHarness) {
    let mut first = request(card(PLAIN), eur(10_00));
    let asked = register(harness, &mut first).await;
    // The same once more: nothing of an authorization can be cloned.
    let mut again = request(card(PLAIN), eur(10_00));
    (again.key, again.merchant_id, again.order_id) = (first.key, first.merchant_id, first.order_id);
    again.reference.clone_from(&first.reference);
    let reply = harness.processor().authorize(first).await;
    assert!(is_approved(&reply), "{reply:?}");
    assert_eq!(harness.processor().authorize(again).await, reply);
    let capture = asked.capture(10_00);
    for _ in 0..2 {
        let reply = harness.processor().capture(capture.clone()).await;
        assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(10_00)), "{reply:?}");
    }
    let refund = asked.refund(6_00);
    for _ in 0..2 {
        let reply = harness.processor().refund(refund.clone()).await;
        assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(6_00)), "{reply:?}");
    }
    let rest = harness.processor().refund(asked.refund(4_00)).await;
    assert!(is_approved(&rest), "one of 6.00 was made: {rest:?}");
    let (_other, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert!(is_approved(&reply), "{reply:?}");
}
