//! Wrong passwords, counted by client and user name together, so that nobody can lock a merchant out from elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dropin_access::ApiUser;
use dropin_ports::Fingerprint;

const MINUTE: Duration = Duration::from_secs(60);
/// How long what the store said of a user is compared with guesses.
const USER_TTL: Duration = Duration::from_secs(1);
/// Pairs of client and user name that are counted at once.
const MAX_PAIRS: usize = 10_000;

/// How many wrong passwords one client may give for one user name in a minute before it is told to wait. A right password always passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureLimit {
    /// So many; 0 counts nothing.
    pub per_minute: u32,
}

impl FailureLimit {
    /// Ten a minute.
    pub const DEFAULT: Self = Self { per_minute: 10 };

    /// What one failure costs.
    fn interval(self) -> Option<Duration> {
        MINUTE.checked_div(self.per_minute)
    }
}

impl Default for FailureLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Whether an attempt to authenticate is throttled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ThrottleDecision {
    /// It is not.
    Allow,
    /// It is: too many wrong passwords.
    Throttle {
        /// When one more wrong password is compared without throttling.
        retry_after: Duration,
        /// What the store said of the user within the last second, if it was asked.
        user: Option<Arc<Option<ApiUser>>>,
    },
}

struct Pair {
    /// When all failures so far are forgotten (the generic cell rate algorithm's theoretical arrival time).
    forgotten: Instant,
    user: Option<(Arc<Option<ApiUser>>, Instant)>,
}

pub(super) struct Failures {
    limit: FailureLimit,
    pairs: Mutex<HashMap<Fingerprint, Pair>>,
}

impl Failures {
    pub(super) fn new(limit: FailureLimit) -> Self {
        Self { limit, pairs: Mutex::default() }
    }

    fn pairs(&self) -> MutexGuard<'_, HashMap<Fingerprint, Pair>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn check(&self, pair: &Fingerprint, now: Instant) -> ThrottleDecision {
        let Some(interval) = self.limit.interval() else { return ThrottleDecision::Allow };
        let pairs = self.pairs();
        let Some(known) = pairs.get(pair) else { return ThrottleDecision::Allow };
        // A whole minute's worth is used up when one more would reach beyond it.
        let retry_after = (known.forgotten + interval).saturating_duration_since(now + MINUTE);
        if retry_after.is_zero() {
            return ThrottleDecision::Allow;
        }
        let user = known.user.as_ref().filter(|(_, read)| now.saturating_duration_since(*read) < USER_TTL);
        ThrottleDecision::Throttle { retry_after, user: user.map(|(user, _)| user.clone()) }
    }

    /// Counts a wrong password.
    pub(super) fn record(&self, pair: Fingerprint, now: Instant) {
        let Some(interval) = self.limit.interval() else { return };
        let mut pairs = self.pairs();
        if MAX_PAIRS <= pairs.len() && !pairs.contains_key(&pair) {
            pairs.retain(|_, known| now < known.forgotten);
            if MAX_PAIRS - MAX_PAIRS / 4 < pairs.len() {
                // Whoever guesses at thousands of names at once gains nothing worth a longer search here.
                pairs.clear();
            }
        }
        let known = pairs.entry(pair).or_insert(Pair { forgotten: now, user: None });
        known.forgotten = known.forgotten.max(now) + interval;
    }

    /// Keeps what the store said of the user, for the guesses of the next second.
    pub(super) fn keep(&self, pair: &Fingerprint, user: Arc<Option<ApiUser>>, now: Instant) {
        if let Some(known) = self.pairs().get_mut(pair) {
            known.user = Some((user, now));
        }
    }

    /// Forgets the failures of a client that gave the right password.
    pub(super) fn reset(&self, pair: &Fingerprint) {
        self.pairs().remove(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(number: u32) -> Fingerprint {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        Fingerprint(key)
    }

    fn throttled(retry_after: Duration) -> ThrottleDecision {
        ThrottleDecision::Throttle { retry_after, user: None }
    }

    #[test]
    fn a_minutes_worth_of_failures_throttles_and_it_ends_step_by_step() {
        let (failures, start) = (Failures::new(FailureLimit { per_minute: 3 }), Instant::now());
        let seconds = Duration::from_secs;
        for _ in 0..3 {
            assert_eq!(failures.check(&pair(1), start), ThrottleDecision::Allow);
            failures.record(pair(1), start);
        }
        assert_eq!(failures.check(&pair(1), start), throttled(seconds(20)));
        assert_eq!(failures.check(&pair(2), start), ThrottleDecision::Allow, "somebody else");
        assert_eq!(failures.check(&pair(1), start + seconds(19)), throttled(seconds(1)));
        assert_eq!(failures.check(&pair(1), start + seconds(20)), ThrottleDecision::Allow);
        failures.record(pair(1), start + seconds(20));
        assert_eq!(failures.check(&pair(1), start + seconds(20)), throttled(seconds(20)));
        failures.reset(&pair(1));
        assert_eq!(failures.check(&pair(1), start + seconds(20)), ThrottleDecision::Allow);
    }

    #[test]
    fn what_the_store_said_counts_for_a_second() {
        let (failures, start) = (Failures::new(FailureLimit { per_minute: 1 }), Instant::now());
        failures.record(pair(1), start);
        failures.keep(&pair(1), Arc::new(None), start);
        let known = |at| matches!(failures.check(&pair(1), at), ThrottleDecision::Throttle { user: Some(_), .. });
        assert!(known(start) && !known(start + USER_TTL));
    }

    #[test]
    fn no_limit_counts_nothing() {
        let (failures, start) = (Failures::new(FailureLimit { per_minute: 0 }), Instant::now());
        for _ in 0..100 {
            failures.record(pair(1), start);
        }
        assert_eq!(failures.check(&pair(1), start), ThrottleDecision::Allow);
        assert!(failures.pairs().is_empty());
    }

    #[test]
    fn the_number_of_pairs_is_bounded() {
        let (failures, start) = (Failures::new(FailureLimit::default()), Instant::now());
        for number in 0..3 * u32::try_from(MAX_PAIRS).unwrap() {
            failures.record(pair(number), start);
            assert!(failures.pairs().len() <= MAX_PAIRS);
        }
    }
}
