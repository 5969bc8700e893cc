use std::sync::Arc;

use dropin_kernel::{AttemptId, BillingProfileId, Change, MerchantId, OrderId, Revision, SessionId, Timestamp};
use dropin_order::FailureReason;
use dropin_ports::{Changed, Inserted, Replaced, SessionWithOrder, StoreError};
use dropin_session::{Attempts, BillingChoice, CancelReason, FailedAttempt, Session, SessionState};

use crate::Harness;
use crate::harness::changing;
use crate::values::{
    at, edited, event, fresh, full_terms, insertable, new_session, of_session, profile, replacement, terms, terms_with,
    text,
};

async fn found(harness: &Harness, session: &Session) -> SessionWithOrder {
    harness.sessions.find_session(session.merchant_id, session.id).await.unwrap().unwrap()
}

pub async fn terms_come_back_equal(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session_with(merchant.id, full_terms()).await;
    assert_eq!(session.terms.total.minor(), 999_999_999_999_997, "as much as a sum can be, less the discount");
    assert_eq!(found(&harness, &session).await, SessionWithOrder { session: session.clone(), order: None });
    assert_eq!(harness.stored(session.id).await, session);
}

pub async fn the_smallest_session_comes_back_equal(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    // Given, but empty, is not the same as not given.
    let terms = terms_with(|terms| terms.discounts = Some(vec![]));
    let session = harness.session_with(merchant.id, terms).await;
    assert_eq!(harness.stored(session.id).await, session);
}

pub async fn every_state_comes_back_equal(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let attempt = AttemptId::new(fresh());
    let mut states: Vec<Box<dyn Fn(OrderId) -> SessionState>> = vec![
        Box::new(|_| SessionState::Created),
        Box::new(move |order| SessionState::Processing { order, attempt }),
        Box::new(move |order| SessionState::Redirected { order, attempt }),
        Box::new(move |order| SessionState::Completed { order, attempt }),
        Box::new(|_| SessionState::Cancelled { reason: CancelReason::Merchant }),
        Box::new(|_| SessionState::Cancelled { reason: CancelReason::Expired }),
    ];
    for reason in FailureReason::ALL {
        states.push(Box::new(move |order| SessionState::Failed { order, attempt, reason }));
    }
    for state in states {
        let payment = harness.submitted(merchant.id).await;
        let session = payment.session.unwrap();
        let state = state(payment.order.id);
        let attempts = match state {
            SessionState::Failed { attempt, reason, .. } => {
                let last_failed = Some(FailedAttempt { attempt, reason });
                Attempts::restore(1, session.attempts.allowed(), last_failed).unwrap()
            }
            _ => session.attempts,
        };
        let next = edited(&session, |parts| (parts.state, parts.attempts) = (state, attempts));
        let next = next.at_revision(session.revision.next());
        let change = Change { next: next.clone(), expected: session.revision };
        let history = of_session(&next, "TEST", at(6));
        assert_eq!(harness.sessions.change_session(changing(change, history, vec![])).await, Ok(Changed::Done));
        let order = next.state.order().map(|_| payment.order);
        assert_eq!(found(&harness, &next).await, SessionWithOrder { session: next, order });
    }
}

pub async fn instants_keep_their_microseconds(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let edges = [
        0,
        -1,
        1,
        999_999,
        1_000_000,
        946_684_799_999_999,
        946_684_800_000_000,
        // The first and the last microsecond that ISO 8601 can show.
        -62_135_596_800_000_000,
        253_402_300_799_999_999,
    ];
    for micros in edges {
        let instant = Timestamp::from_micros(micros);
        let session = new_session(merchant.id, terms());
        let session = edited(&session, |parts| (parts.created_at, parts.expires_at) = (instant, instant));
        assert_eq!(harness.insert(&session).await, Inserted::Done);
        assert_eq!(harness.stored(session.id).await, session, "{micros}");
    }
    // The store takes the years 1 to 9999. After them no instant can be made.
    let session = new_session(merchant.id, terms());
    let session = edited(&session, |parts| (parts.created_at, parts.expires_at) = (Timestamp::MIN, Timestamp::MIN));
    let history = of_session(&session, "CREATE", at(0));
    let refused = harness.sessions.insert_session(dropin_ports::NewSession { session, history, response: None }).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
}

pub async fn a_reference_is_unique_per_merchant(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let first = harness.session(merchant.id).await;
    let same = terms_with(|terms| terms.merchant_reference = first.terms.merchant_reference.clone());
    let second = new_session(merchant.id, same.clone());
    assert_eq!(harness.insert(&second).await, Inserted::DuplicateReference);
    assert_eq!(harness.sessions.find_session_for_shopper(second.id).await, Ok(None));
    assert_eq!(
        harness.sessions.find_profile(merchant.id, same.billing.id).await,
        Ok(None),
        "half a Session was written"
    );
    assert_eq!(harness.count("history", &format!("subject_id = '{}'", second.id)), 0);
    // The merchant beside is free to use it.
    let elsewhere = new_session(other.id, same.edited(|terms| terms.billing = profile(None)).unwrap());
    assert_eq!(harness.insert(&elsewhere).await, Inserted::Done);
}

pub async fn a_session_that_is_written_already_is_done(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let new = insertable(merchant.id);
    for _ in 0..3 {
        // As after a connection that was lost with the answer.
        assert_eq!(harness.sessions.insert_session(new.clone()).await, Ok(Inserted::Done));
    }
    for table in ["session", "billing_profile", "merchant_reference", "history"] {
        assert_eq!(harness.count(table, "1 = 1"), 1, "{table}");
    }
    assert_eq!(harness.stored(new.session.id).await, new.session);
}

pub async fn a_reference_is_never_freed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let first = session.terms.merchant_reference.clone();
    let replaced = replacement(&session, terms_with(|terms| terms.merchant_reference = text("second")));
    assert_eq!(harness.sessions.replace_session(replaced).await, Ok(Replaced::Done));
    let taken =
        |reference: &str| new_session(merchant.id, terms_with(|terms| terms.merchant_reference = text(reference)));
    for reference in [first.as_str(), "second"] {
        assert_eq!(harness.insert(&taken(reference)).await, Inserted::DuplicateReference, "{reference}");
    }
    let session = harness.stored(session.id).await;
    let back = replacement(&session, terms_with(|terms| terms.merchant_reference = first.clone()));
    assert_eq!(harness.sessions.replace_session(back).await, Ok(Replaced::Done), "it is still the Session's own");
    let session = harness.stored(session.id).await;
    assert_eq!(harness.cancel(&session).await, Changed::Done);
    for reference in [first.as_str(), "second"] {
        assert_eq!(harness.insert(&taken(reference)).await, Inserted::DuplicateReference, "{reference} after the end");
    }
    // A replacement that wants somebody else's reference changes nothing.
    let third = harness.session(merchant.id).await;
    let greedy = replacement(&third, terms_with(|terms| terms.merchant_reference = first));
    let profile = greedy.change.next.terms.billing.id;
    assert_eq!(harness.sessions.replace_session(greedy).await, Ok(Replaced::DuplicateReference));
    assert_eq!(harness.stored(third.id).await, third);
    assert_eq!(harness.sessions.find_profile(merchant.id, profile).await, Ok(None));
}

pub async fn a_replacement_leaves_nothing_of_the_old_terms(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session_with(merchant.id, full_terms()).await;
    let mut replaced = replacement(&session, terms());
    replaced.change.next = edited(&replaced.change.next, |parts| parts.expires_at = at(90_000));
    let next = replaced.change.next.clone();
    assert_eq!(harness.sessions.replace_session(replaced).await, Ok(Replaced::Done));
    assert_eq!(harness.stored(session.id).await, next);
    assert_eq!(next.revision, Revision::new(2));
    assert_eq!(
        harness.sessions.find_profile(merchant.id, next.terms.billing.id).await,
        Ok(Some(next.terms.billing.clone()))
    );
    assert_eq!(harness.count("history", &format!("subject_id = '{}'", session.id)), 2);
}

pub async fn a_stale_change_writes_nothing(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let replaced = replacement(&session, terms());
    let stored = replaced.change.next.clone();
    assert_eq!(harness.sessions.replace_session(replaced).await, Ok(Replaced::Done));
    let stale = replacement(&session, terms());
    let profile = stale.change.next.terms.billing.id;
    let reference = stale.change.next.terms.merchant_reference.clone();
    assert_eq!(harness.sessions.replace_session(stale).await, Ok(Replaced::Stale));
    let (change, _) = session.as_created().unwrap().cancel(at(7));
    let told = event(&session, "SESSION_CANCELLED", at(7));
    let history = of_session(&change.next, "CANCEL", at(7));
    assert_eq!(harness.sessions.change_session(changing(change, history, vec![told])).await, Ok(Changed::Stale));
    assert_eq!(harness.stored(session.id).await, stored);
    assert_eq!(harness.sessions.find_profile(merchant.id, profile).await, Ok(None));
    assert_eq!(harness.count("history", "1 = 1"), 2);
    assert_eq!(harness.count("outbox_event", "1 = 1") + harness.count("outbox_stream", "1 = 1"), 0);
    assert_eq!(harness.count("merchant_reference", &format!("reference = '{reference}'")), 0);
}

pub async fn only_created_sessions_are_replaced(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    assert_eq!(harness.cancel(&session).await, Changed::Done);
    let cancelled = harness.stored(session.id).await;
    // The right revision, but not the right state.
    let mut replaced = replacement(&session, terms());
    replaced.change.expected = cancelled.revision;
    replaced.change.next = replaced.change.next.at_revision(cancelled.revision.next());
    assert_eq!(harness.sessions.replace_session(replaced).await, Ok(Replaced::Stale));
    assert_eq!(harness.stored(session.id).await, cancelled);
}

pub async fn a_change_counts_its_revision_up_by_one(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let (mut change, _) = session.as_created().unwrap().cancel(at(7));
    change.next = change.next.at_revision(Revision::new(7));
    let history = of_session(&change.next, "CANCEL", at(7));
    let refused = harness.sessions.change_session(changing(change, history, vec![])).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.stored(session.id).await, session);
}

pub async fn a_reference_names_the_newest_profile(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let reference = text("customer-1");
    let by_reference = |merchant: MerchantId| harness.sessions.find_profile_by_reference(merchant, &reference);
    assert_eq!(by_reference(merchant.id).await, Ok(None));
    let old = harness.session_with(merchant.id, full_terms()).await.terms.billing.clone();
    assert_eq!(by_reference(merchant.id).await, Ok(Some(old.clone())));
    let new = harness.session_with(merchant.id, full_terms()).await.terms.billing.clone();
    assert_eq!(by_reference(merchant.id).await, Ok(Some(new.clone())));
    // Used again by its reference or id, no new profile is made.
    let choice = BillingChoice::ByReference(reference.clone());
    let again = terms_with(|terms| (terms.billing_choice, terms.billing) = (choice, new.clone()));
    let again = harness.session_with(merchant.id, again).await;
    assert_eq!(harness.stored(again.id).await, again);
    let by_id = terms_with(|terms| (terms.billing_choice, terms.billing) = (BillingChoice::ById, old.clone()));
    let by_id = harness.session_with(merchant.id, by_id).await;
    assert_eq!(harness.stored(by_id.id).await, by_id);
    assert_eq!(harness.count("billing_profile", "1 = 1"), 2);
    assert_eq!(by_reference(merchant.id).await, Ok(Some(new)));
    assert_eq!(by_reference(other.id).await, Ok(None));
    assert_eq!(harness.sessions.find_profile(merchant.id, old.id).await, Ok(Some(old.clone())));
    assert_eq!(harness.sessions.find_profile(other.id, old.id).await, Ok(None));
}

pub async fn expired_sessions_come_oldest_first(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut sessions = vec![];
    for end in [300, 100, 200, 101] {
        let session = edited(&new_session(merchant.id, terms()), |parts| parts.expires_at = at(end));
        assert_eq!(harness.insert(&session).await, Inserted::Done);
        sessions.push(session);
    }
    let paid = harness.submitted_with(&edited(&sessions.remove(3), |parts| parts.expires_at = at(100))).await;
    assert!(paid.session.is_some());
    sessions.sort_by_key(|session| session.expires_at);
    let just_before = Timestamp::from_micros(at(200).micros() - 1);
    assert_eq!(harness.sessions.find_expired_sessions(just_before, 10).await, Ok(sessions[..1].to_vec()));
    assert_eq!(harness.sessions.find_expired_sessions(at(200), 10).await, Ok(sessions[..2].to_vec()));
    assert_eq!(harness.sessions.find_expired_sessions(at(900), 1).await, Ok(sessions[..1].to_vec()));
}

pub async fn another_merchant_finds_nothing(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let payment = harness.authorized(merchant.id).await;
    let session = payment.session.unwrap();
    assert_eq!(harness.sessions.find_session(other.id, session.id).await, Ok(None));
    assert_eq!(harness.sessions.find_session(merchant.id, SessionId::new(fresh())).await, Ok(None));
    assert_eq!(harness.sessions.find_profile(merchant.id, BillingProfileId::new(fresh())).await, Ok(None));
    assert_eq!(harness.find_order(other.id, payment.order.id).await, Ok(None));
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(payment.order)));
    // Nor is anything changed under another merchant's name.
    let own = harness.session(merchant.id).await;
    let foreign = edited(&own, |parts| parts.merchant_id = other.id);
    assert_eq!(harness.cancel(&foreign).await, Changed::Stale);
    assert_eq!(harness.sessions.replace_session(replacement(&foreign, terms())).await, Ok(Replaced::Stale));
    assert_eq!(harness.stored(own.id).await, own);
}
