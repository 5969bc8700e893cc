use dropin_kernel::coded_enum;
use dropin_kernel::{MerchantId, OrderId, RefundId, Timestamp};
use dropin_money::Amount;

coded_enum! {
    /// Where a refund stands (docs/SPECIFICATION.md#order-refund).
    pub enum RefundState: "refund state" {
        /// Asked of the processor, outcome open.
        InProgress = "IN_PROGRESS",
        /// The money was given back.
        Succeeded = "SUCCEEDED",
        /// The processor refused; nothing was given back.
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
