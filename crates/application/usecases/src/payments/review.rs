//! The operator decides about an Order that is held for review (docs/SPECIFICATION.md#order-transitions).

use dropin_access::AuditAction;
use dropin_kernel::{EventId, OrderId, Revision};
use dropin_order::{OpKind, OpState, Operation, Order, OrderState, ReviewRefused, Step, VoidPlan};
use dropin_ports::{Acting, Actor, ChangeOrder, NewEvent, OrderChanged, ProcessorReply, StatusReply, StoreError};

use super::capture::change;
use super::decide::DecisionPolicy;
use super::{Asker, MAX_CAS_RETRIES, Payments, busy, corrupt, history_row, question};

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewOutcome {
    /// The Order as it stands now.
    pub order: Order,
    /// Whether the processor has still to do its part; the settler sees to it.
    pub pending: bool,
}

/// Why a decision was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// No such Order.
    #[error("no such Order")]
    NotFound,
    /// It is another than the operator saw.
    #[error("the Order changed after it was shown: look at it as it stands now")]
    Changed,
    /// It is not there to be decided.
    #[error(transparent)]
    Refused(#[from] ReviewRefused),
    /// Money has moved already: it can only be accepted.
    #[error(
        "the processor has moved money already, so it can only be approved as it is; what must go back is refunded then, or given back at the processor when the Order's life is over"
    )]
    MoneyMoved,
    /// The processor does not say what it did, or did more than was asked.
    #[error("the processor's books must be put right first: {0}")]
    NotAcceptable(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// Approves or declines. An approved Order is captured at once when it was to be (AutoCapture, or asked for meanwhile); a declined one is voided,
    /// then DECLINED. Repeating it is harmless. The Order's history names `operator`, the audit log who acts.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub async fn review(
        &self,
        id: OrderId,
        approve: bool,
        operator: &str,
        by: &Acting,
    ) -> Result<ReviewOutcome, ReviewError> {
        self.review_expecting(None, id, approve, operator, by).await
    }

    /// The same about the Order as the operator saw it: [`ReviewError::Changed`] when it has another revision by now, however closely before the decision.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub async fn review_as_seen(
        &self,
        seen: Revision,
        id: OrderId,
        approve: bool,
        operator: &str,
        by: &Acting,
    ) -> Result<ReviewOutcome, ReviewError> {
        self.review_expecting(Some(seen), id, approve, operator, by).await
    }

    async fn review_expecting(
        &self,
        expected: Option<Revision>,
        id: OrderId,
        approve: bool,
        operator: &str,
        by: &Acting,
    ) -> Result<ReviewOutcome, ReviewError> {
        let actor = Actor::Operator(operator.to_owned());
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let (order, _session) = self.store.find_order_anywhere(id).await?.ok_or(ReviewError::NotFound)?;
            if expected.is_some_and(|expected| order.revision != expected) {
                return Err(ReviewError::Changed);
            }
            if let Some(operation) = self.differing(&order).await? {
                return if approve { self.accept(&order, &operation, by).await } else { Err(ReviewError::MoneyMoved) };
            }
            let (change, operation) = match self.review_step(&order, approve, &actor).await? {
                Some(prepared) => prepared,
                None => return Ok(ReviewOutcome { pending: order.voiding.is_some(), order }),
            };
            let action = if approve { AuditAction::ReviewApprove } else { AuditAction::ReviewDecline };
            let change = self.audited(change, by, action, &order);
            let after = change.order.next.clone();
            match (self.store.change_order(change).await?, operation) {
                (OrderChanged::Done, Some(operation)) => {
                    let conclusion = self.ask(order.merchant_id, &operation, Asker::Nobody).await?;
                    let pending = conclusion.state.is_open() || conclusion.follow_up.is_some();
                    return Ok(ReviewOutcome { order: conclusion.order, pending });
                }
                (OrderChanged::Done, None) => return Ok(ReviewOutcome { order: after, pending: false }),
                _ => {}
            }
        }
        Err(busy("reviewed").into())
    }

    /// What is written for a decision, and the operation it asks for; `None` when it was decided so before.
    async fn review_step(
        &self,
        order: &Order,
        approve: bool,
        actor: &Actor,
    ) -> Result<Option<(ChangeOrder, Option<Operation>)>, ReviewError> {
        let now = self.clock.now();
        if !approve {
            let VoidPlan::Ask(step) = order.decline_review(now)? else { return Ok(None) };
            let operation = self.prepare_void(order, &step).await?;
            return Ok(Some((change(order, actor, *step, Some(operation.clone()), None), Some(operation))));
        }
        let approved = order.approve_review(now)?;
        let mut history = vec![history_row(order, actor, &approved)];
        let events = vec![self.review_event(&approved)];
        let (mut next, expected) = (approved.change.next, approved.change.expected);
        let operation = match next.capture_due() {
            None => None,
            Some(amount) => {
                let step = next.request_capture(&amount, now);
                let step = step.map_err(|_rule| corrupt("more was promised to be captured than is authorized"))?;
                history.push(history_row(&next, &Actor::System, &step));
                let operation = self.prepare_capture(order, &step, amount).await?;
                next = step.change.next.at_revision(expected.next());
                Some(operation)
            }
        };
        let order = dropin_kernel::Change { next, expected };
        let change = ChangeOrder {
            order,
            operation: operation.clone(),
            refund: None,
            history,
            events,
            key_use: None,
            audit: None,
        };
        Ok(Some((change, operation)))
    }

    fn review_event(&self, step: &Step) -> NewEvent {
        let order = &step.change.next;
        let event = step.transition.event.expect("the table has an event for every review");
        NewEvent {
            id: EventId::new(self.ids.ordered()),
            merchant_id: order.merchant_id,
            payment_id: order.payment_id(),
            event_type: event.as_str(),
            body: dropin_wire::event::order_changed(event, order),
            at: order.updated_at,
        }
    }

    /// The open operation of an Order under review because the processor did another amount than was asked, or of one whose life was over when the money
    /// came.
    async fn differing(&self, order: &Order) -> Result<Option<Operation>, StoreError> {
        let held = order.under_review
            && (order.state != OrderState::PaymentAuthorized || !order.amounts.capture_pending().is_zero());
        if !held && !order.state.is_final() {
            return Ok(None);
        }
        let late = |one: &Operation| matches!(one.kind, OpKind::Authorize | OpKind::Refund);
        let wanted = |one: &Operation| one.state == OpState::Unknown && (held || late(one));
        let operations = self.store.list_operations(order.id).await?;
        Ok(operations.into_iter().rev().find(wanted))
    }

    /// Takes what the processor did as it is, as long as it is less than was asked, or nobody's business any more.
    async fn accept(&self, order: &Order, operation: &Operation, by: &Acting) -> Result<ReviewOutcome, ReviewError> {
        let answer = match self.processor.status(question(order.merchant_id, operation)).await {
            StatusReply::Known(answer @ ProcessorReply::Approved { .. }) => answer,
            StatusReply::Unreachable { why } => return Err(ReviewError::NotAcceptable(why)),
            other => return Err(ReviewError::NotAcceptable(said(&other).to_owned())),
        };
        let policy = DecisionPolicy { accept: true, ..DecisionPolicy::of(Asker::Nobody) };
        let entry = self.order_entry(by, AuditAction::ReviewApprove, order);
        let conclusion = self.conclude_from(operation.id, None, answer, policy, Some(entry)).await?;
        if conclusion.state.is_open() {
            let why = "it did more than was asked, or in another currency".to_owned();
            return Err(ReviewError::NotAcceptable(why));
        }
        if let Some(next) = conclusion.follow_up.filter(|next| next.tries == 0) {
            self.finish(order.merchant_id, next).await?;
        }
        let found = self.store.find_order_anywhere(operation.order_id).await?;
        let (order, _session) = found.ok_or(ReviewError::NotFound)?;
        let pending = !order.amounts.capture_pending().is_zero();
        Ok(ReviewOutcome { order, pending })
    }
}

/// What the processor says where it should say that it was done.
fn said(answer: &StatusReply) -> &'static str {
    match answer {
        StatusReply::Known(ProcessorReply::Approved { .. }) => "it was done",
        StatusReply::Known(ProcessorReply::Declined { .. }) => "now it says that it refused it",
        StatusReply::Known(ProcessorReply::Pending(_)) => "now it says that it has not decided yet",
        StatusReply::Known(ProcessorReply::Abandoned) => "it was told to refuse it for ever",
        StatusReply::Absent => "now it knows nothing of it",
        StatusReply::Known(ProcessorReply::Unknown { .. } | ProcessorReply::NotSent)
        | StatusReply::Unreachable { .. } => "it cannot be asked now",
    }
}
