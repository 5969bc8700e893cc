//! All hostile receivers at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::attack::{HostileReceiver, every};
use crate::program::Program;
use crate::receiver::Receiver;
use crate::world::{Shop, World, until};

/// Longest that a slot is held: the deadline of ten seconds, and what it takes to notice.
const LONGEST_HOLD: Duration = Duration::from_millis(10_500);
/// What the notifier's memory may grow by.
const MEMORY_KIB: u64 = 64 * 1024;
/// From a payment to its notification at the receiver that is well: for nineteen in twenty, since the machine may have other work too.
const USUAL_WAIT: Duration = Duration::from_secs(1);
/// The same for all of them: far less than anybody holds a slot for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How much of it.
struct LoadTest {
    /// Payments of each hostile receiver's shop, and so attempts in flight to it.
    payments: usize,
    /// How long it goes on.
    lasts: Duration,
}

/// When each notification of the healthy shop was written, and when it came.
#[derive(Default)]
struct Times {
    written: HashMap<String, Instant>,
    came: HashMap<String, Instant>,
}

impl Times {
    /// How long the first notification of each payment took, sorted; the others follow answers.
    fn waits(&self) -> Vec<Duration> {
        let waits = self.written.iter().map(|(id, written)| self.came[id].duration_since(*written));
        let mut waits: Vec<Duration> = waits.collect();
        waits.sort_unstable();
        waits
    }
}

/// Enough for every deadline to run out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_takes_the_notifier_hostage() {
    run_load_test(LoadTest { payments: 8, lasts: Duration::from_secs(11) }).await;
}

/// With every slot of every hostile receiver taken, for `HOSTILE_SECONDS` (120 when it is not given).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: cargo xtask torture runs it"]
async fn nobody_does_for_long_either() {
    let seconds = std::env::var("HOSTILE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    run_load_test(LoadTest { payments: 32, lasts: Duration::from_secs(seconds) }).await;
}

async fn run_load_test(load_test: LoadTest) {
    let world = World::beside_a_program();
    let canary = Receiver::start(|_, _| Some(200)).await;
    let times = Arc::<Mutex<Times>>::default();
    let noted = times.clone();
    let healthy = Receiver::start(move |_, arrival| {
        noted.lock().expect("no panic").came.insert(arrival.id.clone(), Instant::now());
        Some(200)
    })
    .await;
    let shop = world.shop(healthy.url()).await;
    let mut program = Program::start(world.folder());
    pay(&world, &shop, &times).await;
    until("the first notification", || healthy.acknowledged().len() == 3).await;
    // What it takes to start is not the question.
    times.lock().expect("no panic").written.clear();
    let before = program.most_memory();

    let mut hostile_receivers = Vec::new();
    for attack in every(canary.address()) {
        let hostile = HostileReceiver::start(attack).await;
        let shop = world.shop(hostile.url()).await;
        for _ in 0..load_test.payments {
            world.pay(&shop).await;
        }
        hostile_receivers.push(hostile);
    }
    let begun = Instant::now();
    while begun.elapsed() < load_test.lasts {
        pay(&world, &shop, &times).await;
        program.must_run();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    until("the last notification", || {
        let times = times.lock().expect("no panic");
        times.written.keys().all(|id| times.came.contains_key(id))
    })
    .await;
    until("every hostile receiver was dealt with", || {
        hostile_receivers.iter().all(|hostile| !hostile.held().is_empty())
    })
    .await;

    let grown = program.most_memory() - before;
    let waits = times.lock().expect("no panic").waits();
    let (usual, longest) = (waits[waits.len() * 19 / 20], waits[waits.len() - 1]);
    println!("memory grew by {grown} KiB of {before} KiB");
    println!("of {} the healthy receiver got 95 % within {usual:?}, all within {longest:?}", waits.len());
    for hostile in &hostile_receivers {
        let held = hostile.held();
        let longest = held.iter().max().copied().unwrap_or_default();
        println!("{:>30}: {:>5} connections, the longest {longest:?}", hostile.attack.name, held.len());
        assert!(longest <= LONGEST_HOLD, "{} held for {longest:?}", hostile.attack.name);
        let in_vain = hostile.attack.holds && longest < Duration::from_secs(9);
        assert!(!in_vain, "{} was let go after {longest:?}: this shows no deadline", hostile.attack.name);
    }
    assert!(grown < MEMORY_KIB, "memory grew by {grown} KiB");
    let well = usual < USUAL_WAIT && longest < LONGEST_WAIT;
    assert!(well, "the healthy receiver waited {usual:?} and {longest:?}\n{}", program.logged());
    assert_eq!(canary.arrivals().len(), 0, "a redirect was followed");
}

/// Writes a payment's notifications; the first of them is timed.
async fn pay(world: &World, shop: &Shop, times: &Mutex<Times>) {
    let begun = Instant::now();
    let ids = world.pay(shop).await;
    times.lock().expect("no panic").written.insert(ids[0].clone(), begun);
}
