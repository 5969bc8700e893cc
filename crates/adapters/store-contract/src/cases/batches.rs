//! Payments that wait at the same moment, which may share a statement: each is written whole, as if it had been alone.

use std::sync::Arc;

use dropin_kernel::{MerchantId, RefundId};
use dropin_order::{OpState, Operation, OrderState};
use dropin_ports::{
    AttemptResult, AuthorizationPrepared, Changed, DeliveryResult, Payment, PrepareAuthorization, Settled, Settlement,
    StashEntry, StoreError,
};
use tokio::task::JoinHandle;

use crate::Harness;
use crate::harness::{approval, capture, captured, outcome};
use crate::steps::refunded;
use crate::values::{at, edit, entry, event, fresh, of_order};

/// How many pay at once.
const PAYMENT_COUNT: usize = 48;

pub(super) async fn all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut results = vec![];
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

pub(super) fn prepare(harness: &Harness, prepare: &PrepareAuthorization) -> JoinHandle<AuthorizationPrepared> {
    let (payments, prepare) = (harness.payments.clone(), prepare.clone());
    tokio::spawn(async move { payments.prepare_authorization(prepare).await.unwrap() })
}

pub(super) fn settle(harness: &Harness, settlement: &Settlement) -> JoinHandle<Settled> {
    let (payments, settlement) = (harness.payments.clone(), settlement.clone());
    tokio::spawn(async move { payments.settle(settlement).await.unwrap() })
}

/// A stash entry that is nobody else's.
pub(super) async fn stashed(harness: &Harness, merchant: MerchantId, number: usize) -> StashEntry {
    let mut entry = entry(merchant, at(1_800));
    entry.sealed.bytes = number.to_be_bytes().to_vec();
    harness.stash.put_stash(entry.clone()).await.unwrap();
    entry
}

/// An approval that is followed by a capture of all, with both.
fn approval_with_capture(payment: &Payment) -> (Settlement, Operation) {
    let mut settlement = approval(payment);
    let change = settlement.order.as_mut().unwrap();
    let authorized = Payment { order: change.next.clone(), ..payment.clone() };
    let taken = capture(&authorized, None, at(20));
    let revision = change.next.revision;
    change.next = taken.order.next.clone();
    edit(&mut change.next, |order| order.revision = revision);
    settlement.follow_up = Some(taken.operation.clone());
    settlement.history.extend(taken.history);
    (settlement, taken.operation)
}

/// The capture's success, told.
fn success(payment: &Payment) -> Settlement {
    let (mut change, ledger) = captured(&payment.order, &payment.operation, at(31));
    change.expected = payment.order.revision;
    let mut settlement = outcome(payment.operation.id, OpState::Approved, at(31));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "ORDER_PROCESSED", at(31))];
    settlement.history = vec![of_order(&change.next, "CAPTURED", at(31))];
    (settlement.order, settlement.ledger) = (Some(change), ledger);
    settlement
}

/// Begins `PAYMENT_COUNT` payments at once, some of which cannot be and some of which are asked for twice, and finds the others.
async fn prepare_all(harness: &Harness, merchants: [MerchantId; 2]) -> Vec<Payment> {
    let (mut prepares, mut cards) = (vec![], vec![]);
    for number in 0..PAYMENT_COUNT {
        let merchant = merchants[number % 2];
        let (session, stash) = (harness.session(merchant).await, stashed(harness, merchant, number).await);
        let mut prepare = harness.submit(&session, &stash.key, at(10));
        match number % 8 {
            // Somebody was faster.
            5 => assert_eq!(harness.cancel(&session).await, Changed::Done),
            // The card is elsewhere.
            6 => prepare.stash.as_mut().unwrap().key.fingerprint = "another browser".to_owned(),
            // The same once more.
            7 => prepares.push((number, harness.submit(&session, &stash.key, at(10)))),
            _ => {}
        }
        prepares.push((number, prepare));
        cards.push(stash.sealed);
    }
    let results = all(prepares.iter().map(|(_, one)| prepare(harness, one)).collect()).await;
    let mut payments = vec![];
    for ((number, prepare), result) in prepares.iter().zip(&results) {
        let found = harness.payments.find_payment(prepare.operation.id).await.unwrap();
        match (number % 8, result) {
            (5 | 7, AuthorizationPrepared::Stale) | (6, AuthorizationPrepared::StashMissing) => assert_eq!(found, None),
            (0..5 | 7, AuthorizationPrepared::Done(Some(card))) => {
                assert_eq!(*card, cards[*number], "{number}");
                let payment = found.unwrap();
                assert_eq!((&payment.order, &payment.operation), (&prepare.order, &prepare.operation));
                assert_eq!(payment.session.as_ref(), prepare.session.as_ref().map(|change| &change.next));
                payments.push(payment);
            }
            other => panic!("{number}: {other:?}"),
        }
    }
    assert_eq!(payments.len(), PAYMENT_COUNT - PAYMENT_COUNT / 4, "each but those that cannot be, and none twice");
    assert_eq!(harness.count("stash", "1 = 1"), PAYMENT_COUNT / 4, "whoever lost keeps the card");
    payments
}

pub async fn payments_at_once_stay_apart(harness: Arc<Harness>) {
    let ((one, _), (two, _)) = (harness.merchant().await, harness.merchant().await);
    let payments = prepare_all(&harness, [one.id, two.id]).await;
    let captures = settle_all(&harness, &payments).await;
    deliver_while_capturing(&harness, &captures).await;
    for payment in &captures {
        let (order, id) = (payment.order.id, payment.session.as_ref().unwrap().id);
        let processed = harness.payment(payment.operation.id).await;
        assert_eq!((processed.order.state, processed.operation.state), (OrderState::Processed, OpState::Approved));
        let told = harness.raw.values(&format!(
            "SELECT CAST(sequence AS TEXT) || ' ' || event_type AS value FROM outbox_event WHERE payment_id = '{id}' ORDER BY sequence"
        ));
        assert_eq!(told, ["1 SESSION_COMPLETED", "2 ORDER_AUTHORIZED", "3 ORDER_PROCESSED"]);
        let steps = harness
            .raw
            .values(&format!("SELECT what AS value FROM history WHERE subject_id = '{order}' ORDER BY position"));
        assert_eq!(steps, ["START", "AUTHORIZED", "CAPTURE_REQUESTED", "CAPTURED"]);
        assert_eq!(harness.count("ledger_posting", &format!("order_id = '{order}'")), 2);
    }
}

/// Settles every payment, the first four twice, and finds the captures that follow.
async fn settle_all(harness: &Harness, payments: &[Payment]) -> Vec<Payment> {
    let approvals: Vec<_> = payments.iter().map(approval_with_capture).collect();
    let twice = approvals.iter().chain(&approvals[..4]).map(|(approval, _)| settle(harness, approval)).collect();
    let mut results = all(twice).await;
    let again = results.split_off(payments.len());
    for (number, second) in again.iter().enumerate() {
        let mut both = [results[number], *second];
        both.sort_by_key(|settled| *settled != Settled::Done);
        assert_eq!(both, [Settled::Done, Settled::AlreadySettled], "{number}");
    }
    assert!(results[again.len()..].iter().all(|settled| *settled == Settled::Done), "{results:?}");
    let mut captures = vec![];
    for (number, (approval, follow_up)) in approvals.iter().enumerate() {
        let authorized = harness.payment(payments[number].operation.id).await;
        assert_eq!(authorized.operation.state, OpState::Approved);
        assert_eq!(Some(&authorized.order), approval.order.as_ref().map(|change| &change.next));
        assert_eq!(authorized.session.as_ref(), approval.session.as_ref().map(|change| &change.next));
        let capture = harness.payment(follow_up.id).await;
        assert_eq!(&capture.operation, follow_up);
        captures.push(capture);
    }
    captures
}

/// Settles the captures while notifications are sent and acknowledged.
async fn deliver_while_capturing(harness: &Harness, captures: &[Payment]) {
    let settling: Vec<_> = captures.iter().map(|capture| settle(harness, &success(capture))).collect();
    let mut sent = 0;
    while sent < 3 * captures.len() {
        let mut leased = harness.claim(at(100)).await;
        while !leased.is_empty() {
            sent += leased.len();
            let results = leased.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
            leased = harness.outbox.finish_deliveries(results, at(101), at(116)).await.unwrap().next;
        }
        tokio::task::yield_now().await;
    }
    assert!(all(settling).await.iter().all(|settled| *settled == Settled::Done));
    assert_eq!(sent, 3 * captures.len(), "each once");
    assert_eq!(harness.next_due().await, None);
}

pub async fn refunds_at_once_stay_apart(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut settlements = vec![];
    for number in 0..PAYMENT_COUNT / 4 {
        let payment = harness.processed(merchant.id).await;
        let begun = harness.refunding(&payment, "refund-1", None).await;
        settlements.push(refunded(&begun, number % 3 != 0, at(50)));
    }
    // The last one is decided twice; and one of no refund in progress changes nothing.
    let last = settlements.last().unwrap().clone();
    let mut wrong = settlements[0].clone();
    wrong.refund.as_mut().unwrap().id = RefundId::new(fresh());
    let refused = harness.payments.settle(wrong).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let results = all(settlements.iter().chain([&last]).map(|one| settle(&harness, one)).collect()).await;
    let (again, first) = results.split_last().unwrap();
    let mut both = [*again, *first.last().unwrap()];
    both.sort_by_key(|settled| *settled != Settled::Done);
    assert_eq!(both, [Settled::Done, Settled::AlreadySettled]);
    assert!(first[..first.len() - 1].iter().all(|settled| *settled == Settled::Done), "{results:?}");
    for settlement in &settlements {
        let stored = harness.payment(settlement.operation).await;
        assert_eq!((stored.operation.state, &stored.refund), (settlement.state, &settlement.refund));
        assert_eq!(Some(&stored.order), settlement.order.as_ref().map(|change| &change.next));
    }
}
