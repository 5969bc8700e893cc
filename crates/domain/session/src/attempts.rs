use dropin_kernel::AttemptId;
use dropin_order::FailureReason;

/// How many attempts a Session allows unless its merchant has set another number (docs/SPECIFICATION.md#session-attempts).
pub const DEFAULT_ATTEMPTS: u32 = 5;
/// The highest number of attempts that a merchant may allow in one Session.
pub const MAX_ATTEMPTS: u32 = 20;

/// The attempts of a Session that have failed so far, and how many it allows.
///
/// The number allowed is the merchant's setting when the Session was created: what the shopper was told is left does not shrink when the
/// merchant changes the setting, and a processor's answer is decided upon without asking for the merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "crate::serialized::StoredAttempts")
)]
pub struct Attempts {
    failed: u32,
    allowed: u32,
    last_failed: Option<FailedAttempt>,
}

/// An attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct FailedAttempt {
    /// As the shopper's browser named it.
    pub attempt: AttemptId,
    /// Why.
    pub reason: FailureReason,
}

/// Why stored numbers are no attempts of a Session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAttempts {
    /// A Session allows at least one, and [`MAX_ATTEMPTS`] at most.
    #[error("a Session allows 1 to {MAX_ATTEMPTS} attempts")]
    Allowed,
    /// More failed than the Session allows.
    #[error("more attempts failed than the Session allows")]
    Failed,
    /// The last one that failed is kept exactly when one failed.
    #[error("the last failed attempt is known exactly when one failed")]
    LastFailed,
}

impl Attempts {
    /// None made yet, of `allowed` that may be.
    ///
    /// # Errors
    /// [`InvalidAttempts::Allowed`]: no merchant may set that number.
    ///
    /// ```
    /// use dropin_session::{Attempts, InvalidAttempts};
    ///
    /// assert_eq!(Attempts::new(5).map(|attempts| attempts.left()), Ok(5));
    /// assert_eq!(Attempts::new(0), Err(InvalidAttempts::Allowed));
    /// ```
    pub fn new(allowed: u32) -> Result<Self, InvalidAttempts> {
        Self::restore(0, allowed, None)
    }

    /// Attempts from their stored parts.
    ///
    /// # Errors
    /// [`InvalidAttempts`]: the parts do not belong together.
    ///
    /// ```
    /// use dropin_session::{Attempts, InvalidAttempts};
    ///
    /// assert_eq!(Attempts::restore(0, 5, None), Attempts::new(5));
    /// assert_eq!(Attempts::restore(0, 21, None), Err(InvalidAttempts::Allowed));
    /// assert_eq!(Attempts::restore(1, 5, None), Err(InvalidAttempts::LastFailed));
    /// ```
    pub fn restore(failed: u32, allowed: u32, last_failed: Option<FailedAttempt>) -> Result<Self, InvalidAttempts> {
        if !(1..=MAX_ATTEMPTS).contains(&allowed) {
            return Err(InvalidAttempts::Allowed);
        }
        if allowed < failed {
            return Err(InvalidAttempts::Failed);
        }
        if last_failed.is_some() != (0 < failed) {
            return Err(InvalidAttempts::LastFailed);
        }
        Ok(Self { failed, allowed, last_failed })
    }

    /// How many failed; a PUT does not change it.
    pub const fn failed(&self) -> u32 {
        self.failed
    }

    /// How many may be made in all, 1 to [`MAX_ATTEMPTS`].
    pub const fn allowed(&self) -> u32 {
        self.allowed
    }

    /// The one that failed last.
    pub const fn last_failed(&self) -> Option<FailedAttempt> {
        self.last_failed
    }

    /// How many more may be made; one that runs is not counted yet.
    pub const fn left(&self) -> u32 {
        self.allowed.saturating_sub(self.failed)
    }

    /// With one more that failed.
    pub(crate) const fn and_failed(self, attempt: AttemptId, reason: FailureReason) -> Self {
        let last_failed = Some(FailedAttempt { attempt, reason });
        Self { failed: self.failed.saturating_add(1), last_failed, ..self }
    }
}
