use std::collections::HashMap;
use std::sync::Arc;

use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_ports::{
    AccountChanged, Delivery, DeliveryKey, DeliveryResult, EndpointChange, FinishedDeliveries, FinishedTry,
    ParkedEvent, Replayed,
};

use crate::Bench;
use crate::bench::{capture, captured, outcome};
use crate::values::{at, event, fresh, new_endpoint, new_merchant, seconds};

use DeliveryResult::{Acknowledged, Parked, Retry};
use Replayed::{NoEndpoint, NotParked};

fn keys(deliveries: &[Delivery]) -> Vec<DeliveryKey> {
    deliveries.iter().map(|one| one.key).collect()
}

fn sequences(deliveries: &[Delivery]) -> Vec<i64> {
    deliveries.iter().map(|one| one.key.sequence).collect()
}

pub async fn a_stream_is_claimed_by_one(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    for _ in 0..24 {
        bench.authorized(merchant.id).await;
    }
    let claim = |_| {
        let bench = bench.clone();
        tokio::spawn(async move {
            let mut mine = vec![];
            loop {
                let claimed = bench.outbox.claim_deliveries(&[], at(100), at(115), 3, 3).await.unwrap();
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed);
            }
        })
    };
    let mut seen = vec![];
    for worker in (0..8).map(claim).collect::<Vec<_>>() {
        seen.extend(worker.await.unwrap());
    }
    seen.extend(bench.claim(at(100)).await);
    assert_eq!(seen.len(), 24, "each once");
    let mut payments: Vec<_> = seen.iter().map(|one| one.payment_id).collect();
    payments.sort();
    payments.dedup();
    assert_eq!(payments.len(), 24);
    for one in seen {
        assert_eq!((one.key.sequence, one.key.attempt, one.first_try), (1, 1, at(100)));
        assert_eq!((one.merchant_id, one.endpoint_id), (merchant.id, endpoint.id));
        assert_eq!((&one.url, &one.secrets), (&endpoint.url, &vec![endpoint.secret.clone()]));
        assert_eq!(one.event_type, "SESSION_COMPLETED");
    }
}

pub async fn a_lease_that_ends_is_claimed_again(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    assert_eq!(bench.claim(at(19)).await, vec![], "the change is of second 20");
    let first = bench.claim(at(100)).await;
    assert_eq!(bench.claim(at(114)).await, vec![]);
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(Some(at(115))));
    let second = bench.claim(at(115)).await;
    let expected = Delivery { key: DeliveryKey { attempt: 2, ..first[0].key }, ..first[0].clone() };
    assert_eq!(second, [expected], "the same event again, first tried at second 100");
}

pub async fn a_late_result_changes_nothing(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let late = bench.claim(at(100)).await[0].key;
    let current = bench.claim(at(200)).await[0].key;
    for result in [Acknowledged, Parked, Retry { at: at(9_999) }] {
        assert_eq!(bench.finish(late, result, at(201)).await, vec![], "{result:?}");
    }
    assert_eq!(bench.count("outbox_parked", "1 = 1"), 0);
    let next = bench.finish(current, Acknowledged, at(202)).await;
    assert_eq!(sequences(&next), [2]);
    for result in [Acknowledged, Parked, Retry { at: at(9_999) }] {
        assert_eq!(bench.finish(current, result, at(203)).await, vec![], "{result:?} for the second time");
    }
    assert_eq!(bench.finish(next[0].key, Acknowledged, at(204)).await, vec![]);
    let unknown = DeliveryKey { stream: 4_711, ..current };
    assert_eq!(bench.finish(unknown, Acknowledged, at(205)).await, vec![]);
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None));
}

pub async fn notifications_of_a_payment_come_in_order(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    let first = bench.claim(at(100)).await;
    assert_eq!(sequences(&first), [1]);
    assert_eq!(first[0].event_type, "SESSION_COMPLETED");
    // A third one joins while the first is under way: it neither overtakes nor is lost.
    let taken = capture(&payment, None, at(101));
    bench.ask(&taken).await.unwrap();
    let (change, ledger) = captured(&taken.order.next, &taken.operation, at(102));
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Approved, at(102));
    let told = event(payment.session.as_ref().unwrap(), "ORDER_PROCESSED", at(102));
    (settlement.order, settlement.ledger, settlement.events) = (Some(change), ledger, vec![told.clone()]);
    bench.payments.settle(settlement).await.unwrap();
    assert_eq!(bench.claim(at(103)).await, vec![]);
    let second = bench.finish(first[0].key, Acknowledged, at(104)).await;
    assert_eq!((sequences(&second), second[0].key.attempt), (vec![2], 1));
    assert_eq!((second[0].event_type.as_str(), second[0].first_try), ("ORDER_AUTHORIZED", at(104)));
    assert_eq!(bench.claim(at(105)).await, vec![], "it came with the acknowledgement, under a lease");
    let third = bench.finish(second[0].key, Acknowledged, at(106)).await;
    assert_eq!((third[0].event_id, &third[0].body), (told.id, &told.body), "the exact bytes");
    assert_eq!(bench.finish(third[0].key, Acknowledged, at(107)).await, vec![]);
    assert_eq!(bench.claim(at(9_999)).await, vec![]);
}

pub async fn a_retry_waits_and_keeps_its_body(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let first = bench.claim(at(100)).await;
    assert_eq!(bench.finish(first[0].key, Retry { at: at(130) }, at(101)).await, vec![]);
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(Some(at(130))));
    assert_eq!(bench.claim(at(129)).await, vec![]);
    let second = bench.claim(at(130)).await;
    let expected = Delivery { key: DeliveryKey { attempt: 2, ..first[0].key }, ..first[0].clone() };
    assert_eq!(second, [expected]);
}

pub async fn every_endpoint_gets_its_turn(bench: Arc<Bench>) {
    let ((busy, busy_endpoint), (quiet, quiet_endpoint)) = (bench.merchant().await, bench.merchant().await);
    for _ in 0..12 {
        bench.authorized(busy.id).await;
    }
    bench.authorized(quiet.id).await;
    let claimed = bench.outbox.claim_deliveries(&[], at(100), at(115), 3, 100).await.unwrap();
    let mut by_endpoint: HashMap<EndpointId, usize> = HashMap::new();
    for one in &claimed {
        *by_endpoint.entry(one.endpoint_id).or_default() += 1;
    }
    assert_eq!(by_endpoint, HashMap::from([(busy_endpoint.id, 3), (quiet_endpoint.id, 1)]));
    // When the limit is short, everybody gets one before anybody gets two.
    bench.authorized(quiet.id).await;
    let claimed = bench.outbox.claim_deliveries(&[], at(100), at(115), 3, 2).await.unwrap();
    let mut endpoints: Vec<_> = claimed.iter().map(|one| one.endpoint_id).collect();
    endpoints.sort();
    let mut both = [busy_endpoint.id, quiet_endpoint.id];
    both.sort();
    assert_eq!(endpoints, both);
}

pub async fn full_endpoints_are_passed_over_and_no_try_is_counted(bench: Arc<Bench>) {
    let ((one, first), (other, second)) = (bench.merchant().await, bench.merchant().await);
    for merchant in [one.id, other.id] {
        bench.authorized(merchant).await;
    }
    let claim = async |full: &[EndpointId]| {
        let found = bench.outbox.claim_deliveries(full, at(100), at(115), 8, 8).await.unwrap();
        found.into_iter().map(|delivery| (delivery.endpoint_id, delivery.key.attempt)).collect::<Vec<_>>()
    };
    assert_eq!(claim(&[first.id, second.id]).await, []);
    assert_eq!(claim(&[first.id]).await, [(second.id, 1)]);
    assert_eq!(claim(&[]).await, [(first.id, 1)]);
}

pub async fn a_dead_payment_holds_up_no_other(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let dead = bench.claim(at(100)).await;
    bench.finish(dead[0].key, Retry { at: at(3_000) }, at(101)).await;
    let other = bench.authorized(merchant.id).await;
    let claimed = bench.claim(at(102)).await;
    assert_eq!(claimed.iter().map(|one| one.payment_id).collect::<Vec<_>>(), [other.order.payment_id()]);
}

pub async fn a_failing_notification_holds_back_for_an_hour(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    let failing = bench.claim(at(100)).await;
    bench.finish(failing[0].key, Retry { at: at(2_000) }, at(101)).await;
    let failing = bench.claim(at(2_000)).await;
    assert_eq!((sequences(&failing), failing[0].key.attempt), (vec![1], 2));
    // The next try lies beyond the hour, which is over at second 3,700.
    bench.finish(failing[0].key, Retry { at: at(5_000) }, at(2_001)).await;
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(Some(at(3_700))));
    assert_eq!(bench.claim(at(3_699)).await, vec![], "held back until the hour is over");
    // What is told meanwhile waits with the others.
    let taken = capture(&payment, None, at(3_500));
    bench.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(3_600));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(3_500))];
    bench.payments.settle(settlement).await.unwrap();
    assert_eq!(bench.claim(at(3_699)).await, vec![]);
    let second = bench.claim(at(3_700)).await;
    assert_eq!((sequences(&second), second[0].key.attempt), (vec![2], 1));
    // From here on the two go their own ways: the old one keeps its schedule, the rest its order.
    let third = bench.finish(second[0].key, Acknowledged, at(3_701)).await;
    assert_eq!(sequences(&third), [3]);
    let failing = bench.claim(at(5_000)).await;
    let old: Vec<_> = failing.iter().filter(|one| one.key.sequence == 1).collect();
    assert_eq!((old.len(), old[0].key.attempt, old[0].first_try), (1, 3, at(100)));
    assert_eq!(bench.finish(old[0].key, Acknowledged, at(5_001)).await, vec![], "nothing follows it");
    let third = failing.iter().find(|one| one.key.sequence == 3).map_or(third[0].key, |again| again.key);
    assert_eq!(bench.finish(third, Acknowledged, at(5_002)).await, vec![]);
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None));
}

pub async fn nothing_is_held_back_before_it_fails(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    // The last event of the payment so far fails for hours; one that comes then is not behind it any more.
    let first = bench.claim(at(100)).await;
    let second = bench.finish(first[0].key, Acknowledged, at(101)).await;
    bench.finish(second[0].key, Retry { at: at(20_000) }, at(102)).await;
    let taken = capture(&payment, None, at(9_000));
    bench.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(9_001));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(9_001))];
    bench.payments.settle(settlement).await.unwrap();
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(Some(at(9_001))));
    let third = bench.claim(at(9_001)).await;
    assert_eq!(sequences(&third), [3]);
    assert_eq!(bench.finish(third[0].key, Acknowledged, at(9_002)).await, vec![]);
    assert_eq!(sequences(&bench.claim(at(20_000)).await), [2]);
}

pub async fn a_parked_notification_can_be_replayed(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    let first = bench.claim(at(100)).await.remove(0);
    assert_eq!(bench.outbox.replay_parked(first.event_id, endpoint.id, endpoint.id, at(100)).await, Ok(NotParked));
    let second = bench.finish(first.key, Parked, at(101)).await;
    assert_eq!(sequences(&second), [2], "the stream goes on without it");
    let expected = |attempts, parked_at| ParkedEvent {
        merchant_id: merchant.id,
        endpoint_id: endpoint.id,
        payment_id: payment.order.payment_id(),
        event_id: first.event_id,
        event_type: first.event_type.clone(),
        attempts,
        parked_at,
    };
    assert_eq!(bench.outbox.list_parked(10).await, Ok(vec![expected(1, at(101))]));
    assert_eq!(bench.outbox.list_parked(0).await, Ok(vec![]));
    let replay = async |event, from, to| bench.outbox.replay_parked(event, from, to, at(102)).await.unwrap();
    let nowhere = EndpointId::new(fresh());
    assert_eq!(replay(first.event_id, nowhere, endpoint.id).await, NotParked);
    assert_eq!(replay(EventId::new(fresh()), endpoint.id, endpoint.id).await, NotParked);
    assert_eq!(replay(first.event_id, endpoint.id, nowhere).await, NoEndpoint);
    assert_eq!(replay(first.event_id, endpoint.id, endpoint.id).await, Replayed::Done);
    assert_eq!(replay(first.event_id, endpoint.id, endpoint.id).await, NotParked, "once");
    let replayed = bench.claim(at(103)).await.remove(0);
    assert_eq!((replayed.event_id, &replayed.body), (first.event_id, &first.body), "unchanged, with the same id");
    assert_eq!((replayed.key.sequence, replayed.key.attempt, replayed.first_try), (1, 1, at(103)));
    assert_eq!(bench.finish(replayed.key, Parked, at(104)).await, vec![]);
    assert_eq!(bench.outbox.list_parked(10).await, Ok(vec![expected(1, at(104))]), "parked again");
    assert_eq!(bench.finish(second[0].key, Parked, at(105)).await, vec![]);
    let parked = bench.outbox.list_parked(10).await.unwrap();
    assert_eq!(parked.iter().map(|one| one.event_id).collect::<Vec<_>>(), [second[0].event_id, first.event_id]);
    assert_eq!(bench.outbox.list_parked(1).await.unwrap(), parked[..1]);
}

/// An event that is parked at both endpoints of a merchant since second 101.
async fn parked_at_both(bench: &Bench) -> (EventId, EndpointId, EndpointId) {
    let (merchant, one) = bench.merchant().await;
    let other = new_endpoint(merchant.id);
    bench.access.insert_endpoint(other.clone()).await.unwrap();
    bench.authorized(merchant.id).await;
    let first = bench.claim(at(100)).await;
    for delivery in &first {
        let second = bench.finish(delivery.key, Parked, at(101)).await;
        bench.finish(second[0].key, Acknowledged, at(102)).await;
    }
    (first[0].event_id, one.id, other.id)
}

/// Where `event` is parked, after how many tries and since when; the newest first.
async fn parked(bench: &Bench, event: EventId) -> Vec<(EndpointId, u32, Timestamp)> {
    let parked = bench.outbox.list_parked(10).await.unwrap().into_iter().filter(|one| one.event_id == event);
    parked.map(|one| (one.endpoint_id, one.attempts, one.parked_at)).collect()
}

pub async fn what_is_parked_again_replaces_what_was_parked(bench: Arc<Bench>) {
    let (event, from, to) = parked_at_both(&bench).await;
    assert_eq!(parked(&bench, event).await.len(), 2);
    assert_eq!(bench.outbox.replay_parked(event, from, to, at(200)).await, Ok(Replayed::Done));
    let replayed = bench.claim(at(200)).await.remove(0);
    bench.finish(replayed.key, Retry { at: at(210) }, at(201)).await;
    let replayed = bench.claim(at(210)).await.remove(0);
    let (merchant, _) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let neighbour = bench.claim(at(210)).await.remove(0);
    let results = vec![FinishedTry::new(neighbour.key, Parked), FinishedTry::new(replayed.key, Parked)];
    let next = bench.outbox.finish_deliveries(results, at(211), at(226)).await.unwrap().next;
    assert_eq!(next.iter().map(|next| next.merchant_id).collect::<Vec<_>>(), [merchant.id], "it holds nobody up");
    assert_eq!(parked(&bench, event).await, [(to, 2, at(211))], "once, as it was parked last");
    let events: Vec<_> = bench.outbox.list_parked(10).await.unwrap().into_iter().map(|one| one.event_id).collect();
    assert_eq!(events, [event, neighbour.event_id], "among the others it is the newest");
}

pub async fn what_a_removed_endpoint_was_to_get_again_is_parked_again(bench: Arc<Bench>) {
    for by_claim in [false, true] {
        let (event, one, other) = parked_at_both(&bench).await;
        assert_eq!(bench.outbox.replay_parked(event, one, other, at(200)).await, Ok(Replayed::Done));
        let removed = EndpointChange::Removed(at(201));
        assert_eq!(bench.access.change_endpoint(other, removed).await, Ok(AccountChanged::Done));
        if by_claim {
            assert_eq!(bench.claim(at(202)).await, vec![]);
        } else {
            assert_eq!(bench.outbox.park_removed(other, at(202), 10).await, Ok((1, false)));
        }
        assert_eq!(parked(&bench, event).await, [(other, 0, at(202))], "by the claim: {by_claim}");
    }
}

pub async fn results_are_written_together(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    for _ in 0..6 {
        bench.authorized(merchant.id).await;
    }
    let claimed = bench.claim(at(100)).await;
    let mut results: Vec<_> = keys(&claimed).into_iter().map(|key| FinishedTry::new(key, Acknowledged)).collect();
    results[1].result = Parked;
    results[2].result = Retry { at: at(200) };
    results[3].key.attempt = 7;
    results.reverse();
    // The same stream twice in one batch: the first result counts.
    results.push(FinishedTry::new(claimed[0].key, Parked));
    let next = bench.outbox.finish_deliveries(results, at(101), at(116)).await.unwrap().next;
    let mut streams: Vec<_> = next.iter().map(|one| one.key.stream).collect();
    streams.sort_unstable();
    let gone_on = [&claimed[0], &claimed[1], &claimed[4], &claimed[5]].map(|one| one.key.stream);
    assert_eq!(streams, gone_on);
    assert!(sequences(&next).iter().all(|sequence| *sequence == 2));
    assert_eq!(bench.count("outbox_parked", "1 = 1"), 1);
    assert_eq!(bench.outbox.finish_deliveries(vec![], at(102), at(117)).await, Ok(FinishedDeliveries::default()));
}

pub async fn an_idle_queue_has_no_due_time(bench: Arc<Bench>) {
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None));
    let new = new_merchant(false);
    bench.access.insert_merchant(new.clone()).await.unwrap();
    let payment = bench.authorized(new.merchant.id).await;
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None), "nobody is to be told");
    // An endpoint that is added later is told what happens from then on.
    let endpoint = new_endpoint(new.merchant.id);
    bench
        .raw
        .execute(&format!(
            "INSERT INTO endpoint (id, merchant_id, url, secret) \
             SELECT '{}', id, 'https://shop.example/later', password FROM (SELECT merchant_id AS id, password FROM api_user) AS one",
            endpoint.id
        ))
        .unwrap();
    let taken = capture(&payment, None, at(50));
    bench.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(60));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(51))];
    bench.payments.settle(settlement).await.unwrap();
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(Some(at(51))));
    let claimed = bench.claim(at(51)).await;
    assert_eq!((sequences(&claimed), claimed[0].url.as_str()), (vec![3], "https://shop.example/later"));
    assert_eq!(bench.finish(claimed[0].key, Acknowledged, at(51).plus(seconds(1))).await, vec![]);
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None));
}

pub async fn both_secrets_sign_while_one_retires(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let new = SealedSecret(vec![1, 2, 3]);
    let change = EndpointChange::Secret { new: new.clone(), old_until: Some(at(200)) };
    assert_eq!(bench.access.change_endpoint(endpoint.id, change).await, Ok(AccountChanged::Done));
    let first = bench.claim(at(199)).await.remove(0);
    assert_eq!(first.secrets, [new.clone(), endpoint.secret], "the new one first");
    let second = bench.finish(first.key, Acknowledged, at(200)).await.remove(0);
    assert_eq!(second.secrets, [new], "the old one has ended");
}

pub async fn an_endpoint_that_moves_takes_along_what_waits(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    let moved = "https://elsewhere.example/hook".to_owned();
    let change = EndpointChange::Url(moved.clone());
    assert_eq!(bench.access.change_endpoint(endpoint.id, change).await, Ok(AccountChanged::Done));
    let claimed = bench.claim(at(100)).await;
    assert_eq!(claimed.iter().map(|one| &one.url).collect::<Vec<_>>(), [&moved]);
}

pub async fn what_waits_for_a_removed_endpoint_is_parked(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    let other = new_endpoint(merchant.id);
    for _ in 0..3 {
        bench.authorized(merchant.id).await;
    }
    let claimed = bench.claim(at(100)).await;
    assert_eq!(claimed.len(), 3);
    assert_eq!(bench.outbox.park_removed(endpoint.id, at(101), 10).await, Ok((0, false)), "it was not removed");
    bench.access.insert_endpoint(other.clone()).await.unwrap();
    let removed = EndpointChange::Removed(at(101));
    assert_eq!(bench.access.change_endpoint(endpoint.id, removed).await, Ok(AccountChanged::Done));
    // Two notifications of each payment, in steps of two payments.
    assert_eq!(bench.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((4, true)));
    assert_eq!(bench.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((2, false)));
    assert_eq!(bench.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((0, false)));
    assert_eq!(bench.finish(claimed[0].key, Acknowledged, at(103)).await, vec![], "a late result changes nothing");
    assert_eq!(bench.claim(at(9_999)).await, vec![]);
    let parked = bench.outbox.list_parked(10).await.unwrap();
    let mut attempts: Vec<_> = parked.iter().map(|one| one.attempts).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [0, 0, 0, 1, 1, 1], "as often as each was tried");
    let event = parked[0].event_id;
    let replay = async |to| bench.outbox.replay_parked(event, endpoint.id, to, at(10_000)).await.unwrap();
    let (stranger, strangers) = bench.merchant().await;
    assert_ne!(stranger.id, merchant.id);
    assert_eq!((replay(endpoint.id).await, replay(strangers.id).await), (NoEndpoint, NoEndpoint));
    assert_eq!(replay(other.id).await, Replayed::Done);
    let again = bench.claim(at(10_000)).await;
    assert_eq!(again.iter().map(|one| (one.event_id, one.endpoint_id)).collect::<Vec<_>>(), [(event, other.id)]);
}

pub async fn a_removed_endpoint_is_told_nothing_new(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    bench.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(1))).await.unwrap();
    bench.authorized(merchant.id).await;
    assert_eq!(bench.count("outbox_event", "1 = 1"), 2, "events exist all the same");
    assert_eq!(bench.count("outbox_stream", "1 = 1"), 0);
}

pub async fn what_was_queued_while_its_endpoint_was_removed_is_parked_by_the_claim(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    bench.authorized(merchant.id).await;
    // The removal ran while the event was being written and saw nothing of it.
    bench.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(1))).await.unwrap();
    assert_eq!(bench.claim(at(100)).await, vec![]);
    let parked = bench.outbox.list_parked(10).await.unwrap();
    assert_eq!(parked.iter().map(|one| one.attempts).collect::<Vec<_>>(), [0, 0], "never tried");
    assert_eq!(bench.outbox.next_delivery_due().await, Ok(None));
}
