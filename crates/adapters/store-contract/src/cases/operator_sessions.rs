use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_access::operator::{OperatorRights, SessionStage};
use dropin_kernel::{OperatorId, OperatorSessionId};
use dropin_ports::{
    AccountChanged, NewOperatorSession, OperatorChange, SecondFactor, SecondFactorUsed, SessionOpened, SessionsToEnd,
};

use super::operators::{act, active, code, phc, session};
use crate::Harness;
use crate::values::{at, fresh};

async fn open(harness: &Harness, new: &NewOperatorSession, password: &str, over: u64) -> SessionOpened {
    harness.operators.open_operator_session(new.clone(), phc(password), None, at(over), None).await.unwrap()
}

/// A sign-in that waits for its second factor.
async fn pending(harness: &Harness, operator: OperatorId) -> NewOperatorSession {
    let pending = session(operator, SessionStage::SecondFactor, 3);
    assert_eq!(open(harness, &pending, "first", 0).await, SessionOpened::Done);
    pending
}

async fn use_factor(
    harness: &Harness,
    old: &NewOperatorSession,
    new: &NewOperatorSession,
    factor: SecondFactor,
) -> SecondFactorUsed {
    let audit = act(AuditAction::OperatorSignIn);
    harness.operators.use_second_factor(old.session.id, new.clone(), factor, audit).await.unwrap()
}

pub async fn a_session_is_opened_for_the_password_that_was_compared(harness: Arc<Harness>) {
    active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, _) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let new = session(ben.id, SessionStage::SignedIn, 9);
    assert_eq!(open(&harness, &new, "other", 0).await, SessionOpened::Changed);
    // The one that it accepted in began at 2.
    assert_eq!(open(&harness, &new, "first", 2).await, SessionOpened::Done);
    assert_eq!(harness.operators.list_operator_sessions(ben.id).await, Ok(vec![new.session]));

    let rehashed = session(ben.id, SessionStage::SignedIn, 10);
    let opened = harness.operators.open_operator_session(rehashed, phc("first"), Some(phc("dearer")), at(0), None);
    assert_eq!(opened.await, Ok(SessionOpened::Done));
    let found = harness.operators.find_operator(ben.id).await.unwrap().unwrap();
    assert_eq!(found.credentials.password, Some(phc("dearer")));

    let disabled =
        harness.operators.change_operator(ben.id, OperatorChange::Disabled, act(AuditAction::OperatorRemove));
    disabled.await.unwrap();
    let late = session(ben.id, SessionStage::SignedIn, 11);
    assert_eq!(open(&harness, &late, "dearer", 0).await, SessionOpened::Changed);
}

pub async fn a_request_of_a_session_is_written_down(harness: Arc<Harness>) {
    let (_, new) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    for (seen, expected) in [(50, 50), (40, 50), (60, 60)] {
        harness.operators.touch_operator_session(new.session.id, at(seen)).await.unwrap();
        let (found, _) = harness.operators.find_operator_session(new.token).await.unwrap().unwrap();
        assert_eq!(found.seen_at, at(expected));
    }
    let unknown = OperatorSessionId::new(fresh());
    assert_eq!(harness.operators.touch_operator_session(unknown, at(1)).await, Ok(()));
    assert_eq!(harness.operators.find_operator_session(super::operators::token()).await, Ok(None));
}

pub async fn a_code_and_the_ones_before_it_are_used_once(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    // The code that it accepted with was of step 100.
    for (step, expected) in [
        (99, SecondFactorUsed::NotUsable),
        (100, SecondFactorUsed::NotUsable),
        (102, SecondFactorUsed::Done),
        (101, SecondFactorUsed::NotUsable),
        (102, SecondFactorUsed::NotUsable),
        (103, SecondFactorUsed::Done),
    ] {
        let old = pending(&harness, ana.id).await;
        let new = session(ana.id, SessionStage::SignedIn, 4);
        assert_eq!(use_factor(&harness, &old, &new, SecondFactor::Code { step }).await, expected, "{step}");
        let is_done = expected == SecondFactorUsed::Done;
        assert_eq!(harness.operators.find_operator_session(old.token).await.unwrap().is_none(), is_done);
        assert_eq!(harness.operators.find_operator_session(new.token).await.unwrap().is_some(), is_done);
    }
    assert_eq!(harness.count("audit_log", "action = 'OPERATOR_SIGN_IN'"), 2);
    let signed_in = session(ana.id, SessionStage::SignedIn, 4);
    assert_eq!(open(&harness, &signed_in, "first", 0).await, SessionOpened::Done);
    let again = session(ana.id, SessionStage::SignedIn, 4);
    let step = SecondFactor::Code { step: 200 };
    assert_eq!(use_factor(&harness, &signed_in, &again, step).await, SecondFactorUsed::SessionGone);
}

pub async fn of_many_who_use_a_factor_one_does(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    for factor in [SecondFactor::Code { step: 500 }, SecondFactor::RecoveryCode(code(1))] {
        let mut racers = vec![];
        for _ in 0..8 {
            let (old, new) = (pending(&harness, ana.id).await, session(ana.id, SessionStage::SignedIn, 4));
            let (harness, factor) = (harness.clone(), factor.clone());
            racers.push(tokio::spawn(async move { use_factor(&harness, &old, &new, factor).await }));
        }
        let mut done = 0;
        for racer in racers {
            done += usize::from(racer.await.unwrap() == SecondFactorUsed::Done);
        }
        assert_eq!(done, 1, "{factor:?}");
    }
    // Of one sign-in with two factors at once, too.
    let old = pending(&harness, ana.id).await;
    let mut racers = vec![];
    for factor in [SecondFactor::Code { step: 501 }, SecondFactor::RecoveryCode(code(2))] {
        let (harness, old, new) = (harness.clone(), old.clone(), session(ana.id, SessionStage::SignedIn, 4));
        racers.push(tokio::spawn(async move { use_factor(&harness, &old, &new, factor).await }));
    }
    let mut outcomes = vec![];
    for racer in racers {
        outcomes.push(racer.await.unwrap());
    }
    assert_eq!(outcomes.iter().filter(|one| **one == SecondFactorUsed::Done).count(), 1, "{outcomes:?}");
    let left = harness.operators.find_operator(ana.id).await.unwrap().unwrap().credentials.recovery_codes_left;
    assert!(left <= 1);
}

pub async fn wrong_codes_end_a_sign_in(harness: Arc<Harness>) {
    let (ana, _) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let old = pending(&harness, ana.id).await;
    for number in 1..=3 {
        assert!(harness.operators.find_operator_session(old.token).await.unwrap().is_some(), "{number}");
        let audit = act(AuditAction::OperatorSignInRefuse);
        harness.operators.refuse_second_factor(old.session.id, 3, audit).await.unwrap();
    }
    assert_eq!(harness.operators.find_operator_session(old.token).await, Ok(None));
    harness.operators.refuse_sign_in(act(AuditAction::OperatorSignInRefuse)).await.unwrap();
    assert_eq!(harness.count("audit_log", "action = 'OPERATOR_SIGN_IN_REFUSE'"), 4);
}

pub async fn sessions_are_listed_and_ended_by_their_operator(harness: Arc<Harness>) {
    let (ana, first) = active(&harness, "ana@shop.example", OperatorRights::owner()).await;
    let (ben, of_ben) = active(&harness, "ben@shop.example", OperatorRights::owner()).await;
    let (second, third) = (session(ana.id, SessionStage::SignedIn, 5), session(ana.id, SessionStage::SignedIn, 6));
    for new in [&second, &third] {
        assert_eq!(open(&harness, new, "first", 0).await, SessionOpened::Done);
    }
    let listed = vec![third.session.clone(), second.session, first.session.clone()];
    assert_eq!(harness.operators.list_operator_sessions(ana.id).await, Ok(listed));
    let end = |whose, which| harness.operators.end_operator_sessions(whose, which, act(AuditAction::OperatorSignOut));
    assert_eq!(end(ben.id, SessionsToEnd::One(first.session.id)).await, Ok(AccountChanged::Missing), "another's");
    assert_eq!(end(ana.id, SessionsToEnd::One(first.session.id)).await, Ok(AccountChanged::Done));
    assert_eq!(end(ana.id, SessionsToEnd::One(first.session.id)).await, Ok(AccountChanged::Missing));
    assert_eq!(end(ana.id, SessionsToEnd::AllBut(third.session.id)).await, Ok(AccountChanged::Done));
    assert_eq!(harness.operators.list_operator_sessions(ana.id).await, Ok(vec![third.session]));
    assert_eq!(harness.operators.list_operator_sessions(ben.id).await, Ok(vec![of_ben.session]));
}
