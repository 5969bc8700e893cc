use dropin_kernel::{AttemptId, OrderId};

/// Why a Session was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// By the merchant's DELETE.
    Merchant,
    /// By its age (decisions.md section 3).
    Expired,
}

impl CancelReason {
    /// The stored and shown code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merchant => "MERCHANT",
            Self::Expired => "EXPIRED",
        }
    }
}

/// Why an attempt to pay failed; shown to the shopper as an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The issuer declined without saying why.
    Declined,
    /// The issuer says the account lacks the money.
    InsufficientFunds,
    /// The card number, expiry or code is not valid.
    InvalidCard,
    /// The shopper cancelled on the hosted page.
    CancelledByShopper,
    /// The shopper failed 3-D Secure.
    AuthenticationFailed,
    /// The hosted page's time was over.
    Expired,
    /// The processor was never reached, or was told never to do it.
    ProcessorUnavailable,
}

impl FailureReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Declined,
        Self::InsufficientFunds,
        Self::InvalidCard,
        Self::CancelledByShopper,
        Self::AuthenticationFailed,
        Self::Expired,
        Self::ProcessorUnavailable,
    ];

    /// The stored and shown code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declined => "PAYMENT_DECLINED",
            Self::InsufficientFunds => "INSUFFICIENT_FUNDS",
            Self::InvalidCard => "INVALID_CARD",
            Self::CancelledByShopper => "CANCELLED_BY_SHOPPER",
            Self::AuthenticationFailed => "AUTHENTICATION_FAILED",
            Self::Expired => "PAYMENT_EXPIRED",
            Self::ProcessorUnavailable => "PROCESSOR_UNAVAILABLE",
        }
    }

    /// Reads the stored code back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == code)
    }
}

/// Where a Session stands, with what belongs to that state alone.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The attempt failed; a new attempt is a new Session.
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

/// The names of the states (contract, Session states).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionStateKind {
    /// Payment may be attempted.
    Created,
    /// An attempt runs.
    Processing,
    /// The shopper is elsewhere.
    Redirected,
    /// The Order exists.
    Completed,
    /// Ended unpaid.
    Cancelled,
    /// The attempt failed.
    Failed,
}

impl SessionStateKind {
    /// Every state; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 6] =
        [Self::Created, Self::Processing, Self::Redirected, Self::Completed, Self::Cancelled, Self::Failed];

    /// The contract's spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Processing => "PROCESSING",
            Self::Redirected => "REDIRECTED",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }

    /// Whether the state never changes again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

/// What makes a Session change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTrigger {
    /// POST /v1/session.
    Create,
    /// PUT /v1/session/{SessionId}.
    Replace,
    /// DELETE /v1/session/{SessionId}.
    Cancel,
    /// Its age.
    Expire,
    /// The shopper pays in the drop-in.
    Submit,
    /// The shopper has to go on elsewhere: a hosted page or 3-D Secure.
    Redirect,
    /// The shopper came back, or the processor went on by itself.
    Return,
    /// The processor authorized.
    Authorized,
    /// The pay-later provider took it into review, or the shopper has to transfer the money: the shopper is done here.
    Accepted,
    /// The attempt was refused, cancelled by the shopper, or its time was over.
    Refused,
}

impl SessionTrigger {
    /// The name kept in history rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Replace => "REPLACE",
            Self::Cancel => "CANCEL",
            Self::Expire => "EXPIRE",
            Self::Submit => "SUBMIT",
            Self::Redirect => "REDIRECT",
            Self::Return => "RETURN",
            Self::Authorized => "AUTHORIZED",
            Self::Accepted => "ACCEPTED",
            Self::Refused => "REFUSED",
        }
    }
}

/// A notification about a Session (decisions.md sections 3 and 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// The shopper finished in the drop-in.
    Completed,
    /// The attempt failed.
    Failed,
    /// It expired.
    Cancelled,
}

impl SessionEvent {
    /// Every event.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::Cancelled];

    /// The EventType.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "SESSION_COMPLETED",
            Self::Failed => "SESSION_FAILED",
            Self::Cancelled => "SESSION_CANCELLED",
        }
    }
}

/// One allowed move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// `None` for creation.
    pub from: Option<SessionStateKind>,
    /// What happens.
    pub trigger: SessionTrigger,
    /// Where it leads.
    pub to: SessionStateKind,
    /// What the merchant is told.
    pub event: Option<SessionEvent>,
}

/// Every move there is (contract, States and transitions; decisions.md section 3). Guards and documentation read this table.
pub const TRANSITIONS: &[Transition] = {
    use SessionStateKind::{Cancelled, Completed, Created, Failed, Processing, Redirected};
    use SessionTrigger::{Accepted, Authorized, Cancel, Create, Expire, Redirect, Refused, Replace, Return, Submit};
    const fn row(
        from: Option<SessionStateKind>,
        trigger: SessionTrigger,
        to: SessionStateKind,
        event: Option<SessionEvent>,
    ) -> Transition {
        Transition { from, trigger, to, event }
    }
    &[
        row(None, Create, Created, None),
        row(Some(Created), Replace, Created, None),
        row(Some(Created), Cancel, Cancelled, None),
        row(Some(Created), Expire, Cancelled, Some(SessionEvent::Cancelled)),
        row(Some(Created), Submit, Processing, None),
        row(Some(Processing), Authorized, Completed, Some(SessionEvent::Completed)),
        row(Some(Processing), Accepted, Completed, Some(SessionEvent::Completed)),
        row(Some(Processing), Redirect, Redirected, None),
        row(Some(Processing), Refused, Failed, Some(SessionEvent::Failed)),
        row(Some(Redirected), Return, Processing, None),
        row(Some(Redirected), Refused, Failed, Some(SessionEvent::Failed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: SessionStateKind, trigger: SessionTrigger) -> Option<&'static Transition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
