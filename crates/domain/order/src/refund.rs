use dropin_kernel::{MerchantId, OrderId, RefundId, Timestamp};
use dropin_money::Amount;

/// Where a refund stands (decisions.md section 4, `POST …/refund`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefundState {
    /// Asked of the processor, outcome open.
    InProgress,
    /// The money was given back.
    Succeeded,
    /// The processor refused; nothing was given back.
    Failed,
}

impl RefundState {
    /// Every state; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 3] = [Self::InProgress, Self::Succeeded, Self::Failed];

    /// The spelling on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == code)
    }
}

/// Money given back of a captured Order.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What that takes from the merchant's settlement, at the rate of the sale; of sales at a guaranteed rate only (decisions.md section 5).
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
    #[must_use]
    pub fn decided(&self, succeeded: bool, now: Timestamp) -> Self {
        let state = if succeeded { RefundState::Succeeded } else { RefundState::Failed };
        Self { state, updated_at: now, ..self.clone() }
    }
}
