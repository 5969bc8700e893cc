//! The moves of an Order. Each names its trigger; the table of transitions is the guard.

use std::cmp::Ordering;

use dropin_kernel::{Change, LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::{Amounts, MoneyRule};
use crate::bank::BankDetails;
use crate::failure::FailureReason;
use crate::ledger::{Account, LedgerTransaction};
use crate::order::{Order, OrderParts, VoidCause};
use crate::state::{OrderState, OrderTransition, OrderTrigger, transition};

/// The Order is not in a state that allows this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Order is {}", .found.as_str())]
pub struct WrongState {
    /// The state it is in.
    pub found: OrderState,
}

/// A decided change of an Order: the row of the table it follows, and the money it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The Order after it.
    pub change: Change<Order>,
    /// The row of the table.
    pub transition: OrderTransition,
    /// What it posts.
    pub ledger: Vec<LedgerTransaction>,
}

/// Why a step is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepRefused {
    /// The state does not allow it.
    #[error(transparent)]
    State(#[from] WrongState),
    /// The amount does not.
    #[error(transparent)]
    Money(#[from] MoneyRule),
}

impl Step {
    pub(crate) fn posting(mut self, id: LedgerTransactionId, from: Account, to: Account, amount: &Amount) -> Self {
        if !amount.is_zero() {
            let (order, at) = (self.change.next.id, self.change.next.updated_at);
            self.ledger.push(LedgerTransaction::transfer(id, order, from, to, amount, at));
        }
        self
    }

    pub(crate) fn with(mut self, edit: impl FnOnce(&mut OrderParts)) -> Self {
        self.change.next.edit(edit);
        self
    }
}

impl Order {
    /// The move of the table, with nothing but the state changed.
    pub(crate) fn moved(&self, trigger: OrderTrigger, now: Timestamp) -> Result<Step, WrongState> {
        let row = transition(self.state, trigger).ok_or(WrongState { found: self.state })?;
        // Nothing needs the card any more, unless the issuer refused it: `refused` keeps it then.
        let refused = self.failure == Some(FailureReason::CardRefused);
        let card = self.card.filter(|_| row.to == OrderState::Processing || refused);
        let mut next = self.clone();
        next.edit(|order| {
            (order.state, order.revision, order.updated_at) = (row.to, self.revision.next(), now);
            order.card = card;
        });
        Ok(Step { change: Change { next, expected: self.revision }, transition: *row, ledger: Vec::new() })
    }

    /// The shopper has to visit a hosted page before `until`.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING.
    pub fn redirected(&self, page: String, until: Timestamp, now: Timestamp) -> Result<Step, WrongState> {
        let step = self.moved(OrderTrigger::Redirected, now)?;
        Ok(step.with(|order| {
            order.page = Some(page);
            order.expires_at = Some(until);
        }))
    }

    /// The shopper has to transfer the money before `until`; the merchant learns of the Order now.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING.
    pub fn transfer_awaited(&self, to: Box<BankDetails>, until: Timestamp, now: Timestamp) -> Result<Step, WrongState> {
        let step = self.moved(OrderTrigger::TransferAwaited, now)?;
        Ok(step.with(|order| {
            order.shown = true;
            order.page = None;
            order.bank_details = Some(to);
            order.expires_at = Some(until);
        }))
    }

    /// The pay-later provider took it into its review; the merchant learns of the Order now.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING.
    pub fn taken_into_review(&self, now: Timestamp) -> Result<Step, WrongState> {
        let step = self.moved(OrderTrigger::TakenIntoReview, now)?;
        Ok(step.with(|order| {
            order.shown = true;
            order.page = None;
            order.expires_at = None;
        }))
    }

    /// The processor reserved `answered`; the merchant learns of the Order now. Another amount than was asked for, and whatever the processor
    /// wants looked at, is held for review; never is more than the total, or another currency, ours to capture.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING.
    pub fn authorized(
        &self,
        answered: &Amount,
        under_review: bool,
        capture_before: Timestamp,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, WrongState> {
        let exact = *answered == self.total;
        let usable = match answered.partial_cmp(&self.total) {
            Some(Ordering::Less) => *answered,
            Some(_) => self.total,
            None => Amount::zero(self.total.currency()),
        };
        let trigger = if exact { OrderTrigger::Authorized } else { OrderTrigger::AuthorizedOtherwise };
        let step = self.moved(trigger, now)?.with(|order| {
            order.shown = !self.is_verification();
            order.page = None;
            order.under_review = under_review || !exact;
            order.amounts = Amounts::authorized(usable);
            order.expires_at = Some(capture_before);
        });
        Ok(step.posting(ledger, Account::Shopper, Account::Authorized, &usable))
    }

    /// An Order of nothing was authorized: its card is verified, and there is nothing to capture.
    ///
    /// # Errors
    /// [`WrongState`] unless PAYMENT_AUTHORIZED with a total of zero.
    pub fn verified(&self, now: Timestamp) -> Result<Step, WrongState> {
        if !self.total.is_zero() {
            return Err(WrongState { found: self.state });
        }
        let step = self.moved(OrderTrigger::Captured, now)?;
        Ok(step.with(|order| {
            order.under_review = false;
            order.capture_promised = None;
            order.expires_at = None;
        }))
    }

    /// The pay-later provider approved what it reviewed: `approved` is reserved, and may be captured until `capture_before`.
    ///
    /// # Errors
    /// [`StepRefused`] unless COMMIT_ACCEPTED, and for an amount that is not within the total.
    pub fn provider_approved(
        &self,
        approved: &Amount,
        capture_before: Timestamp,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        self.check_within_total(approved)?;
        let step = self.moved(OrderTrigger::ProviderApproved, now)?.with(|order| {
            order.under_review = false;
            order.amounts = Amounts::authorized(*approved);
            order.expires_at = Some(capture_before);
        });
        Ok(step.posting(ledger, Account::Shopper, Account::Authorized, approved))
    }

    /// The shopper's transfer arrived: `paid` of the total.
    ///
    /// # Errors
    /// [`StepRefused`] unless PROCESSING, and for an amount that is not within the total.
    pub fn paid(
        &self,
        paid: &Amount,
        authorization: LedgerTransactionId,
        capture: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        self.check_within_total(paid)?;
        let zero = Amount::zero(paid.currency());
        let amounts = Amounts::restore(*paid, *paid, zero, zero, zero)
            .expect("as much is captured as authorized, and nothing refunded");
        let step = self.moved(OrderTrigger::Paid, now)?.with(|order| {
            order.shown = true;
            order.page = None;
            order.under_review = false;
            order.expires_at = None;
            order.amounts = amounts;
        });
        Ok(step.posting(authorization, Account::Shopper, Account::Authorized, paid).posting(
            capture,
            Account::Authorized,
            Account::Captured,
            paid,
        ))
    }

    /// The attempt was refused; an Order that was not shown stays so.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING or COMMIT_ACCEPTED.
    pub fn refused(&self, reason: FailureReason, now: Timestamp) -> Result<Step, WrongState> {
        Ok(self.moved(OrderTrigger::Refused, now)?.with(|order| {
            order.failure = Some(reason);
            order.card = self.card.filter(|_| reason == FailureReason::CardRefused);
            order.page = None;
            order.expires_at = None;
            order.voiding = None;
            order.under_review = false;
            order.capture_promised = None;
        }))
    }

    /// The processor captured `amount`, which was reserved; the rest of the authorization is released.
    ///
    /// # Errors
    /// [`StepRefused`] when that much was not reserved, or in no state to capture: the stored Order and the processor disagree.
    pub fn captured(
        &self,
        reserved: &Amount,
        taken: &Amount,
        capture: LedgerTransactionId,
        release: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let released = self.amounts.release_capture(reserved)?;
        let amounts = released.reserve_capture(taken).and_then(|held| held.post_capture(taken))?;
        let rest = amounts.capturable();
        let step = self.moved(OrderTrigger::Captured, now)?.with(|order| {
            order.amounts = amounts;
            order.under_review = false;
            order.capture_promised = None;
            order.expires_at = None;
        });
        Ok(step.posting(capture, Account::Authorized, Account::Captured, taken).posting(
            release,
            Account::Authorized,
            Account::Shopper,
            &rest,
        ))
    }

    /// The processor refused the capture of `amount`; its reservation is released. When `retryable`, the Order stays
    /// PAYMENT_AUTHORIZED, else the authorization is worth nothing any more, is released and the Order fails.
    ///
    /// # Errors
    /// [`StepRefused`] when that much was not reserved, or in no state to capture.
    pub fn capture_refused(
        &self,
        amount: &Amount,
        retryable: bool,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let amounts = self.amounts.release_capture(amount)?;
        if retryable {
            let step = self.moved(OrderTrigger::CaptureRefusedForNow, now)?;
            return Ok(step.with(|order| order.amounts = amounts));
        }
        let rest = amounts.capturable();
        let step = self.moved(OrderTrigger::CaptureRefusedForGood, now)?.with(|order| {
            order.amounts = amounts;
            order.under_review = false;
            order.capture_promised = None;
            order.expires_at = None;
        });
        Ok(step.posting(ledger, Account::Authorized, Account::Shopper, &rest))
    }

    /// The processor voided it: the Order ends as the cause says. An attempt that nobody was told of fails instead. Of an Order whose life was over
    /// before, what was authorized late is released.
    ///
    /// # Errors
    /// [`WrongState`] when its life is over already and nothing was authorized late: nothing changes any more.
    pub fn voided(&self, ledger: LedgerTransactionId, now: Timestamp) -> Result<Step, WrongState> {
        if self.state.is_final() {
            return self.voided_late(ledger, now);
        }
        if !self.shown {
            return self.refused(FailureReason::Expired, now);
        }
        let trigger = match self.voiding {
            Some(VoidCause::Review) if self.state == OrderState::PaymentAuthorized => OrderTrigger::ReviewDeclined,
            _ => OrderTrigger::Cancelled,
        };
        let rest = self.amounts.capturable();
        let step = self.moved(trigger, now)?.with(|order| {
            order.page = None;
            order.expires_at = None;
            order.voiding = None;
            order.capture_promised = None;
            order.under_review = false;
        });
        Ok(step.posting(ledger, Account::Authorized, Account::Shopper, &rest))
    }

    /// The processor can no longer void it: it goes on as if the void had not been asked for, and ends by itself at `ends_at` where that is given.
    ///
    /// # Errors
    /// [`WrongState`] when its life ended without being captured.
    pub fn void_refused(&self, ends_at: Option<Timestamp>, now: Timestamp) -> Result<Step, WrongState> {
        Ok(self.moved(OrderTrigger::VoidRefused, now)?.with(|order| {
            order.voiding = None;
            order.expires_at = ends_at.or(order.expires_at);
        }))
    }

    /// The processor reports another amount than was asked for, of money that has moved already: held for review until somebody decides,
    /// so that no transfer or page lapses meanwhile.
    ///
    /// # Errors
    /// [`WrongState`] in a state in which nothing is asked.
    pub fn amount_differs(&self, now: Timestamp) -> Result<Step, WrongState> {
        Ok(self.moved(OrderTrigger::AmountDiffers, now)?.with(|order| {
            order.under_review = true;
            if order.state == OrderState::Processing {
                order.expires_at = None;
            }
        }))
    }

    /// The processor gave `given` back, of `reserved`. A hold ends with the refund that it is about: the one of which less was accepted, or the last.
    ///
    /// # Errors
    /// [`StepRefused`] when that much was not reserved, or in no state to refund.
    pub fn refund_succeeded(
        &self,
        reserved: &Amount,
        given: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let released = self.amounts.release_refund(reserved)?;
        let amounts = released.reserve_refund(given).and_then(|held| held.post_refund(given))?;
        let accepted = given != reserved;
        // What was taken after the end of the Order's life is given back without an event.
        let trigger = match self.state {
            OrderState::Processed => OrderTrigger::RefundSucceeded,
            _ => OrderTrigger::RefundedLate,
        };
        let step = self.moved(trigger, now)?.with(|order| {
            order.amounts = amounts;
            order.under_review &= !accepted && order.amounts.has_open_refund();
        });
        Ok(step.posting(ledger, Account::Captured, Account::Refunded, given))
    }

    /// The processor refused to give `amount` back; its reservation is released.
    ///
    /// # Errors
    /// [`StepRefused`] when that much was not reserved, or in no state to refund.
    pub fn refund_failed(&self, amount: &Amount, now: Timestamp) -> Result<Step, StepRefused> {
        let amounts = self.amounts.release_refund(amount)?;
        Ok(self.moved(OrderTrigger::RefundFailed, now)?.with(|order| {
            order.amounts = amounts;
            order.under_review &= order.amounts.has_open_refund();
        }))
    }

    /// An answer of the processor is an amount that the Order asked for: above zero, and within its total.
    pub(crate) fn check_within_total(&self, answered: &Amount) -> Result<(), MoneyRule> {
        match answered.partial_cmp(&self.total) {
            None => Err(MoneyRule::MixedCurrencies),
            Some(Ordering::Greater) => Err(MoneyRule::NotWithinTotal),
            Some(_) if answered.is_zero() => Err(MoneyRule::NotWithinTotal),
            Some(_) => Ok(()),
        }
    }
}
