use std::sync::Arc;

use dropin_kernel::EventId;
use dropin_ports::{DeliveryResult, DeliveryState, Discarding, NotificationFilter};

use super::notifications::{events, finish, ids, queued, replay, states, told};
use super::retention::purge;
use crate::Bench;
use crate::values::at;

use DeliveryResult::{Acknowledged, Parked};
use DeliveryState::{Delivered, Pending};

pub async fn what_is_discarded_stands_so(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    let (_, stranger) = bench.merchant().await;
    let payment = told(&bench, merchant.id, 3).await;
    let all = events(&bench, payment.order.payment_id()).await;
    let mut delivery = bench.claim(at(100)).await.remove(0);
    for second in [101, 102] {
        delivery = finish(&bench, &delivery, Parked, Some(500), at(second)).await.remove(0);
    }
    let ask = async |events: &[EventId], at_endpoint, dry_run| {
        let items = events.iter().map(|event| (*event, at_endpoint)).collect();
        let asked = Discarding { items, by: "ada".to_owned(), dry_run };
        bench.notifications.discard(asked, at(200)).await.unwrap()
    };
    let parked = Some(DeliveryState::Parked);
    assert_eq!(ask(&all, endpoint.id, true).await, 2);
    assert_eq!(states(&bench, &all, endpoint.id).await, [parked, parked, Some(Pending)], "only counted");
    assert_eq!(ask(&all, stranger.id, false).await, 0);
    assert_eq!(ask(&all, endpoint.id, false).await, 2, "what waits is not parked");
    assert_eq!(ask(&all, endpoint.id, false).await, 0);
    let discarded = Some(DeliveryState::Discarded);
    assert_eq!(states(&bench, &all, endpoint.id).await, [discarded, discarded, Some(Pending)]);
    assert_eq!(bench.count("outbox_discarded", "discarded_by = 'ada'"), 2);
    let by_state = NotificationFilter { state: discarded, endpoint: Some(endpoint.id), ..Default::default() };
    assert_eq!(ids(&bench, by_state).await, all[..2]);
    // Sent again it is like any other, parked or delivered.
    assert_eq!(replay(&bench, endpoint.id, &all[..2], at(300)).await, queued(2));
    let first = bench.claim(at(300)).await.into_iter().find(|one| one.event_id == all[0]).unwrap();
    let next = finish(&bench, &first, Parked, Some(500), at(301)).await.remove(0);
    finish(&bench, &next, Acknowledged, Some(200), at(302)).await;
    assert_eq!(states(&bench, &all[..2], endpoint.id).await, [parked, Some(Delivered)]);
    assert_eq!(ask(&all[..1], endpoint.id, false).await, 1);
    assert_eq!(bench.count("outbox_discarded", "1 = 1"), 1);
    // One that arrived once is discarded like any other.
    assert_eq!(replay(&bench, endpoint.id, &all[1..2], at(400)).await, queued(1));
    let again = bench.claim(at(400)).await.into_iter().find(|one| one.event_id == all[1]).unwrap();
    finish(&bench, &again, Parked, Some(500), at(401)).await;
    assert_eq!(ask(&all[1..2], endpoint.id, false).await, 1);
    assert_eq!(states(&bench, &all[..2], endpoint.id).await, [discarded; 2]);
}

pub async fn what_was_discarded_goes_with_its_event(bench: Arc<Bench>) {
    let (merchant, endpoint) = bench.merchant().await;
    let payment = told(&bench, merchant.id, 2).await;
    let all = events(&bench, payment.order.payment_id()).await;
    let first = bench.claim(at(100)).await.remove(0);
    let next = finish(&bench, &first, Parked, Some(500), at(101)).await.remove(0);
    finish(&bench, &next, Acknowledged, Some(200), at(102)).await;
    assert_eq!(purge(&bench, at(9_999), 100).await, (0, 0), "it is parked");
    let asked = Discarding { items: vec![(all[0], endpoint.id)], by: "ada".to_owned(), dry_run: false };
    assert_eq!(bench.notifications.discard(asked, at(200)).await, Ok(1));
    assert_eq!(purge(&bench, at(9_999), 100).await, (1, 1));
    assert_eq!(bench.count("outbox_discarded", "1 = 1"), 0);
    assert_eq!(events(&bench, payment.order.payment_id()).await, all[1..]);
}
