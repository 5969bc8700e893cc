//! Every state against every trigger: what the witnesses allow is what the table says, and nothing else.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use dropin_kernel::{LedgerTransactionId, MerchantId, OrderId, ParseIdError, Revision, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{
    Account, Amounts, CapturePlan, CaptureRefused, Order, OrderEvent, OrderState, OrderTrigger, Step, TRANSITIONS,
};

const STARTED_AT: Timestamp = Timestamp::from_micros(1_000_000);
const NOW: Timestamp = Timestamp::from_micros(2_000_000);

const TRIGGERS: [OrderTrigger; 7] = [
    OrderTrigger::Start,
    OrderTrigger::Authorized,
    OrderTrigger::Refused,
    OrderTrigger::CaptureRequested,
    OrderTrigger::Captured,
    OrderTrigger::CaptureRefusedForNow,
    OrderTrigger::CaptureRefusedForGood,
];

fn id<T: std::str::FromStr<Err = ParseIdError>>(last: u8) -> T {
    format!("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f8091{last:02x}").parse().unwrap()
}

fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

fn started() -> Order {
    Order::start(
        id::<OrderId>(1),
        id::<MerchantId>(2),
        Some(id::<SessionId>(3)),
        "order-1".to_owned(),
        usd(1_000),
        false,
        "VISA".to_owned(),
        STARTED_AT,
    )
}

fn authorized() -> Order {
    started().as_processing().unwrap().authorized(id(4), NOW).change.next
}

/// An Order of 10.00 in `state`, of which 4.00 are asked to be captured.
fn in_state(state: OrderState) -> Order {
    let amounts = Amounts::restore(usd(1_000), usd(0), usd(0), usd(400), usd(0)).unwrap();
    Order { state, amounts, revision: Revision::new(7), ..started() }
}

fn ids() -> (LedgerTransactionId, LedgerTransactionId) {
    (id(5), id(6))
}

/// What the witnesses make of a trigger.
fn pull(order: &Order, trigger: OrderTrigger) -> Option<Step> {
    match trigger {
        // The start has no state before it.
        OrderTrigger::Start => None,
        OrderTrigger::Authorized => Some(order.as_processing().ok()?.authorized(id(4), NOW)),
        OrderTrigger::Refused => Some(order.as_processing().ok()?.refused(NOW)),
        OrderTrigger::CaptureRequested => Some(order.as_authorized().ok()?.request_capture(&usd(100), NOW).unwrap()),
        OrderTrigger::Captured => Some(order.as_authorized().ok()?.captured(&usd(400), ids(), NOW).unwrap()),
        OrderTrigger::CaptureRefusedForNow => {
            Some(order.as_authorized().ok()?.capture_refused(&usd(400), true, NOW).unwrap())
        }
        OrderTrigger::CaptureRefusedForGood => {
            Some(order.as_authorized().ok()?.capture_refused(&usd(400), false, NOW).unwrap())
        }
    }
}

#[test]
fn every_state_against_every_trigger() {
    for from in OrderState::ALL {
        for trigger in TRIGGERS {
            let order = in_state(from);
            let row = TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger);
            let pulled = pull(&order, trigger);
            assert_eq!(pulled.as_ref().map(|step| &step.transition), row, "{from:?} {trigger:?}");
            let Some(Step { change, transition, ledger }) = pulled else { continue };
            assert_eq!(change.next.state, transition.to, "{from:?} {trigger:?}");
            assert_eq!((change.expected, change.next.revision), (order.revision, order.revision.next()));
            assert_eq!(change.next.updated_at, NOW);
            for posted in ledger {
                assert_eq!(posted.entries().iter().map(|entry| entry.minor).sum::<i64>(), 0, "{from:?} {trigger:?}");
            }
        }
    }
}

#[test]
fn the_table_is_that_of_the_decisions() {
    let rows: Vec<_> = TRANSITIONS
        .iter()
        .map(|row| {
            let from = row.from.map_or("(none)", OrderState::as_str);
            let event = row.event.map_or("", OrderEvent::as_str);
            format!("{from} {} {} {event}", row.trigger.as_str(), row.to.as_str()).trim_end().to_owned()
        })
        .collect();
    assert_eq!(
        rows,
        [
            "(none) START PROCESSING",
            "PROCESSING AUTHORIZED PAYMENT_AUTHORIZED ORDER_AUTHORIZED",
            "PROCESSING REFUSED PROCESSING_FAILED ORDER_PROCESSING_FAILED",
            "PAYMENT_AUTHORIZED CAPTURE_REQUESTED PAYMENT_AUTHORIZED",
            "PAYMENT_AUTHORIZED CAPTURED PROCESSED ORDER_PROCESSED",
            "PAYMENT_AUTHORIZED CAPTURE_REFUSED_FOR_NOW PAYMENT_AUTHORIZED",
            "PAYMENT_AUTHORIZED CAPTURE_REFUSED_FOR_GOOD PROCESSING_FAILED ORDER_PROCESSING_FAILED",
        ]
    );
    assert!(TRANSITIONS.iter().all(|row| TRIGGERS.contains(&row.trigger)));
}

#[test]
fn authorizing_reserves_the_total_and_shows_the_order_for_seven_days() {
    let Step { change, ledger, .. } = started().as_processing().unwrap().authorized(id(4), NOW);
    let order = change.next;
    assert!(order.shown && !started().shown);
    assert_eq!(order.capture_before, Some(NOW.plus(Duration::from_secs(7 * 24 * 3_600))));
    assert_eq!((order.amounts.total_authorized(), order.amounts.capturable()), (&usd(1_000), usd(1_000)));
    let moved: Vec<_> = ledger[0].entries().iter().map(|entry| (entry.account, entry.minor)).collect();
    assert_eq!(moved, [(Account::Shopper, -1_000), (Account::Authorized, 1_000)]);
}

#[test]
fn a_refused_attempt_moves_no_money_and_stays_unshown() {
    let Step { change, ledger, .. } = started().as_processing().unwrap().refused(NOW);
    assert!(ledger.is_empty() && !change.next.shown);
    assert!(change.next.amounts.total_authorized().is_zero());
}

#[test]
fn a_partial_capture_releases_the_rest() {
    let reserved = authorized().as_authorized().unwrap().request_capture(&usd(400), NOW).unwrap().change.next;
    assert_eq!(reserved.amounts.capture_pending(), &usd(400));
    let Step { change, ledger, .. } = reserved.as_authorized().unwrap().captured(&usd(400), ids(), NOW).unwrap();
    assert_eq!((change.next.amounts.captured(), change.next.amounts.capture_pending()), (&usd(400), &usd(0)));
    let moved: Vec<_> =
        ledger.iter().flat_map(|posted| posted.entries()).map(|entry| (entry.account, entry.minor)).collect();
    assert_eq!(
        moved,
        [(Account::Authorized, -400), (Account::Captured, 400), (Account::Authorized, -600), (Account::Shopper, 600)]
    );
}

#[test]
fn a_whole_capture_is_one_posting() {
    let reserved = authorized().as_authorized().unwrap().request_capture(&usd(1_000), NOW).unwrap().change.next;
    let Step { ledger, .. } = reserved.as_authorized().unwrap().captured(&usd(1_000), ids(), NOW).unwrap();
    assert_eq!(ledger.len(), 1);
}

#[test]
fn a_refused_capture_gives_its_reservation_back() {
    for (retryable, state) in [(true, OrderState::PaymentAuthorized), (false, OrderState::ProcessingFailed)] {
        let step = in_state(OrderState::PaymentAuthorized)
            .as_authorized()
            .unwrap()
            .capture_refused(&usd(400), retryable, NOW)
            .unwrap();
        assert_eq!((step.change.next.state, step.change.next.amounts.capture_pending()), (state, &usd(0)));
        assert!(step.ledger.is_empty());
    }
}

#[test]
fn what_was_not_reserved_is_neither_captured_nor_released() {
    let order = in_state(OrderState::PaymentAuthorized);
    assert_eq!(order.as_authorized().unwrap().captured(&usd(401), ids(), NOW), None);
    assert_eq!(order.as_authorized().unwrap().capture_refused(&usd(401), true, NOW), None);
}

#[test]
fn what_a_request_to_capture_leads_to() {
    let none = Amounts::authorized(usd(1_000));
    let order = |state| Order { state, amounts: none.clone(), ..authorized() };
    let wrong = |found| Err(CaptureRefused::WrongState { found });
    let plan = |order: &Order, amount: Option<i64>| order.plan_capture(amount.map(usd).as_ref(), NOW);

    for state in [OrderState::Processing, OrderState::ProcessingFailed, OrderState::Cancelled, OrderState::Declined] {
        assert_eq!(plan(&order(state), None), wrong(state), "{state:?}");
    }
    assert_eq!(plan(&order(OrderState::CommitAccepted), None), Ok(CapturePlan::UnderReview));
    let reviewed = Order { under_review: true, ..order(OrderState::PaymentAuthorized) };
    assert_eq!(plan(&reviewed, Some(1)), Ok(CapturePlan::UnderReview));
    assert_eq!(plan(&in_state(OrderState::PaymentAuthorized), Some(400)), Ok(CapturePlan::InFlight));

    let processed = Order {
        state: OrderState::Processed,
        amounts: Amounts::restore(usd(1_000), usd(400), usd(0), usd(0), usd(0)).unwrap(),
        ..authorized()
    };
    assert_eq!(plan(&processed, None), Ok(CapturePlan::AlreadyCaptured));
    assert_eq!(plan(&processed, Some(400)), Ok(CapturePlan::AlreadyCaptured));
    assert_eq!(plan(&processed, Some(1_000)), wrong(OrderState::Processed));
}

#[test]
fn a_capture_is_above_zero_and_at_most_what_was_authorized() {
    let order = authorized();
    let asked = |amount: Option<i64>| match order.plan_capture(amount.map(usd).as_ref(), NOW) {
        Ok(CapturePlan::Ask { step, amount }) => {
            assert_eq!(step.change.next.amounts.capture_pending(), &amount);
            Ok(amount.minor())
        }
        Ok(other) => panic!("{other:?}"),
        Err(refused) => Err(refused),
    };
    assert_eq!((asked(None), asked(Some(1)), asked(Some(1_000))), (Ok(1_000), Ok(1), Ok(1_000)));
    for wrong in [0, 1_001] {
        assert_eq!(asked(Some(wrong)), Err(CaptureRefused::AmountOutOfRange), "{wrong}");
    }
    let euros = Amount::from_minor(Currency::Eur, 100).unwrap();
    assert_eq!(order.plan_capture(Some(&euros), NOW), Err(CaptureRefused::AmountOutOfRange));
}

#[test]
fn the_capture_window_ends_at_its_moment() {
    let order = authorized();
    let end = order.capture_before.unwrap();
    let before = Timestamp::from_micros(end.micros() - 1);
    assert!(matches!(order.plan_capture(None, before), Ok(CapturePlan::Ask { .. })));
    assert_eq!(order.plan_capture(None, end), Err(CaptureRefused::WrongState { found: OrderState::Cancelled }));
}

#[test]
fn stored_states_are_read_back() {
    for state in OrderState::ALL {
        assert_eq!(OrderState::from_code(state.as_str()), Some(state));
    }
    assert_eq!(OrderState::from_code("Processed"), None);
}
