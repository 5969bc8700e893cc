//! How soon a notification is on its way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_ports::{MetricSource, MetricValues};
use dropin_usecases::deliver::{Delivering, DeliverySettings};
use notifier::{NotifierDeps, run};
use tokio::sync::{Notify, watch};

use crate::receiver::Receiver;
use crate::world::{KINDS, World, until};

/// Pays one time after the other and tells how long the slowest payment took to be told whole, and all acknowledged times.
async fn slowest(world: &World, wakeups: Arc<Notify>, poll: Duration) -> (Duration, u64) {
    let receiver = Receiver::start(|_, _| Some(200)).await;
    let shop = world.shop(receiver.url()).await;
    let (stop, stopping) = watch::channel(false);
    let delivering = world.delivering();
    let delivering = Delivering { settings: DeliverySettings { poll, ..delivering.settings }, ..delivering };
    let counters = delivering.counters.clone();
    let running = tokio::spawn(run(NotifierDeps { delivering, wakeups }, stopping));
    let mut slowest = Duration::ZERO;
    for payment in 1..=10 {
        let begun = Instant::now();
        world.pay(&shop).await;
        until("all of the payment", || receiver.acknowledged().len() == payment * KINDS.len()).await;
        slowest = slowest.max(begun.elapsed());
    }
    stop.send(true).expect("running");
    running.await.expect("no panic");
    let told = counters.collect_metrics().await.expect("told");
    let times = told.into_iter().find_map(|measure| match measure.values {
        MetricValues::Histogram(times) => Some(times.iter().map(|one| one.count).sum()),
        MetricValues::Gauge(_) | MetricValues::Counter(_) => None,
    });
    (slowest, times.expect("times"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_wakes_the_notifier_of_the_process() {
    let (world, wakeups) = (World::new(), Arc::default());
    let wake_ups = world.store.wake(&wakeups).expect("no thread is needed");
    assert!(wake_ups.is_listening());
    let poll = Duration::from_secs(3_600);
    let (took, times) = slowest(&world, wakeups, poll).await;
    // Some ten milliseconds, most of them the test's own.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(times, 30, "each was counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_tells_of_is_found_by_looking() {
    let (took, times) = slowest(&World::new(), Arc::default(), Duration::from_millis(50)).await;
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(times, 30);
}
