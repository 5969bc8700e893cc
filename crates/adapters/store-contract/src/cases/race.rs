//! Many at once: one wins, all others learn it, and what is stored is what the winner wrote.

use std::sync::Arc;

use dropin_money::Currency;
use dropin_order::RefundState;
use dropin_ports::{
    AuthorizationPrepared, Changed, Inserted, KeyUse, NewSession, OrderChanged, PaymentStore, Replaced, RequestKey,
    SessionStore, Settled,
};
use dropin_session::{Session, SessionStateKind};

use crate::Harness;
use crate::harness::{approval, capture, changing};
use crate::steps::{checkout, refund, refunded, void};
use crate::values::{at, event, minor, new_session, of_session, replacement, terms, terms_with};

/// Waits for all of `racers`, which were spawned before any is awaited.
async fn results<T>(racers: Vec<tokio::task::JoinHandle<T>>) -> Vec<T> {
    let mut all = vec![];
    for racer in racers {
        all.push(racer.await.unwrap());
    }
    all
}

fn cancel(sessions: Arc<dyn SessionStore>, session: &Session) -> tokio::task::JoinHandle<bool> {
    let (change, _) = session.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let told = event(session, "SESSION_CANCELLED", at(5));
    tokio::spawn(async move {
        sessions.change_session(changing(change, history, vec![told])).await.unwrap() == Changed::Done
    })
}

fn replace(sessions: Arc<dyn SessionStore>, session: &Session) -> tokio::task::JoinHandle<bool> {
    let replacement = replacement(session, terms());
    tokio::spawn(async move { sessions.replace_session(replacement).await.unwrap() == Replaced::Done })
}

async fn submit(harness: &Harness, session: &Session) -> tokio::task::JoinHandle<bool> {
    let stash = harness.stashed(session.merchant_id).await;
    let prepare = harness.submit(session, &stash.key, at(5));
    let payments: Arc<dyn PaymentStore> = harness.payments.clone();
    tokio::spawn(async move {
        match payments.prepare_authorization(prepare).await.unwrap() {
            AuthorizationPrepared::Done(_) => true,
            AuthorizationPrepared::Stale => false,
            other => panic!("everybody has a stash entry of their own, and nobody a key: {other:?}"),
        }
    })
}

fn winners(results: &[bool]) -> usize {
    results.iter().filter(|won| **won).count()
}

pub async fn of_many_cancels_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for racers in [8, 64] {
        let session = harness.session(merchant.id).await;
        let all = results((0..racers).map(|_| cancel(harness.sessions.clone(), &session)).collect()).await;
        assert_eq!(winners(&all), 1);
        assert_eq!(harness.count("outbox_event", &format!("payment_id = '{}'", session.id)), 1);
        assert_eq!(harness.count("history", &format!("subject_id = '{}'", session.id)), 2);
    }
}

pub async fn of_replacement_and_submit_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..8 {
        let session = harness.session(merchant.id).await;
        let mut racers = vec![];
        for _ in 0..4 {
            racers.push(submit(&harness, &session).await);
            racers.push(replace(harness.sessions.clone(), &session));
        }
        assert_eq!(winners(&results(racers).await), 1);
        let stored = harness.sessions.find_session_for_shopper(session.id).await.unwrap().unwrap();
        assert_eq!(stored.session.revision, session.revision.next());
        match stored.session.state.kind() {
            // Whoever pays, pays what was shown.
            SessionStateKind::Processing => assert_eq!(stored.order.unwrap().total, session.terms.total),
            _ => assert_ne!(stored.session.terms.merchant_reference, session.terms.merchant_reference),
        }
    }
}

pub async fn of_cancel_and_submit_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..8 {
        let session = harness.session(merchant.id).await;
        let mut racers = vec![];
        for _ in 0..4 {
            racers.push(submit(&harness, &session).await);
            racers.push(cancel(harness.sessions.clone(), &session));
        }
        let all = results(racers).await;
        assert_eq!(winners(&all), 1);
        let submitted = harness.stored(session.id).await.state.kind() == SessionStateKind::Processing;
        assert_eq!(harness.count("purchase_order", &format!("session_id = '{}'", session.id)), usize::from(submitted));
        assert_eq!(harness.count("stash", "1 = 1"), 4 - usize::from(submitted), "the losers keep their cards");
        harness.stash.purge_stash(at(9_999), 100).await.unwrap();
    }
}

pub async fn of_many_submits_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for number in [8, 32] {
        let session = harness.session(merchant.id).await;
        let mut racers = vec![];
        for _ in 0..number {
            racers.push(submit(&harness, &session).await);
        }
        assert_eq!(winners(&results(racers).await), 1);
        assert_eq!(harness.count("purchase_order", &format!("session_id = '{}'", session.id)), 1);
    }
    assert_eq!(harness.count("processor_op", "1 = 1"), 2);
    // One card for two Sessions at once: one is paid.
    let (one, two) = (harness.session(merchant.id).await, harness.session(merchant.id).await);
    let stash = harness.stashed(merchant.id).await;
    let pay = |session: &Session| {
        let (payments, prepare) = (harness.payments.clone(), harness.submit(session, &stash.key, at(5)));
        tokio::spawn(async move { payments.prepare_authorization(prepare).await.unwrap() })
    };
    let all = results(vec![pay(&one), pay(&two)]).await;
    assert_eq!(all.iter().filter(|one| matches!(one, AuthorizationPrepared::Done(_))).count(), 1);
    assert_eq!(all.iter().filter(|one| matches!(one, AuthorizationPrepared::StashMissing)).count(), 1);
}

pub async fn of_many_settlements_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for number in [8, 32] {
        let payment = harness.submitted(merchant.id).await;
        let settle = |_| {
            let (payments, settlement) = (harness.payments.clone(), approval(&payment));
            tokio::spawn(async move { payments.settle(settlement).await.unwrap() })
        };
        let all = results((0..number).map(settle).collect()).await;
        assert_eq!(all.iter().filter(|settled| **settled == Settled::Done).count(), 1);
        assert_eq!(all.iter().filter(|settled| **settled == Settled::AlreadySettled).count(), number - 1);
        let session = payment.session.unwrap().id;
        assert_eq!(harness.count("outbox_event", &format!("payment_id = '{session}'")), 2);
        assert_eq!(harness.count("ledger_posting", &format!("order_id = '{}'", payment.order.id)), 1);
    }
}

pub async fn of_many_sessions_one_gets_the_reference(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let reference = terms().merchant_reference.clone();
    let insert = |_| {
        let terms = terms_with(|terms| terms.merchant_reference = reference.clone());
        let session = new_session(merchant.id, terms);
        let history = of_session(&session, "CREATE", at(0));
        let sessions = harness.sessions.clone();
        tokio::spawn(
            async move { sessions.insert_session(NewSession { session, history, response: None }).await.unwrap() },
        )
    };
    let all = results((0..32).map(insert).collect()).await;
    assert_eq!(all.iter().filter(|inserted| **inserted == Inserted::Done).count(), 1);
    assert_eq!(harness.count("session", "1 = 1"), 1);
    assert_eq!(harness.count("billing_profile", "1 = 1"), 1);
}

pub async fn of_many_captures_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let ask = |_| {
        let (payments, change) = (harness.payments.clone(), capture(&payment, None, at(30)).into());
        tokio::spawn(async move { payments.change_order(change).await.unwrap() == OrderChanged::Done })
    };
    assert_eq!(winners(&results((0..32).map(ask).collect()).await), 1);
    let order = harness.find_order(merchant.id, payment.order.id).await.unwrap().unwrap();
    assert_eq!(order.amounts.capture_pending(), &order.total);
    assert_eq!(harness.count("processor_op", "kind = 'CAPTURE'"), 1);
}

pub async fn of_captures_and_voids_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..8 {
        let payment = harness.authorized(merchant.id).await;
        let ask = |number: usize| {
            let asking =
                if number.is_multiple_of(2) { capture(&payment, None, at(30)) } else { void(&payment, at(30)) };
            let (payments, change) = (harness.payments.clone(), asking.into());
            tokio::spawn(async move { payments.change_order(change).await.unwrap() == OrderChanged::Done })
        };
        assert_eq!(winners(&results((0..32).map(ask).collect()).await), 1);
        let order = harness.find_order(merchant.id, payment.order.id).await.unwrap().unwrap();
        assert_eq!(order.voiding.is_some(), order.amounts.capture_pending().is_zero(), "one of the two");
        let endings = format!("order_id = '{}' AND kind <> 'AUTHORIZE'", order.id);
        assert_eq!(harness.count("processor_op", &endings), 1);
    }
}

/// Everybody wants more than half, and decides again whenever another was faster.
pub async fn of_many_refunds_one_gets_the_last_money(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let share = minor(Currency::Usd, 1_496);
    let racer = |number: usize| {
        let (harness, operation, share) = (harness.clone(), payment.operation.id, share);
        tokio::spawn(async move {
            loop {
                let current = harness.payment(operation).await;
                if current.order.plan_refund(Some(&share), at(40)).is_err() {
                    return false;
                }
                let asked = refund(&current, &format!("return-{number}"), Some(&share), at(40));
                if harness.ask(&asked).await.unwrap() == OrderChanged::Done {
                    return true;
                }
            }
        })
    };
    assert_eq!(winners(&results((0..32).map(racer).collect()).await), 1);
    assert_eq!(["refund", "processor_op"].map(|table| harness.count(table, "1 = 1")), [1, 3]);
    let order = harness.find_order(merchant.id, payment.order.id).await.unwrap().unwrap();
    assert_eq!(order.amounts.refund_pending(), &share);
}

/// One revision, one reference: whoever repeats a refund at the same moment begins no second one.
pub async fn of_many_refunds_with_one_reference_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let one = minor(Currency::Usd, 1);
    let racer = |_| {
        let (harness, operation, one) = (harness.clone(), payment.operation.id, one);
        tokio::spawn(async move {
            loop {
                let current = harness.payment(operation).await;
                match harness.ask(&refund(&current, "return", Some(&one), at(40))).await.unwrap() {
                    OrderChanged::Stale => {}
                    decided => return decided,
                }
            }
        })
    };
    let all = results((0..32).map(racer).collect()).await;
    assert_eq!(all.iter().filter(|one| **one == OrderChanged::Done).count(), 1);
    assert_eq!(all.iter().filter(|one| **one == OrderChanged::DuplicateRefund).count(), 31);
    let order = harness.find_order(merchant.id, payment.order.id).await.unwrap().unwrap();
    assert_eq!((order.amounts.refund_pending(), harness.count("refund", "1 = 1")), (&one, 1));
}

pub async fn of_many_checkouts_one_gets_the_reference(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for (round, with_key) in [false, true].into_iter().enumerate() {
        let pay = |_| {
            let mut prepare = checkout(merchant.id, &format!("checkout-{round}"), at(10));
            let key = RequestKey { merchant_id: merchant.id, digest: [7; 32] };
            let key_use = KeyUse { key, fingerprint: [8; 32], at: at(10), until: at(99) };
            prepare.key_use = with_key.then_some(key_use);
            let payments = harness.payments.clone();
            tokio::spawn(async move { payments.prepare_authorization(prepare).await.unwrap() })
        };
        let all = results((0..32).map(pay).collect()).await;
        assert_eq!(all.iter().filter(|one| matches!(one, AuthorizationPrepared::Done(None))).count(), 1);
        let lost = |one: &&AuthorizationPrepared| match one {
            AuthorizationPrepared::KeyTaken => with_key,
            AuthorizationPrepared::DuplicateReference => !with_key,
            _ => false,
        };
        assert_eq!(all.iter().filter(lost).count(), 31, "{all:?}");
        assert_eq!(["purchase_order", "checkout"].map(|table| harness.count(table, "1 = 1")), [round + 1; 2]);
    }
}

/// The same answer of the processor, brought by the call and by the settler at once, thirty-two times each way.
pub async fn of_many_outcomes_of_a_refund_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let begun = harness.refunding(&harness.processed(merchant.id).await, "return", None).await;
    let settle = |number: usize| {
        let (payments, settlement) = (harness.payments.clone(), refunded(&begun, number.is_multiple_of(2), at(50)));
        tokio::spawn(async move { payments.settle(settlement).await.unwrap() })
    };
    let all = results((0..64).map(settle).collect()).await;
    assert_eq!(all.iter().filter(|settled| **settled == Settled::Done).count(), 1);
    assert_eq!(all.iter().filter(|settled| **settled == Settled::AlreadySettled).count(), 63);
    let found = harness.payment(begun.operation.id).await;
    let succeeded = found.refund.unwrap().state == RefundState::Succeeded;
    assert_eq!(found.order.amounts.refunded().is_zero(), !succeeded);
    assert!(found.order.amounts.refund_pending().is_zero());
    assert_eq!(harness.count("ledger_posting", "1 = 1"), 2 + usize::from(succeeded));
}
