//! The merchant creates, reads, replaces and cancels Sessions, and time ends them (docs/SPECIFICATION.md#sessions).

mod request;

use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_kernel::{Change, EventId, MerchantId, SessionId, Timestamp};
use dropin_money::Currency;
use dropin_order::Order;
use dropin_ports::{
    Actor, ChangeSession, Changed, Clock, ContractStore, IdSource, Inserted, NewAuditEntry, NewEvent, NewHistoryEntry,
    NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder, StoreError, Subject,
};
use dropin_session::{Session, SessionEvent, SessionStateKind, SessionTransition, SessionTrigger, WrongState};
use dropin_validation::UrlPolicy;
use dropin_wire::{RequestError, event};

use crate::access::Caller;
use crate::audit_log::{MerchantAct, session_document};
use crate::idempotency::{Expected, IdempotentOutcome, Reply, Version};

/// How often a decision is made again after somebody else changed the Session first.
const MAX_CAS_RETRIES: usize = 8;

/// Sessions, for their merchants.
#[derive(Clone)]
pub struct Sessions {
    /// Where they are kept.
    pub store: Arc<dyn SessionStore>,
    /// Contracts, which a request may name.
    pub contracts: Arc<dyn ContractStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Which URLs a merchant may name here.
    pub url_policy: UrlPolicy,
}

/// A Session as its merchant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDetails {
    /// The Session.
    pub session: Session,
    /// The Order of the attempt that runs or completed it.
    pub order: Option<Order>,
    /// The Orders of all attempts, oldest first.
    pub attempts: Vec<Order>,
}

/// Why no Session was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateSessionError {
    /// The request is malformed, or fields are wrong.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nothing else is wrong, but the merchant may not charge in this currency.
    #[error("{0} is not enabled for the merchant")]
    CurrencyNotEnabled(Currency),
    /// The MerchantReference was used before.
    #[error("the MerchantReference was used before")]
    DuplicateReference,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a Session is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GetSessionError {
    /// No such Session of this merchant.
    #[error("no such Session")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a Session was not replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceSessionError {
    /// The request is malformed, or fields are wrong.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No such Session of this merchant.
    #[error("no such Session")]
    NotFound,
    /// It is not CREATED, or no longer: a shopper's submit may have been faster.
    #[error("the Session is {}", .0.as_str())]
    WrongState(SessionStateKind),
    /// It is none of the versions that the caller wants to replace.
    #[error("the Session is another version than the caller expects")]
    Unexpected,
    /// Another replacement was faster.
    #[error("another request replaced the Session at the same time")]
    Overtaken,
    /// Nothing else is wrong, but the merchant may not charge in this currency.
    #[error("{0} is not enabled for the merchant")]
    CurrencyNotEnabled(Currency),
    /// The MerchantReference belongs to another Session.
    #[error("the MerchantReference was used before")]
    DuplicateReference,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a Session was not cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelSessionError {
    /// No such Session of this merchant.
    #[error("no such Session")]
    NotFound,
    /// It is not CREATED.
    #[error("the Session is {}", .0.as_str())]
    WrongState(SessionStateKind),
    /// It is none of the versions that the caller wants to cancel.
    #[error("the Session is another version than the caller expects")]
    Unexpected,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The Session as it is at `now`: one whose time is over is CANCELLED from that moment, also before the sweeper has written it down.
pub fn as_of(session: Session, now: Timestamp) -> Session {
    let expired = session.as_created().ok().and_then(|created| created.expire(now));
    expired.map_or(session, |(change, _)| change.next)
}

impl Sessions {
    /// Creates a Session from the body of POST /v1/session.
    ///
    /// # Errors
    /// [`CreateSessionError`].
    pub async fn create(
        &self,
        caller: &Caller,
        body: &[u8],
        reply: Reply<Session>,
    ) -> Result<IdempotentOutcome, CreateSessionError> {
        let now = self.clock.now();
        let draft = self.draft(caller, body, now).await??;
        let profile = self.profile(caller, &draft.billing).await?.map_err(RequestError::from)?;
        self.check_contract(caller, &draft, &profile).await??;
        if !caller.merchant.accepts(draft.currency()) {
            return Err(CreateSessionError::CurrencyNotEnabled(draft.currency()));
        }
        let id = SessionId::new(self.ids.random());
        let expires_at = now.plus(caller.merchant.session_lifetime);
        let session = Session::create(
            id,
            caller.merchant.id,
            draft.into_terms(profile),
            caller.merchant.attempts_allowed,
            now,
            expires_at,
        )
        .map_err(|invalid| StoreError::Refused(invalid.to_string()))?;
        let history = NewHistoryEntry {
            merchant_id: caller.merchant.id,
            subject: Subject::Session(id),
            actor: Actor::Merchant(caller.username.clone()),
            what: SessionTrigger::Create.as_str(),
            at: now,
            before: None,
            after: SessionStateKind::Created.as_str(),
        };
        let (answer, response) = reply.tell(&session);
        match self.store.insert_session(NewSession { session, history, response }).await? {
            Inserted::Done => Ok(IdempotentOutcome::Stored(answer)),
            Inserted::KeyTaken => Ok(IdempotentOutcome::KeyTaken),
            Inserted::DuplicateReference => Err(CreateSessionError::DuplicateReference),
        }
    }

    /// The merchant's own Session, with the Order of the attempt that runs or completed it, and all attempts.
    ///
    /// # Errors
    /// [`GetSessionError`].
    pub async fn get(&self, caller: &Caller, id: SessionId) -> Result<SessionDetails, GetSessionError> {
        let found = self.store.find_session(caller.merchant.id, id).await?.ok_or(GetSessionError::NotFound)?;
        let SessionWithOrder { session, order } = found;
        let attempts = match session.attempts.failed() {
            0 => order.clone().into_iter().collect(),
            _ => self.store.list_attempts(id).await?,
        };
        Ok(SessionDetails { session: as_of(session, self.clock.now()), order, attempts })
    }

    /// Replaces the terms of a CREATED Session entirely, from the body of PUT /v1/session/{SessionId}; when `expected` is given, only a
    /// Session that it admits.
    ///
    /// Not tried again when somebody else was faster: the caller replaces what it knows, and that is gone.
    ///
    /// # Errors
    /// [`ReplaceSessionError`].
    pub async fn replace(
        &self,
        caller: &Caller,
        id: SessionId,
        body: &[u8],
        expected: Option<&Expected>,
        reply: Reply<Session>,
    ) -> Result<IdempotentOutcome, ReplaceSessionError> {
        let now = self.clock.now();
        let draft = self.draft(caller, body, now).await??;
        let session = self.find(caller, id, now).await?.ok_or(ReplaceSessionError::NotFound)?;
        let created = session.as_created().map_err(|WrongState { found }| ReplaceSessionError::WrongState(found))?;
        if !admitted(expected, &session) {
            return Err(ReplaceSessionError::Unexpected);
        }
        let profile = self.profile(caller, &draft.billing).await?.map_err(RequestError::from)?;
        self.check_contract(caller, &draft, &profile).await??;
        if !caller.merchant.accepts(draft.currency()) {
            return Err(ReplaceSessionError::CurrencyNotEnabled(draft.currency()));
        }
        let (change, row) = created.replace(draft.into_terms(profile), now);
        let history = step(&session, Actor::Merchant(caller.username.clone()), &row, now);
        let (answer, response) = reply.tell(&change.next);
        match self.store.replace_session(ReplaceSession { change, history, response }).await? {
            Replaced::Done => Ok(IdempotentOutcome::Stored(answer)),
            Replaced::KeyTaken => Ok(IdempotentOutcome::KeyTaken),
            Replaced::DuplicateReference => Err(ReplaceSessionError::DuplicateReference),
            Replaced::Stale => Err(self.overtaken(caller, id, expected).await?),
        }
    }

    /// Cancels a CREATED Session; when `expected` is given, only one that it admits.
    ///
    /// # Errors
    /// [`CancelSessionError`].
    pub async fn cancel(
        &self,
        act: &MerchantAct,
        id: SessionId,
        expected: Option<&Expected>,
        reply: Reply<Session>,
    ) -> Result<IdempotentOutcome, CancelSessionError> {
        for _ in 0..MAX_CAS_RETRIES {
            let now = self.clock.now();
            let session = self.find_of(act.merchant, id, now).await?.ok_or(CancelSessionError::NotFound)?;
            let created = session.as_created().map_err(|WrongState { found }| CancelSessionError::WrongState(found))?;
            if !admitted(expected, &session) {
                return Err(CancelSessionError::Unexpected);
            }
            let (change, row) = created.cancel(now);
            let history = step(&session, act.by.actor.clone(), &row, now);
            let (answer, response) = reply.tell(&change.next);
            let (entry, merchant) = (self.ids.ordered(), Some(act.merchant));
            let entry = NewAuditEntry::new(entry, now, act.by.clone(), merchant, AuditAction::SessionCancel, id);
            let entry = entry.with_before(session_document(&session).finish());
            let audit = Some(entry.with_after(session_document(&change.next).finish()));
            let change = ChangeSession { change, history, events: Vec::new(), response, audit };
            match self.store.change_session(change).await? {
                Changed::Done => return Ok(IdempotentOutcome::Stored(answer)),
                Changed::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                Changed::Stale => {}
            }
        }
        Err(StoreError::Unavailable("the Session changes faster than it can be cancelled".to_owned()).into())
    }

    /// Writes down that Sessions whose time is over are CANCELLED, and tells their merchants; looks at `limit` at most. Says for how many
    /// that is done now: when it is `limit`, there may be more.
    ///
    /// # Errors
    /// [`StoreError`] when the store is away; what was written before stays. A Session that cannot be written is logged and left, so that it
    /// does not keep the others.
    pub async fn expire_due(&self, limit: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        let mut done = 0;
        for session in self.store.find_expired_sessions(now, limit).await? {
            let Some((change, row)) = session.as_created().ok().and_then(|created| created.expire(now)) else {
                continue;
            };
            let events = vec![self.cancelled(&change, now)];
            let history = step(&session, Actor::System, &row, now);
            let change = ChangeSession { change, history, events, response: None, audit: None };
            match self.store.change_session(change).await {
                // Stale: somebody paid, replaced or cancelled it at the last moment, or another sweeper was faster. No key, so none is taken.
                Ok(Changed::Done | Changed::Stale | Changed::KeyTaken) => done += 1,
                Err(error @ (StoreError::Corrupt { .. } | StoreError::Refused(_))) => {
                    let session = session.id.to_string();
                    log::error!(session = session.as_str(), error:% = error; "a Session cannot be expired");
                }
                Err(away @ (StoreError::Unavailable(_) | StoreError::OutcomeUnknown)) => return Err(away),
            }
        }
        Ok(done)
    }

    /// The merchant's own Session as it is at `now`.
    async fn find(&self, caller: &Caller, id: SessionId, now: Timestamp) -> Result<Option<Session>, StoreError> {
        self.find_of(caller.merchant.id, id, now).await
    }

    async fn find_of(
        &self,
        merchant: MerchantId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let found = self.store.find_session(merchant, id).await?;
        Ok(found.map(|found| as_of(found.session, now)))
    }

    /// Who was faster than a replacement: the state tells.
    async fn overtaken(
        &self,
        caller: &Caller,
        id: SessionId,
        expected: Option<&Expected>,
    ) -> Result<ReplaceSessionError, StoreError> {
        let found = self.find(caller, id, self.clock.now()).await?;
        Ok(match found.map(|session| session.state.kind()) {
            None => ReplaceSessionError::NotFound,
            // What was expected is not there any more; without an expectation all that can be said is that two collided.
            Some(SessionStateKind::Created) if expected.is_some() => ReplaceSessionError::Unexpected,
            Some(SessionStateKind::Created) => ReplaceSessionError::Overtaken,
            Some(state) => ReplaceSessionError::WrongState(state),
        })
    }

    fn cancelled(&self, change: &Change<Session>, now: Timestamp) -> NewEvent {
        NewEvent {
            id: EventId::new(self.ids.ordered()),
            merchant_id: change.next.merchant_id,
            payment_id: change.next.payment_id(),
            event_type: SessionEvent::Cancelled.as_str(),
            body: event::session_cancelled(&change.next),
            at: now,
        }
    }
}

/// Whether the caller wants to change this version. A CREATED Session has no Order yet.
fn admitted(expected: Option<&Expected>, session: &Session) -> bool {
    expected.is_none_or(|expected| expected.admits(&Version::of_session(session, None)))
}

/// The history row of a step that `session` takes.
fn step(session: &Session, actor: Actor, row: &SessionTransition, at: Timestamp) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: session.merchant_id,
        subject: Subject::Session(session.id),
        actor,
        what: row.trigger.as_str(),
        at,
        before: row.from.map(SessionStateKind::as_str),
        after: row.to.as_str(),
    }
}
