//! Endpoints that are dead for a while or for good, by a clock that the tests move: days pass in moments.

use dropin_notification::{AttemptOutcome, DeliveryFailure};

use super::super::endpoint_state::EndpointState;
use super::world::{ANSWERS, DEAD, stream_of};
use super::*;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// The longest wait between two probes, and a moment.
const PROBE_INTERVAL: i64 = 5 * MINUTE + 5 * SECOND;

fn played(world: World) -> (Arc<World>, Delivering) {
    let world = Arc::new(world);
    let delivering = delivering(&world);
    (world, delivering)
}

/// Lets time pass until `until` in steps, and does at each what is to be done.
async fn pass(world: &World, dispatcher: &mut Dispatcher<'_>, until: i64, step: i64) {
    loop {
        dispatcher.claims.poll_again = true;
        dispatcher.start_due_work();
        while dispatcher.has_tasks() {
            dispatcher.wait_for_task().await;
            dispatcher.start_due_work();
        }
        if until <= world.now.fetch_add(step, Ordering::SeqCst) + step {
            return;
        }
    }
}

#[tokio::test]
async fn after_an_hour_everything_arrives_in_order_within_one_probe_interval() {
    let dead = (0..20).map(|number| (DEAD, number, 3));
    let world = World::with(dead.chain((20..40).map(|number| (OK, number, 3))));
    world.back_at.store(HOUR, Ordering::SeqCst);
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, HOUR, SECOND).await;
    assert_eq!(world.acknowledged.lock().unwrap().len(), 60, "the other endpoint has everything");
    assert!(world.acknowledged.lock().unwrap().iter().all(|(_, _, at)| *at < SECOND), "at once");
    let probes = world.sent.lock().unwrap().iter().filter(|(url, _)| url.contains(DEAD)).count();
    assert!((15..60).contains(&probes), "an hour of probes, not of tries: {probes}");
    pass(&world, &mut dispatcher, HOUR + PROBE_INTERVAL, SECOND).await;
    let acknowledged = world.acknowledged.lock().unwrap();
    assert_eq!(acknowledged.len(), 120);
    for stream in 0..20 {
        let of_stream: Vec<_> = acknowledged.iter().filter(|(id, ..)| *id == stream).collect();
        assert_eq!(of_stream.iter().map(|(_, sequence, _)| *sequence).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(of_stream.iter().all(|(_, _, at)| (HOUR..HOUR + PROBE_INTERVAL).contains(at)), "{of_stream:?}");
    }
    assert!(world.parked.lock().unwrap().is_empty());
    let results = world.results.lock().unwrap();
    let spent = results.iter().filter(|(_, result)| matches!(result, DeliveryResult::Retry { .. })).count();
    assert!(spent <= 8, "no more tries than were under way at once: {spent}");
}

#[tokio::test]
async fn after_four_days_everything_is_parked_and_nothing_is_lost() {
    let world = World::with((0..20).map(|number| (DEAD, number, 3)));
    world.back_at.store(i64::MAX, Ordering::SeqCst);
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 71 * HOUR, MINUTE / 2).await;
    assert!(world.parked.lock().unwrap().is_empty(), "not before three days are over");
    pass(&world, &mut dispatcher, 96 * HOUR, MINUTE / 2).await;
    let mut parked: Vec<_> = world.parked.lock().unwrap().iter().map(|(id, sequence, _)| (*id, *sequence)).collect();
    parked.sort_unstable();
    let all: Vec<_> = (0..20).flat_map(|id| (1..=3).map(move |sequence| (id, sequence))).collect();
    assert_eq!(parked, all, "each once");
    assert!(world.acknowledged.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_lone_notification_is_tried_by_its_schedule_and_then_by_probes() {
    let world = World::with([(DEAD, 1, 1)]);
    world.back_at.store(3 * HOUR, Ordering::SeqCst);
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 3 * HOUR + PROBE_INTERVAL, SECOND).await;
    let acknowledged = world.acknowledged.lock().unwrap();
    assert!(
        matches!(acknowledged.as_slice(), [(0, 1, at)] if (3 * HOUR..3 * HOUR + PROBE_INTERVAL).contains(at)),
        "{acknowledged:?}"
    );
    let records = world.records.lock().unwrap();
    // The fake's jitter is at its lowest, and what is due is found within a second.
    let waits: Vec<i64> =
        records.windows(2).map(|two| two[1].started_at.since(two[0].started_at).as_secs() as i64).collect();
    assert!(
        waits.iter().zip([4, 24, 96, 480, 1_440, 8, 16, 32]).all(|(wait, due)| (due..=due + 2).contains(wait)),
        "{waits:?}"
    );
    assert!(waits[5..].iter().all(|wait| *wait <= 302), "at least every five minutes: {waits:?}");
    assert!(
        records.iter().rev().skip(1).all(|one| one.status.is_none() && one.why == Some("the connection was refused"))
    );
    assert_eq!(records.last().map(|one| (one.status, one.why)), Some((Some(200), None)));
}

#[tokio::test]
async fn what_is_taken_over_is_counted_at_a_probe_too() {
    let (world, delivering) = played(World::with((0..6).map(|number| (DEAD, number, 1)).chain([(OK, 9, 1)])));
    world.back_at.store(i64::MAX, Ordering::SeqCst);
    world.streams.lock().unwrap()[6].leased = true;
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, SECOND, SECOND).await;
    let taken_over = async || counted(&delivering, "dropin_notification_leases_expired_total").await;
    assert_eq!(taken_over().await, [1], "by a claim");
    // Another notifier holds the dead endpoint's, and dies with one of them before the next probe.
    for (number, stream) in world.streams.lock().unwrap()[..6].iter_mut().enumerate() {
        (stream.leased, stream.due_at) = (true, if number == 0 { 2 * SECOND } else { i64::MAX });
    }
    pass(&world, &mut dispatcher, MINUTE, SECOND).await;
    assert_eq!(taken_over().await, [2], "by a probe");
}

#[tokio::test]
async fn an_endpoint_that_refuses_one_kind_is_not_dead() {
    let world = World::with((0..60).map(|number| (ANSWERS, number, 1)));
    *world.answer.lock().unwrap() = Some(AttemptOutcome::Answered { status: 404, retry_after: None });
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 3 * SECOND, SECOND).await;
    assert_eq!(world.sent.lock().unwrap().len(), 60, "each tried");
    assert!(world.results.lock().unwrap().iter().all(|(_, result)| matches!(result, DeliveryResult::Retry { .. })));
}

#[tokio::test]
async fn an_endpoint_that_asks_for_it_is_left_alone() {
    let world = World::with((0..30).map(|number| (ANSWERS, number, 1)));
    let retry_after = Some(Duration::from_secs(60));
    *world.answer.lock().unwrap() = Some(AttemptOutcome::Answered { status: 429, retry_after });
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 59 * SECOND, SECOND).await;
    assert!(world.sent.lock().unwrap().len() <= 8, "what was under way, and no more");
    *world.answer.lock().unwrap() = Some(AttemptOutcome::Answered { status: 200, retry_after: None });
    pass(&world, &mut dispatcher, 63 * SECOND, SECOND).await;
    assert_eq!(world.acknowledged.lock().unwrap().len(), 30);
}

#[tokio::test]
async fn what_waits_for_a_slot_when_an_endpoint_dies_is_given_back() {
    let world = World::with((0..30).map(|number| (ANSWERS, number, 1)));
    *world.answer.lock().unwrap() = Some(AttemptOutcome::Failed { why: DeliveryFailure::Late });
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    let (now, lease_until) = (Timestamp::from_micros(0), Timestamp::from_micros(15 * SECOND));
    let claimed = world.claim_deliveries(&[], now, lease_until, 30, 30).await.expect("claimed");
    dispatcher.accept(claimed.deliveries, lease_until);
    assert_eq!((dispatcher.in_flight, dispatcher.waiting), (8, 22));
    pass(&world, &mut dispatcher, 3 * SECOND, SECOND).await;
    assert_eq!((dispatcher.in_flight, dispatcher.waiting), (0, 0));
    let streams = world.streams.lock().unwrap();
    assert!(streams.iter().all(|one| !one.leased), "nothing waits for a lease to end");
    let spent: u32 = streams.iter().map(|one| one.attempt - one.uncounted).sum();
    assert!((5..=12).contains(&spent), "what was sent until it was known: {spent}");
    let (records, sent) = (world.records.lock().unwrap().len(), world.sent.lock().unwrap().len());
    assert_eq!((records, spent as usize), (sent, sent), "a record for each that was sent, and for nothing else");
}

#[tokio::test]
async fn an_endpoint_has_a_schedule_of_its_own() {
    let mut world = World::with([(CREATED, 1, 1)]);
    world.retry = Some("10s,20s;2m".parse().expect("a schedule"));
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 3 * MINUTE, SECOND).await;
    let started: Vec<i64> = world.records.lock().unwrap().iter().map(|one| one.started_at.micros() / SECOND).collect();
    assert_eq!(started, [0, 8, 24, 40, 56, 72, 88, 104, 120], "with the lowest jitter: 8 s, then 16 s each");
    assert_eq!(world.parked.lock().unwrap().len(), 1, "the next would be after two minutes");
}

#[tokio::test]
async fn secrets_are_opened_once_and_an_old_one_signs_until_its_end() {
    let world = World::with([(OK, 1, 3), (CREATED, 2, 1)]);
    *world.old_secret_until.lock().unwrap() = Some(Timestamp::from_micros(4 * SECOND));
    let (world, delivering) = played(world);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, 3_900_000, SECOND / 10).await;
    assert_eq!(*world.signed_by.lock().unwrap(), [2, 2, 2, 2]);
    assert_eq!(world.opened.load(Ordering::SeqCst), 4, "two secrets of two endpoints");
    pass(&world, &mut dispatcher, 5 * SECOND, SECOND / 10).await;
    assert_eq!(world.signed_by.lock().unwrap()[4..], [1], "tried again at the very moment of its end");
    assert_eq!(world.opened.load(Ordering::SeqCst), 4);
}

#[test]
fn the_same_message_is_not_logged_again_within_an_hour() {
    let mut state = EndpointState::new(Duration::from_secs(72 * 3_600));
    let at = |micros| Timestamp::from_micros(micros);
    let news: Vec<bool> = [0, MINUTE, HOUR - 1, HOUR, HOUR + 1].map(|now| state.should_log_gone(at(now))).to_vec();
    assert_eq!(news, [true, false, false, true, false]);
    assert!(!state.should_log_dead(at(HOUR)), "it is not dead");
    let outcome = AttemptOutcome::Failed { why: DeliveryFailure::Late };
    let rules = EndpointBreakerRules { unreached_in_a_row: 1, ..EndpointBreakerRules::default() };
    let tried = dropin_notification::Tried { outcome: &outcome, first: true, probe: false };
    state.breaker.tried(&rules, tried, at(0), 0);
    let news: Vec<bool> = [MINUTE, HOUR - 1, HOUR, 2 * HOUR].map(|now| state.should_log_dead(at(now))).to_vec();
    assert_eq!(news, [false, false, true, false], "once each time it dies");
}

#[test]
fn as_much_waits_for_an_endpoint_as_it_takes() {
    let mut state = EndpointState::new(Duration::ZERO);
    let mut stock = |in_flight, waiting: usize, acknowledged| {
        (state.in_flight, state.waiting) =
            (in_flight, (0..waiting).map(|_| (stream_of(OK), Timestamp::from_micros(0))).collect());
        state.is_skipped(8, false);
        (0..acknowledged).for_each(|_| state.acknowledged());
        state.is_full(8)
    };
    assert!(!stock(0, 0, 0) && !stock(7, 0, 0), "a slot is free");
    assert!(stock(8, 0, 0), "nothing waits for a slow one");
    assert!(stock(8, 0, 3), "so little is not worth a claim");
    assert!(!stock(8, 0, 4) && !stock(8, 4, 8), "the next ones are fetched before the slots are free");
    assert!(stock(8, 5, 8) && stock(8, 5, 1_000), "and no more than are under way");
    assert!(!state.is_waiting_list_full(2) && state.is_waiting_list_full(1));
}

#[tokio::test]
async fn a_probe_that_was_claimed_too_slowly_is_made_later() {
    let (world, delivering) = played(World::with((0..8).map(|number| (DEAD, number, 1))));
    world.back_at.store(i64::MAX, Ordering::SeqCst);
    let mut dispatcher = Dispatcher::new(&delivering);
    pass(&world, &mut dispatcher, SECOND, SECOND).await;
    let sent = || world.sent.lock().unwrap().len();
    let tries = sent();
    world.now.fetch_add(PROBE_INTERVAL, Ordering::SeqCst);
    dispatcher.start_due_work();
    assert_eq!(dispatcher.probes.due_at(), None, "it is claimed");
    let now = world.now.fetch_add(10 * SECOND, Ordering::SeqCst) + 10 * SECOND;
    dispatcher.wait_for_task().await;
    assert_eq!((sent(), dispatcher.results.len()), (tries, 1), "too little of its lease is left, it is given back");
    pass(&world, &mut dispatcher, now + PROBE_INTERVAL, SECOND).await;
    assert!(tries < sent(), "it is made all the same");
}
