//! Requests that may be repeated safely, because they carry an Idempotency-Key (decisions.md section 1), and the versions of what they
//! change, for those who change only what they have seen (If-Match).
//!
//! Nothing is looked up before a request is executed. Its key is taken in the transaction of its effect, so whoever comes second, however
//! close behind, has no effect and learns that the key is taken; only then is the answer of the first one read. A refusal has no effect:
//! its answer is kept by a step of its own, which also finds out whether the key belongs to an answer that was given before.

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{MerchantId, Revision, Timestamp};
use dropin_order::Order;
use dropin_ports::{AnswerKey, AnswerStore, Clock, KeyUse, KnownKey, Remember, Remembered, StoreError, StoredAnswer};
use dropin_session::{Session, SessionStateKind};

use crate::payments::after_asking;

/// How long an answer is kept for repeats (decisions.md section 1).
pub const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// How the success of a request is answered, and the key that its answer is kept under.
#[derive(Debug, Clone, Copy)]
pub struct Reply<T> {
    /// Makes the whole answer of what came of the request.
    pub render: fn(&T) -> StoredAnswer,
    /// The request's key, if it carries one.
    pub key_use: Option<KeyUse>,
}

impl<T> Reply<T> {
    /// The answer, and what is to be kept of it.
    pub(crate) fn tell(&self, what: &T) -> (StoredAnswer, Option<Remember>) {
        let answer = (self.render)(what);
        let remember = self.key_use.map(|key_use| Remember { key_use, answer: answer.clone() });
        (answer, remember)
    }
}

/// What an executed request came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// This, and it was kept with its effect if the request has a key.
    Kept(StoredAnswer),
    /// This, without any effect: nothing was kept yet.
    Loose(StoredAnswer),
    /// This, by a flow that anybody may have finished: whoever was first has kept his answer.
    Concluded(StoredAnswer),
    /// Nothing: its key was used before.
    KeyTaken,
}

/// What the caller gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The answer to this very request.
    Fresh(StoredAnswer),
    /// The answer to an earlier one with the same key.
    Replayed(StoredAnswer),
}

/// Why a request with a key gets no answer of its own.
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

/// Answers to requests that carry a key.
#[derive(Clone)]
pub struct Answers {
    /// Where they are kept.
    pub store: Arc<dyn AnswerStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// For how long they are kept.
    pub keep: Duration,
}

impl Answers {
    /// The use that a request makes of its key right now. `digest` is of where it was sent and the key, `fingerprint` of what was asked.
    pub fn key_use(&self, merchant_id: MerchantId, digest: [u8; 32], fingerprint: [u8; 32]) -> KeyUse {
        let at = self.clock.now();
        KeyUse { key: AnswerKey { merchant_id, digest }, fingerprint, at, until: at.plus(self.keep) }
    }

    /// What the sender of an executed request gets.
    ///
    /// # Errors
    /// [`RepeatError`].
    pub async fn tell(&self, key_use: Option<KeyUse>, told: Told) -> Result<Answered, RepeatError> {
        let Some(key_use) = key_use else {
            return match told {
                Told::Kept(answer) | Told::Loose(answer) | Told::Concluded(answer) => Ok(Answered::Fresh(answer)),
                Told::KeyTaken => Err(StoreError::Refused("a key was taken that nobody sent".to_owned()).into()),
            };
        };
        match told {
            Told::Kept(answer) => Ok(Answered::Fresh(answer)),
            Told::Loose(answer) => self.keep(key_use, answer).await,
            // Every repeat gets what is kept, so the first one gets that too.
            Told::Concluded(answer) => {
                let known = self.store.find_answer(key_use.key, key_use.at).await.map_err(after_asking)?;
                Ok(Answered::Fresh(known.and_then(|known| known.answer).unwrap_or(answer)))
            }
            Told::KeyTaken => self.replay(key_use).await,
        }
    }

    /// Keeps an answer that has no effect, a refusal for example; what the sender gets is the answer that was kept first.
    ///
    /// # Errors
    /// [`RepeatError`].
    pub async fn keep(&self, key_use: KeyUse, answer: StoredAnswer) -> Result<Answered, RepeatError> {
        match self.store.remember_answer(Remember { key_use, answer: answer.clone() }).await? {
            Remembered::Done => Ok(Answered::Fresh(answer)),
            Remembered::KeyTaken => self.replay(key_use).await,
        }
    }

    /// Deletes answers that do not count any more; looks at `limit` at most and says how many there were: when `limit`, there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge(&self, limit: u32) -> Result<u32, StoreError> {
        self.store.purge_answers(self.clock.now(), limit).await
    }

    async fn replay(&self, key_use: KeyUse) -> Result<Answered, RepeatError> {
        match self.store.find_answer(key_use.key, key_use.at).await? {
            Some(known) if known.fingerprint != key_use.fingerprint => Err(RepeatError::KeyReused),
            Some(KnownKey { answer: Some(answer), .. }) => Ok(Answered::Replayed(answer)),
            Some(KnownKey { answer: None, .. }) => Err(RepeatError::InProgress),
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
    impl AnswerStore for Away {
        async fn find_answer(&self, _: AnswerKey, _: Timestamp) -> Result<Option<KnownKey>, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn remember_answer(&self, _: Remember) -> Result<Remembered, StoreError> {
            Err(StoreError::Unavailable("away".to_owned()))
        }

        async fn purge_answers(&self, _: Timestamp, _: u32) -> Result<u32, StoreError> {
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
        let answers = Answers { store: Arc::new(Away), clock: Arc::new(Away), keep: KEEP };
        let key_use = Some(answers.key_use(MerchantId::new(uuid::Uuid::nil()), [0; 32], [0; 32]));
        let answer = StoredAnswer { status: 200, etag: None, body: vec![] };
        let told = answers.tell(key_use, Told::Concluded(answer.clone())).await;
        assert_eq!(told, Err(RepeatError::Store(StoreError::OutcomeUnknown)));
        // A refusal has no effect that could be hidden.
        let told = answers.tell(key_use, Told::Loose(answer)).await;
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
