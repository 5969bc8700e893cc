//! The credentials that proved a merchant lately.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::http::header::HeaderValue;

/// How long credentials are trusted after they proved a merchant.
pub(super) const TRUST_DURATION: Duration = Duration::from_secs(600);
/// How long a proof need not be recorded again.
const TRUST_REFRESH_INTERVAL: Duration = Duration::from_secs(60);
/// Most trusted credentials of a server.
const MAX_TRUSTED_CREDENTIALS: usize = 10_000;

/// When credentials last proved a merchant, by a keyed hash of them.
#[derive(Default)]
pub(super) struct TrustedCredentials {
    hasher: RandomState,
    proven_at: RwLock<HashMap<u64, Instant>>,
}

impl TrustedCredentials {
    pub(super) fn hash(&self, credentials: &HeaderValue) -> u64 {
        self.hasher.hash_one(credentials.as_bytes())
    }

    pub(super) fn within(&self, credentials: u64, time: Duration) -> bool {
        let proven_at = self.proven_at.read().unwrap_or_else(PoisonError::into_inner);
        proven_at.get(&credentials).is_some_and(|at| at.elapsed() < time)
    }

    pub(super) fn record(&self, credentials: u64) {
        // Workers read side by side and write one after the other: a busy merchant is not written with every request.
        if self.within(credentials, TRUST_REFRESH_INTERVAL) {
            return;
        }
        let mut proven_at = self.proven_at.write().unwrap_or_else(PoisonError::into_inner);
        if MAX_TRUSTED_CREDENTIALS <= proven_at.len() && !proven_at.contains_key(&credentials) {
            proven_at.retain(|_, at| at.elapsed() < TRUST_DURATION);
            if MAX_TRUSTED_CREDENTIALS <= proven_at.len() {
                proven_at.clear();
            }
        }
        proven_at.insert(credentials, Instant::now());
    }

    pub(super) fn forget(&self, credentials: u64) {
        self.proven_at.write().unwrap_or_else(PoisonError::into_inner).remove(&credentials);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let trusted = TrustedCredentials::default();
        (0..3 * MAX_TRUSTED_CREDENTIALS as u64).for_each(|credentials| trusted.record(credentials));
        assert!(trusted.proven_at.read().unwrap().len() <= MAX_TRUSTED_CREDENTIALS);
    }
}
