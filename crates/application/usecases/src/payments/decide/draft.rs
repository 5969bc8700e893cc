//! A settlement in the making: steps of the Order and the Session, each with its history and its notification, written as one.

use dropin_kernel::{Change, EventId, LedgerTransactionId};
use dropin_order::{Order, OrderEvent, Step};
use dropin_ports::{Actor, NewEvent, NewHistoryEntry, Payment, Settlement, Subject};
use dropin_session::{Session, SessionEvent, SessionTransition};

use super::super::Payments;
use super::DecisionPolicy;

pub(super) struct Draft<'a> {
    pub(super) with: &'a Payments,
    pub(super) payment: &'a Payment,
    pub(super) policy: DecisionPolicy,
    pub(super) settlement: Settlement,
}

impl<'a> Draft<'a> {
    pub(super) fn new(with: &'a Payments, payment: &'a Payment, policy: DecisionPolicy) -> Self {
        let now = with.clock.now();
        let settlement = Settlement {
            operation: payment.operation.id,
            state: payment.operation.state,
            due_at: now,
            order: None,
            session: None,
            refund: None,
            new_refund: None,
            follow_up: None,
            ledger: Vec::new(),
            events: Vec::new(),
            history: Vec::new(),
            answer: None,
            now,
        };
        Self { with, payment, policy, settlement }
    }

    /// The Order as it stands after the steps so far.
    pub(super) fn order(&self) -> &Order {
        self.settlement.order.as_ref().map_or(&self.payment.order, |change| &change.next)
    }

    /// The Session as it stands after the steps so far, while this Order is its attempt. One that has gone on to another attempt is none of this
    /// Order's business any more.
    pub(super) fn session(&self) -> Option<&Session> {
        let known = self.settlement.session.as_ref().map(|change| &change.next).or(self.payment.session.as_ref());
        known.filter(|session| session.state.order() == Some(self.payment.order.id))
    }

    pub(super) fn ledger_id(&self) -> LedgerTransactionId {
        LedgerTransactionId::new(self.with.ids.ordered())
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
            self.enqueue_event(event.as_str(), body);
        }
        let order = &self.payment.order;
        let what = step.transition.trigger.as_str();
        let (before, after) = (self.order().state.as_str(), step.transition.to.as_str());
        self.append_history(Subject::Order(order.id), what, before, after);
        self.settlement.ledger.extend(step.ledger);
        let expected = self.settlement.order.as_ref().map_or(step.change.expected, |first| first.expected);
        let next = step.change.next.at_revision(expected.next());
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
            self.enqueue_event(event.as_str(), body);
        }
        let before = row.from.map_or("", |state| state.as_str());
        self.append_history(Subject::Session(change.next.id), row.trigger.as_str(), before, row.to.as_str());
        let expected = self.settlement.session.as_ref().map_or(change.expected, |first| first.expected);
        let next = change.next.at_revision(expected.next());
        self.settlement.session = Some(Change { next, expected });
    }

    fn append_history(&mut self, subject: Subject, what: &'static str, before: &'static str, after: &'static str) {
        self.settlement.history.push(NewHistoryEntry {
            merchant_id: self.payment.order.merchant_id,
            subject,
            actor: Actor::System,
            what,
            at: self.settlement.now,
            before: Some(before),
            after,
        });
    }

    fn enqueue_event(&mut self, event_type: &'static str, body: Vec<u8>) {
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
