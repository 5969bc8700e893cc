//! Who gets how many of the slots, and when is claimed again.

use futures_util::FutureExt;

use super::world::GATED_TOO;
use super::*;

/// Seventeen endpoints that answer at once: sharing all slots among them leaves some over.
const SHOPS: [&str; 17] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"];

#[tokio::test]
async fn everything_that_is_due_is_claimed_without_waiting_for_the_next_poll() {
    let shops = SHOPS.iter().flat_map(|shop| (0..100).map(|number| (*shop, number, 1)));
    let world = Arc::new(World::with(shops));
    let mut delivering = delivering(&world);
    (delivering.settings.per_endpoint, delivering.settings.poll) = (32, Duration::from_secs(3_600));
    let running = start_with(delivering);
    until("everything", || world.sent.lock().unwrap().len() == 1_700).await;
    running.stop().await;
}

#[tokio::test]
async fn what_the_store_passes_over_does_not_end_the_claiming() {
    let world = Arc::new(World::with((0..41).map(|number| (OK, number, 1))));
    world.streams.lock().unwrap()[..40].iter_mut().for_each(|stream| stream.unwanted = true);
    let mut delivering = delivering(&world);
    delivering.settings.poll = Duration::from_secs(3_600);
    let running = start_with(delivering);
    until("the one that is wanted", || world.sent_to("http://ok/40") == [1]).await;
    running.stop().await;
}

#[tokio::test]
async fn what_did_not_fit_is_claimed_when_a_slot_is_free() {
    let mut world = World::with((0..20).map(|number| (GATED, number, 1)));
    let gate = Arc::new(Semaphore::new(0));
    world.gate = Mutex::new(Some(gate.clone()));
    let world = Arc::new(world);
    let mut delivering = delivering(&world);
    delivering.settings.poll = Duration::from_secs(3_600);
    let running = start_with(delivering);
    until("its slots taken", || world.sent.lock().unwrap().len() == 8).await;
    gate.add_permits(20);
    until("the rest", || world.came_of_it() == [20, 0, 0]).await;
    running.stop().await;
}

#[tokio::test]
async fn slow_endpoints_leave_slots_to_others() {
    let slow = (0..100).flat_map(|number| [(GATED, number, 1), (GATED_TOO, number, 1)]);
    let mut world = World::with(slow.chain([(OK, 1, 2)]));
    let gate = Arc::new(Semaphore::new(0));
    world.gate = Mutex::new(Some(gate.clone()));
    world.streams.lock().unwrap()[200].due_at = 1;
    let world = Arc::new(world);
    let mut delivering = delivering(&world);
    delivering.settings.in_flight = 16;
    let running = start_with(delivering);
    let slow_ones = || world.sent.lock().unwrap().iter().filter(|(url, _)| url.contains(GATED)).count();
    until("three quarters of the slots taken", || slow_ones() == 12).await;
    world.now.store(1, Ordering::SeqCst);
    until("both of the quick one", || world.sent_to("http://ok/1") == [1, 2]).await;
    assert_eq!(slow_ones(), 12, "the last quarter is not for them");
    gate.add_permits(1_000);
    until("the others when they answer", || slow_ones() == 200).await;
    running.stop().await;
}

#[tokio::test]
async fn never_more_is_under_way_than_may_be() {
    let mut world = World::with((0..200).map(|number| (OK, number, 2)));
    let gate = Arc::new(Semaphore::new(0));
    world.finish_gate = Mutex::new(Some(gate.clone()));
    let world = Arc::new(world);
    let mut delivering = delivering(&world);
    (delivering.settings.in_flight, delivering.settings.per_endpoint) = (16, 12);
    let mut dispatcher = Dispatcher::new(&delivering);
    let mut most = 0;
    for round in 0..1_000 {
        dispatcher.claims.poll_again = true;
        dispatcher.start_due_work();
        // The receivers answer at once, the store later.
        if 20 < round {
            gate.add_permits(1);
        }
        dispatcher.wait_for_task().now_or_never();
        most = most.max(world.streams.lock().unwrap().iter().filter(|stream| stream.leased).count());
        if dispatcher.is_done() && world.came_of_it() == [400, 0, 0] {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(world.came_of_it(), [400, 0, 0], "all of it arrives");
    assert_eq!(most, 16, "claimed and not written down yet");
}

#[tokio::test]
async fn what_all_slots_had_no_room_for_is_claimed_when_results_are_written_down() {
    let mut world = World::with((0..40).map(|number| (GATED, number, 1)));
    let (gate, finish_gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    (world.gate, world.finish_gate) = (Mutex::new(Some(gate.clone())), Mutex::new(Some(finish_gate.clone())));
    let world = Arc::new(world);
    let sent = || world.sent.lock().unwrap().len();
    let mut delivering = delivering(&world);
    (delivering.settings.in_flight, delivering.settings.per_endpoint) = (16, 12);
    delivering.settings.poll = Duration::from_secs(3_600);
    let mut dispatcher = Dispatcher::new(&delivering);
    for _ in 0..2 {
        dispatcher.start_due_work();
        dispatcher.wait_for_task().await;
    }
    assert_eq!((sent(), dispatcher.claims.poll_again), (12, false), "the last quarter is not for it");
    gate.add_permits(11);
    dispatcher.wait_for_task().await;
    assert_eq!((dispatcher.results.len(), dispatcher.claims.poll_again), (11, false), "nothing of it is written down");
    dispatcher.start_due_work();
    finish_gate.add_permits(1);
    dispatcher.wait_for_task().await;
    assert_eq!((dispatcher.results.len(), dispatcher.claims.poll_again), (0, true));
    dispatcher.start_due_work();
    dispatcher.wait_for_task().await;
    assert_eq!(sent(), 12 + 11);
}
