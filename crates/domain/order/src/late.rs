//! Money that a processor moves for an Order whose life is over: it is booked and given back, and the merchant is not notified
//! (docs/SPECIFICATION.md#late-approval).

use dropin_kernel::{LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::ledger::Account;
use crate::order::Order;
use crate::state::OrderTrigger;
use crate::step::{Step, StepRefused, WrongState};

impl Order {
    /// The processor reserved `amount` after the Order's life was over; a void follows. Of more than the total, the total is booked; of another
    /// currency nothing is, and the step posts nothing.
    ///
    /// # Errors
    /// [`WrongState`] unless PROCESSING_FAILED or CANCELLED without any money.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{FailureReason, OrderState};
    /// let failed = started().refused(FailureReason::Expired, NOW).unwrap().change.next;
    /// let late = failed.authorized_late(&usd(1_000), id(4), LATER).unwrap().change.next;
    /// assert_eq!((late.state, late.amounts.capturable()), (OrderState::ProcessingFailed, usd(1_000)));
    /// assert!(late.voided(id(5), LATER).unwrap().change.next.amounts.capturable().is_zero());
    /// ```
    pub fn authorized_late(
        &self,
        amount: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, WrongState> {
        let booked = match amount.partial_cmp(&self.total) {
            Some(std::cmp::Ordering::Less) => *amount,
            Some(_) => self.total,
            None => Amount::zero(self.total.currency()),
        };
        let step = self.moved_late(OrderTrigger::AuthorizedLate, now)?;
        let amounts = self.still_disputed(Amounts::authorized(booked));
        let step = step.with(|order| order.amounts = amounts);
        Ok(step.posting(ledger, Account::Shopper, Account::Authorized, &booked))
    }

    /// What was authorized late is released.
    pub(crate) fn voided_late(&self, ledger: LedgerTransactionId, now: Timestamp) -> Result<Step, WrongState> {
        let rest = self.amounts.capturable();
        if rest.is_zero() {
            return Err(WrongState { found: self.state });
        }
        let step = self.moved(OrderTrigger::VoidedLate, now)?;
        let amounts = self.still_disputed(Amounts::none(rest.currency()));
        let step = step.with(|order| order.amounts = amounts);
        Ok(step.posting(ledger, Account::Authorized, Account::Shopper, &rest))
    }

    /// The processor took `amount` after the Order's life was over; all of it is reserved for the refund that follows.
    ///
    /// # Errors
    /// [`StepRefused`] unless PROCESSING_FAILED or CANCELLED without any money, and for an amount that is not within the total.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::FailureReason;
    /// let failed = started().refused(FailureReason::Expired, NOW).unwrap().change.next;
    /// let late = failed.paid_late(&usd(1_000), id(4), id(5), LATER).unwrap().change.next;
    /// assert_eq!(late.amounts.refund_pending(), &usd(1_000), "all of it goes back");
    /// ```
    pub fn paid_late(
        &self,
        amount: &Amount,
        authorization: LedgerTransactionId,
        capture: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        self.check_within_total(amount)?;
        let zero = Amount::zero(amount.currency());
        let amounts = Amounts::restore(*amount, *amount, zero, zero, *amount)
            .expect("as much is captured as authorized, and as much is to be refunded");
        let amounts = self.still_disputed(amounts);
        let step = self.moved_late(OrderTrigger::PaidLate, now)?.with(|order| order.amounts = amounts);
        Ok(step.posting(authorization, Account::Shopper, Account::Authorized, amount).posting(
            capture,
            Account::Authorized,
            Account::Captured,
            amount,
        ))
    }

    fn moved_late(&self, trigger: OrderTrigger, now: Timestamp) -> Result<Step, WrongState> {
        if self.amounts != self.still_disputed(Amounts::none(self.total.currency())) {
            return Err(WrongState { found: self.state });
        }
        self.moved(trigger, now)
    }

    /// Other amounts of this Order: what banks hold of it stays.
    fn still_disputed(&self, amounts: Amounts) -> Amounts {
        let disputed = *self.amounts.disputed();
        amounts.with_disputed(disputed).expect("amounts of one Order have its currency")
    }
}
