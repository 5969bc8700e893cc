//! Lists of disputes that cannot be read: each reason is logged once an hour, until the list is read again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dropin_kernel::ProcessorId;
use dropin_ports::DisputesUnavailable;

/// Most reasons of one processor that are remembered; another one takes the place of the oldest, if that was logged a minute ago.
const MAX_REASONS: usize = 8;
/// How long the oldest keeps its place when there are that many.
const CROWDED_FOR: Duration = Duration::from_mins(1);
/// How long a reason that was logged is logged at level DEBUG alone.
const REPEAT_AFTER: Duration = Duration::from_hours(1);

/// The processors whose list could not be read when it was read last, each with the reasons that were logged, and when.
#[derive(Debug, Default)]
pub struct UnreadableLists(Mutex<BTreeMap<ProcessorId, BTreeMap<String, Instant>>>);

impl UnreadableLists {
    /// Logs why a list cannot be read, unless that was logged within the hour.
    pub(super) fn failed(&self, processor: &ProcessorId, error: &DisputesUnavailable) {
        let level = if self.is_new(processor, &error.0, Instant::now()) { log::Level::Warn } else { log::Level::Debug };
        log::log!(
            level, processor = processor.as_str(), error:% = error;
            "disputes cannot be read; trying again, and saying each reason once an hour until they are read"
        );
    }

    fn is_new(&self, processor: &ProcessorId, why: &str, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reasons = all.entry(processor.clone()).or_default();
        reasons.retain(|_, logged| now.saturating_duration_since(*logged) < REPEAT_AFTER);
        if reasons.contains_key(why) {
            return false;
        }
        if MAX_REASONS <= reasons.len() {
            let oldest = reasons.iter().min_by_key(|(_, logged)| **logged).map(|(why, logged)| (why.clone(), *logged));
            let oldest = oldest.filter(|(_, logged)| CROWDED_FOR <= now.saturating_duration_since(*logged));
            let Some((oldest, _)) = oldest else { return false };
            reasons.remove(&oldest);
        }
        reasons.insert(why.to_owned(), now);
        true
    }

    /// Logs that a list is read again, where it was not.
    pub(super) fn read(&self, processor: &ProcessorId) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(processor).is_some() {
            log::info!(processor = processor.as_str(); "disputes are read again");
        }
    }

    /// Forgets the processors that are not these.
    pub(super) fn retain<'a>(&self, processors: impl Iterator<Item = &'a ProcessorId> + Clone) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known, _| processors.clone().any(|processor| processor == known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_new_once_until_the_list_is_read_again() {
        let (lists, [bank, other]) = (UnreadableLists::default(), ["bank", "other"].map(|name| name.parse().unwrap()));
        let now = Instant::now();
        let is_new = |processor: &ProcessorId, why: &str| lists.is_new(processor, why, now);
        assert_eq!([is_new(&bank, "HTTP 404"), is_new(&bank, "HTTP 404")], [true, false]);
        // Two reasons that take turns are two lines, and not one every two seconds.
        assert_eq!(
            [is_new(&bank, "refused"), is_new(&bank, "HTTP 404"), is_new(&bank, "refused")],
            [true, false, false]
        );
        assert!(is_new(&other, "HTTP 404"), "another processor's");
        lists.read(&bank);
        assert_eq!([is_new(&bank, "HTTP 404"), is_new(&other, "HTTP 404")], [true, false]);
        lists.retain([&bank].into_iter());
        assert_eq!([is_new(&bank, "HTTP 404"), is_new(&other, "HTTP 404")], [false, true]);
        let told = (0..100).filter(|number| is_new(&other, &number.to_string())).count();
        assert_eq!(told, MAX_REASONS - 1);
        assert!(!lists.is_new(&other, "a key without the right", now), "too many at once");
        assert!(lists.is_new(&other, "a key without the right", now + CROWDED_FOR), "one is made room for");
        assert!(lists.is_new(&other, "HTTP 404", now + REPEAT_AFTER), "an hour later it is said again");
    }
}
