//! A change of a dispute in the making: its steps, each with the Order's, its history, its postings and its notification, written as one.

use dropin_kernel::{Change, EventId, LedgerTransactionId, Revision, Timestamp};
use dropin_order::{
    Dispute, DisputeAnswerState, DisputeState, DisputeStep, DisputeStepRefused, DisputeTrigger, LedgerTransaction,
    Order, Step,
};
use dropin_ports::{Actor, ChangeDispute, DisputeWithOrder, NewEvent, NewHistoryEntry, ReportedDispute, Subject};

use super::Disputes;

pub(super) struct Draft<'a> {
    with: &'a Disputes,
    pub(super) dispute: Dispute,
    order: Order,
    /// The revisions that this is decided on: the dispute's, when it is known, and the Order's.
    expected: (Option<Revision>, Revision),
    order_changes: bool,
    ledger: Vec<LedgerTransaction>,
    history: Vec<NewHistoryEntry>,
    events: Vec<NewEvent>,
    actor: Actor,
    pub(super) now: Timestamp,
}

impl<'a> Draft<'a> {
    /// Of a dispute that its processor has just told of.
    pub(super) fn opened(with: &'a Disputes, order: &Order, step: DisputeStep, now: Timestamp) -> Self {
        let mut draft = Self {
            with,
            dispute: step.dispute.clone(),
            order: order.clone(),
            expected: (None, order.revision),
            order_changes: false,
            ledger: Vec::new(),
            history: Vec::new(),
            events: Vec::new(),
            actor: Actor::System,
            now,
        };
        draft.push(step.dispute, step.order);
        draft
    }

    /// Of a dispute that is known, by this actor.
    pub(super) fn known(with: &'a Disputes, found: &DisputeWithOrder, actor: &Actor, now: Timestamp) -> Self {
        let DisputeWithOrder { dispute, order, open_answer: _ } = found.clone();
        Self {
            with,
            expected: (Some(dispute.revision), order.revision),
            dispute,
            order,
            order_changes: false,
            ledger: Vec::new(),
            history: Vec::new(),
            events: Vec::new(),
            actor: actor.clone(),
            now,
        }
    }

    /// Adds a step of the dispute.
    pub(super) fn moved(&mut self, trigger: DisputeTrigger) -> Result<(), DisputeStepRefused> {
        let ledger = LedgerTransactionId::new(self.with.ids.ordered());
        let step = self.dispute.moved(trigger, &self.order, ledger, self.now)?;
        self.push(step.dispute, step.order);
        Ok(())
    }

    /// Takes another time until when it may be answered: a bank's inquiry that becomes a chargeback has one.
    fn set_due(&mut self, due_at: Option<Timestamp>) -> Result<(), DisputeStepRefused> {
        if due_at.is_none() || due_at == self.dispute.due_at {
            return Ok(());
        }
        let order = self.order.dispute_updated(self.now)?;
        let revision = self.dispute.revision.next();
        self.push(Dispute { revision, due_at, updated_at: self.now, ..self.dispute.clone() }, order);
        Ok(())
    }

    /// Adds the steps that lead to where the processor says it stands. What is decided here stays so.
    pub(super) fn follow(&mut self, reported: &ReportedDispute) -> Result<(), DisputeStepRefused> {
        use DisputeState::{Accepted, Lost, NeedsResponse, UnderReview, Won};
        match (self.dispute.state, reported.state) {
            (NeedsResponse, NeedsResponse) => self.set_due(reported.due_at),
            (NeedsResponse, UnderReview) => self.moved(DisputeTrigger::EvidenceHandedIn),
            (NeedsResponse, Accepted) => self.moved(DisputeTrigger::Accepted),
            (NeedsResponse | UnderReview, Won) => self.moved(DisputeTrigger::Won),
            (NeedsResponse, Lost) | (UnderReview, Lost | Accepted) => self.moved(DisputeTrigger::Lost),
            // A bank's inquiry became a chargeback after it was answered. What was read before that answer was given has the due time of before.
            (UnderReview, NeedsResponse) if reported.due_at.is_some() && reported.due_at != self.dispute.due_at => {
                self.dispute.due_at = reported.due_at;
                self.moved(DisputeTrigger::Escalated)
            }
            // Some call lost what was accepted.
            (UnderReview, NeedsResponse | UnderReview) | (Accepted, Lost) => Ok(()),
            (decided, other) => {
                if decided != other && other.is_final() {
                    let (dispute, order) = (self.dispute.id.to_string(), self.order.id.to_string());
                    log::error!(
                        dispute = dispute.as_str(), order = order.as_str();
                        "the processor decided a dispute that was decided otherwise here: {} in place of {}; compare its books with the ledger",
                        other.as_str(), decided.as_str()
                    );
                }
                Ok(())
            }
        }
    }

    /// Whether there is anything to write.
    pub(super) const fn is_empty(&self) -> bool {
        !self.order_changes
    }

    fn push(&mut self, dispute: Dispute, step: Step) {
        let next = step.change.next.at_revision(self.expected.1.next());
        let row = step.transition;
        if let Some(event) = row.event.filter(|_| next.shown) {
            self.events.push(NewEvent {
                id: EventId::new(self.with.ids.ordered()),
                merchant_id: next.merchant_id,
                payment_id: next.payment_id(),
                event_type: event.as_str(),
                body: dropin_wire::event::dispute_changed(event, &dispute, &next),
                at: self.now,
            });
        }
        self.history.push(NewHistoryEntry {
            merchant_id: next.merchant_id,
            subject: Subject::Order(next.id),
            actor: self.actor.clone(),
            what: row.trigger.as_str(),
            at: self.now,
            before: Some(self.order.state.as_str()),
            after: row.to.as_str(),
        });
        self.ledger.extend(step.ledger);
        (self.dispute, self.order, self.order_changes) = (dispute, next, true);
    }

    /// What is written.
    pub(super) fn finish(self) -> ChangeDispute {
        let (expected, expected_order) = self.expected;
        let revision = expected.map_or(Revision::FIRST, Revision::next);
        let order = self.order_changes.then_some(Change { next: self.order, expected: expected_order });
        ChangeDispute {
            dispute: Dispute { revision, updated_at: self.now, ..self.dispute },
            expected,
            order,
            begins: None,
            ends: None,
            ledger: self.ledger,
            history: self.history,
            events: self.events,
            audit: None,
        }
    }
}

/// What becomes of an answer that is open when its dispute is decided or answered otherwise.
pub(super) fn answer_state(found: &DisputeWithOrder, after: DisputeState) -> Option<DisputeAnswerState> {
    let answer = found.open_answer.as_ref()?;
    let reached = answer.kind.leads_to();
    match after {
        DisputeState::NeedsResponse => None,
        state if state == reached => Some(DisputeAnswerState::Taken),
        // The bank decided on evidence that it has.
        DisputeState::Won | DisputeState::Lost if reached == DisputeState::UnderReview => {
            Some(DisputeAnswerState::Taken)
        }
        _ => Some(DisputeAnswerState::Refused),
    }
}
