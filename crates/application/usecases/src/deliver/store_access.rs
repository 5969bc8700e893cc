//! Whether the outbox answers.

use std::time::Duration;

use dropin_ports::StoreError;
use tokio::time::Instant;

/// After an error the outbox is left alone for a poll interval; the log says so once, and once when it answers again.
#[derive(Default)]
pub(super) struct StoreAccess {
    retry_at: Option<Instant>,
    error: Option<StoreError>,
}

impl StoreAccess {
    /// The value of a store call; an error counts from the next [`StoreAccess::check`] on.
    pub(super) fn ok_or_keep<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        result.map_err(|error| self.error = Some(error)).ok()
    }

    /// Until when the outbox is not called.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        self.retry_at.filter(|until| now < *until)
    }

    /// Whether the outbox may be called at `now`.
    pub(super) fn check(&mut self, now: Instant, poll: Duration) -> bool {
        if let Some(error) = self.error.take() {
            if self.retry_at.is_none() {
                log::warn!("notifier: cannot use the outbox, trying again: {error}");
            }
            self.retry_at = Some(now + poll);
        }
        self.blocked_until(now).is_none()
    }

    /// A store call has succeeded.
    pub(super) fn answered(&mut self) {
        if self.retry_at.take().is_some() {
            log::info!("notifier: the outbox answers again");
        }
    }

    #[cfg(test)]
    pub(super) fn error(&self) -> Option<&StoreError> {
        self.error.as_ref()
    }
}
