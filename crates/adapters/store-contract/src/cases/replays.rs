use std::sync::Arc;

use dropin_kernel::{EndpointId, EventId};
use dropin_ports::{
    AttemptResult, DeliveryResult, DeliveryState, EndpointChange, NotificationFilter, ReplayCounts, ReplayItem,
    ReplayRequest,
};

use super::notifications::{
    asked, deliver_all, events, finish, ids, queued, replay, sent, states, status, told, wants,
};
use crate::Harness;
use crate::values::{at, audited, fresh, seconds};

use DeliveryResult::{Acknowledged, Parked, Retry};
use DeliveryState::{Delivered, Pending};

pub async fn what_is_asked_for_is_sent_in_order(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 4).await;
    let first_time = deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    assert_eq!(sent(&first_time), all);
    // The third is not asked for.
    let wanted = [all[3], all[0], all[1]];
    assert_eq!(replay(&harness, endpoint.id, &wanted, at(200)).await, queued(3));
    let mut again = harness.claim(at(200)).await;
    assert_eq!(sent(&again), [all[0]], "one after the other");
    assert_eq!((again[0].key.attempt, &again[0].body), (1, &first_time[0].body));
    let next = finish(&harness, &again[0], Acknowledged, Some(200), at(201)).await;
    assert_eq!(sent(&next), [all[1]]);
    assert_eq!((next[0].key.sequence, next[0].key.attempt, next[0].first_try), (2, 1, at(201)));
    assert_eq!(harness.claim(at(202)).await, []);
    // Parked again, it lets the next go.
    again = finish(&harness, &next[0], Parked, Some(500), at(203)).await;
    assert_eq!(sent(&again), [all[3]]);
    assert_eq!(finish(&harness, &again[0], Acknowledged, Some(200), at(204)).await, []);
    assert_eq!(harness.count("outbox_stream", "detached"), 0);
    assert_eq!(harness.count("outbox_replay_rest", "1 = 1"), 0);
    assert_eq!(harness.count("outbox_replay", "asked_by = 'ada' AND wanted = 'a test' AND events = 3"), 1);
    let parked = NotificationFilter { state: Some(DeliveryState::Parked), ..Default::default() };
    assert_eq!(ids(&harness, parked).await, [all[1]]);
    assert_eq!(events(&harness, payment.order.payment_id()).await, all, "nothing was edited");
}

pub async fn a_replay_is_handed_out_again_when_its_lease_ends(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &all, at(200)).await;
    let late = harness.claim(at(200)).await.remove(0);
    let current = harness.claim(at(215)).await.remove(0);
    assert_eq!((current.event_id, current.key.attempt), (late.event_id, 2));
    for result in [Acknowledged, Parked, Retry { at: at(9_999) }] {
        assert_eq!(harness.finish(late.key, result, at(216)).await, [], "{result:?}");
    }
    // Told with a lease that has no time, nothing is handed out, and the next is due at once.
    let told = vec![AttemptResult::new(current.key, Acknowledged)];
    assert_eq!(harness.outbox.finish_deliveries(told, at(217), at(217)).await.unwrap().next, []);
    assert_eq!(sent(&deliver_all(&harness, at(217)).await), all[1..]);
}

pub async fn what_waits_is_not_queued_twice(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let waiting = |waiting| ReplayCounts { waiting, ..Default::default() };
    assert_eq!(replay(&harness, endpoint.id, &all, at(100)).await, waiting(3), "it waits for the first time");
    deliver_all(&harness, at(100)).await;
    assert_eq!(replay(&harness, endpoint.id, &all, at(200)).await, queued(3));
    assert_eq!(replay(&harness, endpoint.id, &all, at(201)).await, waiting(3), "first or behind");
    let first = harness.claim(at(202)).await.remove(0);
    assert_eq!(replay(&harness, endpoint.id, &all, at(203)).await, waiting(3), "under way");
    finish(&harness, &first, Acknowledged, Some(200), at(204)).await;
    let again = ReplayCounts { queued: 1, waiting: 2, ..Default::default() };
    assert_eq!(replay(&harness, endpoint.id, &all, at(205)).await, again, "what has arrived may be asked for anew");
    let mut seen = sent(&deliver_all(&harness, at(219)).await);
    seen.sort();
    assert_eq!(seen, all);
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 2, "who got nothing is not noted");
}

pub async fn what_waits_for_its_next_try_is_sent_at_once(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let one = async |event: EventId, state, dry_run, now| {
        let item = ReplayItem { event, from: endpoint.id, state };
        let asked = ReplayRequest { dry_run, ..asked(None) };
        harness.notifications.replay(endpoint.id, vec![item], asked, now).await.unwrap()
    };
    let waiting = ReplayCounts { waiting: 1, ..Default::default() };
    let hurried = ReplayCounts { hurried: 1, ..Default::default() };
    let first = harness.claim(at(100)).await.remove(0);
    assert_eq!(one(all[0], None, false, at(101)).await, waiting, "under way");
    finish(&harness, &first, Retry { at: at(3_000) }, Some(500), at(101)).await;
    assert_eq!(one(all[0], Some(Pending), false, at(102)).await, waiting, "not by its name");
    assert_eq!(one(all[1], None, false, at(102)).await, waiting, "behind the one before");
    assert_eq!(one(all[0], None, true, at(102)).await, hurried);
    assert_eq!(harness.claim(at(102)).await, [], "only foretold");
    assert_eq!(one(all[0], None, false, at(102)).await, hurried);
    assert_eq!(one(all[0], None, false, at(102)).await, waiting, "it is due");
    let first = harness.claim(at(102)).await.remove(0);
    assert_eq!((first.event_id, first.key.attempt), (all[0], 2));
    // One that goes its own way as well; those that it holds back until its hour is over wait for that.
    finish(&harness, &first, Retry { at: at(9_000) }, Some(500), at(103)).await;
    assert_eq!(one(all[1], None, false, at(104)).await, waiting, "held back");
    assert_eq!(one(all[0], None, false, at(104)).await, hurried);
    assert_eq!(sent(&harness.claim(at(104)).await), all[..1]);
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 0, "nothing was queued");
}

pub async fn a_replay_is_foretold_as_it_comes(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let (_, stranger) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let first = harness.claim(at(100)).await.remove(0);
    let second = finish(&harness, &first, Parked, Some(500), at(101)).await.remove(0);
    finish(&harness, &second, Parked, Some(500), at(102)).await;
    wants(&harness, &endpoint, "ORDER_*,LATER");
    let ask = async |to, dry_run| {
        let item = |event: &EventId| ReplayItem { event: *event, from: endpoint.id, state: None };
        let asked = ReplayRequest { dry_run, ..asked(None) };
        harness.notifications.replay(to, all.iter().map(item).collect(), asked, at(200)).await.unwrap()
    };
    let foretold = ask(endpoint.id, true).await;
    assert_eq!(foretold, ReplayCounts { queued: 1, waiting: 1, unwanted: 1, ..Default::default() });
    let parked = Some(DeliveryState::Parked);
    assert_eq!(states(&harness, &all, endpoint.id).await, [parked, parked, Some(Pending)]);
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 0);
    assert_eq!(ask(stranger.id, true).await, ReplayCounts { refused: 3, ..Default::default() });
    assert_eq!(ask(endpoint.id, false).await, foretold);
    assert_eq!(states(&harness, &all, endpoint.id).await, [parked, Some(Pending), Some(Pending)]);
}

pub async fn what_was_given_back_unsent_holds_others_back(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 4).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &all[..1], at(200)).await;
    let held = |second| DeliveryResult::Held { at: at(second) };
    let first = harness.claim(at(200)).await.remove(0);
    harness.finish(first.key, held(7_400), at(201)).await;
    assert_eq!(replay(&harness, endpoint.id, &all[1..2], at(202)).await, queued(1));
    assert_eq!(harness.count("outbox_stream", "detached"), 1, "it never failed");
    // Two hours later it is the look at the endpoint, which fails for the first time.
    let first = harness.claim(at(7_400)).await.remove(0);
    finish(&harness, &first, held(7_700), None, at(7_401)).await;
    assert_eq!(replay(&harness, endpoint.id, &all[2..3], at(7_402)).await, queued(1));
    assert_eq!(harness.count("outbox_stream", "detached"), 1, "it does not fail for an hour");
    let first = harness.claim(at(7_700)).await.remove(0);
    finish(&harness, &first, held(11_100), None, at(7_701)).await;
    assert_eq!(replay(&harness, endpoint.id, &all[3..], at(7_702)).await, queued(1));
    assert_eq!(harness.count("outbox_stream", "detached"), 1, "two that never failed wait behind it");
    assert_eq!(sent(&deliver_all(&harness, at(11_100)).await), all);
}

pub async fn of_many_who_ask_one_queues(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let mut parked = vec![];
    for _ in 0..5 {
        told(&harness, merchant.id, 2).await;
    }
    for delivery in harness.claim(at(100)).await {
        let next = finish(&harness, &delivery, Parked, Some(500), at(101)).await.remove(0);
        finish(&harness, &next, Parked, Some(500), at(102)).await;
        parked.extend([delivery.event_id, next.event_id]);
    }
    let ask = |_| {
        let (harness, parked) = (harness.clone(), parked.clone());
        let state = Some(DeliveryState::Parked);
        let items = parked.into_iter().map(|event| ReplayItem { event, from: endpoint.id, state }).collect();
        tokio::spawn(
            async move { harness.notifications.replay(endpoint.id, items, asked(None), at(200)).await.unwrap() },
        )
    };
    let mut total = ReplayCounts::default();
    for one in (0..8).map(ask).collect::<Vec<_>>() {
        let one = one.await.unwrap();
        (total.queued, total.waiting) = (total.queued + one.queued, total.waiting + one.waiting);
    }
    assert_eq!((total.queued, total.waiting), (10, 70));
    let mut seen = sent(&deliver_all(&harness, at(200)).await);
    seen.sort();
    parked.sort();
    assert_eq!(seen, parked, "each once");
    let state = Some(DeliveryState::Parked);
    let items = parked.into_iter().map(|event| ReplayItem { event, from: endpoint.id, state }).collect();
    let late = harness.notifications.replay(endpoint.id, items, asked(None), at(300)).await.unwrap();
    assert_eq!(late, ReplayCounts { changed: 10, ..Default::default() }, "not parked any more");
}

pub async fn a_replay_that_fails_for_an_hour_lets_the_others_go(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 4).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &all[..3], at(200)).await;
    let first = harness.claim(at(200)).await.remove(0);
    finish(&harness, &first, Retry { at: at(200 + 3_600) }, Some(500), at(201)).await;
    assert_eq!(harness.claim(at(3_799)).await, [], "held back");
    let first = harness.claim(at(3_800)).await.remove(0);
    finish(&harness, &first, Retry { at: at(9_000) }, Some(500), at(3_801)).await;
    let second = harness.claim(at(3_801)).await;
    assert_eq!(sent(&second), [all[1]], "free after the hour, and in order");
    // What is asked for now does not wait for the one that fails, but for those that follow it.
    assert_eq!(replay(&harness, endpoint.id, &all[3..], at(3_802)).await, queued(1));
    assert_eq!(harness.claim(at(3_803)).await, []);
    let third = finish(&harness, &second[0], Acknowledged, Some(200), at(3_803)).await;
    assert_eq!(sent(&third), [all[2]]);
    let fourth = finish(&harness, &third[0], Acknowledged, Some(200), at(3_804)).await;
    assert_eq!(sent(&fourth), [all[3]]);
    assert_eq!(finish(&harness, &fourth[0], Acknowledged, Some(200), at(3_805)).await, []);
    // With nothing between them it goes before the one that fails.
    assert_eq!(replay(&harness, endpoint.id, &all[3..], at(3_806)).await, queued(1));
    assert_eq!(sent(&deliver_all(&harness, at(3_807)).await), all[3..]);
    let first = harness.claim(at(9_000)).await;
    assert_eq!((sent(&first), first[0].first_try), (vec![all[0]], at(200)));
    finish(&harness, &first[0], Parked, Some(500), at(9_001)).await;
    assert_eq!(states(&harness, &all[..1], endpoint.id).await, [Some(DeliveryState::Parked)]);
    assert_eq!(harness.count("outbox_stream", "detached"), 0);
}

pub async fn what_is_asked_for_later_comes_behind(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 4).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &[all[1], all[3]], at(200)).await;
    replay(&harness, endpoint.id, &[all[2]], at(201)).await;
    assert_eq!(harness.count("outbox_stream", "detached"), 1);
    assert_eq!(sent(&deliver_all(&harness, at(202)).await), all[1..], "in the order of their numbers");
    // What comes before the one that is under way has to go its own way.
    replay(&harness, endpoint.id, &[all[2]], at(300)).await;
    replay(&harness, endpoint.id, &[all[0]], at(301)).await;
    // The last one comes behind the one that is next to it.
    replay(&harness, endpoint.id, &[all[3]], at(302)).await;
    let mut both = harness.claim(at(303)).await;
    both.sort_by_key(|delivery| delivery.event_id);
    assert_eq!(sent(&both), [all[0], all[2]]);
    assert_eq!(finish(&harness, &both[0], Acknowledged, Some(200), at(304)).await, []);
    let last = finish(&harness, &both[1], Acknowledged, Some(200), at(305)).await;
    assert_eq!(sent(&last), all[3..]);
}

pub async fn replays_come_at_their_rate(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let mut all = vec![];
    for _ in 0..10 {
        told(&harness, merchant.id, 2).await;
    }
    deliver_all(&harness, at(100)).await;
    all.extend(ids(&harness, NotificationFilter::default()).await);
    let ask = async |events: &[EventId], asked: &ReplayRequest, now| {
        let item = |event: &EventId| ReplayItem { event: *event, from: endpoint.id, state: Some(Delivered) };
        let items = events.iter().map(item).collect();
        let step = ReplayRequest { audit: audited(), ..asked.clone() };
        assert_eq!(harness.notifications.replay(endpoint.id, items, step, now).await, Ok(queued(10)));
    };
    let one = asked(Some(seconds(1)));
    // In two steps, as a long list is, each of five payments with two events.
    ask(&all[..10], &one, at(200)).await;
    ask(&all[10..], &one, at(200)).await;
    assert_eq!(harness.count("outbox_replay", "events = 20"), 1);
    let mut sent_at = vec![];
    for second in 200..230 {
        let mut round = harness.claim(at(second)).await;
        while let Some(delivery) = round.pop() {
            sent_at.push((second, delivery.event_id));
            round.extend(finish(&harness, &delivery, Acknowledged, Some(200), at(second)).await);
        }
    }
    let expected: Vec<_> = all.iter().enumerate().map(|(place, event)| (200 + place as u64 / 2 * 2, *event)).collect();
    assert_eq!(sent_at, expected, "two of a payment at once, two seconds apart, the oldest first");
    // What is asked for next waits for its turn, unless it has no rate; what is new does not.
    ask(&all[..10], &asked(Some(seconds(60))), at(300)).await;
    ask(&all[10..], &asked(Some(seconds(1))), at(301)).await;
    let live = told(&harness, merchant.id, 2).await;
    let due = harness.claim(at(302)).await;
    let live = events(&harness, live.order.payment_id()).await;
    assert_eq!(sent(&due).len(), 2, "the first of what was asked for, and what is new: {due:?}");
    assert!(sent(&due).contains(&all[0]) && sent(&due).contains(&live[0]));
    let later = status(&harness, all[10], endpoint.id).await.unwrap();
    assert_eq!((later.state, later.due_at), (Pending, Some(at(900))));
}

pub async fn replays_are_only_for_endpoints_of_the_merchant(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let (_, stranger) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 2).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let ask = async |to| {
        let items = all.iter().map(|event| ReplayItem { event: *event, from: endpoint.id, state: None }).collect();
        harness.notifications.replay(to, items, asked(None), at(200)).await.unwrap()
    };
    let refused = ReplayCounts { refused: 2, ..Default::default() };
    assert_eq!(ask(stranger.id).await, refused, "another merchant's");
    assert_eq!(ask(EndpointId::new(fresh())).await, refused, "nobody's");
    wants(&harness, &endpoint, "ORDER_*");
    assert_eq!(ask(endpoint.id).await, ReplayCounts { queued: 1, unwanted: 1, ..Default::default() });
    assert_eq!(sent(&deliver_all(&harness, at(201)).await), all[1..]);
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(202)), audited()).await.unwrap();
    assert_eq!(ask(endpoint.id).await, refused, "removed");
    let unknown = ReplayItem { event: EventId::new(fresh()), from: stranger.id, state: None };
    let outcome = harness.notifications.replay(stranger.id, vec![unknown], asked(None), at(203)).await;
    assert_eq!(outcome, Ok(ReplayCounts { changed: 1, ..Default::default() }), "no such event");
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 1);
    assert_eq!(harness.claim(at(9_999)).await, []);
}

pub async fn what_nobody_wants_by_then_is_passed_over(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 4).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &all, at(200)).await;
    wants(&harness, &endpoint, "ORDER_AUTHORIZED");
    assert_eq!(sent(&deliver_all(&harness, at(201)).await), [all[1]]);
    assert_eq!(harness.count("outbox_stream", "detached"), 0);
    assert_eq!(harness.count("outbox_replay_rest", "1 = 1"), 0);
}

pub async fn what_a_removed_endpoint_was_asked_to_get_is_parked(harness: Arc<Harness>) {
    for by_claim in [false, true] {
        let (merchant, endpoint) = harness.merchant().await;
        let payment = told(&harness, merchant.id, 3).await;
        deliver_all(&harness, at(100)).await;
        let all = events(&harness, payment.order.payment_id()).await;
        replay(&harness, endpoint.id, &all, at(200)).await;
        harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(201)), audited()).await.unwrap();
        if by_claim {
            assert_eq!(harness.claim(at(202)).await, []);
        } else {
            assert_eq!(harness.outbox.park_removed(endpoint.id, at(202), 10).await, Ok((3, false)));
        }
        let parked = Some(DeliveryState::Parked);
        assert_eq!(states(&harness, &all, endpoint.id).await, [parked; 3], "by the claim: {by_claim}");
        assert_eq!(harness.count("outbox_replay_rest", "1 = 1"), 0);
    }
}

pub async fn replays_of_a_dead_endpoint_are_parked_one_by_one(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    replay(&harness, endpoint.id, &all, at(200)).await;
    assert_eq!(harness.outbox.park_overdue(endpoint.id, at(200), at(300), 10).await, Ok(0), "not for long enough");
    assert_eq!(harness.outbox.park_overdue(endpoint.id, at(201), at(300), 10).await, Ok(1));
    let expected = [Some(DeliveryState::Parked), Some(Pending), Some(Pending)];
    assert_eq!(states(&harness, &all, endpoint.id).await, expected);
    assert_eq!(sent(&deliver_all(&harness, at(301)).await), all[1..]);
}
