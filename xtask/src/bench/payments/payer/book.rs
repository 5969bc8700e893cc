//! What the merchants' endpoint has heard.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard};

use crate::bench::payments::talk::{Troubles, Way};

/// A notification, as far as it matters here.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    pub(super) event: &'a str,
    pub(super) sequence: &'a str,
    pub(super) reference: &'a str,
    pub(super) order: &'a str,
}

/// What was heard of one payment.
#[derive(Debug, Default)]
struct Known {
    /// So many of its notifications, in their order.
    heard: usize,
    order: String,
}

/// The notifications of one run.
#[derive(Debug)]
pub(super) struct Book {
    way: Way,
    known: Mutex<HashMap<String, Known>>,
    /// One for each client: the number of its payment that is done.
    bells: Vec<Sender<u64>>,
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

impl Book {
    pub(super) fn new(way: Way, bells: Vec<Sender<u64>>) -> Self {
        let none = AtomicU64::default;
        Self { way, known: Mutex::default(), bells, again: none(), disordered: none(), forged: none(), strange: none() }
    }

    /// Notes a notification, and tells its client when it was the last of a payment.
    pub(super) fn note(&self, heard: &Heard<'_>) {
        let events = self.way.events();
        let place = events.iter().position(|event| *event == heard.event);
        let (Some(place), Some((client, number))) = (place, read_reference(heard.reference)) else {
            return count(&self.strange);
        };
        let mut known = self.known();
        let payment = known.entry(heard.reference.to_owned()).or_default();
        if place < payment.heard {
            return count(&self.again);
        }
        let is_next = place == payment.heard && heard.sequence == (place + 1).to_string();
        if !is_next || (place > 0 && payment.order != heard.order) {
            count(&self.disordered);
        }
        payment.heard = place + 1;
        heard.order.clone_into(&mut payment.order);
        let is_done = payment.heard == events.len();
        drop(known);
        if let Some(bell) = self.bells.get(client).filter(|_| is_done) {
            // A client that has given up waiting counts it as lost.
            let _ = bell.send(number);
        }
    }

    /// Notes a notification whose signature is not right.
    pub(super) fn note_forged(&self) {
        count(&self.forged);
    }

    /// References and OrderIds of all that is paid, a pair a line.
    pub(super) fn paid(&self) -> String {
        let known = self.known();
        let mut lines = String::new();
        let all = self.way.events().len();
        for (reference, payment) in known.iter().filter(|(_, payment)| payment.heard == all) {
            let _infallible = writeln!(lines, "{reference} {}", payment.order);
        }
        lines
    }

    /// What the endpoint has seen go wrong.
    pub(super) fn troubles(&self) -> Troubles {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Troubles {
            again: of(&self.again),
            disordered: of(&self.disordered),
            forged: of(&self.forged),
            strange: of(&self.strange),
            ..Troubles::default()
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

    fn note(book: &Book, event: &str, sequence: &str) {
        book.note(&Heard { event, sequence, reference: "bench-7-1.0.41", order: "one" });
    }

    #[test]
    fn a_payment_is_done_when_its_last_notification_came() {
        let (bell, heard) = mpsc::channel();
        let book = Book::new(Way::DropIn, vec![bell]);
        note(&book, "SESSION_COMPLETED", "1");
        note(&book, "ORDER_AUTHORIZED", "2");
        assert!(heard.try_recv().is_err() && book.paid().is_empty());
        note(&book, "ORDER_PROCESSED", "3");
        assert_eq!(heard.try_recv(), Ok(41));
        assert_eq!(book.paid(), "bench-7-1.0.41 one\n");
        assert_eq!(book.troubles(), Troubles::default());
    }

    #[test]
    fn a_checkout_has_no_notification_of_a_session() {
        let (bell, heard) = mpsc::channel();
        let book = Book::new(Way::Checkout, vec![bell]);
        note(&book, "ORDER_AUTHORIZED", "1");
        note(&book, "ORDER_PROCESSED", "2");
        assert_eq!((heard.try_recv(), book.troubles()), (Ok(41), Troubles::default()));
        note(&book, "SESSION_COMPLETED", "3");
        assert_eq!(book.troubles().strange, 1);
    }

    #[test]
    fn what_is_wrong_with_notifications_is_counted() {
        let book = Book::new(Way::DropIn, Vec::new());
        note(&book, "SESSION_COMPLETED", "1");
        note(&book, "SESSION_COMPLETED", "1");
        note(&book, "ORDER_PROCESSED", "3");
        note(&book, "ORDER_AUTHORIZED", "2");
        note(&book, "ORDER_DECLINED", "4");
        book.note(&Heard { event: "ORDER_PROCESSED", sequence: "3", reference: "else", order: "one" });
        book.note_forged();
        let expected = Troubles { again: 2, disordered: 1, forged: 1, strange: 2, ..Troubles::default() };
        assert_eq!(book.troubles(), expected);
    }

    #[test]
    fn references_name_client_and_number() {
        assert_eq!(read_reference(&reference("bench-7-1", 12, 345)), Some((12, 345)));
        assert_eq!(read_reference("345"), None);
    }
}
