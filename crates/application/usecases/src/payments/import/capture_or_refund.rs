//! Captures and refunds that are taken up, of Orders that are here.

use dropin_access::AuditAction;
use dropin_kernel::{OpId, OrderId, RefundId, Timestamp};
use dropin_money::Amount;
use dropin_order::{
    CapturePlan, CaptureRefused, DeclineReason, OpKind, OpState, Operation, Order, OrderState, Refund, RefundState,
};
use dropin_ports::{Acting, ChangeOrder, OrderChanged, ProcessorReply, StoreError};

use super::{ImportRefused, MissingRecord, RecordImport};
use crate::audit_log::refund_document;
use crate::payments::capture::change;
use crate::payments::decide::DecisionPolicy;
use crate::payments::{Asker, MAX_CAS_RETRIES, busy, corrupt, question};

impl RecordImport {
    /// Writes a capture or a refund down of an Order that is here.
    pub(super) async fn begin_operation(
        &self,
        id: OrderId,
        missing: &MissingRecord,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let amount = *missing.record.money.amount().ok_or(ImportRefused::NothingHeld)?;
        for round in 0..MAX_CAS_RETRIES {
            self.payments.backoff(round).await;
            let found = self.payments.store.find_order_anywhere(id).await?;
            let (order, _session) = found.ok_or(ImportRefused::OrderMissing(id))?;
            let authorization = self.payments.authorization_of(&order).await?;
            let is_of_merchant = missing.record.merchant.is_none_or(|merchant| merchant == order.merchant_id);
            let is_of_processor = authorization.processor.as_ref().is_none_or(|processor| *processor == self.processor);
            if !(is_of_merchant && is_of_processor) {
                return Err(ImportRefused::NotItsOrder(id));
            }
            if authorization.state.is_open() {
                // Of what is not authorized here yet, all will be captured.
                let due = order.capture_due().map(|due| if due.is_zero() { order.total } else { due });
                match due {
                    // Written down by a run that was killed, or that heard nothing.
                    None => drop(self.payments.poll_processor(authorization.id).await?),
                    Some(due) if missing.kind == OpKind::Capture && due == amount => {
                        self.settle_with_capture(&order, &authorization, missing.operation, &due, by).await?;
                    }
                    Some(_due) => return Err(ImportRefused::CaptureFollows),
                }
                continue;
            }
            if authorization.state != OpState::Approved {
                return Err(ImportRefused::WrongState(order.state));
            }
            if self.payments.store.find_payment(missing.operation).await?.is_some() {
                return Ok(());
            }
            let open = self.open_capture(&order).await?.filter(|_| missing.kind == OpKind::Capture);
            if let Some(open) = open {
                self.replace_capture(&order, &open, missing.operation, &amount, by).await?;
                continue;
            }
            let change = match missing.kind {
                OpKind::Capture => self.capture(&order, &authorization, missing.operation, &amount, by)?,
                OpKind::Refund => self.refund(&order, &authorization, missing, &amount, by)?,
                OpKind::Authorize | OpKind::Void => return Err(corrupt("it is neither a capture nor a refund").into()),
            };
            // What it never did would be asked for again where the outcome is looked for.
            if let Some(operation) = &change.operation
                && self.approved(question(order.merchant_id, operation)).await? != amount
            {
                return Err(ImportRefused::NothingHeld);
            }
            match self.payments.store.change_order(change).await? {
                OrderChanged::Done => return Ok(()),
                OrderChanged::Stale => {}
                OrderChanged::DuplicateRefund => {
                    return Err(ImportRefused::RefundTaken(missing.record.reference.clone()));
                }
                OrderChanged::KeyTaken => return Err(corrupt("what is taken up carries no request's key").into()),
            }
        }
        Err(busy("taken up").into())
    }

    /// Learns the outcome of an authorization whose capture follows by itself, and writes that capture down under the key under which the processor made
    /// it: it is asked about, and asked for by nobody.
    async fn settle_with_capture(
        &self,
        order: &Order,
        authorization: &Operation,
        key: OpId,
        due: &Amount,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let now = self.payments.clock.now();
        let capture = authorization.capture(key, *due, now, now);
        if self.approved(question(order.merchant_id, &capture)).await? != *due {
            return Err(ImportRefused::NothingHeld);
        }
        self.approved(question(order.merchant_id, authorization)).await?;
        let policy = DecisionPolicy { capture_key: Some(key), ..DecisionPolicy::of(Asker::Nobody) };
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        self.payments.poll_as(authorization.id, policy, Some(entry)).await?;
        Ok(())
    }

    /// The capture of an Order whose outcome is open.
    async fn open_capture(&self, order: &Order) -> Result<Option<Operation>, StoreError> {
        if order.amounts.capture_pending().is_zero() {
            return Ok(None);
        }
        let operations = self.payments.store.list_operations(order.id).await?;
        Ok(operations.into_iter().find(|one| one.kind == OpKind::Capture && one.state.is_open()))
    }

    /// Ends a capture that is open here for one that the processor made: an authorization is captured once, so it never makes the open one. That of the
    /// same amount goes on under the key under which it was made. So does one of an Order whose capture was promised, or follows by itself: an amount
    /// that differs from what is owed is for a review. Of another amount, any other Order may be captured again, and is by the next round.
    async fn replace_capture(
        &self,
        order: &Order,
        open: &Operation,
        key: OpId,
        amount: &Amount,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let made = Operation { id: key, amount: *amount, ..open.clone() };
        if self.approved(question(order.merchant_id, &made)).await? != *amount {
            return Err(ImportRefused::NothingHeld);
        }
        let is_owed = order.state != OrderState::PaymentAuthorized || order.capture_due().is_some();
        let policy = if open.amount == *amount || is_owed {
            DecisionPolicy { capture_key: Some(key), ..DecisionPolicy::of(Asker::Nobody) }
        } else {
            DecisionPolicy::of(Asker::Waiting)
        };
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        let refused = ProcessorReply::Declined { reason: DeclineReason::NeverSent, retryable: true, credential: None };
        self.payments.conclude_from(open.id, None, refused, policy, Some(entry)).await?;
        Ok(())
    }

    fn capture(
        &self,
        order: &Order,
        authorization: &Operation,
        key: OpId,
        amount: &Amount,
        by: &Acting,
    ) -> Result<ChangeOrder, ImportRefused> {
        let now = self.payments.clock.now();
        let plan = match order.plan_capture(Some(amount), now) {
            // It was taken in time: that the Order has lapsed here since does not undo it.
            Err(CaptureRefused::WrongState { .. }) if is_only_lapsed(order, now) => order
                .request_capture(amount, now)
                .map(|step| CapturePlan::Ask { step: Box::new(step), amount: *amount }),
            plan => plan,
        };
        let (step, amount) = match plan {
            Ok(CapturePlan::Ask { step, amount }) => (step, amount),
            Ok(CapturePlan::InFlight(_)) => return Err(ImportRefused::InFlight),
            Err(CaptureRefused::AmountOutOfRange) => return Err(ImportRefused::Exceeds(*amount)),
            Ok(CapturePlan::UnderReview(_)) => return Err(ImportRefused::UnderReview),
            Ok(CapturePlan::AlreadyCaptured) | Err(_) => return Err(ImportRefused::WrongState(order.state)),
        };
        let operation = authorization.capture(key, amount, now, now.plus(self.payments.timing.lease));
        let change = change(order, &by.actor, *step, Some(operation), None);
        Ok(self.payments.audited(change, by, AuditAction::OrderImport, order))
    }

    /// Its RefundReference is the processor's own id of it: what the merchant called it is not known any more.
    fn refund(
        &self,
        order: &Order,
        authorization: &Operation,
        missing: &MissingRecord,
        amount: &Amount,
        by: &Acting,
    ) -> Result<ChangeOrder, ImportRefused> {
        let now = self.payments.clock.now();
        if !order.amounts.capture_pending().is_zero() {
            return Err(ImportRefused::InFlight);
        }
        if order.state != OrderState::Processed {
            return Err(ImportRefused::WrongState(order.state));
        }
        let (step, amount) =
            order.plan_refund(Some(amount), now).map_err(|_more_than_left| ImportRefused::Exceeds(*amount))?;
        let refund = Refund {
            id: RefundId::new(self.payments.ids.ordered()),
            order_id: order.id,
            merchant_id: order.merchant_id,
            reference: missing.record.reference.clone(),
            amount,
            settlement: None,
            description: None,
            state: RefundState::InProgress,
            created_at: missing.record.created_at,
            updated_at: now,
        };
        let due_at = now.plus(self.payments.timing.lease);
        let operation = authorization.refund(missing.operation, refund.id, amount, now, due_at);
        let mut change = change(order, &by.actor, step, Some(operation), None);
        let after = refund_document(&change.order.next, &refund).finish();
        change.refund = Some(refund);
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        change.audit = Some(entry.with_after(after));
        Ok(change)
    }
}

/// Whether nothing but the end of its capture window keeps an Order from being captured.
fn is_only_lapsed(order: &Order, now: Timestamp) -> bool {
    order.state == OrderState::PaymentAuthorized
        && order.voiding.is_none()
        && !order.under_review
        && order.amounts.capture_pending().is_zero()
        && order.has_lapsed(now)
}
