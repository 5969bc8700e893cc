use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_ports::{Clock, ScreeningStore, StoreError};

/// Deletes what screening needs no longer: counts that are over, shoppers who have not come for long, and facts after their time.
#[derive(Clone)]
pub struct ScreeningRetention {
    /// Counts and screenings.
    pub store: Arc<dyn ScreeningStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long facts are kept; `None` for ever.
    pub facts: Option<Duration>,
}

impl ScreeningRetention {
    /// Deletes at most `limit` rows of each; how many together.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge(&self, limit: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        // Nothing is older than the beginning of the count of time.
        let before = self.facts.map_or(Timestamp::from_micros(0), |kept| now.minus(kept));
        self.store.purge_screening(now, before, limit).await
    }
}

impl fmt::Debug for ScreeningRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScreeningRetention").field("facts", &self.facts).finish_non_exhaustive()
    }
}
