use async_trait::async_trait;
use dropin_card::StashedKind;
use dropin_kernel::{MerchantId, Timestamp};

use crate::keyring::SealedCard;
use crate::store::StoreError;

/// What a stash entry is found by: all three together, so that nobody else's entry is ever used (decisions.md section 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashKey {
    /// The merchant.
    pub merchant_id: MerchantId,
    /// Chosen by the merchant or its page.
    pub stash_id: String,
    /// Of the browser that the data was typed or made in.
    pub fingerprint: String,
}

/// What may be known of stashed data without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashSummary {
    /// A card, or a wallet's token.
    pub kind: StashedKind,
    /// Whether it was stashed without any warning.
    pub usable: bool,
}

/// A card, or a wallet's token, on its way to one authorization.
#[derive(Debug, Clone)]
pub struct StashEntry {
    /// What it is found by.
    pub key: StashKey,
    /// What was stashed, encrypted; its key never stands in the database.
    pub sealed: SealedCard,
    /// What may be known of it.
    pub summary: StashSummary,
    /// When it was stashed.
    pub created_at: Timestamp,
    /// When it is worth nothing any more.
    pub expires_at: Timestamp,
}

/// Cards waiting for their authorization.
#[async_trait]
pub trait StashStore: Send + Sync {
    /// Keeps `entry`, in place of one with the same key.
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError>;

    /// What may be known of the live entry; `None` when unseen, used or expired.
    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashSummary>, StoreError>;

    /// How many live entries a merchant has; counts no further than `most`.
    async fn count_stash(&self, merchant: MerchantId, now: Timestamp, most: u32) -> Result<u32, StoreError>;

    /// Deletes entries that have expired, at most `limit`; says how many.
    async fn purge_stash(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
}
