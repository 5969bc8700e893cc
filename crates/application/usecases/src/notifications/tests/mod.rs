mod retention;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_ports::{
    Acting, DeliveryState, DeliveryStatus, DiscardRequest, EventsPurged, Notification, NotificationFilter,
    ReplayCounts, ReplayItem, ReplayRequest,
};
use tokio::sync::watch;
use uuid::Uuid;

use super::*;

use DeliveryState::{Delivered, Parked, Pending};

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn event(number: u128) -> EventId {
    EventId::new(Uuid::from_u128(number))
}

fn endpoint(number: u128) -> EndpointId {
    EndpointId::new(Uuid::from_u128(number))
}

fn away() -> StoreError {
    StoreError::Unavailable("it is away".to_owned())
}

fn status(at: u128, state: DeliveryState) -> DeliveryStatus {
    DeliveryStatus {
        endpoint_id: endpoint(at),
        removed: false,
        wanted: true,
        state,
        tries: 1,
        due_at: None,
        parked_at: None,
        delivered_at: None,
    }
}

fn notification(number: u128, statuses: Vec<DeliveryStatus>) -> Notification {
    Notification {
        event_id: event(number),
        merchant_id: MerchantId::new(Uuid::from_u128(1)),
        payment_id: PaymentId::new(Uuid::from_u128(2)),
        sequence: 1,
        event_type: "TEST".to_owned(),
        happened_at: NOW.plus(Duration::from_secs(number as u64)),
        statuses,
    }
}

/// Events before then, tries since then, after that event.
type Counting = (Timestamp, Option<Timestamp>, Option<EventId>);

/// Gives what it was filled with, one notification to a page, and notes what it is asked.
#[derive(Default)]
struct Played {
    notifications: Vec<Notification>,
    asked: Mutex<Vec<(EndpointId, Vec<ReplayItem>, ReplayRequest)>>,
    discarded: Mutex<Vec<DiscardRequest>>,
    /// After so many writes it is away.
    away_after: Option<usize>,
    tries: Mutex<u32>,
    /// How many times the store is away when tries are to be deleted.
    away: Mutex<u32>,
    purged: Mutex<Vec<(Timestamp, Option<EventId>)>>,
    counted: Mutex<Vec<Counting>>,
}

impl Played {
    fn is_there(&self, writes: usize) -> Result<(), StoreError> {
        if self.away_after.is_some_and(|most| most <= writes) { Err(away()) } else { Ok(()) }
    }

    fn waits(&self, event: EventId, at: EndpointId) -> bool {
        let mut statuses = self.notifications.iter().filter(|one| one.event_id == event).flat_map(|one| &one.statuses);
        statuses.any(|status| status.endpoint_id == at && status.state == Pending)
    }
}

#[async_trait]
impl NotificationStore for Played {
    async fn list_notifications(&self, query: NotificationQuery) -> Result<NotificationPage, StoreError> {
        assert!(query.oldest_first);
        let next = self.notifications.iter().find(|one| query.after.is_none_or(|after| after < one.event_id));
        let Some(next) = next else { return Ok(NotificationPage::default()) };
        let mut one = next.clone();
        one.statuses.retain(|status| Some(status.state) == query.filter.state);
        Ok(NotificationPage { next: Some(one.event_id), notifications: vec![one] })
    }

    async fn find_notification(&self, id: EventId) -> Result<Option<NotificationDetails>, StoreError> {
        let found = self.notifications.iter().find(|one| one.event_id == id).cloned();
        Ok(found.map(|notification| NotificationDetails { notification, body: vec![], tries: vec![] }))
    }

    async fn replay(
        &self,
        to: EndpointId,
        items: Vec<ReplayItem>,
        asked: ReplayRequest,
        _now: Timestamp,
    ) -> Result<ReplayCounts, StoreError> {
        self.is_there(self.asked.lock().unwrap().len())?;
        let queued = u32::try_from(items.len()).unwrap();
        let outcome = match to {
            to if to == endpoint(99) => ReplayCounts { refused: queued, ..ReplayCounts::default() },
            to if to == endpoint(98) => ReplayCounts { changed: queued, ..ReplayCounts::default() },
            to if self.waits(items[0].event, to) => ReplayCounts { hurried: queued, ..ReplayCounts::default() },
            _ => ReplayCounts { queued, ..ReplayCounts::default() },
        };
        self.asked.lock().unwrap().push((to, items, asked));
        Ok(outcome)
    }

    async fn discard(&self, asked: DiscardRequest, _now: Timestamp) -> Result<u32, StoreError> {
        let mut discarded = self.discarded.lock().unwrap();
        self.is_there(discarded.len())?;
        let count = u32::try_from(asked.items.len()).unwrap();
        discarded.push(asked);
        Ok(count)
    }

    async fn purge_attempts(&self, before: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.purged.lock().unwrap().push((before, None));
        let mut away_for = self.away.lock().unwrap();
        if *away_for != 0 {
            *away_for -= 1;
            return Err(away());
        }
        let mut tries = self.tries.lock().unwrap();
        let deleted = limit.min(*tries);
        *tries -= deleted;
        Ok(deleted)
    }

    async fn count_attempts(&self, _before: Timestamp) -> Result<u64, StoreError> {
        Ok(u64::from(*self.tries.lock().unwrap()))
    }

    async fn purge_events(
        &self,
        before: Timestamp,
        after: Option<EventId>,
        _look_at: u32,
    ) -> Result<EventsPurged, StoreError> {
        self.purged.lock().unwrap().push((before, after));
        let next = if after.is_none() { Some(event(7)) } else { None };
        Ok(EventsPurged { events: 2, tries: 3, next })
    }

    async fn count_events(
        &self,
        before: Timestamp,
        tries_since: Option<Timestamp>,
        after: Option<EventId>,
        _look_at: u32,
    ) -> Result<EventsPurged, StoreError> {
        self.counted.lock().unwrap().push((before, tries_since, after));
        let next = if after.is_none() { Some(event(7)) } else { None };
        Ok(EventsPurged { events: 2, tries: 3, next })
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        NOW
    }
}

#[derive(Default)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn random(&self) -> Uuid {
        Uuid::from_u128(0)
    }

    fn ordered(&self) -> Uuid {
        Uuid::from_u64_pair(0, self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn secret(&self) -> [u8; 32] {
        [0; 32]
    }
}

fn over(notifications: Vec<Notification>) -> (Notifications, Arc<Played>) {
    playing(Played { notifications, tries: Mutex::new(2_500), ..Played::default() })
}

fn playing(store: Played) -> (Notifications, Arc<Played>) {
    let store = Arc::new(store);
    let notifications =
        Notifications { store: store.clone(), clock: Arc::new(Still), ids: Arc::new(Counted::default()) };
    (notifications, store)
}

fn order(which: ReplayWhich) -> ReplayOrder {
    ReplayOrder { which, to: None, rate: None, by: "ada".to_owned(), acting: Acting::system(), dry_run: false }
}

fn all(state: DeliveryState) -> ReplayWhich {
    ReplayWhich::All { state, filter: NotificationFilter::default() }
}

fn one(number: u128, at: Option<u128>) -> ReplayWhich {
    ReplayWhich::One { event: event(number), endpoint: at.map(endpoint) }
}

/// A notification, the endpoint that it went to, and in which state it may be.
type Asked = (EventId, EndpointId, Option<DeliveryState>);

/// Where what was asked for goes, with how it has to stand where.
fn asked(store: &Played) -> Vec<(EndpointId, Vec<Asked>)> {
    let asked = store.asked.lock().unwrap();
    let item = |item: &ReplayItem| (item.event, item.from, item.state);
    asked.iter().map(|(to, items, _)| (*to, items.iter().map(item).collect())).collect()
}

#[tokio::test]
async fn all_that_stand_so_go_where_they_stand_so() {
    let gone = DeliveryStatus { removed: true, ..status(6, Parked) };
    let unwanted = DeliveryStatus { wanted: false, ..status(7, Parked) };
    let (notifications, store) = over(vec![
        notification(1, vec![status(5, Parked), status(8, Delivered)]),
        notification(2, vec![status(5, Delivered), gone, unwanted]),
        notification(3, vec![status(8, Parked)]),
    ]);
    let mut wanted = order(all(Parked));
    wanted.rate = std::num::NonZeroU32::new(50);
    wanted.dry_run = true;
    let foretold = notifications.replay(&wanted).await.unwrap();
    assert_eq!(foretold.queued, [(endpoint(5), 1), (endpoint(8), 1)].into());
    assert_eq!((foretold.stranded, foretold.unwanted, foretold.total()), (1, 1, 2));
    assert!(store.asked.lock().unwrap().drain(..).all(|(.., asked)| asked.dry_run), "nothing was done");
    wanted.dry_run = false;
    assert_eq!(notifications.replay(&wanted).await, Ok(foretold));
    let first = (endpoint(5), vec![(event(1), endpoint(5), Some(Parked))]);
    let last = (endpoint(8), vec![(event(3), endpoint(8), Some(Parked))]);
    assert_eq!(asked(&store), [first, last]);
    let told = store.asked.lock().unwrap();
    assert_eq!(told[0].2.id, told[1].2.id, "one id for all of it");
    assert_ne!(told[0].2.audit.id, told[1].2.audit.id, "an entry of the audit log for each endpoint");
    for (to, _, asked) in told.iter() {
        let after = asked.audit.after.as_deref().unwrap();
        assert!(after.contains(&format!("\"Endpoint\":\"{to}\",\"Notifications\":1")), "{after}");
    }
    let ReplayRequest { by, wanted, gap, .. } = &told[0].2;
    assert_eq!((by.as_str(), wanted.as_str()), ("ada", "state PARKED"));
    assert_eq!(*gap, Some(Duration::from_millis(20)));
}

#[tokio::test]
async fn an_heir_gets_what_removed_endpoints_had_once() {
    let gone = |at| DeliveryStatus { removed: true, ..status(at, Parked) };
    let (notifications, store) = over(vec![notification(1, vec![gone(5), gone(6), status(8, Parked)])]);
    let mut wanted = ReplayOrder { to: Some(endpoint(9)), ..order(all(Parked)) };
    let outcome = notifications.replay(&wanted).await.unwrap();
    assert_eq!(outcome.queued, [(endpoint(8), 1), (endpoint(9), 1)].into(), "its own one where it is still there");
    assert_eq!(asked(&store).len(), 2);
    wanted.to = Some(endpoint(99));
    let outcome = notifications.replay(&wanted).await.unwrap();
    assert_eq!((outcome.stranded, outcome.total()), (1, 1), "somebody else's");
    wanted.dry_run = true;
    assert_eq!(notifications.replay(&wanted).await, Ok(outcome), "foretold by the same store");
}

#[tokio::test]
async fn what_came_of_a_replay_that_broke_off_is_told() {
    let notifications: Vec<_> = (1..=3).map(|number| notification(number, vec![status(5, Parked)])).collect();
    let second = NOW.plus(Duration::from_secs(2));
    let a_minute_before = second.minus(Duration::from_secs(60));
    for (away_after, queued, from, since) in [
        (2, 2, None, Some(a_minute_before)),
        (2, 2, Some(NOW), Some(NOW)),
        (2, 2, Some(NOW.minus(Duration::from_secs(600))), Some(a_minute_before)),
        (0, 0, Some(NOW), None),
    ] {
        let played = Played { notifications: notifications.clone(), away_after: Some(away_after), ..Played::default() };
        let (notifications, _) = playing(played);
        let which = ReplayWhich::All {
            state: Parked,
            filter: NotificationFilter { since: from, ..NotificationFilter::default() },
        };
        let broken = notifications.replay(&order(which)).await.unwrap_err();
        let queued: Vec<_> = (0 < queued).then_some((endpoint(5), queued)).into_iter().collect();
        let done = ReplayOutcome { queued: queued.into_iter().collect(), ..ReplayOutcome::default() };
        assert_eq!(broken, ReplayError::Store { error: away(), done, since });
    }
}

#[tokio::test]
async fn what_stood_otherwise_by_then_is_told() {
    let (notifications, _) = over(vec![notification(1, vec![status(98, Parked)])]);
    let outcome = notifications.replay(&order(all(Parked))).await;
    assert_eq!(outcome, Ok(ReplayOutcome { changed: 1, ..ReplayOutcome::default() }));
}

#[tokio::test]
async fn what_is_parked_is_discarded_where_it_is_parked() {
    let gone = DeliveryStatus { removed: true, ..status(6, Parked) };
    let notifications = vec![
        notification(1, vec![status(5, Parked), gone, status(8, Delivered)]),
        notification(2, vec![status(5, Delivered)]),
        notification(3, vec![status(8, Parked)]),
    ];
    let order = |which| DiscardOrder { which, by: "ada".to_owned(), acting: Acting::system(), dry_run: false };
    let all = || DiscardWhich::All(NotificationFilter { state: Some(Pending), ..NotificationFilter::default() });
    let one = |number, at: Option<u128>| DiscardWhich::One { event: event(number), endpoint: at.map(endpoint) };
    let first = [(event(1), endpoint(5)), (event(1), endpoint(6))];
    for (which, count, expected) in [
        (all(), 3, vec![first.to_vec(), vec![(event(3), endpoint(8))]]),
        (one(1, None), 2, vec![first.to_vec()]),
        (one(1, Some(6)), 1, vec![first[1..].to_vec()]),
        (one(1, Some(8)), 0, vec![]),
        (one(2, None), 0, vec![]),
    ] {
        for dry_run in [true, false] {
            let (notifications, store) = over(notifications.clone());
            let wanted = DiscardOrder { dry_run, ..order(which.clone()) };
            assert_eq!(notifications.discard(&wanted).await, Ok(count), "{which:?}");
            let discarded = store.discarded.lock().unwrap();
            assert_eq!(discarded.iter().map(|one| one.items.clone()).collect::<Vec<_>>(), expected, "{which:?}");
            assert!(discarded.iter().all(|one| one.dry_run == dry_run && one.by == "ada"));
        }
    }
    let played = Played { notifications, away_after: Some(1), ..Played::default() };
    let (notifications, _) = playing(played);
    let away = DiscardError::Store { error: away(), done: 2 };
    assert_eq!(notifications.discard(&order(all())).await, Err(away));
    assert_eq!(notifications.discard(&order(one(9, None))).await, Err(DiscardError::NotFound));
}

#[tokio::test]
async fn one_goes_where_it_is_parked_or_else_where_it_arrived() {
    let (notifications, store) = over(vec![
        notification(1, vec![status(5, Delivered), status(6, Parked)]),
        notification(2, vec![status(5, Delivered), status(6, DeliveryState::NotWanted)]),
        notification(3, vec![status(5, Pending)]),
        notification(4, vec![]),
    ]);
    for (which, to, item) in [
        (one(1, None), 6, (event(1), endpoint(6), Some(Parked))),
        (one(1, Some(5)), 5, (event(1), endpoint(5), None)),
        (one(2, None), 5, (event(2), endpoint(5), Some(Delivered))),
        (one(4, Some(5)), 5, (event(4), endpoint(5), None)),
    ] {
        assert_eq!(notifications.replay(&order(which.clone())).await.unwrap().total(), 1, "{which:?}");
        assert_eq!(asked(&store).last(), Some(&(endpoint(to), vec![item])), "{which:?}");
        let asked = store.asked.lock().unwrap();
        assert_eq!(asked.last().unwrap().2.gap, None);
    }
    for which in [one(3, None), one(3, Some(5))] {
        assert_eq!(notifications.replay(&order(which)).await.unwrap().hurried, 1);
        assert_eq!(asked(&store).last(), Some(&(endpoint(5), vec![(event(3), endpoint(5), None)])));
    }
    let before = asked(&store).len();
    assert_eq!(notifications.replay(&order(one(4, None))).await, Err(ReplayError::Nowhere));
    assert_eq!(notifications.replay(&order(one(9, None))).await, Err(ReplayError::NotFound));
    assert_eq!(asked(&store).len(), before);
    let elsewhere = ReplayOrder { to: Some(endpoint(8)), ..order(one(4, None)) };
    assert_eq!(notifications.replay(&elsewhere).await.unwrap().queued, [(endpoint(8), 1)].into());
}
