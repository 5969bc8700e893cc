//! The merchant ends an Order before it is captured (docs/SPECIFICATION.md#order-cancel).

use dropin_access::AuditAction;
use dropin_kernel::{OrderId, Revision};
use dropin_order::{Channel, OpState, Operation, Order, OrderState, Step, VoidPlan};
use dropin_ports::{Actor, KeyUse, OrderChanged, OrderName, ProcessorReply, StoreError};

use super::capture::change;
use super::{Asker, Conclusion, MAX_CAS_RETRIES, Payments, busy, response};
use crate::audit_log::MerchantAct;
use crate::idempotency::IdempotentOutcome;

/// Why nothing was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    /// No such Order of this merchant.
    #[error("no such Order")]
    NotFound,
    /// It is another than was seen.
    #[error("the Order changed after it was shown: look at it as it stands now")]
    Changed,
    /// Captured, about to be, or over.
    #[error("the Order is {}", .0.as_str())]
    WrongState(OrderState),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// Voids an authorization, or stops what still waits for the shopper, a bank or a provider. Repeating it is harmless.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CancelError`].
    pub async fn cancel(
        &self,
        act: &MerchantAct,
        id: OrderId,
        channel: Channel,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CancelError> {
        self.cancel_expecting(None, act, id, channel, key_use).await
    }

    /// The same of the Order as somebody saw it: [`CancelError::Changed`] when it has another revision by now, however closely before.
    ///
    /// # Errors
    /// [`CancelError`].
    pub async fn cancel_as_seen(
        &self,
        seen: Revision,
        act: &MerchantAct,
        id: OrderId,
    ) -> Result<IdempotentOutcome, CancelError> {
        self.cancel_expecting(Some(seen), act, id, Channel::Order, None).await
    }

    async fn cancel_expecting(
        &self,
        expected: Option<Revision>,
        act: &MerchantAct,
        id: OrderId,
        channel: Channel,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CancelError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let found = self.store.find_order(act.merchant, &OrderName::Id(id)).await?;
            let order = found.ok_or(CancelError::NotFound)?;
            if expected.is_some_and(|expected| order.revision != expected) {
                return Err(CancelError::Changed);
            }
            let plan = order.plan_cancel(self.clock.now()).map_err(|wrong| CancelError::WrongState(wrong.found))?;
            let step = match plan {
                VoidPlan::Ask(step) => step,
                VoidPlan::InFlight | VoidPlan::AlreadyDone => {
                    return Ok(IdempotentOutcome::Unstored(response::cancelled(channel, &order)));
                }
            };
            let operation = self.prepare_void(&order, &step).await?.through(channel);
            let change = change(&order, &act.by.actor, *step, Some(operation.clone()), key_use);
            let change = self.audited(change, &act.by, AuditAction::OrderCancel, &order);
            match self.store.change_order(change).await? {
                OrderChanged::Done => {
                    let conclusion = self.ask(order.merchant_id, &operation, Asker::Waiting).await?;
                    return Ok(IdempotentOutcome::Concluded(response::cancelled(channel, &conclusion.order)));
                }
                OrderChanged::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                OrderChanged::Stale | OrderChanged::DuplicateRefund => {}
            }
        }
        Err(busy("cancelled").into())
    }

    /// Ends what our books call authorized though the processor has closed it at our demand, and reserves nothing: one that cannot close a page in one step
    /// with its being paid may say both. A capture that is under way hears it from the processor.
    pub(super) async fn void_what_was_closed(
        &self,
        answer: &ProcessorReply,
        conclusion: &Conclusion,
    ) -> Result<(), StoreError> {
        let is_closed = matches!(answer, ProcessorReply::Declined { .. } | ProcessorReply::Abandoned);
        if !is_closed || conclusion.state != OpState::Approved {
            return Ok(());
        }
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let Some((order, _session)) = self.store.find_order_anywhere(conclusion.order.id).await? else { break };
            let Ok(VoidPlan::Ask(step)) = order.plan_cancel(self.clock.now()) else { return Ok(()) };
            if self.void_unasked(&order, *step).await? == OrderChanged::Done {
                let order = order.id.to_string();
                log::error!(order = order.as_str(); "the processor closed a page in the moment in which it was paid: the Order is cancelled");
                return Ok(());
            }
        }
        Err(busy("cancelled"))
    }

    /// Voids of our own accord.
    pub(super) async fn void_unasked(&self, order: &Order, step: Step) -> Result<OrderChanged, StoreError> {
        let operation = self.prepare_void(order, &step).await?;
        let changed =
            self.store.change_order(change(order, &Actor::System, step, Some(operation.clone()), None)).await?;
        if changed == OrderChanged::Done {
            self.finish(order.merchant_id, operation).await?;
        }
        Ok(changed)
    }

    /// The operation of a void that `step` announces.
    pub(super) async fn prepare_void(&self, order: &Order, step: &Step) -> Result<Operation, StoreError> {
        let now = step.change.next.updated_at;
        let authorization = self.authorization_of(order).await?;
        Ok(authorization.void(self.op_id(), now, now.plus(self.timing.lease)))
    }
}
