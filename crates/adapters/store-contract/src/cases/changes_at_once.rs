//! Captures, voids and refunds that are asked for at the same moment, with keys and without: each is written whole, as if it had been alone.

use std::sync::Arc;

use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_order::{Channel, OpState};
use dropin_ports::{
    ChangeOrder, KeyRecord, KeyUse, OrderChanged, ResponseStored, ResponseToStore, Settled, StoredResponse,
};
use tokio::task::JoinHandle;

use super::batches::{all, settle};
use super::order::{Touched, changing};
use crate::Harness;
use crate::harness::{Asking, capture, captured, outcome};
use crate::steps::{refund, void};
use crate::values::{at, audited, minor, new_key, of_order, order_event};

/// How often each sort of change is asked for.
const ROUNDS: usize = 4;

const SORTS: usize = 11;

fn reply(body: &str) -> StoredResponse {
    StoredResponse { status: 200, etag: None, body: body.as_bytes().to_vec() }
}

fn change(harness: &Harness, change: &ChangeOrder) -> JoinHandle<OrderChanged> {
    let (payments, change) = (harness.payments.clone(), change.clone());
    tokio::spawn(async move { payments.change_order(change).await.unwrap() })
}

async fn found(harness: &Harness, key_use: &KeyUse) -> Option<KeyRecord> {
    harness.responses.find_response(key_use.key, at(41)).await.unwrap()
}

/// Those of one sort, which are asked for at once, and what comes of them in any order.
async fn group(harness: &Harness, merchant: MerchantId, sort: usize) -> (Vec<ChangeOrder>, Vec<OrderChanged>) {
    let key = new_key(merchant);
    let keyed = |asking: Asking| ChangeOrder { key_use: Some(key), ..asking.into() };
    let taken = async || capture(&harness.authorized(merchant).await, None, at(30));
    match sort {
        0 => (vec![keyed(taken().await)], vec![OrderChanged::Done]),
        1 => {
            let mut asked: ChangeOrder = void(&harness.authorized(merchant).await, at(30)).into();
            let order = asked.order.next.clone();
            asked.events = ["FIRST", "SECOND"].map(|name| order_event(&order, name, at(30))).to_vec();
            (vec![asked], vec![OrderChanged::Done])
        }
        2 => {
            let asked = refund(&harness.processed(merchant).await, "return", None, at(40));
            (vec![keyed(asked)], vec![OrderChanged::Done])
        }
        3 => (vec![ChangeOrder { audit: Some(audited()), ..taken().await.into() }], vec![OrderChanged::Done]),
        // Two of one Order.
        4 => {
            let payment = harness.authorized(merchant).await;
            let pair = [capture(&payment, None, at(30)), void(&payment, at(30))];
            (pair.map(ChangeOrder::from).to_vec(), vec![OrderChanged::Done, OrderChanged::Stale])
        }
        // One key for two Orders.
        5 => {
            let pair = vec![keyed(taken().await), keyed(taken().await)];
            (pair, vec![OrderChanged::Done, OrderChanged::KeyTaken])
        }
        6 => {
            let used = ResponseToStore { key_use: key, answer: reply("before") };
            assert_eq!(harness.responses.store_response(used).await, Ok(ResponseStored::Done));
            (vec![keyed(taken().await)], vec![OrderChanged::KeyTaken])
        }
        // The Order has a refund of that reference.
        7 => {
            let (payment, part) = (harness.processed(merchant).await, minor(Currency::Usd, 1_000));
            harness.refunding(&payment, "return", Some(&part)).await;
            let again = refund(&harness.payment(payment.operation.id).await, "return", Some(&part), at(41));
            (vec![keyed(again)], vec![OrderChanged::DuplicateRefund])
        }
        // Another change came first.
        8 => {
            let payment = harness.authorized(merchant).await;
            let asked = keyed(capture(&payment, None, at(30)));
            let faster = changing(payment.order.clone().touched());
            assert_eq!(harness.payments.change_order(faster).await, Ok(OrderChanged::Done));
            (vec![asked], vec![OrderChanged::Stale])
        }
        // The very same twice, as after an answer that got lost.
        9 => {
            let asked = keyed(taken().await);
            (vec![asked.clone(), asked], vec![OrderChanged::Done, OrderChanged::Done])
        }
        // No processor is asked.
        _ => {
            let order = harness.authorized(merchant).await.order;
            let pair = vec![changing(order.clone().touched()), changing(order.touched())];
            (pair, vec![OrderChanged::Done, OrderChanged::Stale])
        }
    }
}

async fn assert_nothing_of(harness: &Harness, change: &ChangeOrder, came: OrderChanged) {
    let Some(operation) = &change.operation else { return };
    assert_eq!(harness.payments.find_payment(operation.id).await, Ok(None), "{came:?}");
    if let Some(refund) = &change.refund {
        assert_eq!(harness.count("refund", &format!("id = '{}'", refund.id)), 0, "{came:?}");
    }
    if let Some(key_use) = change.key_use.as_ref().filter(|_| came != OrderChanged::KeyTaken) {
        assert_eq!(found(harness, key_use).await, None, "the key is free: {came:?}");
    }
}

async fn assert_written(harness: &Harness, change: &ChangeOrder) {
    let (ChangeOrder { order, operation, .. }, id) = (change, change.order.next.id);
    assert_eq!(harness.find_order(order.next.merchant_id, id).await, Ok(Some(order.next.clone())));
    for step in &change.history {
        let of_order = format!("what = '{}' AND subject_id = '{id}'", step.what);
        assert_eq!(harness.count("history", &of_order), 1, "once");
    }
    let told = harness.raw.values(&format!(
        "SELECT event_type AS value FROM outbox_event WHERE payment_id = '{}' ORDER BY sequence DESC",
        order.next.payment_id()
    ));
    let expected: Vec<_> = change.events.iter().rev().map(|event| event.event_type.to_owned()).collect();
    assert_eq!(told[..expected.len()], expected);
    if let Some(entry) = &change.audit {
        assert_eq!(harness.count("audit_log", &format!("id = '{}'", entry.id)), 1);
    }
    let Some(operation) = operation else { return };
    let payment = harness.payment(operation.id).await;
    assert_eq!((&payment.operation, &payment.refund), (operation, &change.refund));
    let waits = format!("status IS NULL AND operation_id = '{}'", operation.id);
    assert_eq!(harness.count("answer", &waits), usize::from(change.key_use.is_some()));
    if let Some(key_use) = &change.key_use {
        let awaited = KeyRecord { fingerprint: key_use.fingerprint, answer: None };
        assert_eq!(found(harness, key_use).await, Some(awaited));
    }
}

/// Asks for all sorts at once, and gives those that were written.
async fn change_all(harness: &Harness) -> Vec<ChangeOrder> {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let (mut asked, mut expected) = (vec![], vec![]);
    for round in 0..ROUNDS {
        for sort in 0..SORTS {
            let (changes, outcomes) = group(harness, [ana.id, bob.id][round % 2], sort).await;
            asked.extend(changes.into_iter().map(|change| (expected.len(), change)));
            expected.push(outcomes);
        }
    }
    let came = all(asked.iter().map(|(_, one)| change(harness, one)).collect()).await;
    let (mut outcomes, mut written) = (vec![vec![]; expected.len()], vec![]);
    for ((of, change), came) in asked.into_iter().zip(came) {
        outcomes[of].push(came);
        match came {
            OrderChanged::Done => written.push(change),
            _ => assert_nothing_of(harness, &change, came).await,
        }
    }
    outcomes.iter_mut().for_each(|outcomes| outcomes.sort_by_key(|came| *came != OrderChanged::Done));
    assert_eq!(outcomes, expected);
    written
}

pub async fn each_change_is_written_whole_or_left_out(harness: Arc<Harness>) {
    for change in change_all(&harness).await {
        assert_written(&harness, &change).await;
    }
}

pub async fn each_request_gets_the_answer_of_its_own_operation(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut asked = vec![];
    for number in 0..2 * ROUNDS {
        let mut asking = capture(&harness.authorized(merchant.id).await, None, at(30));
        asking.operation = asking.operation.through(Channel::Order);
        asked.push(ChangeOrder { key_use: (number % 2 == 0).then(|| new_key(merchant.id)), ..asking.into() });
    }
    let came = all(asked.iter().map(|one| change(&harness, one)).collect()).await;
    assert!(came.iter().all(|came| *came == OrderChanged::Done), "{came:?}");
    let settled = asked.iter().map(|change| {
        let operation = change.operation.as_ref().unwrap();
        let (captured, ledger) = captured(&change.order.next, operation, at(31));
        let mut settlement = outcome(operation.id, OpState::Approved, at(31));
        settlement.answer = Some(reply(&operation.id.to_string()));
        settlement.history = vec![of_order(&captured.next, "CAPTURED", at(31))];
        (settlement.order, settlement.ledger) = (Some(captured), ledger);
        settle(&harness, &settlement)
    });
    let settled = all(settled.collect()).await;
    assert!(settled.iter().all(|settled| *settled == Settled::Done), "{settled:?}");
    for change in &asked {
        let Some(key_use) = &change.key_use else { continue };
        let answer = Some(reply(&change.operation.as_ref().unwrap().id.to_string()));
        assert_eq!(found(&harness, key_use).await, Some(KeyRecord { fingerprint: key_use.fingerprint, answer }));
    }
    assert_eq!(harness.count("answer", "1 = 1"), ROUNDS);
}

/// As where a contract of a Session is charged while the Session's Order is captured.
pub async fn settlements_that_tell_one_stream_count_on(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stream = harness.authorized(merchant.id).await.order;
    let mut settlements = vec![];
    for _ in 0..4 * ROUNDS {
        let payment = harness.authorized(merchant.id).await;
        let asked = capture(&payment, None, at(30));
        assert_eq!(harness.ask(&asked).await, Ok(OrderChanged::Done));
        let (change, ledger) = captured(&asked.order.next, &asked.operation, at(31));
        let mut settlement = outcome(asked.operation.id, OpState::Approved, at(31));
        settlement.events =
            vec![order_event(&stream, "OF_ANOTHER", at(31)), order_event(&change.next, "ORDER_PROCESSED", at(31))];
        (settlement.order, settlement.ledger) = (Some(change), ledger);
        settlements.push(settlement);
    }
    let settled = all(settlements.iter().map(|one| settle(&harness, one)).collect()).await;
    assert!(settled.iter().all(|settled| *settled == Settled::Done), "{settled:?}");
    let of_stream = format!("payment_id = '{}'", stream.payment_id());
    let told = harness.raw.values(&format!(
        "SELECT CAST(sequence AS TEXT) || ' ' || event_type AS value FROM outbox_event WHERE {of_stream} ORDER BY sequence"
    ));
    let expected: Vec<_> = ["1 SESSION_COMPLETED".to_owned(), "2 ORDER_AUTHORIZED".to_owned()]
        .into_iter()
        .chain((0..4 * ROUNDS).map(|number| format!("{} OF_ANOTHER", number + 3)))
        .collect();
    assert_eq!(told, expected);
    let told = harness.count("outbox_stream", &format!("{of_stream} AND last_sequence = {}", expected.len()));
    assert_eq!(told, 1);
    assert_eq!(harness.count("outbox_event", "event_type = 'ORDER_PROCESSED' AND sequence = 3"), 4 * ROUNDS);
}
