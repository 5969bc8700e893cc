use dropin_kernel::{OpId, OrderId, Timestamp};
use dropin_money::Amount;

/// What is asked of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Reserve money at the issuer.
    Authorize,
    /// Take reserved money.
    Capture,
}

impl OpKind {
    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorize => "AUTHORIZE",
            Self::Capture => "CAPTURE",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        [Self::Authorize, Self::Capture].into_iter().find(|kind| kind.as_str() == code)
    }
}

/// What is known of an operation's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpState {
    /// Written down; it may be on its way to the processor right now.
    Prepared,
    /// Asked, and the answer did not arrive or made no sense. Keeps its reservation; never turned into a failure by giving up.
    Unknown,
    /// The processor has accepted it and will decide later.
    Pending,
    /// Done.
    Approved,
    /// Refused by the processor or the issuer.
    Declined,
    /// The processor was told to refuse its key for ever, and it had done nothing before.
    Abandoned,
}

impl OpState {
    /// Every state; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 6] =
        [Self::Prepared, Self::Unknown, Self::Pending, Self::Approved, Self::Declined, Self::Abandoned];

    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "PREPARED",
            Self::Unknown => "UNKNOWN",
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Declined => "DECLINED",
            Self::Abandoned => "ABANDONED",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == code)
    }

    /// Whether the outcome is still open and somebody must ask again.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Prepared | Self::Unknown | Self::Pending)
    }
}

/// Why a processor refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclineReason {
    /// No reason given, or one that the shopper must not learn.
    Generic,
    /// The account lacks the money.
    InsufficientFunds,
    /// Number, expiry or code is wrong.
    InvalidCard,
    /// The processor was never reached, or was told to refuse the key for ever.
    NeverSent,
}

/// One thing asked of the processor, written down before it is asked. Its id is the processor's idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Identifier, and idempotency key at the processor.
    pub id: OpId,
    /// The Order it belongs to.
    pub order_id: OrderId,
    /// What is asked.
    pub kind: OpKind,
    /// How much.
    pub amount: Amount,
    /// The authorization that a capture takes from; `None` for an authorization itself.
    pub authorization: Option<OpId>,
    /// What is known.
    pub state: OpState,
    /// How often somebody took it over; a late answer of an earlier holder is recognised by it.
    pub epoch: i64,
    /// How often its status was asked for without a clear answer.
    pub tries: u32,
    /// When somebody must look after it again, while it is open.
    pub due_at: Timestamp,
    /// When it was written down.
    pub created_at: Timestamp,
}

impl Operation {
    /// A new operation, held by its maker until `due_at`.
    pub fn prepare(
        id: OpId,
        order_id: OrderId,
        kind: OpKind,
        amount: Amount,
        authorization: Option<OpId>,
        now: Timestamp,
        due_at: Timestamp,
    ) -> Self {
        let state = OpState::Prepared;
        Self { id, order_id, kind, amount, authorization, state, epoch: 0, tries: 0, due_at, created_at: now }
    }
}
