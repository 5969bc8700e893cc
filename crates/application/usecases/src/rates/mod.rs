//! Exchange rates (docs/SPECIFICATION.md#rates): what a merchant's page is shown, and the feed that it is made of.

mod refresh;
mod settings;

use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_access::{Merchant, RateForm, RateSettings};
use dropin_kernel::{MerchantId, RateOfferId, Timestamp};
use dropin_ports::{AccessStore, Clock, IdSource, OfferSet, OffersInserted, RateStore, RatesInForce, StoreError};
use dropin_rates::{Offer, OfferPolicy, OfferSetId};
use dropin_wire::rates::RatesBody;
use sha2::{Digest, Sha256};
use time::Date;

use crate::store_cache::{Cached, StoreCache};

pub use refresh::{RATES_REFRESH_INTERVAL, RateRefresher};
pub use settings::set_rates;

/// How often a set of offers is looked for again when somebody else makes one at the same moment.
const MAX_CAS_RETRIES: usize = 4;
/// When to ask again where nobody knows when the feed will be looked at.
const RETRY_SOON: Duration = Duration::from_secs(1);

/// Rates, for merchants' pages.
#[derive(Clone)]
pub struct Rates {
    store: Arc<dyn RateStore>,
    access: Arc<dyn AccessStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    policy: OfferPolicy,
    cache: Arc<StoreCache<MerchantId, Known>>,
}

/// What is remembered of a merchant for a moment.
#[derive(Debug, Clone)]
enum Known {
    Shown(Arc<RatesShown>),
    /// No guarantee can be given before the feed is looked at again, then.
    Stale(Timestamp),
}

/// An answer to getRates, the same for everybody until something changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesShown {
    /// JSON.
    pub body: Vec<u8>,
    /// Names these bytes: 32 hexadecimal digits.
    pub tag: String,
    /// What was shown may be kept until then.
    pub until: Timestamp,
    /// The day that the rates are of, when they are older than they should be; spot rates are shown all the same.
    pub stale: Option<Date>,
}

/// Why no rates are shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RatesError {
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    MerchantNotFound,
    /// The rates are too old to guarantee any, or there are none.
    #[error("the exchange rates are too old")]
    Stale {
        /// When the feed is looked at again.
        retry_after: Duration,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Rates {
    /// Rates out of `store` for the merchants in `access`; offers live by `policy`. Clones share what was shown; one is enough for a process.
    pub fn new(
        store: Arc<dyn RateStore>,
        access: Arc<dyn AccessStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        policy: OfferPolicy,
    ) -> Self {
        Self { store, access, clock, ids, policy, cache: Arc::default() }
    }

    /// What GET /v2.2/getRates answers for a merchant. A change of the feed or of the merchant's settings shows within two seconds.
    ///
    /// # Errors
    /// [`RatesError`].
    pub async fn show(&self, merchant: MerchantId) -> Result<Arc<RatesShown>, RatesError> {
        let now = self.clock.now();
        match self.cache.recall(&merchant, Instant::now()) {
            Cached::Known(Known::Shown(shown)) if now < shown.until => return Ok(shown),
            Cached::Known(Known::Stale(until)) if now < until => return Err(stale(until, now)),
            Cached::Known(_) | Cached::Due | Cached::Unknown => {}
        }
        // What the store says may be as old as the question.
        let asked = Instant::now();
        let known = self.look_up(merchant, now).await?;
        self.cache.keep(merchant, known.clone(), asked);
        match known {
            Known::Shown(shown) => Ok(shown),
            Known::Stale(until) => Err(stale(until, now)),
        }
    }

    /// For how long it may be kept from now on, in whole seconds; at least one.
    pub fn keeps(&self, shown: &RatesShown) -> u64 {
        shown.until.since(self.clock.now()).as_secs().max(1)
    }

    /// The day of the next change cannot be told where the feed was never looked at, or is not looked at any more.
    async fn look_up(&self, merchant: MerchantId, now: Timestamp) -> Result<Known, RatesError> {
        let merchant = self.access.find_merchant(merchant).await?.ok_or(RatesError::MerchantNotFound)?;
        let settings = self.store.find_rate_settings(merchant.id).await?;
        let board = self.store.find_rates().await?.filter(|board| !board.table.is_empty());
        let Some(board) = board else { return Ok(Known::Stale(now.plus(RETRY_SOON))) };
        let next = board.state.next_at.max(now.plus(RETRY_SOON));
        match settings.form {
            RateForm::Spot => Ok(Known::Shown(Arc::new(spot(&merchant, &settings, &board, next, now)))),
            RateForm::Guaranteed if board.is_stale(now) => Ok(Known::Stale(next)),
            RateForm::Guaranteed => {
                let set = self.offers(&merchant, &settings, &board, now).await?;
                let listed = |currency| set.offers.iter().find(|offer| offer.rate.quote() == currency);
                let body = RatesBody::guaranteed(merchant.currencies.iter().copied().filter_map(listed));
                let change = self.policy.next_change(set.id);
                let until = board.state.stale_at.map_or(change, |stale| stale.min(change));
                Ok(Known::Shown(Arc::new(RatesShown::new(&body, until, None))))
            }
        }
    }

    /// The newest set of the merchant's offers; a new one when it is due, of which there is exactly one whoever asks for it.
    async fn offers(
        &self,
        merchant: &Merchant,
        settings: &RateSettings,
        board: &RatesInForce,
        now: Timestamp,
    ) -> Result<OfferSet, StoreError> {
        for _ in 0..MAX_CAS_RETRIES {
            let newest = self.store.find_newest_offers(merchant.id).await?;
            let due = self.policy.due(newest.as_ref().map(|set| set.id), now);
            let set = match (newest, due) {
                (Some(newest), None) => return Ok(newest),
                (_, Some(id)) => self.make(merchant, settings, board, id),
                // A policy that makes no first set would make none at all.
                (None, None) => break,
            };
            if self.store.insert_offers(set.clone()).await? == OffersInserted::Done {
                return Ok(set);
            }
        }
        Err(StoreError::Unavailable("offers are made faster than they can be read".to_owned()))
    }

    fn make(&self, merchant: &Merchant, settings: &RateSettings, board: &RatesInForce, id: OfferSetId) -> OfferSet {
        let expires_at = self.policy.expires_at(id);
        let table = board.current();
        let offer = |rate| Offer {
            id: RateOfferId::new(self.ids.random()),
            merchant_id: merchant.id,
            rate,
            created_at: id.created_at,
            expires_at,
        };
        let offers = settings.pricing.rates(&table, merchant.currencies.iter().copied()).map(offer).collect();
        OfferSet { id, merchant_id: merchant.id, settlement: settings.pricing.settlement, expires_at, offers }
    }
}

fn stale(until: Timestamp, now: Timestamp) -> RatesError {
    RatesError::Stale { retry_after: until.since(now) }
}

fn spot(
    merchant: &Merchant,
    settings: &RateSettings,
    board: &RatesInForce,
    next: Timestamp,
    now: Timestamp,
) -> RatesShown {
    let table = board.current();
    let body = RatesBody::spot(settings.pricing.rates(&table, merchant.currencies.iter().copied()));
    let stale = board.is_stale(now);
    // From then on they are shown with a warning.
    let until = board.state.stale_at.filter(|at| now < *at).map_or(next, |at| at.min(next));
    // Only what has a day grows old.
    RatesShown::new(&body, until, board.table.date().filter(|_| stale))
}

impl RatesShown {
    fn new(body: &RatesBody, until: Timestamp, stale: Option<Date>) -> Self {
        let body = body.bytes();
        let digest = Sha256::digest(&body);
        let tag = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { body, tag, until, stale }
    }
}
