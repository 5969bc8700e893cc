//! How much strangers may leave in the stash: anybody may post to it, and what was posted stays for half an hour.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dropin_kernel::{MerchantId, SessionId, Timestamp};
use dropin_ports::{StashStore, StashUsage, StoreError};

/// How long a count of what is in the store is added to without counting again.
const COUNTED: Duration = Duration::from_secs(5);
/// A count that takes long is made seldom: it may take this part of the time at most.
const COUNTING_SHARE: u32 = 20;
/// Clients, and Sessions, remembered at most.
const MAX_REMEMBERED: usize = 100_000;
/// Of the entries that one merchant may have a client may leave this part within the lifetime of an entry, whomever they are for.
const CLIENT_PART: u64 = 64;
/// So many entries a client may always leave, however few a merchant may have.
const MIN_CLIENT_ENTRIES: u64 = 32;
/// Entries for one Session within the lifetime of an entry, of what is kept for Sessions.
const SESSION_ENTRIES: u64 = 20;

/// What is kept for posts that name a live Session of the merchant: the half. A stranger cannot make a Session, the merchant's server does.
const OPEN_PART: u64 = 2;

const MIB: u64 = 1 << 20;

/// Limits of what waits in the stash; 0 stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StashLimits {
    /// Entries of one merchant.
    pub merchant_entries: u64,
    /// Bytes of one merchant's entries, as [`dropin_ports::StashUsage`] counts them.
    pub merchant_bytes: u64,
    /// Bytes of all entries, as [`dropin_ports::StashUsage`] counts them.
    pub total_bytes: u64,
    /// Bytes that one client address may leave within the lifetime of an entry, in each process.
    pub client_bytes: u64,
}

impl Default for StashLimits {
    fn default() -> Self {
        Self { merchant_entries: 500_000, merchant_bytes: 1_024 * MIB, total_bytes: 4_096 * MIB, client_bytes: 8 * MIB }
    }
}

impl StashLimits {
    /// No limit at all.
    pub const NONE: Self = Self { merchant_entries: 0, merchant_bytes: 0, total_bytes: 0, client_bytes: 0 };

    /// Entries that one client may leave within a lifetime.
    fn client_entries(&self) -> u64 {
        if self.merchant_entries == 0 { 0 } else { (self.merchant_entries / CLIENT_PART).max(MIN_CLIENT_ENTRIES) }
    }

    fn count_the_store(&self) -> bool {
        self.merchant_entries != 0 || self.merchant_bytes != 0 || self.total_bytes != 0
    }
}

/// Whether an entry may be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may, and is counted.
    Admitted,
    /// Only if it names a live Session of its merchant.
    SessionsOnly,
    /// It may not: the merchant's stash, all of it, or the share of its Session is full.
    Full,
    /// It may not: its client has left as much as it may.
    ClientFull,
}

/// Who puts an entry of how many bytes, for whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Put {
    pub(super) client: u128,
    pub(super) merchant: MerchantId,
    pub(super) bytes: u64,
    /// The live Session of the merchant that it names, once that is known.
    pub(super) session: Option<SessionId>,
}

/// Counts what is in the stash, and says who may add to it. One for a process.
///
/// What merchants have is counted in the store every few seconds, so that several processes know of each other's entries, and added to in
/// between. What clients leave is counted by each process for itself: no address of a shopper is stored.
#[derive(Debug)]
pub struct StashQuota {
    limits: StashLimits,
    /// How long an entry lives.
    lifetime: Duration,
    usage: Mutex<Usage>,
}

#[derive(Debug, Default)]
struct Usage {
    merchants: HashMap<MerchantId, Size>,
    total_bytes: u64,
    counted: Option<Timestamp>,
    pause: Duration,
    clients: HashMap<u128, Left>,
    /// What was left for Sessions of what is kept for them.
    sessions: HashMap<SessionId, Left>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    entries: u64,
    bytes: u64,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, bytes: self.bytes + other.bytes }
    }
}

/// What was left in the window that began `since`, and in the one before: never less than within a lifetime.
#[derive(Debug, Clone, Copy)]
struct Left {
    since: Timestamp,
    size: Size,
    before: Size,
}

impl Left {
    /// What `key` left as of `now`.
    fn of<K: Hash + Eq>(all: &HashMap<K, Self>, key: &K, now: Timestamp, window: Duration) -> Self {
        let nothing = Self { since: now, size: Size::default(), before: Size::default() };
        all.get(key).map_or(nothing, |left| left.at(now, window))
    }

    fn at(self, now: Timestamp, window: Duration) -> Self {
        let (next, later) = (self.since.plus(window), self.since.plus(window * 2));
        match now {
            now if self.since <= now && now < next => self,
            now if next <= now && now < later => Self { since: next, size: Size::default(), before: self.size },
            // Long ago, or the clock was set back.
            _ => Self { since: now, size: Size::default(), before: Size::default() },
        }
    }

    fn plus(self, one: Size) -> Self {
        Self { size: self.size.plus(one), ..self }
    }

    fn sum(self) -> Size {
        self.size.plus(self.before)
    }
}

impl StashQuota {
    /// `lifetime` is how long an entry lives.
    pub fn new(limits: StashLimits, lifetime: Duration) -> Self {
        Self { limits, lifetime, usage: Mutex::default() }
    }

    /// Counts one more entry, if it may be put.
    pub(super) async fn admit(
        &self,
        put: Put,
        stash: &dyn StashStore,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        if self.limits.count_the_store() && self.takes_turn(now) {
            self.count(stash, now).await?;
        }
        Ok(self.with(|usage| self.decide(usage, put, now)))
    }

    fn decide(&self, usage: &mut Usage, put: Put, now: Timestamp) -> Admission {
        let StashLimits { merchant_entries, merchant_bytes, total_bytes, client_bytes } = self.limits;
        let client_entries = self.limits.client_entries();
        let one = Size { entries: 1, bytes: put.bytes };
        let left = Left::of(&usage.clients, &put.client, now, self.lifetime).plus(one);
        let exceeds = |limit: u64, sum: u64| limit != 0 && limit < sum;
        if exceeds(client_bytes, left.sum().bytes) || exceeds(client_entries, left.sum().entries) {
            return Admission::ClientFull;
        }
        let size = usage.merchants.get(&put.merchant).copied().unwrap_or_default().plus(one);
        let sums = [
            (merchant_entries, size.entries),
            (merchant_bytes, size.bytes),
            (total_bytes, usage.total_bytes + put.bytes),
        ];
        let over = |part: u64| sums.iter().any(|(limit, sum)| *limit != 0 && limit / part < *sum);
        if over(1) {
            return Admission::Full;
        }
        if over(OPEN_PART) {
            let Some(session) = put.session else { return Admission::SessionsOnly };
            let left = Left::of(&usage.sessions, &session, now, self.lifetime).plus(one);
            if SESSION_ENTRIES < left.sum().entries {
                return Admission::Full;
            }
            make_room(&mut usage.sessions, now, self.lifetime);
            usage.sessions.insert(session, left);
        }
        usage.merchants.insert(put.merchant, size);
        usage.total_bytes += put.bytes;
        if client_bytes != 0 || client_entries != 0 {
            make_room(&mut usage.clients, now, self.lifetime);
            usage.clients.insert(put.client, left);
        }
        Admission::Admitted
    }

    async fn count(&self, stash: &dyn StashStore, now: Timestamp) -> Result<(), StoreError> {
        let begun = Instant::now();
        match stash.stash_usage(now).await {
            Ok(all) => {
                let size = |one: &StashUsage| (one.merchant_id, Size { entries: one.entries, bytes: one.bytes });
                self.with(|usage| {
                    usage.merchants = all.iter().map(size).collect();
                    usage.total_bytes = all.iter().map(|one| one.bytes).sum();
                    usage.pause = COUNTED.max(begun.elapsed() * COUNTING_SHARE);
                });
                Ok(())
            }
            Err(error) => {
                // The next post counts.
                self.with(|usage| usage.counted = None);
                Err(error)
            }
        }
    }

    /// Whether this post is the one to count again; others go on with what is known.
    fn takes_turn(&self, now: Timestamp) -> bool {
        self.with(|usage| {
            let due = usage.counted.is_none_or(|at| now < at || at.plus(usage.pause) <= now);
            if due {
                usage.counted = Some(now);
                usage.pause = usage.pause.max(COUNTED);
            }
            due
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Usage) -> T) -> T {
        // Nothing in here panics half way.
        work(&mut self.usage.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Forgets those who have left nothing for long.
fn make_room<K: Hash + Eq>(all: &mut HashMap<K, Left>, now: Timestamp, lifetime: Duration) {
    if MAX_REMEMBERED <= all.len() {
        all.retain(|_, left| 0 < left.at(now, lifetime).sum().entries);
    }
    if MAX_REMEMBERED <= all.len() {
        // So many at once are not held back by a limit for each.
        all.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use async_trait::async_trait;
    use dropin_ports::{SealedCard, StashEntry, StashFound, StashKey, StashSummary};
    use uuid::Uuid;

    use super::*;

    const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(1));
    const OTHER: MerchantId = MerchantId::new(Uuid::from_u128(2));
    const LIFETIME: Duration = Duration::from_secs(1_800);

    /// Counts how often it is asked, and says what it is told to.
    #[derive(Default)]
    struct Counts {
        asked: AtomicU32,
        usage: StdMutex<Vec<StashUsage>>,
        away: AtomicBool,
    }

    #[async_trait]
    impl StashStore for Counts {
        async fn put_stash(&self, _: StashEntry) -> Result<(), StoreError> {
            Ok(())
        }

        async fn peek_stash(&self, _: &StashKey, _: Timestamp) -> Result<Option<StashFound>, StoreError> {
            Ok(None)
        }

        async fn read_stash(
            &self,
            _: &StashKey,
            _: Timestamp,
        ) -> Result<Option<(StashSummary, SealedCard)>, StoreError> {
            Ok(None)
        }

        async fn stash_usage(&self, _: Timestamp) -> Result<Vec<StashUsage>, StoreError> {
            if self.away.load(Ordering::SeqCst) {
                return Err(StoreError::Unavailable("away".to_owned()));
            }
            self.asked.fetch_add(1, Ordering::SeqCst);
            Ok(self.usage.lock().unwrap().clone())
        }

        async fn purge_stash(&self, _: Timestamp, _: u32) -> Result<u32, StoreError> {
            Ok(0)
        }
    }

    impl Counts {
        fn of(merchant_id: MerchantId, entries: u64, bytes: u64) -> Self {
            let usage = StdMutex::new(vec![StashUsage { merchant_id, entries, bytes }]);
            Self { usage, ..Self::default() }
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000 + millis * 1_000)
    }

    const PUT: Put = Put { client: 7, merchant: MERCHANT, bytes: 10, session: None };
    const SESSION: Option<SessionId> = Some(SessionId::new(Uuid::from_u128(9)));

    fn quota(limits: StashLimits) -> StashQuota {
        StashQuota::new(limits, LIFETIME)
    }

    #[tokio::test]
    async fn entries_are_counted_now_and_then_and_added_up_in_between() {
        let (quota, counts) =
            (quota(StashLimits { merchant_entries: 20, ..StashLimits::NONE }), Counts::of(MERCHANT, 7, 0));
        let admit = async |millis| quota.admit(PUT, &counts, at(millis)).await;
        for millis in [0, 1, 4_999] {
            assert_eq!(admit(millis).await, Ok(Admission::Admitted));
        }
        assert_eq!(admit(4_999).await, Ok(Admission::SessionsOnly), "seven and three are the open half");
        assert_eq!(counts.asked.load(Ordering::SeqCst), 1);
        *counts.usage.lock().unwrap() = vec![StashUsage { merchant_id: MERCHANT, entries: 9, bytes: 0 }];
        assert_eq!((admit(5_000).await, admit(5_000).await), (Ok(Admission::Admitted), Ok(Admission::SessionsOnly)));
        assert_eq!(counts.asked.load(Ordering::SeqCst), 2);
        // A clock that was set back must not keep an old count for ever.
        counts.usage.lock().unwrap().clear();
        assert_eq!(admit(-60_000).await, Ok(Admission::Admitted));
    }

    #[tokio::test]
    async fn the_half_is_kept_for_posts_that_name_a_session() {
        let full = |entries, bytes| async move {
            let limits =
                StashLimits { merchant_entries: 100, merchant_bytes: 1_000, total_bytes: 4_000, client_bytes: 0 };
            let (quota, counts) = (quota(limits), Counts::of(MERCHANT, entries, bytes));
            let stranger = quota.admit(PUT, &counts, at(0)).await.unwrap();
            let shopper = quota.admit(Put { session: SESSION, ..PUT }, &counts, at(0)).await.unwrap();
            let elsewhere = quota.admit(Put { merchant: OTHER, ..PUT }, &counts, at(0)).await.unwrap();
            (stranger, shopper, elsewhere)
        };
        use Admission::{Admitted, Full, SessionsOnly};
        assert_eq!(full(49, 0).await, (Admitted, Admitted, Admitted));
        assert_eq!(full(50, 0).await, (SessionsOnly, Admitted, Admitted));
        assert_eq!(full(100, 0).await, (Full, Full, Admitted));
        assert_eq!(full(1, 491).await, (SessionsOnly, Admitted, Admitted));
        assert_eq!(full(1, 991).await, (Full, Full, Admitted));
        assert_eq!(full(1, 1_995).await, (Full, Full, SessionsOnly), "all merchants share the half, too");
    }

    #[tokio::test]
    async fn a_client_leaves_so_many_bytes_within_a_lifetime() {
        let (quota, counts) = (quota(StashLimits { client_bytes: 100, ..StashLimits::NONE }), Counts::default());
        let leave = async |put: Put, seconds: i64| quota.admit(put, &counts, at(seconds * 1_000)).await.unwrap();
        for second in 0..10 {
            assert_eq!(leave(PUT, second).await, Admission::Admitted);
        }
        let named = Put { session: SESSION, merchant: OTHER, ..PUT };
        assert_eq!(leave(named, 1_799).await, Admission::ClientFull, "whomever it is for");
        assert_eq!(leave(Put { client: 8, ..PUT }, 1_799).await, Admission::Admitted, "somebody else");
        assert_eq!(leave(PUT, 1_801).await, Admission::ClientFull, "the first have gone just now");
        assert_eq!(leave(PUT, 3_600).await, Admission::Admitted);
        assert_eq!(counts.asked.load(Ordering::SeqCst), 0, "the store is not asked about clients");
    }

    #[tokio::test]
    async fn a_client_leaves_so_many_entries_however_small() {
        let (quota, counts) = (quota(StashLimits { client_bytes: 0, ..StashLimits::default() }), Counts::default());
        let most = StashLimits::default().merchant_entries / 64;
        for _ in 0..most {
            assert_eq!(quota.admit(PUT, &counts, at(0)).await, Ok(Admission::Admitted));
        }
        let named = Put { session: SESSION, merchant: OTHER, ..PUT };
        assert_eq!(quota.admit(named, &counts, at(0)).await, Ok(Admission::ClientFull), "whomever it is for");
        assert_eq!(quota.admit(Put { client: 8, ..PUT }, &counts, at(0)).await, Ok(Admission::Admitted));
    }

    #[tokio::test]
    async fn a_session_lets_a_few_entries_in_where_the_open_half_is_full() {
        let limits = StashLimits { merchant_entries: 1_000, ..StashLimits::NONE };
        let (quota, counts) = (quota(limits), Counts::of(MERCHANT, 500, 0));
        // One after the other from other addresses.
        let leave = async |session: u128, client: u128| {
            let session = Some(SessionId::new(Uuid::from_u128(session)));
            quota.admit(Put { client, session, ..PUT }, &counts, at(0)).await.unwrap()
        };
        for client in 0..20 {
            assert_eq!(leave(9, client).await, Admission::Admitted);
        }
        assert_eq!((leave(9, 99).await, leave(10, 99).await), (Admission::Full, Admission::Admitted));
    }

    #[tokio::test]
    async fn a_count_that_failed_is_made_by_the_next() {
        let (quota, counts) = (quota(StashLimits { merchant_entries: 2, ..StashLimits::NONE }), Counts::default());
        counts.away.store(true, Ordering::SeqCst);
        assert!(quota.admit(PUT, &counts, at(0)).await.is_err());
        counts.away.store(false, Ordering::SeqCst);
        assert_eq!(quota.admit(PUT, &counts, at(1)).await, Ok(Admission::Admitted));
        assert_eq!(quota.admit(PUT, &counts, at(1)).await, Ok(Admission::SessionsOnly));
    }

    #[tokio::test]
    async fn no_limit_is_never_counted() {
        let (quota, counts) = (quota(StashLimits::NONE), Counts::default());
        assert_eq!(quota.admit(PUT, &counts, at(0)).await, Ok(Admission::Admitted));
        assert_eq!(counts.asked.load(Ordering::SeqCst), 0);
    }
}
