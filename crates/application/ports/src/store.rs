use async_trait::async_trait;
use dropin_kernel::{ContractId, EventId, MerchantId, OrderId, PaymentId, SessionId, Timestamp};

/// Why a store could not do a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database is away or too busy; nothing was changed. Answered as 503 SERVICE_UNAVAILABLE.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The connection was lost during COMMIT or the deadline passed: the step may or may not have happened. Answered as 503
    /// OUTCOME_UNKNOWN.
    #[error("the database did not confirm the commit in time")]
    OutcomeUnknown,
    /// A stored row makes no sense; loud, and 500 to the caller.
    #[error("corrupt row in {table}: {what}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// What is wrong, without any stored value that could be personal.
        what: String,
    },
    /// The database refused the step for a reason that is a defect of ours (a CHECK constraint, a schema that is too old).
    #[error("the database refused the step: {0}")]
    Refused(String),
}

/// What came of a change that was decided on a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// Written, with its history and events.
    Done,
    /// Another change came first: nothing was written; load and decide again.
    Stale,
}

/// What came of a change that a request with a key may have asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Written, with its history and events, and the response to the request's key.
    Done,
    /// Another change came first: nothing was written; load and decide again.
    Stale,
    /// The request's key was used before: nothing was written.
    KeyTaken,
}

/// Who caused a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// An API user of the merchant, by its user name.
    Merchant(String),
    /// The shopper in the browser.
    Shopper,
    /// An operator of this deployment, by name.
    Operator(String),
    /// A command on the deployment's own machine, by the name of the OS user who ran it. History keeps it as an operator.
    CommandLine(String),
    /// Dropin itself: settler, sweepers.
    System,
}

/// What a history row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A Session.
    Session(SessionId),
    /// An Order.
    Order(OrderId),
    /// A contract.
    Contract(ContractId),
}

/// A history entry to append: one step of a Session or Order. Written in the transaction of the change, never updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHistoryEntry {
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// What changed.
    pub subject: Subject,
    /// Who caused it.
    pub actor: Actor,
    /// What happened: a trigger's name.
    pub what: &'static str,
    /// When.
    pub at: Timestamp,
    /// State before; `None` for the first step.
    pub before: Option<&'static str>,
    /// State after.
    pub after: &'static str,
}

/// A history entry as it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHistoryEntry {
    /// Who caused it.
    pub actor: Actor,
    /// What happened: a trigger's name.
    pub what: String,
    /// When.
    pub at: Timestamp,
    /// State before; `None` for the first step.
    pub before: Option<String>,
    /// State after.
    pub after: String,
}

/// A notification to append in the transaction of its change; its sequence number in the payment is given by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Identifier: `webhook-id`.
    pub id: EventId,
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// The stream it is ordered in.
    pub payment_id: PaymentId,
    /// EventType.
    pub event_type: &'static str,
    /// The JSON object that every attempt sends and signs, all but its first member: the store puts Sequence there, whose number it gives, before it
    /// writes the bytes down. They never change then.
    pub body: Vec<u8>,
    /// When the change happened.
    pub at: Timestamp,
}

/// Whether the store can serve.
#[async_trait]
pub trait StoreHealth: Send + Sync {
    /// Checks that the database answers and its schema is new enough.
    ///
    /// # Errors
    /// [`StoreError`] says what is missing.
    async fn ready(&self) -> Result<(), StoreError>;
}
