use std::sync::Arc;

use dropin_kernel::{OpId, OrderId, RefundId};
use dropin_money::Currency;
use dropin_order::{Channel, OpKind, OpState, Operation, Refund, RefundState};
use dropin_ports::{KeyUse, OrderChanged, Payment, RequestKey, Settled, Settlement, StoreError};

use crate::Harness;
use crate::harness::{Asking, outcome};
use crate::steps::{refund, refunded};
use crate::values::edit;
use crate::values::{at, fresh, minor, order_event, posting};

pub async fn a_refund_is_begun_whole(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let payment = harness.processed(merchant.id).await;
    let mut asked = refund(&payment, "return-1", Some(&minor(Currency::Usd, 990)), at(40));
    asked.operation.channel = Channel::Checkout;
    asked.refund.as_mut().unwrap().description = None;
    assert_eq!(harness.ask(&asked).await, Ok(OrderChanged::Done));
    let wished = asked.refund.clone().unwrap();
    let found = harness.payment(asked.operation.id).await;
    assert_eq!((&found.operation, &found.order), (&asked.operation, &asked.order.next));
    assert_eq!(found.refund.as_ref(), Some(&wished));
    assert_eq!(found.order.amounts.refund_pending(), &minor(Currency::Usd, 990));
    let id = payment.order.id;
    assert_eq!(harness.payments.find_refund(merchant.id, id, wished.id).await, Ok(Some(wished.clone())));
    assert_eq!(harness.payments.find_refund_by_reference(id, "return-1").await, Ok(Some(wished.clone())));
    for (merchant, order, refund) in [
        (other.id, id, wished.id),
        (merchant.id, OrderId::new(fresh()), wished.id),
        (merchant.id, id, RefundId::new(fresh())),
    ] {
        assert_eq!(harness.payments.find_refund(merchant, order, refund).await, Ok(None));
    }
    assert_eq!(harness.payments.find_refund_by_reference(id, "return-2").await, Ok(None));
    assert_eq!(harness.payments.find_refund_by_reference(OrderId::new(fresh()), "return-1").await, Ok(None));
    // The authorization is nobody's refund.
    assert_eq!(harness.payment(payment.operation.id).await.refund, None);
}

pub async fn a_refund_reference_is_unique_per_order(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (one, two) = (harness.processed(merchant.id).await, harness.processed(merchant.id).await);
    harness.refunding(&one, "return", Some(&minor(Currency::Usd, 1))).await;
    harness.refunding(&two, "return", None).await;
    let key = RequestKey { merchant_id: merchant.id, digest: [1; 32] };
    let key_use = KeyUse { key, fingerprint: [2; 32], at: at(40), until: at(999) };
    let current = harness.payment(one.operation.id).await;
    let again = Asking { key_use: Some(key_use), ..refund(&current, "return", None, at(41)) };
    assert_eq!(harness.ask(&again).await, Ok(OrderChanged::DuplicateRefund));
    assert_eq!(harness.payment(one.operation.id).await, current, "nothing was written");
    assert_eq!(harness.responses.find_response(key, at(41)).await, Ok(None), "its key is free");
    let other = Asking { key_use: Some(key_use), ..refund(&current, "Return", None, at(41)) };
    assert_eq!(harness.ask(&other).await, Ok(OrderChanged::Done));
    // Its own repeat, decided on what is stored by now, is known by its key.
    let current = harness.payment(one.operation.id).await;
    let mut repeat = other.clone();
    repeat.order.expected = current.order.revision;
    edit(&mut repeat.order.next, |order| order.revision = current.order.revision.next());
    assert_eq!(harness.ask(&repeat).await, Ok(OrderChanged::KeyTaken));
    assert_eq!(harness.payment(one.operation.id).await, current);
    assert_eq!(harness.count("refund", "1 = 1"), 3);
}

pub async fn refunds_are_settled_with_their_order(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let usd = |amount| minor(Currency::Usd, amount);
    for (reference, succeeded, left) in [("a", true, 2_000), ("b", false, 2_000), ("c", true, 1_010)] {
        let current = harness.payment(payment.operation.id).await;
        let begun = harness.refunding(&current, reference, Some(&usd(990))).await;
        let settlement = refunded(&begun, succeeded, at(50));
        let expected = settlement.refund.clone();
        assert_eq!(harness.payments.settle(settlement.clone()).await, Ok(Settled::Done));
        let found = harness.payment(begun.operation.id).await;
        assert_eq!(found.refund, expected);
        assert_eq!(found.order.amounts.refundable(), usd(left));
        assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::AlreadySettled));
        assert_eq!(harness.payment(begun.operation.id).await, found);
    }
    let states = harness.raw.values("SELECT state AS value FROM refund ORDER BY position");
    assert_eq!(states, ["SUCCEEDED", "FAILED", "SUCCEEDED"]);
    let balances = harness.ledger_balances();
    assert_eq!(balances, ["AUTHORIZED 0", "CAPTURED 1010", "REFUNDED 1980", "SHOPPER -2990"]);
}

pub async fn a_refund_that_failed_later_is_taken_back_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let usd = |amount| minor(Currency::Usd, amount);
    let begun = harness.refunding(&payment, "a", Some(&usd(990))).await;
    let taken_back = |payment: &Payment| {
        let step = payment.order.refund_taken_back(&usd(990), posting(), at(60)).unwrap();
        let mut settlement = outcome(begun.operation.id, OpState::Declined, at(60));
        settlement.refund = payment.refund.as_ref().map(|refund| refund.decided(false, at(60)));
        settlement.events = vec![order_event(&step.change.next, "REFUND_FAILED", at(60))];
        settlement.ledger = step.ledger;
        settlement.order = Some(step.change);
        settlement
    };
    assert_eq!(harness.payments.settle(refunded(&begun, true, at(50))).await, Ok(Settled::Done));
    let current = harness.payment(begun.operation.id).await;
    // One of another operation, and one that was decided on an earlier state.
    let foreign = Settlement { operation: payment.operation.id, ..taken_back(&current) };
    assert_eq!(harness.payments.take_back_refund(foreign).await, Ok(Settled::AlreadySettled));
    let mut stale = taken_back(&current);
    let change = stale.order.as_mut().unwrap();
    change.expected = payment.order.revision;
    edit(&mut change.next, |order| order.revision = payment.order.revision.next());
    assert_eq!(harness.payments.take_back_refund(stale).await, Ok(Settled::Stale));
    assert_eq!(harness.payment(begun.operation.id).await, current, "nothing was written");
    assert_eq!(harness.payments.take_back_refund(taken_back(&current)).await, Ok(Settled::Done));
    let found = harness.payment(begun.operation.id).await;
    assert_eq!(found.operation.state, OpState::Declined);
    assert_eq!(found.refund.as_ref().map(|refund| refund.state), Some(RefundState::Failed));
    assert_eq!((found.order.amounts.refunded(), found.order.amounts.refundable()), (&usd(0), usd(2_990)));
    assert_eq!(harness.count("outbox_event", "event_type = 'REFUND_FAILED'"), 1);
    // Told again, decided on what is there now: it is taken back once.
    let mut again = taken_back(&current);
    again.order = Some(found.order.amount_differs(at(61)).unwrap().change);
    assert_eq!(harness.payments.take_back_refund(again).await, Ok(Settled::AlreadySettled));
    assert_eq!(harness.payment(begun.operation.id).await, found);
    let balances = harness.ledger_balances();
    assert_eq!(balances, ["AUTHORIZED 0", "CAPTURED 2990", "REFUNDED 0", "SHOPPER -2990"]);
}

pub async fn a_refund_stays_open_and_is_asked_for_again(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let begun = harness.refunding(&harness.processed(merchant.id).await, "slow", None).await;
    assert_eq!(harness.payments.settle(outcome(begun.operation.id, OpState::Pending, at(60))).await, Ok(Settled::Done));
    let pending = harness.payment(begun.operation.id).await;
    assert_eq!(pending.refund.as_ref().map(|refund| refund.state), Some(RefundState::InProgress));
    // Refused for now: the same refund under a new key, its money still reserved.
    let again = pending.operation.again(OpId::new(fresh()), at(61), at(70));
    let mut refused = outcome(begun.operation.id, OpState::Declined, at(61));
    refused.follow_up = Some(again.clone());
    assert_eq!(harness.payments.settle(refused).await, Ok(Settled::Done));
    let found = harness.payment(again.id).await;
    assert_eq!((found.operation.clone(), found.refund.clone()), (again, begun.refund));
    // The processor gives less back than was asked for: that much was refunded.
    let given = minor(Currency::Usd, 2_989);
    let step = found.order.refund_succeeded(&found.operation.amount, &given, posting(), at(62)).unwrap();
    let mut settlement = outcome(found.operation.id, OpState::Approved, at(62));
    let less = Refund { amount: given, ..found.refund.clone().unwrap().decided(true, at(62)) };
    settlement.refund = Some(less.clone());
    (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let found = harness.payment(found.operation.id).await;
    assert_eq!((found.refund, found.order.amounts.refunded()), (Some(less), &given));
}

pub async fn what_is_decided_on_no_refund_is_refused(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let first = harness.refunding(&payment, "first", Some(&minor(Currency::Usd, 5))).await;
    assert_eq!(harness.payments.settle(refunded(&first, false, at(50))).await, Ok(Settled::Done));
    let second = harness.refunding(&harness.payment(payment.operation.id).await, "second", None).await;
    let unseen = Refund { id: RefundId::new(fresh()), ..second.refund.clone().unwrap() };
    let elsewhere = Refund { order_id: OrderId::new(fresh()), ..second.refund.clone().unwrap() };
    let beside = harness.refunding(&harness.processed(merchant.id).await, "beside", None).await.refund.unwrap();
    let foreign = Refund { id: beside.id, ..second.refund.clone().unwrap() };
    let converted = Refund { amount: minor(Currency::Eur, 2_985), ..second.refund.clone().unwrap() };
    // A refund that failed is not made undone by another's outcome.
    for strange in [unseen, elsewhere, foreign, converted, first.refund.clone().unwrap()] {
        let mut settlement = refunded(&second, true, at(51));
        settlement.refund = Some(strange.decided(true, at(51)));
        let refused = harness.payments.settle(settlement).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        assert_eq!(harness.payment(second.operation.id).await, second, "all of it is undone");
    }
    assert_eq!(harness.count("refund", "state = 'FAILED'"), 1);
    assert_eq!(harness.count("refund", "state = 'IN_PROGRESS'"), 2);
}

pub async fn the_database_guards_the_refunds(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let begun = harness.refunding(&payment, "begun", Some(&minor(Currency::Usd, 2_000))).await;
    let order = payment.order.id;
    let of_order = |columns: &str| format!("UPDATE purchase_order SET {columns} WHERE id = '{order}'");
    let of_op = |columns: &str| format!("UPDATE processor_op SET {columns} WHERE id = '{}'", begun.operation.id);
    for (statement, rule) in [
        ("UPDATE refund SET amount_minor = 0".to_owned(), "refund_amount_positive"),
        ("UPDATE refund SET amount_minor = -5".to_owned(), "refund_amount_positive"),
        ("UPDATE refund SET state = 'LOST'".to_owned(), "refund_state_known"),
        ("UPDATE refund SET currency = 'usd'".to_owned(), "refund_currency_code"),
        (format!("UPDATE refund SET order_id = '{}'", fresh()), ""),
        (format!("UPDATE refund SET merchant_id = '{}'", fresh()), ""),
        ("DELETE FROM refund".to_owned(), ""),
        (of_op("refund_id = NULL"), "refund_fits_kind"),
        (of_op("kind = 'CAPTURE'"), "refund_fits_kind"),
        (of_op(&format!("refund_id = '{}'", fresh())), ""),
        (of_op("channel = 'PHONE'"), "channel_known"),
        // What is refunded, or about to be, never exceeds what was captured.
        (of_order("refund_pending_minor = 2991"), "refunded_within_captured"),
        (of_order("refunded_minor = 1000"), "refunded_within_captured"),
        (of_order("captured_minor = 1999"), "refunded_within_captured"),
        (of_order("refund_pending_minor = -1"), "refund_pending_not_negative"),
    ] {
        let why = harness.raw.execute(&statement).expect_err(&statement);
        assert!(why.contains(rule), "{statement}: {why}");
    }
    // A defect of ours that would ask twice for one refund, or for more than there is, is stopped; nothing of it stays.
    let mut twice = refund(&harness.payment(payment.operation.id).await, "twice", None, at(41));
    twice.operation.refund = begun.operation.refund;
    twice.refund = None;
    let refused = harness.ask(&twice).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let same = Operation { id: OpId::new(fresh()), ..begun.operation.clone() };
    let mut settlement = outcome(harness.submitted(merchant.id).await.operation.id, OpState::Declined, at(42));
    settlement.follow_up = Some(same);
    let refused = harness.payments.settle(settlement).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.payment(begun.operation.id).await, begun);
    assert_eq!(harness.count("processor_op", "kind = 'REFUND'"), 1);
    assert_eq!(begun.operation.kind, OpKind::Refund);
}
