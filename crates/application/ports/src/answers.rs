use async_trait::async_trait;
use dropin_kernel::{MerchantId, Timestamp};

use crate::store::StoreError;

/// What a repeated request is found by (decisions.md section 1, Idempotency-Key).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerKey {
    /// The merchant who sent it.
    pub merchant_id: MerchantId,
    /// SHA-256 of the method, the address and the key it carried.
    pub digest: [u8; 32],
}

/// The one use that may be made of a key while it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key.
    pub key: AnswerKey,
    /// SHA-256 of what was asked; another one under the same key is a mistake of the sender's.
    pub fingerprint: [u8; 32],
    /// When it was asked; an earlier use that was over by then does not count any more.
    pub at: Timestamp,
    /// Until when it counts.
    pub until: Timestamp,
}

/// A whole answer as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// HTTP status, 200 to 499.
    pub status: u16,
    /// The strong entity tag, with its quotes, of what the body shows.
    pub etag: Option<String>,
    /// The exact bytes; empty when there was no body.
    pub body: Vec<u8>,
}

/// An answer to keep, in the transaction of its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// For whoever repeats this.
    pub key_use: KeyUse,
    /// What they get.
    pub answer: StoredAnswer,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// Of what was asked with it.
    pub fingerprint: [u8; 32],
    /// What was answered; `None` while the processor's word is waited for.
    pub answer: Option<StoredAnswer>,
}

/// What came of keeping an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    /// Kept.
    Done,
    /// The key was used before; what is known of that stays.
    KeyTaken,
}

/// Answers to requests that carried a key. Those that come with an effect are written by the port of the effect.
#[async_trait]
pub trait AnswerStore: Send + Sync {
    /// What is known of a key that counts at `now`.
    async fn find_answer(&self, key: AnswerKey, now: Timestamp) -> Result<Option<KnownKey>, StoreError>;

    /// Keeps an answer without any effect, a refusal for example.
    async fn remember_answer(&self, remember: Remember) -> Result<Remembered, StoreError>;

    /// Deletes what does not count any more at `now`, at most `limit`; says how many.
    async fn purge_answers(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
}
