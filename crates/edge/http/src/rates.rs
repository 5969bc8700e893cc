//! How many requests a merchant and a client address may send in a second.
//!
//! Who proves a merchant counts against that merchant alone. Everything else counts against the client address: the shopper's calls, wrong
//! credentials, unknown addresses. It is counted before anything is looked up, so that a flood of guesses costs no database reads;
//! credentials that proved a merchant lately, to whichever worker, are let through to be counted afterwards, so that nobody locks a merchant
//! out by sending from its address. A server that has not seen them yet cannot tell them from a guess: while their address is flooded they
//! may have to be sent again until one is looked at.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use dropin_kernel::MerchantId;
use dropin_wire::ErrorCode;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::ApiError;
use crate::client::Client;
use crate::limits::Limits;
use crate::metrics::{Events, Metrics};

/// How often those who have been quiet are forgotten.
const TIDY: Duration = Duration::from_secs(1);
/// How long credentials count as those of a merchant after it was noted that they proved one.
const REMEMBER: Duration = Duration::from_secs(600);
/// For how long it need not be noted again.
const NOTED: Duration = Duration::from_secs(60);
/// Most credentials that a server remembers.
const MEMORY: usize = 10_000;

/// The rates of one server, and whom it knows; shared by its workers.
pub(crate) struct Rates {
    merchants: Option<DefaultKeyedRateLimiter<MerchantId>>,
    /// Requests that name a merchant and prove nothing. Apart from its own, so that strangers use up none of those.
    named: Option<DefaultKeyedRateLimiter<MerchantId>>,
    /// Pages of events, which are counted among a merchant's requests besides.
    pages: Option<DefaultKeyedRateLimiter<MerchantId>>,
    clients: Option<DefaultKeyedRateLimiter<Client>>,
    proven: Proven,
    metrics: Arc<Metrics>,
}

impl Rates {
    pub(crate) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Arc<Self> {
        let (merchants, named) = (limiter(limits.merchant_rate), limiter(limits.merchant_rate));
        let (clients, pages) = (limiter(limits.client_rate), limiter(limits.event_rate));
        Arc::new(Self { merchants, named, pages, clients, proven: Proven::default(), metrics })
    }

    /// Looks at a request before anything else does. The second is 429 RATE_LIMITED when its client address is over the rate.
    pub(crate) fn look(self: &Arc<Self>, client: Client, headers: &HeaderMap) -> (Rc<Standing>, Result<(), ApiError>) {
        let credentials = headers.get(AUTHORIZATION).map(|value| self.proven.hash(value));
        let proven = credentials.is_some_and(|credentials| self.proven.within(credentials, REMEMBER));
        let admitted = if proven { Ok(()) } else { self.client(client) };
        let merchant = Cell::new(None);
        (Rc::new(Standing { rates: self.clone(), client, credentials, charged: !proven, merchant }), admitted)
    }

    /// Forgets those who have been quiet, as long as somebody holds the rates.
    pub(crate) fn tidy(this: &Arc<Self>) {
        let rates = Arc::downgrade(this);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TIDY);
            while let Some(rates) = rates.upgrade() {
                for merchants in [&rates.merchants, &rates.named, &rates.pages].into_iter().flatten() {
                    merchants.retain_recent();
                    merchants.shrink_to_fit();
                }
                if let Some(clients) = &rates.clients {
                    clients.retain_recent();
                    clients.shrink_to_fit();
                }
                drop(rates);
                ticks.tick().await;
            }
        });
    }

    /// Counts a request against its merchant; 429 RATE_LIMITED over the rate.
    fn merchant(&self, merchant: MerchantId) -> Result<(), ApiError> {
        let limited = &self.metrics.events.limited_merchant;
        take(self.merchants.as_ref(), &merchant, limited, "this merchant's requests")
    }

    /// Counts a request against the merchant that it names; 429 RATE_LIMITED over the rate.
    fn named(&self, merchant: MerchantId) -> Result<(), ApiError> {
        let limited = &self.metrics.events.limited_merchant;
        take(self.named.as_ref(), &merchant, limited, "shoppers' requests for this merchant")
    }

    /// Counts a page of events against its merchant; 429 RATE_LIMITED over the rate.
    fn page(&self, merchant: MerchantId) -> Result<(), ApiError> {
        let limited = &self.metrics.events.limited_merchant;
        take(self.pages.as_ref(), &merchant, limited, "this merchant's reads of events")
    }

    /// Counts a request against its client address; 429 RATE_LIMITED over the rate.
    fn client(&self, client: Client) -> Result<(), ApiError> {
        let limited = &self.metrics.events.limited_client;
        take(self.clients.as_ref(), &client, limited, "requests without a merchant's credentials from this address")
    }
}

/// So many in a second, with bursts of twice that; none for 0.
fn limiter<K: Hash + Eq + Clone>(rate: u32) -> Option<DefaultKeyedRateLimiter<K>> {
    let rate = NonZeroU32::new(rate)?;
    let burst = rate.saturating_mul(NonZeroU32::MIN.saturating_add(1));
    Some(RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst)))
}

fn take<K: Hash + Eq + Clone>(
    limiter: Option<&DefaultKeyedRateLimiter<K>>,
    key: &K,
    limited: &AtomicU64,
    what: &'static str,
) -> Result<(), ApiError> {
    let Some(limiter) = limiter else { return Ok(()) };
    limiter.check_key(key).map_err(|until| {
        Events::count(limited);
        let wait = until.wait_time_from(DefaultClock::default().now());
        let seconds = wait.as_secs() + u64::from(0 < wait.subsec_nanos());
        let rate = until.quota().burst_size().get() / 2;
        let message = format!(
            "Too many of {what}: at most {rate} a second. Wait as many seconds as the header Retry-After says."
        );
        ApiError::new(ErrorCode::RateLimited, message).with_header(RETRY_AFTER, seconds.max(1).into())
    })
}

/// When credentials last proved a merchant, by a keyed hash of them.
#[derive(Default)]
struct Proven {
    hasher: RandomState,
    noted: RwLock<HashMap<u64, Instant>>,
}

impl Proven {
    fn hash(&self, credentials: &HeaderValue) -> u64 {
        self.hasher.hash_one(credentials.as_bytes())
    }

    fn within(&self, credentials: u64, time: Duration) -> bool {
        let noted = self.noted.read().unwrap_or_else(PoisonError::into_inner);
        noted.get(&credentials).is_some_and(|at| at.elapsed() < time)
    }

    fn note(&self, credentials: u64) {
        // Workers read side by side and write one after the other: a busy merchant is not written with every request.
        if self.within(credentials, NOTED) {
            return;
        }
        let mut noted = self.noted.write().unwrap_or_else(PoisonError::into_inner);
        if MEMORY <= noted.len() && !noted.contains_key(&credentials) {
            noted.retain(|_, at| at.elapsed() < REMEMBER);
            if MEMORY <= noted.len() {
                noted.clear();
            }
        }
        noted.insert(credentials, Instant::now());
    }

    fn forget(&self, credentials: u64) {
        self.noted.write().unwrap_or_else(PoisonError::into_inner).remove(&credentials);
    }
}

/// How a request stands with the rates.
pub(crate) struct Standing {
    rates: Arc<Rates>,
    client: Client,
    /// The keyed hash of its credentials, when it has some.
    credentials: Option<u64>,
    /// Whether its client address paid for it.
    charged: bool,
    merchant: Cell<Option<MerchantId>>,
}

impl Standing {
    /// A request that does not count against its client address.
    pub(crate) fn uncounted(rates: &Arc<Rates>, client: Client) -> Rc<Self> {
        let merchant = Cell::new(None);
        Rc::new(Self { rates: rates.clone(), client, credentials: None, charged: true, merchant })
    }

    /// Where it comes from.
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// Whose request it is, once that is proven.
    pub(crate) fn merchant(&self) -> Option<MerchantId> {
        self.merchant.get()
    }

    /// The request has proven its merchant; 429 RATE_LIMITED when that one is over its rate.
    pub(crate) fn prove(&self, merchant: MerchantId) -> Result<(), ApiError> {
        if self.merchant.replace(Some(merchant)) == Some(merchant) {
            return Ok(());
        }
        if let Some(credentials) = self.credentials {
            self.rates.proven.note(credentials);
        }
        self.rates.merchant(merchant)
    }

    /// The request names a merchant without proving it; 429 RATE_LIMITED when too many do. Only for merchants that exist.
    pub(crate) fn name(&self, merchant: MerchantId) -> Result<(), ApiError> {
        self.rates.named(merchant)
    }

    /// The merchant that the request has proven reads a page of events; 429 RATE_LIMITED when it reads too many.
    pub(crate) fn page(&self) -> Result<(), ApiError> {
        self.merchant.get().map_or(Ok(()), |merchant| self.rates.page(merchant))
    }

    /// The request has its answer. Credentials that prove nothing any more, or are only shown where nobody asks for them, lose their trust.
    pub(crate) fn settle(&self, status: StatusCode) {
        let Some(credentials) = self.credentials.filter(|_| !self.charged && self.merchant.get().is_none()) else {
            return;
        };
        let paid = self.rates.client(self.client);
        if paid.is_err() || status == StatusCode::UNAUTHORIZED {
            self.rates.proven.forget(credentials);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Client = Client::V6(1);

    fn rates(merchant_rate: u32, client_rate: u32) -> Arc<Rates> {
        let limits = Limits { merchant_rate, client_rate, ..Limits::default() };
        Rates::new(&limits, Arc::default())
    }

    fn with(credentials: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(credentials));
        headers
    }

    fn merchant() -> MerchantId {
        "0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c11".parse().unwrap()
    }

    /// How many of a hundred pass.
    fn passing(mut request: impl FnMut() -> bool) -> usize {
        (0..100).filter(|_| request()).count()
    }

    #[test]
    fn a_stranger_has_a_burst_of_twice_the_rate() {
        let rates = rates(0, 5);
        assert_eq!(passing(|| rates.look(HERE, &HeaderMap::new()).1.is_ok()), 10);
        assert_eq!(passing(|| rates.look(Client::V6(2), &with("Basic guess")).1.is_ok()), 10, "another client");
        let (_, refused) = rates.look(HERE, &HeaderMap::new());
        let refused = refused.unwrap_err();
        assert_eq!((refused.code, refused.headers.len()), (ErrorCode::RateLimited, 1));
        assert_eq!(refused.headers[0].1, "1");
        assert!(refused.message.contains("at most 5 a second"), "{refused}");
        assert_eq!(passing(|| tests::rates(0, 0).look(HERE, &HeaderMap::new()).1.is_ok()), 100, "0 is off");
    }

    #[test]
    fn whoever_proves_a_merchant_counts_against_that_one_alone() {
        let rates = rates(20, 5);
        let first = rates.look(HERE, &with("Basic right")).0;
        first.prove(merchant()).unwrap();
        // The address is used up, by somebody else.
        passing(|| rates.look(HERE, &HeaderMap::new()).1.is_ok());
        let served = passing(|| {
            let (standing, admitted) = rates.look(HERE, &with("Basic right"));
            let served = admitted.and_then(|()| standing.prove(merchant()));
            standing.settle(StatusCode::OK);
            served.is_ok()
        });
        assert_eq!(served, 39, "the merchant's burst of 40, less the first request");
        assert!(rates.look(HERE, &with("Basic wrong")).1.is_err());
    }

    #[test]
    fn pages_of_events_have_a_rate_of_their_own() {
        let limits = Limits { merchant_rate: 0, event_rate: 5, ..Limits::default() };
        let rates = Rates::new(&limits, Arc::default());
        let standing = rates.look(HERE, &with("Basic right")).0;
        assert_eq!(passing(|| standing.page().is_ok()), 100, "nobody's");
        standing.prove(merchant()).unwrap();
        assert_eq!(passing(|| standing.page().is_ok()), 10);
        assert!(standing.page().unwrap_err().message.contains("at most 5 a second"));
        let other = rates.look(HERE, &with("Basic other")).0;
        other.prove("0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c12".parse().unwrap()).unwrap();
        assert_eq!(passing(|| other.page().is_ok()), 10, "another merchant");
    }

    #[test]
    fn credentials_lose_their_trust_when_they_prove_nothing() {
        let rates = rates(0, 5);
        let trust = || {
            let standing = rates.look(Client::V6(7), &with("Basic right")).0;
            standing.prove(merchant()).unwrap();
        };
        trust();
        passing(|| rates.look(HERE, &HeaderMap::new()).1.is_ok());
        // Revoked.
        let (standing, admitted) = rates.look(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        standing.settle(StatusCode::UNAUTHORIZED);
        assert!(rates.look(HERE, &with("Basic right")).1.is_err());
        // Shown where nobody asks for them.
        trust();
        let (standing, admitted) = rates.look(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        standing.settle(StatusCode::OK);
        assert!(rates.look(HERE, &with("Basic right")).1.is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let rates = rates(1, 1);
        (0..3 * MEMORY as u64).for_each(|credentials| rates.proven.note(credentials));
        assert!(rates.proven.noted.read().unwrap().len() <= MEMORY);
    }
}
