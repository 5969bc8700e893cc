//! Sessions of operators: whose request it is, and ending them.

use std::time::Duration;

use dropin_access::AuditAction;
use dropin_access::operator::{Operator, OperatorSession, SessionEnded, SessionStage};
use dropin_kernel::OperatorSessionId;
use dropin_ports::{AccountChanged, NewAuditEntry, SessionsToEnd, StoreError};
use dropin_wire::audit_log::Document;

use super::{Operators, acts, is_active, session_hash, tokens};

/// How old the last request that is written down may be: a session idles for up to this much less.
const TOUCH_INTERVAL: Duration = Duration::from_secs(30);

/// Who makes a request, in a session that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentOperator {
    /// The operator, with the rights that it has now.
    pub operator: Operator,
    /// The session.
    pub session: OperatorSession,
    /// Whether the operator has an authenticator.
    pub has_authenticator: bool,
    /// Recovery codes that it did not use.
    pub recovery_codes_left: u32,
}

/// Why a request is nobody's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no such session: it was ended, or never was one.
    #[error("not signed in")]
    None,
    /// No request came for 15 minutes.
    #[error("signed out after 15 minutes without a request")]
    Idle,
    /// It began 12 hours ago, or its second factor did not come.
    #[error("the session is over: sign in again")]
    Over,
    /// The password was right, and the second factor is still to come.
    #[error("the second factor is missing")]
    SecondFactorMissing,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Operators {
    /// Whose session a token is, and writes down that a request came. One read, and a write twice a minute.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn current(&self, session_token: &str) -> Result<CurrentOperator, SessionError> {
        let current = self.peek(session_token).await?;
        let now = self.clock.now();
        if TOUCH_INTERVAL <= now.since(current.session.seen_at) {
            self.store.touch_operator_session(current.session.id, now).await?;
        }
        Ok(current)
    }

    /// The same without writing anything down, for what asks by itself: a page that is only left open does not keep its session alive.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn peek(&self, session_token: &str) -> Result<CurrentOperator, SessionError> {
        let found = self.store.find_operator_session(session_hash(session_token)).await?;
        let (session, account) = found.filter(|(_, account)| is_active(&account.operator)).ok_or(SessionError::None)?;
        session.check(self.clock.now()).map_err(|ended| match ended {
            SessionEnded::Idle => SessionError::Idle,
            SessionEnded::Over => SessionError::Over,
        })?;
        if session.stage == SessionStage::SecondFactor {
            return Err(SessionError::SecondFactorMissing);
        }
        Ok(CurrentOperator {
            operator: account.operator,
            session,
            has_authenticator: account.credentials.authenticator.is_some(),
            recovery_codes_left: account.credentials.recovery_codes_left,
        })
    }

    /// What every form of a session carries.
    pub fn csrf_token(session_token: &str) -> String {
        tokens::csrf_token(session_token)
    }

    /// Whether a form carried what its session's forms carry.
    pub fn check_csrf(session_token: &str, sent: &str) -> bool {
        tokens::is_same(&tokens::csrf_token(session_token), sent)
    }

    /// Ends the session of a token, at whatever stage it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn sign_out(&self, session_token: &str) -> Result<(), StoreError> {
        if let Some((session, account)) = self.store.find_operator_session(session_hash(session_token)).await? {
            let acting = acts::by_operator(&account.operator, session.client.parse().ok());
            let audit = self.entry(acting, AuditAction::OperatorSignOut, acts::subject(&account.operator));
            self.store.end_operator_sessions(session.operator, SessionsToEnd::One(session.id), audit).await?;
        }
        Ok(())
    }

    /// The operator's sessions that count, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn sessions(&self, by: &CurrentOperator) -> Result<Vec<OperatorSession>, StoreError> {
        let now = self.clock.now();
        let all = self.store.list_operator_sessions(by.operator.id).await?;
        Ok(all.into_iter().filter(|session| session.check(now).is_ok()).collect())
    }

    /// Ends one of the operator's own sessions; whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_session(&self, by: &CurrentOperator, session: OperatorSessionId) -> Result<bool, StoreError> {
        self.end(by, SessionsToEnd::One(session), Document::new().text("Session", session)).await
    }

    /// Ends all of the operator's own sessions but the one that asks; whether there were others.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_other_sessions(&self, by: &CurrentOperator) -> Result<bool, StoreError> {
        self.end(by, SessionsToEnd::AllBut(by.session.id), Document::new().text("AllBut", by.session.id)).await
    }

    async fn end(&self, by: &CurrentOperator, sessions: SessionsToEnd, before: Document) -> Result<bool, StoreError> {
        let entry = self.entry(by.acting(None), AuditAction::OperatorSignOut, acts::subject(&by.operator));
        let audit = NewAuditEntry { before: Some(before.finish()), ..entry };
        let ended = self.store.end_operator_sessions(by.operator.id, sessions, audit).await?;
        Ok(ended == AccountChanged::Done)
    }
}
