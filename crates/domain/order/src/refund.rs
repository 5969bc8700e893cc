use dropin_kernel::{LedgerTransactionId, MerchantId, OrderId, RefundId, Timestamp, coded_enum};
use dropin_money::Amount;

use crate::ledger::Account;
use crate::order::Order;
use crate::state::{OrderState, OrderTrigger};
use crate::step::{Step, StepRefused};

coded_enum! {
    /// Where a refund stands (docs/SPECIFICATION.md#order-refund).
    pub enum RefundState: "refund state" {
        /// Asked of the processor, outcome open.
        InProgress = "IN_PROGRESS",
        /// The money was given back.
        Succeeded = "SUCCEEDED",
        /// The processor refused, or took it back afterwards: the shopper does not have the money.
        Failed = "FAILED",
    }
}

/// Money given back of a captured Order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Refund {
    /// Identifier.
    pub id: RefundId,
    /// The Order.
    pub order_id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// The merchant's own name for it, unique per Order.
    pub reference: String,
    /// How much.
    pub amount: Amount,
    /// What that takes from the merchant's settlement, at the rate of the sale; of sales at a guaranteed rate only (docs/SPECIFICATION.md#settlement).
    pub settlement: Option<Amount>,
    /// For the merchant's own records.
    pub description: Option<String>,
    /// Where it stands.
    pub state: RefundState,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Refund {
    /// The refund once the processor has decided.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Refund, RefundState};
    /// let refund = Refund {
    ///     id: id(6),
    ///     order_id: id(1),
    ///     merchant_id: id(2),
    ///     reference: "r-1".to_owned(),
    ///     amount: usd(100),
    ///     settlement: None,
    ///     description: None,
    ///     state: RefundState::InProgress,
    ///     created_at: NOW,
    ///     updated_at: NOW,
    /// };
    /// let done = refund.decided(true, LATER);
    /// assert_eq!((done.state, done.updated_at), (RefundState::Succeeded, LATER));
    /// ```
    #[must_use]
    pub fn decided(&self, succeeded: bool, now: Timestamp) -> Self {
        let state = if succeeded { RefundState::Succeeded } else { RefundState::Failed };
        Self { state, updated_at: now, ..self.clone() }
    }
}

impl Order {
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

    /// The processor tells that `amount`, which it had given back, did not reach the shopper: it is captured still, and can be refunded again.
    ///
    /// # Errors
    /// [`StepRefused`] when that much was not given back, or the Order's life ended otherwise than paid.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, OrderState};
    /// let order = in_state(OrderState::Processed);
    /// let taken_back = order.refund_taken_back(&usd(100), id(5), NOW).unwrap();
    /// assert_eq!(moves(&taken_back.ledger), [(Account::Refunded, -100), (Account::Captured, 100)]);
    /// assert!(order.refund_taken_back(&usd(101), id(5), NOW).is_err(), "only 100 were refunded");
    /// ```
    pub fn refund_taken_back(
        &self,
        amount: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let amounts = self.amounts.take_back_refund(amount)?;
        let step = self.moved(OrderTrigger::RefundFailed, now)?.with(|order| order.amounts = amounts);
        Ok(step.posting(ledger, Account::Refunded, Account::Captured, amount))
    }
}
