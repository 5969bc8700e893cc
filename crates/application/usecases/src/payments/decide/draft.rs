//! A settlement in the making: steps of the Order and the Session, each with its history and its notification, written as one.

use dropin_contract::{Contract, ContractStep};
use dropin_kernel::{Change, EventId, LedgerTransactionId, PaymentId};
use dropin_order::{Order, OrderEvent, Step};
use dropin_ports::{
    Actor, ConcludedCharge, ContractSettlement, CredentialChange, NewEvent, NewHistoryEntry, Payment, SealedCredential,
    Settlement, StoreError, StoredCredential, Subject,
};
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
            contract: None,
            refund: None,
            new_refund: None,
            follow_up: None,
            ledger: Vec::new(),
            events: Vec::new(),
            history: Vec::new(),
            answer: None,
            now,
            audit: None,
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

    /// Adds what changes of the contract: its step, if any, with its history and its event, its credential, and what is known of the charge.
    pub(super) fn contract_step(
        &mut self,
        contract: &Contract,
        step: Option<ContractStep>,
        credential: CredentialChange,
        charge: Option<ConcludedCharge>,
    ) {
        let change = match step {
            None => contract.charge_begun(),
            Some(ContractStep { change, transition, event }) => {
                let before = contract.state.kind().as_str();
                let what = transition.trigger.as_str();
                self.append_history(Subject::Contract(contract.id), what, before, transition.to.as_str());
                if let Some(event) = event {
                    let body = dropin_wire::event::contract_changed(event, &change.next);
                    self.enqueue_event_of(contract.payment_id(), event.as_str(), body);
                }
                change
            }
        };
        self.settlement.contract = Some(Box::new(ContractSettlement { change, credential, charge }));
    }

    /// Seals what the processor gave in place of a card.
    pub(super) fn seal(
        &self,
        contract: &Contract,
        credential: &StoredCredential,
    ) -> Result<SealedCredential, StoreError> {
        let Some(vault) = &self.with.credentials else {
            let why = "a stored card is sealed by checkout-api and settler alone: the settler writes this down";
            return Err(StoreError::Unavailable(why.to_owned()));
        };
        vault.seal(contract.merchant_id, contract.id, credential).map_err(|error| {
            let id = contract.id.to_string();
            log::error!(contract = id.as_str(), error:% = error; "a stored card cannot be sealed: it is asked for again once its keys are back");
            StoreError::Unavailable("the keys of stored cards are not available".to_owned())
        })
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
        self.enqueue_event_of(self.payment.order.payment_id(), event_type, body);
    }

    fn enqueue_event_of(&mut self, payment_id: PaymentId, event_type: &'static str, body: Vec<u8>) {
        self.settlement.events.push(NewEvent {
            id: EventId::new(self.with.ids.ordered()),
            merchant_id: self.payment.order.merchant_id,
            payment_id,
            event_type,
            body,
            at: self.settlement.now,
        });
    }
}
