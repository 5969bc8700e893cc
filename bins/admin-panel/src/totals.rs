//! Sums of Orders by day, kept for a while: days that are over hardly change, and many operators look at the same ones.
//!
//! A day of a large deployment takes a database a tenth of a second. So sums are read one after the other, whoever asks; and those that were read a while
//! ago are shown once more while they are read anew.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{BackOfficeStore, PaymentTotals, StoreError};

/// A day in UTC.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Most sums that are kept; then all are forgotten.
const MAX_KEPT: usize = 5_000;

/// Which sums: a merchant's or all, of the day that begins then.
type Key = (Option<MerchantId>, Timestamp);

type Totals = Arc<Vec<PaymentTotals>>;

/// How long sums are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lifetime {
    /// Without being read anew.
    fresh: Duration,
    /// While they are read anew; after that whoever asks waits.
    shown: Duration,
}

/// Of the sums of today.
const TODAY: Lifetime = Lifetime { fresh: Duration::from_secs(30), shown: Duration::from_secs(2 * 60) };
/// Of those of earlier days, which refunds and late captures change.
const PAST: Lifetime = Lifetime { fresh: Duration::from_secs(10 * 60), shown: DAY };

/// Of sums of today that are read at once anyway: whoever has just been paid sees it.
const QUICK: Lifetime = Lifetime { fresh: Duration::from_secs(1), shown: Duration::from_secs(1) };
/// How long reading them takes then, at most.
const QUICKLY: Duration = Duration::from_millis(2);

/// How long sums are shown that took so long to read.
fn lifetime_of(took: Duration, lifetime: Lifetime) -> Lifetime {
    if lifetime == TODAY && took < QUICKLY { QUICK } else { lifetime }
}

/// The sums of a day, and when they were read.
struct Kept {
    totals: Totals,
    read_at: Instant,
    /// How long they are shown: those of a day that was not over then are of today for ever.
    lifetime: Lifetime,
    is_read_anew: bool,
}

impl Kept {
    fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < self.lifetime.fresh
    }
}

/// The sums that were read a while ago.
#[derive(Clone)]
pub(crate) struct DayTotals(Arc<Inner>);

struct Inner {
    store: Arc<dyn BackOfficeStore>,
    kept: Mutex<HashMap<Key, Kept>>,
    /// Held by whoever reads.
    turn: tokio::sync::Mutex<()>,
}

/// The beginning of the day of an instant.
pub(crate) fn day_of(at: Timestamp) -> Timestamp {
    let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.micros().div_euclid(day) * day)
}

impl DayTotals {
    pub(crate) fn new(store: Arc<dyn BackOfficeStore>) -> Self {
        Self(Arc::new(Inner { store, kept: Mutex::default(), turn: tokio::sync::Mutex::default() }))
    }

    /// Reads the sums of all merchants of so many days, before anybody asks for them.
    pub(crate) fn warm(&self, today: Timestamp, days: u32) {
        let totals = self.clone();
        actix_web::rt::spawn(async move {
            for back in 0..days {
                if let Err(error) = totals.read(None, today.minus(DAY * back), today).await {
                    log::debug!(error:% = error; "the sums of days are read when somebody asks for them");
                    return;
                }
            }
        });
    }

    /// The sums of the day that begins at `day`.
    pub(crate) async fn read(
        &self,
        merchant: Option<MerchantId>,
        day: Timestamp,
        today: Timestamp,
    ) -> Result<Totals, StoreError> {
        self.read_within((merchant, day), if day < today { PAST } else { TODAY }).await
    }

    async fn read_within(&self, key: Key, lifetime: Lifetime) -> Result<Totals, StoreError> {
        let found =
            self.0.kept().get_mut(&key).filter(|kept| kept.read_at.elapsed() < kept.lifetime.shown).map(|kept| {
                let is_fresh = kept.is_fresh();
                (kept.totals.clone(), is_fresh || std::mem::replace(&mut kept.is_read_anew, true))
            });
        match found {
            Some((totals, true)) => Ok(totals),
            Some((totals, false)) => {
                let inner = self.0.clone();
                actix_web::rt::spawn(async move {
                    if let Err(error) = inner.read(key, lifetime).await {
                        log::warn!(error:% = error; "the sums of a day could not be read anew; those of before are shown");
                        if let Some(kept) = inner.kept().get_mut(&key) {
                            kept.is_read_anew = false;
                        }
                    }
                });
                Ok(totals)
            }
            None => self.0.read(key, lifetime).await,
        }
    }
}

impl Inner {
    /// Reads in turn, unless somebody did while this waited for its turn.
    async fn read(&self, key: Key, lifetime: Lifetime) -> Result<Totals, StoreError> {
        let _turn = self.turn.lock().await;
        if let Some(kept) = self.kept().get(&key).filter(|kept| kept.is_fresh()) {
            return Ok(kept.totals.clone());
        }
        let (read_at, (merchant, day)) = (Instant::now(), key);
        let totals = Arc::new(self.store.payment_totals(merchant, day, day.plus(DAY)).await?);
        let lifetime = lifetime_of(read_at.elapsed(), lifetime);
        let mut kept = self.kept();
        if MAX_KEPT <= kept.len() {
            kept.clear();
        }
        kept.insert(key, Kept { totals: totals.clone(), read_at, lifetime, is_read_anew: false });
        Ok(totals)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use dropin_kernel::{ContractId, OrderId, SessionId};
    use dropin_order::{Operation, Order};
    use dropin_ports::{DeliveryTroubles, OrderSearch, SearchPage, SessionSearch};
    use dropin_session::Session;

    use super::*;

    /// Counts how often it is asked for sums, and how many ask at once.
    #[derive(Default)]
    struct Counting {
        asked: AtomicU32,
        at_once: AtomicU32,
        is_away: std::sync::atomic::AtomicBool,
    }

    #[async_trait]
    impl BackOfficeStore for Counting {
        async fn payment_totals(
            &self,
            _: Option<MerchantId>,
            _: Timestamp,
            _: Timestamp,
        ) -> Result<Vec<PaymentTotals>, StoreError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            match self.is_away.load(Ordering::SeqCst) {
                true => Err(StoreError::Unavailable("away".to_owned())),
                false => Ok(Vec::new()),
            }
        }

        async fn search_orders(&self, _: OrderSearch) -> Result<SearchPage<Order, OrderId>, StoreError> {
            unreachable!()
        }

        async fn search_sessions(&self, _: SessionSearch) -> Result<SearchPage<Session, SessionId>, StoreError> {
            unreachable!()
        }

        async fn list_open_operations_of(&self, _: Vec<MerchantId>, _: u32) -> Result<Vec<Operation>, StoreError> {
            unreachable!()
        }

        async fn find_contract_merchant(&self, _: ContractId) -> Result<Option<MerchantId>, StoreError> {
            unreachable!()
        }

        async fn count_delivery_troubles(&self, _: Option<Vec<MerchantId>>) -> Result<DeliveryTroubles, StoreError> {
            unreachable!()
        }
    }

    fn key(day: u32) -> Key {
        (None, Timestamp::from_micros(0).plus(DAY * day))
    }

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let at: Timestamp = "2026-11-25T23:59:59.999999Z".parse().unwrap();
        assert_eq!(day_of(at), "2026-11-25T00:00:00.000000Z".parse().unwrap());
    }

    #[actix_web::test]
    async fn many_who_ask_at_once_have_each_day_read_once_and_in_turn() {
        let store = Arc::new(Counting::default());
        let totals = DayTotals::new(store.clone());
        let asking = (0..60).map(|number| totals.read_within(key(number % 3), PAST));
        for read in futures_util::future::join_all(asking).await {
            read.unwrap();
        }
        assert_eq!(store.asked.load(Ordering::SeqCst), 3);
        totals.warm(key(2).1, 2);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(store.asked.load(Ordering::SeqCst), 3, "those of before are known");
    }

    #[actix_web::test]
    async fn what_is_no_longer_fresh_is_shown_and_read_anew_once() {
        let store = Arc::new(Counting::default());
        let totals = DayTotals::new(store.clone());
        let stale = Lifetime { fresh: Duration::ZERO, shown: DAY };
        totals.read_within(key(1), stale).await.unwrap();
        store.is_away.store(true, Ordering::SeqCst);
        for expected in [2, 3] {
            for _ in 0..20 {
                totals.read_within(key(1), stale).await.expect("shown although the database is away");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(store.asked.load(Ordering::SeqCst), expected, "one reads, and the next one may when it failed");
        }
    }

    #[test]
    fn only_sums_of_today_that_are_read_at_once_are_soon_read_again() {
        assert_eq!(lifetime_of(QUICKLY / 2, TODAY), QUICK);
        assert_eq!(lifetime_of(QUICKLY, TODAY), TODAY);
        assert_eq!(lifetime_of(QUICKLY / 2, PAST), PAST, "many live overviews would read many days without end");
    }

    #[actix_web::test]
    async fn a_day_that_was_not_over_when_it_was_read_is_read_again_when_it_is() {
        let store = Arc::new(Counting::default());
        let totals = DayTotals::new(store.clone());
        let of_today = Lifetime { fresh: Duration::ZERO, shown: Duration::ZERO };
        totals.read_within(key(1), of_today).await.unwrap();
        totals.read_within(key(1), PAST).await.unwrap();
        totals.read_within(key(1), PAST).await.unwrap();
        assert_eq!(store.asked.load(Ordering::SeqCst), 2);
        store.is_away.store(true, Ordering::SeqCst);
        totals.read_within(key(2), PAST).await.expect_err("whoever asks waits, and hears of it");
    }
}
