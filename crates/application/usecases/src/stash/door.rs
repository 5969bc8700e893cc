//! What is remembered of merchants between two requests to the stash: a page's burst of requests costs the store one look, and nobody fills
//! the stash of a merchant without end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dropin_access::Merchant;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{AccessStore, StashStore, StoreError};

/// How long what the store said of a merchant is used without asking again: a changed origin is in force after it.
const FRESH: Duration = Duration::from_secs(1);

/// How long a count of live entries is added to without counting again.
const COUNTED: Duration = Duration::from_secs(5);

/// Merchants remembered at most; there are few deployments with more that are busy in one second.
const MEMORY: usize = 10_000;

/// Live entries of one merchant, unless configured: more than a stranger can leave in the life of an entry from one address at the rate that one
/// is allowed, who would else keep all shoppers of the merchant from paying.
pub const LIVE_ENTRIES: u32 = 500_000;

/// The memory of one process. Clones of the use cases share it.
pub struct Door {
    /// Most live entries of one merchant; 0 for any number.
    live_entries: u32,
    merchants: Mutex<HashMap<MerchantId, Known>>,
}

struct Known {
    merchant: Arc<Merchant>,
    /// When the store said so.
    asked: Timestamp,
    /// Entries that were alive when they were counted, and every one since.
    entries: u32,
    counted: Option<Timestamp>,
}

impl Door {
    /// A merchant may have `live_entries` entries at once, counted now and then: by several processes a little more. 0: any number.
    pub fn new(live_entries: u32) -> Self {
        Self { live_entries, merchants: Mutex::default() }
    }

    /// What the store says of the merchant, or said a moment ago; `None` when there is none. Who does not exist is not remembered, so that
    /// guesses fill nothing.
    pub(super) async fn merchant(
        &self,
        id: MerchantId,
        access: &dyn AccessStore,
        now: Timestamp,
    ) -> Result<Option<Arc<Merchant>>, StoreError> {
        let fresh = |known: &&Known| known.asked <= now && now < known.asked.plus(FRESH);
        let recalled = self.with(|merchants| merchants.get(&id).filter(fresh).map(|known| known.merchant.clone()));
        if recalled.is_some() {
            return Ok(recalled);
        }
        let found = access.find_merchant(id).await?.map(Arc::new);
        self.with(|merchants| {
            let Some(merchant) = found.clone() else {
                merchants.remove(&id);
                return;
            };
            if MEMORY <= merchants.len() && !merchants.contains_key(&id) {
                merchants.clear();
            }
            let known = Known { merchant: merchant.clone(), asked: now, entries: 0, counted: None };
            let known = merchants.entry(id).or_insert(known);
            (known.merchant, known.asked) = (merchant, now);
        });
        Ok(found)
    }

    /// Counts one more entry of a merchant; `false` when it has too many.
    pub(super) async fn admit(
        &self,
        id: MerchantId,
        stash: &dyn StashStore,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if self.live_entries == 0 {
            return Ok(true);
        }
        if self.takes_turn(id, now) {
            match stash.count_stash(id, now, self.live_entries).await {
                Ok(entries) => self.with(|merchants| {
                    if let Some(known) = merchants.get_mut(&id) {
                        known.entries = entries;
                    }
                }),
                Err(error) => {
                    // Whoever comes next counts.
                    self.with(|merchants| merchants.get_mut(&id).map(|known| known.counted = None));
                    return Err(error);
                }
            }
        }
        Ok(self.with(|merchants| {
            // A merchant that was forgotten meanwhile is counted with its next request.
            let Some(known) = merchants.get_mut(&id) else { return true };
            let room = known.entries < self.live_entries;
            known.entries = known.entries.saturating_add(u32::from(room));
            room
        }))
    }

    /// Whether this request is the one to count again; others go on with what is known.
    fn takes_turn(&self, id: MerchantId, now: Timestamp) -> bool {
        self.with(|merchants| {
            let Some(known) = merchants.get_mut(&id) else { return false };
            let due = known.counted.is_none_or(|at| now < at || at.plus(COUNTED) <= now);
            if due {
                known.counted = Some(now);
            }
            due
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<MerchantId, Known>) -> T) -> T {
        // Nothing in here panics half way.
        work(&mut self.merchants.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use dropin_ports::{StashEntry, StashKey, StashSummary};
    use uuid::Uuid;

    use super::*;

    const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(1));

    /// Counts how often it is asked, and says so many entries each time.
    #[derive(Default)]
    struct Counts {
        asked: AtomicU32,
        entries: AtomicU32,
        away: std::sync::atomic::AtomicBool,
    }

    #[async_trait]
    impl StashStore for Counts {
        async fn put_stash(&self, _: StashEntry) -> Result<(), StoreError> {
            Ok(())
        }

        async fn peek_stash(&self, _: &StashKey, _: Timestamp) -> Result<Option<StashSummary>, StoreError> {
            Ok(None)
        }

        async fn count_stash(&self, _: MerchantId, _: Timestamp, _: u32) -> Result<u32, StoreError> {
            if self.away.load(Ordering::SeqCst) {
                return Err(StoreError::Unavailable("away".to_owned()));
            }
            self.asked.fetch_add(1, Ordering::SeqCst);
            Ok(self.entries.load(Ordering::SeqCst))
        }

        async fn purge_stash(&self, _: Timestamp, _: u32) -> Result<u32, StoreError> {
            Ok(0)
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000 + millis * 1_000)
    }

    fn door(live_entries: u32) -> Door {
        let door = Door::new(live_entries);
        let merchant = Merchant {
            id: MERCHANT,
            name: "Shop".to_owned(),
            currencies: vec![],
            origins: vec![],
            session_lifetime: Duration::from_secs(60),
            methods: Default::default(),
            sandbox: true,
            created_at: at(0),
        };
        let known = Known { merchant: Arc::new(merchant), asked: at(0), entries: 0, counted: None };
        door.with(|merchants| merchants.insert(MERCHANT, known));
        door
    }

    #[tokio::test]
    async fn entries_are_counted_now_and_then_and_added_up_in_between() {
        let (door, counts) = (door(10), Counts::default());
        counts.entries.store(7, Ordering::SeqCst);
        let admit = async |millis| door.admit(MERCHANT, &counts, at(millis)).await;
        for millis in [0, 1, 4_999] {
            assert_eq!(admit(millis).await, Ok(true));
        }
        assert_eq!(admit(4_999).await, Ok(false), "seven and three");
        assert_eq!(counts.asked.load(Ordering::SeqCst), 1);
        counts.entries.store(9, Ordering::SeqCst);
        assert_eq!((admit(5_000).await, admit(5_000).await), (Ok(true), Ok(false)), "some have gone");
        assert_eq!(counts.asked.load(Ordering::SeqCst), 2);
        // A clock that was set back must not keep an old count for ever.
        counts.entries.store(0, Ordering::SeqCst);
        assert_eq!(admit(-60_000).await, Ok(true));
    }

    #[tokio::test]
    async fn a_count_that_failed_is_made_by_the_next() {
        let (door, counts) = (door(1), Counts::default());
        counts.away.store(true, Ordering::SeqCst);
        assert!(door.admit(MERCHANT, &counts, at(0)).await.is_err());
        counts.away.store(false, Ordering::SeqCst);
        assert_eq!(door.admit(MERCHANT, &counts, at(1)).await, Ok(true));
        assert_eq!(door.admit(MERCHANT, &counts, at(1)).await, Ok(false));
    }

    #[tokio::test]
    async fn no_limit_is_never_counted() {
        let (door, counts) = (door(0), Counts::default());
        assert_eq!(door.admit(MERCHANT, &counts, at(0)).await, Ok(true));
        assert_eq!(counts.asked.load(Ordering::SeqCst), 0);
    }
}
