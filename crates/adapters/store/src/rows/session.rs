use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use dropin_kernel::{AttemptId, MerchantId, OrderId, Revision, SessionId};
use dropin_order::FailureReason;
use dropin_session::{Attempts, FailedAttempt, MAX_ATTEMPTS, Session, SessionParts, SessionState, SessionStateKind};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument};

use super::billing::ProfileRow;
use super::terms::TermsDocument;
use super::values::{currency, missing, read_document, write_document};
use crate::schema::session;

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
    pub(crate) terms: JsonDocument,
    pub(crate) created_at: Instant,
    pub(crate) updated_at: Instant,
    pub(crate) expires_at: Instant,
    pub(crate) attempts_failed: i32,
    pub(crate) attempts_allowed: i32,
    pub(crate) last_attempt_id: Option<Id>,
    pub(crate) last_failure: Option<String>,
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
    pub(crate) attempts_failed: i32,
    pub(crate) last_attempt_id: Option<Id>,
    pub(crate) last_failure: Option<&'static str>,
}

/// The columns that a replacement of the terms writes.
#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = session)]
pub(crate) struct TermsChange {
    pub(crate) revision: i64,
    pub(crate) currency: &'static str,
    pub(crate) total_minor: i64,
    pub(crate) billing_profile_id: Id,
    pub(crate) terms: JsonDocument,
    pub(crate) updated_at: Instant,
    pub(crate) expires_at: Instant,
}

impl StateColumns {
    pub(crate) fn new(session: &Session) -> Self {
        let (cancel_reason, failure_reason) = match session.state {
            SessionState::Cancelled { reason } => (Some(reason.as_str()), None),
            SessionState::Failed { reason, .. } => (None, Some(known_before_attempts(reason).as_str())),
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
            // At most MAX_ATTEMPTS.
            attempts_failed: i32::try_from(session.attempts.failed()).unwrap_or(i32::MAX),
            last_attempt_id: session.attempts.last_failed().map(|last| Id(last.attempt.uuid())),
            last_failure: session.attempts.last_failed().map(|last| last.reason.as_str()),
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
            attempts_failed: state.attempts_failed,
            attempts_allowed: i32::try_from(session.attempts.allowed())
                .map_err(|_too_many| Fault::Refused(format!("a Session allows at most {MAX_ATTEMPTS} attempts")))?,
            last_attempt_id: state.last_attempt_id,
            last_failure: state.last_failure.map(str::to_owned),
        })
    }

    /// The Session, with the billing profile that it names.
    pub(crate) fn restore(&self, profile: &ProfileRow) -> Result<Session, Fault> {
        let document: TermsDocument = read_document(TABLE, &self.terms)?;
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        let session = Session::restore(SessionParts {
            id: SessionId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            revision: Revision::new(self.revision),
            state: self.state()?,
            terms: document.restore(currency(TABLE, &self.currency)?, self.total_minor, profile.restore()?)?,
            attempts: self.attempts()?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            expires_at: self.expires_at.0,
        });
        session.map_err(|invalid| corrupt(TABLE, invalid.to_string()))
    }

    fn attempts(&self) -> Result<Attempts, Fault> {
        let number = |number, name| u32::try_from(number).map_err(|_negative| missing(TABLE, name));
        let last_failed = match (self.last_attempt_id, self.last_failure.as_deref()) {
            (None, None) => None,
            (Some(attempt), Some(code)) => code
                .parse::<FailureReason>()
                .map(|reason| Some(FailedAttempt { attempt: AttemptId::new(attempt.0), reason }))
                .map_err(|_unknown| corrupt(TABLE, "the last failure is unknown"))?,
            _ => return Err(corrupt(TABLE, "the last attempt is told of in part")),
        };
        let failed = number(self.attempts_failed, "attempts_failed")?;
        let allowed = number(self.attempts_allowed, "attempts_allowed")?;
        Attempts::restore(failed, allowed, last_failed).map_err(|invalid| corrupt(TABLE, invalid.to_string()))
    }

    /// The state with what belongs to it; columns of other states must be empty.
    fn state(&self) -> Result<SessionState, Fault> {
        let kind = self.state.parse::<SessionStateKind>().ok().ok_or_else(|| corrupt(TABLE, "the state is unknown"))?;
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
            (SessionStateKind::Cancelled, None, Some(code), None) => {
                code.parse().ok().map(|reason| SessionState::Cancelled { reason })
            }
            // The exact reason stands with the last attempt, where there is one.
            (SessionStateKind::Failed, Some((order, attempt)), None, Some(code)) => self
                .last_failure
                .as_deref()
                .unwrap_or(code)
                .parse::<FailureReason>()
                .ok()
                .map(|reason| SessionState::Failed { order, attempt, reason }),
            _ => None,
        };
        state.ok_or_else(|| corrupt(TABLE, format!("the columns do not fit the state {}", kind.as_str())))
    }
}

/// What programs of the release before attempts read in `failure_reason`, while both are running (migrations/README.md): they know no other words. To
/// be removed with the next release.
const fn known_before_attempts(reason: FailureReason) -> FailureReason {
    match reason {
        FailureReason::CardRefused | FailureReason::OtherWayChosen | FailureReason::Stopped => FailureReason::Declined,
        other => other,
    }
}
