use dropin_kernel::{LedgerTransactionId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};

/// Where money of an Order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// With the shopper.
    Shopper,
    /// Reserved at the issuer.
    Authorized,
    /// Taken.
    Captured,
    /// Given back.
    Refunded,
}

impl Account {
    /// Every account; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 4] = [Self::Shopper, Self::Authorized, Self::Captured, Self::Refunded];

    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shopper => "SHOPPER",
            Self::Authorized => "AUTHORIZED",
            Self::Captured => "CAPTURED",
            Self::Refunded => "REFUNDED",
        }
    }
}

/// One side of a ledger transaction, in minor units; positive into the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The account.
    pub account: Account,
    /// Minor units of the transaction's currency, signed.
    pub minor: i64,
}

/// Money moving between the accounts of one Order. Its entries sum to zero by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerTransaction {
    /// Identifier.
    pub id: LedgerTransactionId,
    /// The Order.
    pub order_id: OrderId,
    /// Currency of every entry.
    pub currency: Currency,
    /// When it was posted.
    pub at: Timestamp,
    entries: Vec<LedgerEntry>,
}

impl LedgerTransaction {
    /// `amount` moves from one account to another.
    pub fn transfer(
        id: LedgerTransactionId,
        order_id: OrderId,
        from: Account,
        to: Account,
        amount: &Amount,
        at: Timestamp,
    ) -> Self {
        let minor = amount.minor();
        let entries = vec![LedgerEntry { account: from, minor: -minor }, LedgerEntry { account: to, minor }];
        Self { id, order_id, currency: amount.currency(), at, entries }
    }

    /// Its entries; they sum to zero.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }
}
