use std::sync::Arc;

use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_ports::{Backlog, DeliveryResult, EndpointBacklog, ReplayItem, ReplayRequest};

use crate::Harness;
use crate::values::{at, audited, fresh};

/// What waits for the endpoint, and since when it is due.
fn waiting(backlog: &Backlog, endpoint: EndpointId) -> Option<(u64, Timestamp)> {
    let found = backlog.endpoints.iter().find(|one| one.endpoint_id == endpoint);
    found.map(|EndpointBacklog { waiting, oldest_due, .. }| (*waiting, *oldest_due))
}

pub async fn what_waits_is_told_by_endpoint(harness: Arc<Harness>) {
    assert_eq!(harness.backlog.find_backlog().await, Ok(Backlog::default()));
    let ((busy, busy_endpoint), (quiet, quiet_endpoint)) = (harness.merchant().await, harness.merchant().await);
    for merchant in [busy.id, busy.id, quiet.id] {
        harness.authorized(merchant).await;
    }
    let backlog = harness.backlog.find_backlog().await.unwrap();
    assert_eq!(waiting(&backlog, busy_endpoint.id), Some((4, at(20))));
    assert_eq!(waiting(&backlog, quiet_endpoint.id), Some((2, at(20))));
    assert_eq!((backlog.endpoints.len(), backlog.parked, backlog.replaying), (2, 0, 0));
    // Under way: due again when the lease ends. The first is acknowledged, and then the endpoint has nothing left.
    let claimed = harness.claim(at(100)).await;
    let backlog = harness.backlog.find_backlog().await.unwrap();
    assert_eq!(waiting(&backlog, busy_endpoint.id), Some((4, at(115))));
    let mut last = claimed.iter().find(|one| one.endpoint_id == quiet_endpoint.id).unwrap().key;
    for _ in 0..2 {
        let next = harness.finish(last, DeliveryResult::Acknowledged, at(101)).await;
        last = next.first().map_or(last, |one| one.key);
    }
    let retried = claimed.iter().find(|one| one.endpoint_id == busy_endpoint.id).unwrap().key;
    harness.finish(retried, DeliveryResult::Retry { at: at(107) }, at(102)).await;
    let backlog = harness.backlog.find_backlog().await.unwrap();
    assert_eq!(waiting(&backlog, quiet_endpoint.id), None);
    assert_eq!(waiting(&backlog, busy_endpoint.id), Some((4, at(107))));
}

pub async fn what_is_parked_and_sent_again_is_told(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let mut parked: Vec<EventId> = vec![];
    let mut next = harness.claim(at(100)).await;
    while let Some(one) = next.pop() {
        parked.push(one.event_id);
        next = harness.finish(one.key, DeliveryResult::Parked, at(101)).await;
    }
    let backlog = harness.backlog.find_backlog().await.unwrap();
    assert_eq!((backlog.endpoints.len(), backlog.parked, backlog.replaying), (0, 2, 0));
    let items = parked.iter().map(|event| ReplayItem { event: *event, from: endpoint.id, state: None }).collect();
    let asked = ReplayRequest {
        id: fresh(),
        by: "ada".to_owned(),
        wanted: "all".to_owned(),
        gap: None,
        dry_run: false,
        audit: audited(),
    };
    harness.notifications.replay(endpoint.id, items, asked, at(200)).await.unwrap();
    let backlog = harness.backlog.find_backlog().await.unwrap();
    assert_eq!((waiting(&backlog, endpoint.id), backlog.parked, backlog.replaying), (Some((2, at(200))), 0, 2));
    // The second one comes behind the first. What fails is still being sent again; what is given up or arrives is not.
    let first = harness.claim(at(200)).await.remove(0);
    harness.finish(first.key, DeliveryResult::Retry { at: at(205) }, at(201)).await;
    let replaying = async || harness.backlog.find_backlog().await.unwrap().replaying;
    assert_eq!(replaying().await, 2);
    let again = harness.claim(at(205)).await.remove(0);
    let second = harness.finish(again.key, DeliveryResult::Parked, at(206)).await.remove(0);
    assert_eq!(replaying().await, 1);
    harness.finish(second.key, DeliveryResult::Acknowledged, at(207)).await;
    assert_eq!(replaying().await, 0);
}
