//! A cache of what the store said a moment ago.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long what the store said is used without asking again.
const FRESH: Duration = Duration::from_secs(1);
/// How long it is used while somebody asks again. Half a second below the two in which a change has to be in force.
const USABLE: Duration = Duration::from_millis(1_500);
/// How long one asker has for itself before the next request asks too.
const TURN: Duration = Duration::from_millis(250);
/// Parts with a lock of their own, so that askers rarely meet.
const SHARDS: usize = 16;
/// What is remembered in one part.
const SHARD_SIZE: usize = 1_024;

/// What is known under a key.
#[derive(Debug)]
pub(crate) enum Cached<V> {
    /// The store said so a moment ago.
    Known(V),
    /// It said something, and it is time to ask again.
    Due,
    /// Nothing.
    Unknown,
}

struct Entry<V> {
    value: V,
    /// When the store was asked.
    asked: Instant,
    /// When somebody may ask again, in milliseconds after `asked`.
    next_turn: AtomicU64,
}

/// What the store said of each key, for at most one second and a half; bounded, so that whatever fills it costs others one question each.
pub(crate) struct StoreCache<K, V> {
    shards: [RwLock<HashMap<K, Entry<V>>>; SHARDS],
    hasher: RandomState,
}

impl<K, V> Default for StoreCache<K, V> {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::default()), hasher: RandomState::new() }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl<K: Eq + Hash, V: Clone> StoreCache<K, V> {
    fn shard(&self, key: &K) -> &RwLock<HashMap<K, Entry<V>>> {
        // The remainder is below the number of parts.
        &self.shards[(self.hasher.hash_one(key) % SHARDS as u64) as usize]
    }

    pub(crate) fn recall(&self, key: &K, now: Instant) -> Cached<V> {
        let shard = self.shard(key).read().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = shard.get(key) else { return Cached::Unknown };
        let age = now.saturating_duration_since(entry.asked);
        if age < FRESH || (age < USABLE && !entry.takes_turn(age)) {
            Cached::Known(entry.value.clone())
        } else {
            Cached::Due
        }
    }

    /// Remembers what the store said when it was asked.
    pub(crate) fn keep(&self, key: K, value: V, asked: Instant) {
        let mut shard = self.shard(&key).write().unwrap_or_else(PoisonError::into_inner);
        if shard.get(&key).is_some_and(|known| asked < known.asked) {
            return;
        }
        if SHARD_SIZE <= shard.len() && !shard.contains_key(&key) {
            shard.retain(|_, known| asked.saturating_duration_since(known.asked) < USABLE);
            if SHARD_SIZE <= shard.len() {
                // All of them are asked for right now: each costs the store one question more.
                shard.clear();
            }
        }
        shard.insert(key, Entry { value, asked, next_turn: AtomicU64::new(millis(FRESH)) });
    }

    pub(crate) fn forget(&self, key: &K) {
        self.shard(key).write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl<V> Entry<V> {
    /// Whether the request that asks this is the one to ask the store; the right lapses by itself when its client goes away.
    fn takes_turn(&self, age: Duration) -> bool {
        let (age, next) = (millis(age), self.next_turn.load(Ordering::Relaxed));
        let after = age + millis(TURN);
        next <= age && self.next_turn.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tells(recalled: &Cached<char>) -> &'static str {
        match recalled {
            Cached::Known(_) => "known",
            Cached::Due => "due",
            Cached::Unknown => "unknown",
        }
    }

    #[test]
    fn after_a_second_one_asks_and_after_one_and_a_half_everybody_does() {
        let (cache, start) = (StoreCache::default(), Instant::now());
        let after = |ms| tells(&cache.recall(&1, start + Duration::from_millis(ms)));
        assert_eq!(after(0), "unknown");
        cache.keep(1, 'a', start);
        assert_eq!((after(0), after(999)), ("known", "known"));
        assert_eq!([after(1_000), after(1_001), after(1_249)], ["due", "known", "known"]);
        assert_eq!([after(1_250), after(1_251)], ["due", "known"], "the first one has gone away");
        assert_eq!([after(1_500), after(1_500), after(9_000)], ["due", "due", "due"]);
        cache.forget(&1);
        assert_eq!(after(0), "unknown");
    }

    #[test]
    fn an_older_answer_of_the_store_replaces_no_newer_one() {
        let (cache, start) = (StoreCache::default(), Instant::now());
        cache.keep(1, 'b', start + FRESH);
        cache.keep(1, 'a', start);
        assert!(matches!(cache.recall(&1, start + FRESH + FRESH / 2), Cached::Known('b')));
    }

    #[test]
    fn its_size_is_bounded() {
        let (cache, start) = (StoreCache::default(), Instant::now());
        let most = SHARDS * SHARD_SIZE;
        let count = || cache.shards.iter().map(|shard| shard.read().unwrap().len()).sum::<usize>();
        for number in 0..3 * most {
            cache.keep(number, 'a', start);
            assert!(count() <= most || number % 1_000 != 0);
        }
        assert!(count() <= most);
        for number in 0..most {
            cache.keep(3 * most + number, 'a', start + USABLE);
        }
        let kept = (0..3 * most).filter(|old| !matches!(cache.recall(old, start), Cached::Unknown)).count();
        assert!(kept < most / 2, "what is of no use any more goes first: {kept}");
    }
}
