//! What waits for too long at an endpoint that is passed over.

use std::sync::Arc;

use dropin_ports::DeliveryResult;

use super::{another_endpoint, sequences, tell};
use crate::Harness;
use crate::values::at;

use DeliveryResult::{Acknowledged, Held, Retry};

pub async fn what_waits_too_long_is_parked(harness: Arc<Harness>) {
    let (merchant, dead) = harness.merchant().await;
    let other = another_endpoint(&harness, merchant.id).await;
    let payment = harness.authorized(merchant.id).await;
    tell(&harness, &payment, &["THIRD"], at(500)).await;
    let park = async |before, now| harness.outbox.park_overdue(dead.id, at(before), at(now), 10).await.unwrap();
    assert_eq!(park(20, 600).await, 0, "told at second 20, which is not before it");
    assert_eq!(park(21, 19).await, 0, "not even due");
    assert_eq!(park(21, 600).await, 1);
    assert_eq!(park(21, 600).await, 1, "the one behind was told at the same time");
    assert_eq!(park(500, 600).await, 0, "the third was told later");
    let parked = harness.list_parked(10).await;
    let seen: Vec<_> =
        parked.iter().rev().map(|one| (one.endpoint_id, one.event_type.as_str(), one.attempts)).collect();
    assert_eq!(seen, [(dead.id, "SESSION_COMPLETED", 0), (dead.id, "ORDER_AUTHORIZED", 0)], "never tried");
    assert!(parked.iter().all(|one| one.parked_at == at(600)));
    let claimed = harness.claim(at(600)).await;
    let mut left: Vec<_> =
        claimed.iter().map(|one| (one.endpoint_id == other, one.key.sequence, one.tries())).collect();
    left.sort_unstable();
    assert_eq!(left, [(false, 3, 1), (true, 1, 1)], "the payment goes on, and the other endpoint has lost nothing");
}

pub async fn waiting_is_counted_from_the_first_try(harness: Arc<Harness>) {
    let (merchant, dead) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let park = async |before, now| harness.outbox.park_overdue(dead.id, at(before), at(now), 10).await.unwrap();
    let first = harness.claim(at(100)).await.remove(0);
    assert_eq!(
        park(200, 115).await,
        0,
        "it is under a lease, or was when somebody died: it is looked at when it is claimed"
    );
    harness.finish(first.key, Retry { at: at(130) }, at(101)).await;
    assert_eq!(park(200, 129).await, 0, "not due yet");
    let probe = harness.outbox.claim_probe(dead.id, at(130), at(145)).await.unwrap().unwrap();
    harness.finish(probe.key, Held { at: at(150) }, at(131)).await;
    assert_eq!(park(100, 300).await, 0, "first tried at second 100");
    assert_eq!(park(101, 300).await, 1);
    let parked = harness.list_parked(10).await;
    assert_eq!(parked.iter().map(|one| one.attempts).collect::<Vec<_>>(), [1], "the look did not count");
    assert_eq!(sequences(&harness.claim(at(300)).await), [2]);
}

pub async fn what_is_overdue_is_parked_in_steps(harness: Arc<Harness>) {
    let (merchant, dead) = harness.merchant().await;
    for _ in 0..5 {
        harness.authorized(merchant.id).await;
    }
    let leased = harness.outbox.claim_probe(dead.id, at(100), at(9_999)).await.unwrap().unwrap();
    let park = async || harness.outbox.park_overdue(dead.id, at(1_000), at(1_001), 3).await.unwrap();
    let mut parked = vec![];
    while parked.last() != Some(&0) {
        parked.push(park().await);
    }
    assert_eq!(parked, [3, 3, 2, 0], "two of each payment but the one that somebody holds");
    assert_eq!(sequences(&harness.finish(leased.key, Acknowledged, at(1_002)).await), [2]);
    assert_eq!(harness.count("outbox_parked", "1 = 1"), 8);
}
