//! What becomes of reserved money: it is taken, or given up.

use dropin_kernel::{LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::failure::FailureReason;
use crate::ledger::Account;
use crate::order::{Order, VoidCause};
use crate::state::{OrderState, OrderTrigger};
use crate::step::{Step, StepRefused, WrongState};

impl Order {
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
}
