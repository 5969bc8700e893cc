//! Disputes (docs/SPECIFICATION.md#disputes): what processors tell of them, and how merchants answer.
//!
//! An answer has the shape of every effect at a processor: it is written down, then given under its own id as the processor's key, then what came of
//! it is written down with the notification. What nobody knows stays open, and the settler gives it again under the same key.

mod draft;
mod evidence;
mod given_answer;
mod open;
mod report;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{DisputeId, MerchantId, OrderId, ProcessorId};
use dropin_order::{Dispute, DisputeState};
use dropin_ports::{
    AnsweredDispute, Clock, DisputeFilter, DisputeStore, DisputeWithOrder, IdSource, KeyringError, OrderName,
    PaymentStore, ProcessorDisputes, Secrets, StoreError,
};

pub(crate) use evidence::owner as evidence_owner;
pub use unreadable::UnreadableLists;

/// How often a decision is made again after somebody else changed the dispute or its Order first.
const MAX_CAS_RETRIES: u32 = 8;
/// How long an answer belongs to whoever wrote it down or took it over: longer than the call.
const ANSWER_LEASE: Duration = Duration::from_secs(25);
/// Longest pause between two tries to give an answer.
const MAX_ANSWER_PAUSE: Duration = Duration::from_secs(60);
/// How long an undecided dispute belongs to the settler that looks at it: longer than the question.
const LOOK_LEASE: Duration = Duration::from_secs(30);
/// Shortest and longest pause between two looks at an undecided dispute; between them, a tenth of the time since it changed.
const LOOK_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// A processor whose disputes are followed.
#[derive(Clone)]
pub struct DisputeProcessor {
    /// Its name among the deployment's processors; kept with each dispute, so it never changes.
    pub name: ProcessorId,
    /// Its disputes.
    pub api: Arc<dyn ProcessorDisputes>,
}

/// The processors whose disputes are followed, and merchants' accounts there, as they are now.
#[async_trait]
pub trait DisputeProcessors: Send + Sync {
    /// All of them.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list(&self) -> Result<Vec<DisputeProcessor>, StoreError>;

    /// The one of this name.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn find(&self, name: &ProcessorId) -> Result<Option<DisputeProcessor>, StoreError> {
        Ok(self.list().await?.into_iter().find(|processor| processor.name == *name))
    }
}

#[async_trait]
impl DisputeProcessors for Vec<DisputeProcessor> {
    async fn list(&self) -> Result<Vec<DisputeProcessor>, StoreError> {
        Ok(self.clone())
    }
}

/// Disputes.
#[derive(Clone)]
pub struct Disputes {
    /// Where they are kept.
    pub store: Arc<dyn DisputeStore>,
    /// Where Orders are.
    pub orders: Arc<dyn PaymentStore>,
    /// Whom they are told by and answered to; without any, an answer is left to the settler.
    pub processors: Arc<dyn DisputeProcessors>,
    /// Seals evidence.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Whose list cannot be read, as it was logged.
    pub unreadable: Arc<UnreadableLists>,
}

/// Why a dispute is not shown or not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisputeError {
    /// No such Order of this merchant.
    #[error("no such Order")]
    NoOrder,
    /// No such dispute of this Order.
    #[error("no such dispute")]
    NotFound,
    /// It was answered or decided, or its time is over.
    #[error("the dispute is {}, or its time is over", .0.as_str())]
    WrongState(DisputeState),
    /// An answer is on its way to the processor.
    #[error("an answer to the dispute is on its way to the processor")]
    AnswerPending,
    /// The processor does not take the answer.
    #[error("the processor does not take the answer: {0}")]
    Refused(String),
    /// The evidence cannot be sealed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Disputes {
    /// The disputes of the merchant's own Order, oldest first.
    ///
    /// # Errors
    /// [`DisputeError::NoOrder`], [`DisputeError::Store`].
    pub async fn of_order(&self, merchant: MerchantId, order: OrderId) -> Result<Vec<AnsweredDispute>, DisputeError> {
        let found = self.orders.find_order(merchant, &OrderName::Id(order)).await?;
        found.ok_or(DisputeError::NoOrder)?;
        Ok(self.store.list_order_disputes(merchant, order).await?)
    }

    /// Disputes of any merchant, newest first, for those who run the deployment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self, filter: DisputeFilter, limit: u32) -> Result<Vec<Dispute>, StoreError> {
        self.store.list_disputes(filter, limit).await
    }

    /// Any dispute with its Order, for those who run the deployment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, id: DisputeId) -> Result<Option<DisputeWithOrder>, StoreError> {
        self.store.find_dispute(id).await
    }

    /// Waits before the next try when somebody else changes the same Order: longer each round, with full jitter.
    async fn backoff(&self, round: u32) {
        if 0 < round {
            let share = self.ids.random().as_bytes()[15];
            tokio::time::sleep(Duration::from_millis(4) * round * u32::from(share) / 255).await;
        }
    }
}

fn busy() -> StoreError {
    StoreError::Unavailable("a dispute or its Order changes faster than it can be written".to_owned())
}
