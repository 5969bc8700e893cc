use std::sync::Arc;

use dropin_ports::{AttemptResult, Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries};

use super::{finish_all, keys, sequences, tell};
use crate::Harness;
use crate::harness::{capture, captured, outcome};
use crate::values::{at, event, sequenced};

use DeliveryResult::{Acknowledged, Held, Parked, Retry};

pub async fn a_late_result_changes_nothing(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let late = harness.claim(at(100)).await[0].key;
    let current = harness.claim(at(200)).await[0].key;
    for result in [Acknowledged, Parked, Retry { at: at(9_999) }] {
        assert_eq!(harness.finish(late, result, at(201)).await, vec![], "{result:?}");
    }
    assert_eq!(harness.count("outbox_parked", "1 = 1"), 0);
    let next = harness.finish(current, Acknowledged, at(202)).await;
    assert_eq!(sequences(&next), [2]);
    for result in [Acknowledged, Parked, Retry { at: at(9_999) }] {
        assert_eq!(harness.finish(current, result, at(203)).await, vec![], "{result:?} for the second time");
    }
    assert_eq!(harness.finish(next[0].key, Acknowledged, at(204)).await, vec![]);
    let unknown = DeliveryKey { stream: 4_711, ..current };
    assert_eq!(harness.finish(unknown, Acknowledged, at(205)).await, vec![]);
    assert_eq!(harness.next_due().await, None);
}

pub async fn notifications_of_a_payment_come_in_order(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await;
    assert_eq!(sequences(&first), [1]);
    assert_eq!(first[0].event_type, "SESSION_COMPLETED");
    // A third one joins while the first is under way: it neither overtakes nor is lost.
    let taken = capture(&payment, None, at(101));
    harness.ask(&taken).await.unwrap();
    let (change, ledger) = captured(&taken.order.next, &taken.operation, at(102));
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Approved, at(102));
    let told = event(payment.session.as_ref().unwrap(), "ORDER_PROCESSED", at(102));
    (settlement.order, settlement.ledger, settlement.events) = (Some(change), ledger, vec![told.clone()]);
    harness.payments.settle(settlement).await.unwrap();
    assert_eq!(harness.claim(at(103)).await, vec![]);
    let second = harness.finish(first[0].key, Acknowledged, at(104)).await;
    assert_eq!((sequences(&second), second[0].key.attempt), (vec![2], 1));
    assert_eq!((second[0].event_type.as_str(), second[0].first_try), ("ORDER_AUTHORIZED", at(104)));
    assert_eq!(harness.claim(at(105)).await, vec![], "it came with the acknowledgement, under a lease");
    let third = harness.finish(second[0].key, Acknowledged, at(106)).await;
    assert_eq!(
        (third[0].event_id, &third[0].body),
        (told.id, &sequenced(&told.body, 3)),
        "the exact bytes, with their place"
    );
    assert_eq!(harness.finish(third[0].key, Acknowledged, at(107)).await, vec![]);
    assert_eq!(harness.claim(at(9_999)).await, vec![]);
}

pub async fn a_retry_waits_and_keeps_its_body(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await;
    assert_eq!(harness.finish(first[0].key, Retry { at: at(130) }, at(101)).await, vec![]);
    assert_eq!(harness.next_due().await, Some(at(130)));
    assert_eq!(harness.claim(at(129)).await, vec![]);
    let second = harness.claim(at(130)).await;
    let expected = Delivery { key: DeliveryKey { attempt: 2, ..first[0].key }, ..first[0].clone() };
    assert_eq!(second, [expected]);
}

pub async fn a_dead_payment_holds_up_no_other(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let dead = harness.claim(at(100)).await;
    harness.finish(dead[0].key, Retry { at: at(3_000) }, at(101)).await;
    let other = harness.authorized(merchant.id).await;
    let claimed = harness.claim(at(102)).await;
    assert_eq!(claimed.iter().map(|one| one.payment_id).collect::<Vec<_>>(), [other.order.payment_id()]);
}

pub async fn a_failing_notification_holds_back_for_an_hour(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let failing = harness.claim(at(100)).await;
    harness.finish(failing[0].key, Retry { at: at(2_000) }, at(101)).await;
    let failing = harness.claim(at(2_000)).await;
    assert_eq!((sequences(&failing), failing[0].key.attempt), (vec![1], 2));
    // The next try lies beyond the hour, which is over at second 3,700.
    harness.finish(failing[0].key, Retry { at: at(5_000) }, at(2_001)).await;
    assert_eq!(harness.next_due().await, Some(at(3_700)));
    assert_eq!(harness.claim(at(3_699)).await, vec![], "held back until the hour is over");
    // What is told meanwhile waits with the others.
    let taken = capture(&payment, None, at(3_500));
    harness.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(3_600));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(3_500))];
    harness.payments.settle(settlement).await.unwrap();
    assert_eq!(harness.claim(at(3_699)).await, vec![]);
    let second = harness.claim(at(3_700)).await;
    assert_eq!((sequences(&second), second[0].key.attempt), (vec![2], 1));
    // From here on the two go their own ways: the old one keeps its schedule, the rest its order.
    let third = harness.finish(second[0].key, Acknowledged, at(3_701)).await;
    assert_eq!(sequences(&third), [3]);
    let failing = harness.claim(at(5_000)).await;
    let old: Vec<_> = failing.iter().filter(|one| one.key.sequence == 1).collect();
    assert_eq!((old.len(), old[0].key.attempt, old[0].first_try), (1, 3, at(100)));
    assert_eq!(harness.finish(old[0].key, Acknowledged, at(5_001)).await, vec![], "nothing follows it");
    let third = failing.iter().find(|one| one.key.sequence == 3).map_or(third[0].key, |again| again.key);
    assert_eq!(harness.finish(third, Acknowledged, at(5_002)).await, vec![]);
    assert_eq!(harness.next_due().await, None);
}

pub async fn nothing_is_held_back_before_it_fails(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    // The last event of the payment so far fails for hours; one that comes then is not behind it any more.
    let first = harness.claim(at(100)).await;
    let second = harness.finish(first[0].key, Acknowledged, at(101)).await;
    harness.finish(second[0].key, Retry { at: at(20_000) }, at(102)).await;
    let taken = capture(&payment, None, at(9_000));
    harness.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(9_001));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(9_001))];
    harness.payments.settle(settlement).await.unwrap();
    assert_eq!(harness.next_due().await, Some(at(9_001)));
    let third = harness.claim(at(9_001)).await;
    assert_eq!(sequences(&third), [3]);
    assert_eq!(harness.finish(third[0].key, Acknowledged, at(9_002)).await, vec![]);
    assert_eq!(sequences(&harness.claim(at(20_000)).await), [2]);
}

pub async fn results_are_written_together(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..6 {
        harness.authorized(merchant.id).await;
    }
    let claimed = harness.claim(at(100)).await;
    let mut results: Vec<_> = keys(&claimed).into_iter().map(|key| AttemptResult::new(key, Acknowledged)).collect();
    results[1].result = Parked;
    results[2].result = Retry { at: at(200) };
    results[3].key.attempt = 7;
    results.reverse();
    // The same stream twice in one batch: the first result counts.
    results.push(AttemptResult::new(claimed[0].key, Parked));
    let next = harness.outbox.finish_deliveries(results, at(101), at(116)).await.unwrap().next;
    let mut streams: Vec<_> = next.iter().map(|one| one.key.stream).collect();
    streams.sort_unstable();
    let gone_on = [&claimed[0], &claimed[1], &claimed[4], &claimed[5]].map(|one| one.key.stream);
    assert_eq!(streams, gone_on);
    assert!(sequences(&next).iter().all(|sequence| *sequence == 2));
    assert_eq!(harness.count("outbox_parked", "1 = 1"), 1);
    assert_eq!(harness.outbox.finish_deliveries(vec![], at(102), at(117)).await, Ok(FinishedDeliveries::default()));
}

pub async fn a_try_that_is_held_does_not_count(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await.remove(0);
    for _ in ["told", "told again, because the answer was lost"] {
        assert_eq!(
            finish_all(&harness, &[(first.key, Held { at: at(110) })], at(101)).await,
            FinishedDeliveries::default()
        );
    }
    assert_eq!(harness.claim(at(109)).await, vec![]);
    let second = harness.claim(at(110)).await.remove(0);
    let expected = Delivery { key: DeliveryKey { attempt: 2, ..first.key }, uncounted: 1, ..first.clone() };
    assert_eq!(second, expected, "no lease ran out");
    assert_eq!(second.tries(), 1);
    let late = finish_all(&harness, &[(first.key, Acknowledged)], at(111)).await;
    assert_eq!(late, FinishedDeliveries { next: vec![], fenced: 1 }, "of the try that was held");
    // Far beyond the hour it still keeps its payment's order: it was never tried in earnest.
    harness.finish(second.key, Held { at: at(9_000) }, at(112)).await;
    assert_eq!(harness.next_due().await, Some(at(9_000)));
    let third = harness.claim(at(9_000)).await.remove(0);
    assert_eq!((third.key.sequence, third.key.attempt, third.tries()), (1, 3, 1));
    let next = harness.finish(third.key, Acknowledged, at(9_001)).await;
    assert_eq!((sequences(&next), next[0].uncounted), (vec![2], 0));
}

pub async fn results_that_come_too_late_are_counted(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..3 {
        harness.authorized(merchant.id).await;
    }
    let late = keys(&harness.claim(at(100)).await);
    let current = keys(&harness.claim(at(115)).await);
    let unknown = DeliveryKey { stream: 4_711, ..current[0] };
    let beyond = DeliveryKey { attempt: u32::MAX, ..current[0] };
    let results = [
        (late[0], Acknowledged),
        (current[0], Acknowledged),
        (current[0], Parked),
        (late[1], Held { at: at(116) }),
        (unknown, Acknowledged),
        (beyond, Acknowledged),
        (current[1], Retry { at: at(200) }),
        // Later than an hour after the first try: a stream of its own.
        (current[2], Retry { at: at(9_000) }),
    ];
    let finished = finish_all(&harness, &results, at(116)).await;
    assert_eq!((sequences(&finished.next), finished.fenced), (vec![2], 5));
    assert_eq!(finish_all(&harness, &results, at(117)).await.fenced, 6, "what is tried again may still be told of");
}

pub async fn nothing_is_handed_out_without_a_lease(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    tell(&harness, &payment, &["THIRD"], at(50)).await;
    let first = harness.claim(at(100)).await.remove(0);
    for (key, result) in [(first.key, Acknowledged), (DeliveryKey { sequence: 2, ..first.key }, Parked)] {
        let results = vec![AttemptResult::new(key, result)];
        let finished = harness.outbox.finish_deliveries(results, at(101), at(101)).await;
        assert_eq!(finished, Ok(FinishedDeliveries::default()));
        let next = harness.claim(at(101)).await.remove(0);
        assert_eq!((next.key.sequence, next.key.attempt), (key.sequence + 1, 1), "due at once, for whoever comes next");
        assert_eq!((next.first_try, next.uncounted, next.lease_expired), (at(101), 0, false));
    }
}
