//! What a move of an Order is. Each names its trigger; the table of transitions is the guard.

use std::cmp::Ordering;

use dropin_kernel::{Change, LedgerTransactionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::MoneyRule;
use crate::failure::FailureReason;
use crate::ledger::{Account, LedgerTransaction};
use crate::order::{Order, OrderParts};
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
