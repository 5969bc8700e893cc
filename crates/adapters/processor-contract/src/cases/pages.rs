use dropin_order::DeclineReason;
use dropin_ports::{AuthorizeRequest, PaymentMethodData, ProcessorReply, StatusReply, Waiting};

use crate::asking::{CHALLENGED, approved, card, declined, eur, is_approved, known, on_page, request};
use crate::harness::{Choice, ProcessorHarness};

fn on_a_page(harness: &dyn ProcessorHarness) -> AuthorizeRequest {
    request(PaymentMethodData::Method(harness.page_method().to_owned()), eur(5_00))
}

pub async fn a_hosted_page_is_paid(harness: &dyn ProcessorHarness) {
    let (asked, page) = on_page(harness, on_a_page(harness)).await;
    let waits = known(harness.processor().status(asked.query()).await);
    assert!(
        matches!(&waits, ProcessorReply::Pending(Waiting::Shopper { page: known, .. }) if *known == page),
        "{waits:?}"
    );
    harness.press(&page, Choice::Pay).await;
    let reply = asked.outcome(harness).await;
    let (amount, is_captured) = approved(&reply).unwrap_or_else(|| panic!("{reply:?}"));
    assert_eq!(amount, eur(5_00));
    if !is_captured {
        let capture = harness.processor().capture(asked.capture(5_00)).await;
        assert!(is_approved(&capture), "{capture:?}");
    }
    let refund = harness.processor().refund(asked.refund(5_00)).await;
    assert!(is_approved(&refund), "{refund:?}");
}

pub async fn a_hosted_page_is_cancelled(harness: &dyn ProcessorHarness) {
    let (asked, page) = on_page(harness, on_a_page(harness)).await;
    harness.press(&page, Choice::Cancel).await;
    let reply = asked.outcome(harness).await;
    assert_eq!(declined(&reply), Some(DeclineReason::CancelledByShopper), "{reply:?}");
}

pub async fn a_page_that_is_given_up_can_no_longer_be_paid(harness: &dyn ProcessorHarness) {
    for asking in [on_a_page(harness), request(card(CHALLENGED), eur(5_00))] {
        let (asked, page) = on_page(harness, asking).await;
        let StatusReply::Known(reply) = harness.processor().abandon(asked.query()).await else { panic!("it is known") };
        let is_closed = declined(&reply).is_some() || reply == ProcessorReply::Abandoned;
        assert!(is_closed, "{reply:?}");
        harness.press(&page, Choice::Pay).await;
        assert_eq!(known(harness.processor().status(asked.query()).await), reply);
        let capture = harness.processor().capture(asked.capture(5_00)).await;
        assert!(!is_approved(&capture), "{capture:?}");
    }
    // What was paid before is the answer.
    let (asked, page) = on_page(harness, on_a_page(harness)).await;
    harness.press(&page, Choice::Pay).await;
    let reply = asked.outcome(harness).await;
    assert_eq!(known(harness.processor().abandon(asked.query()).await), reply);
    assert!(is_approved(&reply), "{reply:?}");
}
