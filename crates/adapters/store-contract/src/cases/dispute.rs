use std::sync::Arc;

use dropin_access::SealedSecret;
use dropin_kernel::{Change, DisputeAnswerId, DisputeId, MerchantId, OpId, OrderId, ProcessorId, Revision, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{
    Dispute, DisputeAnswer, DisputeAnswerKind, DisputeAnswerState, DisputeReason, DisputeState, DisputeStep,
    DisputeTrigger, NewDispute, Order, Step,
};
use dropin_ports::{
    AnsweredDispute, Applied, ChangeDispute, DisputeChanged, DisputeFilter, DisputeWithOrder, NewDisputeAnswer,
    OrderChanged, Payment, SealedKind, SealedValue, Settled, StoreError,
};

use crate::Harness;
use crate::steps::{refund, refunded};
use crate::values::{at, fresh, minor, of_order, order_event, posting};

fn usd(amount: i64) -> Amount {
    minor(Currency::Usd, amount)
}

fn processor(name: &str) -> ProcessorId {
    name.parse().unwrap()
}

/// A dispute of so much of an Order that a processor tells of.
pub(crate) fn opened(order: &Order, reference: &str, amount: i64, now: Timestamp) -> (DisputeStep, ChangeDispute) {
    let new = NewDispute {
        id: DisputeId::new(fresh()),
        processor: processor("sandbox"),
        reference: reference.to_owned(),
        reason: DisputeReason::Fraudulent,
        amount: usd(amount),
        due_at: Some(at(1_000_000)),
    };
    let step = Dispute::open(new, order, posting(), now).unwrap();
    let change = of_step(&step, None, now);
    (step, change)
}

/// What is written for a step, decided on that revision of the dispute.
fn of_step(step: &DisputeStep, expected: Option<Revision>, now: Timestamp) -> ChangeDispute {
    let Step { change, transition, ledger } = step.order.clone();
    let what = transition.trigger.as_str();
    ChangeDispute {
        dispute: step.dispute.clone(),
        expected,
        begins: None,
        ends: None,
        ledger,
        history: vec![of_order(&change.next, what, now)],
        events: vec![order_event(&change.next, what, now)],
        audit: None,
        order: Some(change),
    }
}

impl Harness {
    async fn disputed(&self, payment: &Payment, reference: &str, amount: i64) -> DisputeWithOrder {
        let (step, change) = opened(&payment.order, reference, amount, at(100));
        assert_eq!(self.disputes.change_dispute(change).await, Ok(DisputeChanged::Done));
        self.found(step.dispute.id).await
    }

    async fn found(&self, id: DisputeId) -> DisputeWithOrder {
        self.disputes.find_dispute(id).await.unwrap().unwrap()
    }

    async fn moves(&self, found: &DisputeWithOrder, trigger: DisputeTrigger, now: Timestamp) -> DisputeChanged {
        let step = found.dispute.moved(trigger, &found.order, posting(), now).unwrap();
        let change = of_step(&step, Some(found.dispute.revision), now);
        self.disputes.change_dispute(change).await.unwrap()
    }

    /// An answer to a dispute, written down.
    async fn answering(&self, found: &DisputeWithOrder, kind: DisputeAnswerKind, due: Timestamp) -> DisputeAnswer {
        let (answer, change) = answer(found, kind, due);
        assert_eq!(self.disputes.change_dispute(change).await, Ok(DisputeChanged::Done));
        answer
    }
}

fn answer(found: &DisputeWithOrder, kind: DisputeAnswerKind, due: Timestamp) -> (DisputeAnswer, ChangeDispute) {
    let answer = DisputeAnswer {
        id: DisputeAnswerId::new(fresh()),
        dispute_id: found.dispute.id,
        merchant_id: found.dispute.merchant_id,
        kind,
        state: DisputeAnswerState::Open,
        tries: 0,
        due_at: due,
        created_at: at(110),
    };
    let evidence = (kind == DisputeAnswerKind::Evidence).then(|| SealedSecret(vec![2, 0, 255]));
    let revision = found.dispute.revision;
    let change = ChangeDispute {
        dispute: Dispute { revision: revision.next(), updated_at: at(110), ..found.dispute.clone() },
        expected: Some(revision),
        order: None,
        begins: Some(NewDisputeAnswer { answer: answer.clone(), evidence }),
        ends: None,
        ledger: Vec::new(),
        history: Vec::new(),
        events: Vec::new(),
        audit: None,
    };
    (answer, change)
}

pub async fn a_dispute_is_written_with_its_order(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let payment = harness.processed(merchant.id).await;
    let (step, change) = opened(&payment.order, "dp_1", 1_500, at(100));
    assert_eq!(harness.disputes.change_dispute(change.clone()).await, Ok(DisputeChanged::Done));
    let found = harness.found(step.dispute.id).await;
    assert_eq!((&found.dispute, &found.order), (&step.dispute, &step.order.change.next));
    assert_eq!((found.order.amounts.disputed(), found.order.amounts.refundable()), (&usd(1_500), usd(1_490)));
    assert_eq!(harness.payment(payment.operation.id).await.order, found.order, "by every way to the Order");
    let listed = |merchant: MerchantId, order: OrderId| harness.disputes.list_order_disputes(merchant, order);
    assert_eq!(
        listed(merchant.id, payment.order.id).await,
        Ok(vec![AnsweredDispute { dispute: step.dispute.clone(), is_pending: false }])
    );
    assert_eq!(listed(other.id, payment.order.id).await, Ok(vec![]));
    assert_eq!(listed(merchant.id, OrderId::new(fresh())).await, Ok(vec![]));
    assert_eq!(harness.count("history", "what = 'DISPUTE_OPENED'"), 1);
    assert_eq!(harness.count("outbox_event", "event_type = 'DISPUTE_OPENED'"), 1);
    let balances = harness.ledger_balances();
    assert_eq!(balances, ["AUTHORIZED 0", "CAPTURED 1490", "DISPUTED 1500", "SHOPPER -2990"]);
    // The processor tells of it again: nothing is written twice.
    let (_, again) = opened(&found.order, "dp_1", 1_500, at(101));
    assert_eq!(harness.disputes.change_dispute(again).await, Ok(DisputeChanged::Known));
    assert_eq!(harness.found(step.dispute.id).await, found);
    assert_eq!(harness.count("dispute", "1 = 1"), 1);
    assert_eq!(harness.disputes.find_reported_dispute(&processor("sandbox"), "dp_1").await, Ok(Some(step.dispute.id)));
    for (name, reference) in [("sandbox", "dp_2"), ("stripe", "dp_1")] {
        assert_eq!(harness.disputes.find_reported_dispute(&processor(name), reference).await, Ok(None));
    }
    let authorized = payment.operation.id;
    assert_eq!(harness.disputes.find_disputed_order(&processor("sandbox"), authorized).await, Ok(Some(found.order)));
    assert_eq!(harness.disputes.find_disputed_order(&processor("sandbox"), OpId::new(fresh())).await, Ok(None));
    // Whoever was not asked for the money tells of no dispute of it.
    let named = format!("UPDATE processor_op SET processor_id = 'acquirer' WHERE id = '{authorized}'");
    assert_eq!(harness.raw.execute(&named), Ok(1));
    assert_eq!(harness.disputes.find_disputed_order(&processor("sandbox"), authorized).await, Ok(None));
    assert!(harness.disputes.find_disputed_order(&processor("acquirer"), authorized).await.unwrap().is_some());
}

pub async fn every_end_of_a_dispute_is_written(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for (reference, trigger, state, refundable) in [
        ("won", DisputeTrigger::Won, DisputeState::Won, 2_990),
        ("lost", DisputeTrigger::Lost, DisputeState::Lost, 0),
        ("accepted", DisputeTrigger::Accepted, DisputeState::Accepted, 0),
    ] {
        let payment = harness.processed(merchant.id).await;
        // More than there is: it is recorded all the same.
        let found = harness.disputed(&payment, reference, 5_000).await;
        assert_eq!(harness.moves(&found, trigger, at(120)).await, DisputeChanged::Done);
        let after = harness.found(found.dispute.id).await;
        assert_eq!((after.dispute.state, after.dispute.updated_at), (state, at(120)));
        assert_eq!(after.order.amounts.refundable(), usd(refundable), "{reference}");
        assert_eq!(harness.moves(&found, trigger, at(121)).await, DisputeChanged::Stale, "decided on what was before");
        assert_eq!(harness.found(found.dispute.id).await, after);
    }
    let balances = harness.ledger_balances();
    assert_eq!(balances, ["AUTHORIZED 0", "CAPTURED -1030", "CHARGED_BACK 10000", "DISPUTED 0", "SHOPPER -8970"]);
}

pub async fn a_stale_change_of_a_dispute_writes_nothing(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let (_, change) = opened(&payment.order, "dp_1", 100, at(100));
    let asked = refund(&payment, "return", None, at(90));
    assert_eq!(harness.ask(&asked).await, Ok(OrderChanged::Done));
    assert_eq!(harness.disputes.change_dispute(change).await, Ok(DisputeChanged::Stale), "the Order changed");
    assert_eq!(harness.count("dispute", "1 = 1"), 0);
    let found = harness.disputed(&harness.payment(payment.operation.id).await, "dp_1", 100).await;
    let unrelated = harness.processed(merchant.id).await.order;
    let mut strange = of_step(
        &found.dispute.moved(DisputeTrigger::Won, &found.order, posting(), at(120)).unwrap(),
        Some(found.dispute.revision),
        at(120),
    );
    strange.order = Some(Change { expected: unrelated.revision, next: unrelated });
    let refused = harness.disputes.change_dispute(strange).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.found(found.dispute.id).await, found);
}

pub async fn of_a_refund_and_a_dispute_the_second_counts_the_first(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let asked = refund(&payment, "return", Some(&usd(2_000)), at(90));
    harness.disputed(&payment, "dp_1", 1_000).await;
    assert_eq!(harness.ask(&asked).await, Ok(OrderChanged::Stale), "it was decided before the dispute was known");
    let current = harness.payment(payment.operation.id).await;
    assert!(current.order.plan_refund(Some(&usd(2_000)), at(91)).is_err());
    // A refund that was under way ends as the processor says, and what is disputed stays so.
    let begun = harness.refunding(&current, "return", Some(&usd(1_990))).await;
    assert_eq!(harness.payments.settle(refunded(&begun, true, at(92))).await, Ok(Settled::Done));
    let after = harness.payment(payment.operation.id).await.order.amounts.clone();
    assert_eq!((after.refunded(), after.disputed(), after.refundable()), (&usd(1_990), &usd(1_000), usd(0)));
}

pub async fn an_answer_is_open_once_and_given_until_it_ends(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let found = harness.disputed(&harness.processed(merchant.id).await, "dp_1", 100).await;
    let (stale, stale_change) = answer(&found, DisputeAnswerKind::Accept, at(130));
    let given = harness.answering(&found, DisputeAnswerKind::Evidence, at(130)).await;
    assert_eq!(harness.disputes.change_dispute(stale_change).await, Ok(DisputeChanged::Stale));
    assert_eq!(harness.disputes.find_evidence(stale.id).await, Ok(None));
    let open = harness.found(found.dispute.id).await;
    assert_eq!(open.open_answer, Some(given.clone()));
    let listed = || harness.disputes.list_order_disputes(merchant.id, open.order.id);
    assert_eq!(listed().await, Ok(vec![AnsweredDispute { dispute: open.dispute.clone(), is_pending: true }]));
    let second = harness.disputes.change_dispute(answer(&open, DisputeAnswerKind::Accept, at(130)).1).await;
    assert!(second.is_err(), "one at a time, whoever asks: {second:?}");
    assert_eq!(harness.disputes.find_evidence(given.id).await, Ok(Some(SealedSecret(vec![2, 0, 255]))));
    let claim = |now, until| harness.disputes.claim_due_answers(at(now), at(until), 10);
    assert_eq!(claim(129, 200).await, Ok(vec![]));
    let claimed = DisputeAnswer { due_at: at(200), tries: 1, ..given.clone() };
    assert_eq!(claim(130, 200).await, Ok(vec![claimed]));
    assert_eq!(claim(199, 300).await, Ok(vec![]), "somebody has it");
    assert_eq!(harness.disputes.postpone_answer(given.id, at(150)).await, Ok(Applied::Done));
    assert_eq!(claim(150, 400).await.unwrap().len(), 1);
    let step = open.dispute.moved(DisputeTrigger::EvidenceHandedIn, &open.order, posting(), at(160)).unwrap();
    let mut ended = of_step(&step, Some(open.dispute.revision), at(160));
    ended.ends = Some((given.id, DisputeAnswerState::Taken));
    assert_eq!(harness.disputes.change_dispute(ended.clone()).await, Ok(DisputeChanged::Done));
    let after = harness.found(found.dispute.id).await;
    assert_eq!((after.dispute.state, after.open_answer), (DisputeState::UnderReview, None));
    assert_eq!(listed().await, Ok(vec![AnsweredDispute { dispute: after.dispute, is_pending: false }]));
    assert_eq!(claim(999, 1_000).await, Ok(vec![]));
    assert_eq!(harness.disputes.postpone_answer(given.id, at(150)).await, Ok(Applied::Stale));
    assert_eq!(harness.disputes.change_dispute(ended).await, Ok(DisputeChanged::Stale), "ended once");
}

pub async fn undecided_disputes_are_looked_at_in_turn(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut found = Vec::new();
    for reference in ["dp_1", "dp_2", "dp_3"] {
        found.push(harness.disputed(&harness.processed(merchant.id).await, reference, 100).await);
    }
    let claim = async |name, now, next, limit| {
        harness.disputes.claim_undecided_disputes(&processor(name), at(now), at(next), limit).await
    };
    assert_eq!(claim("sandbox", 99, 200, 9).await, Ok(vec![]), "before they were opened");
    assert_eq!(claim("stripe", 100, 200, 9).await, Ok(vec![]));
    let first = claim("sandbox", 100, 200, 2).await.unwrap();
    let rest = claim("sandbox", 100, 200, 9).await.unwrap();
    assert_eq!((first.len(), rest.len()), (2, 1));
    assert_eq!(claim("sandbox", 199, 300, 9).await, Ok(vec![]));
    harness.disputes.look_again(rest[0], at(150)).await.unwrap();
    assert_eq!(claim("sandbox", 150, 300, 9).await, Ok(rest));
    let decided = &found[0];
    assert_eq!(harness.moves(decided, DisputeTrigger::Lost, at(160)).await, DisputeChanged::Done);
    let left = claim("sandbox", 900, 1_000, 9).await.unwrap();
    assert!(left.len() == 2 && !left.contains(&decided.dispute.id));
}

pub async fn disputes_are_listed_newest_first(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let mut own = Vec::new();
    for reference in ["dp_1", "dp_2"] {
        own.push(harness.disputed(&harness.processed(merchant.id).await, reference, 100).await.dispute);
    }
    let theirs = harness.disputed(&harness.processed(other.id).await, "dp_3", 100).await;
    assert_eq!(harness.moves(&theirs, DisputeTrigger::Won, at(120)).await, DisputeChanged::Done);
    let mut all: Vec<DisputeId> = own.iter().map(|dispute| dispute.id).chain([theirs.dispute.id]).collect();
    all.sort_by_key(|id| std::cmp::Reverse(*id));
    let ids = async |filter: DisputeFilter, limit| {
        let listed = harness.disputes.list_disputes(filter, limit).await.unwrap();
        listed.into_iter().map(|dispute| dispute.id).collect::<Vec<_>>()
    };
    let every = DisputeFilter::default();
    assert_eq!(ids(every.clone(), 9).await, all);
    assert_eq!(ids(every.clone(), 2).await, all[..2]);
    assert_eq!(ids(DisputeFilter { before: Some(all[0]), ..every.clone() }, 9).await, all[1..]);
    let of = DisputeFilter { merchant: Some(other.id), ..every.clone() };
    assert_eq!(ids(of, 9).await, [theirs.dispute.id]);
    let of = DisputeFilter { order: Some(own[0].order_id), ..every.clone() };
    assert_eq!(ids(of, 9).await, [own[0].id]);
    let open = ids(DisputeFilter { only_open: true, ..every }, 9).await;
    assert!(open.len() == 2 && !open.contains(&theirs.dispute.id));
}

pub async fn open_disputes_are_listed_and_counted(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let store = &harness.disputes;
    assert_eq!((store.list_open_disputes(None, 9).await, store.count_open_disputes().await), (Ok(vec![]), Ok(vec![])));
    let mut ids = Vec::new();
    // The soonest due is the last to come, another has no due time, and two wait for no answer.
    for (owner, reference, due) in [
        (&merchant, "later", Some(1_000)),
        (&other, "never", None),
        (&merchant, "sooner", Some(500)),
        (&merchant, "answered", Some(100)),
        (&merchant, "decided", Some(50)),
    ] {
        let order = harness.processed(owner.id).await.order;
        let (_, mut change) = opened(&order, reference, 100, at(10));
        change.dispute.due_at = due.map(at);
        assert_eq!(store.change_dispute(change).await, Ok(DisputeChanged::Done));
        ids.push(store.find_reported_dispute(&processor("sandbox"), reference).await.unwrap().unwrap());
    }
    for (id, trigger) in [(ids[3], DisputeTrigger::EvidenceHandedIn), (ids[4], DisputeTrigger::Lost)] {
        assert_eq!(harness.moves(&harness.found(id).await, trigger, at(20)).await, DisputeChanged::Done);
    }
    let listed = async |merchants: Option<Vec<MerchantId>>, limit| {
        let listed = store.list_open_disputes(merchants, limit).await.unwrap();
        listed.into_iter().map(|one| one.dispute.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 9).await, [ids[2], ids[0], ids[1], ids[3]]);
    assert_eq!(listed(None, 2).await, [ids[2], ids[0]]);
    assert_eq!(listed(Some(vec![merchant.id]), 9).await, [ids[2], ids[0], ids[3]]);
    assert_eq!(listed(Some(vec![merchant.id, other.id]), 9).await.len(), 4);
    assert_eq!(listed(Some(vec![]), 9).await, []);
    let counts = store.count_open_disputes().await.unwrap();
    let counts: Vec<_> = counts.iter().map(|open| (open.processor.as_str(), open.state, open.count)).collect();
    assert_eq!(counts.len(), 2, "{counts:?}");
    for expected in [("sandbox", DisputeState::NeedsResponse, 3), ("sandbox", DisputeState::UnderReview, 1)] {
        assert!(counts.contains(&expected), "{counts:?}");
    }
}

pub async fn a_list_of_disputes_is_read_on_by_one(harness: Arc<Harness>) {
    let store = &harness.disputes;
    assert_eq!(store.find_dispute_position(&processor("sandbox")).await, Ok(None));
    assert_eq!(store.keep_dispute_position(&processor("sandbox"), Some("1"), "2").await, Ok(Applied::Stale));
    assert_eq!(store.keep_dispute_position(&processor("sandbox"), None, "1").await, Ok(Applied::Done));
    assert_eq!(
        store.keep_dispute_position(&processor("sandbox"), None, "5").await,
        Ok(Applied::Stale),
        "somebody was first"
    );
    assert_eq!(store.keep_dispute_position(&processor("sandbox"), Some("1"), "2").await, Ok(Applied::Done));
    assert_eq!(store.keep_dispute_position(&processor("sandbox"), Some("1"), "3").await, Ok(Applied::Stale));
    assert_eq!(store.find_dispute_position(&processor("sandbox")).await, Ok(Some("2".to_owned())));
    assert_eq!(store.find_dispute_position(&processor("stripe")).await, Ok(None));
}

pub async fn evidence_is_sealed_anew(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut answers = Vec::new();
    for reference in ["dp_1", "dp_2", "dp_3"] {
        let found = harness.disputed(&harness.processed(merchant.id).await, reference, 100).await;
        answers.push(harness.answering(&found, DisputeAnswerKind::Evidence, at(130)).await.id);
    }
    answers.sort();
    let sealed = |answer, bytes: &[u8]| SealedValue::DisputeEvidence { answer, sealed: SealedSecret(bytes.to_vec()) };
    let kind = SealedKind::DisputeEvidence;
    let page = harness.sealed.list_sealed(kind, Some(answers[0].uuid()), 1).await;
    assert_eq!(page, Ok(vec![sealed(answers[1], &[2, 0, 255])]));
    let (old, new) = (sealed(answers[1], &[2, 0, 255]), sealed(answers[1], &[9]));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Done));
    assert_eq!(harness.sealed.replace_sealed(&old, &new).await, Ok(Applied::Stale));
    assert_eq!(harness.disputes.find_evidence(answers[1]).await, Ok(Some(SealedSecret(vec![9]))));
    assert_eq!(harness.disputes.find_evidence(answers[2]).await, Ok(Some(SealedSecret(vec![2, 0, 255]))));
}

pub async fn the_database_guards_the_disputes(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let found = harness.disputed(&harness.processed(merchant.id).await, "dp_1", 100).await;
    harness.answering(&found, DisputeAnswerKind::Evidence, at(130)).await;
    for (statement, rule) in [
        ("UPDATE dispute SET amount_minor = 0".to_owned(), "dispute_amount_positive"),
        ("UPDATE dispute SET state = 'OPEN'".to_owned(), "dispute_state_known"),
        ("UPDATE dispute SET reason = 'BORED'".to_owned(), "dispute_reason_known"),
        ("UPDATE dispute SET currency = 'usd'".to_owned(), "dispute_currency_code"),
        ("UPDATE dispute SET reference = ''".to_owned(), "dispute_reference_length"),
        ("UPDATE dispute SET revision = 0".to_owned(), "dispute_revision_positive"),
        (format!("UPDATE dispute SET order_id = '{}'", fresh()), ""),
        (format!("UPDATE dispute SET merchant_id = '{}'", fresh()), ""),
        ("UPDATE purchase_order SET disputed_minor = -1".to_owned(), "disputed_not_negative"),
        ("UPDATE dispute_answer SET state = 'LOST'".to_owned(), "dispute_answer_state_known"),
        ("UPDATE dispute_answer SET kind = 'SILENCE'".to_owned(), "dispute_answer_kind_known"),
        ("UPDATE dispute_answer SET tries = -1".to_owned(), "dispute_answer_tries_not_negative"),
        ("DELETE FROM dispute".to_owned(), ""),
        ("DELETE FROM dispute_answer".to_owned(), ""),
    ] {
        let refused = harness.raw.execute(&statement).unwrap_err();
        assert!(refused.contains(rule), "{statement}: {refused}");
    }
}

pub async fn a_damaged_dispute_is_corrupt(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let found = harness.disputed(&harness.processed(merchant.id).await, "dp_1", 100).await;
    for (damage, mend) in
        [("currency = 'ZZZ'", "currency = 'USD'"), ("amount_minor = 999999999999999999", "amount_minor = 100")]
    {
        harness.raw.execute(&format!("UPDATE dispute SET {damage}")).unwrap();
        let read = harness.disputes.find_dispute(found.dispute.id).await;
        assert!(matches!(read, Err(StoreError::Corrupt { table: "dispute", .. })), "{damage}: {read:?}");
        harness.raw.execute(&format!("UPDATE dispute SET {mend}")).unwrap();
    }
    assert_eq!(harness.found(found.dispute.id).await, found, "mended");
}
