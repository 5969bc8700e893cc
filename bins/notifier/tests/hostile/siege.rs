//! Everybody at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::mischief::{Villain, every};
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
struct Siege {
    /// Payments of each villain's shop: so many tries are under way there at once.
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
    besiege(Siege { payments: 8, lasts: Duration::from_secs(11) }).await;
}

/// With every slot of every villain taken, for `HOSTILE_SECONDS` (120 when it is not given).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: cargo xtask torture runs it"]
async fn nobody_does_for_long_either() {
    let seconds = std::env::var("HOSTILE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    besiege(Siege { payments: 32, lasts: Duration::from_secs(seconds) }).await;
}

async fn besiege(siege: Siege) {
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

    let mut villains = Vec::new();
    for mischief in every(canary.address()) {
        let villain = Villain::start(mischief).await;
        let shop = world.shop(villain.url()).await;
        for _ in 0..siege.payments {
            world.pay(&shop).await;
        }
        villains.push(villain);
    }
    let begun = Instant::now();
    while begun.elapsed() < siege.lasts {
        pay(&world, &shop, &times).await;
        program.must_run();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    until("the last notification", || {
        let times = times.lock().expect("no panic");
        times.written.keys().all(|id| times.came.contains_key(id))
    })
    .await;
    until("every villain was dealt with", || villains.iter().all(|villain| !villain.held().is_empty())).await;

    let grown = program.most_memory() - before;
    let waits = times.lock().expect("no panic").waits();
    let (usual, longest) = (waits[waits.len() * 19 / 20], waits[waits.len() - 1]);
    println!("memory grew by {grown} KiB of {before} KiB");
    println!("of {} the healthy receiver got 95 % within {usual:?}, all within {longest:?}", waits.len());
    for villain in &villains {
        let held = villain.held();
        let longest = held.iter().max().copied().unwrap_or_default();
        println!("{:>30}: {:>5} connections, the longest {longest:?}", villain.mischief.name, held.len());
        assert!(longest <= LONGEST_HOLD, "{} held for {longest:?}", villain.mischief.name);
        let in_vain = villain.mischief.holds && longest < Duration::from_secs(9);
        assert!(!in_vain, "{} was let go after {longest:?}: this shows no deadline", villain.mischief.name);
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
