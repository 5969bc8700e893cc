//! How many requests a merchant and a client address may send in a second.
//!
//! Who proves a merchant counts against that merchant alone, so nobody can lock a merchant out by sending from its address. Everything else
//! counts against the client address: the shopper's calls, wrong credentials, unknown addresses. It is counted before anything is looked
//! up, so that a flood of guesses costs no database reads; credentials that proved a merchant lately are let through to be counted afterwards.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
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
/// How long credentials count as those of a merchant after they last proved one.
const REMEMBER: Duration = Duration::from_secs(600);
/// Most credentials that a worker remembers.
const MEMORY: usize = 10_000;

/// The rates of one server, shared by its workers.
pub(crate) struct Rates {
    merchants: Option<DefaultKeyedRateLimiter<MerchantId>>,
    clients: Option<DefaultKeyedRateLimiter<Client>>,
    metrics: Arc<Metrics>,
}

impl Rates {
    pub(crate) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { merchants: limiter(limits.merchant_rate), clients: limiter(limits.client_rate), metrics })
    }

    /// Forgets those who have been quiet, as long as somebody holds the rates.
    pub(crate) fn tidy(this: &Arc<Self>) {
        let rates = Arc::downgrade(this);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TIDY);
            while let Some(rates) = rates.upgrade() {
                if let Some(merchants) = &rates.merchants {
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

/// What one worker knows of those who send requests.
pub(crate) struct Doorman {
    rates: Arc<Rates>,
    hasher: RandomState,
    /// When credentials, as a keyed hash of them, last proved a merchant.
    proven: RefCell<HashMap<u64, Instant>>,
}

/// How a request stands with its worker's doorman.
pub(crate) struct Standing {
    doorman: Rc<Doorman>,
    client: Client,
    /// The keyed hash of its credentials, when it has some.
    credentials: Option<u64>,
    /// Whether its client address paid for it.
    charged: bool,
    merchant: Cell<Option<MerchantId>>,
}

impl Doorman {
    pub(crate) fn new(rates: Arc<Rates>) -> Rc<Self> {
        Rc::new(Self { rates, hasher: RandomState::new(), proven: RefCell::default() })
    }

    /// Looks at a request before anything else does. The second is 429 RATE_LIMITED when its client address is over the rate.
    pub(crate) fn look(self: &Rc<Self>, client: Client, headers: &HeaderMap) -> (Rc<Standing>, Result<(), ApiError>) {
        let credentials = headers.get(AUTHORIZATION).map(|value| self.hasher.hash_one(value.as_bytes()));
        let proven = credentials.is_some_and(|credentials| self.is_proven(credentials));
        let admitted = if proven { Ok(()) } else { self.rates.client(client) };
        let merchant = Cell::new(None);
        (Rc::new(Standing { doorman: self.clone(), client, credentials, charged: !proven, merchant }), admitted)
    }

    fn is_proven(&self, credentials: u64) -> bool {
        self.proven.borrow().get(&credentials).is_some_and(|since| since.elapsed() < REMEMBER)
    }

    fn remember(&self, credentials: u64) {
        let mut proven = self.proven.borrow_mut();
        if MEMORY <= proven.len() && !proven.contains_key(&credentials) {
            proven.retain(|_, since| since.elapsed() < REMEMBER);
            if MEMORY <= proven.len() {
                proven.clear();
            }
        }
        proven.insert(credentials, Instant::now());
    }
}

impl Standing {
    /// A request that is not counted.
    pub(crate) fn uncounted(doorman: &Rc<Doorman>, client: Client) -> Rc<Self> {
        let merchant = Cell::new(None);
        Rc::new(Self { doorman: doorman.clone(), client, credentials: None, charged: true, merchant })
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
            self.doorman.remember(credentials);
        }
        self.doorman.rates.merchant(merchant)
    }

    /// The request has its answer. Credentials that prove nothing any more, or are only shown where nobody asks for them, lose their trust.
    pub(crate) fn settle(&self, status: StatusCode) {
        let Some(credentials) = self.credentials.filter(|_| !self.charged && self.merchant.get().is_none()) else {
            return;
        };
        let paid = self.doorman.rates.client(self.client);
        if paid.is_err() || status == StatusCode::UNAUTHORIZED {
            self.doorman.proven.borrow_mut().remove(&credentials);
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use dropin_kernel::MerchantId;

    use super::*;

    const HERE: Client = Client::V6(1);

    fn doorman(merchant_rate: u32, client_rate: u32) -> Rc<Doorman> {
        let limits = Limits { merchant_rate, client_rate, ..Limits::default() };
        Doorman::new(Rates::new(&limits, Arc::default()))
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
        let doorman = doorman(0, 5);
        assert_eq!(passing(|| doorman.look(HERE, &HeaderMap::new()).1.is_ok()), 10);
        assert_eq!(passing(|| doorman.look(Client::V6(2), &with("Basic guess")).1.is_ok()), 10, "another client");
        let (_, refused) = doorman.look(HERE, &HeaderMap::new());
        let refused = refused.unwrap_err();
        assert_eq!((refused.code, refused.headers.len()), (ErrorCode::RateLimited, 1));
        assert_eq!(refused.headers[0].1, "1");
        assert!(refused.message.contains("at most 5 a second"), "{refused}");
        assert_eq!(passing(|| tests::doorman(0, 0).look(HERE, &HeaderMap::new()).1.is_ok()), 100, "0 is off");
    }

    #[test]
    fn whoever_proves_a_merchant_counts_against_that_one_alone() {
        let doorman = doorman(20, 5);
        let first = doorman.look(HERE, &with("Basic right")).0;
        first.prove(merchant()).unwrap();
        // The address is used up, by somebody else.
        passing(|| doorman.look(HERE, &HeaderMap::new()).1.is_ok());
        let served = passing(|| {
            let (standing, admitted) = doorman.look(HERE, &with("Basic right"));
            let served = admitted.and_then(|()| standing.prove(merchant()));
            standing.settle(StatusCode::OK);
            served.is_ok()
        });
        assert_eq!(served, 39, "the merchant's burst of 40, less the first request");
        assert!(doorman.look(HERE, &with("Basic wrong")).1.is_err());
    }

    #[test]
    fn credentials_lose_their_trust_when_they_prove_nothing() {
        let doorman = doorman(0, 5);
        let trust = || {
            let standing = doorman.look(Client::V6(7), &with("Basic right")).0;
            standing.prove(merchant()).unwrap();
        };
        trust();
        passing(|| doorman.look(HERE, &HeaderMap::new()).1.is_ok());
        // Revoked.
        let (standing, admitted) = doorman.look(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        standing.settle(StatusCode::UNAUTHORIZED);
        assert!(doorman.look(HERE, &with("Basic right")).1.is_err());
        // Shown where nobody asks for them.
        trust();
        let (standing, admitted) = doorman.look(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        standing.settle(StatusCode::OK);
        assert!(doorman.look(HERE, &with("Basic right")).1.is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let doorman = doorman(1, 1);
        (0..3 * MEMORY as u64).for_each(|credentials| doorman.remember(credentials));
        assert!(doorman.proven.borrow().len() <= MEMORY);
    }
}
