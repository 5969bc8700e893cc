use std::collections::HashSet;
use std::sync::Arc;

use dropin_kernel::{OpId, ProcessorId};
use dropin_order::{OpState, Operation, ProcessorReference};
use dropin_ports::{Applied, AuthorizationPrepared, ClaimedOperation, OrderChanged, Settled};

use crate::Harness;
use crate::harness::{approval, capture, outcome};
use crate::values::{at, fresh};

/// Operations due at the given times, in this order.
async fn due(harness: &Harness, times: &[u64]) -> Vec<OpId> {
    let (merchant, _) = harness.merchant().await;
    let mut operations = vec![];
    for time in times {
        let operation = harness.submitted(merchant.id).await.operation.id;
        harness.payments.settle(outcome(operation, OpState::Unknown, at(*time))).await.unwrap();
        operations.push(operation);
    }
    operations
}

pub async fn due_operations_are_claimed_oldest_first(harness: Arc<Harness>) {
    let ids = due(&harness, &[300, 100, 200, 400]).await;
    let claims = |claimed: Vec<ClaimedOperation>| claimed.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let claimed = harness.payments.claim_due_operations(at(300), at(900), 2).await.unwrap();
    assert_eq!(claims(claimed.clone()), [ids[1], ids[2]]);
    assert!(claimed.iter().all(|one| one.epoch == 1));
    let claimed = harness.payments.claim_due_operations(at(300), at(900), 2).await.unwrap();
    assert_eq!(claims(claimed), [ids[0]], "the last is not due yet");
    let found = harness.payments.find_payment(ids[0]).await.unwrap().unwrap().operation;
    assert_eq!((found.epoch, found.due_at, found.tries), (1, at(900), 0));
}

pub async fn what_the_processor_accepted_lets_the_unknown_go_first(harness: Arc<Harness>) {
    let ids = due(&harness, &[90, 95, 105]).await;
    for (id, second) in [(ids[0], 90), (ids[1], 96)] {
        harness.payments.settle(outcome(id, OpState::Pending, at(second))).await.unwrap();
    }
    let claim = async |limit| {
        let claimed = harness.payments.claim_due_operations(at(105), at(900), limit).await.unwrap();
        claimed.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(claim(2).await, [ids[0], ids[2]], "the first has waited for ten seconds and more");
    assert_eq!(claim(2).await, [ids[1]]);
}

pub async fn a_lease_excludes_others_until_it_ends(harness: Arc<Harness>) {
    let ids = due(&harness, &[100]).await;
    let first = harness.payments.claim_due_operations(at(100), at(110), 10).await.unwrap();
    assert_eq!(first, [ClaimedOperation { id: ids[0], epoch: 1 }]);
    assert_eq!(harness.payments.claim_due_operations(at(109), at(120), 10).await, Ok(vec![]));
    let second = harness.payments.claim_due_operations(at(110), at(120), 10).await.unwrap();
    assert_eq!(second, [ClaimedOperation { id: ids[0], epoch: 2 }]);
    harness.payments.settle(outcome(ids[0], OpState::Abandoned, at(111))).await.unwrap();
    assert_eq!(harness.payments.claim_due_operations(at(999), at(1_000), 10).await, Ok(vec![]), "it is settled");
}

pub async fn concurrent_claims_share_nothing(harness: Arc<Harness>) {
    let ids: HashSet<_> = due(&harness, &[100; 24]).await.into_iter().collect();
    let claim = |_worker| {
        let harness = harness.clone();
        tokio::spawn(async move {
            let mut mine = vec![];
            loop {
                let claimed = harness.payments.claim_due_operations(at(100), at(900), 3).await.unwrap();
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed);
            }
        })
    };
    let workers: Vec<_> = (0..8).map(claim).collect();
    let mut seen = vec![];
    for worker in workers {
        seen.extend(worker.await.unwrap());
    }
    // A worker may leave while another still holds a lock; what it skipped is claimed by that other one or the next to ask.
    seen.extend(harness.payments.claim_due_operations(at(100), at(900), 100).await.unwrap());
    assert_eq!(seen.len(), 24, "each once");
    assert_eq!(seen.into_iter().map(|one| one.id).collect::<HashSet<_>>(), ids);
}

pub async fn a_late_holder_postpones_nothing(harness: Arc<Harness>) {
    let ids = due(&harness, &[100]).await;
    let first = harness.payments.claim_due_operations(at(100), at(110), 1).await.unwrap()[0];
    assert_eq!(harness.payments.postpone_operation(first, OpState::Unknown, at(105), None).await, Ok(Applied::Done));
    let found = harness.payments.find_payment(ids[0]).await.unwrap().unwrap().operation;
    assert_eq!((found.tries, found.due_at, found.state), (1, at(105), OpState::Unknown));
    let second = harness.payments.claim_due_operations(at(106), at(116), 1).await.unwrap()[0];
    assert_eq!(harness.payments.postpone_operation(first, OpState::Pending, at(500), None).await, Ok(Applied::Stale));
    assert_eq!(harness.payments.postpone_operation(second, OpState::Pending, at(200), None).await, Ok(Applied::Done));
    let payment = harness.payments.find_payment(ids[0]).await.unwrap().unwrap();
    assert_eq!((payment.operation.tries, payment.operation.due_at), (2, at(200)));
    assert_eq!(payment.operation.state, OpState::Pending);
    assert_eq!(harness.payments.settle(approval(&payment)).await, Ok(Settled::Done));
    assert_eq!(harness.payments.postpone_operation(second, OpState::Pending, at(300), None).await, Ok(Applied::Stale));
    let found = harness.payments.find_payment(ids[0]).await.unwrap().unwrap().operation;
    assert_eq!((found.tries, found.state), (2, OpState::Approved));
}

pub async fn open_operations_are_listed_oldest_first(harness: Arc<Harness>) {
    assert_eq!(harness.payments.list_open_operations(10).await, Ok(vec![]));
    let ids = due(&harness, &[300, 100, 200, 400]).await;
    harness.payments.settle(outcome(ids[1], OpState::Declined, at(100))).await.unwrap();
    let listed = |found: Vec<Operation>| found.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let all = harness.payments.list_open_operations(10).await.unwrap();
    assert_eq!(listed(all.clone()), [ids[0], ids[2], ids[3]], "in the order they were written down");
    assert_eq!(harness.payments.find_payment(ids[0]).await.unwrap().map(|found| found.operation), Some(all[0].clone()));
    assert_eq!(listed(harness.payments.list_open_operations(2).await.unwrap()), [ids[0], ids[2]]);
    assert!(all.iter().all(|one| one.epoch == 0), "nothing was taken over");
}

fn reference(text: &str) -> ProcessorReference {
    text.parse().unwrap()
}

pub async fn a_reference_is_kept_once_by_whoever_prepared_the_authorization(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (first, other) = (reference("pi_1"), reference("pi_2"));
    let keep = async |id, reference| harness.payments.keep_reference(id, reference, at(9_000)).await;
    assert_eq!(keep(OpId::new(fresh()), &first).await, Ok(Applied::Stale), "there is no such operation");
    let held = harness.submitted(merchant.id).await.operation;
    assert_eq!(keep(held.id, &first).await, Ok(Applied::Done));
    assert_eq!(keep(held.id, &other).await, Ok(Applied::Stale), "it has one");
    let kept = Operation { due_at: at(9_000), ..held.known_as(first.clone()) };
    assert_eq!(harness.payment(kept.id).await.operation, kept, "and nothing else changed");
    let ended = harness.submitted(merchant.id).await.operation.id;
    harness.payments.settle(outcome(ended, OpState::Abandoned, at(20))).await.unwrap();
    let taken_over = harness.submitted(merchant.id).await.operation.id;
    let claimed = harness.payments.claim_due_operations(at(10_000), at(20_000), 10).await.unwrap();
    assert!(claimed.contains(&ClaimedOperation { id: taken_over, epoch: 1 }), "{claimed:?}");
    for id in [ended, taken_over] {
        assert_eq!(keep(id, &first).await, Ok(Applied::Stale), "nobody may ask for it any more");
        assert_eq!(harness.payment(id).await.operation.reference, None);
    }
}

pub async fn what_follows_carries_the_reference_of_its_authorization(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let known = reference("pi_1");
    // Written with the outcome that it follows from, and by itself.
    for follows_at_once in [true, false] {
        let id = harness.submitted(merchant.id).await.operation.id;
        assert_eq!(harness.payments.keep_reference(id, &known, at(10)).await, Ok(Applied::Done));
        let payment = harness.payment(id).await;
        if follows_at_once {
            let next = payment.operation.capture(OpId::new(fresh()), payment.operation.amount, at(20), at(30));
            let mut settlement = approval(&payment);
            settlement.follow_up = Some(next);
            assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
        } else {
            let payment = harness.settle_authorized(&payment).await;
            assert_eq!(harness.ask(&capture(&payment, None, at(25))).await, Ok(OrderChanged::Done));
        }
        let listed = harness.payments.list_operations(payment.order.id).await.unwrap();
        let references: Vec<_> = listed.into_iter().map(|one| one.reference).collect();
        assert_eq!(references, [Some(known.clone()), Some(known.clone())]);
    }
}

pub async fn what_follows_carries_the_processor_of_its_authorization(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let processor: Option<ProcessorId> = "acquirer".parse().ok();
    // Written with the outcome that it follows from, and by itself.
    for follows_at_once in [true, false] {
        let session = harness.session(merchant.id).await;
        let stash = harness.stashed(merchant.id).await;
        let mut prepare = harness.submit(&session, &stash.key, at(10));
        prepare.operation = prepare.operation.at_processor(processor.clone());
        let asked = prepare.operation.clone();
        let prepared = harness.payments.prepare_authorization(prepare).await;
        assert!(matches!(prepared, Ok(AuthorizationPrepared::Done(_))), "{prepared:?}");
        let payment = harness.payment(asked.id).await;
        assert_eq!(payment.operation, asked);
        if follows_at_once {
            let next = payment.operation.capture(OpId::new(fresh()), payment.operation.amount, at(20), at(30));
            let mut settlement = approval(&payment);
            settlement.follow_up = Some(next);
            assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
        } else {
            let payment = harness.settle_authorized(&payment).await;
            assert_eq!(harness.ask(&capture(&payment, None, at(25))).await, Ok(OrderChanged::Done));
        }
        let listed = harness.payments.list_operations(payment.order.id).await.unwrap();
        let processors: Vec<_> = listed.into_iter().map(|one| one.processor).collect();
        assert_eq!(processors, [processor.clone(), processor.clone()]);
    }
}

pub async fn what_is_open_and_held_by_nobody_is_made_due(harness: Arc<Harness>) {
    let ids = due(&harness, &[9_000, 9_000, 90]).await;
    harness.payments.settle(outcome(ids[1], OpState::Pending, at(9_000))).await.unwrap();
    let (merchant, _) = harness.merchant().await;
    let held = harness.submitted(merchant.id).await.operation;
    let ended = due(&harness, &[9_000]).await[0];
    harness.payments.settle(outcome(ended, OpState::Approved, at(20))).await.unwrap();
    let hinted = [ids[0], ids[1], ids[2], held.id, ended, OpId::new(fresh())];
    // Twice, as events come.
    for _ in 0..2 {
        assert_eq!(harness.payments.make_due(&hinted, at(100)).await, Ok(()));
    }
    for (id, due_at) in
        [(ids[0], at(100)), (ids[1], at(100)), (ids[2], at(90)), (held.id, held.due_at), (ended, at(20))]
    {
        assert_eq!(harness.payment(id).await.operation.due_at, due_at);
    }
}
