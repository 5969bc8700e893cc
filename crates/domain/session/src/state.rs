use dropin_kernel::coded_enum;
use dropin_kernel::{AttemptId, OrderId};
use dropin_order::FailureReason;

coded_enum! {
    /// Why a Session was cancelled.
    pub enum CancelReason: "reason to cancel" {
        /// By the merchant's DELETE.
        Merchant = "MERCHANT",
        /// By its age (docs/SPECIFICATION.md#session-lifetime).
        Expired = "EXPIRED",
    }
}

/// Where a Session stands, with what belongs to that state alone. Serialized as its name beside that: `{"State":"PROCESSING","Order":…,"Attempt":…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "crate::serialized::StoredState", try_from = "crate::serialized::StoredState")
)]
pub enum SessionState {
    /// Payment may be attempted.
    Created,
    /// An attempt runs; leaves by itself.
    Processing {
        /// The Order of the attempt, not shown to anybody yet.
        order: OrderId,
        /// The attempt, as the shopper's browser named it.
        attempt: AttemptId,
    },
    /// The shopper is elsewhere to finish paying.
    Redirected {
        /// The Order of the attempt.
        order: OrderId,
        /// The attempt.
        attempt: AttemptId,
    },
    /// The shopper finished and the Order exists.
    Completed {
        /// The Order.
        order: OrderId,
        /// The attempt.
        attempt: AttemptId,
    },
    /// Nobody may pay it any more.
    Cancelled {
        /// Who ended it.
        reason: CancelReason,
    },
    /// The last attempt failed; whoever wants to try again needs a new Session.
    Failed {
        /// The Order of the failed attempt, never shown.
        order: OrderId,
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        reason: FailureReason,
    },
}

impl SessionState {
    /// The state without what belongs to it.
    pub const fn kind(&self) -> SessionStateKind {
        match self {
            Self::Created => SessionStateKind::Created,
            Self::Processing { .. } => SessionStateKind::Processing,
            Self::Redirected { .. } => SessionStateKind::Redirected,
            Self::Completed { .. } => SessionStateKind::Completed,
            Self::Cancelled { .. } => SessionStateKind::Cancelled,
            Self::Failed { .. } => SessionStateKind::Failed,
        }
    }

    /// The attempt that was begun, if any.
    pub const fn attempt(&self) -> Option<AttemptId> {
        match self {
            Self::Processing { attempt, .. }
            | Self::Redirected { attempt, .. }
            | Self::Completed { attempt, .. }
            | Self::Failed { attempt, .. } => Some(*attempt),
            Self::Created | Self::Cancelled { .. } => None,
        }
    }

    /// The Order of the attempt that was begun, if any.
    pub const fn order(&self) -> Option<OrderId> {
        match self {
            Self::Processing { order, .. }
            | Self::Redirected { order, .. }
            | Self::Completed { order, .. }
            | Self::Failed { order, .. } => Some(*order),
            Self::Created | Self::Cancelled { .. } => None,
        }
    }
}

coded_enum! {
    /// The names of the states (docs/SPECIFICATION.md#session-states).
    pub enum SessionStateKind: "Session state" {
        /// Payment may be attempted.
        Created = "CREATED",
        /// An attempt runs.
        Processing = "PROCESSING",
        /// The shopper is elsewhere.
        Redirected = "REDIRECTED",
        /// The Order exists.
        Completed = "COMPLETED",
        /// Ended unpaid.
        Cancelled = "CANCELLED",
        /// The last attempt failed.
        Failed = "FAILED",
    }
}

impl SessionStateKind {
    /// Whether the state never changes again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

coded_enum! {
    /// What makes a Session change.
    #[non_exhaustive]
    pub enum SessionTrigger: "Session trigger" {
        /// POST /v1/session.
        Create = "CREATE",
        /// PUT /v1/session/{SessionId}.
        Replace = "REPLACE",
        /// DELETE /v1/session/{SessionId}.
        Cancel = "CANCEL",
        /// Its age.
        Expire = "EXPIRE",
        /// The shopper pays in the drop-in.
        Submit = "SUBMIT",
        /// The shopper has to go on elsewhere: a hosted page or 3-D Secure.
        Redirect = "REDIRECT",
        /// The shopper came back, or the processor went on by itself.
        Return = "RETURN",
        /// The processor authorized.
        Authorized = "AUTHORIZED",
        /// The pay-later provider took it into review, or the shopper has to transfer the money: the shopper is done here.
        Accepted = "ACCEPTED",
        /// The attempt failed, and another may follow.
        AttemptFailed = "ATTEMPT_FAILED",
        /// The attempt failed, and the Session's own time was over meanwhile.
        AttemptFailedLate = "ATTEMPT_FAILED_LATE",
        /// The attempt failed in a way that no other mends, or it was the last one allowed.
        Refused = "REFUSED",
    }
}

coded_enum! {
    /// A notification about a Session (docs/SPECIFICATION.md#session-events).
    pub enum SessionEvent: "Session event" {
        /// The shopper finished in the drop-in.
        Completed = "SESSION_COMPLETED",
        /// The last attempt failed.
        Failed = "SESSION_FAILED",
        /// It expired.
        Cancelled = "SESSION_CANCELLED",
    }
}

/// One allowed move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTransition {
    /// `None` for creation.
    pub from: Option<SessionStateKind>,
    /// What happens.
    pub trigger: SessionTrigger,
    /// Where it leads.
    pub to: SessionStateKind,
    /// What the merchant is told.
    pub event: Option<SessionEvent>,
}

/// Every move there is (docs/SPECIFICATION.md#session-transitions). Guards and documentation read this table.
pub const TRANSITIONS: &[SessionTransition] = {
    use SessionStateKind::{Cancelled, Completed, Created, Failed, Processing, Redirected};
    use SessionTrigger as T;
    const fn row(
        from: Option<SessionStateKind>,
        trigger: SessionTrigger,
        to: SessionStateKind,
        event: Option<SessionEvent>,
    ) -> SessionTransition {
        SessionTransition { from, trigger, to, event }
    }
    &[
        row(None, T::Create, Created, None),
        row(Some(Created), T::Replace, Created, None),
        row(Some(Created), T::Cancel, Cancelled, None),
        row(Some(Created), T::Expire, Cancelled, Some(SessionEvent::Cancelled)),
        row(Some(Created), T::Submit, Processing, None),
        row(Some(Processing), T::Authorized, Completed, Some(SessionEvent::Completed)),
        row(Some(Processing), T::Accepted, Completed, Some(SessionEvent::Completed)),
        row(Some(Processing), T::Redirect, Redirected, None),
        row(Some(Processing), T::AttemptFailed, Created, None),
        row(Some(Processing), T::AttemptFailedLate, Cancelled, Some(SessionEvent::Cancelled)),
        row(Some(Processing), T::Refused, Failed, Some(SessionEvent::Failed)),
        row(Some(Redirected), T::Return, Processing, None),
        row(Some(Redirected), T::AttemptFailed, Created, None),
        row(Some(Redirected), T::AttemptFailedLate, Cancelled, Some(SessionEvent::Cancelled)),
        row(Some(Redirected), T::Refused, Failed, Some(SessionEvent::Failed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: SessionStateKind, trigger: SessionTrigger) -> Option<&'static SessionTransition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
