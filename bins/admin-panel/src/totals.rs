//! Sums of Orders by day, kept for a while: days that are over hardly change, and many operators look at the same ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{BackOfficeStore, PaymentTotals, StoreError};

/// A day in UTC.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the sums of today are kept.
const KEEP_TODAY: Duration = Duration::from_secs(30);
/// How long those of earlier days are.
const KEEP_PAST: Duration = Duration::from_secs(10 * 60);
/// Most sums that are kept; then all are forgotten.
const MAX_KEPT: usize = 5_000;

/// Which sums: a merchant's or all, of the day that begins then.
type Key = (Option<MerchantId>, Timestamp);

/// The sums of a day, when they were read, and for how long they are kept.
struct Kept {
    totals: Arc<Vec<PaymentTotals>>,
    read_at: Instant,
    keep: Duration,
}

/// The sums that were read a moment ago.
pub(crate) struct DayTotals {
    store: Arc<dyn BackOfficeStore>,
    kept: Mutex<HashMap<Key, Kept>>,
}

/// The beginning of the day of an instant.
pub(crate) fn day_of(at: Timestamp) -> Timestamp {
    let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.micros().div_euclid(day) * day)
}

impl DayTotals {
    pub(crate) fn new(store: Arc<dyn BackOfficeStore>) -> Self {
        Self { store, kept: Mutex::default() }
    }

    /// The sums of the day that begins at `day`.
    pub(crate) async fn read(
        &self,
        merchant: Option<MerchantId>,
        day: Timestamp,
        today: Timestamp,
    ) -> Result<Arc<Vec<PaymentTotals>>, StoreError> {
        let key = (merchant, day);
        if let Some(kept) = self.recall(&key) {
            return Ok(kept);
        }
        let read_at = Instant::now();
        let totals = Arc::new(self.store.payment_totals(merchant, day, day.plus(DAY)).await?);
        let keep = if day < today { KEEP_PAST } else { KEEP_TODAY };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if MAX_KEPT <= all.len() {
            all.clear();
        }
        all.insert(key, Kept { totals: totals.clone(), read_at, keep });
        Ok(totals)
    }

    fn recall(&self, key: &Key) -> Option<Arc<Vec<PaymentTotals>>> {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).filter(|kept| kept.read_at.elapsed() < kept.keep).map(|kept| kept.totals.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let at: Timestamp = "2026-11-25T23:59:59.999999Z".parse().unwrap();
        assert_eq!(day_of(at), "2026-11-25T00:00:00.000000Z".parse().unwrap());
    }
}
