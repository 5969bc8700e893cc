use std::sync::Arc;

use dropin_kernel::{MerchantId, OpId};
use dropin_order::OpState;
use dropin_ports::{
    Applied, ChangeSession, Changed, ClaimedOperation, Inserted, KeyRecord, KeyUse, NewSession, OrderChanged,
    ReplaceSession, Replaced, RequestKey, ResponseStored, ResponseToStore, Settled, StoreError, StoredResponse,
};
use dropin_session::Session;

use crate::Harness;
use crate::harness::{Asking, capture, outcome};
use crate::values::{at, fresh, new_session, of_session, terms, terms_with};

/// A key that no other case uses, which counts for 100 seconds from `second` on.
fn key_use(merchant_id: MerchantId, second: u64) -> KeyUse {
    let mut digest = [0x5a; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    KeyUse { key: RequestKey { merchant_id, digest }, fingerprint: [7; 32], at: at(second), until: at(second + 100) }
}

fn answer(body: &str) -> StoredResponse {
    StoredResponse { status: 201, etag: Some("\"1.5\"".to_owned()), body: body.as_bytes().to_vec() }
}

fn response(key_use: KeyUse, body: &str) -> ResponseToStore {
    ResponseToStore { key_use, answer: answer(body) }
}

fn known(response: &ResponseToStore) -> Option<KeyRecord> {
    Some(KeyRecord { fingerprint: response.key_use.fingerprint, answer: Some(response.answer.clone()) })
}

fn new(session: &Session, response: ResponseToStore) -> NewSession {
    let history = of_session(session, "CREATE", session.created_at);
    NewSession { session: session.clone(), history, response: Some(response) }
}

async fn found(harness: &Harness, key_use: &KeyUse) -> Option<KeyRecord> {
    harness.responses.find_response(key_use.key, key_use.at).await.unwrap()
}

pub async fn an_answer_is_kept_with_its_effect(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = new_session(merchant.id, terms());
    let body = "{\"Exact\":  29.90}\u{0}\n";
    let created = response(key_use(merchant.id, 0), body);
    assert_eq!(found(&harness, &created.key_use).await, None);
    assert_eq!(harness.sessions.insert_session(new(&session, created.clone())).await, Ok(Inserted::Done));
    assert_eq!(found(&harness, &created.key_use).await, known(&created));
    let replaced = response(key_use(merchant.id, 5), "replaced");
    let (change, _) = session.as_created().unwrap().replace(terms(), at(5));
    let session = change.next.clone();
    let history = of_session(&session, "REPLACE", at(5));
    let replacement = ReplaceSession { change, history, response: Some(replaced.clone()) };
    assert_eq!(harness.sessions.replace_session(replacement).await, Ok(Replaced::Done));
    assert_eq!(found(&harness, &replaced.key_use).await, known(&replaced));
    // No body and no tag: an answer all the same.
    let bare = StoredResponse { status: 204, etag: None, body: vec![] };
    let cancelled = ResponseToStore { key_use: key_use(merchant.id, 6), answer: bare };
    let (change, _) = session.as_created().unwrap().cancel(at(6));
    let history = of_session(&change.next, "CANCEL", at(6));
    let cancel = ChangeSession { change, history, events: vec![], response: Some(cancelled.clone()), audit: None };
    assert_eq!(harness.sessions.change_session(cancel).await, Ok(Changed::Done));
    assert_eq!(found(&harness, &cancelled.key_use).await, known(&cancelled));
    let refused = response(key_use(merchant.id, 7), "refused");
    assert_eq!(harness.responses.store_response(refused.clone()).await, Ok(ResponseStored::Done));
    assert_eq!(found(&harness, &refused.key_use).await, known(&refused));
    assert_eq!(found(&harness, &created.key_use).await, known(&created));
}

pub async fn a_key_is_used_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    let first = response(key_use(merchant.id, 0), "first");
    assert_eq!(harness.responses.store_response(first.clone()).await, Ok(ResponseStored::Done));
    let again = ResponseToStore {
        key_use: KeyUse { fingerprint: [8; 32], at: at(99), until: at(500), ..first.key_use },
        answer: answer("second"),
    };
    assert_eq!(harness.responses.store_response(again.clone()).await, Ok(ResponseStored::KeyTaken));
    let other = new_session(merchant.id, terms());
    assert_eq!(harness.sessions.insert_session(new(&other, again.clone())).await, Ok(Inserted::KeyTaken));
    let (change, _) = session.as_created().unwrap().replace(terms(), at(5));
    let history = of_session(&change.next, "REPLACE", at(5));
    let replacement = ReplaceSession { change, history, response: Some(again.clone()) };
    assert_eq!(harness.sessions.replace_session(replacement).await, Ok(Replaced::KeyTaken));
    let (change, _) = session.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let cancel = ChangeSession { change, history, events: vec![], response: Some(again.clone()), audit: None };
    assert_eq!(harness.sessions.change_session(cancel).await, Ok(Changed::KeyTaken));
    let payment = harness.authorized(merchant.id).await;
    let taken = capture(&payment, None, at(30));
    let taken = Asking { key_use: Some(again.key_use), ..taken };
    assert_eq!(harness.ask(&taken).await, Ok(OrderChanged::KeyTaken));
    // Nothing of any of them was written.
    assert_eq!(found(&harness, &first.key_use).await, known(&first));
    assert_eq!(harness.stored(session.id).await, session);
    assert_eq!(harness.sessions.find_session_for_shopper(other.id).await, Ok(None));
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(payment.order)));
    assert_eq!(harness.count("processor_op", "kind = 'CAPTURE'") + harness.count("answer", "status IS NULL"), 0);
    let reference = other.terms.merchant_reference.as_str();
    assert_eq!(harness.count("merchant_reference", &format!("reference = '{reference}'")), 0);
    assert_eq!(harness.count("billing_profile", "1 = 1"), 2);
}

pub async fn a_key_that_is_over_is_free_again(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let first = response(key_use(merchant.id, 0), "first");
    assert_eq!(harness.responses.store_response(first.clone()).await, Ok(ResponseStored::Done));
    let find = async |second| harness.responses.find_response(first.key_use.key, at(second)).await.unwrap();
    assert_eq!(find(99).await, known(&first));
    assert_eq!(find(100).await, None, "over");
    let bare = StoredResponse { status: 204, etag: None, body: vec![] };
    let fingerprint = [9; 32];
    let second =
        ResponseToStore { key_use: KeyUse { fingerprint, at: at(100), until: at(150), ..first.key_use }, answer: bare };
    assert_eq!(harness.responses.store_response(second.clone()).await, Ok(ResponseStored::Done));
    assert_eq!(find(100).await, known(&second));
    assert_eq!(find(150).await, None);
    // A capture may take it too, and nothing of the answer before shows through.
    let payment = harness.authorized(merchant.id).await;
    let key_use = KeyUse { fingerprint: [1; 32], at: at(150), until: at(250), ..first.key_use };
    let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(150)) };
    assert_eq!(harness.ask(&prepare).await, Ok(OrderChanged::Done));
    assert_eq!(find(150).await, Some(KeyRecord { fingerprint: [1; 32], answer: None }));
    assert_eq!(harness.count("answer", "1 = 1"), 1);
}

pub async fn an_effect_that_is_undone_frees_its_key(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let taken = harness.session(merchant.id).await;
    let kept = response(key_use(merchant.id, 0), "created");
    let duplicate = terms_with(|terms| terms.merchant_reference = taken.terms.merchant_reference.clone());
    let duplicate = new_session(merchant.id, duplicate);
    let inserted = harness.sessions.insert_session(new(&duplicate, kept.clone())).await;
    assert_eq!(inserted, Ok(Inserted::DuplicateReference));
    assert_eq!(harness.cancel(&taken).await, Changed::Done);
    let (change, _) = taken.as_created().unwrap().replace(terms(), at(5));
    let history = of_session(&change.next, "REPLACE", at(5));
    let stale = ReplaceSession { change, history, response: Some(kept.clone()) };
    assert_eq!(harness.sessions.replace_session(stale).await, Ok(Replaced::Stale));
    let (change, _) = taken.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let stale = ChangeSession { change, history, events: vec![], response: Some(kept.clone()), audit: None };
    assert_eq!(harness.sessions.change_session(stale).await, Ok(Changed::Stale));
    let payment = harness.authorized(merchant.id).await;
    assert_eq!(harness.ask(&capture(&payment, None, at(30))).await, Ok(OrderChanged::Done));
    let stale = Asking { key_use: Some(kept.key_use), ..capture(&payment, None, at(30)) };
    assert_eq!(harness.ask(&stale).await, Ok(OrderChanged::Stale));
    assert_eq!(found(&harness, &kept.key_use).await, None);
    let session = new_session(merchant.id, terms());
    assert_eq!(harness.sessions.insert_session(new(&session, kept.clone())).await, Ok(Inserted::Done));
    assert_eq!(found(&harness, &kept.key_use).await, known(&kept));
}

pub async fn keys_of_merchants_are_apart(harness: Arc<Harness>) {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let anas = response(key_use(ana.id, 0), "ana's");
    let mut bobs = response(anas.key_use, "bob's");
    bobs.key_use.key.merchant_id = bob.id;
    assert_eq!(harness.responses.store_response(anas.clone()).await, Ok(ResponseStored::Done));
    assert_eq!(found(&harness, &bobs.key_use).await, None);
    assert_eq!(harness.responses.store_response(bobs.clone()).await, Ok(ResponseStored::Done));
    assert_eq!(found(&harness, &anas.key_use).await, known(&anas));
    assert_eq!(found(&harness, &bobs.key_use).await, known(&bobs));
}

/// A capture that was asked for with a key, and the key.
async fn asked(harness: &Harness) -> (Asking, KeyUse) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let key_use = key_use(merchant.id, 30);
    let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(30)) };
    assert_eq!(harness.ask(&prepare).await, Ok(OrderChanged::Done));
    (prepare, key_use)
}

pub async fn a_capture_is_answered_when_its_outcome_is_written(harness: Arc<Harness>) {
    let (prepare, key_use) = asked(&harness).await;
    let awaited = KeyRecord { fingerprint: key_use.fingerprint, answer: None };
    assert_eq!(found(&harness, &key_use).await, Some(awaited.clone()));
    // Somebody else's outcome, and one that was not written, answer nobody.
    let (other, others_key) = asked(&harness).await;
    let mut settlement = outcome(other.operation.id, OpState::Approved, at(31));
    settlement.answer = Some(answer("other"));
    let mut stale = settlement.clone();
    stale.order = Some(other.order.clone());
    assert_eq!(harness.payments.settle(stale).await, Ok(Settled::Stale));
    assert_eq!(found(&harness, &others_key).await, Some(awaited.clone()));
    assert_eq!(harness.payments.settle(settlement.clone()).await, Ok(Settled::Done));
    let told = Some(KeyRecord { answer: settlement.answer.clone(), ..awaited.clone() });
    assert_eq!(found(&harness, &others_key).await, told);
    assert_eq!(found(&harness, &key_use).await, Some(awaited));
    settlement.answer = Some(answer("once more"));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::AlreadySettled));
    assert_eq!(found(&harness, &others_key).await, told);
    assert_eq!(
        harness.payments.find_payment(prepare.operation.id).await.unwrap().unwrap().operation,
        prepare.operation
    );
}

pub async fn the_first_answer_to_a_capture_stays(harness: Arc<Harness>) {
    let (prepare, key_use) = asked(&harness).await;
    let holder = |epoch| ClaimedOperation { id: prepare.operation.id, epoch };
    let (unknown, pending) = (OpState::Unknown, answer("pending"));
    let late = harness.payments.postpone_operation(holder(7), unknown, at(40), Some(answer("late"))).await;
    assert_eq!(late, Ok(Applied::Stale));
    let awaited = KeyRecord { fingerprint: key_use.fingerprint, answer: None };
    assert_eq!(found(&harness, &key_use).await, Some(awaited.clone()), "who lost the operation answers nobody");
    let postponed = harness.payments.postpone_operation(holder(0), unknown, at(41), Some(pending.clone())).await;
    assert_eq!(postponed, Ok(Applied::Done));
    let told = Some(KeyRecord { answer: Some(pending), ..awaited });
    assert_eq!(found(&harness, &key_use).await, told);
    let again = harness.payments.postpone_operation(holder(0), unknown, at(42), Some(answer("again"))).await;
    assert_eq!(again, Ok(Applied::Done));
    let mut settlement = outcome(prepare.operation.id, OpState::Approved, at(43));
    settlement.answer = Some(answer("captured"));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(found(&harness, &key_use).await, told);
    let operation = harness.payments.find_payment(prepare.operation.id).await.unwrap().unwrap().operation;
    assert_eq!(operation.state, OpState::Approved);
}

pub async fn of_many_creates_with_one_key_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for round in 0..4 {
        let key_use = key_use(merchant.id, 0);
        let create = |number: usize| {
            let session = new_session(merchant.id, terms());
            let new = new(&session, response(key_use, &format!("{round} {number}")));
            let harness = harness.clone();
            tokio::spawn(async move { (harness.sessions.insert_session(new.clone()).await.unwrap(), new) })
        };
        let racers: Vec<_> = (0..32).map(create).collect();
        let mut winner = None;
        for racer in racers {
            match racer.await.unwrap() {
                (Inserted::Done, new) => assert!(winner.replace(new).is_none(), "two winners"),
                (lost, _) => assert_eq!(lost, Inserted::KeyTaken),
            }
        }
        let winner = winner.unwrap();
        assert_eq!(found(&harness, &key_use).await, known(&winner.response.unwrap()), "the winner's answer");
        assert_eq!(harness.stored(winner.session.id).await, winner.session);
        assert_eq!(harness.count("session", "1 = 1"), round + 1);
        assert_eq!(harness.count("merchant_reference", "1 = 1"), round + 1);
    }
}

pub async fn of_many_captures_with_one_key_one_wins(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let key_use = key_use(merchant.id, 30);
    let ask = |_| {
        let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(30)) };
        let payments = harness.payments.clone();
        tokio::spawn(async move { payments.change_order(prepare.into()).await.unwrap() })
    };
    let racers: Vec<_> = (0..32).map(ask).collect();
    let mut winners = 0;
    for racer in racers {
        winners += usize::from(racer.await.unwrap() == OrderChanged::Done);
    }
    assert_eq!(winners, 1);
    assert_eq!(harness.count("processor_op", "kind = 'CAPTURE'"), 1);
    assert_eq!(harness.count("answer", "status IS NULL"), 1);
}

/// Losers of the reference and winners of the key, mixed: whatever is undone leaves its key to the next, and no key is without its Session.
pub async fn a_taker_waits_and_gets_a_key_that_is_freed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..4 {
        let taken = harness.session(merchant.id).await;
        let key_use = key_use(merchant.id, 0);
        let create = |number: usize| {
            // Every second one is undone for its MerchantReference, after it has taken the key.
            let terms = terms_with(|terms| {
                if number.is_multiple_of(2) {
                    terms.merchant_reference = taken.terms.merchant_reference.clone();
                }
            });
            let new = new(&new_session(merchant.id, terms), response(key_use, "created"));
            let harness = harness.clone();
            tokio::spawn(async move { harness.sessions.insert_session(new).await.unwrap() })
        };
        let racers: Vec<_> = (0..32).map(create).collect();
        let (mut done, mut first_lost) = (0, 0);
        for racer in racers {
            match racer.await.unwrap() {
                Inserted::Done => done += 1,
                Inserted::DuplicateReference => first_lost += 1,
                Inserted::KeyTaken => {}
            }
        }
        assert_eq!(done, 1, "of those with a free reference exactly one");
        assert!(first_lost <= 16);
    }
    assert_eq!(harness.count("session", "1 = 1"), 8);
}

pub async fn purging_takes_what_is_over_only(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (_, awaited) = asked(&harness).await;
    let mut kept = vec![];
    for second in [0, 1, 2, 200] {
        let one = response(key_use(merchant.id, second), "kept");
        assert_eq!(harness.responses.store_response(one.clone()).await, Ok(ResponseStored::Done));
        kept.push(one);
    }
    assert_eq!(harness.responses.purge_responses(at(99), 10).await, Ok(0));
    assert_eq!(harness.responses.purge_responses(at(102), 2).await, Ok(2), "no more than the limit");
    assert_eq!(harness.responses.purge_responses(at(102), 2).await, Ok(1));
    assert_eq!(harness.responses.purge_responses(at(102), 2).await, Ok(0));
    assert_eq!(found(&harness, &kept[3].key_use).await, known(&kept[3]));
    assert!(found(&harness, &awaited).await.is_some());
    // Whoever never answered holds its key no longer than others.
    assert_eq!(harness.responses.purge_responses(at(130), 2).await, Ok(1));
    assert_eq!(harness.count("answer", "1 = 1"), 1);
}

pub async fn the_database_guards_the_answers(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let kept = response(key_use(merchant.id, 0), "hush");
    assert_eq!(harness.responses.store_response(kept.clone()).await, Ok(ResponseStored::Done));
    for damage in ["status = NULL", "body = NULL", "fingerprint = body", "status = 500", "digest = body"] {
        let refused = harness.raw.execute(&format!("UPDATE answer SET {damage}")).unwrap_err();
        assert!(refused.contains("answer_"), "{damage}: {refused}");
    }
    // An answer whose operation does not exist would never come.
    let (prepare, _) = asked(&harness).await;
    let nobody = format!("UPDATE answer SET operation_id = '{}' WHERE status IS NULL", OpId::new(fresh()));
    assert!(harness.raw.execute(&nobody).is_err());
    assert_eq!(harness.count("answer", &format!("operation_id = '{}'", prepare.operation.id)), 1);
    // What is not stored is not made up.
    let strange = ResponseToStore { answer: StoredResponse { status: 99, ..answer("hush") }, ..kept.clone() };
    let strange = ResponseToStore { key_use: key_use(kept.key_use.key.merchant_id, 0), ..strange };
    let refused = harness.responses.store_response(strange).await;
    let Err(StoreError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(!why.contains("hush"), "{why}");
}
