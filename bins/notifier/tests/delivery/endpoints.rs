//! Endpoints with settings of their own, and endpoints that are dead.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use dropin_access::EndpointSettings;
use dropin_notification::{EndpointBreakerRules, Schedule};
use dropin_ports::MetricSource;
use dropin_usecases::deliver::{Counters, Delivering, DeliverySettings};

use crate::receiver::{Arrival, Receiver};
use crate::world::{Notifier, World, until};

/// Five seconds are a long time in a test.
fn impatient() -> DeliverySettings {
    let breaker = EndpointBreakerRules {
        first_wait: Duration::from_millis(50),
        longest_wait: Duration::from_millis(100),
        ..EndpointBreakerRules::default()
    };
    DeliverySettings { per_endpoint: 8, poll: Duration::from_millis(5), breaker, ..DeliverySettings::default() }
}

/// An address where nobody listens.
fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

async fn counted(counters: &Counters, name: &str) -> u64 {
    let all = counters.collect_metrics().await.expect("always");
    let found = all.iter().find(|one| one.name == name).expect("such a measure");
    found.samples().iter().map(|reading| reading.value).sum()
}

async fn until_counted(counters: &Counters, name: &str, so_many: u64) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while counted(counters, name).await < so_many {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    assert!(waited.await.is_ok(), "never happened: {name} of {so_many}");
}

fn refuses_first(before: &[Arrival], now: &Arrival) -> Option<u16> {
    Some(if before.iter().any(|one| one.id == now.id) { 200 } else { 500 })
}

#[tokio::test]
async fn each_endpoint_is_told_of_what_it_wants_and_tried_by_its_own_schedule() {
    let world = World::new();
    let all = Receiver::start(|_, _| Some(200)).await;
    let (some, began) = (Receiver::start(refuses_first).await, std::time::Instant::now());
    let shop = world.shop(all.url()).await;
    let settings = EndpointSettings { events: "ORDER_*".parse().ok(), retry: "1s;1h".parse().ok() };
    let added = world.merchants().add_endpoint(shop.merchant, &some.url(), settings).await;
    let added = added.unwrap_or_else(|error| panic!("{error}"));
    let ids = world.pay(&shop).await;
    let notifier = world.notifier(Arc::new(world.store.clone()), impatient());
    until("two acknowledgements of the particular one", || some.acknowledged().len() == 2).await;
    until("all of the other", || all.acknowledged().len() == 3).await;
    notifier.stop().await;
    assert_eq!((all.acknowledged(), some.acknowledged()), (ids.clone(), ids[1..].to_vec()));
    let arrivals = some.arrivals();
    assert_eq!(arrivals.iter().map(|one| one.sequence).collect::<Vec<_>>(), [2, 2, 3, 3], "their numbers stay");
    assert!(arrivals.iter().all(|one| one.is_signed_with(&added.webhook_secret)));
    let waited = began.elapsed();
    assert!(Duration::from_millis(1_600) <= waited, "two waits of four fifths of a second at least: {waited:?}");
}

#[tokio::test]
async fn a_dead_endpoint_is_spared_and_gets_everything_in_order_when_it_is_back() {
    let world = World::new();
    let address = nowhere();
    let shop = world.shop(format!("http://{address}/hook")).await;
    let mut payments = Vec::new();
    for _ in 0..20 {
        payments.push(world.pay(&shop).await);
    }
    let delivering = Delivering { settings: impatient(), ..world.delivering() };
    let counters = delivering.counters.clone();
    let notifier = Notifier::start(delivering);
    until_counted(&counters, "dropin_notification_attempts_total", 12).await;
    assert_eq!(counted(&counters, "dropin_notification_breakers_opened_total").await, 1);
    let receiver = Receiver::start_at(address, |_, _| Some(200)).await;
    until("everything", || receiver.acknowledged().len() == 60).await;
    notifier.stop().await;
    let acknowledged = receiver.acknowledged();
    for payment in payments {
        let of_payment: Vec<_> = acknowledged.iter().filter(|id| payment.contains(id)).cloned().collect();
        assert_eq!(of_payment, payment);
    }
    assert_eq!(receiver.arrivals().len(), 60, "each once");
    assert_eq!(counted(&counters, "dropin_notification_breakers").await, 0);
}

#[tokio::test]
async fn what_a_dead_endpoint_never_got_is_parked_when_its_time_is_over() {
    let world = World::new();
    let shop = world.shop(format!("http://{}/hook", nowhere())).await;
    for _ in 0..20 {
        world.pay(&shop).await;
    }
    let schedule = Schedule::new(vec![Duration::from_secs(1)], Duration::from_secs(2)).expect("a schedule");
    let delivering = Delivering { settings: impatient(), schedule, ..world.delivering() };
    let counters = delivering.counters.clone();
    let notifier = Notifier::start(delivering);
    until_counted(&counters, "dropin_notification_parked_total", 60).await;
    notifier.stop().await;
    assert_eq!(counted(&counters, "dropin_notification_parked_total").await, 60, "each once");
}
