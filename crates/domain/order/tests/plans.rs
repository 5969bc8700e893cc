//! What requests about an Order lead to (docs/SPECIFICATION.md#order-api).
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{LATER, NOW, authorized, in_state, started, usd};
use dropin_order::{
    Amounts, BankDetails, CapturePlan, CaptureRefused, Order, OrderState, OrderTrigger, RefundRefused, ReviewRefused,
    VoidCause, VoidPlan, WrongState,
};

fn plan(order: &Order, amount: Option<i64>) -> Result<CapturePlan, CaptureRefused> {
    order.plan_capture(amount.map(usd).as_ref(), NOW)
}

fn wrong<T>(found: OrderState) -> Result<T, CaptureRefused> {
    Err(CaptureRefused::WrongState { found })
}

fn processed() -> Order {
    let amounts = Amounts::restore(usd(1_000), usd(400), usd(0), usd(0), usd(0)).unwrap();
    authorized()
        .edited(|parts| {
            parts.state = OrderState::Processed;
            parts.amounts = amounts;
            parts.expires_at = None;
        })
        .unwrap()
}

#[test]
fn nothing_is_captured_where_nothing_is_reserved() {
    for state in [OrderState::Processing, OrderState::ProcessingFailed, OrderState::Cancelled, OrderState::Declined] {
        assert_eq!(plan(&authorized().edited(|parts| parts.state = state).unwrap(), None), wrong(state), "{state:?}");
    }
}

#[test]
fn a_capture_reserves_what_was_asked_or_everything() {
    for (asked, reserved) in [(None, 1_000), (Some(1_000), 1_000), (Some(1), 1)] {
        let Ok(CapturePlan::Ask { step, amount }) = plan(&authorized(), asked) else { panic!("{asked:?}") };
        assert_eq!((amount, step.change.next.amounts.capture_pending()), (usd(reserved), &usd(reserved)));
    }
    for odd in [0, 1_001] {
        assert_eq!(plan(&authorized(), Some(odd)), Err(CaptureRefused::AmountOutOfRange), "{odd}");
    }
}

#[test]
fn captured_again_moves_nothing_twice_and_another_amount_is_refused() {
    for same in [None, Some(400)] {
        assert_eq!(plan(&processed(), same), Ok(CapturePlan::AlreadyCaptured), "{same:?}");
    }
    assert_eq!(plan(&processed(), Some(401)), wrong(OrderState::Processed));
}

#[test]
fn whoever_is_told_of_a_capture_in_flight_gets_a_promise_once() {
    let Ok(CapturePlan::InFlight(Some(step))) = plan(&in_state(OrderState::PaymentAuthorized), Some(400)) else {
        panic!("the first one is promised it")
    };
    assert_eq!(step.change.next.capture_promised, Some(usd(400)));
    assert_eq!(plan(&step.change.next, None), Ok(CapturePlan::InFlight(None)));
}

#[test]
fn a_capture_asked_for_under_review_is_promised_with_its_amount() {
    for state in [OrderState::PaymentAuthorized, OrderState::CommitAccepted] {
        let held = authorized()
            .edited(|parts| {
                parts.state = state;
                parts.under_review = true;
            })
            .unwrap();
        let Ok(CapturePlan::UnderReview(Some(step))) = plan(&held, Some(300)) else { panic!("{state:?}") };
        let promised = step.change.next;
        assert_eq!((promised.state, promised.capture_promised), (state, Some(usd(300))));
        assert_eq!(promised.capture_due(), Some(usd(300)));
        for same in [None, Some(300)] {
            assert_eq!(plan(&promised, same), Ok(CapturePlan::UnderReview(None)), "{state:?} {same:?}");
        }
        assert_eq!(plan(&promised, Some(301)), wrong(state), "{state:?}");
        assert_eq!(plan(&held, Some(1_001)), Err(CaptureRefused::AmountOutOfRange), "{state:?}");
    }
}

#[test]
fn the_end_of_the_window_and_a_void_in_flight_leave_nothing_to_capture() {
    assert_eq!(authorized().plan_capture(None, LATER), wrong(OrderState::Cancelled));
    let voiding = authorized().edited(|parts| parts.voiding = Some(VoidCause::Merchant)).unwrap();
    assert_eq!(plan(&voiding, None), wrong(OrderState::Cancelled));
}

#[test]
fn a_merchant_may_cancel_what_is_reserved_or_waits_but_nothing_else() {
    let page = started().edited(|parts| parts.page = Some("https://bank.example/".to_owned())).unwrap();
    let transfer = started().edited(|parts| parts.bank_details = Some(Box::new(BankDetails::default()))).unwrap();
    let commit_accepted = started().edited(|parts| parts.state = OrderState::CommitAccepted).unwrap();
    for order in [authorized(), page, transfer, commit_accepted] {
        let Ok(VoidPlan::Ask(step)) = order.plan_cancel(NOW) else { panic!("{:?}", order.state) };
        assert_eq!((step.change.next.state, step.change.next.voiding), (order.state, Some(VoidCause::Merchant)));
        assert_eq!(step.change.next.plan_cancel(NOW), Ok(VoidPlan::InFlight));
    }
    assert_eq!(
        authorized().edited(|parts| parts.state = OrderState::Cancelled).unwrap().plan_cancel(NOW),
        Ok(VoidPlan::AlreadyDone)
    );
    // The authorization itself is on its way, a capture is in flight, or it is over.
    for order in [started(), in_state(OrderState::PaymentAuthorized), processed()] {
        assert_eq!(order.plan_cancel(NOW), Err(WrongState { found: order.state }), "{:?}", order.state);
    }
    for state in [OrderState::ProcessingFailed, OrderState::Declined] {
        assert_eq!(
            started().edited(|parts| parts.state = state).unwrap().plan_cancel(NOW),
            Err(WrongState { found: state })
        );
    }
}

#[test]
fn an_order_lapses_at_its_time_and_not_while_a_capture_is_in_flight() {
    let order = authorized();
    assert_eq!(order.plan_expiry(NOW), Err(WrongState { found: OrderState::PaymentAuthorized }));
    let Ok(VoidPlan::Ask(step)) = order.plan_expiry(LATER) else { panic!("its time is over") };
    assert_eq!(step.change.next.voiding, Some(VoidCause::Expired));
    let capturing = in_state(OrderState::PaymentAuthorized).edited(|parts| parts.expires_at = Some(NOW)).unwrap();
    assert_eq!(capturing.plan_expiry(LATER), Err(WrongState { found: OrderState::PaymentAuthorized }));
    let over = processed().edited(|parts| parts.expires_at = Some(NOW)).unwrap();
    assert_eq!(over.plan_expiry(LATER), Err(WrongState { found: OrderState::Processed }));
}

#[test]
fn a_review_is_decided_once_and_only_where_there_is_one() {
    let held = authorized().edited(|parts| parts.under_review = true).unwrap();
    let step = held.approve_review(NOW).unwrap();
    assert_eq!((step.transition.trigger, step.change.next.under_review), (OrderTrigger::ReviewApproved, false));
    let Ok(VoidPlan::Ask(declined)) = held.decline_review(NOW) else { panic!("held") };
    assert_eq!(declined.change.next.voiding, Some(VoidCause::Review));
    assert_eq!(declined.change.next.decline_review(NOW), Ok(VoidPlan::InFlight));
    let found = OrderState::PaymentAuthorized;
    for order in [authorized(), declined.change.next.clone()] {
        assert_eq!(order.approve_review(NOW), Err(ReviewRefused::NotUnderReview { found }));
    }
    assert_eq!(held.approve_review(LATER), Err(ReviewRefused::NotUnderReview { found }), "its time is over");
    let gone = authorized().edited(|parts| parts.state = OrderState::Declined).unwrap();
    assert_eq!(gone.decline_review(NOW), Ok(VoidPlan::AlreadyDone));
    let nothing = held.edited(|parts| parts.amounts = Amounts::none(dropin_money::Currency::Usd)).unwrap();
    assert_eq!(nothing.approve_review(NOW), Err(ReviewRefused::NothingAuthorized));
    assert!(nothing.decline_review(NOW).is_ok());
}

#[test]
fn refunds_never_exceed_what_was_captured() {
    let (step, amount) = processed().plan_refund(Some(&usd(150)), NOW).unwrap();
    assert_eq!((amount, step.change.next.amounts.refund_pending()), (usd(150), &usd(150)));
    let (all, rest) = step.change.next.plan_refund(None, NOW).unwrap();
    assert_eq!(rest, usd(250));
    let exceeds = |left| Err(RefundRefused::ExceedsCaptured { left: usd(left) });
    assert_eq!(all.change.next.plan_refund(None, NOW), exceeds(0));
    assert_eq!(step.change.next.plan_refund(Some(&usd(251)), NOW), exceeds(250));
    assert_eq!(processed().plan_refund(Some(&usd(0)), NOW), Err(RefundRefused::NothingAsked));
    for state in OrderState::ALL.into_iter().filter(|state| *state != OrderState::Processed) {
        let order = processed().edited(|parts| parts.state = state).unwrap();
        assert_eq!(order.plan_refund(None, NOW), Err(RefundRefused::NotCaptured { found: state }), "{state:?}");
    }
}
