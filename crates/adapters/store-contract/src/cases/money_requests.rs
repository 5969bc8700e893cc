use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_access::operator::{MoneyKind, MoneyRequest, MoneyRequestState, MoneyTotals, OperatorRights};
use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_ports::{AccountChanged, MoneyBasis, MoneyRequested, OpenMoneyRequests, Settled};

use super::operators::{act, active};
use crate::Harness;
use crate::steps::refunded;
use crate::values::{at, fresh};

fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

fn basis_of(order_and_operator: i64, order: i64) -> MoneyBasis {
    let totals = MoneyTotals { order_and_operator: usd(order_and_operator), order: usd(order) };
    MoneyBasis { totals, merchant_limit: None }
}

fn asked(order: &dropin_order::Order, by: OperatorId, minor: i64, when: u64) -> MoneyRequest {
    MoneyRequest {
        id: MoneyRequestId::new(fresh()),
        kind: MoneyKind::Refund,
        merchant: order.merchant_id,
        order: order.id,
        amount: usd(minor),
        note: "the parcel was lost — \u{202e}twice".to_owned(),
        requested_by: by,
        requested_at: at(when),
        state: MoneyRequestState::Granted,
        decided_by: None,
        decided_at: None,
    }
}

async fn basis(harness: &Harness, by: OperatorId, merchant: MerchantId, order: OrderId, since: u64) -> MoneyBasis {
    harness.operators.money_basis(by, merchant, order, Currency::Usd, at(since)).await.unwrap()
}

async fn insert(harness: &Harness, request: &MoneyRequest, basis: MoneyBasis, since: u64) -> MoneyRequested {
    harness.operators.insert_money_request(request.clone(), basis, at(since), None).await.unwrap()
}

pub async fn requests_are_counted_by_order_and_operator(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (one, other) = (harness.authorized(merchant.id).await.order, harness.authorized(merchant.id).await.order);
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, _) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let count = |by, order: OrderId, since| basis(&harness, by, merchant.id, order, since);
    assert_eq!(count(ana.id, one.id, 0).await, basis_of(0, 0));

    let first = asked(&one, ana.id, 100, 10);
    assert_eq!(insert(&harness, &first, basis_of(0, 0), 0).await, MoneyRequested::Done);
    assert_eq!(insert(&harness, &first, basis_of(100, 100), 0).await, MoneyRequested::Exists);
    assert_eq!(harness.operators.find_money_request(first.id).await, Ok(Some(first.clone())));
    let second = MoneyRequest { state: MoneyRequestState::Waiting, ..asked(&one, ben.id, 20, 11) };
    assert_eq!(insert(&harness, &second, basis_of(0, 0), 0).await, MoneyRequested::Stale);
    assert_eq!(insert(&harness, &second, basis_of(100, 100), 0).await, MoneyRequested::Done);
    let third = asked(&other, ana.id, 3, 12);
    assert_eq!(insert(&harness, &third, basis_of(100, 0), 0).await, MoneyRequested::Done);

    assert_eq!(count(ana.id, one.id, 0).await, basis_of(123, 120), "each once");
    assert_eq!(count(ben.id, other.id, 0).await, basis_of(23, 3));
    assert_eq!(count(ana.id, one.id, 10).await, basis_of(23, 20), "the first is too old");
    let nobody = OperatorId::new(fresh());
    assert_eq!(count(nobody, one.id, 0).await, basis_of(120, 120));

    // The Order is another merchant's, or of another currency.
    let (stranger, _) = harness.merchant().await;
    let foreign = MoneyRequest { merchant: stranger.id, ..asked(&one, ana.id, 1, 13) };
    assert_eq!(insert(&harness, &foreign, basis_of(123, 120), 0).await, MoneyRequested::NoOrder);
    let euros = MoneyRequest { amount: Amount::from_minor(Currency::Eur, 1).unwrap(), ..asked(&one, ana.id, 1, 13) };
    assert_eq!(insert(&harness, &euros, basis_of(0, 0), 0).await, MoneyRequested::NoOrder);
}

pub async fn open_requests_are_listed_oldest_first(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (stranger, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let payment = harness.processed(merchant.id).await;
    let (order, other) = (&payment.order, harness.authorized(merchant.id).await.order);
    let mut all = vec![];
    for (about, state, when) in [
        (order, MoneyRequestState::Granted, 10),
        (order, MoneyRequestState::Waiting, 11),
        (&other, MoneyRequestState::Granted, 12),
    ] {
        let request = MoneyRequest { state, ..asked(about, ana.id, 1, when) };
        let before = basis(&harness, ana.id, merchant.id, about.id, 0).await;
        assert_eq!(insert(&harness, &request, before, 0).await, MoneyRequested::Done);
        all.push(request);
    }
    let every = OpenMoneyRequests { merchants: None, order: None, since: at(0), limit: 9 };
    let list =
        async |query: &OpenMoneyRequests| harness.operators.list_open_money_requests(query.clone()).await.unwrap();
    assert_eq!(list(&every).await, all);
    let of = |merchants: &[MerchantId]| OpenMoneyRequests { merchants: Some(merchants.to_vec()), ..every.clone() };
    assert_eq!(list(&of(&[merchant.id, stranger.id])).await, all);
    assert_eq!(list(&of(&[stranger.id])).await, []);
    assert_eq!(list(&OpenMoneyRequests { order: Some(order.id), ..every.clone() }).await, all[..2]);
    assert_eq!(list(&OpenMoneyRequests { since: at(10), ..every.clone() }).await, all[1..], "the first is too old");
    assert_eq!(list(&OpenMoneyRequests { limit: 1, ..every.clone() }).await, all[..1]);

    // The refund of the first one is made, and the other granted one is released.
    harness.refunding(&payment, &all[0].id.to_string(), Some(&usd(1))).await;
    let released = MoneyRequest { state: MoneyRequestState::Released, decided_at: Some(at(13)), ..all[2].clone() };
    let settled = harness
        .operators
        .settle_money_request(released, MoneyRequestState::Granted, act(AuditAction::ApprovalRelease))
        .await;
    assert_eq!(settled, Ok(AccountChanged::Done));
    assert_eq!(list(&every).await, all[1..2]);
}

pub async fn a_request_counts_unless_its_refund_failed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let payment = harness.processed(merchant.id).await;
    let count = async || basis(&harness, ana.id, merchant.id, payment.order.id, 0).await;
    let request = asked(&payment.order, ana.id, 100, 10);
    assert_eq!(insert(&harness, &request, basis_of(0, 0), 0).await, MoneyRequested::Done);
    let reference = request.id.to_string();
    let begun = harness.refunding(&payment, &reference, Some(&usd(100))).await;
    assert_eq!(count().await, basis_of(100, 100), "nobody knows yet");
    assert_eq!(harness.payments.settle(refunded(&begun, false, at(50))).await, Ok(Settled::Done));
    assert_eq!(count().await, basis_of(0, 0), "the processor refused it");

    // The reference belongs to the Order: another one's refund of that name is not this request's.
    let other = asked(&payment.order, ana.id, 20, 11);
    assert_eq!(insert(&harness, &other, basis_of(0, 0), 0).await, MoneyRequested::Done);
    let elsewhere = harness.processed(merchant.id).await;
    let begun = harness.refunding(&elsewhere, &other.id.to_string(), Some(&usd(20))).await;
    assert_eq!(harness.payments.settle(refunded(&begun, false, at(51))).await, Ok(Settled::Done));
    assert_eq!(count().await, basis_of(20, 20));

    // One that was released while its refund was made counts.
    let released = MoneyRequest { state: MoneyRequestState::Released, decided_at: Some(at(13)), ..other.clone() };
    let settled = harness
        .operators
        .settle_money_request(released, MoneyRequestState::Granted, act(AuditAction::ApprovalRelease))
        .await;
    assert_eq!(settled, Ok(AccountChanged::Done));
    assert_eq!(count().await, basis_of(0, 0));
    let current = harness.payment(payment.operation.id).await;
    let begun = harness.refunding(&current, &other.id.to_string(), Some(&usd(20))).await;
    assert_eq!(harness.payments.settle(refunded(&begun, true, at(52))).await, Ok(Settled::Done));
    assert_eq!(count().await, basis_of(20, 20));
}

pub async fn of_many_requests_decided_alike_one_is_written(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, _) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let order = harness.authorized(merchant.id).await.order;
    let other = harness.authorized(merchant.id).await.order;
    // Of one Order by two operators, and of two Orders by one operator.
    for requests in [
        vec![asked(&order, ana.id, 10, 5), asked(&order, ben.id, 10, 5), asked(&order, ana.id, 10, 5)],
        vec![asked(&other, ana.id, 10, 90), asked(&other, ana.id, 10, 90), asked(&other, ana.id, 10, 90)],
    ] {
        let since = if requests[0].order == order.id { 0 } else { 50 };
        let mut racers = vec![];
        for request in requests {
            let harness = harness.clone();
            racers.push(tokio::spawn(async move { insert(&harness, &request, basis_of(0, 0), since).await }));
        }
        let mut done = 0;
        for racer in racers {
            done += usize::from(racer.await.unwrap() == MoneyRequested::Done);
        }
        assert_eq!(done, 1);
    }
}

pub async fn a_request_is_settled_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, _) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let order = harness.authorized(merchant.id).await.order;
    let waiting = MoneyRequest { state: MoneyRequestState::Waiting, ..asked(&order, ana.id, 10, 5) };
    assert_eq!(insert(&harness, &waiting, basis_of(0, 0), 0).await, MoneyRequested::Done);
    let decided = |state| MoneyRequest { state, decided_by: Some(ben.id), decided_at: Some(at(6)), ..waiting.clone() };
    let settle = |request: &MoneyRequest, old| {
        let audit = act(AuditAction::ApprovalGrant);
        harness.operators.settle_money_request(request.clone(), old, audit)
    };
    let mut racers = vec![];
    for state in [MoneyRequestState::Granted, MoneyRequestState::Refused, MoneyRequestState::Granted] {
        let (operators, request) = (harness.operators.clone(), decided(state));
        racers.push(tokio::spawn(async move {
            let audit = act(AuditAction::ApprovalGrant);
            operators.settle_money_request(request, MoneyRequestState::Waiting, audit).await.unwrap()
        }));
    }
    let mut outcomes = vec![];
    for racer in racers {
        outcomes.push(racer.await.unwrap());
    }
    outcomes.sort_by_key(|outcome| *outcome != AccountChanged::Done);
    assert_eq!(outcomes, [AccountChanged::Done, AccountChanged::Ended, AccountChanged::Ended]);
    assert_eq!(harness.count("audit_log", "action = 'APPROVAL_GRANT'"), 1);

    let granted = asked(&order, ben.id, 1, 50);
    let before = basis(&harness, ben.id, merchant.id, order.id, 40).await;
    assert_eq!(insert(&harness, &granted, before.clone(), 40).await, MoneyRequested::Done);
    let released = MoneyRequest { state: MoneyRequestState::Released, decided_at: Some(at(51)), ..granted.clone() };
    assert_eq!(settle(&released, MoneyRequestState::Granted).await, Ok(AccountChanged::Done));
    assert_eq!(harness.operators.find_money_request(granted.id).await, Ok(Some(released)));
    assert_eq!(basis(&harness, ben.id, merchant.id, order.id, 40).await, before, "it counts no more");
    let unknown = MoneyRequest { id: MoneyRequestId::new(fresh()), ..granted };
    assert_eq!(settle(&unknown, MoneyRequestState::Granted).await, Ok(AccountChanged::Missing));
}

pub async fn the_database_wants_a_second_operator(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let order = harness.authorized(merchant.id).await.order;
    let waiting = MoneyRequest { state: MoneyRequestState::Waiting, ..asked(&order, ana.id, 10, 5) };
    assert_eq!(insert(&harness, &waiting, basis_of(0, 0), 0).await, MoneyRequested::Done);
    for wrong in [
        "state = 'GRANTED', decided_by = requested_by, decided_at = requested_at",
        "state = 'GRANTED', decided_by = requested_by",
        "decided_at = requested_at",
        "state = 'REFUSED'",
        "amount_minor = 0",
        "note = ''",
    ] {
        let update = format!("UPDATE money_request SET {wrong} WHERE id = '{}'", waiting.id);
        assert!(harness.raw.execute(&update).is_err(), "{wrong}");
    }
}

pub async fn approval_limits_are_replaced_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let order = harness.authorized(merchant.id).await.order;
    let set = |id, limits| harness.operators.set_approval_limits(id, limits, act(AuditAction::MerchantChange));
    assert_eq!(harness.operators.list_approval_limits(merchant.id).await, Ok(vec![]));
    for limits in [vec![Amount::from_minor(Currency::Eur, 7).unwrap(), usd(0)], vec![usd(500)], vec![]] {
        assert_eq!(set(merchant.id, limits.clone()).await, Ok(AccountChanged::Done));
        assert_eq!(harness.operators.list_approval_limits(merchant.id).await, Ok(limits.clone()));
        let found = basis(&harness, ana.id, merchant.id, order.id, 0).await.merchant_limit;
        assert_eq!(found, limits.into_iter().find(|limit| limit.currency() == Currency::Usd));
    }
    assert_eq!(set(MerchantId::new(fresh()), vec![]).await, Ok(AccountChanged::Missing));
}
