//! How the endpoints of a merchant stand, for people.

use std::sync::Arc;

use dropin_kernel::{EndpointId, MerchantId};
use dropin_ports::{
    AttemptRecord, AttemptResult, DeliveryResult, EndpointChange, EndpointStatus, LastAttempt, STATUS_COUNT_LIMIT,
};

use crate::Harness;
use crate::values::{at, audited, new_endpoint, seconds};

fn idle(endpoint_id: EndpointId) -> EndpointStatus {
    EndpointStatus { endpoint_id, waiting: 0, oldest_due: None, parked: 0, last_attempt: None }
}

async fn statuses(harness: &Harness, merchant: MerchantId) -> Vec<EndpointStatus> {
    harness.backlog.endpoint_statuses(merchant).await.unwrap()
}

pub async fn endpoints_have_the_status_of_their_queues(harness: Arc<Harness>) {
    let ((merchant, endpoint), (other, _)) = (harness.merchant().await, harness.merchant().await);
    assert_eq!(statuses(&harness, merchant.id).await, [idle(endpoint.id)]);
    let sister = new_endpoint(merchant.id);
    harness.access.insert_endpoint(sister.clone(), audited()).await.unwrap();
    for of in [merchant.id, merchant.id, other.id] {
        harness.authorized(of).await;
    }
    let foreign = other.id;
    let mut ids = [endpoint.id, sister.id];
    ids.sort_unstable();
    let queued = |id| EndpointStatus { waiting: 2, oldest_due: Some(at(20)), ..idle(id) };
    assert_eq!(statuses(&harness, merchant.id).await, ids.map(queued), "nothing was tried");
    let claimed = harness.claim(at(100)).await;
    let of = |id| claimed.iter().filter(move |one| one.endpoint_id == id);
    let retried = of(endpoint.id).next().unwrap();
    for (one, result, started, status) in [
        (retried, DeliveryResult::Retry { at: at(300) }, 102, 503),
        (of(endpoint.id).next_back().unwrap(), DeliveryResult::Parked, 105, 410),
        (
            of(sister.id).find(|one| one.event_id == retried.event_id).unwrap(),
            DeliveryResult::Retry { at: at(200) },
            107,
            500,
        ),
    ] {
        let record = AttemptRecord {
            endpoint_id: one.endpoint_id,
            event_id: one.event_id,
            started_at: at(started),
            took: seconds(1),
            status: Some(status),
            why: None,
            answer: vec![],
        };
        let told = AttemptResult { key: one.key, result, record: Some(record) };
        harness.outbox.finish_deliveries(vec![told], at(110), at(125)).await.unwrap();
    }
    let tried = |started, status| Some(LastAttempt { started_at: at(started), status: Some(status), why: None });
    // Behind what was parked the next is under way; what was parked does not wait, so its try says nothing about what does.
    let own =
        EndpointStatus { oldest_due: Some(at(125)), parked: 1, last_attempt: tried(102, 503), ..queued(endpoint.id) };
    let other = EndpointStatus { oldest_due: Some(at(115)), last_attempt: tried(107, 500), ..queued(sister.id) };
    let mut both = [own, other.clone()];
    both.sort_by_key(|one| one.endpoint_id);
    assert_eq!(statuses(&harness, merchant.id).await, both);
    let troubles = async |merchants| {
        let found = harness.back_office.count_delivery_troubles(merchants).await.unwrap();
        (found.parked, found.failing_endpoints)
    };
    assert_eq!(troubles(None).await, (1, 2), "of the other merchant a first try is under way, which has not failed");
    assert_eq!(troubles(Some(vec![merchant.id, foreign])).await, (1, 2));
    assert_eq!((troubles(Some(vec![foreign])).await, troubles(Some(vec![])).await), ((0, 0), (0, 0)));
    harness.access.change_endpoint(endpoint.id, EndpointChange::Removed(at(200)), audited()).await.unwrap();
    assert_eq!(statuses(&harness, merchant.id).await, [other]);
    assert_eq!(troubles(None).await, (0, 1), "what waits for a removed endpoint waits for nobody");
}

pub async fn a_long_queue_is_counted_so_far_only(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    let many = format!(
        "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {STATUS_COUNT_LIMIT}) \
         SELECT endpoint_id, payment_id, TRUE, 1, 1, 0, due_at FROM outbox_stream CROSS JOIN n"
    );
    assert_eq!(harness.raw.execute(&many), Ok(STATUS_COUNT_LIMIT as usize));
    assert_eq!(harness.count("outbox_stream", "next_sequence <= last_sequence"), 1 + STATUS_COUNT_LIMIT as usize);
    assert_eq!(statuses(&harness, merchant.id).await[0].waiting, STATUS_COUNT_LIMIT);
}
