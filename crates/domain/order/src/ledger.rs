use dropin_kernel::coded_enum;
use dropin_kernel::{LedgerTransactionId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};

coded_enum! {
    /// Where money of an Order stands.
    pub enum Account: "ledger account" {
        /// With the shopper.
        Shopper = "SHOPPER",
        /// Reserved at the issuer.
        Authorized = "AUTHORIZED",
        /// Taken.
        Captured = "CAPTURED",
        /// Given back.
        Refunded = "REFUNDED",
        /// Taken back by the shopper's bank until a dispute is decided.
        Disputed = "DISPUTED",
        /// Lost by a dispute.
        ChargedBack = "CHARGED_BACK",
    }
}

/// One side of a ledger transaction, in minor units; positive into the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LedgerEntry {
    /// The account.
    pub account: Account,
    /// Minor units of the transaction's currency, signed.
    pub minor: i64,
}

/// The entries of a ledger transaction do not sum to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the entries of a ledger transaction sum to {sum} minor units in place of 0")]
pub struct UnbalancedEntries {
    /// What they sum to.
    pub sum: i128,
}

/// Money moving between the accounts of one Order. Its entries sum to zero by construction.
///
/// ```
/// use dropin_kernel::{LedgerTransactionId, OrderId, Timestamp, uuid::Uuid};
/// use dropin_money::{Amount, Currency};
/// use dropin_order::{Account, LedgerTransaction};
///
/// let (id, order) = (LedgerTransactionId::new(Uuid::from_u128(1)), OrderId::new(Uuid::from_u128(2)));
/// let amount = Amount::from_minor(Currency::Eur, 29_90).unwrap();
/// let at = Timestamp::from_micros(0);
/// let posted = LedgerTransaction::transfer(id, order, Account::Shopper, Account::Authorized, &amount, at);
/// assert_eq!(posted.entries().iter().map(|entry| entry.minor).collect::<Vec<_>>(), [-29_90, 29_90]);
///
/// let stored = posted.entries().to_vec();
/// assert_eq!(LedgerTransaction::restore(id, order, Currency::Eur, at, stored), Ok(posted));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "StoredTransaction"))]
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

    /// From its stored parts.
    ///
    /// # Errors
    /// [`UnbalancedEntries`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, LedgerEntry, LedgerTransaction};
    /// let mut entries = vec![LedgerEntry { account: Account::Shopper, minor: -100 }, LedgerEntry { account: Account::Authorized, minor: 100 }];
    /// assert!(LedgerTransaction::restore(id(4), id(1), usd(0).currency(), NOW, entries.clone()).is_ok());
    /// entries.pop();
    /// assert_eq!(LedgerTransaction::restore(id(4), id(1), usd(0).currency(), NOW, entries).unwrap_err().sum, -100);
    /// ```
    pub fn restore(
        id: LedgerTransactionId,
        order_id: OrderId,
        currency: Currency,
        at: Timestamp,
        entries: Vec<LedgerEntry>,
    ) -> Result<Self, UnbalancedEntries> {
        let sum = entries.iter().map(|entry| i128::from(entry.minor)).sum();
        if sum == 0 { Ok(Self { id, order_id, currency, at, entries }) } else { Err(UnbalancedEntries { sum }) }
    }

    /// Its entries; they sum to zero.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }
}

/// The serialized form, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct StoredTransaction {
    id: LedgerTransactionId,
    order_id: OrderId,
    currency: Currency,
    at: Timestamp,
    entries: Vec<LedgerEntry>,
}

#[cfg(feature = "serde")]
impl TryFrom<StoredTransaction> for LedgerTransaction {
    type Error = UnbalancedEntries;

    fn try_from(stored: StoredTransaction) -> Result<Self, UnbalancedEntries> {
        let StoredTransaction { id, order_id, currency, at, entries } = stored;
        Self::restore(id, order_id, currency, at, entries)
    }
}
