//! What merchants see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_access::EndpointSettings;
use dropin_kernel::{EndpointId, Timestamp};
use dropin_ports::{
    AttemptResult, Claimed, Delivery, DeliveryState, FinishedDeliveries, NotificationFilter, NotificationQuery,
    NotificationStore, OutboxStore, ReplayItem, ReplayRequest, StoreError,
};
use dropin_store::Store;
use dropin_usecases::deliver::DeliverySettings;
use tokio::sync::Notify;

use crate::receiver::{Arrival, Receiver};
use crate::world::{KINDS, World, audited, until};

fn settings() -> DeliverySettings {
    DeliverySettings { per_endpoint: 8, poll: Duration::from_millis(5), ..DeliverySettings::default() }
}

#[tokio::test]
async fn a_payment_arrives_in_order_and_signed() {
    let world = World::new();
    let receiver = Receiver::start(|_, _| Some(200)).await;
    let shop = world.shop(receiver.url()).await;
    let ids = world.pay(&shop).await;
    let notifier = world.notifier(Arc::new(world.store.clone()), settings());
    until("three arrivals", || receiver.arrivals().len() == 3).await;
    notifier.stop().await;
    let arrivals = receiver.arrivals();
    assert_eq!(receiver.acknowledged(), ids);
    for (number, arrival) in arrivals.iter().enumerate() {
        assert_eq!(arrival.sequence, i64::try_from(number).expect("small") + 1);
        let head = format!(r#"{{"Sequence":{},"EventType":"{}""#, arrival.sequence, KINDS[number]);
        assert!(arrival.body.starts_with(&head), "{}", arrival.body);
        assert!(arrival.is_signed_with(&shop.secret), "{arrival:?}");
    }
}

#[tokio::test]
async fn a_rotating_secret_signs_beside_the_new_one_until_it_ends() {
    let world = World::new();
    let receiver = Receiver::start(|_, _| Some(200)).await;
    let shop = world.shop(receiver.url()).await;
    let merchants = world.merchants();
    let endpoint = merchants.endpoints(shop.merchant).await.expect("endpoints")[0].id;
    let rotate = async |seconds| {
        let rotated = merchants.rotate_secret(endpoint, Duration::from_secs(seconds)).await;
        rotated.unwrap_or_else(|error| panic!("{error}")).webhook_secret
    };
    let second = rotate(3_600).await;
    let first_payment = world.pay(&shop).await;
    let notifier = world.notifier(Arc::new(world.store.clone()), settings());
    until("three arrivals", || receiver.arrivals().len() == 3).await;
    let third = rotate(0).await;
    world.pay(&shop).await;
    until("six arrivals", || receiver.arrivals().len() == 6).await;
    notifier.stop().await;
    for arrival in receiver.arrivals() {
        if first_payment.contains(&arrival.id) {
            assert!(arrival.is_signed_with_all(&[&second, &shop.secret]), "{arrival:?}");
        } else {
            assert!(arrival.is_signed_with(&third), "{arrival:?}");
        }
    }
}

#[tokio::test]
async fn a_removed_endpoint_is_sent_nothing_and_loses_nothing() {
    let world = World::new();
    let (gone, there) = (Receiver::start(|_, _| Some(200)).await, Receiver::start(|_, _| Some(200)).await);
    let shop = world.shop(gone.url()).await;
    let (merchants, ids) = (world.merchants(), world.pay(&shop).await);
    let endpoint = merchants.endpoints(shop.merchant).await.expect("endpoints")[0].id;
    assert_eq!(merchants.remove_endpoint(endpoint).await, Ok(3));
    let other = merchants
        .add_endpoint(shop.merchant, &there.url(), EndpointSettings::default())
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let notifier = world.notifier(Arc::new(world.store.clone()), settings());
    let filter = NotificationFilter { state: Some(DeliveryState::Parked), ..NotificationFilter::default() };
    let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 10 };
    let parked = world.store.list_notifications(query).await.expect("parked").notifications;
    let now = parked[0].statuses[0].parked_at.expect("it is parked");
    let items = parked.iter().map(|one| ReplayItem { event: one.event_id, from: endpoint, state: None }).collect();
    let asked = ReplayRequest {
        id: endpoint.uuid(),
        by: "ada".to_owned(),
        wanted: "all".to_owned(),
        gap: None,
        dry_run: false,
        audit: audited(),
    };
    let replayed = world.store.replay(other.endpoint_id, items, asked, now).await.expect("replayed");
    assert_eq!(replayed.queued, 3);
    until("three arrivals elsewhere", || there.arrivals().len() == 3).await;
    notifier.stop().await;
    let arrivals = there.arrivals();
    assert!(ids.iter().all(|id| arrivals.iter().any(|one| one.id == *id)), "the same notifications: {arrivals:?}");
    assert!(arrivals.iter().all(|one| one.is_signed_with(&other.webhook_secret)));
    assert_eq!(gone.arrivals().len(), 0);
}

/// Answers all that is no acknowledgement, one after the other, then 200.
fn reluctant(before: &[Arrival], now: &Arrival) -> Option<u16> {
    const ANSWERS: [u16; 6] = [201, 204, 302, 410, 500, 200];
    let tries = before.iter().filter(|one| one.id == now.id).count();
    Some(ANSWERS[tries.min(ANSWERS.len() - 1)])
}

#[tokio::test]
async fn nothing_but_200_acknowledges_and_the_next_one_waits_for_it() {
    let world = World::new();
    let receiver = Receiver::start(reluctant).await;
    let shop = world.shop(receiver.url()).await;
    let mut payments = Vec::new();
    for _ in 0..10 {
        payments.push(world.pay(&shop).await);
    }
    let notifiers = [0, 1].map(|_| world.notifier(Arc::new(world.store.clone()), settings()));
    until("every acknowledgement", || receiver.acknowledged().len() == 30).await;
    for notifier in notifiers {
        notifier.stop().await;
    }
    let arrivals = receiver.arrivals();
    assert_eq!(arrivals.len(), 30 * 6, "two notifiers, and no try was made twice");
    let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
    for arrival in &arrivals {
        assert_eq!(*bodies.entry(&arrival.id).or_insert(&arrival.body), arrival.body, "the body never changes");
        assert!(arrival.is_signed_with(&shop.secret));
    }
    for payment in payments {
        let of_payment: Vec<_> = arrivals.iter().filter(|one| payment.contains(&one.id)).collect();
        let in_order: Vec<_> = payment.iter().flat_map(|id| vec![id; 6]).collect();
        assert_eq!(of_payment.iter().map(|one| &one.id).collect::<Vec<_>>(), in_order);
    }
}

/// A store whose results never commit: a notifier on it dies between the response and the commit.
struct StoreWithoutCommit {
    store: Store,
    finishing: Notify,
}

#[async_trait]
impl OutboxStore for StoreWithoutCommit {
    async fn claim_deliveries(
        &self,
        full: &[EndpointId],
        now: Timestamp,
        lease_until: Timestamp,
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        self.store.claim_deliveries(full, now, lease_until, per_endpoint, limit).await
    }

    async fn claim_probe(
        &self,
        endpoint: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        self.store.claim_probe(endpoint, now, lease_until).await
    }

    async fn park_overdue(
        &self,
        endpoint: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        self.store.park_overdue(endpoint, give_up_before, now, limit).await
    }

    async fn finish_deliveries(
        &self,
        _: Vec<AttemptResult>,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError> {
        self.finishing.notify_one();
        std::future::pending().await
    }

    async fn park_removed(&self, endpoint: EndpointId, now: Timestamp, limit: u32) -> Result<(u32, bool), StoreError> {
        self.store.park_removed(endpoint, now, limit).await
    }
}

#[tokio::test]
async fn a_crash_between_sending_and_writing_down_sends_the_same_once_more() {
    let world = World::new();
    let receiver = Receiver::start(|_, _| Some(200)).await;
    let shop = world.shop(receiver.url()).await;
    let ids = world.pay(&shop).await;
    let uncommitted = Arc::new(StoreWithoutCommit { store: world.store.clone(), finishing: Notify::new() });
    let lease = Duration::from_millis(2_500);
    let short = DeliverySettings { lease, send_deadline: Duration::from_millis(500), ..settings() };
    let dying = world.notifier(uncommitted.clone(), short);
    uncommitted.finishing.notified().await;
    dying.kill().await;
    assert_eq!(receiver.acknowledged(), ids[..1], "the merchant has it, and we do not know");

    let successor = world.notifier(Arc::new(world.store.clone()), settings());
    until("the rest", || receiver.acknowledged().len() == 4).await;
    successor.stop().await;
    let arrivals = receiver.arrivals();
    assert_eq!(receiver.acknowledged(), [&ids[0], &ids[0], &ids[1], &ids[2]].map(Clone::clone));
    assert_eq!(arrivals[0].body, arrivals[1].body);
    assert!(arrivals.iter().all(|one| one.is_signed_with(&shop.secret)));
}

#[tokio::test]
async fn a_silent_endpoint_does_not_delay_another() {
    let world = World::new();
    let (silent, quick) = (Receiver::start(|_, _| None).await, Receiver::start(|_, _| Some(200)).await);
    let (dead_shop, shop) = (world.shop(silent.url()).await, world.shop(quick.url()).await);
    for _ in 0..40 {
        world.pay(&dead_shop).await;
    }
    let notifier = world.notifier(Arc::new(world.store.clone()), settings());
    until("all slots of the silent one taken", || silent.arrivals().len() == 8).await;
    // The silent one holds its slots for eight seconds; the other one is through long before.
    for number in 1..=20 {
        world.pay(&shop).await;
        until("the quick one's payment", || quick.acknowledged().len() == 3 * number).await;
    }
    assert_eq!(silent.arrivals().len(), 8, "never more than its slots, and none of them is over yet");
    notifier.kill().await;
}
