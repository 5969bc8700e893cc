use std::sync::Arc;
use std::time::Duration;

use dropin_ports::{AttemptRecord, AttemptResult, Delivery, DeliveryResult};

use crate::Harness;
use crate::values::{at, seconds};

use DeliveryResult::{Acknowledged, Parked, Retry};

fn record(delivery: &Delivery, status: Option<u16>, answer: &[u8]) -> Option<AttemptRecord> {
    Some(AttemptRecord {
        endpoint_id: delivery.endpoint_id,
        event_id: delivery.event_id,
        started_at: at(100).plus(Duration::from_micros(7)),
        took: Duration::from_micros(1_234),
        status,
        why: if status.is_some() { None } else { Some("refused") },
        answer: answer.to_vec(),
    })
}

/// Tries that were kept, as text.
fn kept(harness: &Harness) -> Vec<String> {
    let attempt = "CAST(attempt AS TEXT) || ' ' || CAST(took AS TEXT) || ' ' || coalesce(CAST(status AS TEXT), '-') || ' ' || \
        coalesce(why, '-') || ' ' || coalesce(CAST(length(answer) AS TEXT), '-')";
    harness.raw.values(&format!(
        "SELECT {attempt} AS value FROM outbox_attempt ORDER BY endpoint_id, event_id, attempt, status, why"
    ))
}

pub async fn tries_are_kept(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await.remove(0);
    let tell = async |delivery: &Delivery, result, status, answer: &[u8], now| {
        let told = AttemptResult { key: delivery.key, result, record: record(delivery, status, answer) };
        harness.outbox.finish_deliveries(vec![told], at(now), at(now).plus(seconds(15))).await.unwrap()
    };
    tell(&first, Retry { at: at(110) }, Some(500), &[0, 255, 7], 101).await;
    let second = harness.claim(at(110)).await.remove(0);
    tell(&second, Retry { at: at(130) }, None, b"", 111).await;
    let third = harness.claim(at(130)).await.remove(0);
    let fourth = harness.claim(at(145)).await.remove(0);
    let late = tell(&third, Acknowledged, Some(200), b"ok", 146).await;
    assert_eq!(late.fenced, 1);
    let event = format!("event_id = '{}' AND endpoint_id = '{}'", first.event_id, endpoint.id);
    assert_eq!(harness.count("outbox_attempt", &event), 3);
    let expected = ["1 1234 500 - 3", "2 1234 - refused -", "3 1234 200 - 2"];
    assert_eq!(kept(&harness), expected, "the late one was sent as well, and an answer without a body is none");
    let next = tell(&fourth, Acknowledged, Some(200), b"", 147).await.next;
    tell(&next[0], Parked, Some(410), b"gone", 148).await;
    assert_eq!(harness.count("outbox_attempt", &event), 4);
    assert_eq!(harness.count("outbox_attempt", "attempt = 1 AND status = 410"), 1);
    assert_eq!(harness.claim(at(9_999)).await, vec![]);
}

/// The hour for which a notification may hold back the next ones begins when it was sent, not when it was claimed and given back.
pub async fn what_was_given_back_unsent_has_not_failed(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let claimed = harness.claim(at(100)).await.remove(0);
    harness.finish(claimed.key, DeliveryResult::Held { at: at(9_000) }, at(101)).await;
    let fails = async |now, again| {
        let delivery = harness.claim(at(now)).await.remove(0);
        assert_eq!(delivery.key.sequence, 1, "at {now}");
        let record = record(&delivery, Some(500), b"").map(|record| AttemptRecord { started_at: at(now), ..record });
        let told = AttemptResult { key: delivery.key, result: Retry { at: at(again) }, record };
        harness.outbox.finish_deliveries(vec![told], at(now), at(now)).await.unwrap();
    };
    fails(9_000, 9_005).await;
    assert_eq!(harness.claim(at(9_004)).await, vec![], "the next one waits for it");
    fails(9_005, 11_000).await;
    // The next try lies beyond the hour, which began with the first that was sent.
    fails(11_000, 20_000).await;
    assert_eq!(harness.claim(at(12_599)).await, vec![]);
    let next = harness.claim(at(12_600)).await;
    assert_eq!(next.iter().map(|one| one.key.sequence).collect::<Vec<_>>(), [2]);
}

/// Told again because the answer was lost: the try was made once.
pub async fn a_try_that_is_told_twice_is_kept_once(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let first = harness.claim(at(100)).await.remove(0);
    let told =
        AttemptResult { key: first.key, result: Retry { at: at(110) }, record: record(&first, Some(500), b"no") };
    let tell = async |told: &AttemptResult| {
        let both = vec![told.clone(), told.clone()];
        harness.outbox.finish_deliveries(both, at(101), at(116)).await.unwrap();
        harness.outbox.finish_deliveries(vec![told.clone()], at(102), at(117)).await.unwrap();
    };
    tell(&told).await;
    assert_eq!(kept(&harness), ["1 1234 500 - 2"]);
    // One that began at another time is another one, though a replay counts from one again.
    let later = record(&first, Some(200), b"").map(|record| AttemptRecord { started_at: at(9_000), ..record });
    tell(&AttemptResult { record: later, ..told }).await;
    assert_eq!(kept(&harness), ["1 1234 200 - -", "1 1234 500 - 2"]);
}
