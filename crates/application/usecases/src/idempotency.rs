//! Requests that may be repeated safely, because they carry an Idempotency-Key (docs/SPECIFICATION.md#idempotency), and the versions of what they
//! change, for those who change only what they have seen (If-Match).
//!
//! No key is looked up before a request is executed. The transaction of its effect takes the key, so a second request, however
//! close behind, has no effect and finds the key taken; only then the response to the first one is read. A refusal has no effect:
//! its response is stored by a transaction of its own, which also finds out whether the key has a stored response already.

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{MerchantId, Revision, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    Clock, KeyRecord, KeyUse, RequestKey, ResponseStore, ResponseStored, ResponseToStore, StoreError, StoredResponse,
};
use dropin_session::{Session, SessionStateKind};

use crate::payments::after_asking;

/// How long a response is stored for repeats (docs/SPECIFICATION.md#idempotency).
pub const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// How the response to a successful request is rendered, and the key that it is stored under.
#[derive(Debug, Clone, Copy)]
pub struct Reply<T> {
    /// Renders the whole response from the outcome of the request.
    pub render: fn(&T) -> StoredResponse,
    /// The request's key, if it carries one.
    pub key_use: Option<KeyUse>,
}

impl<T> Reply<T> {
    /// The response, and the row that stores it.
    pub(crate) fn tell(&self, what: &T) -> (StoredResponse, Option<ResponseToStore>) {
        let answer = (self.render)(what);
        let response = self.key_use.map(|key_use| ResponseToStore { key_use, answer: answer.clone() });
        (answer, response)
    }
}

/// The outcome of a request that may carry an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotentOutcome {
    /// This response; it was stored with the effect if the request has a key.
    Stored(StoredResponse),
    /// This response without any effect: it is not stored yet.
    Unstored(StoredResponse),
    /// This response of a flow that another process may have finished first; that process has stored its own.
    Concluded(StoredResponse),
    /// No response: the key was used before.
    KeyTaken,
}

/// The response that the client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotentResponse {
    /// The response to this request.
    Fresh(StoredResponse),
    /// The stored response to an earlier request with the same key.
    Replayed(StoredResponse),
}

/// Why a request with a key gets no response of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepeatError {
    /// Something else was asked with the same key before.
    #[error("the key was used for something else before")]
    KeyReused,
    /// The first request with this key still waits for the processor.
    #[error("the first request with this key still runs")]
    InProgress,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Stores and replays the responses to requests that carry an idempotency key.
#[derive(Clone)]
pub struct IdempotencyService {
    /// Where they are kept.
    pub store: Arc<dyn ResponseStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// For how long they are kept.
    pub keep: Duration,
}

impl IdempotencyService {
    /// The use that a request makes of its key right now. `digest` is of where it was sent and the key, `fingerprint` of what was asked.
    pub fn key_use(&self, merchant_id: MerchantId, digest: [u8; 32], fingerprint: [u8; 32]) -> KeyUse {
        let at = self.clock.now();
        KeyUse { key: RequestKey { merchant_id, digest }, fingerprint, at, until: at.plus(self.keep) }
    }

    /// The response to an executed request.
    ///
    /// # Errors
    /// [`RepeatError`].
    pub async fn tell(
        &self,
        key_use: Option<KeyUse>,
        outcome: IdempotentOutcome,
    ) -> Result<IdempotentResponse, RepeatError> {
        let Some(key_use) = key_use else {
            return match outcome {
                IdempotentOutcome::Stored(answer)
                | IdempotentOutcome::Unstored(answer)
                | IdempotentOutcome::Concluded(answer) => Ok(IdempotentResponse::Fresh(answer)),
                IdempotentOutcome::KeyTaken => {
                    Err(StoreError::Refused("a key was taken that nobody sent".to_owned()).into())
                }
            };
        };
        match outcome {
            IdempotentOutcome::Stored(answer) => Ok(IdempotentResponse::Fresh(answer)),
            IdempotentOutcome::Unstored(answer) => self.keep(key_use, answer).await,
            // Every repeat gets the stored response, so the first request gets it too.
            IdempotentOutcome::Concluded(answer) => {
                let known = self.store.find_response(key_use.key, key_use.at).await.map_err(after_asking)?;
                Ok(IdempotentResponse::Fresh(known.and_then(|known| known.answer).unwrap_or(answer)))
            }
            IdempotentOutcome::KeyTaken => self.replay(key_use).await,
        }
    }

    /// Stores a response without an effect, a refusal for example; the client gets the response that was stored first.
    ///
    /// # Errors
    /// [`RepeatError`].
    pub async fn keep(&self, key_use: KeyUse, answer: StoredResponse) -> Result<IdempotentResponse, RepeatError> {
        match self.store.store_response(ResponseToStore { key_use, answer: answer.clone() }).await? {
            ResponseStored::Done => Ok(IdempotentResponse::Fresh(answer)),
            ResponseStored::KeyTaken => self.replay(key_use).await,
        }
    }

    /// The response that is kept for the key; `None` where it was not used.
    ///
    /// # Errors
    /// [`RepeatError`].
    pub async fn known(&self, key_use: KeyUse) -> Result<Option<IdempotentResponse>, RepeatError> {
        match self.store.find_response(key_use.key, key_use.at).await? {
            Some(_known) => self.replay(key_use).await.map(Some),
            None => Ok(None),
        }
    }

    /// Deletes answers that do not count any more; looks at `limit` at most and says how many there were: when `limit`, there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge(&self, limit: u32) -> Result<u32, StoreError> {
        self.store.purge_responses(self.clock.now(), limit).await
    }

    async fn replay(&self, key_use: KeyUse) -> Result<IdempotentResponse, RepeatError> {
        match self.store.find_response(key_use.key, key_use.at).await? {
            Some(known) if known.fingerprint != key_use.fingerprint => Err(RepeatError::KeyReused),
            Some(KeyRecord { answer: Some(answer), .. }) => Ok(IdempotentResponse::Replayed(answer)),
            Some(KeyRecord { answer: None, .. }) => Err(RepeatError::InProgress),
            None => Err(StoreError::Unavailable("a kept answer was given up at this very moment".to_owned()).into()),
        }
    }
}

/// Which state of a Session or Order an answer shows: two that differ in anything never share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// Of a Session as its merchant sees it, with its Order where that is shown.
    pub fn of_session(session: &Session, order: Option<&Order>) -> Self {
        let own = Self::of(session.revision, session.updated_at);
        match order.filter(|_| session.state.kind() == SessionStateKind::Completed) {
            Some(order) => Self(format!("{}.{}", own.0, Self::of_order(order).0)),
            None => own,
        }
    }

    /// Of an Order as its merchant sees it.
    pub fn of_order(order: &Order) -> Self {
        Self::of(order.revision, order.updated_at)
    }

    /// The time counts too: a Session whose time is over is shown as CANCELLED before that is written down, with the revision that somebody
    /// else, whose clock is slower, may still give to another change.
    fn of(revision: Revision, updated_at: Timestamp) -> Self {
        Self(format!("{:x}-{:x}", revision.number(), updated_at.micros()))
    }

    /// As an opaque text of `0-9a-f.-`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The versions that a caller wants to change, and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Whatever there is.
    Any,
    /// One of these.
    OneOf(Vec<String>),
}

impl Expected {
    /// Whether `found` may be changed.
    pub fn admits(&self, found: &Version) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(versions) => versions.contains(&found.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;

    /// A store that is away.
    struct Away;

    #[async_trait]
    impl ResponseStore for Away {
        async fn find_response(&self, _: RequestKey, _: Timestamp) -> Result<Option<KeyRecord>, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn store_response(&self, _: ResponseToStore) -> Result<ResponseStored, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn purge_responses(&self, _: Timestamp, _: u32) -> Result<u32, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }
    }

    impl Clock for Away {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(0)
        }
    }

    #[tokio::test]
    async fn nobody_is_told_that_nothing_changed_after_the_processor_was_asked() {
        let answers = IdempotencyService { store: Arc::new(Away), clock: Arc::new(Away), keep: KEEP };
        let key_use = Some(answers.key_use(MerchantId::new(uuid::Uuid::nil()), [0; 32], [0; 32]));
        let answer = StoredResponse { status: 200, etag: None, body: vec![] };
        let told = answers.tell(key_use, IdempotentOutcome::Concluded(answer.clone())).await;
        assert_eq!(told, Err(RepeatError::Store(StoreError::OutcomeUnknown)));
        // A refusal has no effect that could be hidden.
        let told = answers.tell(key_use, IdempotentOutcome::Unstored(answer)).await;
        assert!(matches!(told, Err(RepeatError::Store(StoreError::Unavailable(_)))), "{told:?}");
    }

    #[test]
    fn versions_differ_in_revision_and_time() {
        let at = |micros| Timestamp::from_micros(micros);
        let all = [
            Version::of(Revision::new(1), at(5)),
            Version::of(Revision::new(2), at(5)),
            Version::of(Revision::new(1), at(6)),
        ];
        for (number, one) in all.iter().enumerate() {
            let expected = Expected::OneOf(vec!["x".to_owned(), one.as_str().to_owned()]);
            let admitted: Vec<_> = all.iter().map(|other| expected.admits(other)).collect();
            assert_eq!(admitted, (0..all.len()).map(|other| other == number).collect::<Vec<_>>());
            assert!(Expected::Any.admits(one) && !Expected::OneOf(vec![]).admits(one));
        }
    }
}
