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
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// let refused = authorized().redirected("https://bank.example/page".to_owned(), LATER, NOW).unwrap_err();
/// assert_eq!(refused.to_string(), "the Order is PAYMENT_AUTHORIZED");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Order is {}", .found.as_str())]
pub struct WrongState {
    /// The state it is in.
    pub found: OrderState,
}

/// A decided change of an Order: the row of the table it follows, and the money it moves.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// # use dropin_order::OrderTrigger;
/// let before = started();
/// let step = before.authorized(&usd(1_000), false, LATER, id(4), NOW).unwrap();
/// assert_eq!((step.change.expected, step.change.next.revision), (before.revision, before.revision.next()));
/// assert_eq!((step.transition.trigger, step.ledger.len()), (OrderTrigger::Authorized, 1));
/// ```
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
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// let refused = authorized().captured(&usd(600), &usd(600), id(5), id(6), NOW).unwrap_err();
/// assert_eq!(refused.to_string(), "that much was not asked of the processor");
/// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let page = "https://bank.example/page".to_owned();
    /// let step = started().redirected(page.clone(), LATER, NOW).unwrap();
    /// assert_eq!((&step.change.next.page, step.change.next.expires_at), (&Some(page), Some(LATER)));
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let bank = Box::new(dropin_order::BankDetails { iban: Some("DE89370400440532013000".to_owned()), ..Default::default() });
    /// let order = started().transfer_awaited(bank, LATER, NOW).unwrap().change.next;
    /// assert!(order.shown && order.awaits_transfer());
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let step = started().taken_into_review(NOW).unwrap();
    /// assert_eq!(step.change.next.state, OrderState::CommitAccepted);
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Account;
    /// let exact = started().authorized(&usd(1_000), false, LATER, id(4), NOW).unwrap();
    /// assert_eq!(moves(&exact.ledger), [(Account::Shopper, -1_000), (Account::Authorized, 1_000)]);
    /// // Another amount than was asked for is held, and no more than the total counts.
    /// let more = started().authorized(&usd(9_999), false, LATER, id(4), NOW).unwrap().change.next;
    /// assert!(more.under_review && *more.amounts.total_authorized() == usd(1_000));
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// // Something is to be paid.
    /// assert!(authorized().verified(NOW).is_err());
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let reviewed = started().taken_into_review(NOW).unwrap().change.next;
    /// let order = reviewed.provider_approved(&usd(900), LATER, id(4), NOW).unwrap().change.next;
    /// assert_eq!((order.state, *order.amounts.total_authorized()), (OrderState::PaymentAuthorized, usd(900)));
    /// assert!(reviewed.provider_approved(&usd(1_001), LATER, id(4), NOW).is_err(), "more than the total");
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let order = started().paid(&usd(1_000), id(4), id(5), NOW).unwrap().change.next;
    /// assert_eq!((order.state, *order.amounts.captured()), (OrderState::Processed, usd(1_000)));
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{FailureReason, OrderState};
    /// let order = started().refused(FailureReason::InsufficientFunds, NOW).unwrap().change.next;
    /// assert_eq!((order.state, order.failure), (OrderState::ProcessingFailed, Some(FailureReason::InsufficientFunds)));
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Account;
    /// let asked = authorized().request_capture(&usd(600), NOW).unwrap().change.next;
    /// let step = asked.captured(&usd(600), &usd(600), id(5), id(6), NOW).unwrap();
    /// assert_eq!(*step.change.next.amounts.captured(), usd(600));
    /// // The rest of the authorization is released.
    /// assert_eq!(moves(&step.ledger)[2..], [(Account::Authorized, -400), (Account::Shopper, 400)]);
    /// assert!(authorized().captured(&usd(600), &usd(600), id(5), id(6), NOW).is_err(), "it was not asked for");
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let asked = authorized().request_capture(&usd(600), NOW).unwrap().change.next;
    /// let again = asked.capture_refused(&usd(600), true, id(5), NOW).unwrap().change.next;
    /// let failed = asked.capture_refused(&usd(600), false, id(5), NOW).unwrap().change.next;
    /// assert_eq!([again.state, failed.state], [OrderState::PaymentAuthorized, OrderState::ProcessingFailed]);
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, OrderState, VoidPlan};
    /// let VoidPlan::Ask(asked) = authorized().plan_cancel(NOW).unwrap() else { panic!("nothing is in flight") };
    /// let step = asked.change.next.voided(id(5), NOW).unwrap();
    /// assert_eq!(step.change.next.state, OrderState::Cancelled);
    /// assert_eq!(moves(&step.ledger), [(Account::Authorized, -1_000), (Account::Shopper, 1_000)]);
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let asked = void_asked(&authorized()).unwrap().change.next;
    /// let order = asked.void_refused(None, NOW).unwrap().change.next;
    /// assert_eq!((order.voiding, order.expires_at), (None, Some(LATER)));
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// assert!(started().amount_differs(NOW).unwrap().change.next.is_held());
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, OrderState};
    /// let (step, amount) = in_state(OrderState::Processed).plan_refund(Some(&usd(100)), NOW).unwrap();
    /// let done = step.change.next.refund_succeeded(&amount, &amount, id(5), NOW).unwrap();
    /// assert_eq!(moves(&done.ledger), [(Account::Captured, -100), (Account::Refunded, 100)]);
    /// ```
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
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let (step, amount) = in_state(OrderState::Processed).plan_refund(Some(&usd(100)), NOW).unwrap();
    /// let order = step.change.next.refund_failed(&amount, NOW).unwrap().change.next;
    /// assert_eq!(order.amounts, in_state(OrderState::Processed).amounts, "as before it was asked for");
    /// ```
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
