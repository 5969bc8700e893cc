use async_trait::async_trait;
use dropin_card::StashedKind;
use dropin_kernel::{MerchantId, Timestamp};

use crate::keyring::SealedCard;
use crate::store::StoreError;

/// What a stash entry is found by: all three together, so that nobody else's entry is ever used (docs/SPECIFICATION.md#stash-key).
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

impl StashEntry {
    /// What a row takes beside its ciphertext and its texts, with its place in the indexes.
    pub const ROW_BYTES: u64 = 300;

    /// What the entry counts as in [`StashUsage::bytes`]. StashId and fingerprint stand in the row and in its primary key.
    pub fn stored_bytes(key: &StashKey, sealed: &SealedCard) -> u64 {
        let texts = 2 * (key.stash_id.len() + key.fingerprint.len());
        (sealed.bytes.len() + texts) as u64 + Self::ROW_BYTES
    }
}

/// What a look at a live entry finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashFound {
    /// What may be known of it.
    pub summary: StashSummary,
    /// Which key of the keyring opens it.
    pub key_id: String,
}

/// How much of a merchant waits in the stash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashUsage {
    /// The merchant.
    pub merchant_id: MerchantId,
    /// How many entries.
    pub entries: u64,
    /// [`StashEntry::stored_bytes`] of all of them.
    pub bytes: u64,
}

/// Cards waiting for their authorization.
#[async_trait]
pub trait StashStore: Send + Sync {
    /// Keeps `entry`, in place of one with the same key.
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError>;

    /// What may be known of the live entry; `None` when unseen, used or expired.
    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashFound>, StoreError>;

    /// The live entry, which stays, with what it was sealed to; `None` when unseen, used or expired.
    async fn read_stash(
        &self,
        key: &StashKey,
        now: Timestamp,
    ) -> Result<Option<(StashSummary, SealedCard)>, StoreError>;

    /// What each merchant has there that is alive; merchants that have nothing are left out.
    async fn stash_usage(&self, now: Timestamp) -> Result<Vec<StashUsage>, StoreError>;

    /// Deletes entries that have expired, at most `limit`; says how many.
    async fn purge_stash(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
}
