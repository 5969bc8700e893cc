//! The moves of an Order. Each names its trigger; the table of transitions is the guard.

use dropin_kernel::{Change, LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::bank::BankDetails;
use crate::ledger::{Account, LedgerTransaction};
use crate::order::{Order, VoidCause};
use crate::state::{OrderState, OrderTrigger, Transition, transition};

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
    pub transition: Transition,
    /// What it posts.
    pub ledger: Vec<LedgerTransaction>,
}

impl Step {
    fn posting(mut self, id: LedgerTransactionId, from: Account, to: Account, amount: &Amount) -> Self {
        if !amount.is_zero() {
            let (order, at) = (self.change.next.id, self.change.next.updated_at);
            self.ledger.push(LedgerTransaction::transfer(id, order, from, to, amount, at));
        }
        self
    }

    fn with(mut self, edit: impl FnOnce(&mut Order)) -> Self {
        edit(&mut self.change.next);
        self
    }
}

impl Order {
    /// The move of the table, with nothing but the state changed.
    pub(crate) fn moved(&self, trigger: OrderTrigger, now: Timestamp) -> Result<Step, WrongState> {
        let row = transition(self.state, trigger).ok_or(WrongState { found: self.state })?;
        let next = Self { state: row.to, revision: self.revision.next(), updated_at: now, ..self.clone() };
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
            Some(std::cmp::Ordering::Less) => answered.clone(),
            Some(_) => self.total.clone(),
            None => Amount::zero(self.total.currency()),
        };
        let trigger = if exact { OrderTrigger::Authorized } else { OrderTrigger::AuthorizedOtherwise };
        let step = self.moved(trigger, now)?.with(|order| {
            order.shown = true;
            order.page = None;
            order.under_review = under_review || !exact;
            order.amounts = Amounts::authorized(usable.clone());
            order.expires_at = Some(capture_before);
        });
        Ok(step.posting(ledger, Account::Shopper, Account::Authorized, &usable))
    }

    /// The pay-later provider approved what it reviewed: `approved` is reserved and captured next, in this state.
    ///
    /// # Errors
    /// [`WrongState`] unless COMMIT_ACCEPTED and not approved before.
    pub fn provider_approved(
        &self,
        approved: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, WrongState> {
        let step = self.moved(OrderTrigger::ProviderApproved, now)?.with(|order| {
            order.under_review = false;
            order.amounts = Amounts::authorized(approved.clone());
        });
        Ok(step.posting(ledger, Account::Shopper, Account::Authorized, approved))
    }

    /// The money was taken at once: `paid` of the total. The merchant learns of the Order now.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING.
    pub fn paid(
        &self,
        paid: &Amount,
        ids: (LedgerTransactionId, LedgerTransactionId),
        now: Timestamp,
    ) -> Result<Step, WrongState> {
        let zero = Amount::zero(paid.currency());
        let amounts = Amounts::restore(paid.clone(), paid.clone(), zero.clone(), zero.clone(), zero)
            .expect("as much is captured as authorized, and nothing refunded");
        let step = self.moved(OrderTrigger::Paid, now)?.with(|order| {
            order.shown = true;
            order.page = None;
            order.under_review = false;
            order.expires_at = None;
            order.amounts = amounts;
        });
        Ok(step.posting(ids.0, Account::Shopper, Account::Authorized, paid).posting(
            ids.1,
            Account::Authorized,
            Account::Captured,
            paid,
        ))
    }

    /// The attempt was refused; an Order that was not shown stays so.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING or COMMIT_ACCEPTED.
    pub fn refused(&self, now: Timestamp) -> Result<Step, WrongState> {
        Ok(self.moved(OrderTrigger::Refused, now)?.with(|order| {
            order.page = None;
            order.expires_at = None;
            order.voiding = None;
            order.under_review = false;
            order.capture_promised = None;
        }))
    }

    /// The processor captured `amount`, which was reserved; the rest of the authorization is released.
    ///
    /// `None` when that much was not reserved, or in no state to capture: the row and the processor disagree.
    pub fn captured(
        &self,
        reserved: &Amount,
        taken: &Amount,
        ids: (LedgerTransactionId, LedgerTransactionId),
        now: Timestamp,
    ) -> Option<Step> {
        let released = self.amounts.release_capture(reserved).ok()?;
        let amounts = released.reserve_capture(taken).and_then(|held| held.post_capture(taken)).ok()?;
        let rest = amounts.capturable();
        let step = self.moved(OrderTrigger::Captured, now).ok()?.with(|order| {
            order.amounts = amounts;
            order.under_review = false;
            order.capture_promised = None;
            order.expires_at = None;
        });
        Some(step.posting(ids.0, Account::Authorized, Account::Captured, taken).posting(
            ids.1,
            Account::Authorized,
            Account::Shopper,
            &rest,
        ))
    }

    /// The processor refused the capture of `amount`; its reservation is released. When `retryable`, the Order stays
    /// PAYMENT_AUTHORIZED, else the authorization is worth nothing any more, is released and the Order fails.
    ///
    /// `None` when that much was not reserved, or in no state to capture.
    pub fn capture_refused(
        &self,
        amount: &Amount,
        retryable: bool,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Option<Step> {
        let amounts = self.amounts.release_capture(amount).ok()?;
        if retryable {
            let step = self.moved(OrderTrigger::CaptureRefusedForNow, now).ok()?;
            return Some(step.with(|order| order.amounts = amounts));
        }
        let rest = amounts.capturable();
        let step = self.moved(OrderTrigger::CaptureRefusedForGood, now).ok()?.with(|order| {
            order.amounts = amounts;
            order.under_review = false;
            order.capture_promised = None;
            order.expires_at = None;
        });
        Some(step.posting(ledger, Account::Authorized, Account::Shopper, &rest))
    }

    /// The processor voided it: the Order ends as the cause says. An attempt that nobody was told of fails with its Session instead.
    ///
    /// # Errors
    /// [`WrongState`] when its life is over already: nothing changes any more.
    pub fn voided(&self, ledger: LedgerTransactionId, now: Timestamp) -> Result<Step, WrongState> {
        if !self.shown {
            return self.refused(now);
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

    /// The processor can no longer void it: it goes on as if nobody had asked.
    ///
    /// # Errors
    /// [`WrongState`] when its life ended without being captured.
    pub fn void_refused(&self, now: Timestamp) -> Result<Step, WrongState> {
        Ok(self.moved(OrderTrigger::VoidRefused, now)?.with(|order| order.voiding = None))
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
    /// `None` when that much was not reserved, or in no state to refund.
    pub fn refund_succeeded(
        &self,
        reserved: &Amount,
        given: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Option<Step> {
        let released = self.amounts.release_refund(reserved).ok()?;
        let amounts = released.reserve_refund(given).and_then(|held| held.post_refund(given)).ok()?;
        let accepted = given != reserved;
        let step = self.moved(OrderTrigger::RefundSucceeded, now).ok()?.with(|order| {
            order.amounts = amounts;
            order.under_review &= !accepted && order.has_open_refund();
        });
        Some(step.posting(ledger, Account::Captured, Account::Refunded, given))
    }

    /// The processor refused to give `amount` back; its reservation is released.
    ///
    /// `None` when that much was not reserved, or in no state to refund.
    pub fn refund_failed(&self, amount: &Amount, now: Timestamp) -> Option<Step> {
        let amounts = self.amounts.release_refund(amount).ok()?;
        Some(self.moved(OrderTrigger::RefundFailed, now).ok()?.with(|order| {
            order.amounts = amounts;
            order.under_review &= order.has_open_refund();
        }))
    }

    /// Whether a refund is under way, which may be the one that a captured Order is held for.
    fn has_open_refund(&self) -> bool {
        !self.amounts.refund_pending().is_zero()
    }
}
