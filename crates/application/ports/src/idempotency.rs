use async_trait::async_trait;
use dropin_kernel::{MerchantId, Timestamp};

use crate::store::StoreError;

/// Identifies a request with an Idempotency-Key (docs/SPECIFICATION.md#idempotency).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKey {
    /// The merchant who sent it.
    pub merchant_id: MerchantId,
    /// SHA-256 of the method, the address and the key it carried.
    pub digest: [u8; 32],
}

/// The one use that may be made of a key while it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key.
    pub key: RequestKey,
    /// SHA-256 of the request; a different request under the same key is an error of the client.
    pub fingerprint: [u8; 32],
    /// When it was asked; an earlier use that was over by then does not count any more.
    pub at: Timestamp,
    /// Until when it counts.
    pub until: Timestamp,
}

/// A response as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status, 200 to 499.
    pub status: u16,
    /// The strong entity tag, with its quotes, of what the body shows.
    pub etag: Option<String>,
    /// The exact bytes; empty when there was no body.
    pub body: Vec<u8>,
}

/// A response to store, in the transaction of its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseToStore {
    /// The key that a repeated request finds it by.
    pub key_use: KeyUse,
    /// The response.
    pub answer: StoredResponse,
}

/// What is stored of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Of the request that used it.
    pub fingerprint: [u8; 32],
    /// The stored response; `None` while the outcome at the processor is awaited.
    pub answer: Option<StoredResponse>,
}

/// The outcome of storing a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStored {
    /// Kept.
    Done,
    /// The key was used before; what is known of that stays.
    KeyTaken,
}

/// Responses to requests with an Idempotency-Key. A response that comes with an effect is written by the port of the effect.
#[async_trait]
pub trait ResponseStore: Send + Sync {
    /// What is stored of a key that is valid at `now`.
    async fn find_response(&self, key: RequestKey, now: Timestamp) -> Result<Option<KeyRecord>, StoreError>;

    /// Stores a response without an effect, for example a refusal.
    async fn store_response(&self, response: ResponseToStore) -> Result<ResponseStored, StoreError>;

    /// Deletes at most `limit` keys that have expired at `now`; returns how many.
    async fn purge_responses(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError>;
}
