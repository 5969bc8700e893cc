//! Callers that were right a moment ago.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use dropin_ports::Fingerprint;

use super::Caller;

/// How long what the store said is used without asking again.
const FRESH: Duration = Duration::from_secs(1);
/// How long it is used while somebody asks again. Half a second below the two in which a change has to be in force.
const USABLE: Duration = Duration::from_millis(1_500);
/// How long one asker has for itself before the next request asks too.
const TURN: Duration = Duration::from_millis(250);
/// Parts with a lock of their own, so that callers rarely meet.
const SHARDS: usize = 16;
/// Callers remembered in one part.
const SHARD_SIZE: usize = 1_024;

/// What is known of a user name and password.
#[derive(Debug)]
pub(super) enum Recalled {
    /// It was right a moment ago.
    Seen(Arc<Caller>),
    /// It was right, and it is time to ask the store again.
    Due,
    /// Nothing.
    Unknown,
}

struct Entry {
    caller: Arc<Caller>,
    /// When the store was asked.
    asked: Instant,
    /// When somebody may ask again, in milliseconds after `asked`.
    next_turn: AtomicU64,
}

/// Who was right, by a keyed hash of user name and password together. Only what was right is kept, so that nobody fills it with guesses.
pub(super) struct Seen([RwLock<HashMap<Fingerprint, Entry>>; SHARDS]);

impl Default for Seen {
    fn default() -> Self {
        Self(std::array::from_fn(|_| RwLock::default()))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Seen {
    fn shard(&self, key: &Fingerprint) -> &RwLock<HashMap<Fingerprint, Entry>> {
        // Evenly spread, as every part of a hash is.
        &self.0[usize::from(key.0[0]) % SHARDS]
    }

    pub(super) fn recall(&self, key: &Fingerprint, now: Instant) -> Recalled {
        let shard = self.shard(key).read().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = shard.get(key) else { return Recalled::Unknown };
        let age = now.saturating_duration_since(entry.asked);
        if age < FRESH || (age < USABLE && !entry.takes_turn(age)) {
            Recalled::Seen(entry.caller.clone())
        } else {
            Recalled::Due
        }
    }

    /// Remembers who was right when the store was asked.
    pub(super) fn keep(&self, key: Fingerprint, caller: Arc<Caller>, asked: Instant) {
        let mut shard = self.shard(&key).write().unwrap_or_else(PoisonError::into_inner);
        if shard.get(&key).is_some_and(|known| asked < known.asked) {
            return;
        }
        if SHARD_SIZE <= shard.len() && !shard.contains_key(&key) {
            shard.retain(|_, known| asked.saturating_duration_since(known.asked) < USABLE);
            if SHARD_SIZE <= shard.len() {
                // All of them call right now: each of these asks the store once more.
                shard.clear();
            }
        }
        shard.insert(key, Entry { caller, asked, next_turn: AtomicU64::new(millis(FRESH)) });
    }

    pub(super) fn forget(&self, key: &Fingerprint) {
        self.shard(key).write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Entry {
    /// Whether the request that asks this is the one to ask the store; the right lapses by itself when its client goes away.
    fn takes_turn(&self, age: Duration) -> bool {
        let (age, next) = (millis(age), self.next_turn.load(Ordering::Relaxed));
        let after = age + millis(TURN);
        next <= age && self.next_turn.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use dropin_access::{Merchant, Permissions};
    use dropin_kernel::{MerchantId, Timestamp};

    use super::*;

    fn caller() -> Arc<Caller> {
        Arc::new(Caller {
            username: "api-1".to_owned(),
            merchant: Merchant {
                id: MerchantId::new(uuid::Uuid::from_u128(1)),
                name: "Shop".to_owned(),
                currencies: vec![],
                origins: vec![],
                session_lifetime: FRESH,
                methods: dropin_catalogue::MerchantMethods::default(),
                sandbox: true,
                created_at: Timestamp::from_micros(0),
            },
            permissions: Permissions::all(),
        })
    }

    fn key(number: u32) -> Fingerprint {
        let mut key = [0; 32];
        key[1..5].copy_from_slice(&number.to_be_bytes());
        Fingerprint(key)
    }

    fn tells(recalled: &Recalled) -> &'static str {
        match recalled {
            Recalled::Seen(_) => "seen",
            Recalled::Due => "due",
            Recalled::Unknown => "unknown",
        }
    }

    #[test]
    fn after_a_second_one_asks_and_after_one_and_a_half_everybody_does() {
        let (seen, start) = (Seen::default(), Instant::now());
        let after = |ms| tells(&seen.recall(&key(1), start + Duration::from_millis(ms)));
        assert_eq!(after(0), "unknown");
        seen.keep(key(1), caller(), start);
        assert_eq!((after(0), after(999)), ("seen", "seen"));
        assert_eq!([after(1_000), after(1_001), after(1_249)], ["due", "seen", "seen"]);
        assert_eq!([after(1_250), after(1_251)], ["due", "seen"], "the first one has gone away");
        assert_eq!([after(1_500), after(1_500), after(9_000)], ["due", "due", "due"]);
        seen.forget(&key(1));
        assert_eq!(after(0), "unknown");
    }

    #[test]
    fn an_older_answer_of_the_store_replaces_no_newer_one() {
        let (seen, start) = (Seen::default(), Instant::now());
        seen.keep(key(1), caller(), start + FRESH);
        seen.keep(key(1), caller(), start);
        assert_eq!(tells(&seen.recall(&key(1), start + FRESH + FRESH / 2)), "seen");
    }

    #[test]
    fn its_size_is_bounded() {
        let (seen, start) = (Seen::default(), Instant::now());
        let most = u32::try_from(SHARD_SIZE).unwrap();
        let count = || seen.0[0].read().unwrap().len();
        for number in 0..most {
            seen.keep(key(number), caller(), start);
        }
        assert_eq!(count(), SHARD_SIZE);
        seen.keep(key(most), caller(), start + USABLE);
        assert_eq!(count(), 1, "what is of no use any more goes first");
        for number in 0..3 * most {
            seen.keep(key(number), caller(), start + USABLE);
            assert!(count() <= SHARD_SIZE);
        }
    }
}
