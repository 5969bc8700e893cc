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

use dropin_kernel::{EndpointId, MerchantId, Timestamp};
use dropin_order::OpState;
use dropin_ports::{Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries, FinishedTry, Payment};

use crate::Bench;
use crate::bench::{capture, outcome};
use crate::values::{event, new_endpoint, seconds};

fn keys(deliveries: &[Delivery]) -> Vec<DeliveryKey> {
    deliveries.iter().map(|one| one.key).collect()
}

fn sequences(deliveries: &[Delivery]) -> Vec<i64> {
    deliveries.iter().map(|one| one.key.sequence).collect()
}

/// One more endpoint of a merchant.
async fn another_endpoint(bench: &Bench, merchant: MerchantId) -> EndpointId {
    let new = new_endpoint(merchant);
    bench.access.insert_endpoint(new.clone()).await.unwrap();
    new.id
}

/// Tells events of those types of an authorized payment, once per payment.
async fn tell(bench: &Bench, payment: &Payment, types: &[&'static str], now: Timestamp) {
    let taken = capture(payment, None, now);
    bench.ask(&taken).await.unwrap();
    let mut settlement = outcome(taken.operation.id, OpState::Pending, now);
    settlement.events = types.iter().map(|name| event(payment.session.as_ref().unwrap(), name, now)).collect();
    bench.payments.settle(settlement).await.unwrap();
}

/// Writes what came of tries under leases of 15 s.
async fn finish_all(bench: &Bench, results: &[(DeliveryKey, DeliveryResult)], now: Timestamp) -> FinishedDeliveries {
    let results = results.iter().map(|(key, result)| FinishedTry::new(*key, *result)).collect();
    bench.outbox.finish_deliveries(results, now, now.plus(seconds(15))).await.unwrap()
}
