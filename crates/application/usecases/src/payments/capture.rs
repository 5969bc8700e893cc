//! The merchant captures (docs/SPECIFICATION.md#order-capture).

use dropin_access::AuditAction;
use dropin_kernel::{OrderId, Revision, Violation, ViolationCode};
use dropin_money::{Amount, Decimal};
use dropin_order::{CapturePlan, CaptureRefused, Channel, OpKind, OpState, Operation, Order, OrderState, Step};
use dropin_ports::{Actor, ChangeOrder, KeyUse, OrderChanged, OrderName, StoreError};

use super::{Asker, MAX_CAS_RETRIES, Payments, busy, corrupt, history_row, response};
use crate::audit_log::MerchantAct;
use crate::idempotency::IdempotentOutcome;

/// What came of a capture, for the merchant (docs/SPECIFICATION.md#order-capture).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureReason {
    /// Taken.
    Captured,
    /// Under way; ORDER_PROCESSED will tell.
    PendingNotification,
    /// Held by review; captured when it is approved, ORDER_PROCESSED will tell.
    UnderReview,
}

impl CaptureReason {
    /// The spelling of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Captured => "Captured",
            Self::PendingNotification => "PendingNotification",
            Self::UnderReview => "UnderReview",
        }
    }
}

/// Why nothing was captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// No such Order of this merchant.
    #[error("no such Order")]
    NotFound,
    /// It is another than was seen.
    #[error("the Order changed after it was shown: look at it as it stands now")]
    Changed,
    /// Nothing to capture in this state.
    #[error("the Order is {}", .0.as_str())]
    WrongState(OrderState),
    /// The amount cannot be captured.
    #[error("the amount cannot be captured")]
    Amount(Violation),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// Captures `amount`, or all that is authorized. Repeating it moves nothing twice.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub async fn capture(
        &self,
        act: &MerchantAct,
        id: OrderId,
        amount: Option<&Decimal>,
        channel: Channel,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CaptureError> {
        self.capture_expecting(None, act, id, amount, channel, key_use).await
    }

    /// The same of the Order as somebody saw it: [`CaptureError::Changed`] when it has another revision by now, however closely before the capture.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub async fn capture_as_seen(
        &self,
        seen: Revision,
        act: &MerchantAct,
        id: OrderId,
        amount: Option<&Decimal>,
    ) -> Result<IdempotentOutcome, CaptureError> {
        self.capture_expecting(Some(seen), act, id, amount, Channel::Order, None).await
    }

    async fn capture_expecting(
        &self,
        expected: Option<Revision>,
        act: &MerchantAct,
        id: OrderId,
        amount: Option<&Decimal>,
        channel: Channel,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, CaptureError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let found = self.store.find_order(act.merchant, &OrderName::Id(id)).await?;
            let order = found.ok_or(CaptureError::NotFound)?;
            if expected.is_some_and(|expected| order.revision != expected) {
                return Err(CaptureError::Changed);
            }
            let asked = amount.map(|number| parse_amount(&order, number)).transpose().map_err(CaptureError::Amount)?;
            let plan = order.plan_capture(asked.as_ref(), self.clock.now()).map_err(|refused| match refused {
                CaptureRefused::WrongState { found } => CaptureError::WrongState(found),
                CaptureRefused::AmountOutOfRange => CaptureError::Amount(out_of_range(&order)),
                other => CaptureError::Store(corrupt(&other.to_string())),
            })?;
            if matches!(plan, CapturePlan::Ask { .. } | CapturePlan::UnderReview(_))
                && asked.is_some_and(|asked| self.is_forbidden_part(&order, &asked))
            {
                return Err(CaptureError::Amount(whole_only(&order)));
            }
            let (reason, promise) = match plan {
                CapturePlan::Ask { step, amount } => {
                    let operation = self.prepare_capture(&order, &step, amount).await?.through(channel);
                    let change = change(&order, &act.by.actor, *step, Some(operation.clone()), key_use);
                    let change = self.audited(change, &act.by, AuditAction::OrderCapture, &order);
                    match self.store.change_order(change).await? {
                        OrderChanged::Done => {
                            let conclusion = self.ask(order.merchant_id, &operation, Asker::Waiting).await?;
                            return Ok(IdempotentOutcome::Concluded(response::captured(channel, &conclusion.order)));
                        }
                        OrderChanged::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                        OrderChanged::Stale | OrderChanged::DuplicateRefund => continue,
                    }
                }
                CapturePlan::AlreadyCaptured => (CaptureReason::Captured, None),
                CapturePlan::InFlight(promise) => (CaptureReason::PendingNotification, promise),
                CapturePlan::UnderReview(promise) => (CaptureReason::UnderReview, promise),
            };
            if let Some(step) = promise {
                let told = response::accepted(channel, &step.change.next, reason);
                // Without the key: the answer is kept like a refusal, by a step of its own.
                let change = change(&order, &act.by.actor, *step, None, None);
                let change = self.audited(change, &act.by, AuditAction::OrderCapture, &order);
                match self.store.change_order(change).await? {
                    OrderChanged::Done => return Ok(IdempotentOutcome::Unstored(told)),
                    _ => continue,
                }
            }
            return Ok(IdempotentOutcome::Unstored(response::accepted(channel, &order, reason)));
        }
        Err(busy("captured").into())
    }

    /// Whether `asked` is only a part of what can be captured, of a method that is captured whole or not at all.
    fn is_forbidden_part(&self, order: &Order, asked: &Amount) -> bool {
        asked < most(order) && !self.rules(order).partial_capture()
    }

    /// The operation of a capture that `step` reserves.
    pub(super) async fn prepare_capture(
        &self,
        order: &Order,
        step: &Step,
        amount: Amount,
    ) -> Result<Operation, StoreError> {
        let now = step.change.next.updated_at;
        let authorization = self.authorization_of(order).await?;
        if authorization.kind != OpKind::Authorize || authorization.state != OpState::Approved {
            return Err(corrupt("an authorized Order without an approved authorization"));
        }
        Ok(authorization.capture(self.op_id(), amount, now, now.plus(self.timing.lease)))
    }
}

/// A step of an Order with the operation it prepares.
pub(super) fn change(
    order: &Order,
    actor: &Actor,
    step: Step,
    operation: Option<Operation>,
    key_use: Option<KeyUse>,
) -> ChangeOrder {
    let history = vec![history_row(order, actor, &step)];
    let (order, events) = (step.change, Vec::new());
    ChangeOrder { order, operation, refund: None, history, events, key_use, audit: None }
}

/// An amount in the Order's currency (docs/SPECIFICATION.md#decimals).
pub(super) fn parse_amount(order: &Order, number: &Decimal) -> Result<Amount, Violation> {
    dropin_validation::parse_amount("Amount", order.total.currency(), number)
}

fn whole_only(order: &Order) -> Violation {
    let most = most(order);
    let message = format!(
        "a part cannot be captured with this payment method: leave it out, or send all of it, {most} {}",
        most.currency()
    );
    Violation::new("Amount", ViolationCode::OutOfRange, message)
}

fn most(order: &Order) -> &Amount {
    match order.state {
        OrderState::CommitAccepted => &order.total,
        _ => order.amounts.total_authorized(),
    }
}

fn out_of_range(order: &Order) -> Violation {
    let most = most(order);
    let message = format!("must be above zero and at most {most} {}", most.currency());
    Violation::new("Amount", ViolationCode::OutOfRange, message)
}
