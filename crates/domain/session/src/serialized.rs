//! Serialized forms before they are checked: parts that have to belong together.

use dropin_kernel::{AttemptId, OrderId};
use dropin_order::FailureReason;
use serde::{Deserialize, Serialize};

use crate::attempts::{Attempts, FailedAttempt, InvalidAttempts};
use crate::state::{CancelReason, SessionState, SessionStateKind};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredAttempts {
    failed: u32,
    allowed: u32,
    last_failed: Option<FailedAttempt>,
}

impl TryFrom<StoredAttempts> for Attempts {
    type Error = InvalidAttempts;

    fn try_from(stored: StoredAttempts) -> Result<Self, InvalidAttempts> {
        Self::restore(stored.failed, stored.allowed, stored.last_failed)
    }
}

/// A state by its name, with what belongs to it. A flat form, since serde lets a state without members have any.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredState {
    state: SessionStateKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<AttemptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancel_reason: Option<CancelReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure_reason: Option<FailureReason>,
}

impl From<SessionState> for StoredState {
    fn from(state: SessionState) -> Self {
        let (cancel_reason, failure_reason) = match state {
            SessionState::Cancelled { reason } => (Some(reason), None),
            SessionState::Failed { reason, .. } => (None, Some(reason)),
            _ => (None, None),
        };
        Self { state: state.kind(), order: state.order(), attempt: state.attempt(), cancel_reason, failure_reason }
    }
}

impl TryFrom<StoredState> for SessionState {
    type Error = &'static str;

    fn try_from(stored: StoredState) -> Result<Self, Self::Error> {
        use SessionStateKind::{Cancelled, Completed, Created, Failed, Processing, Redirected};
        match (stored.state, stored.order, stored.attempt, stored.cancel_reason, stored.failure_reason) {
            (Created, None, None, None, None) => Ok(Self::Created),
            (Processing, Some(order), Some(attempt), None, None) => Ok(Self::Processing { order, attempt }),
            (Redirected, Some(order), Some(attempt), None, None) => Ok(Self::Redirected { order, attempt }),
            (Completed, Some(order), Some(attempt), None, None) => Ok(Self::Completed { order, attempt }),
            (Cancelled, None, None, Some(reason), None) => Ok(Self::Cancelled { reason }),
            (Failed, Some(order), Some(attempt), None, Some(reason)) => Ok(Self::Failed { order, attempt, reason }),
            _ => Err("has other members than its State has"),
        }
    }
}
