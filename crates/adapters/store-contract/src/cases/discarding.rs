use std::sync::Arc;

use dropin_kernel::EventId;
use dropin_ports::{DeliveryResult, DeliveryState, DiscardRequest, NotificationFilter};

use super::notifications::{events, finish, ids, queued, replay, states, told};
use super::retention::purge;
use crate::Harness;
use crate::values::{at, audited};

use DeliveryResult::{Acknowledged, Parked};
use DeliveryState::{Delivered, Pending};

pub async fn what_is_discarded_has_that_status(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let (_, stranger) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 3).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let mut delivery = harness.claim(at(100)).await.remove(0);
    for second in [101, 102] {
        delivery = finish(&harness, &delivery, Parked, Some(500), at(second)).await.remove(0);
    }
    let ask = async |events: &[EventId], at_endpoint, dry_run| {
        let items = events.iter().map(|event| (*event, at_endpoint)).collect();
        let asked = DiscardRequest { items, by: "ada".to_owned(), dry_run, audit: audited() };
        harness.notifications.discard(asked, at(200)).await.unwrap()
    };
    let parked = Some(DeliveryState::Parked);
    assert_eq!(ask(&all, endpoint.id, true).await, 2);
    assert_eq!(states(&harness, &all, endpoint.id).await, [parked, parked, Some(Pending)], "only counted");
    assert_eq!(ask(&all, stranger.id, false).await, 0);
    assert_eq!(ask(&all, endpoint.id, false).await, 2, "what waits is not parked");
    assert_eq!(ask(&all, endpoint.id, false).await, 0);
    let discarded = Some(DeliveryState::Discarded);
    assert_eq!(states(&harness, &all, endpoint.id).await, [discarded, discarded, Some(Pending)]);
    assert_eq!(harness.count("outbox_discarded", "discarded_by = 'ada'"), 2);
    assert_eq!(harness.count("audit_log", "action = 'MERCHANT_CHANGE'"), 1, "an entry for what was discarded alone");
    let by_state = NotificationFilter { state: discarded, endpoint: Some(endpoint.id), ..Default::default() };
    assert_eq!(ids(&harness, by_state).await, all[..2]);
    // Sent again it is like any other, parked or delivered.
    assert_eq!(replay(&harness, endpoint.id, &all[..2], at(300)).await, queued(2));
    let first = harness.claim(at(300)).await.into_iter().find(|one| one.event_id == all[0]).unwrap();
    let next = finish(&harness, &first, Parked, Some(500), at(301)).await.remove(0);
    finish(&harness, &next, Acknowledged, Some(200), at(302)).await;
    assert_eq!(states(&harness, &all[..2], endpoint.id).await, [parked, Some(Delivered)]);
    assert_eq!(ask(&all[..1], endpoint.id, false).await, 1);
    assert_eq!(harness.count("outbox_discarded", "1 = 1"), 1);
    // One that arrived once is discarded like any other.
    assert_eq!(replay(&harness, endpoint.id, &all[1..2], at(400)).await, queued(1));
    let again = harness.claim(at(400)).await.into_iter().find(|one| one.event_id == all[1]).unwrap();
    finish(&harness, &again, Parked, Some(500), at(401)).await;
    assert_eq!(ask(&all[1..2], endpoint.id, false).await, 1);
    assert_eq!(states(&harness, &all[..2], endpoint.id).await, [discarded; 2]);
}

pub async fn what_was_discarded_goes_with_its_event(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 2).await;
    let all = events(&harness, payment.order.payment_id()).await;
    let first = harness.claim(at(100)).await.remove(0);
    let next = finish(&harness, &first, Parked, Some(500), at(101)).await.remove(0);
    finish(&harness, &next, Acknowledged, Some(200), at(102)).await;
    assert_eq!(purge(&harness, at(9_999), 100).await, (0, 0), "it is parked");
    let asked =
        DiscardRequest { items: vec![(all[0], endpoint.id)], by: "ada".to_owned(), dry_run: false, audit: audited() };
    assert_eq!(harness.notifications.discard(asked, at(200)).await, Ok(1));
    assert_eq!(purge(&harness, at(9_999), 100).await, (1, 1));
    assert_eq!(harness.count("outbox_discarded", "1 = 1"), 0);
    assert_eq!(events(&harness, payment.order.payment_id()).await, all[1..]);
}
