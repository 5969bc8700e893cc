use std::sync::Arc;

use dropin_kernel::{MerchantId, OpId, OrderId};
use dropin_money::Currency;
use dropin_order::{OpState, Operation, OrderState};
use dropin_ports::{
    AuthorizationPrepared, Changed, OrderChanged, Payment, Settled, Settlement, StoreError, StoredResponse,
};
use dropin_session::SessionState;

use crate::Harness;
use crate::harness::{approval, capture, captured, outcome};
use crate::values::edit;
use crate::values::{at, audited, event, fresh, full_terms, minor, of_order, posting, text};

pub async fn an_authorization_is_prepared_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session_with(merchant.id, full_terms()).await;
    let stash = harness.stashed(merchant.id).await;
    let prepare = harness.submit(&session, &stash.key, at(10));
    let expected = Payment {
        operation: prepare.operation.clone(),
        order: prepare.order.clone(),
        session: prepare.session.clone().map(|change| change.next),
        refund: None,
        contract: None,
        is_charge: false,
    };
    let prepared = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(prepared, AuthorizationPrepared::Done(Some(card)) if card == stash.sealed));
    assert_eq!(harness.payments.find_payment(expected.operation.id).await, Ok(Some(expected.clone())));
    let found = harness.sessions.find_session_for_shopper(session.id).await.unwrap().unwrap();
    assert_eq!((Some(found.session), found.order), (expected.session, Some(expected.order)));
    assert_eq!(harness.count("history", "1 = 1"), 3);
    assert_eq!(harness.count("stash", "1 = 1"), 0);
    assert_eq!(harness.payments.find_payment(OpId::new(fresh())).await, Ok(None));
}

pub async fn a_stash_entry_is_consumed_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stash = harness.stashed(merchant.id).await;
    let (first, second) = (harness.session(merchant.id).await, harness.session(merchant.id).await);
    let done = harness.payments.prepare_authorization(harness.submit(&first, &stash.key, at(10))).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(_)));
    assert_eq!(harness.stash.peek_stash(&stash.key, at(10)).await, Ok(None));
    let missing = harness.payments.prepare_authorization(harness.submit(&second, &stash.key, at(10))).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    assert_eq!(harness.stored(second.id).await, second);
}

pub async fn an_expired_stash_entry_is_missing(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stash = harness.stashed(merchant.id).await;
    let session = harness.session(merchant.id).await;
    let prepare = harness.submit(&session, &stash.key, stash.expires_at);
    let missing = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
    assert_eq!(harness.stash.peek_stash(&stash.key, stash.expires_at).await, Ok(None));
    let just_before = dropin_kernel::Timestamp::from_micros(stash.expires_at.micros() - 1);
    let done = harness.payments.prepare_authorization(harness.submit(&session, &stash.key, just_before)).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(_)), "{done:?}");
}

pub async fn a_missing_stash_entry_changes_nothing(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let session = harness.session(merchant.id).await;
    let stash = harness.stashed(merchant.id).await;
    let mut elsewhere = stash.key.clone();
    elsewhere.fingerprint = "another browser".to_owned();
    let mut foreign = harness.stashed(other.id).await.key;
    foreign.stash_id = stash.key.stash_id.clone();
    for key in [elsewhere, foreign] {
        let prepare = harness.submit(&session, &key, at(10));
        let (order, operation) = (prepare.order.id, prepare.operation.id);
        let missing = harness.payments.prepare_authorization(prepare).await.unwrap();
        assert!(matches!(missing, AuthorizationPrepared::StashMissing), "{missing:?}");
        assert_eq!(harness.payments.find_payment(operation).await, Ok(None));
        assert_eq!(harness.count("purchase_order", &format!("id = '{order}'")), 0);
    }
    assert_eq!(harness.stored(session.id).await, session);
    assert_eq!(harness.count("history", "1 = 1"), 1);
}

pub async fn stale_wins_over_a_missing_stash_entry(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let stash = harness.stashed(merchant.id).await;
    assert_eq!(harness.cancel(&session).await, Changed::Done);
    let mut unseen = stash.key.clone();
    unseen.stash_id = "unseen".to_owned();
    for key in [&unseen, &stash.key] {
        let stale = harness.payments.prepare_authorization(harness.submit(&session, key, at(10))).await.unwrap();
        assert!(matches!(stale, AuthorizationPrepared::Stale), "{stale:?}");
    }
    assert!(harness.stash.peek_stash(&stash.key, at(10)).await.unwrap().is_some(), "the entry is still there");
    assert_eq!(harness.count("purchase_order", "1 = 1"), 0);
}

pub async fn an_outcome_is_settled_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let mut settlement = approval(&payment);
    let order = settlement.order.clone().unwrap().next;
    let session = settlement.session.clone().unwrap().next;
    let capture = payment.operation.capture(OpId::new(fresh()), order.total, at(20), at(30));
    settlement.follow_up = Some(capture.clone());
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let settled = harness.payments.find_payment(payment.operation.id).await.unwrap().unwrap();
    assert_eq!((settled.order, settled.session), (order.clone(), Some(session)));
    assert_eq!(settled.operation, Operation { state: OpState::Approved, due_at: at(20), ..payment.operation });
    assert_eq!(harness.payments.list_operations(order.id).await, Ok(vec![settled.operation, capture]));
    assert_eq!(harness.find_order(merchant.id, order.id).await, Ok(Some(order)));
    assert_eq!(harness.count("ledger_posting", "1 = 1"), 1);
    assert_eq!(harness.count("outbox_event", "1 = 1"), 2);
    assert_eq!(harness.count("history", "1 = 1"), 5);
}

pub async fn settling_twice_is_harmless(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let first = approval(&payment);
    let again = approval(&payment);
    assert_eq!(harness.payments.settle(first.clone()).await, Ok(Settled::Done));
    let settled = harness.payments.find_payment(payment.operation.id).await.unwrap();
    assert_eq!(harness.payments.settle(first).await, Ok(Settled::AlreadySettled), "the very same settlement");
    assert_eq!(harness.payments.settle(again).await, Ok(Settled::AlreadySettled), "another about the same");
    let late = outcome(payment.operation.id, OpState::Declined, at(40));
    assert_eq!(harness.payments.settle(late).await, Ok(Settled::AlreadySettled), "another outcome");
    assert_eq!(harness.payments.find_payment(payment.operation.id).await.unwrap(), settled);
    assert_eq!(harness.count("ledger_posting", "1 = 1") + harness.count("outbox_event", "1 = 1"), 3);
}

pub async fn a_stale_settlement_undoes_everything(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let mut wrong_order = approval(&payment);
    let mut order = wrong_order.order.clone().unwrap();
    order.expected = order.next.revision;
    edit(&mut order.next, |order| order.revision = order.revision.next());
    wrong_order.order = Some(order);
    let mut wrong_session = approval(&payment);
    let mut session = wrong_session.session.clone().unwrap();
    session.expected = session.next.revision;
    session.next = session.next.clone().at_revision(session.expected.next());
    wrong_session.session = Some(session);
    let written = || {
        ["ledger_posting", "outbox_event", "outbox_stream", "audit_log", "processor_op", "history"]
            .map(|table| harness.count(table, "1 = 1"))
    };
    let before = written();
    for mut stale in [wrong_order, wrong_session] {
        stale.audit = Some(audited());
        stale.follow_up = Some(payment.operation.void(OpId::new(fresh()), at(20), at(30)));
        assert_eq!(harness.payments.settle(stale).await, Ok(Settled::Stale));
        assert_eq!(harness.payments.find_payment(payment.operation.id).await, Ok(Some(payment.clone())));
    }
    assert_eq!(written(), before);
    assert_eq!(harness.payments.settle(approval(&payment)).await, Ok(Settled::Done), "the operation is still open");
}

pub async fn an_open_outcome_stays_due(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    for (state, due) in [(OpState::Pending, 100), (OpState::Unknown, 200), (OpState::Pending, 300)] {
        let look_again = outcome(payment.operation.id, state, at(due));
        assert_eq!(harness.payments.settle(look_again).await, Ok(Settled::Done));
        let found = harness.payments.find_payment(payment.operation.id).await.unwrap().unwrap();
        assert_eq!(found.operation, Operation { state, due_at: at(due), ..payment.operation.clone() });
    }
    assert_eq!(harness.payments.claim_due_operations(at(299), at(400), 10).await, Ok(vec![]));
    assert_eq!(harness.payments.claim_due_operations(at(300), at(400), 10).await.unwrap().len(), 1);
}

pub async fn an_order_is_hidden_until_it_is_shown(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(None), "no outcome yet");
    let now = at(20);
    let reason = dropin_order::FailureReason::Stopped;
    let step = payment.order.refused(reason, now).unwrap();
    let session = payment.session.as_ref().unwrap();
    let (failed, _) = session.as_processing().unwrap().attempt_failed(reason, now);
    let mut settlement = outcome(payment.operation.id, OpState::Declined, now);
    settlement.events = vec![event(session, "SESSION_FAILED", now)];
    settlement.history = vec![of_order(&step.change.next, "REFUSED", now)];
    (settlement.order, settlement.session) = (Some(step.change), Some(failed));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(None), "refused inside its Session");
    let found = harness.sessions.find_session(merchant.id, session.id).await.unwrap().unwrap();
    assert!(matches!(found.session.state, SessionState::Failed { reason: found, .. } if found == reason));
    assert_eq!(found.order.map(|order| order.state), Some(OrderState::ProcessingFailed));
}

pub async fn captures_are_asked_for_and_settled(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let half = minor(Currency::Usd, 1_500);
    let first = capture(&payment, Some(&half), at(30));
    assert_eq!(harness.ask(&first).await, Ok(OrderChanged::Done));
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(first.order.next.clone())));
    let late = capture(&payment, Some(&half), at(30));
    assert_eq!(harness.ask(&late).await, Ok(OrderChanged::Stale), "decided on an old revision");
    // Refused for now: the reservation is released, and another one may follow.
    let step = first.order.next.capture_refused(&half, true, posting(), at(31)).unwrap();
    let mut refused = outcome(first.operation.id, OpState::Declined, at(31));
    refused.order = Some(step.change);
    assert_eq!(harness.payments.settle(refused).await, Ok(Settled::Done));
    let payment = harness.payment(payment.operation.id).await;
    let second = capture(&payment, None, at(29));
    assert_eq!(harness.ask(&second).await, Ok(OrderChanged::Done));
    let (change, ledger) = captured(&second.order.next, &second.operation, at(33));
    let processed = change.next.clone();
    let mut approved = outcome(second.operation.id, OpState::Approved, at(33));
    (approved.order, approved.ledger) = (Some(change), ledger);
    assert_eq!(harness.payments.settle(approved).await, Ok(Settled::Done));
    assert_eq!(harness.find_order(merchant.id, processed.id).await, Ok(Some(processed.clone())));
    assert_eq!(processed.amounts.captured(), &processed.total);
    // In the order they were written down, whatever their clocks say.
    let listed = harness.payments.list_operations(processed.id).await.unwrap();
    let known: Vec<_> = listed.iter().map(|one| (one.id, one.state)).collect();
    let approved = |id| (id, OpState::Approved);
    let refused = (first.operation.id, OpState::Declined);
    assert_eq!(known, [approved(payment.operation.id), refused, approved(second.operation.id)]);
    assert_eq!(harness.payments.list_operations(OrderId::new(fresh())).await, Ok(vec![]));
}

pub async fn one_capture_at_a_time(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let first = capture(&payment, Some(&minor(Currency::Usd, 1_000)), at(30));
    assert_eq!(harness.ask(&first).await, Ok(OrderChanged::Done));
    // A defect of ours that would start a second one is stopped by the database, and nothing of it stays.
    let mut second = capture(&payment, Some(&minor(Currency::Usd, 1_000)), at(31));
    second.order.expected = first.order.next.revision;
    edit(&mut second.order.next, |order| order.revision = first.order.next.revision.next());
    let refused = harness.ask(&second).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(first.order.next)));
}

pub async fn settling_what_does_not_exist_is_refused(harness: Arc<Harness>) {
    let refused = harness.payments.settle(outcome(OpId::new(fresh()), OpState::Approved, at(1))).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    // A Session of a merchant that does not exist breaks a foreign key: a defect, told without any stored value.
    let session = crate::values::new_session(
        MerchantId::new(fresh()),
        full_terms().edited(|terms| terms.merchant_reference = text("secret-reference")).unwrap(),
    );
    let history = crate::values::of_session(&session, "CREATE", at(0));
    let refused = harness.sessions.insert_session(dropin_ports::NewSession { session, history, response: None }).await;
    let Err(StoreError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(!why.contains("secret-reference"), "{why}");
}

pub async fn an_outcome_moves_no_other_order(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (mine, other) = (harness.submitted(merchant.id).await, harness.submitted(merchant.id).await);
    // An answer that somebody waits for keeps it out of the statement that payments share.
    for answer in [None, Some(StoredResponse { status: 200, etag: None, body: vec![] })] {
        let settlement = Settlement { operation: mine.operation.id, answer, ..approval(&other) };
        let refused = harness.payments.settle(settlement).await;
        assert!(matches!(&refused, Err(StoreError::Refused(why)) if why.contains("another Order's")), "{refused:?}");
        for payment in [&mine, &other] {
            let found = harness.payments.find_payment(payment.operation.id).await.unwrap();
            assert_eq!(found.as_ref(), Some(payment), "nothing is written");
        }
    }
    assert_eq!(harness.payments.settle(approval(&mine)).await, Ok(Settled::Done));
}
