//! Cards and wallet tokens on their way to one authorization (contract, Stash; decisions.md section 8).

mod door;

use std::sync::Arc;
use std::time::Duration;

use dropin_access::{Merchant, Origin};
use dropin_card::{StashedData, Warning};
use dropin_kernel::MerchantId;
use dropin_ports::{
    AccessStore, Clock, KeyringError, StashEntry, StashKey, StashStore, StashSummary, StashVault, StoreError,
};

pub use door::{Door, LIVE_ENTRIES};

/// How long an entry lives unless configured (decisions.md section 8).
pub const STASH_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// How long is sealed under one key before the next takes its place. Such that with [`STASH_LIFETIME`] and some minutes for clocks and the look
/// around, a key is gone an hour after anything was sealed under it: a backup of the database that is older opens nothing.
pub const KEY_PERIOD: Duration = Duration::from_secs(20 * 60);

/// Expired entries deleted in one transaction.
const PURGE_BATCH: u32 = 1_000;

/// The stash: cards and tokens in, nothing out but a card's last four digits and what is wrong with it.
#[derive(Clone)]
pub struct Stashing {
    /// Keeps the ciphertexts.
    pub store: Arc<dyn StashStore>,
    /// Knows the merchants.
    pub access: Arc<dyn AccessStore>,
    /// Encrypts before any store sees a card.
    pub vault: Arc<dyn StashVault>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where the drop-in's card frame lives; it may always post.
    pub asset_origin: Origin,
    /// How long an entry lives; [`STASH_LIFETIME`] unless configured.
    pub lifetime: Duration,
    /// What is remembered of merchants.
    pub door: Arc<Door>,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stashed {
    /// The caller's own id, echoed.
    pub stash_id: String,
    /// The last four digits of the card's number; `None` for a wallet's token.
    pub last4: Option<String>,
    /// What is wrong with the card; it is stashed all the same.
    pub warnings: Vec<Warning>,
}

/// Why nothing was stashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StashError {
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    MerchantNotFound,
    /// The merchant has as many live entries as it may have.
    #[error("the merchant's stash is full")]
    Full,
    /// The vault failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Stashing {
    /// The merchant that a card is stashed for.
    ///
    /// # Errors
    /// [`StashError::MerchantNotFound`], [`StashError::Store`].
    pub async fn merchant(&self, id: MerchantId) -> Result<Arc<Merchant>, StashError> {
        let found = self.door.merchant(id, self.access.as_ref(), self.clock.now()).await?;
        found.ok_or(StashError::MerchantNotFound)
    }

    /// Whether a page of `origin` (the header as a browser sends it) may stash cards for `merchant`: the card frame always, and the origins
    /// that the merchant registered.
    pub fn admits(&self, merchant: &Merchant, origin: &str) -> bool {
        Origin::parse(origin).is_ok_and(|origin| origin == self.asset_origin || merchant.origins.contains(&origin))
    }

    /// Keeps `data`, encrypted, under merchant, `stash_id` and `fingerprint` together; an earlier one under the same three is replaced.
    ///
    /// # Errors
    /// [`StashError`].
    pub async fn put(
        &self,
        merchant: &Merchant,
        stash_id: String,
        fingerprint: String,
        data: StashedData,
    ) -> Result<Stashed, StashError> {
        let now = self.clock.now();
        if !self.door.admit(merchant.id, self.store.as_ref(), now).await? {
            return Err(StashError::Full);
        }
        let (last4, kind, warnings) = (data.last4(), data.kind(), data.warnings(now));
        let key = StashKey { merchant_id: merchant.id, stash_id: stash_id.clone(), fingerprint };
        let sealed = self.vault.seal(&data, &key, now)?;
        // Wiped here, before anything is waited for.
        drop(data);
        let summary = StashSummary { kind, usable: warnings.is_empty() };
        let entry = StashEntry { key, sealed, summary, created_at: now, expires_at: now.plus(self.lifetime) };
        self.store.put_stash(entry).await?;
        Ok(Stashed { stash_id, last4, warnings })
    }

    /// Deletes entries that have expired, a batch of them; says how many, and whether there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge_due(&self) -> Result<(u32, bool), StoreError> {
        let purged = self.store.purge_stash(self.clock.now(), PURGE_BATCH).await?;
        Ok((purged, purged == PURGE_BATCH))
    }
}
