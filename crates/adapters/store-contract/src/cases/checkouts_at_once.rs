//! Server-to-server checkouts that wait at the same moment, with keys and without, beside payments of Sessions: each is written whole, as if it had
//! been alone, and each request gets the answer of its own operation.

use std::collections::HashMap;
use std::sync::Arc;

use dropin_kernel::{MerchantId, OpId};
use dropin_order::{Channel, FailureReason, OpState};
use dropin_ports::{
    AuthorizationPrepared, CheckoutRecord, KeyRecord, KeyUse, Payment, PrepareAuthorization, ResponseStored,
    ResponseToStore, Settled, Settlement, StashUse, StoredResponse,
};

use super::attempts::failure;
use super::batches::{all, prepare, settle, stashed};
use crate::Harness;
use crate::harness::{approval, captured, outcome};
use crate::steps::{checkout, checkout_approval};
use crate::values::{VISA, at, fresh, new_key, of_order, order_event};

/// How often each sort of checkout is asked for.
const ROUNDS: usize = 6;

fn reply(body: &str) -> StoredResponse {
    StoredResponse { status: 200, etag: Some("\"1\"".to_owned()), body: body.as_bytes().to_vec() }
}

async fn found(harness: &Harness, key_use: &KeyUse) -> Option<KeyRecord> {
    harness.responses.find_response(key_use.key, at(11)).await.unwrap()
}

/// A checkout under a reference of its own, whose document says which it is.
fn new_checkout(merchant: MerchantId, key_use: Option<KeyUse>) -> PrepareAuthorization {
    let prepare = checkout(merchant, &format!("checkout-{}", fresh()), at(10));
    let document = format!("{{\"of\":\"{}\"}}", prepare.order.id);
    let operation = prepare.operation.clone().through(Channel::CheckoutPayment);
    PrepareAuthorization { checkout: Some(CheckoutRecord { document }), operation, key_use, ..prepare }
}

/// What may come of those that are asked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    StashMissing,
    DuplicateReference,
    KeyTaken,
}

fn outcome_of(prepared: &AuthorizationPrepared) -> Outcome {
    match prepared {
        AuthorizationPrepared::Done(_) => Outcome::Done,
        AuthorizationPrepared::StashMissing => Outcome::StashMissing,
        AuthorizationPrepared::DuplicateReference => Outcome::DuplicateReference,
        AuthorizationPrepared::KeyTaken => Outcome::KeyTaken,
        other => panic!("{other:?}"),
    }
}

/// Those of one sort, which are asked for at once, and what comes of them in any order.
async fn group(harness: &Harness, merchant: MerchantId, sort: usize) -> (Vec<PrepareAuthorization>, Vec<Outcome>) {
    let key = || Some(new_key(merchant));
    let with_card = async |prepare| {
        let entry = stashed(harness, merchant, sort).await;
        PrepareAuthorization { stash: Some(StashUse { key: entry.key, summary: VISA }), ..prepare }
    };
    match sort {
        0 => {
            let (session, entry) = (harness.session(merchant).await, stashed(harness, merchant, sort).await);
            (vec![harness.submit(&session, &entry.key, at(10))], vec![Outcome::Done])
        }
        1 => (vec![with_card(new_checkout(merchant, key())).await], vec![Outcome::Done]),
        2 => (vec![new_checkout(merchant, key())], vec![Outcome::Done]),
        3 => (vec![new_checkout(merchant, None)], vec![Outcome::Done]),
        // One key for two, and one reference for two.
        4 => {
            let key = key();
            (vec![new_checkout(merchant, key), new_checkout(merchant, key)], vec![Outcome::Done, Outcome::KeyTaken])
        }
        5 => {
            let (one, two) = (checkout(merchant, "twice", at(10)), checkout(merchant, "twice", at(10)));
            let reference = format!("twice-{}", one.order.id);
            let pair = [(one, key()), (two, None)].map(|(prepare, key_use)| {
                let order = prepare.order.edited(|parts| parts.merchant_reference = reference.clone()).unwrap();
                PrepareAuthorization { order, key_use, ..prepare }
            });
            (pair.to_vec(), vec![Outcome::Done, Outcome::DuplicateReference])
        }
        // The card is elsewhere.
        6 => {
            let mut prepare = with_card(new_checkout(merchant, key())).await;
            prepare.stash.as_mut().unwrap().key.fingerprint = "another browser".to_owned();
            (vec![prepare], vec![Outcome::StashMissing])
        }
        // The reference is a Session's.
        7 => {
            let session = harness.session(merchant).await;
            let reference = session.terms.merchant_reference.as_str();
            let prepare = PrepareAuthorization { key_use: key(), ..checkout(merchant, reference, at(10)) };
            (vec![prepare], vec![Outcome::DuplicateReference])
        }
        // The key was used before.
        _ => {
            let key_use = new_key(merchant);
            let used = ResponseToStore { key_use, answer: reply("before") };
            assert_eq!(harness.responses.store_response(used).await, Ok(ResponseStored::Done));
            (vec![new_checkout(merchant, Some(key_use))], vec![Outcome::KeyTaken])
        }
    }
}

/// Asks for all sorts at once, and gives those that were begun.
async fn begin_all(harness: &Harness) -> Vec<PrepareAuthorization> {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let (mut asked, mut expected) = (vec![], vec![]);
    for round in 0..ROUNDS {
        for sort in 0..9 {
            let merchant = if round % 2 == 0 { ana.id } else { bob.id };
            let (prepares, outcomes) = group(harness, merchant, sort).await;
            let of = expected.len();
            asked.extend(prepares.into_iter().map(|prepare| (of, prepare)));
            expected.push(outcomes);
        }
    }
    let prepared = all(asked.iter().map(|(_, one)| prepare(harness, one)).collect()).await;
    let (mut came, mut begun) = (vec![vec![]; expected.len()], vec![]);
    for ((of, prepare), prepared) in asked.into_iter().zip(&prepared) {
        let outcome = outcome_of(prepared);
        came[of].push(outcome);
        match outcome {
            Outcome::Done => begun.push(prepare),
            _ => assert_nothing_of(harness, &prepare, outcome).await,
        }
    }
    came.iter_mut().for_each(|outcomes| outcomes.sort());
    assert_eq!(came, expected);
    begun
}

async fn assert_nothing_of(harness: &Harness, prepare: &PrepareAuthorization, outcome: Outcome) {
    assert_eq!(harness.payments.find_payment(prepare.operation.id).await, Ok(None), "{outcome:?}");
    assert_eq!(harness.payments.find_order_anywhere(prepare.order.id).await, Ok(None), "{outcome:?}");
    let of_order = format!("owner_id = '{}'", prepare.order.id);
    assert_eq!(harness.count("merchant_reference", &of_order), 0, "{outcome:?}");
    if let Some(key_use) = prepare.key_use.as_ref().filter(|_| outcome != Outcome::KeyTaken) {
        assert_eq!(found(harness, key_use).await, None, "the key is free: {outcome:?}");
    }
}

pub async fn each_is_begun_whole_or_left_out(harness: Arc<Harness>) {
    let begun = begin_all(&harness).await;
    for prepare in &begun {
        let payment = harness.payment(prepare.operation.id).await;
        assert_eq!((&payment.order, &payment.operation), (&prepare.order, &prepare.operation));
        assert_eq!(payment.session.as_ref(), prepare.session.as_ref().map(|change| &change.next));
        let said = harness.payments.find_checkout(prepare.order.id).await.unwrap();
        let squeezed = |record: &CheckoutRecord| record.document.replace(' ', "");
        assert_eq!(said.as_ref().map(squeezed), prepare.checkout.as_ref().map(squeezed));
        let owns = format!(
            "owner_kind = 'CHECKOUT' AND owner_id = '{}' AND reference = '{}'",
            prepare.order.id, prepare.order.merchant_reference
        );
        assert_eq!(harness.count("merchant_reference", &owns), usize::from(prepare.session.is_none()));
        assert_eq!(
            harness.count("history", &format!("what = 'START' AND subject_id = '{}'", prepare.order.id)),
            1,
            "each once"
        );
        let waits = format!("status IS NULL AND operation_id = '{}'", prepare.operation.id);
        assert_eq!(harness.count("answer", &waits), usize::from(prepare.key_use.is_some()));
        if let Some(key_use) = &prepare.key_use {
            let awaited = KeyRecord { fingerprint: key_use.fingerprint, answer: None };
            assert_eq!(found(&harness, key_use).await, Some(awaited));
        }
    }
    assert_eq!(harness.count("stash", "1 = 1"), ROUNDS, "whose card was elsewhere keeps it, and no other");
    assert_eq!(harness.count("purchase_order", "1 = 1"), begun.len());
}

/// What follows from asking the processor, the follow-up with it, in turn for each `number`.
fn settlement(prepare: &PrepareAuthorization, payment: &Payment, number: usize) -> Settlement {
    let answer = Some(reply(&prepare.operation.id.to_string()));
    let (order, now) = (&prepare.order, at(20));
    match (&prepare.session, number % 3) {
        (Some(_), 0) => approval(payment),
        (Some(_), _) => failure(payment, FailureReason::InsufficientFunds),
        (None, 0) => Settlement { answer, ..checkout_approval(prepare, "") },
        // The answer is the capture's.
        (None, 1) => {
            let mut settlement = Settlement { answer: None, ..checkout_approval(prepare, "") };
            let change = settlement.order.as_mut().unwrap();
            let asked = change.next.request_capture(&order.total, now).unwrap().change.next;
            let capture = prepare.operation.capture(OpId::new(fresh()), order.total, now, at(30));
            settlement.follow_up = Some(capture.through(Channel::CheckoutPayment));
            change.next = asked.at_revision(change.expected.next());
            settlement
        }
        (None, _) => {
            let step = order.refused(FailureReason::Declined, now).unwrap();
            let mut settlement = outcome(prepare.operation.id, OpState::Declined, now);
            settlement.events = vec![order_event(&step.change.next, "ORDER_FAILED", now)];
            settlement.history = vec![of_order(&step.change.next, "REFUSED", now)];
            settlement.answer = answer;
            (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
            settlement
        }
    }
}

pub async fn each_gets_the_answer_of_its_own_operation(harness: Arc<Harness>) {
    let begun = begin_all(&harness).await;
    let mut settlements = vec![];
    // Each sort of payment meets each sort of outcome.
    for (number, prepare) in begun.iter().enumerate() {
        let payment = harness.payment(prepare.operation.id).await;
        settlements.push(settlement(prepare, &payment, number + number / 6));
    }
    // The same once more, with another answer: it is told to nobody, unless it came first.
    let again: Vec<_> = settlements
        .iter()
        .map(|settlement| Settlement {
            answer: settlement.answer.as_ref().map(|_| reply("again")),
            ..settlement.clone()
        })
        .collect();
    let settled = all(settlements.iter().chain(&again).map(|one| settle(&harness, one)).collect()).await;
    let (first, second) = settled.split_at(begun.len());
    let mut answers = HashMap::new();
    for (number, (one, two)) in settlements.iter().zip(&again).enumerate() {
        let won = match (first[number], second[number]) {
            (Settled::Done, Settled::AlreadySettled) => one,
            (Settled::AlreadySettled, Settled::Done) => two,
            other => panic!("{number}: {other:?}"),
        };
        answers.insert(one.operation, won.answer.clone());
        let stored = harness.payment(one.operation).await;
        assert_eq!(stored.operation.state, one.state);
        assert_eq!(Some(&stored.order), one.order.as_ref().map(|change| &change.next));
        assert_eq!(stored.session.as_ref(), one.session.as_ref().map(|change| &change.next));
    }
    let keyed = || begun.iter().zip(&settlements).filter_map(|(prepare, one)| Some((prepare.key_use?, one)));
    let mut captures = vec![];
    for (key_use, one) in keyed() {
        let answer = answers[&one.operation].clone();
        let awaited = one.follow_up.as_ref().map_or(one.operation, |capture| capture.id);
        assert_eq!(harness.count("answer", &format!("operation_id = '{awaited}'")), 1, "whose answer it is");
        assert_eq!(found(&harness, &key_use).await, Some(KeyRecord { fingerprint: key_use.fingerprint, answer }));
        if let Some(capture) = &one.follow_up {
            captures.push((key_use, harness.payment(capture.id).await));
        }
    }
    assert!(ROUNDS <= captures.len() && captures.len() < keyed().count(), "some wait for what follows");
    settle_captures(&harness, captures).await;
    let open = "state IN ('PREPARED', 'UNKNOWN', 'PENDING') AND kind = 'AUTHORIZE'";
    assert_eq!(harness.count("processor_op", open), 0);
}

/// Settles captures at once, each with the answer to the checkout that it follows.
async fn settle_captures(harness: &Harness, captures: Vec<(KeyUse, Payment)>) {
    let settle = captures.iter().map(|(_, payment)| {
        let (change, ledger) = captured(&payment.order, &payment.operation, at(31));
        let mut settlement = outcome(payment.operation.id, OpState::Approved, at(31));
        settlement.answer = Some(reply(&payment.operation.id.to_string()));
        settlement.history = vec![of_order(&change.next, "CAPTURED", at(31))];
        (settlement.order, settlement.ledger) = (Some(change), ledger);
        settle(harness, &settlement)
    });
    let settled = all(settle.collect()).await;
    assert!(settled.iter().all(|settled| *settled == Settled::Done), "{settled:?}");
    for (key_use, payment) in captures {
        let answer = Some(reply(&payment.operation.id.to_string()));
        assert_eq!(found(harness, &key_use).await, Some(KeyRecord { fingerprint: key_use.fingerprint, answer }));
    }
}
