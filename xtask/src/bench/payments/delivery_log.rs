//! The delivery log of the receiver, at which all merchants have their endpoints.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};

use super::Anomalies;
use super::client::PaymentFlow;

/// A notification, as far as it matters here.
#[derive(Debug)]
pub(super) struct ReceivedNotification<'a> {
    pub(super) event: &'a str,
    pub(super) sequence: &'a str,
    pub(super) reference: &'a str,
    pub(super) order: &'a str,
}

/// The notifications of one payment so far.
#[derive(Debug, Default)]
struct Known {
    /// So many of its notifications, in their order.
    received: usize,
    order: String,
}

/// The notifications of one run.
#[derive(Debug, Default)]
pub(super) struct DeliveryLog {
    flow: PaymentFlow,
    known: Mutex<HashMap<String, Known>>,
    /// One for each client: the number of its payment that is done.
    completions: Vec<Sender<u64>>,
    again: AtomicU64,
    disordered: AtomicU64,
    forged: AtomicU64,
    strange: AtomicU64,
}

/// The reference of a client's payment.
pub(super) fn reference(run: &str, client: usize, number: u64) -> String {
    format!("{run}.{client}.{number}")
}

/// Client and number of a reference.
fn read_reference(reference: &str) -> Option<(usize, u64)> {
    let mut parts = reference.rsplit('.');
    let number = parts.next()?.parse().ok()?;
    Some((parts.next()?.parse().ok()?, number))
}

impl DeliveryLog {
    pub(super) fn new(flow: PaymentFlow, completions: Vec<Sender<u64>>) -> Self {
        Self { flow, completions, ..Self::default() }
    }

    /// Records a notification, and sends its client the number of the payment when it was the last one.
    pub(super) fn record(&self, received: &ReceivedNotification<'_>) {
        let events = self.flow.events();
        let index = events.iter().position(|event| *event == received.event);
        let (Some(index), Some((client, number))) = (index, read_reference(received.reference)) else {
            return count(&self.strange);
        };
        let mut known = self.known();
        let payment = known.entry(received.reference.to_owned()).or_default();
        if index < payment.received {
            return count(&self.again);
        }
        let is_next = index == payment.received && received.sequence == (index + 1).to_string();
        if !is_next || (index > 0 && payment.order != received.order) {
            count(&self.disordered);
        }
        payment.received = index + 1;
        received.order.clone_into(&mut payment.order);
        let is_done = payment.received == events.len();
        drop(known);
        if let Some(completion) = self.completions.get(client).filter(|_| is_done) {
            // A client that has given up waiting counts it as lost.
            let _ = completion.send(number);
        }
    }

    /// Counts a notification that is of no payment, unless it tells that a client's contract is open.
    pub(super) fn record_without_order(&self, event: &str) {
        if self.flow != PaymentFlow::Contract || event != "CONTRACT_OPENED" {
            count(&self.strange);
        }
    }

    /// Counts a notification whose signature is wrong.
    pub(super) fn record_forged(&self) {
        count(&self.forged);
    }

    /// References and OrderIds of all that is paid.
    pub(super) fn paid(&self) -> Vec<(String, String)> {
        let (known, all) = (self.known(), self.flow.events().len());
        let paid = known.iter().filter(|(_, payment)| payment.received == all);
        paid.map(|(reference, payment)| (reference.clone(), payment.order.clone())).collect()
    }

    /// What the receiver has seen go wrong.
    pub(super) fn anomalies(&self) -> Anomalies {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Anomalies {
            again: of(&self.again),
            disordered: of(&self.disordered),
            forged: of(&self.forged),
            strange: of(&self.strange),
            ..Anomalies::default()
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().expect("nothing under this lock panics")
    }
}

fn count(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn record(delivery_log: &DeliveryLog, event: &str, sequence: &str) {
        delivery_log.record(&ReceivedNotification { event, sequence, reference: "bench-7-1.0.41", order: "one" });
    }

    #[test]
    fn a_payment_is_done_when_its_last_notification_came() {
        let (completion, completed) = mpsc::channel();
        let delivery_log = DeliveryLog::new(PaymentFlow::DropIn, vec![completion]);
        record(&delivery_log, "SESSION_COMPLETED", "1");
        record(&delivery_log, "ORDER_AUTHORIZED", "2");
        assert!(completed.try_recv().is_err() && delivery_log.paid().is_empty());
        record(&delivery_log, "ORDER_PROCESSED", "3");
        assert_eq!(completed.try_recv(), Ok(41));
        assert_eq!(delivery_log.paid(), [("bench-7-1.0.41".to_owned(), "one".to_owned())]);
        assert_eq!(delivery_log.anomalies(), Anomalies::default());
    }

    #[test]
    fn a_checkout_has_no_notification_of_a_session() {
        let (completion, completed) = mpsc::channel();
        let delivery_log = DeliveryLog::new(PaymentFlow::Checkout, vec![completion]);
        record(&delivery_log, "ORDER_AUTHORIZED", "1");
        record(&delivery_log, "ORDER_PROCESSED", "2");
        assert_eq!((completed.try_recv(), delivery_log.anomalies()), (Ok(41), Anomalies::default()));
        record(&delivery_log, "SESSION_COMPLETED", "3");
        assert_eq!(delivery_log.anomalies().strange, 1);
        delivery_log.record_without_order("CONTRACT_OPENED");
        assert_eq!(delivery_log.anomalies().strange, 2, "there are no contracts");
        let of_contracts = DeliveryLog::new(PaymentFlow::Contract, Vec::new());
        of_contracts.record_without_order("CONTRACT_OPENED");
        assert_eq!(of_contracts.anomalies(), Anomalies::default());
    }

    #[test]
    fn what_is_wrong_with_notifications_is_counted() {
        let delivery_log = DeliveryLog::new(PaymentFlow::DropIn, Vec::new());
        record(&delivery_log, "SESSION_COMPLETED", "1");
        record(&delivery_log, "SESSION_COMPLETED", "1");
        record(&delivery_log, "ORDER_PROCESSED", "3");
        record(&delivery_log, "ORDER_AUTHORIZED", "2");
        record(&delivery_log, "ORDER_DECLINED", "4");
        delivery_log.record(&ReceivedNotification {
            event: "ORDER_PROCESSED",
            sequence: "3",
            reference: "else",
            order: "one",
        });
        delivery_log.record_forged();
        let expected = Anomalies { again: 2, disordered: 1, forged: 1, strange: 2, ..Anomalies::default() };
        assert_eq!(delivery_log.anomalies(), expected);
    }

    #[test]
    fn references_name_client_and_number() {
        assert_eq!(read_reference(&reference("bench-7-1", 12, 345)), Some((12, 345)));
        assert_eq!(read_reference("345"), None);
    }
}
