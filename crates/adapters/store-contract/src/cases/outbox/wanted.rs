//! Events that their endpoint does not want: the store passes over them by itself.

use std::sync::Arc;

use dropin_kernel::EndpointId;
use dropin_ports::{Delivery, DeliveryResult};

use super::{another_endpoint, sequences, tell};
use crate::Harness;
use crate::values::at;

use DeliveryResult::{Acknowledged, Held};

/// Sets what an endpoint is told of; `NULL` for everything.
fn wants(harness: &Harness, endpoint: EndpointId, filter: &str) {
    let filter = if filter == "NULL" { filter.to_owned() } else { format!("'{filter}'") };
    harness.raw.execute(&format!("UPDATE endpoint SET event_types = {filter} WHERE id = '{endpoint}'")).unwrap();
}

fn types(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|one| one.event_type.as_str()).collect()
}

pub async fn unwanted_events_are_passed_over(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let everything = another_endpoint(&harness, merchant.id).await;
    wants(&harness, endpoint.id, "ORDER_*,LAST");
    let payment = harness.authorized(merchant.id).await;
    tell(&harness, &payment, &["SOME", "OTHER", "LAST", "SOME"], at(50)).await;
    let claimed = harness.claim(at(100)).await;
    let (all, some): (Vec<_>, Vec<_>) = claimed.into_iter().partition(|one| one.endpoint_id == everything);
    assert_eq!((types(&all), types(&some)), (vec!["SESSION_COMPLETED"], vec!["ORDER_AUTHORIZED"]));
    assert_eq!((some[0].key.sequence, some[0].key.attempt, some[0].first_try), (2, 1, at(100)));
    assert_eq!(harness.claim(at(100)).await, vec![], "under a lease like all others");
    let next = harness.finish(some[0].key, Acknowledged, at(101)).await;
    assert_eq!((types(&next), next[0].key.sequence, next[0].first_try), (vec!["LAST"], 5, at(101)));
    assert_eq!(harness.finish(next[0].key, Acknowledged, at(102)).await, vec![]);
    let idle = format!("endpoint_id = '{}' AND next_sequence = 7 AND attempt = 0", endpoint.id);
    assert_eq!(harness.count("outbox_stream", &idle), 1, "the last one was not wanted either");
    assert_eq!(harness.count("outbox_attempt", "1 = 1"), 0, "nothing was tried");
    assert_eq!(harness.count("outbox_parked", "1 = 1"), 0);
}

pub async fn where_nothing_is_wanted_the_payment_is_idle(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    wants(&harness, endpoint.id, "NOTHING_LIKE_IT");
    let payments = [harness.authorized(merchant.id).await, harness.authorized(merchant.id).await];
    assert_eq!(harness.claim(at(100)).await, vec![]);
    assert_eq!(harness.next_due().await, None);
    wants(&harness, endpoint.id, "NULL");
    tell(&harness, &payments[0], &["THIRD"], at(101)).await;
    let claimed = harness.claim(at(101)).await;
    assert_eq!(
        (sequences(&claimed), types(&claimed)),
        (vec![3], vec!["THIRD"]),
        "what was passed over does not come back"
    );
    assert!(!claimed[0].lease_expired);
}

pub async fn the_filter_of_the_moment_counts(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    wants(&harness, endpoint.id, "NOTHING");
    let payment = harness.authorized(merchant.id).await;
    tell(&harness, &payment, &["THIRD"], at(50)).await;
    // Widened while they wait: all of them come after all.
    wants(&harness, endpoint.id, "SESSION_*,ORDER_*,THIRD");
    let first = harness.claim(at(100)).await;
    assert_eq!(types(&first), ["SESSION_COMPLETED"]);
    // Narrowed while one is under way.
    wants(&harness, endpoint.id, "THIRD");
    let third = harness.finish(first[0].key, Acknowledged, at(101)).await;
    assert_eq!((types(&third), third[0].key.sequence), (vec!["THIRD"], 3));
    // And while one that is wanted waits to be tried again.
    harness.finish(third[0].key, Held { at: at(110) }, at(102)).await;
    wants(&harness, endpoint.id, "FOURTH");
    assert_eq!(harness.claim(at(110)).await, vec![]);
    assert_eq!(harness.next_due().await, None);
}

pub async fn a_long_row_of_unwanted_events_is_passed_over_at_once(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    wants(&harness, endpoint.id, "WANTED");
    let (one, other) = (harness.authorized(merchant.id).await, harness.authorized(merchant.id).await);
    let mut types = vec!["UNWANTED"; 3_000];
    types.push("WANTED");
    for payment in [&one, &other] {
        tell(&harness, payment, &types, at(50)).await;
    }
    let claimed = harness.claim(at(100)).await;
    assert_eq!(sequences(&claimed), [3_003, 3_003]);
}

pub async fn damage_of_one_endpoint_holds_up_no_other(harness: Arc<Harness>) {
    for column in ["event_types", "retry"] {
        let (merchant, damaged) = harness.merchant().await;
        let sound = another_endpoint(&harness, merchant.id).await;
        harness.authorized(merchant.id).await;
        harness.raw.execute(&format!("UPDATE endpoint SET {column} = 'hush' WHERE id = '{}'", damaged.id)).unwrap();
        let claimed = harness.claim(at(100)).await;
        assert_eq!(claimed.iter().map(|one| one.endpoint_id).collect::<Vec<_>>(), [sound], "{column}");
        let next = harness.finish(claimed[0].key, Acknowledged, at(101)).await;
        harness.finish(next[0].key, Acknowledged, at(102)).await;
        assert_eq!(harness.claim(at(114)).await, vec![], "it keeps its lease");
        harness.raw.execute(&format!("UPDATE endpoint SET {column} = NULL WHERE id = '{}'", damaged.id)).unwrap();
        let mended = harness.claim(at(115)).await.remove(0);
        assert_eq!(
            (mended.endpoint_id, mended.key.sequence, mended.tries()),
            (damaged.id, 1, 1),
            "nothing was lost or spent"
        );
        let next = harness.finish(mended.key, Acknowledged, at(116)).await;
        harness.finish(next[0].key, Acknowledged, at(117)).await;
    }
}

pub async fn an_endpoint_has_its_own_schedule(harness: Arc<Harness>) {
    let (merchant, endpoint) = harness.merchant().await;
    let standard = another_endpoint(&harness, merchant.id).await;
    harness.authorized(merchant.id).await;
    harness.raw.execute(&format!("UPDATE endpoint SET retry = '1s,2m;1h' WHERE id = '{}'", endpoint.id)).unwrap();
    for one in harness.claim(at(100)).await {
        let expected = if one.endpoint_id == standard { None } else { Some("1s,2m;1h".parse().unwrap()) };
        assert_eq!((one.retry, one.happened_at), (expected, at(20)));
    }
}
