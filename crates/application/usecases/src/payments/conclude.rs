//! Settling: what the processor answered is decided about and written down, with all that follows from it.

use dropin_contract::Contract;
use dropin_kernel::{Change, OpId, Timestamp};
use dropin_order::{DeclineReason, OpKind, OpState, Operation, Order, OrderState, Refund};
use dropin_ports::{Applied, ClaimedOperation, NewAuditEntry, Payment, ProcessorReply, Settled, StoreError};
use dropin_session::Session;

use super::decide::DecisionPolicy;
use super::{MAX_SETTLE_RETRIES, Payments, corrupt, decide, response};
use crate::audit_log::order_document;

/// How things stand after an answer was written down.
#[derive(Debug, Clone)]
pub(crate) struct Conclusion {
    /// What is known of the operation.
    pub(crate) state: OpState,
    /// Its Order.
    pub(crate) order: Order,
    /// Its Session.
    pub(crate) session: Option<Session>,
    /// Its refund.
    pub(crate) refund: Option<Refund>,
    /// The contract that its Order opens or is made under.
    pub(crate) contract: Option<Contract>,
    /// What must be asked next.
    pub(crate) follow_up: Option<Operation>,
}

impl Conclusion {
    /// How things stand when nothing follows.
    pub(super) fn of(payment: Payment) -> Self {
        let Payment { operation, order, session, refund, contract, is_charge: _ } = payment;
        Self { state: operation.state, order, session, refund, contract, follow_up: None }
    }

    /// What must be asked next, with all that it belongs to.
    pub(super) fn into_next(self) -> Option<Payment> {
        let Self { order, session, refund, contract, follow_up, .. } = self;
        follow_up.map(|operation| {
            let refund = refund.filter(|refund| operation.refund == Some(refund.id));
            // Only an authorization charges.
            Payment { operation, order, session, refund, contract, is_charge: false }
        })
    }
}

impl Payments {
    /// Settles the processor's response with all that follows from it, once: a second caller gets the stored outcome.
    pub(super) async fn conclude(
        &self,
        key: OpId,
        answer: ProcessorReply,
        policy: DecisionPolicy,
    ) -> Result<Conclusion, StoreError> {
        self.conclude_from(key, None, answer, policy, None).await
    }

    /// The same for an operation that was written down a moment ago, so that it need not be read: whoever has changed anything since is found
    /// out when the outcome is written.
    pub(super) async fn conclude_known(
        &self,
        payment: Payment,
        answer: ProcessorReply,
        policy: DecisionPolicy,
    ) -> Result<Conclusion, StoreError> {
        self.conclude_from(payment.operation.id, Some(payment), answer, policy, None).await
    }

    pub(super) async fn conclude_from(
        &self,
        key: OpId,
        mut written: Option<Payment>,
        answer: ProcessorReply,
        policy: DecisionPolicy,
        audit: Option<NewAuditEntry>,
    ) -> Result<Conclusion, StoreError> {
        let card = written.as_ref().and_then(|payment| payment.order.card);
        let last_four = written.as_ref().and_then(|payment| payment.order.last_four);
        for round in 0..MAX_SETTLE_RETRIES {
            self.backoff(round).await;
            let mut payment = match written.take() {
                Some(payment) => payment,
                None => self.store.find_payment(key).await?.ok_or_else(|| corrupt("an operation is missing"))?,
            };
            // What was changed meanwhile knows nothing of the card.
            if let Some(card) = card.filter(|_| payment.order.state == OrderState::Processing) {
                payment.order = payment.order.with_card(card);
            }
            if let Some(last_four) = last_four {
                payment.order = payment.order.with_last_four(last_four);
            }
            if !payment.operation.state.is_open() {
                return Ok(Conclusion::of(payment));
            }
            let nothing_held =
                ProcessorReply::Declined { reason: DeclineReason::Voided, retryable: false, credential: None };
            let moot = matches!(answer, ProcessorReply::Declined { .. }) && self.holds_nothing(&payment).await?;
            let answer = if moot { &nothing_held } else { &answer };
            let mut decision = decide::decide(self, &payment, answer, policy)?;
            if decision.state.is_open() && decision.order.is_none() {
                decision.order = with_card(&payment, self.clock.now());
            }
            let nothing_new = decision.order.is_none()
                && decision.session.is_none()
                && decision.contract.is_none()
                && decision.follow_up.is_none();
            if decision.state.is_open() && nothing_new {
                // Nothing changes but the time of the next look; whoever took the operation over since plans his own.
                let holder = ClaimedOperation { id: key, epoch: payment.operation.epoch };
                let operation = payment.operation.clone();
                let known = Conclusion { state: decision.state, ..Conclusion::of(payment) };
                // Whoever asked with a key need not wait any longer: a notification will tell.
                let pending = response::of(&operation, &known, &self.catalogue);
                match self.store.postpone_operation(holder, decision.state, decision.due_at, pending).await? {
                    Applied::Done => return Ok(known),
                    Applied::Stale => continue,
                }
            }
            let after = Conclusion {
                state: decision.state,
                order: decision.order.as_ref().map_or(payment.order, |change| change.next.clone()),
                session: decision.session.as_ref().map(|change| change.next.clone()).or(payment.session),
                contract: decision.contract.as_ref().map(|one| one.change.next.clone()).or(payment.contract),
                refund: decision.new_refund.clone().or_else(|| decision.refund.clone()).or(payment.refund),
                follow_up: decision.follow_up.clone(),
            };
            decision.answer = response::of(&payment.operation, &after, &self.catalogue);
            let shown = order_document(&after.order).finish();
            decision.audit = audit.clone().map(|entry| entry.with_after(shown));
            match self.store.settle(decision).await? {
                Settled::Done => {
                    let method = &after.order.payment_method;
                    self.authorizations.count(&payment.operation, method, after.state, answer);
                    return Ok(after);
                }
                Settled::AlreadySettled | Settled::Stale => {}
            }
        }
        Err(StoreError::Unavailable("an Order changes faster than it can be settled".to_owned()))
    }

    /// Whether this is a void of an authorization that was refused while the void was under way, which ended the Order: there is nothing to be
    /// voided, and never will be.
    async fn holds_nothing(&self, payment: &Payment) -> Result<bool, StoreError> {
        if payment.operation.kind != OpKind::Void || !payment.order.state.is_final() {
            return Ok(false);
        }
        let authorization = self.authorization_of(&payment.order).await?;
        Ok(matches!(authorization.state, OpState::Declined | OpState::Abandoned))
    }
}

/// The Order with the hash of its card, where none but the flow that has just asked the processor knows it: the processor's decision, which comes
/// later, may be that the issuer forbids to try the card again (docs/SPECIFICATION.md#forbidden-cards).
///
/// Only while the operation is that flow's: afterwards the settler may have written more than this flow knows.
fn with_card(payment: &Payment, now: Timestamp) -> Option<Change<Order>> {
    let Payment { operation, order, .. } = payment;
    let is_new = operation.state == OpState::Prepared && now < operation.due_at && order.card.is_some();
    is_new.then(|| Change { next: order.clone().at_revision(order.revision.next()), expected: order.revision })
}
