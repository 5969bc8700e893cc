mod breaker;
mod slots;
mod world;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use dropin_kernel::Timestamp;
use dropin_ports::{DeliveryResult, MetricSource};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::*;
use world::{CREATED, GATED, OK, PANIC, SENDER_STOPPED, Stream, World};

fn delivering(world: &Arc<World>) -> Delivering {
    Delivering {
        outbox: world.clone(),
        webhooks: world.clone(),
        secrets: world.clone(),
        clock: world.clone(),
        ids: world.clone(),
        sandbox: true,
        schedule: Schedule::standard(),
        settings: DeliverySettings {
            per_endpoint: 8,
            poll: Duration::from_millis(5),
            debounce: Duration::ZERO,
            ..DeliverySettings::default()
        },
        counters: Arc::default(),
    }
}

/// Sends what is due, and what that sets free.
async fn deliver_due(delivering: &Delivering) {
    let mut dispatcher = Dispatcher::new(delivering);
    dispatcher.claim(Instant::now());
    while !dispatcher.is_done() {
        dispatcher.wait_for_task().await;
        assert_eq!(dispatcher.store.error(), None);
        dispatcher.write(Instant::now());
    }
}

async fn counted(delivering: &Delivering, name: &str) -> Vec<u64> {
    let all = delivering.counters.collect_metrics().await.expect("always");
    let found = all.iter().find(|one| one.name == name).expect("such a measure");
    found.samples().iter().map(|reading| reading.value).collect()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waited = timeout(Duration::from_secs(20), async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(waited.await.is_ok(), "never happened: {what}");
}

struct Started {
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

fn start(world: &Arc<World>) -> Started {
    start_with(delivering(world))
}

fn start_with(delivering: Delivering) -> Started {
    let (stop, stopping) = watch::channel(false);
    let task = tokio::spawn(async move { delivering.run(stopping, Arc::default()).await });
    Started { stop, task }
}

impl Started {
    async fn stop(self) {
        self.stop.send(true).expect("running");
        self.task.await.expect("no panic");
    }
}

#[tokio::test]
async fn one_step_delivers_whole_payments_in_order() {
    let world = Arc::new(World::with([(OK, 1, 3), (OK, 2, 1), (CREATED, 3, 2)]));
    deliver_due(&delivering(&world)).await;
    assert_eq!(world.came_of_it(), [4, 1, 0]);
    assert_eq!(world.sent_to("http://ok/1"), [1, 2, 3]);
    assert_eq!(world.sent_to("http://created/3"), [1], "201 is no acknowledgement, and the next one waits");
    // The jitter of the fake is at its lowest: four fifths of five seconds.
    assert_eq!(world.results_of(2), [DeliveryResult::Retry { at: Timestamp::from_micros(4_000_000) }]);
    deliver_due(&delivering(&world)).await;
    assert_eq!((world.sent.lock().unwrap().len(), world.came_of_it()), (5, [4, 1, 0]), "nothing is due");
}

#[tokio::test]
async fn a_silent_endpoint_holds_its_own_slots_only() {
    for skips_full in [true, false] {
        let silent = (0..100).map(|number| (GATED, number, 1));
        let mut world = World::with(silent.chain((100..150).map(|number| (OK, number, 2))));
        world.skips_full = skips_full;
        let gate = Arc::new(Semaphore::new(0));
        world.gate = Mutex::new(Some(gate.clone()));
        let world = Arc::new(world);
        let running = start(&world);
        until("all of the healthy endpoint", || (100..150).all(|stream| world.results_of(stream).len() == 2)).await;
        let sent = world.sent.lock().unwrap().iter().filter(|(url, _)| url.contains(GATED)).count();
        assert_eq!(sent, 8, "slots of the silent endpoint");
        gate.add_permits(1_000);
        if skips_full {
            until("the rest when it speaks again", || (0..100).all(|stream| world.results_of(stream).len() == 1)).await;
        }
        running.stop().await;
    }
}

#[tokio::test]
async fn a_stop_lets_what_is_under_way_finish_and_starts_nothing_more() {
    let mut world = World::with((0..20).map(|number| (GATED, number, 2)));
    let gate = Arc::new(Semaphore::new(0));
    world.gate = Mutex::new(Some(gate.clone()));
    let world = Arc::new(world);
    let running = start(&world);
    until("eight tries", || world.sent.lock().unwrap().len() == 8).await;
    running.stop.send(true).expect("running");
    gate.add_permits(1_000);
    running.task.await.expect("no panic");
    assert_eq!(world.sent.lock().unwrap().len(), 8);
    let results = world.results.lock().unwrap();
    assert_eq!(results.iter().filter(|(_, result)| *result == DeliveryResult::Acknowledged).count(), 8);
    let streams = world.streams.lock().unwrap();
    assert!(
        streams.iter().filter(|stream| stream.next == 2).all(|stream| stream.due_at <= 0),
        "free for the next worker"
    );
}

#[tokio::test]
async fn results_wait_for_a_store_that_is_away() {
    let mut world = World::with([(GATED, 1, 2)]);
    let gate = Arc::new(Semaphore::new(0));
    world.gate = Mutex::new(Some(gate.clone()));
    let world = Arc::new(world);
    let running = start(&world);
    until("the try", || world.sent.lock().unwrap().len() == 1).await;
    world.store_is_away.store(true, Ordering::SeqCst);
    gate.add_permits(2);
    until("the answer", || world.in_flight.load(Ordering::SeqCst) == 0).await;
    world.store_is_away.store(false, Ordering::SeqCst);
    until("both written down", || world.results_of(0).len() == 2).await;
    assert_eq!(world.sent_to("http://gated/1"), [1, 2], "nothing was sent twice");
    running.stop().await;
}

#[tokio::test]
async fn a_result_that_is_refused_holds_up_no_other() {
    let mut world = World::with((0..8).map(|number| (OK, number, 2)));
    world.damaged = Some(5);
    let world = Arc::new(world);
    deliver_due(&delivering(&world)).await;
    assert_eq!(world.sent.lock().unwrap().len(), 15);
    assert!((0..8).all(|stream| world.results_of(stream).len() == if stream == 5 { 0 } else { 2 }));
}

#[tokio::test]
async fn a_try_that_cannot_be_made_is_a_failed_one() {
    let world = Arc::new(World::with([(PANIC, 1, 1), ("locked", 2, 1), (OK, 3, 1)]));
    deliver_due(&delivering(&world)).await;
    assert_eq!(world.came_of_it(), [1, 2, 0]);
    assert!(world.sent_to("http://locked/2").is_empty(), "nothing leaves without a signature");
}

#[tokio::test]
async fn nothing_leaves_for_an_account_of_the_other_mode() {
    for (of_production, sandbox) in [(true, true), (false, false), (true, false), (false, true)] {
        let world = Arc::new(World { of_production, ..World::with([(OK, 1, 1)]) });
        let delivering = Delivering { sandbox, ..delivering(&world) };
        deliver_due(&delivering).await;
        let fits = of_production != sandbox;
        assert_eq!(world.sent_to("http://ok/1").len(), usize::from(fits), "{of_production} {sandbox}");
        assert_eq!(world.came_of_it(), if fits { [1, 0, 0] } else { [0, 1, 0] }, "kept for a notifier of its own mode");
        let internal = counted(&delivering, "dropin_notification_attempts_total").await.pop();
        assert_eq!(internal, Some(u64::from(!fits)), "the notifier's own failure");
    }
}

#[tokio::test]
async fn what_is_given_up_is_parked_and_the_payment_goes_on() {
    let world = Arc::new(World::with([(CREATED, 1, 1)]));
    world.now.store(73 * 3_600 * 1_000_000, Ordering::SeqCst);
    world.streams.lock().unwrap()[0].first_try = Some(Timestamp::from_micros(0));
    deliver_due(&delivering(&world)).await;
    assert_eq!(world.results_of(0), [DeliveryResult::Parked]);
}

#[tokio::test]
async fn nothing_starts_that_could_outlive_its_lease() {
    let world = Arc::new(World::with([(OK, 1, 1)]));
    let mut delivering = delivering(&world);
    // Time for the try, but not for writing down what comes of it.
    delivering.settings.lease = delivering.settings.send_deadline + Duration::from_secs(1);
    deliver_due(&delivering).await;
    assert_eq!(world.results_of(0), [DeliveryResult::Held { at: Timestamp::from_micros(0) }], "given back");
    assert!(world.sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn whoever_has_no_sender_stops_and_spends_no_try() {
    let world = Arc::new(World::with([(SENDER_STOPPED, 1, 1), (SENDER_STOPPED, 2, 1)]));
    let Started { stop, task } = start(&world);
    timeout(Duration::from_secs(20), task).await.expect("it ends by itself").expect("no panic");
    drop(stop);
    assert_eq!(world.sent.lock().unwrap().len(), 2, "and does not try again");
    for stream in world.streams.lock().unwrap().iter() {
        assert_eq!((stream.attempt - stream.uncounted, stream.leased, stream.due_at), (0, false, 0), "due at once");
    }
    assert!(world.records.lock().unwrap().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_wake_up_is_followed_at_once() {
    let world = Arc::new(World::with([]));
    let (stop, stopping) = watch::channel(false);
    let wakeups = Arc::new(Notify::new());
    let mut delivering = delivering(&world);
    delivering.settings.poll = Duration::from_secs(3_600);
    let task = tokio::spawn({
        let wakeups = wakeups.clone();
        async move { delivering.run(stopping, wakeups).await }
    });
    for number in 1..=3 {
        world.streams.lock().unwrap().push(Stream { endpoint: OK, number, events: 1, next: 1, ..Stream::default() });
        wakeups.notify_one();
        until("delivered without a poll", || !world.sent_to(&format!("http://ok/{number}")).is_empty()).await;
    }
    stop.send(true).expect("running");
    task.await.expect("no panic");
}

#[test]
fn jitter_uses_the_whole_range_and_no_more() {
    let seen: BTreeSet<i32> = (0..=u16::MAX)
        .map(|low| {
            struct Fixed(u16);
            impl IdSource for Fixed {
                fn random(&self) -> Uuid {
                    Uuid::from_u128(u128::from(self.0))
                }
                fn ordered(&self) -> Uuid {
                    Uuid::nil()
                }
                fn secret(&self) -> [u8; 32] {
                    [0; 32]
                }
            }
            let mut delivering = delivering(&Arc::new(World::default()));
            delivering.ids = Arc::new(Fixed(low));
            delivering.jitter_per_mille()
        })
        .collect();
    assert_eq!((seen.first(), seen.last(), seen.len()), (Some(&-200), Some(&200), 401));
}
