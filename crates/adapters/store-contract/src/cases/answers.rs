use std::sync::Arc;

use dropin_kernel::{MerchantId, OpId};
use dropin_order::OpState;
use dropin_ports::{
    AnswerKey, Applied, ChangeSession, Changed, ClaimedOperation, Inserted, KeyUse, KnownKey, NewSession, OrderChanged,
    Remember, Remembered, ReplaceSession, Replaced, Settled, StoreError, StoredAnswer,
};
use dropin_session::{Session, SessionTerms};

use crate::Bench;
use crate::bench::{Asking, capture, outcome};
use crate::values::{at, fresh, new_session, of_session, terms};

/// A key that no other case uses, which counts for 100 seconds from `second` on.
fn key_use(merchant_id: MerchantId, second: u64) -> KeyUse {
    let mut digest = [0x5a; 32];
    digest[..16].copy_from_slice(fresh().as_bytes());
    KeyUse { key: AnswerKey { merchant_id, digest }, fingerprint: [7; 32], at: at(second), until: at(second + 100) }
}

fn answer(body: &str) -> StoredAnswer {
    StoredAnswer { status: 201, etag: Some("\"1.5\"".to_owned()), body: body.as_bytes().to_vec() }
}

fn remember(key_use: KeyUse, body: &str) -> Remember {
    Remember { key_use, answer: answer(body) }
}

fn known(remember: &Remember) -> Option<KnownKey> {
    Some(KnownKey { fingerprint: remember.key_use.fingerprint, answer: Some(remember.answer.clone()) })
}

fn new(session: &Session, remember: Remember) -> NewSession {
    let history = of_session(session, "CREATE", session.created_at);
    NewSession { session: session.clone(), history, remember: Some(remember) }
}

async fn found(bench: &Bench, key_use: &KeyUse) -> Option<KnownKey> {
    bench.answers.find_answer(key_use.key, key_use.at).await.unwrap()
}

pub async fn an_answer_is_kept_with_its_effect(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let session = new_session(merchant.id, terms());
    let body = "{\"Exact\":  29.90}\u{0}\n";
    let created = remember(key_use(merchant.id, 0), body);
    assert_eq!(found(&bench, &created.key_use).await, None);
    assert_eq!(bench.sessions.insert_session(new(&session, created.clone())).await, Ok(Inserted::Done));
    assert_eq!(found(&bench, &created.key_use).await, known(&created));
    let replaced = remember(key_use(merchant.id, 5), "replaced");
    let (change, _) = session.as_created().unwrap().replace(terms(), at(5));
    let session = change.next.clone();
    let history = of_session(&session, "REPLACE", at(5));
    let replacement = ReplaceSession { change, history, remember: Some(replaced.clone()) };
    assert_eq!(bench.sessions.replace_session(replacement).await, Ok(Replaced::Done));
    assert_eq!(found(&bench, &replaced.key_use).await, known(&replaced));
    // No body and no tag: an answer all the same.
    let bare = StoredAnswer { status: 204, etag: None, body: vec![] };
    let cancelled = Remember { key_use: key_use(merchant.id, 6), answer: bare };
    let (change, _) = session.as_created().unwrap().cancel(at(6));
    let history = of_session(&change.next, "CANCEL", at(6));
    let cancel = ChangeSession { change, history, events: vec![], remember: Some(cancelled.clone()) };
    assert_eq!(bench.sessions.change_session(cancel).await, Ok(Changed::Done));
    assert_eq!(found(&bench, &cancelled.key_use).await, known(&cancelled));
    let refused = remember(key_use(merchant.id, 7), "refused");
    assert_eq!(bench.answers.remember_answer(refused.clone()).await, Ok(Remembered::Done));
    assert_eq!(found(&bench, &refused.key_use).await, known(&refused));
    assert_eq!(found(&bench, &created.key_use).await, known(&created));
}

pub async fn a_key_is_used_once(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let session = bench.session(merchant.id).await;
    let first = remember(key_use(merchant.id, 0), "first");
    assert_eq!(bench.answers.remember_answer(first.clone()).await, Ok(Remembered::Done));
    let again = Remember {
        key_use: KeyUse { fingerprint: [8; 32], at: at(99), until: at(500), ..first.key_use },
        answer: answer("second"),
    };
    assert_eq!(bench.answers.remember_answer(again.clone()).await, Ok(Remembered::KeyTaken));
    let other = new_session(merchant.id, terms());
    assert_eq!(bench.sessions.insert_session(new(&other, again.clone())).await, Ok(Inserted::KeyTaken));
    let (change, _) = session.as_created().unwrap().replace(terms(), at(5));
    let history = of_session(&change.next, "REPLACE", at(5));
    let replacement = ReplaceSession { change, history, remember: Some(again.clone()) };
    assert_eq!(bench.sessions.replace_session(replacement).await, Ok(Replaced::KeyTaken));
    let (change, _) = session.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let cancel = ChangeSession { change, history, events: vec![], remember: Some(again.clone()) };
    assert_eq!(bench.sessions.change_session(cancel).await, Ok(Changed::KeyTaken));
    let payment = bench.authorized(merchant.id).await;
    let taken = capture(&payment, None, at(30));
    let taken = Asking { key_use: Some(again.key_use), ..taken };
    assert_eq!(bench.ask(&taken).await, Ok(OrderChanged::KeyTaken));
    // Nothing of any of them was written.
    assert_eq!(found(&bench, &first.key_use).await, known(&first));
    assert_eq!(bench.stored(session.id).await, session);
    assert_eq!(bench.sessions.find_session_for_shopper(other.id).await, Ok(None));
    assert_eq!(bench.find_order(merchant.id, payment.order.id).await, Ok(Some(payment.order)));
    assert_eq!(bench.count("processor_op", "kind = 'CAPTURE'") + bench.count("answer", "status IS NULL"), 0);
    let reference = other.terms.merchant_reference.as_str();
    assert_eq!(bench.count("merchant_reference", &format!("reference = '{reference}'")), 0);
    assert_eq!(bench.count("billing_profile", "1 = 1"), 2);
}

pub async fn a_key_that_is_over_is_free_again(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let first = remember(key_use(merchant.id, 0), "first");
    assert_eq!(bench.answers.remember_answer(first.clone()).await, Ok(Remembered::Done));
    let find = async |second| bench.answers.find_answer(first.key_use.key, at(second)).await.unwrap();
    assert_eq!(find(99).await, known(&first));
    assert_eq!(find(100).await, None, "over");
    let bare = StoredAnswer { status: 204, etag: None, body: vec![] };
    let fingerprint = [9; 32];
    let second =
        Remember { key_use: KeyUse { fingerprint, at: at(100), until: at(150), ..first.key_use }, answer: bare };
    assert_eq!(bench.answers.remember_answer(second.clone()).await, Ok(Remembered::Done));
    assert_eq!(find(100).await, known(&second));
    assert_eq!(find(150).await, None);
    // A capture may take it too, and nothing of the answer before shows through.
    let payment = bench.authorized(merchant.id).await;
    let key_use = KeyUse { fingerprint: [1; 32], at: at(150), until: at(250), ..first.key_use };
    let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(150)) };
    assert_eq!(bench.ask(&prepare).await, Ok(OrderChanged::Done));
    assert_eq!(find(150).await, Some(KnownKey { fingerprint: [1; 32], answer: None }));
    assert_eq!(bench.count("answer", "1 = 1"), 1);
}

pub async fn an_effect_that_is_undone_frees_its_key(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let taken = bench.session(merchant.id).await;
    let kept = remember(key_use(merchant.id, 0), "created");
    let duplicate = SessionTerms { merchant_reference: taken.terms.merchant_reference.clone(), ..terms() };
    let duplicate = new_session(merchant.id, duplicate);
    let inserted = bench.sessions.insert_session(new(&duplicate, kept.clone())).await;
    assert_eq!(inserted, Ok(Inserted::DuplicateReference));
    assert_eq!(bench.cancel(&taken).await, Changed::Done);
    let (change, _) = taken.as_created().unwrap().replace(terms(), at(5));
    let history = of_session(&change.next, "REPLACE", at(5));
    let stale = ReplaceSession { change, history, remember: Some(kept.clone()) };
    assert_eq!(bench.sessions.replace_session(stale).await, Ok(Replaced::Stale));
    let (change, _) = taken.as_created().unwrap().cancel(at(5));
    let history = of_session(&change.next, "CANCEL", at(5));
    let stale = ChangeSession { change, history, events: vec![], remember: Some(kept.clone()) };
    assert_eq!(bench.sessions.change_session(stale).await, Ok(Changed::Stale));
    let payment = bench.authorized(merchant.id).await;
    let first = capture(&payment, None, at(30));
    assert_eq!(bench.ask(&first).await, Ok(OrderChanged::Done));
    let stale = Asking { key_use: Some(kept.key_use), ..first };
    assert_eq!(bench.ask(&stale).await, Ok(OrderChanged::Stale));
    assert_eq!(found(&bench, &kept.key_use).await, None);
    let session = new_session(merchant.id, terms());
    assert_eq!(bench.sessions.insert_session(new(&session, kept.clone())).await, Ok(Inserted::Done));
    assert_eq!(found(&bench, &kept.key_use).await, known(&kept));
}

pub async fn keys_of_merchants_are_apart(bench: Arc<Bench>) {
    let ((ana, _), (bob, _)) = (bench.merchant().await, bench.merchant().await);
    let anas = remember(key_use(ana.id, 0), "ana's");
    let mut bobs = remember(anas.key_use, "bob's");
    bobs.key_use.key.merchant_id = bob.id;
    assert_eq!(bench.answers.remember_answer(anas.clone()).await, Ok(Remembered::Done));
    assert_eq!(found(&bench, &bobs.key_use).await, None);
    assert_eq!(bench.answers.remember_answer(bobs.clone()).await, Ok(Remembered::Done));
    assert_eq!(found(&bench, &anas.key_use).await, known(&anas));
    assert_eq!(found(&bench, &bobs.key_use).await, known(&bobs));
}

/// A capture that was asked for with a key, and the key.
async fn asked(bench: &Bench) -> (Asking, KeyUse) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    let key_use = key_use(merchant.id, 30);
    let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(30)) };
    assert_eq!(bench.ask(&prepare).await, Ok(OrderChanged::Done));
    (prepare, key_use)
}

pub async fn a_capture_is_answered_when_its_outcome_is_written(bench: Arc<Bench>) {
    let (prepare, key_use) = asked(&bench).await;
    let awaited = KnownKey { fingerprint: key_use.fingerprint, answer: None };
    assert_eq!(found(&bench, &key_use).await, Some(awaited.clone()));
    // Somebody else's outcome, and one that was not written, answer nobody.
    let (other, others_key) = asked(&bench).await;
    let mut settlement = outcome(other.operation.id, OpState::Approved, at(31));
    settlement.answer = Some(answer("other"));
    let mut stale = settlement.clone();
    stale.order = Some(other.order.clone());
    assert_eq!(bench.payments.settle(stale).await, Ok(Settled::Stale));
    assert_eq!(found(&bench, &others_key).await, Some(awaited.clone()));
    assert_eq!(bench.payments.settle(settlement.clone()).await, Ok(Settled::Done));
    let told = Some(KnownKey { answer: settlement.answer.clone(), ..awaited.clone() });
    assert_eq!(found(&bench, &others_key).await, told);
    assert_eq!(found(&bench, &key_use).await, Some(awaited));
    settlement.answer = Some(answer("once more"));
    assert_eq!(bench.payments.settle(settlement).await, Ok(Settled::AlreadySettled));
    assert_eq!(found(&bench, &others_key).await, told);
    assert_eq!(bench.payments.find_payment(prepare.operation.id).await.unwrap().unwrap().operation, prepare.operation);
}

pub async fn the_first_answer_to_a_capture_stays(bench: Arc<Bench>) {
    let (prepare, key_use) = asked(&bench).await;
    let holder = |epoch| ClaimedOperation { id: prepare.operation.id, epoch };
    let (unknown, pending) = (OpState::Unknown, answer("pending"));
    let late = bench.payments.postpone_operation(holder(7), unknown, at(40), Some(answer("late"))).await;
    assert_eq!(late, Ok(Applied::Stale));
    let awaited = KnownKey { fingerprint: key_use.fingerprint, answer: None };
    assert_eq!(found(&bench, &key_use).await, Some(awaited.clone()), "who lost the operation answers nobody");
    let postponed = bench.payments.postpone_operation(holder(0), unknown, at(41), Some(pending.clone())).await;
    assert_eq!(postponed, Ok(Applied::Done));
    let told = Some(KnownKey { answer: Some(pending), ..awaited });
    assert_eq!(found(&bench, &key_use).await, told);
    let again = bench.payments.postpone_operation(holder(0), unknown, at(42), Some(answer("again"))).await;
    assert_eq!(again, Ok(Applied::Done));
    let mut settlement = outcome(prepare.operation.id, OpState::Approved, at(43));
    settlement.answer = Some(answer("captured"));
    assert_eq!(bench.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(found(&bench, &key_use).await, told);
    let operation = bench.payments.find_payment(prepare.operation.id).await.unwrap().unwrap().operation;
    assert_eq!(operation.state, OpState::Approved);
}

pub async fn of_many_creates_with_one_key_one_wins(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    for round in 0..4 {
        let key_use = key_use(merchant.id, 0);
        let create = |number: usize| {
            let session = new_session(merchant.id, terms());
            let new = new(&session, remember(key_use, &format!("{round} {number}")));
            let bench = bench.clone();
            tokio::spawn(async move { (bench.sessions.insert_session(new.clone()).await.unwrap(), new) })
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
        assert_eq!(found(&bench, &key_use).await, known(&winner.remember.unwrap()), "the winner's answer");
        assert_eq!(bench.stored(winner.session.id).await, winner.session);
        assert_eq!(bench.count("session", "1 = 1"), round + 1);
        assert_eq!(bench.count("merchant_reference", "1 = 1"), round + 1);
    }
}

pub async fn of_many_captures_with_one_key_one_wins(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    let key_use = key_use(merchant.id, 30);
    let ask = |_| {
        let prepare = Asking { key_use: Some(key_use), ..capture(&payment, None, at(30)) };
        let payments = bench.payments.clone();
        tokio::spawn(async move { payments.change_order(prepare.into()).await.unwrap() })
    };
    let racers: Vec<_> = (0..32).map(ask).collect();
    let mut winners = 0;
    for racer in racers {
        winners += usize::from(racer.await.unwrap() == OrderChanged::Done);
    }
    assert_eq!(winners, 1);
    assert_eq!(bench.count("processor_op", "kind = 'CAPTURE'"), 1);
    assert_eq!(bench.count("answer", "status IS NULL"), 1);
}

/// Losers of the reference and winners of the key, mixed: whatever is undone leaves its key to the next, and no key is without its Session.
pub async fn a_taker_waits_and_gets_a_key_that_is_freed(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    for _ in 0..4 {
        let taken = bench.session(merchant.id).await;
        let key_use = key_use(merchant.id, 0);
        let create = |number: usize| {
            // Every second one is undone for its MerchantReference, after it has taken the key.
            let mut terms = terms();
            if number.is_multiple_of(2) {
                terms.merchant_reference = taken.terms.merchant_reference.clone();
            }
            let new = new(&new_session(merchant.id, terms), remember(key_use, "created"));
            let bench = bench.clone();
            tokio::spawn(async move { bench.sessions.insert_session(new).await.unwrap() })
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
    assert_eq!(bench.count("session", "1 = 1"), 8);
}

pub async fn purging_takes_what_is_over_only(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let (_, awaited) = asked(&bench).await;
    let mut kept = vec![];
    for second in [0, 1, 2, 200] {
        let one = remember(key_use(merchant.id, second), "kept");
        assert_eq!(bench.answers.remember_answer(one.clone()).await, Ok(Remembered::Done));
        kept.push(one);
    }
    assert_eq!(bench.answers.purge_answers(at(99), 10).await, Ok(0));
    assert_eq!(bench.answers.purge_answers(at(102), 2).await, Ok(2), "no more than the limit");
    assert_eq!(bench.answers.purge_answers(at(102), 2).await, Ok(1));
    assert_eq!(bench.answers.purge_answers(at(102), 2).await, Ok(0));
    assert_eq!(found(&bench, &kept[3].key_use).await, known(&kept[3]));
    assert!(found(&bench, &awaited).await.is_some());
    // Whoever never answered holds its key no longer than others.
    assert_eq!(bench.answers.purge_answers(at(130), 2).await, Ok(1));
    assert_eq!(bench.count("answer", "1 = 1"), 1);
}

pub async fn the_database_guards_the_answers(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let kept = remember(key_use(merchant.id, 0), "hush");
    assert_eq!(bench.answers.remember_answer(kept.clone()).await, Ok(Remembered::Done));
    for damage in ["status = NULL", "body = NULL", "fingerprint = body", "status = 500", "digest = body"] {
        let refused = bench.raw.execute(&format!("UPDATE answer SET {damage}")).unwrap_err();
        assert!(refused.contains("answer_"), "{damage}: {refused}");
    }
    // An answer whose operation does not exist would never come.
    let (prepare, _) = asked(&bench).await;
    let nobody = format!("UPDATE answer SET operation_id = '{}' WHERE status IS NULL", OpId::new(fresh()));
    assert!(bench.raw.execute(&nobody).is_err());
    assert_eq!(bench.count("answer", &format!("operation_id = '{}'", prepare.operation.id)), 1);
    // What is not stored is not made up.
    let strange = Remember { answer: StoredAnswer { status: 99, ..answer("hush") }, ..kept.clone() };
    let strange = Remember { key_use: key_use(kept.key_use.key.merchant_id, 0), ..strange };
    let refused = bench.answers.remember_answer(strange).await;
    let Err(StoreError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(!why.contains("hush"), "{why}");
}
