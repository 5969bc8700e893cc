//! The merchant captures (contract, POST /v1/order/{OrderId}/capture; decisions.md section 4).

use dropin_kernel::{OpId, OrderId, Violation, ViolationCode};
use dropin_money::{Amount, Decimal};
use dropin_order::{CapturePlan, CaptureRefused, OpKind, Operation, Order, OrderState, Step};
use dropin_ports::{Actor, Changed, History, KeyUse, PrepareCapture, StoreError, StoredAnswer, Subject};
use dropin_wire::{ErrorCode, order as wire};

use super::{Asker, DECISIONS, Payments};
use crate::access::Caller;
use crate::answers::Told;

/// What came of a capture, for the merchant (contract, Order.Reason.Code).
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
    /// The contract's spelling.
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
    /// The answer is rendered here, and not by whoever waits for it: when nobody does any more, the settler gives it to the request's key.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub async fn capture(
        &self,
        caller: &Caller,
        id: OrderId,
        amount: Option<&Decimal>,
        key_use: Option<KeyUse>,
    ) -> Result<Told, CaptureError> {
        for _ in 0..DECISIONS {
            let order = self.store.find_order(caller.merchant.id, id).await?.ok_or(CaptureError::NotFound)?;
            let asked = amount.map(|number| parse_amount(&order, number)).transpose()?;
            let now = self.clock.now();
            let plan = order.plan_capture(asked.as_ref(), now).map_err(|refused| match refused {
                CaptureRefused::WrongState { found } => CaptureError::WrongState(found),
                CaptureRefused::AmountOutOfRange => CaptureError::Amount(out_of_range(&order)),
            })?;
            let reason = match plan {
                CapturePlan::Ask { step, amount } => {
                    let (operation, prepare) = self.plan_capture(caller, &order, *step, amount, key_use).await?;
                    match self.store.prepare_capture(prepare).await? {
                        Changed::Done => {
                            let conclusion = self.ask_capture(&operation, Asker::Waiting).await?;
                            return Ok(Told::Concluded(answer(&conclusion.order)));
                        }
                        Changed::KeyTaken => return Ok(Told::KeyTaken),
                        Changed::Stale => continue,
                    }
                }
                CapturePlan::AlreadyCaptured => CaptureReason::Captured,
                CapturePlan::InFlight => CaptureReason::PendingNotification,
                CapturePlan::UnderReview => CaptureReason::UnderReview,
            };
            return Ok(Told::Loose(accepted(&order, reason)));
        }
        Err(StoreError::Unavailable("the Order changes faster than it can be captured".to_owned()).into())
    }

    async fn plan_capture(
        &self,
        caller: &Caller,
        order: &Order,
        step: Step,
        amount: Amount,
        key_use: Option<KeyUse>,
    ) -> Result<(Operation, PrepareCapture), StoreError> {
        let now = step.change.next.updated_at;
        let authorization = self.store.find_authorization(order.id).await?.ok_or_else(|| StoreError::Corrupt {
            table: "processor_op",
            what: "an authorized Order without an approved authorization".to_owned(),
        })?;
        let id = OpId::new(self.ids.ordered());
        let due_at = now.plus(self.timing.lease);
        let operation = Operation::prepare(id, order.id, OpKind::Capture, amount, Some(authorization.id), now, due_at);
        let history = History {
            merchant_id: order.merchant_id,
            subject: Subject::Order(order.id),
            actor: Actor::Merchant(caller.username.clone()),
            what: step.transition.trigger.as_str(),
            at: now,
            before: Some(order.state.as_str()),
            after: step.transition.to.as_str(),
        };
        let prepare = PrepareCapture { order: step.change, operation: operation.clone(), history, key_use };
        Ok((operation, prepare))
    }
}

/// What whoever asked for a capture is told when the processor's answer is written and `order` is what follows.
pub(super) fn answer(order: &Order) -> StoredAnswer {
    match order.state {
        OrderState::Processed => accepted(order, CaptureReason::Captured),
        // Still reserved: not known yet, or refused for now while nobody waited, so that it is tried again.
        OrderState::PaymentAuthorized if 0 < order.amounts.capture_pending().minor() => {
            accepted(order, CaptureReason::PendingNotification)
        }
        OrderState::PaymentAuthorized => refused(true),
        _ => refused(false),
    }
}

fn accepted(order: &Order, reason: CaptureReason) -> StoredAnswer {
    StoredAnswer { status: 200, etag: None, body: wire::captured(order, reason.as_str()) }
}

fn refused(retryable: bool) -> StoredAnswer {
    StoredAnswer { status: ErrorCode::CaptureFailed.status(), etag: None, body: wire::capture_refused(retryable) }
}

fn parse_amount(order: &Order, number: &Decimal) -> Result<Amount, CaptureError> {
    Amount::from_decimal(order.total.currency(), number)
        .map_err(|error| CaptureError::Amount(Violation::new("Amount", ViolationCode::OutOfRange, error.to_string())))
}

fn out_of_range(order: &Order) -> Violation {
    let authorized = order.amounts.total_authorized();
    let message = format!("must be above zero and at most {authorized} {}", authorized.currency());
    Violation::new("Amount", ViolationCode::OutOfRange, message)
}
