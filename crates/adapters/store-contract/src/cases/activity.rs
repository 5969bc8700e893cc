use std::sync::Arc;
use std::time::Duration;

use dropin_access::operator::{MoneyKind, MoneyRequest, MoneyRequestState, OperatorRights};
use dropin_kernel::{EndpointId, EventId, MerchantId, MoneyRequestId, OrderId, Timestamp};
use dropin_money::Amount;
use dropin_ports::{
    AttemptRecord, AttemptResult, Delivery, DeliveryResult, HeldOrder, MoneyBasis, MoneyRequested, OrderActivity,
    OrderChanged,
};

use super::operators::active;
use crate::Harness;
use crate::harness::capture;
use crate::values::{at, fresh, seconds};

async fn of_order(harness: &Harness, order: OrderId) -> OrderActivity {
    let found = harness.activity.order_activity(vec![order, OrderId::new(fresh())]).await.unwrap();
    let [found] = found[..] else { panic!("{found:?}: of one that there is not, nothing is told") };
    assert_eq!(found.order, order);
    found
}

/// Acknowledges one with the record of its try.
async fn deliver(harness: &Harness, one: &Delivery, started_at: Timestamp) {
    let record = AttemptRecord {
        endpoint_id: one.endpoint_id,
        event_id: one.event_id,
        started_at,
        took: Duration::from_secs(2),
        status: Some(200),
        why: None,
        answer: vec![],
    };
    let result = AttemptResult { key: one.key, result: DeliveryResult::Acknowledged, record: Some(record) };
    harness.outbox.finish_deliveries(vec![result], started_at, started_at.plus(seconds(15))).await.unwrap();
}

pub async fn whatever_becomes_of_an_order_shows(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let other = harness.authorized(merchant.id).await.order;
    let of_other = of_order(&harness, other.id).await;
    let payment = harness.submitted(merchant.id).await;
    let order = payment.order.id;
    let mut before = of_order(&harness, order).await;
    assert_eq!((before.operations, before.notifications, before.money_requests), (1, 0, 0));
    let mut changed = async |what: &str| {
        let now = of_order(&harness, order).await;
        assert_ne!(now, before, "{what}");
        assert_eq!(of_order(&harness, order).await, now, "what is told alike twice has not changed");
        before = now;
        now
    };
    let payment = harness.settle_authorized(&payment).await;
    let now = changed("authorized").await;
    assert_eq!((now.revision, now.notifications, now.notification_tries), (payment.order.revision, 2, 0));
    let claimed = harness.claim(at(100)).await;
    let first = claimed.iter().find(|one| one.payment_id == payment.order.payment_id()).unwrap();
    deliver(&harness, first, at(100)).await;
    assert_eq!(changed("a notification was tried").await.notification_tries, 1);
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let request = MoneyRequest {
        id: MoneyRequestId::new(fresh()),
        kind: MoneyKind::Refund,
        merchant: merchant.id,
        order,
        amount: Amount::from_minor(payment.order.total.currency(), 1).unwrap(),
        note: "why".to_owned(),
        requested_by: ana.id,
        requested_at: at(110),
        state: MoneyRequestState::Waiting,
        decided_by: None,
        decided_at: None,
    };
    let basis: MoneyBasis =
        harness.operators.money_basis(ana.id, merchant.id, order, request.amount.currency(), at(0)).await.unwrap();
    let inserted = harness.operators.insert_money_request(request, basis, at(0), None).await;
    assert_eq!(inserted, Ok(MoneyRequested::Done));
    let now = changed("a refund waits for a second operator").await;
    assert_eq!((now.money_requests, now.money_requests_waiting), (1, 1));
    assert_eq!(harness.ask(&capture(&payment, None, at(120))).await, Ok(OrderChanged::Done));
    assert_eq!(changed("a capture was asked for").await.operations, 2);
    assert_eq!(of_order(&harness, other.id).await, of_other, "nothing became of the other one");
    assert_eq!(harness.activity.order_activity(vec![]).await, Ok(vec![]));
}

pub async fn held_orders_come_newest_first(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let mut held = Vec::new();
    for merchant in [one.id, other.id, one.id] {
        let order = harness.held(merchant).await.order;
        held.push(HeldOrder { order: order.id, merchant, revision: order.revision });
    }
    harness.authorized(one.id).await;
    // All began at the same time.
    held.sort_by_key(|one| std::cmp::Reverse(one.order));
    assert_eq!(harness.activity.list_held_orders(10).await.as_ref(), Ok(&held));
    assert_eq!(harness.activity.list_held_orders(2).await.as_deref(), Ok(&held[..2]));
}

pub async fn what_becomes_of_notifications_shows_at_their_merchant(harness: Arc<Harness>) {
    let ((one, endpoint), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let of = async |merchant: MerchantId, since: u64| {
        let found = harness.activity.notification_activity(at(since)).await.unwrap();
        found.into_iter().find(|found| found.merchant == merchant).map(|found| (found.newest, found.count))
    };
    assert_eq!(of(one.id, 0).await, None);
    // Two notifications, at 20 seconds.
    harness.authorized(one.id).await;
    assert_eq!((of(one.id, 0).await, of(other.id, 0).await), (Some((at(20), 2)), None));
    assert_eq!(of(one.id, 21).await, None, "before the span");
    let claimed = harness.claim(at(100)).await;
    deliver(&harness, &claimed[0], at(100)).await;
    assert_eq!(of(one.id, 0).await, Some((at(102), 3)), "the end of the try");
    assert_eq!(of(one.id, 50).await, Some((at(102), 1)));
    assert_eq!(of(other.id, 0).await, None);
    // A try at a notification of an endpoint that nobody has is of no merchant.
    let (nowhere, event) = (EndpointId::new(fresh()), EventId::new(fresh()));
    let stray = format!(
        "INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status) \
         SELECT '{nowhere}', '{event}', attempt, started_at, took, status FROM outbox_attempt WHERE endpoint_id = '{}'",
        endpoint.id
    );
    assert_eq!(harness.raw.execute(&stray), Ok(1));
    assert_eq!(of(one.id, 50).await, Some((at(102), 1)));
}

pub async fn steps_of_the_history_show_at_their_merchant(harness: Arc<Harness>) {
    let ((one, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let of = async |merchant: MerchantId, limit| {
        let found = harness.activity.history_activity(limit).await.unwrap();
        found.into_iter().find(|found| found.merchant == merchant).map(|found| found.newest)
    };
    assert_eq!(of(one.id, 100).await, None);
    harness.session(one.id).await;
    let first = of(one.id, 100).await.unwrap();
    harness.session(other.id).await;
    assert_eq!(of(one.id, 100).await, Some(first), "nothing became of it");
    assert!(Some(first) < of(other.id, 100).await);
    assert_eq!(of(one.id, 1).await, None, "the newest step alone");
    harness.session(one.id).await;
    assert!(Some(first) < of(one.id, 100).await);
}
