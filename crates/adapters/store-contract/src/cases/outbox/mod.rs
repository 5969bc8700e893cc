//! The queue of notifications.

mod claims;
mod endpoints;
mod overdue;
mod parked;
mod records;
mod results;
mod wanted;
mod workers;

pub use claims::*;
pub use endpoints::*;
pub use overdue::*;
pub use parked::*;
pub use records::*;
pub use results::*;
pub use wanted::*;
pub use workers::*;

use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_order::OpState;
use dropin_ports::{
    AttemptResult, Delivery, DeliveryKey, DeliveryResult, DeliveryState, FinishedDeliveries, NotificationFilter,
    NotificationQuery, Payment, ReplayCounts, ReplayItem, ReplayRequest,
};

use crate::Harness;
use crate::harness::{capture, outcome};
use crate::values::{audited, event, fresh, new_endpoint, seconds};

fn keys(deliveries: &[Delivery]) -> Vec<DeliveryKey> {
    deliveries.iter().map(|one| one.key).collect()
}

fn sequences(deliveries: &[Delivery]) -> Vec<i64> {
    deliveries.iter().map(|one| one.key.sequence).collect()
}

/// One more endpoint of a merchant.
async fn another_endpoint(harness: &Harness, merchant: MerchantId) -> EndpointId {
    let new = new_endpoint(merchant);
    harness.access.insert_endpoint(new.clone(), audited()).await.unwrap();
    new.id
}

/// Tells events of those types of an authorized payment, once per payment.
async fn tell(harness: &Harness, payment: &Payment, types: &[&'static str], now: Timestamp) {
    let taken = capture(payment, None, now);
    harness.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, OpState::Pending, now);
    settlement.events = types.iter().map(|name| event(payment.session.as_ref().unwrap(), name, now)).collect();
    harness.payments.settle(settlement).await.unwrap();
}

/// Writes what came of tries under leases of 15 s.
async fn finish_all(
    harness: &Harness,
    results: &[(DeliveryKey, DeliveryResult)],
    now: Timestamp,
) -> FinishedDeliveries {
    let results = results.iter().map(|(key, result)| AttemptResult::new(*key, *result)).collect();
    harness.outbox.finish_deliveries(results, now, now.plus(seconds(15))).await.unwrap()
}

/// A notification that was given up, as it is listed.
#[derive(Debug, PartialEq, Eq)]
struct ParkedEvent {
    merchant_id: MerchantId,
    endpoint_id: EndpointId,
    payment_id: PaymentId,
    event_id: EventId,
    event_type: String,
    attempts: u32,
    parked_at: Timestamp,
}

/// What came of asking for one that should be parked.
#[derive(Debug, PartialEq, Eq)]
enum Replayed {
    Done,
    NotParked,
    NoEndpoint,
}

impl Harness {
    /// What is parked, what was parked last first.
    async fn list_parked(&self, limit: usize) -> Vec<ParkedEvent> {
        let filter = NotificationFilter { state: Some(DeliveryState::Parked), ..Default::default() };
        let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 1_000 };
        let listed = self.notifications.list_notifications(query).await.unwrap().notifications;
        let mut parked: Vec<_> = listed
            .iter()
            .flat_map(|one| {
                one.statuses.iter().map(|status| ParkedEvent {
                    merchant_id: one.merchant_id,
                    endpoint_id: status.endpoint_id,
                    payment_id: one.payment_id,
                    event_id: one.event_id,
                    event_type: one.event_type.clone(),
                    attempts: status.tries,
                    parked_at: status.parked_at.unwrap(),
                })
            })
            .collect();
        let order = self.raw.values(
            "SELECT CAST(event_id AS TEXT) || ' ' || CAST(endpoint_id AS TEXT) AS value FROM outbox_parked ORDER BY position DESC",
        );
        let place = |one: &ParkedEvent| {
            let name = format!("{} {}", one.event_id, one.endpoint_id);
            order.iter().position(|placed| *placed == name)
        };
        parked.sort_by_key(place);
        parked.truncate(limit);
        parked
    }

    /// Asks for one that is parked at `from` to be sent to `to`.
    async fn replay_parked(&self, event: EventId, from: EndpointId, to: EndpointId, now: Timestamp) -> Replayed {
        let items = vec![ReplayItem { event, from, state: Some(DeliveryState::Parked) }];
        let asked = ReplayRequest {
            id: fresh(),
            by: "ada".to_owned(),
            wanted: "one".to_owned(),
            gap: None,
            dry_run: false,
            audit: audited(),
        };
        match self.notifications.replay(to, items, asked, now).await.unwrap() {
            ReplayCounts { queued: 1, .. } => Replayed::Done,
            ReplayCounts { refused: 1, .. } => Replayed::NoEndpoint,
            _ => Replayed::NotParked,
        }
    }
}
