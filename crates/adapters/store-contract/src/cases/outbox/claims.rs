use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_ports::{Delivery, DeliveryKey, DeliveryResult};

use super::{another_endpoint, finish_all, keys, sequences};
use crate::Harness;
use crate::harness::{capture, outcome};
use crate::values::{at, event, fresh, new_endpoint, new_merchant, seconds};

use DeliveryResult::{Acknowledged, Held, Retry};

pub async fn a_stream_is_claimed_by_one(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    for _ in 0..24 {
        harness.authorized(merchant.id).await;
    }
    let claim = |_| {
        let harness = harness.clone();
        tokio::spawn(async move {
            let mut mine = vec![];
            loop {
                let claimed = harness.outbox.claim_deliveries(&[], at(100), at(115), 3, 3).await.unwrap().deliveries;
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed);
            }
        })
    };
    let mut seen = vec![];
    for worker in (0..8).map(claim).collect::<Vec<_>>() {
        seen.extend(worker.await.unwrap());
    }
    seen.extend(harness.claim(at(100)).await);
    assert_eq!(seen.len(), 24, "each once");
    let mut payments: Vec<_> = seen.iter().map(|one| one.payment_id).collect();
    payments.sort();
    payments.dedup();
    assert_eq!(payments.len(), 24);
    for one in seen {
        assert_eq!((one.key.sequence, one.key.attempt, one.first_try), (1, 1, at(100)));
        assert_eq!((one.merchant_id, one.endpoint_id), (merchant.id, endpoint.id));
        assert_eq!((&one.url, &one.secrets), (&endpoint.url, &vec![endpoint.secret.clone()]));
        assert_eq!(one.event_type, "SESSION_COMPLETED");
    }
}

pub async fn a_lease_that_ends_is_claimed_again(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    assert_eq!(harness.claim(at(19)).await, vec![], "the change is of second 20");
    let first = harness.claim(at(100)).await;
    assert_eq!(harness.claim(at(114)).await, vec![]);
    assert_eq!(harness.next_due().await, Some(at(115)));
    let second = harness.claim(at(115)).await;
    let key = DeliveryKey { attempt: 2, ..first[0].key };
    let expected = Delivery { key, uncounted: 1, lease_expired: true, ..first[0].clone() };
    assert_eq!(second, [expected], "the same event again, first tried at second 100");
}

pub async fn every_endpoint_gets_its_turn(harness: Arc<Harness>) {
    let ((busy, busy_endpoint), (quiet, quiet_endpoint)) = (harness.merchant().await, harness.merchant().await);
    for _ in 0..12 {
        harness.authorized(busy.id).await;
    }
    harness.authorized(quiet.id).await;
    let claimed = harness.outbox.claim_deliveries(&[], at(100), at(115), 3, 100).await.unwrap().deliveries;
    let mut by_endpoint: HashMap<EndpointId, usize> = HashMap::new();
    for one in &claimed {
        *by_endpoint.entry(one.endpoint_id).or_default() += 1;
    }
    assert_eq!(by_endpoint, HashMap::from([(busy_endpoint.id, 3), (quiet_endpoint.id, 1)]));
    // When the limit is short, everybody gets one before anybody gets two.
    harness.authorized(quiet.id).await;
    let claimed = harness.outbox.claim_deliveries(&[], at(100), at(115), 3, 2).await.unwrap().deliveries;
    let mut endpoints: Vec<_> = claimed.iter().map(|one| one.endpoint_id).collect();
    endpoints.sort();
    let mut both = [busy_endpoint.id, quiet_endpoint.id];
    both.sort();
    assert_eq!(endpoints, both);
}

pub async fn full_endpoints_are_passed_over_and_no_try_is_counted(harness: Arc<Harness>) {
    let ((one, first), (other, second)) = (harness.merchant().await, harness.merchant().await);
    for merchant in [one.id, other.id] {
        harness.authorized(merchant).await;
    }
    let claim = async |full: &[EndpointId]| {
        let found = harness.outbox.claim_deliveries(full, at(100), at(115), 8, 8).await.unwrap().deliveries;
        found.into_iter().map(|delivery| (delivery.endpoint_id, delivery.key.attempt)).collect::<Vec<_>>()
    };
    assert_eq!(claim(&[first.id, second.id]).await, []);
    assert_eq!(claim(&[first.id]).await, [(second.id, 1)]);
    assert_eq!(claim(&[]).await, [(first.id, 1)]);
}

pub async fn an_idle_queue_has_no_due_time(harness: Arc<Harness>) {
    assert_eq!(harness.next_due().await, None);
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let payment = harness.authorized(new.merchant.id).await;
    assert_eq!(harness.next_due().await, None, "nobody is to be told");
    // An endpoint that is added later is told what happens from then on.
    let endpoint = new_endpoint(new.merchant.id);
    harness
        .raw
        .execute(&format!(
            "INSERT INTO endpoint (id, merchant_id, url, secret) \
             SELECT '{}', id, 'https://shop.example/later', password FROM (SELECT merchant_id AS id, password FROM api_user) AS one",
            endpoint.id
        ))
        .unwrap();
    let taken = capture(&payment, None, at(50));
    harness.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Pending, at(60));
    settlement.events = vec![event(payment.session.as_ref().unwrap(), "THIRD", at(51))];
    harness.payments.settle(settlement).await.unwrap();
    assert_eq!(harness.next_due().await, Some(at(51)));
    let claimed = harness.claim(at(51)).await;
    assert_eq!((sequences(&claimed), claimed[0].url.as_str()), (vec![3], "https://shop.example/later"));
    assert_eq!(harness.finish(claimed[0].key, Acknowledged, at(51).plus(seconds(1))).await, vec![]);
    assert_eq!(harness.next_due().await, None);
}

pub async fn a_lease_that_ends_spends_no_try(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let told = |one: &Delivery| (one.key.attempt, one.uncounted, one.tries(), one.lease_expired);
    assert_eq!(told(&harness.claim(at(100)).await[0]), (1, 0, 1, false));
    // Whoever held it died twice.
    assert_eq!(told(&harness.claim(at(115)).await[0]), (2, 1, 1, true));
    let third = harness.claim(at(130)).await.remove(0);
    assert_eq!(told(&third), (3, 2, 1, true));
    harness.finish(third.key, Retry { at: at(140) }, at(131)).await;
    let fourth = harness.claim(at(140)).await.remove(0);
    assert_eq!(told(&fourth), (4, 2, 2, false), "a result counts");
    let next = harness.finish(fourth.key, Acknowledged, at(141)).await;
    assert_eq!(told(&next[0]), (1, 0, 1, false), "the next notification begins anew");
    let again = harness.claim(at(156)).await;
    assert_eq!(told(&again[0]), (2, 1, 1, true), "handed out under a lease that ran out too");
}

pub async fn of_a_hundred_endpoints_none_waits_for_another(harness: Arc<Harness>) {
    let (many, first) = harness.merchant().await;
    let mut waiting = vec![first.id];
    for _ in 1..100 {
        waiting.push(another_endpoint(&harness, many.id).await);
    }
    harness.authorized(many.id).await;
    let later: Vec<_> = keys(&harness.claim(at(30)).await).into_iter().map(|key| (key, Held { at: at(90) })).collect();
    finish_all(&harness, &later, at(31)).await;
    // More than a claim takes, and all of it due before the others.
    let (busy, busy_endpoint) = harness.merchant().await;
    harness.authorized(busy.id).await;
    multiply(&harness, busy_endpoint.id, 199, false);
    let mut of_busy = 0;
    for round in 1..=5 {
        let claimed = harness.outbox.claim_deliveries(&[], at(100), at(115), 8, 25).await.unwrap().deliveries;
        for one in claimed {
            let before = waiting.len();
            waiting.retain(|endpoint| *endpoint != one.endpoint_id);
            if waiting.len() == before {
                assert_eq!(one.endpoint_id, busy_endpoint.id, "one notification each");
                of_busy += 1;
            }
        }
        assert_eq!((waiting.len(), of_busy), (100_usize.saturating_sub(24 * round), if round < 5 { round } else { 9 }));
    }
}

pub async fn a_claim_says_where_more_may_be_due(harness: Arc<Harness>) {
    let ((busy, first), (choosy, second), (quiet, third)) =
        (harness.merchant().await, harness.merchant().await, harness.merchant().await);
    for _ in 0..5 {
        harness.authorized(busy.id).await;
        harness.authorized(choosy.id).await;
    }
    harness.authorized(quiet.id).await;
    harness.raw.execute(&format!("UPDATE endpoint SET event_types = 'NOTHING' WHERE id = '{}'", second.id)).unwrap();
    let claim = async |per_endpoint, limit| {
        let mut claimed = harness.outbox.claim_deliveries(&[], at(100), at(115), per_endpoint, limit).await.unwrap();
        let mut endpoints: Vec<_> = claimed.deliveries.iter().map(|one| one.endpoint_id).collect();
        endpoints.sort();
        claimed.more.sort();
        (endpoints, claimed.more)
    };
    let sorted = |mut endpoints: Vec<EndpointId>| {
        endpoints.sort();
        endpoints
    };
    let both = sorted(vec![first.id, second.id]);
    let expected = sorted(vec![first.id, first.id, first.id, third.id]);
    assert_eq!(claim(3, 100).await, (expected, both.clone()), "what was passed over counts as well");
    assert_eq!(claim(3, 3).await, (vec![first.id], both), "one each");
    assert_eq!(claim(3, 100).await, (vec![first.id], vec![]), "one is left of each");
    assert_eq!(claim(3, 100).await, (vec![], vec![]));
}

/// Adds streams to what waits for an endpoint, each a copy of the one it has. Those of a replay are marked as such.
fn multiply(harness: &Harness, endpoint: EndpointId, count: usize, replayed: bool) {
    let number = harness.raw.execute(&format!(
        "WITH RECURSIVE copy (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < {count}) \
        INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at, replayed) \
        SELECT endpoint_id, payment_id, TRUE, next_sequence, next_sequence, 0, due_at, {replayed} FROM outbox_stream, copy \
        WHERE endpoint_id = '{endpoint}' AND NOT detached"
    ));
    assert_eq!(number, Ok(count));
}

pub async fn what_is_asked_for_stands_back_for_what_is_new(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    multiply(&harness, endpoint.id, 60, true);
    let first = harness.outbox.claim_deliveries(&[], at(30), at(45), 1, 1).await.unwrap().deliveries;
    assert_eq!(first.len(), 1);
    // Due when its lease ends, later than what was asked for.
    multiply(&harness, endpoint.id, 9, false);
    let claim = async |now: Timestamp, limit| {
        let claimed = harness.outbox.claim_deliveries(&[], now, now.plus(seconds(15)), limit, limit).await.unwrap();
        let new = "SELECT CAST(id AS TEXT) AS value FROM outbox_stream WHERE NOT replayed";
        let new = harness.raw.values(new);
        let of_new = claimed.deliveries.iter().filter(|one| new.contains(&one.key.stream.to_string())).count();
        assert_eq!(claimed.more, [endpoint.id], "{limit} at {now}");
        (of_new, claimed.deliveries.len() - of_new)
    };
    // The instants of these tests end in a multiple of eight microseconds.
    assert_eq!(claim(at(100), 1).await, (1, 0), "sixty have been due for longer");
    assert_eq!(claim(at(100).plus(Duration::from_micros(7)), 1).await, (0, 1), "but one in eight is theirs");
    assert_eq!(claim(at(100), 8).await, (7, 1), "or an eighth of more");
    assert_eq!(claim(at(100), 16).await, (2, 14), "and what is left");
    assert_eq!(claim(at(100), 16).await, (0, 16));
}

/// Puts an instant into a column that no instant of ours may be; each database spells it in its own way.
fn damage(harness: &Harness, table: &str, column: &str, which: &str) {
    let put = |instant| harness.raw.execute(&format!("UPDATE {table} SET {column} = {instant} WHERE {which}"));
    assert_eq!(put("'20000-01-01 00:00:00+00'").or_else(|_| put("568971820800000000")), Ok(1));
}

pub async fn a_row_that_cannot_be_read_holds_up_no_other(harness: Arc<Harness>) {
    let (merchant, damaged) = harness.merchant().await;
    let sound = another_endpoint(&harness, merchant.id).await;
    harness.authorized(merchant.id).await;
    let (stream, endpoint) = (format!("endpoint_id = '{}'", damaged.id), format!("id = '{}'", damaged.id));
    let endpoints = |deliveries: &[Delivery]| deliveries.iter().map(|one| one.endpoint_id).collect::<Vec<_>>();
    damage(&harness, "outbox_stream", "first_try", &stream);
    let claimed = harness.claim(at(100)).await;
    assert_eq!(endpoints(&claimed), [sound]);
    harness.finish(claimed[0].key, Held { at: at(115) }, at(101)).await;
    assert_eq!(harness.claim(at(114)).await, [], "it is under a lease like all others");
    harness.raw.execute(&format!("UPDATE outbox_stream SET first_try = NULL WHERE {stream}")).unwrap();
    let both = harness.claim(at(115)).await;
    assert_eq!(both.len(), 2);
    // The same in what is handed out next.
    damage(&harness, "endpoint", "previous_secret = secret, previous_until", &endpoint);
    let results: Vec<_> = keys(&both).into_iter().map(|key| (key, Acknowledged)).collect();
    let next = finish_all(&harness, &results, at(116)).await;
    assert_eq!((endpoints(&next.next), next.fenced), (vec![sound], 0));
    harness
        .raw
        .execute(&format!("UPDATE endpoint SET previous_secret = NULL, previous_until = NULL WHERE {endpoint}"))
        .unwrap();
    let mended = harness.claim(at(131)).await;
    let mended: Vec<_> = mended.iter().filter(|one| one.endpoint_id == damaged.id).collect();
    assert_eq!((mended[0].key.sequence, mended[0].tries()), (2, 1), "nothing was lost or spent");
    // It takes its place in the claim: what is behind it is asked for.
    let (merchant, endpoint) = harness.merchant().await;
    for _ in 0..3 {
        harness.authorized(merchant.id).await;
    }
    let streams = format!("SELECT CAST(id AS TEXT) AS value FROM outbox_stream WHERE endpoint_id = '{}'", endpoint.id);
    for id in &harness.raw.values(&streams)[..2] {
        damage(&harness, "outbox_stream", "first_try", &format!("id = {id}"));
    }
    let claimed = harness.outbox.claim_deliveries(&[damaged.id, sound], at(140), at(155), 2, 8).await.unwrap();
    assert!(claimed.deliveries.len() < 2, "{claimed:?}");
    assert_eq!(claimed.more, [endpoint.id]);
}

pub async fn a_probe_takes_what_is_due_longest(harness: Arc<Harness>) {
    let ((one, dead), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let oldest = harness.authorized(one.id).await.order.payment_id();
    harness.claim(at(30)).await;
    let newer = harness.authorized(one.id).await.order.payment_id();
    harness.authorized(other.id).await;
    let probe = async |now| harness.outbox.claim_probe(dead.id, at(now), at(now + 15)).await.unwrap();
    let first = probe(40).await.unwrap();
    assert_eq!((first.payment_id, first.endpoint_id, first.key.attempt), (newer, dead.id, 1));
    assert_eq!(probe(40).await, None, "the other one is under a lease");
    harness.finish(first.key, Held { at: at(60) }, at(41)).await;
    let second = probe(60).await.unwrap();
    assert_eq!(
        (second.payment_id, second.lease_expired),
        (oldest, true),
        "its lease ended before the first is due again"
    );
    harness.finish(second.key, Held { at: at(70) }, at(61)).await;
    let again = probe(70).await.unwrap();
    assert_eq!((again.payment_id, again.key.attempt, again.uncounted, again.tries()), (newer, 2, 1, 1));
    assert_eq!(harness.outbox.claim_probe(EndpointId::new(fresh()), at(100), at(115)).await, Ok(None));
    harness.raw.execute("UPDATE endpoint SET event_types = 'NOTHING'").unwrap();
    assert_eq!(probe(200).await, None, "nothing that is wanted");
}
