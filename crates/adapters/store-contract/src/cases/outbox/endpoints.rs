use std::sync::Arc;

use dropin_access::SealedSecret;
use dropin_ports::{AccountChanged, DeliveryResult, EndpointChange};

use super::Replayed;
use crate::Harness;
use crate::values::{at, audited, new_endpoint};

use DeliveryResult::Acknowledged;
use Replayed::NoEndpoint;

pub async fn both_secrets_sign_while_one_retires(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let new = SealedSecret(vec![1, 2, 3]);
    let change = EndpointChange::Secret { new: new.clone(), old_until: Some(at(200)) };
    assert_eq!(harness.access.change_endpoint(endpoint.id, change, audited()).await, Ok(AccountChanged::Done));
    let first = harness.claim(at(199)).await.remove(0);
    assert_eq!(first.secrets, [new.clone(), endpoint.secret], "the new one first");
    let second = harness.finish(first.key, Acknowledged, at(200)).await.remove(0);
    assert_eq!(second.secrets, [new], "the old one has ended");
}

pub async fn an_endpoint_that_moves_takes_along_what_waits(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let moved = "https://elsewhere.example/hook".to_owned();
    let change = EndpointChange::Url(moved.clone());
    assert_eq!(harness.access.change_endpoint(endpoint.id, change, audited()).await, Ok(AccountChanged::Done));
    let claimed = harness.claim(at(100)).await;
    assert_eq!(claimed.iter().map(|one| &one.url).collect::<Vec<_>>(), [&moved]);
}

pub async fn what_waits_for_a_removed_endpoint_is_parked(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let other = new_endpoint(merchant.id);
    for _ in 0..3 {
        harness.authorized(merchant.id).await;
    }
    let claimed = harness.claim(at(100)).await;
    assert_eq!(claimed.len(), 3);
    assert_eq!(harness.outbox.park_removed(endpoint.id, at(101), 10).await, Ok((0, false)), "it was not removed");
    harness.access.insert_endpoint(other.clone(), audited()).await.unwrap();
    let removed = EndpointChange::Removed(at(101));
    assert_eq!(harness.access.change_endpoint(endpoint.id, removed, audited()).await, Ok(AccountChanged::Done));
    // Two notifications of each payment, in steps of two payments.
    assert_eq!(harness.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((4, true)));
    assert_eq!(harness.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((2, false)));
    assert_eq!(harness.outbox.park_removed(endpoint.id, at(102), 2).await, Ok((0, false)));
    assert_eq!(harness.finish(claimed[0].key, Acknowledged, at(103)).await, vec![], "a late result changes nothing");
    assert_eq!(harness.claim(at(9_999)).await, vec![]);
    let parked = harness.list_parked(10).await;
    let mut attempts: Vec<_> = parked.iter().map(|one| one.attempts).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [0, 0, 0, 1, 1, 1], "as often as each was tried");
    let event = parked[0].event_id;
    let replay = async |to| harness.replay_parked(event, endpoint.id, to, at(10_000)).await;
    let (stranger, strangers) = harness.merchant().await;
    assert_ne!(stranger.id, merchant.id);
    assert_eq!((replay(endpoint.id).await, replay(strangers.id).await), (NoEndpoint, NoEndpoint));
    assert_eq!(replay(other.id).await, Replayed::Done);
    let again = harness.claim(at(10_000)).await;
    assert_eq!(again.iter().map(|one| (one.event_id, one.endpoint_id)).collect::<Vec<_>>(), [(event, other.id)]);
}

pub async fn a_removed_endpoint_is_told_nothing_new(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(1)), audited()).await.unwrap();
    harness.authorized(merchant.id).await;
    assert_eq!(harness.count("outbox_event", "1 = 1"), 2, "events exist all the same");
    assert_eq!(harness.count("outbox_stream", "1 = 1"), 0);
}

pub async fn what_was_queued_while_its_endpoint_was_removed_is_parked_by_the_claim(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    // The removal ran while the event was being written and saw nothing of it.
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(1)), audited()).await.unwrap();
    assert_eq!(harness.claim(at(100)).await, vec![]);
    let parked = harness.list_parked(10).await;
    assert_eq!(parked.iter().map(|one| one.attempts).collect::<Vec<_>>(), [0, 0], "never tried");
    assert_eq!(harness.next_due().await, None);
}

pub async fn a_notification_says_what_kind_of_account_it_is_of(harness: Arc<Harness>) {
    let ((trying, _), (earnest, _)) = (harness.merchant().await, harness.merchant().await);
    harness.raw.execute(&format!("UPDATE merchant SET sandbox = FALSE WHERE id = '{}'", earnest.id)).unwrap();
    harness.authorized(trying.id).await;
    harness.authorized(earnest.id).await;
    for first in harness.claim(at(100)).await {
        let second = harness.finish(first.key, Acknowledged, at(101)).await.remove(0);
        let expected = first.merchant_id == trying.id;
        assert_eq!((first.sandbox, second.sandbox), (expected, expected));
    }
}
