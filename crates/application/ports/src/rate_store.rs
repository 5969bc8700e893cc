use async_trait::async_trait;
use dropin_access::{RateChange, RateSettings};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_rates::{Offer, OfferSetId, RefusedQuote, Table};

use crate::access::AccountChanged;
use crate::audit_log::NewAuditEntry;
use crate::store::{Applied, StoreError};

/// The state of the rate source at its last check, and what its limits say of the table in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSourceState {
    /// When that was.
    pub checked_at: Timestamp,
    /// When it will be checked again: until then nothing changes.
    pub next_at: Timestamp,
    /// When the table in force is too old to guarantee anything by it; `None` when it never is.
    pub stale_at: Option<Timestamp>,
    /// Currencies whose rates are so much older than the rest that they count as missing.
    pub left_behind: Vec<Currency>,
    /// Why nothing could be read, in words for the operator.
    pub problem: Option<String>,
    /// Quotes that were not believed.
    pub refused: Vec<RefusedQuote>,
}

/// The rates in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesInForce {
    /// How many tables were accepted before and with this one; none yet: zero, and the table is empty.
    pub number: u64,
    /// What one euro costs.
    pub table: Table,
    /// The state of the rate source.
    pub state: RateSourceState,
}

impl RatesInForce {
    /// The quotes that prices are made of.
    pub fn current(&self) -> Table {
        self.table.quotes().filter(|(currency, _)| !self.state.left_behind.contains(currency)).collect()
    }

    /// Whether it is too old to guarantee anything by it, or holds nothing.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.table.is_empty() || self.state.stale_at.is_some_and(|at| at <= now)
    }
}

/// The result of a check of the rate source.
#[derive(Debug, Clone)]
pub struct RateSourceCheck {
    /// The number of the table that it was decided on.
    pub expected: u64,
    /// The new table, when anything in it changed.
    pub table: Option<Table>,
    /// The state of the rate source.
    pub state: RateSourceState,
}

/// A merchant's offers that were made at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferSet {
    /// Which of its sets.
    pub id: OfferSetId,
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// What the merchant is paid out in.
    pub settlement: Currency,
    /// When all of its offers expire.
    pub expires_at: Timestamp,
    /// One for each currency, in any order; each agrees with the set.
    pub offers: Vec<Offer>,
}

/// What came of making a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffersInserted {
    /// Written.
    Done,
    /// Another process made the set of that number: nothing was written; read it.
    Taken,
}

/// Exchange rates: the rates of the source, the rate settings of merchants, and the offers that were made, which are kept for ever.
#[async_trait]
pub trait RateStore: Send + Sync {
    /// The rates in force; `None` when the source was never checked.
    async fn find_rates(&self) -> Result<Option<RatesInForce>, StoreError>;

    /// Writes the result of a check of the source; `Stale` when another table came into force meanwhile: nothing was written.
    async fn record_source_check(&self, look: RateSourceCheck) -> Result<Applied, StoreError>;

    /// The rates that a merchant is given; the default when nothing was set.
    async fn find_rate_settings(&self, merchant: MerchantId) -> Result<RateSettings, StoreError>;

    /// Sets what is given; [`AccountChanged::Missing`] when there is no such merchant, [`AccountChanged::Stale`] when its settings are other than
    /// `decided_on`, where that is given.
    async fn change_rates(
        &self,
        merchant: MerchantId,
        decided_on: Option<RateSettings>,
        change: RateChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// The merchant's newest set of offers, expired or not.
    async fn find_newest_offers(&self, merchant: MerchantId) -> Result<Option<OfferSet>, StoreError>;

    /// Writes a set, whole, under its number, which is given once.
    async fn insert_offers(&self, set: OfferSet) -> Result<OffersInserted, StoreError>;
}
