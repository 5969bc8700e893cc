use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use dropin_kernel::{AttemptId, MerchantId, OrderId, Revision, SessionId};
use dropin_session::{CancelReason, FailureReason, Session, SessionState, SessionStateKind};

use super::terms::TermsDocument;
use super::{ProfileRow, currency, missing, read_document, write_document};
use crate::fault::{Fault, corrupt};
use crate::schema::session;
use crate::sql::{Document, Id, Instant};

const TABLE: &str = "session";

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = session)]
pub(crate) struct SessionRow {
    pub(crate) id: Id,
    pub(crate) merchant_id: Id,
    pub(crate) revision: i64,
    pub(crate) state: String,
    pub(crate) order_id: Option<Id>,
    pub(crate) attempt_id: Option<Id>,
    pub(crate) cancel_reason: Option<String>,
    pub(crate) failure_reason: Option<String>,
    pub(crate) currency: String,
    pub(crate) total_minor: i64,
    pub(crate) billing_profile_id: Id,
    pub(crate) terms: Document,
    pub(crate) created_at: Instant,
    pub(crate) updated_at: Instant,
    pub(crate) expires_at: Instant,
}

/// The columns that a change of state writes.
#[derive(Debug, Clone)]
pub(crate) struct StateColumns {
    pub(crate) revision: i64,
    pub(crate) state: &'static str,
    pub(crate) order_id: Option<Id>,
    pub(crate) attempt_id: Option<Id>,
    pub(crate) cancel_reason: Option<&'static str>,
    pub(crate) failure_reason: Option<&'static str>,
    pub(crate) updated_at: Instant,
}

/// The columns that a replacement of the terms writes.
#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = session)]
pub(crate) struct TermsChange {
    revision: i64,
    currency: &'static str,
    total_minor: i64,
    billing_profile_id: Id,
    terms: Document,
    updated_at: Instant,
    expires_at: Instant,
}

impl StateColumns {
    pub(crate) fn new(session: &Session) -> Self {
        let (cancel_reason, failure_reason) = match session.state {
            SessionState::Cancelled { reason } => (Some(reason.as_str()), None),
            SessionState::Failed { reason, .. } => (None, Some(reason.as_str())),
            _ => (None, None),
        };
        Self {
            revision: session.revision.number(),
            state: session.state.kind().as_str(),
            order_id: session.state.order().map(|order| Id(order.uuid())),
            attempt_id: session.state.attempt().map(|attempt| Id(attempt.uuid())),
            cancel_reason,
            failure_reason,
            updated_at: Instant(session.updated_at),
        }
    }
}

impl TermsChange {
    pub(crate) fn new(session: &Session) -> Result<Self, Fault> {
        Ok(Self {
            revision: session.revision.number(),
            currency: session.terms.currency.code(),
            total_minor: session.terms.total.minor(),
            billing_profile_id: Id(session.terms.billing.id.uuid()),
            terms: write_document(&TermsDocument::new(&session.terms))?,
            updated_at: Instant(session.updated_at),
            expires_at: Instant(session.expires_at),
        })
    }
}

impl SessionRow {
    pub(crate) fn new(session: &Session) -> Result<Self, Fault> {
        let state = StateColumns::new(session);
        let terms = TermsChange::new(session)?;
        Ok(Self {
            id: Id(session.id.uuid()),
            merchant_id: Id(session.merchant_id.uuid()),
            revision: terms.revision,
            state: state.state.to_owned(),
            order_id: state.order_id,
            attempt_id: state.attempt_id,
            cancel_reason: state.cancel_reason.map(str::to_owned),
            failure_reason: state.failure_reason.map(str::to_owned),
            currency: terms.currency.to_owned(),
            total_minor: terms.total_minor,
            billing_profile_id: terms.billing_profile_id,
            terms: terms.terms,
            created_at: Instant(session.created_at),
            updated_at: terms.updated_at,
            expires_at: terms.expires_at,
        })
    }

    /// The Session, with the billing profile that it names.
    pub(crate) fn restore(&self, profile: &ProfileRow) -> Result<Session, Fault> {
        let document: TermsDocument = read_document(TABLE, &self.terms)?;
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        Ok(Session {
            id: SessionId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            revision: Revision::new(self.revision),
            state: self.state()?,
            terms: document.restore(currency(TABLE, &self.currency)?, self.total_minor, profile.restore()?)?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            expires_at: self.expires_at.0,
        })
    }

    /// The state with what belongs to it; columns of other states must be empty.
    fn state(&self) -> Result<SessionState, Fault> {
        let kind = SessionStateKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == self.state)
            .ok_or_else(|| corrupt(TABLE, "the state is unknown"))?;
        let cancelled = self.cancel_reason.as_deref();
        let failed = self.failure_reason.as_deref();
        let attempt = self
            .order_id
            .zip(self.attempt_id)
            .map(|(order, attempt)| (OrderId::new(order.0), AttemptId::new(attempt.0)));
        let state = match (kind, attempt, cancelled, failed) {
            (SessionStateKind::Created, None, None, None) => Some(SessionState::Created),
            (SessionStateKind::Processing, Some((order, attempt)), None, None) => {
                Some(SessionState::Processing { order, attempt })
            }
            (SessionStateKind::Redirected, Some((order, attempt)), None, None) => {
                Some(SessionState::Redirected { order, attempt })
            }
            (SessionStateKind::Completed, Some((order, attempt)), None, None) => {
                Some(SessionState::Completed { order, attempt })
            }
            (SessionStateKind::Cancelled, None, Some(code), None) => [CancelReason::Merchant, CancelReason::Expired]
                .into_iter()
                .find(|reason| reason.as_str() == code)
                .map(|reason| SessionState::Cancelled { reason }),
            (SessionStateKind::Failed, Some((order, attempt)), None, Some(code)) => {
                FailureReason::from_code(code).map(|reason| SessionState::Failed { order, attempt, reason })
            }
            _ => None,
        };
        state.ok_or_else(|| corrupt(TABLE, format!("the columns do not fit the state {}", kind.as_str())))
    }
}
