use dropin_money::{Amount, Currency};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{AuthorizeRequest, ProcessorReply};
use dropin_risk::{CardFunding, ScaExemption};

use crate::asking::{
    ALWAYS_ASKS, CHALLENGED, PLAIN, approved, authorize, authorized, card, declined, eur, is_approved, known, on_page,
    request,
};
use crate::harness::{Choice, ProcessorHarness};

pub async fn a_card_is_authorized_and_captured_whole(harness: &dyn ProcessorHarness) {
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert_eq!(approved(&reply), Some((eur(10_00), false)), "{reply:?}");
    assert_eq!(known(harness.processor().status(asked.query()).await), reply);
    let capture = asked.capture(10_00);
    let reply = harness.processor().capture(capture.clone()).await;
    assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(10_00)), "{reply:?}");
    let status = harness.processor().status(asked.query_of(capture.key, OpKind::Capture)).await;
    assert_eq!(known(status), reply);
}

pub async fn a_part_is_captured_and_the_rest_released(harness: &dyn ProcessorHarness) {
    let asked = authorized(harness, 10_00).await;
    let reply = harness.processor().capture(asked.capture(4_00)).await;
    assert_eq!(approved(&reply).map(|(amount, _)| amount), Some(eur(4_00)), "{reply:?}");
    let again = asked.capture(1_00);
    let reply = harness.processor().capture(again.clone()).await;
    assert_eq!(declined(&reply), Some(DeclineReason::AlreadyCaptured), "the rest is released: {reply:?}");
    let status = known(harness.processor().status(asked.query_of(again.key, OpKind::Capture)).await);
    assert_eq!(declined(&status), Some(DeclineReason::AlreadyCaptured), "{status:?}");
    let beyond = harness.processor().refund(asked.refund(4_01)).await;
    assert!(matches!(beyond, ProcessorReply::Declined { retryable: false, .. }), "{beyond:?}");
    let all = harness.processor().refund(asked.refund(4_00)).await;
    assert_eq!(approved(&all).map(|(amount, _)| amount), Some(eur(4_00)), "{all:?}");
}

pub async fn declines_say_why(harness: &dyn ProcessorHarness) {
    for (number, reason) in [
        ("4000000000000002", DeclineReason::Generic),
        ("4000000000009995", DeclineReason::InsufficientFunds),
        ("4000000000009979", DeclineReason::DoNotTryAgain),
    ] {
        let (asked, reply) = authorize(harness, request(card(number), eur(1_00))).await;
        assert_eq!(declined(&reply), Some(reason), "{number}: {reply:?}");
        let later = known(harness.processor().status(asked.query()).await);
        assert_eq!(declined(&later), Some(reason), "{number}: {later:?}");
    }
}

pub async fn a_yes_tells_where_a_card_is_from_and_how_it_is_funded(harness: &dyn ProcessorHarness) {
    for (number, country, funding) in
        [("4000000360000006", "AU", CardFunding::Credit), ("5105105105105100", "US", CardFunding::Prepaid)]
    {
        let (asked, reply) = authorize(harness, request(card(number), eur(1_00))).await;
        let later = known(harness.processor().status(asked.query()).await);
        for reply in [reply, later] {
            let ProcessorReply::Approved { checks, .. } = reply else { panic!("{number}: {reply:?}") };
            assert_eq!((checks.card_country, checks.funding), (country.parse().ok(), Some(funding)), "{number}");
        }
    }
}

pub async fn a_challenge_is_decided_on_its_page(harness: &dyn ProcessorHarness) {
    for (choice, reason) in [(Choice::Pay, None), (Choice::Fail, Some(DeclineReason::AuthenticationFailed))] {
        let (asked, page) = on_page(harness, request(card(CHALLENGED), eur(5_00))).await;
        assert!(page.starts_with("http"), "{page}");
        harness.press(&page, choice).await;
        let reply = asked.outcome(harness).await;
        assert_eq!((is_approved(&reply), declined(&reply)), (reason.is_none(), reason), "{choice:?}: {reply:?}");
        if let ProcessorReply::Approved { checks, .. } = reply {
            assert_eq!(checks.authenticated, Some(true));
        }
    }
}

pub async fn a_challenge_that_is_asked_for_is_shown(harness: &dyn ProcessorHarness) {
    let asking = AuthorizeRequest { challenge: true, ..request(card(PLAIN), eur(5_00)) };
    let (asked, page) = on_page(harness, asking).await;
    harness.press(&page, Choice::Pay).await;
    let reply = asked.outcome(harness).await;
    assert_eq!(approved(&reply), Some((eur(5_00), false)), "{reply:?}");
}

pub async fn an_exemption_that_the_issuer_refuses_leads_to_the_page(harness: &dyn ProcessorHarness) {
    let exemption = Some(ScaExemption::LowValue);
    let (_, reply) = authorize(harness, AuthorizeRequest { exemption, ..request(card(PLAIN), eur(5_00)) }).await;
    assert_eq!(approved(&reply), Some((eur(5_00), false)), "{reply:?}");
    let asking = AuthorizeRequest { exemption, ..request(card(ALWAYS_ASKS), eur(5_00)) };
    let (asked, page) = on_page(harness, asking).await;
    harness.press(&page, Choice::Pay).await;
    let reply = asked.outcome(harness).await;
    assert_eq!(approved(&reply), Some((eur(5_00), false)), "{reply:?}");
    let away = AuthorizeRequest { exemption, return_url: None, ..request(card(ALWAYS_ASKS), eur(5_00)) };
    let (_, reply) = authorize(harness, away).await;
    assert!(declined(&reply).is_some(), "{reply:?}");
}

pub async fn without_a_way_back_nobody_is_challenged(harness: &dyn ProcessorHarness) {
    let away = AuthorizeRequest { return_url: None, ..request(card(CHALLENGED), eur(5_00)) };
    let (asked, reply) = authorize(harness, away).await;
    assert!(declined(&reply).is_some(), "{reply:?}");
    let capture = harness.processor().capture(asked.capture(5_00)).await;
    assert!(!is_approved(&capture), "{capture:?}");
}

pub async fn a_currency_without_decimals_is_charged_exactly(harness: &dyn ProcessorHarness) {
    for (currency, minor) in [(Currency::Jpy, 1_000), (Currency::Kwd, 12_340), (Currency::Isk, 700)] {
        let amount = Amount::from_minor(currency, minor).unwrap();
        let (asked, reply) = authorize(harness, request(card(PLAIN), amount)).await;
        assert_eq!(approved(&reply), Some((amount, false)), "{reply:?}");
        assert_eq!(approved(&known(harness.processor().status(asked.query()).await)), Some((amount, false)));
    }
}
