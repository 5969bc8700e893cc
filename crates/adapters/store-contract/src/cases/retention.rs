use std::sync::Arc;

use dropin_kernel::Timestamp;
use dropin_order::OpState;
use dropin_ports::{DeliveryResult, DeliveryState, EventsPurged, NotificationFilter, ReplayItem};

use super::notifications::{asked, deliver_all, events, finish, ids, queued, replay, sent, states, status, told};
use crate::Harness;
use crate::harness::outcome;
use crate::values::{at, event, seconds};

use DeliveryResult::{Acknowledged, Parked};
use DeliveryState::Delivered;

pub async fn old_tries_are_deleted_by_age(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    for _ in 0..4 {
        told(&harness, merchant.id, 2).await;
    }
    let all = ids(&harness, NotificationFilter::default()).await;
    for (count, one) in harness.claim(at(100)).await.into_iter().enumerate() {
        finish(&harness, &one, Acknowledged, Some(200), at(101 + count as u64)).await;
    }
    assert_eq!(harness.notifications.count_attempts(at(103)).await, Ok(2));
    assert_eq!(harness.notifications.purge_attempts(at(101), 10).await, Ok(0), "before then, not then");
    assert_eq!(harness.notifications.purge_attempts(at(104), 2).await, Ok(2), "two of three");
    assert_eq!(harness.count("outbox_attempt", "1 = 1"), 2);
    assert_eq!(harness.notifications.purge_attempts(at(104), 2).await, Ok(1));
    assert_eq!(harness.notifications.purge_attempts(at(9_999), 10).await, Ok(1));
    assert_eq!(harness.notifications.count_attempts(at(9_999)).await, Ok(0));
    // What was passed is known to have arrived all the same.
    let first = status(&harness, all[0], endpoint.id).await.unwrap();
    assert_eq!((first.state, first.tries, first.delivered_at), (Delivered, 0, None));
}

/// Deletes all it can of what happened before then; how much.
pub(super) async fn purge(harness: &Harness, until: Timestamp, look_at: u32) -> (u32, u32) {
    let (mut total, mut after) = ((0, 0), None);
    for _ in 0..1_000 {
        let dry = harness.notifications.count_events(until, None, after, look_at).await.unwrap();
        let done = harness.notifications.purge_events(until, after, look_at).await.unwrap();
        assert_eq!(dry, done, "what was foretold");
        total = (total.0 + done.events, total.1 + done.tries);
        after = done.next;
        if after.is_none() {
            return total;
        }
    }
    panic!("it never ends");
}

pub async fn old_events_are_deleted_when_they_are_over(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let mut payments = vec![];
    for _ in 0..4 {
        payments.push(told(&harness, merchant.id, 4).await);
    }
    let names: Vec<_> = payments.iter().map(|payment| payment.order.payment_id()).collect();
    let mut all = vec![];
    for name in &names {
        all.push(events(&harness, *name).await);
    }
    // The first payment is over; of the second one event is parked; the third is under way; of the fourth two are replayed.
    for delivery in harness.claim(at(100)).await {
        let payment = names.iter().position(|name| *name == delivery.payment_id).unwrap();
        let first = if payment == 1 { Parked } else { Acknowledged };
        let mut next = finish(&harness, &delivery, first, Some(200), at(101)).await;
        while payment != 2
            && let Some(one) = next.pop()
        {
            next = finish(&harness, &one, Acknowledged, Some(200), at(101)).await;
        }
    }
    replay(&harness, endpoint.id, &all[3][1..3], at(200)).await;
    assert_eq!(purge(&harness, at(20), 3).await, (0, 0), "none is so old");
    assert_eq!(purge(&harness, at(51), 3).await, (5, 5), "with the tries at them");
    let left = [&all[0][2..], &all[1][..1], &all[1][2..], &all[2][1..], &all[3][1..]];
    let left: Vec<Vec<_>> = vec![left[0].to_vec(), [left[1], left[2]].concat(), left[3].to_vec(), left[4].to_vec()];
    for (name, left) in names.iter().zip(&left) {
        assert_eq!(&events(&harness, *name).await, left);
    }
    assert_eq!(purge(&harness, at(9_999), 100).await, (2, 2), "one of the first payment and one of the second");
    assert_eq!(events(&harness, names[0]).await, all[0][3..], "the newest stays");
    // What waited is sent, what was parked can be sent again, and then they may go.
    assert_eq!(replay(&harness, endpoint.id, &all[1][..1], at(201)).await, queued(1));
    assert_eq!(deliver_all(&harness, at(202)).await.len(), 6);
    assert_eq!(purge(&harness, at(9_999), 100).await.0, 5);
    assert_eq!(harness.count("outbox_event", "1 = 1"), 4);
    assert_eq!(purge(&harness, at(9_999), 100).await, (0, 0));
    assert_eq!(harness.notifications.purge_events(at(9_999), None, 0).await, Ok(EventsPurged::default()));
}

pub async fn a_try_that_is_old_and_at_an_old_event_counts_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for second in [100, 200, 300] {
        told(&harness, merchant.id, 2).await;
        deliver_all(&harness, at(second)).await;
    }
    let (tries, events) = (at(150), at(9_999));
    let foretold = harness.notifications.count_attempts(tries).await.unwrap();
    let of_events = harness.notifications.count_events(events, Some(tries), None, 100).await.unwrap();
    assert_eq!((foretold, of_events.events, of_events.tries), (2, 3, 2));
    assert_eq!(harness.notifications.purge_attempts(tries, 100).await, Ok(2));
    assert_eq!(harness.notifications.purge_events(events, None, 100).await, Ok(of_events));
}

pub async fn who_asked_long_ago_is_forgotten(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let payment = told(&harness, merchant.id, 2).await;
    deliver_all(&harness, at(100)).await;
    let all = events(&harness, payment.order.payment_id()).await;
    for second in [200, 300] {
        replay(&harness, endpoint.id, &all[..1], at(second)).await;
        deliver_all(&harness, at(second)).await;
    }
    let item = ReplayItem { event: all[0], from: endpoint.id, state: None };
    let slow = asked(Some(seconds(60)));
    harness.notifications.replay(endpoint.id, vec![item], slow, at(400)).await.unwrap();
    harness.notifications.count_events(at(300), None, None, 10).await.unwrap();
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 3);
    harness.notifications.purge_events(at(300), None, 10).await.unwrap();
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 2, "before then, not then");
    harness.notifications.purge_events(at(460), None, 10).await.unwrap();
    assert_eq!(harness.count("outbox_replay", "1 = 1"), 1, "its last is due later");
}

pub async fn a_payment_goes_on_after_its_events_were_deleted(harness: Arc<Harness>) {
    for has_stream in [true, false] {
        let (merchant, endpoint) = harness.merchant().await;
        let payment = told(&harness, merchant.id, 3).await;
        let name = payment.order.payment_id();
        deliver_all(&harness, at(100)).await;
        purge(&harness, at(9_999), 100).await;
        assert_eq!(events(&harness, name).await.len(), 1);
        if !has_stream {
            harness.raw.execute(&format!("DELETE FROM outbox_stream WHERE payment_id = '{name}'")).unwrap();
        }
        let operation = harness.raw.values(&format!(
            "SELECT CAST(id AS TEXT) AS value FROM processor_op WHERE order_id = '{}' AND kind = 'CAPTURE'",
            payment.order.id
        ));
        let mut settlement = outcome(operation[0].parse().unwrap(), OpState::Pending, at(300));
        settlement.events =
            ["LATE", "LATER"].map(|what| event(payment.session.as_ref().unwrap(), what, at(300))).to_vec();
        harness.payments.settle(settlement).await.unwrap();
        let delivered = deliver_all(&harness, at(300)).await;
        let told: Vec<_> = delivered.iter().map(|one| (one.key.sequence, one.event_type.as_str())).collect();
        assert_eq!(told, [(4, "LATE"), (5, "LATER")], "its stream is there: {has_stream}");
        assert_eq!(states(&harness, &sent(&delivered), endpoint.id).await, [Some(Delivered); 2]);
    }
}

pub async fn of_replays_and_deletions_at_once_no_stream_loses_its_event(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    for _ in 0..24 {
        told(&harness, merchant.id, 3).await;
    }
    deliver_all(&harness, at(100)).await;
    let all = ids(&harness, NotificationFilter::default()).await;
    let deleting = (0..2).map(|_| {
        let harness = harness.clone();
        tokio::spawn(async move {
            let (mut deleted, mut after) = (0, None);
            loop {
                let step = harness.notifications.purge_events(at(9_999), after, 5).await.unwrap();
                deleted += step.events;
                after = step.next;
                if after.is_none() {
                    return deleted;
                }
            }
        })
    });
    let asking = all.chunks(6).map(|events| {
        let (harness, events) = (harness.clone(), events.to_vec());
        tokio::spawn(async move { replay(&harness, endpoint.id, &events, at(200)).await.queued })
    });
    let (deleting, asking): (Vec<_>, Vec<_>) = (deleting.collect(), asking.collect());
    let (mut deleted, mut asked_for) = (0, 0);
    for one in deleting {
        deleted += one.await.unwrap();
    }
    for one in asking {
        asked_for += one.await.unwrap();
    }
    assert_eq!(harness.count("outbox_event", "1 = 1"), all.len() - deleted as usize);
    let missing = "next_sequence <= last_sequence AND NOT EXISTS (SELECT 1 FROM outbox_event AS e \
        WHERE e.payment_id = outbox_stream.payment_id AND e.sequence = outbox_stream.next_sequence)";
    assert_eq!(harness.count("outbox_stream", missing), 0);
    let sent = deliver_all(&harness, at(200)).await.len();
    assert_eq!(sent, asked_for as usize, "all that was promised, {deleted} deleted");
}
