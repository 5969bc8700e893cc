use std::sync::Arc;
use std::time::Duration;

use dropin_access::Endpoint;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_order::OpState;
use dropin_ports::{
    AttemptRecord, AttemptResult, Delivery, DeliveryResult, DeliveryState, DeliveryStatus, EndpointChange,
    Notification, NotificationFilter, NotificationQuery, Payment, ReplayCounts, ReplayItem, ReplayRequest,
};

use crate::Harness;
use crate::harness::{capture, outcome};
use crate::values::{at, audited, event, fresh, new_endpoint, seconds};

use DeliveryResult::{Acknowledged, Parked, Retry};
use DeliveryState::{Delivered, Moved, NotWanted, Pending};

/// A payment of second 20 with `count` events, at least two; from the third on they are of second 51.
pub(crate) async fn told(harness: &Harness, merchant: MerchantId, count: usize) -> Payment {
    let payment = harness.authorized(merchant).await;
    if 2 < count {
        let taken = capture(&payment, None, at(50));
        harness.ask(&taken).await.unwrap();
        let mut settlement = outcome(taken.operation.id, OpState::Pending, at(60));
        settlement.events = (2..count).map(|_| event(payment.session.as_ref().unwrap(), "LATER", at(51))).collect();
        harness.payments.settle(settlement).await.unwrap();
    }
    payment
}

/// Acknowledges everything that is due, however far it goes on.
pub(crate) async fn deliver_all(harness: &Harness, now: Timestamp) -> Vec<Delivery> {
    let mut delivered = vec![];
    loop {
        let mut round = harness.claim(now).await;
        if round.is_empty() {
            return delivered;
        }
        while let Some(one) = round.pop() {
            round.extend(finish(harness, &one, Acknowledged, Some(200), now).await);
            delivered.push(one);
        }
    }
}

/// Tells what came of a try, with its record.
pub(crate) async fn finish(
    harness: &Harness,
    delivery: &Delivery,
    result: DeliveryResult,
    status: Option<u16>,
    now: Timestamp,
) -> Vec<Delivery> {
    let record = AttemptRecord {
        endpoint_id: delivery.endpoint_id,
        event_id: delivery.event_id,
        started_at: now,
        took: Duration::from_micros(1_500),
        status,
        why: status.is_none().then_some("nobody answered"),
        answer: b"thanks".to_vec(),
    };
    let told = AttemptResult { key: delivery.key, result, record: Some(record) };
    harness.outbox.finish_deliveries(vec![told], now, now.plus(seconds(15))).await.unwrap().next
}

async fn list(harness: &Harness, filter: NotificationFilter) -> Vec<Notification> {
    let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 1_000 };
    let page = harness.notifications.list_notifications(query).await.unwrap();
    assert_eq!(page.next, None);
    page.notifications
}

pub(super) async fn ids(harness: &Harness, filter: NotificationFilter) -> Vec<EventId> {
    list(harness, filter).await.into_iter().map(|one| one.event_id).collect()
}

/// The events of a payment, in their order.
pub(crate) async fn events(harness: &Harness, payment: PaymentId) -> Vec<EventId> {
    let filter = NotificationFilter { payment: Some(payment), ..Default::default() };
    ids(harness, filter).await
}

/// How an event stands at an endpoint.
pub(super) async fn status(harness: &Harness, event: EventId, endpoint: EndpointId) -> Option<DeliveryStatus> {
    let file = harness.notifications.find_notification(event).await.unwrap().unwrap();
    file.notification.statuses.into_iter().find(|one| one.endpoint_id == endpoint)
}

pub(super) async fn states(harness: &Harness, events: &[EventId], endpoint: EndpointId) -> Vec<Option<DeliveryState>> {
    let mut states = vec![];
    for event in events {
        states.push(status(harness, *event, endpoint).await.map(|one| one.state));
    }
    states
}

pub(crate) fn asked(gap: Option<Duration>) -> ReplayRequest {
    ReplayRequest {
        id: fresh(),
        by: "ada".to_owned(),
        wanted: "a test".to_owned(),
        gap,
        dry_run: false,
        audit: audited(),
    }
}

/// Asks for events that were meant for `endpoint` to be sent there again, whatever became of them.
pub(super) async fn replay(
    harness: &Harness,
    endpoint: EndpointId,
    events: &[EventId],
    now: Timestamp,
) -> ReplayCounts {
    let item = |event: &EventId| ReplayItem { event: *event, from: endpoint, state: None };
    let items = events.iter().map(item).collect();
    harness.notifications.replay(endpoint, items, asked(None), now).await.unwrap()
}

pub(super) fn queued(queued: u32) -> ReplayCounts {
    ReplayCounts { queued, ..Default::default() }
}

pub(super) fn sent(deliveries: &[Delivery]) -> Vec<EventId> {
    deliveries.iter().map(|one| one.event_id).collect()
}

pub async fn notifications_have_the_status_of_their_streams(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let choosy = new_endpoint(merchant.id);
    harness.access.insert_endpoint(choosy.clone(), audited()).await.unwrap();
    wants(&harness, &choosy, "LATER");
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    assert_eq!(all.len(), 3);
    let waiting = status(&harness, all[0], endpoint.id).await.unwrap();
    let expected = DeliveryStatus {
        endpoint_id: endpoint.id,
        removed: false,
        wanted: true,
        state: Pending,
        tries: 0,
        due_at: Some(at(20)),
        parked_at: None,
        delivered_at: None,
    };
    assert_eq!(waiting, expected);
    assert_eq!(status(&harness, all[1], endpoint.id).await, Some(DeliveryStatus { due_at: None, ..expected.clone() }));

    let claimed = harness.claim(at(100)).await;
    let first = claimed.iter().find(|one| one.endpoint_id == endpoint.id).unwrap();
    let leased = DeliveryStatus { tries: 1, due_at: Some(at(115)), ..expected.clone() };
    assert_eq!(status(&harness, all[0], endpoint.id).await, Some(leased));
    let second = finish(&harness, first, Acknowledged, Some(200), at(101)).await.remove(0);
    let third = finish(&harness, &second, Parked, Some(500), at(102)).await.remove(0);
    finish(&harness, &third, Retry { at: at(130) }, None, at(103)).await;
    let delivered =
        DeliveryStatus { state: Delivered, tries: 1, due_at: None, delivered_at: Some(at(101)), ..expected.clone() };
    assert_eq!(status(&harness, all[0], endpoint.id).await, Some(delivered));
    let parked = DeliveryStatus {
        state: DeliveryState::Parked,
        tries: 1,
        due_at: None,
        parked_at: Some(at(102)),
        ..expected.clone()
    };
    assert_eq!(status(&harness, all[1], endpoint.id).await, Some(parked));
    let again = DeliveryStatus { tries: 1, due_at: Some(at(130)), ..expected.clone() };
    assert_eq!(status(&harness, all[2], endpoint.id).await, Some(again));
    // What it does not want was passed over without a try; what it wants is under way.
    assert_eq!(
        states(&harness, &all, choosy.id).await,
        [Some(NotWanted), Some(NotWanted), Some(Pending)],
        "{:?}",
        sent(&claimed)
    );
    let unwanted = status(&harness, all[0], choosy.id).await.unwrap();
    assert_eq!((unwanted.wanted, unwanted.tries), (false, 0));
    // Nobody had to do with it: a stranger's endpoint, and one that is not told any more.
    let (_, stranger) = harness.merchant().await;
    assert_eq!(status(&harness, all[0], stranger.id).await, None);
}

pub(super) fn wants(harness: &Harness, endpoint: &Endpoint, types: &str) {
    let set = format!("UPDATE endpoint SET event_types = '{types}' WHERE id = '{}'", endpoint.id);
    harness.raw.execute(&set).unwrap();
}

pub async fn what_went_elsewhere_has_moved(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let heir = new_endpoint(merchant.id);
    let payment = told(&harness, merchant.id, 2).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let first = harness.claim(at(100)).await.remove(0);
    finish(&harness, &first, Parked, Some(500), at(101)).await;
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(102)), audited()).await.unwrap();
    harness.outbox.park_removed(endpoint.id, at(102), 10).await.unwrap();
    harness.access.insert_endpoint(heir.clone(), audited()).await.unwrap();
    assert!(status(&harness, all[0], endpoint.id).await.unwrap().removed);
    let parked = Some(DeliveryState::Parked);
    assert_eq!(states(&harness, &all, endpoint.id).await, [parked, parked]);
    assert_eq!(states(&harness, &all, heir.id).await, [None, None]);
    let items = all.iter().map(|event| ReplayItem { event: *event, from: endpoint.id, state: parked }).collect();
    assert_eq!(harness.notifications.replay(heir.id, items, asked(None), at(200)).await, Ok(queued(2)));
    assert_eq!(sent(&deliver_all(&harness, at(200)).await), all);
    let moved = Some(Moved);
    assert_eq!(states(&harness, &all, endpoint.id).await, [moved, moved], "tried there, and never tried there");
    assert_eq!(status(&harness, all[1], endpoint.id).await.unwrap().tries, 0);
    assert_eq!(states(&harness, &all, heir.id).await, [Some(Delivered), Some(Delivered)]);
}

pub async fn what_was_never_tried_and_went_elsewhere_is_listed(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let heir = new_endpoint(merchant.id);
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(60)), audited()).await.unwrap();
    assert_eq!(harness.outbox.park_removed(endpoint.id, at(60), 10).await, Ok((3, false)));
    harness.access.insert_endpoint(heir.clone(), audited()).await.unwrap();
    let at_endpoint = |state| NotificationFilter { endpoint: Some(endpoint.id), state, ..Default::default() };
    let parked = Some(DeliveryState::Parked);
    assert_eq!(ids(&harness, at_endpoint(parked)).await, all);
    let items = all.iter().map(|event| ReplayItem { event: *event, from: endpoint.id, state: parked }).collect();
    assert_eq!(harness.notifications.replay(heir.id, items, asked(None), at(70)).await, Ok(queued(3)));
    for step in ["while they wait for the other endpoint", "when they have arrived there"] {
        assert_eq!(ids(&harness, at_endpoint(parked)).await, [], "{step}");
        assert_eq!(ids(&harness, at_endpoint(Some(Moved))).await, all, "{step}");
        deliver_all(&harness, at(80)).await;
    }
}

pub async fn what_was_tried_in_vain_and_is_not_wanted_has_not_moved(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    for second in [100, 200] {
        let first = harness.claim(at(second)).await.remove(0);
        finish(&harness, &first, Retry { at: at(second + 100) }, Some(500), at(second)).await;
    }
    wants(&harness, &endpoint, "ORDER_*,LATER");
    let second = harness.claim(at(300)).await.remove(0);
    assert_eq!(second.event_id, all[1]);
    let first = status(&harness, all[0], endpoint.id).await.unwrap();
    assert_eq!((first.state, first.tries), (NotWanted, 2));
    // The same of one that was parked, and sent again when it was still wanted.
    let third = finish(&harness, &second, Parked, Some(500), at(301)).await.remove(0);
    finish(&harness, &third, Acknowledged, Some(200), at(302)).await;
    assert_eq!(replay(&harness, endpoint.id, &all[1..2], at(303)).await, queued(1));
    wants(&harness, &endpoint, "LATER");
    assert_eq!(harness.claim(at(304)).await, []);
    assert_eq!(states(&harness, &all, endpoint.id).await, [Some(NotWanted), Some(NotWanted), Some(Delivered)]);
}

pub async fn what_was_passed_over_did_not_arrive(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    told(&harness, merchant.id, 2).await;
    // Tries of a time before the next events happen.
    for delivery in harness.claim(at(100)).await {
        let next = finish(&harness, &delivery, Acknowledged, Some(200), at(5)).await.remove(0);
        finish(&harness, &next, Acknowledged, Some(200), at(6)).await;
    }
    wants(&harness, &endpoint, "LATER");
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    assert_eq!(sent(&deliver_all(&harness, at(100)).await), all[2..]);
    harness.raw.execute(&format!("UPDATE endpoint SET event_types = NULL WHERE id = '{}'", endpoint.id)).unwrap();
    let passed = [Some(NotWanted), Some(NotWanted), Some(Delivered)];
    assert_eq!(states(&harness, &all, endpoint.id).await, passed, "whatever is wanted now");
    // Where tries at it could have been deleted by age, nobody knows.
    assert_eq!(harness.notifications.purge_attempts(at(50), 10).await, Ok(2));
    assert_eq!(states(&harness, &all[..1], endpoint.id).await, [Some(Delivered)]);
}

pub async fn a_list_goes_through_so_many_events_at_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    told(&harness, merchant.id, 2_050).await;
    let filter = NotificationFilter { types: Some("NEVER_TOLD".parse().unwrap()), ..Default::default() };
    let mut query = NotificationQuery { filter, after: None, oldest_first: true, limit: 1 };
    let page = harness.notifications.list_notifications(query.clone()).await.unwrap();
    assert_eq!(page.notifications, []);
    query.after = page.next;
    assert!(query.after.is_some(), "there may be more");
    assert_eq!(harness.notifications.list_notifications(query).await, Ok(Default::default()));
}

pub async fn of_very_many_that_wait_all_are_listed(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let (_, other) = harness.merchant().await;
    let first = harness.claim(at(100)).await.remove(0);
    finish(&harness, &first, Acknowledged, Some(200), at(101)).await;
    // Of payments that nobody knows: only their number counts.
    harness
        .raw
        .execute(&format!(
            "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
            WITH RECURSIVE many (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM many WHERE number < 10001) \
            SELECT other.id, other.id, TRUE, 1, 1, 0, due_at FROM many, outbox_stream, endpoint AS other WHERE other.id = '{}'",
            other.id
        ))
        .unwrap();
    for named in [None, Some(endpoint.id)] {
        let pending = NotificationFilter { state: Some(Pending), endpoint: named, ..Default::default() };
        assert_eq!(ids(&harness, pending).await, all[1..], "{named:?}");
    }
}

pub async fn notifications_are_listed_by_what_they_are(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    let payments = [told(&harness, merchant.id, 2).await, told(&harness, merchant.id, 3).await];
    told(&harness, other.id, 2).await;
    let all = ids(&harness, NotificationFilter::default()).await;
    assert_eq!(all.len(), 7);
    let of = |filter: NotificationFilter| ids(&harness, filter);
    let any = NotificationFilter::default;
    assert_eq!(of(NotificationFilter { merchant: Some(merchant.id), ..any() }).await, all[..5]);
    assert_eq!(of(NotificationFilter { endpoint: Some(endpoint.id), ..any() }).await, all[..5]);
    let both = NotificationFilter { merchant: Some(other.id), endpoint: Some(endpoint.id), ..any() };
    assert_eq!(of(both).await, [], "another merchant's endpoint");
    assert_eq!(of(NotificationFilter { endpoint: Some(EndpointId::new(fresh())), ..any() }).await, []);
    for (types, count) in
        [("SESSION_*", 3), ("LATER,ORDER_AUTHORIZED", 4), ("ORDER_AUTHORIZE", 0), ("SESSION__OMPLETED", 0)]
    {
        let types = Some(types.parse().unwrap());
        assert_eq!(of(NotificationFilter { types: types.clone(), ..any() }).await.len(), count, "{types:?}");
    }
    assert_eq!(of(NotificationFilter { since: Some(at(51)), ..any() }).await, [all[4]]);
    assert_eq!(of(NotificationFilter { until: Some(at(51)), ..any() }).await.len(), 6);
    let never = NotificationFilter { since: Some(at(20)), until: Some(at(20)), ..any() };
    assert_eq!(of(never).await, []);
    let order = PaymentId::new(payments[1].order.id.uuid());
    for name in [payments[1].order.payment_id(), order] {
        assert_eq!(of(NotificationFilter { payment: Some(name), ..any() }).await, all[2..5], "{name}");
    }
    let whole = &list(&harness, any()).await[4];
    assert_eq!((whole.merchant_id, whole.payment_id), (merchant.id, payments[1].order.payment_id()));
    assert_eq!((whole.sequence, whole.event_type.as_str(), whole.happened_at), (3, "LATER", at(51)));
}

pub async fn notifications_are_listed_by_their_status(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let second = new_endpoint(merchant.id);
    harness.access.insert_endpoint(second.clone(), audited()).await.unwrap();
    for _ in 0..3 {
        told(&harness, merchant.id, 2).await;
    }
    let all = ids(&harness, NotificationFilter::default()).await;
    let claimed = harness.claim(at(100)).await;
    let at_first: Vec<_> = claimed.iter().filter(|one| one.endpoint_id == endpoint.id).collect();
    let parked = at_first[0];
    finish(&harness, parked, Parked, None, at(101)).await;
    let acknowledged = at_first[1];
    let follower = finish(&harness, acknowledged, Acknowledged, Some(200), at(101)).await.remove(0);
    let by = |state, endpoint| NotificationFilter { state: Some(state), endpoint, ..Default::default() };
    for named in [None, Some(endpoint.id)] {
        let found = list(&harness, by(DeliveryState::Parked, named)).await;
        assert_eq!(found.iter().map(|one| one.event_id).collect::<Vec<_>>(), [parked.event_id]);
        assert_eq!(found[0].statuses.len(), 1, "only where it stands so");
        assert_eq!(ids(&harness, by(Delivered, named)).await, [acknowledged.event_id]);
    }
    assert_eq!(ids(&harness, by(DeliveryState::Parked, Some(second.id))).await, []);
    assert_eq!(ids(&harness, by(Pending, Some(second.id))).await, all);
    assert_eq!(ids(&harness, by(Pending, None)).await, all, "at the second all of them");
    finish(&harness, &follower, Acknowledged, Some(200), at(102)).await;
    let waiting = ids(&harness, by(Pending, Some(endpoint.id))).await;
    assert_eq!(waiting.len(), 3, "the one behind the parked one, and two of the third payment");
    // What waits behind a replay waits too.
    replay(&harness, endpoint.id, &[acknowledged.event_id, follower.event_id], at(200)).await;
    assert_eq!(ids(&harness, by(Pending, Some(endpoint.id))).await.len(), 5);
    assert_eq!(ids(&harness, by(Delivered, None)).await, []);
}

pub async fn notifications_are_listed_in_pages(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 0..60 {
        told(&harness, merchant.id, 2).await;
    }
    let all = ids(&harness, NotificationFilter::default()).await;
    for (oldest_first, limit) in [(true, 50), (false, 50), (false, 120), (true, 1)] {
        let (mut seen, mut after) = (vec![], None);
        for _ in 0..200 {
            let query = NotificationQuery { filter: NotificationFilter::default(), after, oldest_first, limit };
            let page = harness.notifications.list_notifications(query).await.unwrap();
            assert!(page.notifications.len() <= limit as usize);
            seen.extend(page.notifications.iter().map(|one| one.event_id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if !oldest_first {
            seen.reverse();
        }
        assert_eq!(seen, all, "{limit} at a time");
    }
    let query = NotificationQuery { filter: Default::default(), after: None, oldest_first: false, limit: 0 };
    assert_eq!(harness.notifications.list_notifications(query).await.unwrap().notifications, []);
}

pub async fn a_notification_comes_with_its_tries_and_its_body(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    told(&harness, merchant.id, 2).await;
    let first = harness.claim(at(100)).await.remove(0);
    finish(&harness, &first, Retry { at: at(105) }, None, at(101)).await;
    let second = harness.claim(at(105)).await.remove(0);
    finish(&harness, &second, Acknowledged, Some(200), at(106)).await;
    let file = harness.notifications.find_notification(first.event_id).await.unwrap().unwrap();
    assert_eq!((file.body, file.notification.event_type), (first.body, first.event_type));
    let tries: Vec<_> = file.tries.iter().map(|one| (one.attempt, one.started_at, one.status)).collect();
    assert_eq!(tries, [(1, at(101), None), (2, at(106), Some(200))]);
    let one = &file.tries[0];
    assert_eq!(
        (one.endpoint_id, one.took, one.why.as_deref()),
        (endpoint.id, Duration::from_micros(1_500), Some("nobody answered"))
    );
    assert_eq!(one.answer, b"thanks");
    assert_eq!(file.notification.statuses[0].tries, 2);
    assert_eq!(harness.notifications.find_notification(EventId::new(fresh())).await, Ok(None));
}
