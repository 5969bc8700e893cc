//! The delivery log of the receiver, at which all merchants have their endpoints.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};

use super::check::Problems;
use super::client::PaymentFlow;

const AGAIN: &str = "a notification came again";
const DISORDERED: &str = "a notification came out of order";
const FORGED: &str = "a notification had a wrong signature";
const STRANGE: &str = "a notification was of no known event or payment";

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

#[derive(Debug, Default)]
pub(super) struct DeliveryLog {
    flow: PaymentFlow,
    known: Mutex<HashMap<String, Known>>,
    /// One for each client: the number of its payment that is done.
    completions: Vec<Sender<u64>>,
    /// What must not happen when nothing fails, the warm-up and the end included.
    problems: Mutex<Problems>,
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
            return self.add(STRANGE, received.reference);
        };
        let mut known = self.known();
        let payment = known.entry(received.reference.to_owned()).or_default();
        if index < payment.received {
            return self.add(AGAIN, received.reference);
        }
        let is_next = index == payment.received && received.sequence == (index + 1).to_string();
        if !is_next || (index > 0 && payment.order != received.order) {
            self.add(DISORDERED, received.reference);
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
            self.add(STRANGE, event);
        }
    }

    /// Counts a notification whose signature is wrong.
    pub(super) fn record_forged(&self, id: &str) {
        self.add(FORGED, id);
    }

    /// References and OrderIds of all that is paid.
    pub(super) fn paid(&self) -> Vec<(String, String)> {
        let (known, all) = (self.known(), self.flow.events().len());
        let paid = known.iter().filter(|(_, payment)| payment.received == all);
        paid.map(|(reference, payment)| (reference.clone(), payment.order.clone())).collect()
    }

    /// What the receiver has seen go wrong.
    pub(super) fn problems(&self) -> Problems {
        self.problems.lock().expect("nothing under this lock panics").clone()
    }

    fn add(&self, what: &'static str, with: &str) {
        self.problems.lock().expect("nothing under this lock panics").add(what, with);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().expect("nothing under this lock panics")
    }
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
        assert_eq!(delivery_log.problems(), Problems::default());
    }

    #[test]
    fn a_checkout_has_no_notification_of_a_session() {
        let (completion, completed) = mpsc::channel();
        let delivery_log = DeliveryLog::new(PaymentFlow::Checkout, vec![completion]);
        record(&delivery_log, "ORDER_AUTHORIZED", "1");
        record(&delivery_log, "ORDER_PROCESSED", "2");
        assert_eq!((completed.try_recv(), delivery_log.problems()), (Ok(41), Problems::default()));
        record(&delivery_log, "SESSION_COMPLETED", "3");
        assert!(delivery_log.problems().lines()[0].starts_with(&format!("1 x {STRANGE}")));
        delivery_log.record_without_order("CONTRACT_OPENED");
        assert!(delivery_log.problems().lines()[0].starts_with(&format!("2 x {STRANGE}")), "there are no contracts");
        let of_contracts = DeliveryLog::new(PaymentFlow::Contract, Vec::new());
        of_contracts.record_without_order("CONTRACT_OPENED");
        assert_eq!(of_contracts.problems(), Problems::default());
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
        delivery_log.record_forged("id-1");
        let counts = [(AGAIN, 2), (DISORDERED, 1), (FORGED, 1), (STRANGE, 2)];
        let (lines, wanted) =
            (delivery_log.problems().lines(), counts.map(|(what, count)| format!("{count} x {what}")));
        assert!(
            lines.len() == 4 && lines.iter().zip(&wanted).all(|(line, start)| line.starts_with(start)),
            "{lines:?}"
        );
    }

    #[test]
    fn references_name_client_and_number() {
        assert_eq!(read_reference(&reference("bench-7-1", 12, 345)), Some((12, 345)));
        assert_eq!(read_reference("345"), None);
    }
}
