//! Several attempts to pay one Session: each an Order of its own, and at most one alive or paid.

use std::sync::Arc;

use dropin_card::CardHash;
use dropin_kernel::{AttemptId, Change, OpId, RefundId, Revision};
use dropin_money::Currency;
use dropin_order::{FailureReason, OpState, Operation, Order, OrderState, Refund, RefundState};
use dropin_ports::{AuthorizationPrepared, Payment, PrepareAuthorization, Settled, Settlement};
use dropin_session::{Attempts, FailedAttempt, Session, SessionState, SessionStateKind};

use crate::Harness;
use crate::harness::{approval, outcome};
use crate::values::{at, edit, edited, event, fresh, minor, of_order, of_session, posting};

const CARD: CardHash = CardHash([7; 32]);

/// What follows when an attempt failed.
pub(super) fn failure(payment: &Payment, reason: FailureReason) -> Settlement {
    let now = at(20);
    let session = payment.session.as_ref().unwrap();
    let step = payment.order.refused(reason, now).unwrap();
    let (change, row) = session.as_processing().unwrap().attempt_failed(reason, now);
    let mut settlement = outcome(payment.operation.id, OpState::Declined, now);
    settlement.events = row.event.map(|told| event(session, told.as_str(), now)).into_iter().collect();
    settlement.history =
        vec![of_session(&change.next, row.trigger.as_str(), now), of_order(&step.change.next, "REFUSED", now)];
    (settlement.order, settlement.session) = (Some(step.change), Some(change));
    settlement
}

async fn fail(harness: &Harness, payment: &Payment, reason: FailureReason) -> Session {
    assert_eq!(harness.payments.settle(failure(payment, reason)).await, Ok(Settled::Done));
    harness.stored(payment.order.session_id.unwrap()).await
}

pub async fn a_failed_attempt_leads_to_the_next(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    assert_eq!(harness.sessions.list_attempts(session.id).await, Ok(vec![]));
    let (mut current, mut orders) = (session.clone(), vec![]);
    // Every reason comes back.
    let reasons = FailureReason::ALL.into_iter().filter(|reason| reason.rule().is_mendable);
    for reason in reasons.take(4) {
        let payment = harness.submitted_with(&current).await;
        let failed = fail(&harness, &payment, reason).await;
        let attempt = payment.order.attempt_id.unwrap();
        let number = current.attempts.failed() + 1;
        let attempts = Attempts::restore(number, 5, Some(FailedAttempt { attempt, reason })).unwrap();
        assert_eq!((&failed.state, failed.attempts), (&SessionState::Created, attempts));
        let order = harness.payment(payment.operation.id).await.order;
        assert_eq!((order.state, order.failure, order.shown), (OrderState::ProcessingFailed, Some(reason), false));
        orders.push(order);
        current = failed;
    }
    let paid = harness.submitted_with(&current).await;
    let paid = harness.settle_authorized(&paid).await;
    orders.push(paid.order.clone());
    assert_eq!(sorted(harness.sessions.list_attempts(session.id).await.unwrap()), sorted(orders));
    let stored = harness.sessions.find_session(merchant.id, session.id).await.unwrap().unwrap();
    assert_eq!((stored.session.state.kind(), stored.order), (SessionStateKind::Completed, Some(paid.order.clone())));
    assert_eq!(harness.find_order(merchant.id, paid.order.id).await, Ok(Some(paid.order)));
}

fn sorted(mut orders: Vec<Order>) -> Vec<Order> {
    orders.sort_by_key(|order| order.id);
    orders
}

fn prepare_as(
    harness: &Harness,
    session: &Session,
    stash: &dropin_ports::StashKey,
    attempt: AttemptId,
) -> PrepareAuthorization {
    let mut prepare = harness.submit(session, stash, at(10));
    prepare.order = prepare.order.edited(|parts| parts.attempt_id = Some(attempt)).unwrap();
    let Change { next, .. } = prepare.session.as_mut().unwrap();
    *next = edited(next, |parts| parts.state = SessionState::Processing { order: prepare.order.id, attempt });
    prepare
}

pub async fn an_attempt_id_is_used_once_per_session(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let attempt = payment.order.attempt_id.unwrap();
    let failed = fail(&harness, &payment, FailureReason::Declined).await;
    let stash = harness.stashed(merchant.id).await;
    let again =
        harness.payments.prepare_authorization(prepare_as(&harness, &failed, &stash.key, attempt)).await.unwrap();
    assert!(matches!(again, AuthorizationPrepared::AttemptUsed), "{again:?}");
    assert_eq!(harness.stored(failed.id).await, failed, "nothing was written");
    assert!(harness.stash.peek_stash(&stash.key, at(10)).await.unwrap().is_some(), "the card is still there");
    // Another Session's attempts are its own.
    let other = harness.session(merchant.id).await;
    let done = harness.payments.prepare_authorization(prepare_as(&harness, &other, &stash.key, attempt)).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(_)), "{done:?}");
}

pub async fn the_card_is_kept_while_it_is_tried_and_when_its_issuer_refused_it(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let first = harness.submitted(merchant.id).await;
    // It waits for the shopper on the bank's page, and is refused then.
    let opened = first.order.clone().edited(|parts| parts.card = Some(CARD)).unwrap();
    let step = opened.redirected("https://bank.example/".to_owned(), at(900), at(15)).unwrap();
    let mut waiting = outcome(first.operation.id, OpState::Pending, at(15));
    waiting.order = Some(step.change);
    assert_eq!(harness.payments.settle(waiting).await, Ok(Settled::Done));
    let waiting = harness.payment(first.operation.id).await;
    assert_eq!((waiting.order.page.is_some(), waiting.order.card), (true, Some(CARD)));
    let failed = fail(&harness, &waiting, FailureReason::CardRefused).await;
    let second = harness.submitted_with(&failed).await;
    let failed = fail(&harness, &second, FailureReason::Declined).await;
    let third = harness.submitted_with(&failed).await;
    let paid = harness.settle_authorized(&third).await.order;
    let cards: Vec<(OrderState, Option<CardHash>)> = sorted(harness.sessions.list_attempts(failed.id).await.unwrap())
        .into_iter()
        .map(|order| (order.state, order.card))
        .collect();
    let mut expected = [
        (first.order.id, OrderState::ProcessingFailed, Some(CARD)),
        (second.order.id, OrderState::ProcessingFailed, None),
        (paid.id, OrderState::PaymentAuthorized, None),
    ];
    expected.sort_by_key(|(id, ..)| *id);
    assert_eq!(cards, expected.map(|(_, state, card)| (state, card)));
}

pub async fn the_database_keeps_two_attempts_from_being_alive_or_paid(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let first = harness.submitted(merchant.id).await;
    let failed = fail(&harness, &first, FailureReason::Declined).await;
    let second = harness.submitted_with(&failed).await;
    let refused = |columns: &str| {
        let id = first.order.id;
        let why =
            harness.raw.execute(&format!("UPDATE purchase_order SET {columns} WHERE id = '{id}'")).expect_err(columns);
        assert!(why.contains("purchase_order_session_key") || why.contains("purchase_order.session_id"), "{why}");
    };
    let alive = ["PROCESSING", "PAYMENT_AUTHORIZED", "PROCESSED", "COMMIT_ACCEPTED", "CANCELLED", "DECLINED"];
    for state in alive {
        refused(&format!("failure = NULL, state = '{state}'"));
    }
    harness.settle_authorized(&second).await;
    for state in alive {
        refused(&format!("failure = NULL, state = '{state}'"));
    }
    refused("shown = TRUE");
    // A third one cannot even be begun while one is alive, whatever the Session says.
    let stash = harness.stashed(merchant.id).await;
    let lie = edited(&failed, |parts| (parts.state, parts.revision) = (SessionState::Created, Revision::new(99)));
    let third = harness.payments.prepare_authorization(harness.submit(&lie, &stash.key, at(30))).await.unwrap();
    assert!(matches!(third, AuthorizationPrepared::Stale), "{third:?}");
}

pub async fn money_of_a_failed_attempt_is_booked_with_its_refund(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let expired = FailureReason::Expired;
    // By the end of its page: the authorization itself is still open.
    let step = payment.order.refused(expired, at(20)).unwrap();
    let (change, _) = payment.session.as_ref().unwrap().as_processing().unwrap().attempt_failed(expired, at(20));
    let mut settlement = outcome(payment.operation.id, OpState::Pending, at(20));
    (settlement.order, settlement.session) = (Some(step.change), Some(change));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let late = harness.payment(payment.operation.id).await;
    let total = late.order.total;
    let step = late.order.paid_late(&total, posting(), posting(), at(30)).unwrap();
    let refund = Refund {
        id: RefundId::new(fresh()),
        order_id: late.order.id,
        merchant_id: merchant.id,
        reference: "dropin-1".to_owned(),
        amount: total,
        settlement: None,
        description: None,
        state: RefundState::InProgress,
        created_at: at(30),
        updated_at: at(30),
    };
    let operation = late.operation.refund(OpId::new(fresh()), refund.id, total, at(30), at(40));
    let mut settlement = outcome(late.operation.id, OpState::Approved, at(30));
    (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
    (settlement.new_refund, settlement.follow_up) = (Some(refund.clone()), Some(operation.clone()));
    let mut stale = settlement.clone();
    let change = stale.order.as_mut().unwrap();
    change.expected = change.next.revision;
    edit(&mut change.next, |order| order.revision = order.revision.next());
    assert_eq!(harness.payments.settle(stale).await, Ok(Settled::Stale));
    assert_eq!(harness.count("refund", "1 = 1") + harness.count("processor_op", "kind = 'REFUND'"), 0);
    assert_eq!(harness.payments.settle(settlement.clone()).await, Ok(Settled::Done));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::AlreadySettled));
    let refunding = harness.payment(operation.id).await;
    assert_eq!((refunding.refund.as_ref(), refunding.operation), (Some(&refund), operation.clone()));
    let step = refunding.order.refund_succeeded(&total, &total, posting(), at(41)).unwrap();
    let mut given = outcome(operation.id, OpState::Approved, at(41));
    (given.order, given.ledger) = (Some(step.change), step.ledger);
    given.refund = Some(refund.decided(true, at(41)));
    assert_eq!(harness.payments.settle(given).await, Ok(Settled::Done));
    let order = harness.payment(operation.id).await.order;
    assert_eq!((order.state, order.shown), (OrderState::ProcessingFailed, false));
    assert_eq!((order.amounts.captured(), order.amounts.refunded()), (&total, &total));
    assert_eq!(harness.count("ledger_posting", "1 = 1"), 3);
    assert_eq!(harness.find_order(merchant.id, order.id).await, Ok(None));
    assert_eq!(minor(Currency::Usd, total.minor()), total);
}

/// One of many clients: whatever it finds, it does the next thing, as a submit, a way back or a late approval would.
async fn client(harness: Arc<Harness>, session: dropin_kernel::SessionId, number: usize) {
    let mut operations: Vec<OpId> = vec![];
    for round in 0..60 {
        let found = harness.sessions.find_session_for_shopper(session).await.unwrap().unwrap();
        match found.session.state.kind() {
            SessionStateKind::Created => {
                let stash = harness.stashed(found.session.merchant_id).await;
                let prepare = harness.submit(&found.session, &stash.key, at(10));
                operations.push(prepare.operation.id);
                match harness.payments.prepare_authorization(prepare).await.unwrap() {
                    AuthorizationPrepared::Done(_) | AuthorizationPrepared::Stale => {}
                    other => panic!("{other:?}"),
                }
            }
            SessionStateKind::Processing => {
                let Some(order) = found.order else { continue };
                let open = harness.payments.list_operations(order.id).await.unwrap();
                let Some(authorization) = open.first() else { continue };
                let payment = harness.payment(authorization.id).await;
                let current = payment.session.as_ref().is_some_and(|now| {
                    now.state.kind() == SessionStateKind::Processing && now.state.order() == Some(payment.order.id)
                });
                if !current || payment.order.state != OrderState::Processing {
                    continue;
                }
                let settlement = if (number + round).is_multiple_of(3) {
                    approval(&payment)
                } else {
                    failure(&payment, FailureReason::Declined)
                };
                harness.payments.settle(settlement).await.unwrap();
            }
            _ => break,
        }
        // A late answer to one of its own attempts, whatever has become of that.
        let Some(id) = operations.last() else { continue };
        let Some(payment) = harness.payments.find_payment(*id).await.unwrap() else { continue };
        if payment.order.state == OrderState::ProcessingFailed {
            let late = outcome(payment.operation.id, OpState::Declined, at(50));
            assert_eq!(harness.payments.settle(late).await, Ok(Settled::AlreadySettled));
        }
    }
}

pub async fn of_many_attempts_one_is_paid(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..3 {
        let session = harness.session(merchant.id).await;
        let clients: Vec<_> = (0..64).map(|number| tokio::spawn(client(harness.clone(), session.id, number))).collect();
        for client in clients {
            client.await.unwrap();
        }
        let stored = harness.stored(session.id).await;
        let attempts = harness.sessions.list_attempts(session.id).await.unwrap();
        let shown = attempts.iter().filter(|order| order.shown).count();
        let completed = stored.state.kind() == SessionStateKind::Completed;
        assert!(completed || stored.state.kind() == SessionStateKind::Failed, "{stored:?}");
        assert_eq!(shown, usize::from(completed), "never two, never a lost one");
        let failed = attempts.iter().filter(|order| order.failure.is_some()).count();
        assert_eq!((failed, failed + shown), (stored.attempts.failed() as usize, attempts.len()));
        assert!(attempts.len() <= 5);
        let ids: std::collections::BTreeSet<_> = attempts.iter().filter_map(|order| order.attempt_id).collect();
        assert_eq!(ids.len(), attempts.len());
        let open: Vec<Operation> = harness.payments.list_open_operations(10).await.unwrap();
        assert_eq!(open, vec![]);
        let told = harness.count("outbox_event", &format!("payment_id = '{}'", session.id));
        assert_eq!(told, if completed { 2 } else { 1 }, "a failed attempt tells nothing");
    }
}
