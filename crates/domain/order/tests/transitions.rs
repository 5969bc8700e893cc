//! Every state against every trigger: what the steps allow is what the table says, and nothing else.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{CARD, NOW, authorized, id, in_state, promised, started, usd};
use dropin_money::Currency;
use dropin_order::{
    Account, Amounts, BankDetails, FailureReason, MoneyRule, Order, OrderEvent, OrderParts, OrderState, OrderTrigger,
    Step, StepRefused, TRANSITIONS, VoidCause,
};

const TRIGGERS: [OrderTrigger; 29] = [
    OrderTrigger::Start,
    OrderTrigger::Redirected,
    OrderTrigger::Authorized,
    OrderTrigger::AuthorizedOtherwise,
    OrderTrigger::Paid,
    OrderTrigger::TransferAwaited,
    OrderTrigger::TakenIntoReview,
    OrderTrigger::ProviderApproved,
    OrderTrigger::Refused,
    OrderTrigger::CaptureRequested,
    OrderTrigger::CapturePromised,
    OrderTrigger::Captured,
    OrderTrigger::CaptureRefusedForNow,
    OrderTrigger::CaptureRefusedForGood,
    OrderTrigger::VoidRequested,
    OrderTrigger::Cancelled,
    OrderTrigger::ReviewDeclined,
    OrderTrigger::VoidRefused,
    OrderTrigger::ReviewApproved,
    OrderTrigger::AmountDiffers,
    OrderTrigger::RefundRequested,
    OrderTrigger::RefundSucceeded,
    OrderTrigger::AuthorizedLate,
    OrderTrigger::VoidedLate,
    OrderTrigger::PaidLate,
    OrderTrigger::RefundedLate,
    OrderTrigger::DisputeOpened,
    OrderTrigger::DisputeUpdated,
    OrderTrigger::DisputeClosed,
];

/// What the steps make of a trigger, on an Order to which nothing but its state forbids it.
fn pull(state: OrderState, trigger: OrderTrigger) -> (Order, Option<Step>) {
    use OrderTrigger as T;
    let order = fitting(state, trigger);
    let step = match trigger {
        // The start has no state before it.
        T::Start => None,
        T::Redirected => order.redirected("https://bank.example/page".to_owned(), NOW, NOW).ok(),
        T::Authorized => order.authorized(&usd(1_000), false, NOW, id(4), NOW).ok(),
        T::AuthorizedOtherwise => order.authorized(&usd(999), false, NOW, id(4), NOW).ok(),
        T::Paid => order.paid(&usd(1_000), id(5), id(6), NOW).ok(),
        T::TransferAwaited => order.transfer_awaited(Box::new(BankDetails::default()), NOW, NOW).ok(),
        T::TakenIntoReview => order.taken_into_review(NOW).ok(),
        T::ProviderApproved => order.provider_approved(&usd(1_000), NOW, id(4), NOW).ok(),
        T::Refused => order.refused(FailureReason::Declined, NOW).ok(),
        T::CaptureRequested => order.request_capture(&usd(100), NOW).ok(),
        T::CapturePromised => promised(&order),
        T::Captured => order.captured(&usd(400), &usd(400), id(5), id(6), NOW).ok(),
        T::CaptureRefusedForNow => order.capture_refused(&usd(400), true, id(4), NOW).ok(),
        T::CaptureRefusedForGood => order.capture_refused(&usd(400), false, id(4), NOW).ok(),
        T::VoidRequested => common::void_asked(&order),
        T::Cancelled | T::ReviewDeclined => order.voided(id(4), NOW).ok(),
        T::VoidRefused => order.void_refused(None, NOW).ok(),
        T::ReviewApproved => order.approve_review(NOW).ok(),
        T::AmountDiffers => order.amount_differs(NOW).ok(),
        T::RefundRequested => order.plan_refund(Some(&usd(100)), NOW).ok().map(|(step, _amount)| step),
        T::RefundSucceeded | T::RefundedLate => order.refund_succeeded(&usd(200), &usd(200), id(4), NOW).ok(),
        T::AuthorizedLate => order.authorized_late(&usd(1_000), id(4), NOW).ok(),
        T::VoidedLate => order.voided(id(4), NOW).ok(),
        T::PaidLate => order.paid_late(&usd(1_000), id(5), id(6), NOW).ok(),
        T::RefundFailed => order.refund_failed(&usd(200), NOW).ok(),
        T::DisputeOpened => order.dispute_opened(&usd(100), id(4), NOW).ok(),
        T::DisputeUpdated => order.dispute_updated(NOW).ok(),
        T::DisputeClosed => order.dispute_won(&usd(100), id(4), NOW).ok(),
        other => panic!("{other} is not tried here"),
    };
    (order, step)
}

/// More than was asked of the processor.
const NOT_RESERVED: Result<Step, StepRefused> = Err(StepRefused::Money(MoneyRule::NotReserved));

/// An Order of 10.00 in `state` with whatever `trigger` needs beside the state.
fn fitting(state: OrderState, trigger: OrderTrigger) -> Order {
    use OrderTrigger as T;
    let edit = |order: &mut OrderParts| {
        match trigger {
            T::CapturePromised => order.under_review = true,
            T::ReviewApproved => order.under_review = true,
            T::Cancelled => order.voiding = Some(VoidCause::Merchant),
            T::ReviewDeclined => order.voiding = Some(VoidCause::Review),
            T::VoidRequested if state == OrderState::Processing => {
                order.page = Some("https://bank.example/".to_owned())
            }
            _ => {}
        }
        if matches!(
            trigger,
            T::VoidRequested | T::Cancelled | T::ReviewDeclined | T::CapturePromised | T::CaptureRequested
        ) {
            order.amounts = Amounts::authorized(usd(1_000));
        }
        if matches!(trigger, T::ReviewApproved | T::VoidedLate) {
            order.amounts = Amounts::authorized(usd(1_000));
        }
        if trigger == T::RefundedLate && state != OrderState::Processed {
            let zero = usd(0);
            order.amounts = Amounts::restore(usd(1_000), usd(1_000), zero, zero, usd(1_000)).unwrap();
        }
        if trigger == T::DisputeClosed {
            order.amounts = order.amounts.clone().with_disputed(usd(100)).unwrap();
        }
        if matches!(trigger, T::AuthorizedLate | T::PaidLate) {
            order.amounts = Amounts::none(Currency::Usd);
        }
    };
    in_state(state).edited(edit).unwrap()
}

#[test]
fn every_state_against_every_trigger() {
    for from in OrderState::ALL {
        for trigger in TRIGGERS.into_iter().chain([OrderTrigger::RefundFailed]) {
            let row = TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger);
            let (order, pulled) = pull(from, trigger);
            // A review that is declined in another state than PAYMENT_AUTHORIZED is a cancellation.
            let pulled = pulled.filter(|step| step.transition.trigger == trigger);
            assert_eq!(pulled.as_ref().map(|step| &step.transition), row, "{from:?} {trigger:?}");
            let Some(Step { change, transition, ledger }) = pulled else { continue };
            assert_eq!(change.next.state, transition.to, "{from:?} {trigger:?}");
            assert_eq!((change.expected, change.next.revision), (order.revision, order.revision.next()));
            assert_eq!(change.next.updated_at, NOW);
            let waits = transition.to == OrderState::Processing;
            assert_eq!(change.next.card, order.card.filter(|_| waits), "{from:?} {trigger:?}");
            for posted in ledger {
                assert_eq!(posted.entries().iter().map(|entry| entry.minor).sum::<i64>(), 0, "{from:?} {trigger:?}");
            }
        }
    }
}

#[test]
fn the_table_is_that_of_the_specification() {
    let shown: Vec<_> = TRANSITIONS
        .iter()
        .filter(|row| row.event.is_some() || row.from != Some(row.to))
        .map(|row| {
            let from = row.from.map_or("(none)", OrderState::as_str);
            let event = row.event.map_or("", OrderEvent::as_str);
            format!("{from} {} {} {event}", row.trigger.as_str(), row.to.as_str()).trim_end().to_owned()
        })
        .collect();
    assert_eq!(
        shown,
        [
            "(none) START PROCESSING",
            "PROCESSING AUTHORIZED PAYMENT_AUTHORIZED ORDER_AUTHORIZED",
            "PROCESSING AUTHORIZED_OTHERWISE PAYMENT_AUTHORIZED ORDER_AUTHORIZED",
            "PROCESSING TRANSFER_AWAITED PROCESSING ORDER_PROCESSING",
            "PROCESSING PAID PROCESSED ORDER_PROCESSED",
            "PROCESSING TAKEN_INTO_REVIEW COMMIT_ACCEPTED ORDER_COMMIT_ACCEPTED",
            "PROCESSING REFUSED PROCESSING_FAILED ORDER_PROCESSING_FAILED",
            "PROCESSING CANCELLED CANCELLED ORDER_CANCELLED",
            "COMMIT_ACCEPTED PROVIDER_APPROVED PAYMENT_AUTHORIZED ORDER_AUTHORIZED",
            "COMMIT_ACCEPTED CAPTURED PROCESSED ORDER_PROCESSED",
            "COMMIT_ACCEPTED CAPTURE_REFUSED_FOR_GOOD PROCESSING_FAILED ORDER_PROCESSING_FAILED",
            "COMMIT_ACCEPTED REFUSED PROCESSING_FAILED ORDER_PROCESSING_FAILED",
            "COMMIT_ACCEPTED CANCELLED CANCELLED ORDER_CANCELLED",
            "PAYMENT_AUTHORIZED CAPTURED PROCESSED ORDER_PROCESSED",
            "PAYMENT_AUTHORIZED CAPTURE_REFUSED_FOR_GOOD PROCESSING_FAILED ORDER_PROCESSING_FAILED",
            "PAYMENT_AUTHORIZED CANCELLED CANCELLED ORDER_CANCELLED",
            "PAYMENT_AUTHORIZED REVIEW_APPROVED PAYMENT_AUTHORIZED ORDER_REVIEW_APPROVED",
            "PAYMENT_AUTHORIZED REVIEW_DECLINED DECLINED ORDER_DECLINED",
            "PROCESSING_FAILED DISPUTE_OPENED PROCESSING_FAILED DISPUTE_OPENED",
            "PROCESSING_FAILED DISPUTE_UPDATED PROCESSING_FAILED DISPUTE_UPDATED",
            "PROCESSING_FAILED DISPUTE_CLOSED PROCESSING_FAILED DISPUTE_CLOSED",
            "CANCELLED DISPUTE_OPENED CANCELLED DISPUTE_OPENED",
            "CANCELLED DISPUTE_UPDATED CANCELLED DISPUTE_UPDATED",
            "CANCELLED DISPUTE_CLOSED CANCELLED DISPUTE_CLOSED",
            "PROCESSED REFUND_SUCCEEDED PROCESSED REFUND_SUCCEEDED",
            "PROCESSED REFUND_FAILED PROCESSED REFUND_FAILED",
            "PROCESSED DISPUTE_OPENED PROCESSED DISPUTE_OPENED",
            "PROCESSED DISPUTE_UPDATED PROCESSED DISPUTE_UPDATED",
            "PROCESSED DISPUTE_CLOSED PROCESSED DISPUTE_CLOSED",
        ]
    );
    let known: Vec<_> = TRIGGERS.into_iter().chain([OrderTrigger::RefundFailed]).collect();
    assert!(TRANSITIONS.iter().all(|row| known.contains(&row.trigger)));
    assert!(
        known.iter().all(|trigger| TRANSITIONS.iter().any(|row| row.trigger == *trigger)),
        "a trigger without a row"
    );
}

#[test]
fn final_states_never_change() {
    for row in TRANSITIONS {
        let from = row.from.filter(|state| state.is_final());
        assert!(from.is_none_or(|from| from == row.to), "{row:?}");
    }
}

#[test]
fn authorizing_reserves_the_total_and_shows_the_order() {
    let Step { change, ledger, .. } = started().authorized(&usd(1_000), false, NOW, id(4), NOW).unwrap();
    let order = change.next;
    assert!(order.shown && !started().shown && !order.under_review);
    assert_eq!((order.amounts.total_authorized(), order.amounts.capturable()), (&usd(1_000), usd(1_000)));
    assert_eq!(common::moves(&ledger), [(Account::Shopper, -1_000), (Account::Authorized, 1_000)]);
}

#[test]
fn another_amount_than_was_asked_is_held_for_review_and_never_more_than_the_total_is_ours() {
    for (answered, usable) in [(999, 999), (1_001, 1_000)] {
        let Step { change, .. } = started().authorized(&usd(answered), false, NOW, id(4), NOW).unwrap();
        assert!(change.next.under_review, "{answered}");
        assert_eq!(change.next.amounts.total_authorized(), &usd(usable), "{answered}");
    }
    let foreign = dropin_money::Amount::from_minor(Currency::Eur, 1_000).unwrap();
    let Step { change, ledger, .. } = started().authorized(&foreign, false, NOW, id(4), NOW).unwrap();
    assert!(change.next.under_review && change.next.amounts.total_authorized().is_zero() && ledger.is_empty());
}

#[test]
fn a_refused_attempt_moves_no_money_and_stays_unshown() {
    let Step { change, ledger, .. } = started().refused(FailureReason::Declined, NOW).unwrap();
    assert!(ledger.is_empty() && !change.next.shown);
    assert!(change.next.amounts.total_authorized().is_zero());
}

#[test]
fn the_card_is_kept_while_it_is_tried_and_when_the_issuer_refuses_it_for_good() {
    for reason in FailureReason::ALL {
        let failed = started().refused(reason, NOW).unwrap().change.next;
        let kept = (reason == FailureReason::CardRefused).then_some(CARD);
        assert_eq!(failed.card, kept, "{reason:?}");
        let late = failed.authorized_late(&usd(1_000), id(4), NOW).unwrap().change.next;
        assert_eq!(late.card, kept, "{reason:?}, then authorized late");
    }
}

#[test]
fn a_partial_capture_releases_the_rest() {
    let reserved = authorized().request_capture(&usd(400), NOW).unwrap().change.next;
    assert_eq!(reserved.amounts.capture_pending(), &usd(400));
    let Step { change, ledger, .. } = reserved.captured(&usd(400), &usd(400), id(5), id(6), NOW).unwrap();
    assert_eq!((change.next.amounts.captured(), change.next.amounts.capture_pending()), (&usd(400), &usd(0)));
    assert_eq!(
        common::moves(&ledger),
        [(Account::Authorized, -400), (Account::Captured, 400), (Account::Authorized, -600), (Account::Shopper, 600)]
    );
}

#[test]
fn a_whole_capture_is_one_posting() {
    let reserved = authorized().request_capture(&usd(1_000), NOW).unwrap().change.next;
    let Step { ledger, .. } = reserved.captured(&usd(1_000), &usd(1_000), id(5), id(6), NOW).unwrap();
    assert_eq!(ledger.len(), 1);
}

#[test]
fn a_capture_refused_for_good_releases_the_authorization_and_one_refused_for_now_keeps_it() {
    for (retryable, state, released) in
        [(true, OrderState::PaymentAuthorized, None), (false, OrderState::ProcessingFailed, Some(1_000))]
    {
        let step = in_state(OrderState::PaymentAuthorized).capture_refused(&usd(400), retryable, id(4), NOW).unwrap();
        assert_eq!((step.change.next.state, step.change.next.amounts.capture_pending()), (state, &usd(0)));
        let moved = common::moves(&step.ledger);
        let expected = released.map(|minor| vec![(Account::Authorized, -minor), (Account::Shopper, minor)]);
        assert_eq!(moved, expected.unwrap_or_default());
    }
}

#[test]
fn what_was_not_reserved_is_neither_captured_nor_released() {
    let order = in_state(OrderState::PaymentAuthorized);
    assert_eq!(order.captured(&usd(401), &usd(401), id(5), id(6), NOW), NOT_RESERVED);
    assert_eq!(order.capture_refused(&usd(401), true, id(4), NOW), NOT_RESERVED);
    let refunding = in_state(OrderState::Processed);
    assert_eq!(refunding.refund_succeeded(&usd(201), &usd(201), id(4), NOW), NOT_RESERVED);
    assert_eq!(refunding.refund_failed(&usd(201), NOW), NOT_RESERVED);
}

#[test]
fn a_void_releases_everything_and_ends_the_order_as_its_cause_says() {
    for (cause, state) in [
        (VoidCause::Merchant, OrderState::Cancelled),
        (VoidCause::Expired, OrderState::Cancelled),
        (VoidCause::Review, OrderState::Declined),
    ] {
        let order = authorized().edited(|parts| parts.voiding = Some(cause)).unwrap();
        let Step { change, ledger, .. } = order.voided(id(4), NOW).unwrap();
        assert_eq!((change.next.state, change.next.voiding), (state, None), "{cause:?}");
        assert_eq!(common::moves(&ledger), [(Account::Authorized, -1_000), (Account::Shopper, 1_000)]);
    }
}

#[test]
fn an_attempt_that_nobody_was_told_of_fails_when_it_is_voided() {
    let waiting = started().edited(|parts| parts.voiding = Some(VoidCause::Expired)).unwrap();
    let step = waiting.voided(id(4), NOW).unwrap();
    assert_eq!((step.change.next.state, step.change.next.shown), (OrderState::ProcessingFailed, false));
}

#[test]
fn refunds_move_from_captured_to_refunded() {
    let Step { change, ledger, .. } =
        in_state(OrderState::Processed).refund_succeeded(&usd(200), &usd(200), id(4), NOW).unwrap();
    assert_eq!((change.next.amounts.refunded(), change.next.amounts.refund_pending()), (&usd(300), &usd(0)));
    assert_eq!(common::moves(&ledger), [(Account::Captured, -200), (Account::Refunded, 200)]);
}
