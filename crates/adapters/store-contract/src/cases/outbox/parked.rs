use std::sync::Arc;

use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_ports::{AccountChanged, AttemptResult, DeliveryResult, EndpointChange};

use super::{ParkedEvent, Replayed, sequences};
use crate::Harness;
use crate::values::{at, audited, fresh, new_endpoint};

use DeliveryResult::{Acknowledged, Parked, Retry};
use Replayed::{NoEndpoint, NotParked};

pub async fn a_parked_notification_can_be_replayed(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await.remove(0);
    assert_eq!(harness.replay_parked(first.event_id, endpoint.id, endpoint.id, at(100)).await, NotParked);
    let second = harness.finish(first.key, Parked, at(101)).await;
    assert_eq!(sequences(&second), [2], "the stream goes on without it");
    let expected = |attempts, parked_at| ParkedEvent {
        merchant_id: merchant.id,
        endpoint_id: endpoint.id,
        payment_id: payment.order.payment_id(),
        event_id: first.event_id,
        event_type: first.event_type.clone(),
        attempts,
        parked_at,
    };
    assert_eq!(harness.list_parked(10).await, vec![expected(1, at(101))]);
    assert_eq!(harness.list_parked(0).await, vec![]);
    let replay = async |event, from, to| harness.replay_parked(event, from, to, at(102)).await;
    let nowhere = EndpointId::new(fresh());
    assert_eq!(replay(first.event_id, nowhere, endpoint.id).await, NotParked);
    assert_eq!(replay(EventId::new(fresh()), endpoint.id, endpoint.id).await, NotParked);
    assert_eq!(replay(first.event_id, endpoint.id, nowhere).await, NoEndpoint);
    assert_eq!(replay(first.event_id, endpoint.id, endpoint.id).await, Replayed::Done);
    assert_eq!(replay(first.event_id, endpoint.id, endpoint.id).await, NotParked, "once");
    let replayed = harness.claim(at(103)).await.remove(0);
    assert_eq!((replayed.event_id, &replayed.body), (first.event_id, &first.body), "unchanged, with the same id");
    assert_eq!((replayed.key.sequence, replayed.key.attempt, replayed.first_try), (1, 1, at(103)));
    assert_eq!(harness.finish(replayed.key, Parked, at(104)).await, vec![]);
    assert_eq!(harness.list_parked(10).await, vec![expected(1, at(104))], "parked again");
    assert_eq!(harness.finish(second[0].key, Parked, at(105)).await, vec![]);
    let parked = harness.list_parked(10).await;
    assert_eq!(parked.iter().map(|one| one.event_id).collect::<Vec<_>>(), [second[0].event_id, first.event_id]);
    assert_eq!(harness.list_parked(1).await, parked[..1]);
}

/// An event that is parked at both endpoints of a merchant since second 101.
async fn parked_at_both(harness: &Harness) -> (EventId, EndpointId, EndpointId) {
    let (merchant, one) = harness.merchant().await;
    let other = new_endpoint(merchant.id);
    harness.access.insert_endpoint(other.clone(), audited()).await.unwrap();
    harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await;
    for delivery in &first {
        let second = harness.finish(delivery.key, Parked, at(101)).await;
        harness.finish(second[0].key, Acknowledged, at(102)).await;
    }
    (first[0].event_id, one.id, other.id)
}

/// Where `event` is parked, after how many tries and since when; the newest first.
async fn parked(harness: &Harness, event: EventId) -> Vec<(EndpointId, u32, Timestamp)> {
    let parked = harness.list_parked(10).await.into_iter().filter(|one| one.event_id == event);
    parked.map(|one| (one.endpoint_id, one.attempts, one.parked_at)).collect()
}

pub async fn what_is_parked_again_replaces_what_was_parked(harness: Arc<Harness>) {
    let (event, from, to) = parked_at_both(&harness).await;
    assert_eq!(parked(&harness, event).await.len(), 2);
    assert_eq!(harness.replay_parked(event, from, to, at(200)).await, Replayed::Done);
    let replayed = harness.claim(at(200)).await.remove(0);
    harness.finish(replayed.key, Retry { at: at(210) }, at(201)).await;
    let replayed = harness.claim(at(210)).await.remove(0);
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let neighbour = harness.claim(at(210)).await.remove(0);
    let results = vec![AttemptResult::new(neighbour.key, Parked), AttemptResult::new(replayed.key, Parked)];
    let next = harness.outbox.finish_deliveries(results, at(211), at(226)).await.unwrap().next;
    assert_eq!(next.iter().map(|next| next.merchant_id).collect::<Vec<_>>(), [merchant.id], "it holds nobody up");
    assert_eq!(parked(&harness, event).await, [(to, 2, at(211))], "once, as it was parked last");
    let events: Vec<_> = harness.list_parked(10).await.into_iter().map(|one| one.event_id).collect();
    assert_eq!(events, [event, neighbour.event_id], "among the others it is the newest");
}

pub async fn what_a_removed_endpoint_was_to_get_again_is_parked_again(harness: Arc<Harness>) {
    for by_claim in [false, true] {
        let (event, one, other) = parked_at_both(&harness).await;
        assert_eq!(harness.replay_parked(event, one, other, at(200)).await, Replayed::Done);
        let removed = EndpointChange::Removed(at(201));
        assert_eq!(harness.access.change_endpoint(other, removed, audited()).await, Ok(AccountChanged::Done));
        if by_claim {
            assert_eq!(harness.claim(at(202)).await, vec![]);
        } else {
            assert_eq!(harness.outbox.park_removed(other, at(202), 10).await, Ok((1, false)));
        }
        assert_eq!(parked(&harness, event).await, [(other, 0, at(202))], "by the claim: {by_claim}");
    }
}
