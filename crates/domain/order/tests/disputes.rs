//! Disputes: every state against every trigger, and what is left to be refunded beside them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{LATER, NOW, disputed, id, in_state, moves, usd};
use dropin_order::{
    Account, Amounts, DISPUTE_TRANSITIONS, DisputeState, DisputeStepRefused, DisputeTrigger, Order, OrderEvent,
    OrderState, RefundRefused,
};

#[test]
fn the_table_is_that_of_the_specification() {
    let rows = DISPUTE_TRANSITIONS.iter().map(|row| {
        let from = row.from.map_or("(none)", DisputeState::as_str);
        format!("{from} {} {} {}", row.trigger, row.to, row.order)
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "(none) OPENED NEEDS_RESPONSE DISPUTE_OPENED",
            "NEEDS_RESPONSE EVIDENCE_HANDED_IN UNDER_REVIEW DISPUTE_UPDATED",
            "NEEDS_RESPONSE ACCEPTED ACCEPTED DISPUTE_CLOSED",
            "NEEDS_RESPONSE WON WON DISPUTE_CLOSED",
            "NEEDS_RESPONSE LOST LOST DISPUTE_CLOSED",
            "UNDER_REVIEW ESCALATED NEEDS_RESPONSE DISPUTE_UPDATED",
            "UNDER_REVIEW WON WON DISPUTE_CLOSED",
            "UNDER_REVIEW LOST LOST DISPUTE_CLOSED",
        ]
    );
}

#[test]
fn every_state_against_every_trigger() {
    let opened = disputed(&in_state(OrderState::Processed), 150);
    let order = &opened.order.change.next;
    for from in DisputeState::ALL {
        let dispute = dropin_order::Dispute { state: from, ..opened.dispute.clone() };
        for trigger in DisputeTrigger::ALL {
            let row = DISPUTE_TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger);
            match (dispute.moved(trigger, order, id(9), LATER), row) {
                (Ok(step), Some(row)) => {
                    assert_eq!((&step.transition, step.dispute.state), (row, row.to));
                    assert_eq!(step.dispute.revision, dispute.revision.next());
                    assert_eq!(step.order.transition.trigger, row.order);
                    let holds = if row.to.holds_money() { 150 } else { 0 };
                    assert_eq!(step.order.change.next.amounts.disputed(), &usd(holds), "{from} {trigger}");
                }
                (Err(DisputeStepRefused::State(refused)), None) => assert_eq!(refused.found, from),
                (found, row) => panic!("{from} {trigger}: {found:?} for {row:?}"),
            }
        }
    }
}

#[test]
fn the_ledger_follows_the_money() {
    let opened = disputed(&in_state(OrderState::Processed), 150);
    assert_eq!(opened.order.transition.event, Some(OrderEvent::DisputeOpened));
    assert_eq!(moves(&opened.order.ledger), [(Account::Captured, -150), (Account::Disputed, 150)]);
    let (dispute, order) = (opened.dispute, opened.order.change.next);
    let review = dispute.moved(DisputeTrigger::EvidenceHandedIn, &order, id(9), NOW).unwrap();
    assert!(review.order.ledger.is_empty());
    let (dispute, order) = (review.dispute, review.order.change.next);
    for (trigger, account) in [(DisputeTrigger::Won, Account::Captured), (DisputeTrigger::Lost, Account::ChargedBack)] {
        let step = dispute.moved(trigger, &order, id(9), NOW).unwrap();
        assert_eq!(moves(&step.order.ledger), [(Account::Disputed, -150), (account, 150)]);
    }
}

/// 10.00 captured, 1.00 refunded, 2.00 being refunded.
fn captured() -> Order {
    let amounts = Amounts::restore(usd(1_000), usd(1_000), usd(100), usd(0), usd(200)).unwrap();
    in_state(OrderState::Processed).edited(|parts| parts.amounts = amounts).unwrap()
}

#[test]
fn what_is_disputed_is_not_refunded_and_never_makes_less_than_nothing() {
    for (minor, left) in [(1, 699), (699, 1), (700, 0), (701, 0), (1_000, 0), (5_000, 0)] {
        let order = disputed(&captured(), minor).order.change.next;
        assert_eq!(order.amounts.refundable(), usd(left), "{minor}");
        let more = order.plan_refund(Some(&usd(left + 1)), NOW).unwrap_err();
        assert_eq!(more, RefundRefused::ExceedsCaptured { left: usd(left) }, "{minor}");
        assert_eq!(order.plan_refund(None, NOW).ok().map(|(_, amount)| amount), (0 < left).then(|| usd(left)));
        // The refund that was under way before ends as the processor says.
        let done = order.refund_succeeded(&usd(200), &usd(200), id(9), NOW).unwrap().change.next;
        assert_eq!((done.amounts.refunded(), done.amounts.disputed()), (&usd(300), &usd(minor)), "{minor}");
        let failed = order.refund_failed(&usd(200), NOW).unwrap().change.next;
        assert_eq!(failed.amounts.disputed(), &usd(minor));
    }
}

/// A bank may ask for money that we have not heard of: what arrives late is booked beside what is disputed.
#[test]
fn late_money_of_a_disputed_order_is_booked() {
    let none = Amounts::none(dropin_money::Currency::Usd);
    for state in [OrderState::ProcessingFailed, OrderState::Cancelled] {
        let ended = in_state(state).edited(|parts| parts.amounts = none.clone()).unwrap();
        let ended = disputed(&ended, 150).order.change.next;
        let paid = ended.paid_late(&usd(1_000), id(5), id(6), LATER).unwrap().change.next;
        assert_eq!((paid.amounts.captured(), paid.amounts.disputed()), (&usd(1_000), &usd(150)), "{state}");
        assert!(paid.amounts.is_overdrawn(), "all of it is to be given back");
        let reserved = ended.authorized_late(&usd(1_000), id(5), LATER).unwrap().change.next;
        assert_eq!((reserved.amounts.capturable(), reserved.amounts.disputed()), (usd(1_000), &usd(150)), "{state}");
        let voided = reserved.voided(id(6), LATER).unwrap().change.next;
        assert_eq!((voided.amounts.capturable(), voided.amounts.disputed()), (usd(0), &usd(150)), "{state}");
    }
}

#[test]
fn two_disputes_hold_both_and_one_that_is_won_sets_its_own_free() {
    let first = disputed(&captured(), 300);
    let second = disputed(&first.order.change.next, 200);
    let both = second.order.change.next;
    assert_eq!(both.amounts.refundable(), usd(200));
    let lost = first.dispute.moved(DisputeTrigger::Lost, &both, id(9), NOW).unwrap().order.change.next;
    assert_eq!(lost.amounts.refundable(), usd(200), "what is lost is gone");
    let won = second.dispute.moved(DisputeTrigger::Won, &lost, id(9), NOW).unwrap().order.change.next;
    assert_eq!(won.amounts.refundable(), usd(400));
}

#[test]
fn an_open_outcome_is_not_disputed_and_nor_is_another_currency() {
    for state in [OrderState::Processing, OrderState::PaymentAuthorized, OrderState::CommitAccepted] {
        assert!(in_state(state).dispute_opened(&usd(100), id(9), NOW).is_err(), "{state}");
    }
    let euros = dropin_money::Amount::from_minor(dropin_money::Currency::Eur, 100).unwrap();
    assert!(captured().dispute_opened(&euros, id(9), NOW).is_err());
}
