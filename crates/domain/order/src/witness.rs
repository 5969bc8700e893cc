use std::time::Duration;

use dropin_kernel::{Change, LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::ledger::{Account, LedgerTransaction};
use crate::order::Order;
use crate::state::{OrderState, OrderTrigger, Transition, transition};

/// How long an authorized card payment may be captured (decisions.md section 4).
const CARD_CAPTURE_WINDOW: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The Order is not in a state that allows this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Order is {}", .found.as_str())]
pub struct WrongState {
    /// The state it is in.
    pub found: OrderState,
}

/// Why a capture is not started (decisions.md section 4, `POST …/capture`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CaptureRefused {
    /// In a state without anything to capture, or captured with another amount before.
    #[error("the Order is {}", .found.as_str())]
    WrongState {
        /// The state it is in.
        found: OrderState,
    },
    /// Zero, or more than was authorized.
    #[error("the amount must be above zero and at most what was authorized")]
    AmountOutOfRange,
}

/// What a request to capture leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturePlan {
    /// Ask the processor for this much; the change reserves it.
    Ask {
        /// The reservation.
        step: Box<Step>,
        /// How much to ask for.
        amount: Amount,
    },
    /// It was captured before, with this very amount: nothing moves twice.
    AlreadyCaptured,
    /// A capture is in flight.
    InFlight,
    /// Held by review; captured when the review is approved.
    UnderReview,
}

/// A decided change of an Order: the row of the table it follows, and the money it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The Order after it.
    pub change: Change<Order>,
    /// The row of the table.
    pub transition: Transition,
    /// What it posts.
    pub ledger: Vec<LedgerTransaction>,
}

/// Proof that an Order's attempt runs.
#[derive(Debug)]
pub struct Processing<'a>(&'a Order);

/// Proof that money is reserved and not captured.
#[derive(Debug)]
pub struct Authorized<'a>(&'a Order);

impl Order {
    /// Proof that an attempt runs.
    ///
    /// # Errors
    /// [`WrongState`] in any other state.
    pub fn as_processing(&self) -> Result<Processing<'_>, WrongState> {
        match self.state {
            OrderState::Processing => Ok(Processing(self)),
            found => Err(WrongState { found }),
        }
    }

    /// Proof that money is reserved and not captured.
    ///
    /// # Errors
    /// [`WrongState`] in any other state.
    pub fn as_authorized(&self) -> Result<Authorized<'_>, WrongState> {
        match self.state {
            OrderState::PaymentAuthorized => Ok(Authorized(self)),
            found => Err(WrongState { found }),
        }
    }

    /// Decides what a request to capture `amount` (all that is authorized when `None`) leads to.
    ///
    /// # Errors
    /// [`CaptureRefused`].
    pub fn plan_capture(&self, amount: Option<&Amount>, now: Timestamp) -> Result<CapturePlan, CaptureRefused> {
        match self.state {
            OrderState::Processed if amount.is_none_or(|asked| asked == self.amounts.captured()) => {
                Ok(CapturePlan::AlreadyCaptured)
            }
            OrderState::CommitAccepted => Ok(CapturePlan::UnderReview),
            OrderState::PaymentAuthorized if self.under_review => Ok(CapturePlan::UnderReview),
            OrderState::PaymentAuthorized if !self.amounts.capture_pending().is_zero() => Ok(CapturePlan::InFlight),
            OrderState::PaymentAuthorized if self.capture_before.is_some_and(|end| end <= now) => {
                Err(CaptureRefused::WrongState { found: OrderState::Cancelled })
            }
            OrderState::PaymentAuthorized => {
                let amount = amount.cloned().unwrap_or_else(|| self.amounts.capturable());
                let step = Authorized(self).request_capture(&amount, now)?;
                Ok(CapturePlan::Ask { step: Box::new(step), amount })
            }
            found => Err(CaptureRefused::WrongState { found }),
        }
    }

    fn moved(&self, trigger: OrderTrigger, amounts: Amounts, now: Timestamp) -> (Self, Transition) {
        let row = transition(self.state, trigger).expect("witnesses only offer moves of the table");
        let next = Self { state: row.to, amounts, revision: self.revision.next(), updated_at: now, ..self.clone() };
        (next, *row)
    }

    fn step(&self, (next, transition): (Self, Transition), ledger: Vec<LedgerTransaction>) -> Step {
        Step { change: Change { next, expected: self.revision }, transition, ledger }
    }
}

impl Processing<'_> {
    /// The processor authorized the whole total; the merchant learns of the Order now.
    pub fn authorized(self, ledger: LedgerTransactionId, now: Timestamp) -> Step {
        let order = self.0;
        let (mut next, row) = order.moved(OrderTrigger::Authorized, Amounts::authorized(order.total.clone()), now);
        next.shown = true;
        next.capture_before = Some(now.plus(CARD_CAPTURE_WINDOW));
        let posted =
            LedgerTransaction::transfer(ledger, order.id, Account::Shopper, Account::Authorized, &order.total, now);
        order.step((next, row), vec![posted])
    }

    /// The attempt was refused; the Order stays unshown.
    pub fn refused(self, now: Timestamp) -> Step {
        let moved = self.0.moved(OrderTrigger::Refused, self.0.amounts.clone(), now);
        self.0.step(moved, Vec::new())
    }
}

impl Authorized<'_> {
    /// Reserves `amount` before the processor is asked.
    ///
    /// # Errors
    /// [`CaptureRefused::AmountOutOfRange`].
    pub fn request_capture(self, amount: &Amount, now: Timestamp) -> Result<Step, CaptureRefused> {
        if amount.is_zero() {
            return Err(CaptureRefused::AmountOutOfRange);
        }
        let amounts = self.0.amounts.reserve_capture(amount).map_err(|_rule| CaptureRefused::AmountOutOfRange)?;
        let moved = self.0.moved(OrderTrigger::CaptureRequested, amounts, now);
        Ok(self.0.step(moved, Vec::new()))
    }

    /// The processor captured `amount`, which was reserved; the rest of the authorization is released.
    ///
    /// `None` when that much was not reserved: the row and the processor disagree.
    pub fn captured(
        self,
        amount: &Amount,
        ids: (LedgerTransactionId, LedgerTransactionId),
        now: Timestamp,
    ) -> Option<Step> {
        let order = self.0;
        let amounts = order.amounts.post_capture(amount).ok()?;
        let rest = amounts.capturable();
        let mut ledger =
            vec![LedgerTransaction::transfer(ids.0, order.id, Account::Authorized, Account::Captured, amount, now)];
        if !rest.is_zero() {
            ledger.push(LedgerTransaction::transfer(
                ids.1,
                order.id,
                Account::Authorized,
                Account::Shopper,
                &rest,
                now,
            ));
        }
        Some(order.step(order.moved(OrderTrigger::Captured, amounts, now), ledger))
    }

    /// The processor refused the capture of `amount`; its reservation is released. When `retryable`, the Order stays
    /// PAYMENT_AUTHORIZED, else the authorization is worth nothing any more and the Order fails.
    ///
    /// `None` when that much was not reserved.
    pub fn capture_refused(self, amount: &Amount, retryable: bool, now: Timestamp) -> Option<Step> {
        let amounts = self.0.amounts.release_capture(amount).ok()?;
        let trigger = if retryable { OrderTrigger::CaptureRefusedForNow } else { OrderTrigger::CaptureRefusedForGood };
        Some(self.0.step(self.0.moved(trigger, amounts, now), Vec::new()))
    }
}
