//! When an operator's session is over.

use std::time::Duration;

use dropin_kernel::{OperatorId, OperatorSessionId, Timestamp, coded_enum};

/// How long a session lives without a request.
pub const SESSION_IDLE: Duration = Duration::from_secs(15 * 60);

/// How long a session lives in all.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a sign-in waits for its second factor.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(5 * 60);

coded_enum! {
    /// How far an operator's sign-in has come.
    pub enum SessionStage: "stage of a session" {
        /// The password was right, and the second factor is still to come: nothing is allowed but giving it.
        SecondFactor = "SECOND_FACTOR",
        /// Signed in.
        SignedIn = "SIGNED_IN",
    }
}

/// A session of an operator in the admin panel. Its token is kept nowhere, only a hash of it, and changes at each stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorSession {
    /// Identifier, which says nothing of the token.
    pub id: OperatorSessionId,
    /// Whose it is.
    pub operator: OperatorId,
    /// How far the sign-in has come.
    pub stage: SessionStage,
    /// When it began.
    pub created_at: Timestamp,
    /// When its last request came.
    pub seen_at: Timestamp,
    /// The client's address, as the panel saw it when it began.
    pub client: String,
    /// What the browser called itself then, cut to 200 characters; empty when it said nothing.
    pub user_agent: String,
}

/// Why a session does not count any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnded {
    /// No request came for [`SESSION_IDLE`].
    Idle,
    /// It lived for [`SESSION_LIFETIME`], or its second factor did not come within [`SIGN_IN_LIFETIME`].
    Over,
}

impl OperatorSession {
    /// Whether it counts at `now`.
    ///
    /// # Errors
    /// [`SessionEnded`].
    pub fn check(&self, now: Timestamp) -> Result<(), SessionEnded> {
        if self.end() <= now {
            Err(SessionEnded::Over)
        } else if self.seen_at.plus(SESSION_IDLE) <= now {
            Err(SessionEnded::Idle)
        } else {
            Ok(())
        }
    }

    /// When it ends at the latest.
    pub fn end(&self) -> Timestamp {
        self.created_at.plus(match self.stage {
            SessionStage::SecondFactor => SIGN_IN_LIFETIME,
            SessionStage::SignedIn => SESSION_LIFETIME,
        })
    }

    /// When it ends if no further request comes.
    pub fn idle_end(&self) -> Timestamp {
        self.seen_at.plus(SESSION_IDLE).min(self.end())
    }
}
