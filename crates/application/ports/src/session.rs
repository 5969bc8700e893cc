use async_trait::async_trait;
use dropin_kernel::{BillingProfileId, Change, MerchantId, RateOfferId, SessionId};
use dropin_order::Order;
use dropin_rates::Offer;
use dropin_session::Session;
use dropin_validation::{BillingProfile, Text};

use crate::audit_log::NewAuditEntry;
use crate::idempotency::ResponseToStore;
use crate::store::{Changed, NewEvent, NewHistoryEntry, StoreError};

/// A Session to insert.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The Session, in state CREATED.
    pub session: Session,
    /// Its first history row.
    pub history: NewHistoryEntry,
    /// The answer to keep, when the request carried a key.
    pub response: Option<ResponseToStore>,
}

/// What came of inserting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// Written.
    Done,
    /// The merchant used the MerchantReference before, for whatever became of that Session: nothing was written.
    DuplicateReference,
    /// The request's key was used before: nothing was written.
    KeyTaken,
}

/// A full replacement of a Session's terms.
#[derive(Debug, Clone)]
pub struct ReplaceSession {
    /// The decision.
    pub change: Change<Session>,
    /// Its history row.
    pub history: NewHistoryEntry,
    /// The answer to keep, when the request carried a key.
    pub response: Option<ResponseToStore>,
}

/// What came of replacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// Written.
    Done,
    /// Another change of the Session came first.
    Stale,
    /// The new MerchantReference belongs to another Session of the merchant.
    DuplicateReference,
    /// The request's key was used before: nothing was written.
    KeyTaken,
}

/// A change of a Session's state.
#[derive(Debug, Clone)]
pub struct ChangeSession {
    /// The decision.
    pub change: Change<Session>,
    /// Its history row.
    pub history: NewHistoryEntry,
    /// The events for the merchant, in this order.
    pub events: Vec<NewEvent>,
    /// The answer to keep, when a request that carried a key asked for it.
    pub response: Option<ResponseToStore>,
    /// The entry of the audit log, where a person, an API user or a command does this.
    pub audit: Option<NewAuditEntry>,
}

/// A Session and the Order it led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWithOrder {
    /// The Session.
    pub session: Session,
    /// Its Order, once an attempt was started.
    pub order: Option<Order>,
}

/// Sessions, and the billing profiles and rate offers that they refer to.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Writes a new Session, its MerchantReference (unique per merchant for ever) and, when its billing choice is `Supplied`, its billing
    /// profile, to which the profile's own reference points from then on.
    async fn insert_session(&self, new: NewSession) -> Result<Inserted, StoreError>;

    /// The merchant's own Session; `None` also for another merchant's.
    async fn find_session(&self, merchant: MerchantId, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError>;

    /// Any merchant's Session, for the shopper who knows its unguessable id.
    async fn find_session_for_shopper(&self, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError>;

    /// The Orders of a Session's attempts, oldest first: shown or not, alive or failed.
    async fn list_attempts(&self, id: SessionId) -> Result<Vec<Order>, StoreError>;

    /// Writes a replacement, and its billing profile as `insert_session` does. A MerchantReference that the Session had before stays its own
    /// and stays taken.
    async fn replace_session(&self, replacement: ReplaceSession) -> Result<Replaced, StoreError>;

    /// Writes a change of state with its history and events.
    async fn change_session(&self, change: ChangeSession) -> Result<Changed, StoreError>;

    /// The merchant's own profile by its generated id.
    async fn find_profile(
        &self,
        merchant: MerchantId,
        id: BillingProfileId,
    ) -> Result<Option<BillingProfile>, StoreError>;

    /// The merchant's newest profile with that reference.
    async fn find_profile_by_reference(
        &self,
        merchant: MerchantId,
        reference: &Text,
    ) -> Result<Option<BillingProfile>, StoreError>;

    /// The merchant's own rate offer, expired or not; `None` also for another merchant's.
    async fn find_rate_offer(&self, merchant: MerchantId, id: RateOfferId) -> Result<Option<Offer>, StoreError>;

    /// Sessions in state CREATED whose time was over at `now`, oldest first, at most `limit`.
    async fn find_expired_sessions(
        &self,
        now: dropin_kernel::Timestamp,
        limit: u32,
    ) -> Result<Vec<Session>, StoreError>;
}
