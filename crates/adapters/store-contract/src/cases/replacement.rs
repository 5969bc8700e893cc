//! Replacements of Sessions that wait at the same moment, which may share a statement: each is written whole or not at all.

use std::sync::Arc;

use dropin_ports::{
    AuthorizationPrepared, Changed, KeyRecord, KeyUse, ReplaceSession, Replaced, RequestKey, ResponseToStore,
    StoreError, StoredResponse,
};
use dropin_session::{BillingChoice, Session, SessionStateKind};
use tokio::task::JoinHandle;

use crate::Harness;
use crate::values::{at, profile, replacement, terms, terms_with};

/// How many Sessions are replaced at once.
const SESSION_COUNT: usize = 24;

async fn sessions(harness: &Harness) -> Vec<Session> {
    let (merchant, _) = harness.merchant().await;
    let mut sessions = vec![];
    for _ in 0..SESSION_COUNT {
        sessions.push(harness.session(merchant.id).await);
    }
    sessions
}

fn replace(harness: &Harness, replacement: &ReplaceSession) -> JoinHandle<Result<Replaced, StoreError>> {
    let (sessions, replacement) = (harness.sessions.clone(), replacement.clone());
    tokio::spawn(async move { sessions.replace_session(replacement).await })
}

/// Replaces all at once, and tells what came of each.
async fn replace_all(harness: &Harness, all: &[ReplaceSession]) -> Vec<Result<Replaced, StoreError>> {
    let mut results = vec![];
    for replacing in all.iter().map(|one| replace(harness, one)).collect::<Vec<_>>() {
        results.push(replacing.await.unwrap());
    }
    results
}

fn with_key(mut replacement: ReplaceSession, number: usize) -> ReplaceSession {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    let key = RequestKey { merchant_id: replacement.change.next.merchant_id, digest };
    let body = replacement.change.next.terms.merchant_reference.as_str().as_bytes().to_vec();
    replacement.response = Some(ResponseToStore {
        key_use: KeyUse { key, fingerprint: [7; 32], at: at(5), until: at(500) },
        answer: StoredResponse { status: 200, etag: Some("\"2\"".to_owned()), body },
    });
    replacement
}

/// A replacement that was written is there whole.
async fn expect_written(harness: &Harness, replacement: &ReplaceSession) {
    let next = &replacement.change.next;
    assert_eq!(harness.stored(next.id).await, *next);
    let profile = harness.sessions.find_profile(next.merchant_id, next.terms.billing.id).await;
    assert_eq!(profile, Ok(Some(next.terms.billing.clone())));
    let steps = format!("SELECT what AS value FROM history WHERE subject_id = '{}' ORDER BY position", next.id);
    assert_eq!(harness.raw.values(&steps), ["CREATE", "REPLACE"]);
    let reference = next.terms.merchant_reference.as_str();
    let owned = format!("reference = '{reference}' AND owner_kind = 'SESSION' AND owner_id = '{}'", next.id);
    assert_eq!(harness.count("merchant_reference", &owned), 1);
    if let Some(kept) = &replacement.response {
        let found = harness.responses.find_response(kept.key_use.key, at(5)).await.unwrap();
        assert_eq!(found, Some(KeyRecord { fingerprint: kept.key_use.fingerprint, answer: Some(kept.answer.clone()) }));
    }
}

/// Of one that was not, nothing is there.
async fn expect_nothing(harness: &Harness, replacement: &ReplaceSession) {
    let next = &replacement.change.next;
    assert_ne!(harness.stored(next.id).await, *next);
    assert_eq!(harness.sessions.find_profile(next.merchant_id, next.terms.billing.id).await, Ok(None));
    let reference = next.terms.merchant_reference.as_str();
    let owned = format!("reference = '{reference}' AND owner_id = '{}'", next.id);
    assert_eq!(harness.count("merchant_reference", &owned), 0);
}

pub async fn of_many_replacements_of_a_session_one_wins(harness: Arc<Harness>) {
    const REPLACEMENT_COUNT: usize = 4;
    let all: Vec<_> = sessions(&harness)
        .await
        .iter()
        .flat_map(|session| [(); REPLACEMENT_COUNT].map(|()| replacement(session, terms())))
        .collect();
    let results = replace_all(&harness, &all).await;
    for (of_session, results) in all.chunks(REPLACEMENT_COUNT).zip(results.chunks(REPLACEMENT_COUNT)) {
        let won = results.iter().filter(|one| **one == Ok(Replaced::Done)).count();
        assert_eq!(won, 1, "{results:?}");
        for (replacement, result) in of_session.iter().zip(results) {
            match result {
                Ok(Replaced::Done) => expect_written(&harness, replacement).await,
                Ok(Replaced::Stale) => expect_nothing(&harness, replacement).await,
                other => panic!("{other:?}"),
            }
        }
    }
}

pub async fn a_key_replaces_one_session(harness: Arc<Harness>) {
    let sessions = sessions(&harness).await;
    let all: Vec<_> =
        (0..).zip(&sessions).map(|(number, one)| with_key(replacement(one, terms()), number / 2)).collect();
    let results = replace_all(&harness, &all).await;
    for (number, two) in all.chunks(2).enumerate() {
        let results = &results[2 * number..2 * number + 2];
        let mut sorted = results.to_vec();
        sorted.sort_by_key(|result| *result == Ok(Replaced::KeyTaken));
        assert_eq!(sorted, [Ok(Replaced::Done), Ok(Replaced::KeyTaken)], "{number}");
        for (replacement, result) in two.iter().zip(results) {
            match result {
                Ok(Replaced::Done) => expect_written(&harness, replacement).await,
                _ => expect_nothing(&harness, replacement).await,
            }
        }
    }
    assert_eq!(harness.count("answer", "1 = 1"), SESSION_COUNT / 2);
}

pub async fn replacements_and_submits_at_once_leave_one_winner_each(harness: Arc<Harness>) {
    let sessions = sessions(&harness).await;
    let all: Vec<_> = sessions.iter().map(|session| replacement(session, terms())).collect();
    let mut racing = vec![];
    for (session, replacement) in sessions.iter().zip(&all) {
        let stash = harness.stashed(session.merchant_id).await;
        let (payments, prepare) = (harness.payments.clone(), harness.submit(session, &stash.key, at(5)));
        let submit = tokio::spawn(async move { payments.prepare_authorization(prepare).await.unwrap() });
        racing.push((replacement, replace(&harness, replacement), submit));
    }
    for (replacement, replacing, submitting) in racing {
        match (replacing.await.unwrap(), submitting.await.unwrap()) {
            (Ok(Replaced::Done), AuthorizationPrepared::Stale) => expect_written(&harness, replacement).await,
            (Ok(Replaced::Stale), AuthorizationPrepared::Done(_)) => {
                expect_nothing(&harness, replacement).await;
                let stored = harness.stored(replacement.change.next.id).await;
                assert_eq!(stored.state.kind(), SessionStateKind::Processing);
                assert_ne!(stored.terms, replacement.change.next.terms, "whoever pays, pays what was shown");
            }
            both => panic!("{both:?}"),
        }
    }
}

pub async fn a_replacement_that_is_refused_leaves_those_beside_it_alone(harness: Arc<Harness>) {
    let sessions = sessions(&harness).await;
    let mut all: Vec<_> =
        (0..).zip(&sessions).map(|(number, one)| with_key(replacement(one, terms()), number)).collect();
    // Its billing profile is not there.
    let unknown = terms_with(|terms| (terms.billing_choice, terms.billing) = (BillingChoice::ById, profile(None)));
    all[5] = with_key(replacement(&sessions[5], unknown), 5);
    // The row of its Session is damaged; a replacement leaves nothing of it.
    harness.raw.execute(&format!("UPDATE session SET terms = '{{}}' WHERE id = '{}'", sessions[7].id)).unwrap();
    // Its Session was cancelled, and so was not as it was when that was decided.
    assert_eq!(harness.cancel(&sessions[9]).await, Changed::Done);
    // Its reference belongs to the Session beside it.
    let foreign = terms_with(|terms| terms.merchant_reference = sessions[12].terms.merchant_reference.clone());
    all[11] = with_key(replacement(&sessions[11], foreign), 11);
    let results = replace_all(&harness, &all).await;
    for (number, (replacement, result)) in all.iter().zip(&results).enumerate() {
        match (number, result) {
            (5, Err(StoreError::Refused(_))) | (9, Ok(Replaced::Stale)) | (11, Ok(Replaced::DuplicateReference)) => {
                expect_nothing(&harness, replacement).await
            }
            (5 | 9 | 11, other) => panic!("{number}: {other:?}"),
            (_, result) => {
                assert_eq!(*result, Ok(Replaced::Done), "{number}");
                expect_written(&harness, replacement).await;
            }
        }
    }
    assert_eq!(harness.count("answer", "1 = 1"), SESSION_COUNT - 3, "what is not written keeps no key");
}

pub async fn a_reference_that_two_sessions_want_goes_to_one(harness: Arc<Harness>) {
    let sessions = sessions(&harness).await;
    let wanted: Vec<_> = (0..SESSION_COUNT / 2).map(|_| terms().merchant_reference.clone()).collect();
    let all: Vec<_> = (0..)
        .zip(&sessions)
        .map(|(number, session): (usize, _)| {
            let reference = wanted[number % wanted.len()].clone();
            replacement(session, terms_with(|terms| terms.merchant_reference = reference))
        })
        .collect();
    let results = replace_all(&harness, &all).await;
    for number in 0..wanted.len() {
        let mut two = [&results[number], &results[number + wanted.len()]];
        two.sort_by_key(|result| **result == Ok(Replaced::DuplicateReference));
        assert_eq!(two, [&Ok(Replaced::Done), &Ok(Replaced::DuplicateReference)], "{number}");
    }
    for (replacement, result) in all.iter().zip(&results) {
        match result {
            Ok(Replaced::Done) => expect_written(&harness, replacement).await,
            _ => expect_nothing(&harness, replacement).await,
        }
    }
}

pub async fn a_replacement_that_is_written_already_is_done(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let asked = replacement(&session, terms());
    for _ in 0..3 {
        // As after a connection that was lost with the answer.
        assert_eq!(harness.sessions.replace_session(asked.clone()).await, Ok(Replaced::Done));
    }
    expect_written(&harness, &asked).await;
    // With a key, the answer that was kept tells.
    let session = harness.session(merchant.id).await;
    let asked = with_key(replacement(&session, terms()), 1);
    assert_eq!(harness.sessions.replace_session(asked.clone()).await, Ok(Replaced::Done));
    assert_eq!(harness.sessions.replace_session(asked.clone()).await, Ok(Replaced::KeyTaken));
    expect_written(&harness, &asked).await;
    // Other terms of that moment are another replacement.
    let other = replacement(&session, terms());
    assert_eq!(harness.sessions.replace_session(other).await, Ok(Replaced::Stale));
}
