//! A settlement in the making: steps of the Order and the Session, each with its history and its notification, written as one.

use dropin_kernel::{Change, EventId, LedgerTransactionId};
use dropin_order::{Order, OrderEvent, Step};
use dropin_ports::{Actor, History, NewEvent, Payment, Settlement, Subject};
use dropin_session::{Session, SessionEvent, Transition as SessionTransition};

use super::super::Payments;

pub(super) struct Draft<'a> {
    pub(super) with: &'a Payments,
    pub(super) payment: &'a Payment,
    pub(super) settlement: Settlement,
}

impl<'a> Draft<'a> {
    pub(super) fn new(with: &'a Payments, payment: &'a Payment) -> Self {
        let now = with.clock.now();
        let settlement = Settlement {
            operation: payment.operation.id,
            state: payment.operation.state,
            due_at: now,
            order: None,
            session: None,
            refund: None,
            follow_up: None,
            ledger: Vec::new(),
            events: Vec::new(),
            history: Vec::new(),
            answer: None,
            now,
        };
        Self { with, payment, settlement }
    }

    /// The Order as it stands after the steps so far.
    pub(super) fn order(&self) -> &Order {
        self.settlement.order.as_ref().map_or(&self.payment.order, |change| &change.next)
    }

    /// The Session as it stands after the steps so far.
    pub(super) fn session(&self) -> Option<&Session> {
        self.settlement.session.as_ref().map(|change| &change.next).or(self.payment.session.as_ref())
    }

    pub(super) fn ledger_id(&self) -> LedgerTransactionId {
        LedgerTransactionId::new(self.with.ids.ordered())
    }

    pub(super) fn ledger_ids(&self) -> (LedgerTransactionId, LedgerTransactionId) {
        (self.ledger_id(), self.ledger_id())
    }

    /// Adds a change of the Order, its ledger, its history and, when the Order has been shown, its event. A further change of the same
    /// settlement builds on the one before: one write, decided on the revision that was loaded.
    pub(super) fn order_step(&mut self, step: Step) {
        let (event, after) = (step.transition.event, &step.change.next);
        if let Some(event) = event.filter(|_| after.shown) {
            let body = match (event, &self.settlement.refund) {
                (OrderEvent::RefundSucceeded | OrderEvent::RefundFailed, Some(refund)) => {
                    dropin_wire::event::refund_changed(event, refund, after)
                }
                _ => dropin_wire::event::order_changed(event, after),
            };
            self.announce(event.as_str(), body);
        }
        let order = &self.payment.order;
        let what = step.transition.trigger.as_str();
        let (before, after) = (self.order().state.as_str(), step.transition.to.as_str());
        self.remember(Subject::Order(order.id), what, before, after);
        self.settlement.ledger.extend(step.ledger);
        let expected = self.settlement.order.as_ref().map_or(step.change.expected, |first| first.expected);
        let next = Order { revision: expected.next(), ..step.change.next };
        self.settlement.order = Some(Change { next, expected });
    }

    /// Adds a change of the Session, its history and its event; `order` is the Order as the event shall show it.
    pub(super) fn session_step(&mut self, (change, row): (Change<Session>, SessionTransition), order: &Order) {
        if let Some(event) = row.event {
            let body = match event {
                SessionEvent::Completed => dropin_wire::event::session_completed(&change.next, order),
                SessionEvent::Failed => dropin_wire::event::session_failed(&change.next),
                SessionEvent::Cancelled => dropin_wire::event::session_cancelled(&change.next),
            };
            self.announce(event.as_str(), body);
        }
        let before = row.from.map_or("", |state| state.as_str());
        self.remember(Subject::Session(change.next.id), row.trigger.as_str(), before, row.to.as_str());
        let expected = self.settlement.session.as_ref().map_or(change.expected, |first| first.expected);
        let next = Session { revision: expected.next(), ..change.next };
        self.settlement.session = Some(Change { next, expected });
    }

    fn remember(&mut self, subject: Subject, what: &'static str, before: &'static str, after: &'static str) {
        self.settlement.history.push(History {
            merchant_id: self.payment.order.merchant_id,
            subject,
            actor: Actor::System,
            what,
            at: self.settlement.now,
            before: Some(before),
            after,
        });
    }

    fn announce(&mut self, event_type: &'static str, body: Vec<u8>) {
        self.settlement.events.push(NewEvent {
            id: EventId::new(self.with.ids.ordered()),
            merchant_id: self.payment.order.merchant_id,
            payment_id: self.payment.order.payment_id(),
            event_type,
            body,
            at: self.settlement.now,
        });
    }
}
