//! Several who tell and several who deliver, at the same time and on the same payments.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dropin_kernel::{EndpointId, EventId, OpId, PaymentId};
use dropin_order::OpState;
use dropin_ports::{AttemptResult, Delivery, DeliveryResult, Payment};
use tokio::task::JoinHandle;

use super::another_endpoint;
use crate::Harness;
use crate::harness::{capture, outcome};
use crate::values::{at, event};

use DeliveryResult::{Acknowledged, Held, Retry};

const PAYMENTS: usize = 4;
const WRITERS: usize = 8;
const WORKERS: usize = 4;
/// Times that each writer tells something.
const ROUNDS: usize = 6;
const ENDPOINTS: usize = 2;

/// What everybody shares: a clock that each claim moves on by a second, so that leases end, and what was sent.
struct Scene {
    harness: Arc<Harness>,
    second: AtomicU64,
    writing: AtomicUsize,
    /// How far each payment has come at each endpoint.
    sent: Mutex<HashMap<(EndpointId, PaymentId), Sent>>,
}

#[derive(Default)]
struct Sent {
    events: Vec<EventId>,
    /// Sequences that were acknowledged.
    acknowledged: i64,
}

impl Scene {
    /// Notes that it is sent. What is sent for the first time must follow what was acknowledged.
    fn send(&self, one: &Delivery) {
        let mut sent = self.sent.lock().unwrap();
        let so_far = sent.entry((one.endpoint_id, one.payment_id)).or_default();
        let place = usize::try_from(one.key.sequence - 1).unwrap();
        match so_far.events.get(place) {
            Some(before) => assert_eq!(*before, one.event_id, "the same notification again"),
            None => {
                assert_eq!(
                    (place, so_far.acknowledged),
                    (so_far.events.len(), one.key.sequence - 1),
                    "in order, no gap"
                );
                so_far.events.push(one.event_id);
            }
        }
    }

    fn acknowledge(&self, one: &Delivery) {
        let mut sent = self.sent.lock().unwrap();
        let so_far = sent.get_mut(&(one.endpoint_id, one.payment_id)).unwrap();
        so_far.acknowledged = so_far.acknowledged.max(one.key.sequence);
    }

    /// Tells of the payments, whoever else does so just now.
    fn write(self: Arc<Self>, number: usize, open: Vec<(Payment, OpId)>) -> JoinHandle<()> {
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let (payment, operation) = &open[(number + round) % open.len()];
                let mut settlement = outcome(*operation, OpState::Pending, at(30));
                settlement.events = vec![event(payment.session.as_ref().unwrap(), "AGAIN", at(30))];
                self.harness.payments.settle(settlement).await.unwrap();
            }
            self.writing.fetch_sub(1, Ordering::SeqCst);
        })
    }

    /// Delivers until nothing is left: some die with what they claimed, some are told to come again.
    fn deliver(self: Arc<Self>, number: usize) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut turn = number;
            loop {
                let now = self.second.fetch_add(1, Ordering::SeqCst);
                let lease_until = at(now + 15);
                let nobody_writes = self.writing.load(Ordering::SeqCst) == 0;
                let mut batch =
                    self.harness.outbox.claim_deliveries(&[], at(now), lease_until, 3, 5).await.unwrap().deliveries;
                if batch.is_empty() && nobody_writes && self.harness.next_due().await.is_none() {
                    return;
                }
                while !batch.is_empty() {
                    batch.iter().for_each(|one| self.send(one));
                    turn += 1;
                    if turn.is_multiple_of(7) {
                        break;
                    }
                    let result = |(place, one): (usize, &Delivery)| match (turn + place) % 5 {
                        0 => Retry { at: at(now + 2) },
                        1 => Held { at: at(now + 1) },
                        _ => {
                            self.acknowledge(one);
                            Acknowledged
                        }
                    };
                    let results = batch.iter().enumerate().map(|one| (one.1.key, result(one)));
                    let results = results.map(|(key, result)| AttemptResult::new(key, result)).collect();
                    batch = self.harness.outbox.finish_deliveries(results, at(now), lease_until).await.unwrap().next;
                }
            }
        })
    }
}

pub async fn workers_and_writers_lose_nothing_and_turn_nothing_round(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for _ in 1..ENDPOINTS {
        another_endpoint(&harness, merchant.id).await;
    }
    let mut open = vec![];
    for _ in 0..PAYMENTS {
        let payment = harness.authorized(merchant.id).await;
        let taken = capture(&payment, None, at(21));
        harness.ask(&taken).await.unwrap();
        open.push((payment, taken.operation.id));
    }
    let scene = Arc::new(Scene {
        harness,
        second: AtomicU64::new(100),
        writing: AtomicUsize::new(WRITERS),
        sent: Mutex::default(),
    });
    let writers: Vec<_> = (0..WRITERS).map(|number| scene.clone().write(number, open.clone())).collect();
    let workers: Vec<_> = (0..WORKERS).map(|number| scene.clone().deliver(number)).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let sent = scene.sent.lock().unwrap();
    assert_eq!(sent.len(), PAYMENTS * ENDPOINTS);
    let events: usize = sent.values().map(|one| one.events.len()).sum();
    assert_eq!(events, (2 * PAYMENTS + WRITERS * ROUNDS) * ENDPOINTS, "all of them");
    assert!(sent.values().all(|one| one.acknowledged == one.events.len() as i64));
    assert_eq!(scene.harness.count("outbox_parked", "1 = 1"), 0);
}
