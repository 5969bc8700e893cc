use dropin_kernel::{AttemptId, Change, OrderId, Revision, Timestamp};
use dropin_order::FailureReason;

use crate::session::{Session, SessionTerms};
use crate::state::{CancelReason, SessionState, SessionStateKind, SessionTransition, SessionTrigger, transition};

/// The Session is not in a state that allows this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Session is {}", .found.as_str())]
pub struct WrongState {
    /// The state it is in.
    pub found: SessionStateKind,
}

/// Why a shopper may not pay now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitRefused {
    /// The merchant changed the Session after the shopper's page was drawn: the total may differ.
    #[error("the Session changed since it was shown")]
    Changed {
        /// The version to show now.
        current: Revision,
    },
    /// Its time is over (the sweeper will write that down).
    #[error("the Session has expired")]
    Expired,
    /// The guarantee of the rate that it is priced by has ended; the merchant can replace the Session.
    #[error("the rate offer has expired")]
    RateExpired,
}

/// Proof that a Session is CREATED; carries what may be done in that state.
#[derive(Debug)]
pub struct Created<'a>(&'a Session);

/// Proof that a Session is PROCESSING; carries what may be done in that state.
#[derive(Debug)]
pub struct Processing<'a> {
    session: &'a Session,
    order: OrderId,
    attempt: AttemptId,
}

/// Proof that a Session is REDIRECTED; carries what may be done in that state.
#[derive(Debug)]
pub struct Redirected<'a> {
    session: &'a Session,
    order: OrderId,
    attempt: AttemptId,
}

impl Session {
    /// Proof that payment may be attempted, and that the merchant may still replace or cancel.
    ///
    /// # Errors
    /// [`WrongState`] in any other state.
    pub fn as_created(&self) -> Result<Created<'_>, WrongState> {
        match self.state {
            SessionState::Created => Ok(Created(self)),
            _ => Err(WrongState { found: self.state.kind() }),
        }
    }

    /// Proof that an attempt runs.
    ///
    /// # Errors
    /// [`WrongState`] in any other state.
    pub fn as_processing(&self) -> Result<Processing<'_>, WrongState> {
        match self.state {
            SessionState::Processing { order, attempt } => Ok(Processing { session: self, order, attempt }),
            _ => Err(WrongState { found: self.state.kind() }),
        }
    }

    /// Proof that the shopper is elsewhere.
    ///
    /// # Errors
    /// [`WrongState`] in any other state.
    pub fn as_redirected(&self) -> Result<Redirected<'_>, WrongState> {
        match self.state {
            SessionState::Redirected { order, attempt } => Ok(Redirected { session: self, order, attempt }),
            _ => Err(WrongState { found: self.state.kind() }),
        }
    }

    fn moved(&self, trigger: SessionTrigger, state: SessionState, now: Timestamp) -> (Change<Self>, SessionTransition) {
        let row = transition(self.state.kind(), trigger).expect("witnesses only offer moves of the table");
        assert_eq!(row.to, state.kind(), "the table and the witness disagree on {trigger:?}");
        let mut next = self.clone().at_revision(self.revision.next());
        next.edit(|parts| (parts.state, parts.updated_at) = (state, now));
        (Change { next, expected: self.revision }, *row)
    }

    /// The attempt failed. Where another may follow, the Session is CREATED again, or CANCELLED when its own time was over meanwhile; else it is
    /// FAILED.
    fn attempt_failed(
        &self,
        order: OrderId,
        attempt: AttemptId,
        reason: FailureReason,
        now: Timestamp,
    ) -> (Change<Self>, SessionTransition) {
        let attempts = self.attempts.and_failed(attempt, reason);
        let (trigger, state) = if !reason.rule().is_mendable || attempts.left() == 0 {
            (SessionTrigger::Refused, SessionState::Failed { order, attempt, reason })
        } else if self.expires_at <= now {
            (SessionTrigger::AttemptFailedLate, SessionState::Cancelled { reason: CancelReason::Expired })
        } else {
            (SessionTrigger::AttemptFailed, SessionState::Created)
        };
        let (mut change, row) = self.moved(trigger, state, now);
        change.next.edit(|parts| parts.attempts = attempts);
        (change, row)
    }
}

impl Created<'_> {
    /// PUT: the terms are replaced entirely; everything else stays.
    pub fn replace(self, terms: SessionTerms, now: Timestamp) -> (Change<Session>, SessionTransition) {
        let (mut change, row) = self.0.moved(SessionTrigger::Replace, SessionState::Created, now);
        change.next.edit(|parts| parts.terms = terms);
        (change, row)
    }

    /// DELETE by the merchant.
    pub fn cancel(self, now: Timestamp) -> (Change<Session>, SessionTransition) {
        self.0.moved(SessionTrigger::Cancel, SessionState::Cancelled { reason: CancelReason::Merchant }, now)
    }

    /// The end of its life; `None` when that has not come yet. It ended when its time was over, whenever that is noticed.
    pub fn expire(self, now: Timestamp) -> Option<(Change<Session>, SessionTransition)> {
        let (end, expired) = (self.0.expires_at, SessionState::Cancelled { reason: CancelReason::Expired });
        (end <= now).then(|| self.0.moved(SessionTrigger::Expire, expired, end))
    }

    /// The shopper pays what `shown` displayed.
    ///
    /// # Errors
    /// [`SubmitRefused`] when the terms changed since, or time is over: a total not shown is never charged.
    pub fn submit(
        self,
        shown: Revision,
        order: OrderId,
        attempt: AttemptId,
        now: Timestamp,
    ) -> Result<(Change<Session>, SessionTransition), SubmitRefused> {
        if self.0.revision != shown {
            return Err(SubmitRefused::Changed { current: self.0.revision });
        }
        if self.0.expires_at <= now {
            return Err(SubmitRefused::Expired);
        }
        if self.0.terms.rate.as_ref().is_some_and(|rate| rate.expires_at <= now) {
            return Err(SubmitRefused::RateExpired);
        }
        Ok(self.0.moved(SessionTrigger::Submit, SessionState::Processing { order, attempt }, now))
    }
}

impl Processing<'_> {
    /// The processor authorized: the Order exists from now on.
    pub fn authorized(self, now: Timestamp) -> (Change<Session>, SessionTransition) {
        let state = SessionState::Completed { order: self.order, attempt: self.attempt };
        self.session.moved(SessionTrigger::Authorized, state, now)
    }

    /// The shopper is done here, and the rest takes time: a provider's review, or a bank transfer. The Order exists from now on.
    pub fn accepted(self, now: Timestamp) -> (Change<Session>, SessionTransition) {
        let state = SessionState::Completed { order: self.order, attempt: self.attempt };
        self.session.moved(SessionTrigger::Accepted, state, now)
    }

    /// The shopper has to go on elsewhere.
    pub fn redirected(self, now: Timestamp) -> (Change<Session>, SessionTransition) {
        let state = SessionState::Redirected { order: self.order, attempt: self.attempt };
        self.session.moved(SessionTrigger::Redirect, state, now)
    }

    /// The attempt failed: declined, cancelled by the shopper, or its time was over. Where another may follow, the Session is CREATED again, or
    /// CANCELLED when its own time was over meanwhile; else it is FAILED.
    pub fn attempt_failed(self, reason: FailureReason, now: Timestamp) -> (Change<Session>, SessionTransition) {
        self.session.attempt_failed(self.order, self.attempt, reason, now)
    }
}

impl Redirected<'_> {
    /// The shopper came back, or the processor has decided without that.
    pub fn returned(self, now: Timestamp) -> (Change<Session>, SessionTransition) {
        let state = SessionState::Processing { order: self.order, attempt: self.attempt };
        self.session.moved(SessionTrigger::Return, state, now)
    }

    /// The attempt failed: declined, cancelled by the shopper, or its time was over. Where another may follow, the Session is CREATED again, or
    /// CANCELLED when its own time was over meanwhile; else it is FAILED.
    pub fn attempt_failed(self, reason: FailureReason, now: Timestamp) -> (Change<Session>, SessionTransition) {
        self.session.attempt_failed(self.order, self.attempt, reason, now)
    }
}
