//! How an attempt to pay goes on: the shopper's page, a transfer, a review, and what the processor answers.

use std::cmp::Ordering;

use dropin_kernel::{LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::bank::BankDetails;
use crate::failure::FailureReason;
use crate::ledger::Account;
use crate::order::Order;
use crate::state::{OrderState, OrderTrigger};
use crate::step::{Step, StepRefused, WrongState};

impl Order {
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
}
