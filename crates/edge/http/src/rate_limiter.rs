//! How many requests a merchant and a client address may send in a second.
//!
//! A request that proves a merchant counts against that merchant alone. Everything else counts against the client address: the shopper's calls, wrong
//! credentials, unknown addresses. It is counted before anything is looked up, so that a flood of guesses costs no database reads;
//! credentials that proved a merchant lately, to whichever worker, are let through to be counted afterwards, so that no client locks a merchant
//! out by sending from its address. A server that has not seen them yet cannot tell them from a guess: while their address is flooded they
//! may have to be sent again until one is looked at.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use dropin_kernel::{MerchantId, SessionId};
use dropin_wire::ErrorCode;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::ApiError;
use crate::body_budget::BodyBudget;
use crate::client::Client;
use crate::limits::Limits;
use crate::metrics::{Counters, Metrics};

/// How often idle keys are dropped.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);
/// How long credentials are trusted after they proved a merchant.
const TRUST_DURATION: Duration = Duration::from_secs(600);
/// How long a proof need not be recorded again.
const TRUST_REFRESH_INTERVAL: Duration = Duration::from_secs(60);
/// What a single client may send of the requests that name a merchant: this part of the merchant's rate.
const CLIENT_SHARE: u32 = 100;
/// Requests that name one Session: so many at once, then one a second.
const SESSION_BURST: u32 = 10;
/// Most trusted credentials of a server.
const MAX_TRUSTED_CREDENTIALS: usize = 10_000;

/// The request limits of one server and the credentials that it trusts; shared by its workers.
pub(crate) struct RateLimiter {
    merchants: Option<DefaultKeyedRateLimiter<MerchantId>>,
    /// Requests that name a merchant and prove nothing. Apart from its own, so that strangers use up none of those.
    named: PublicLimiters,
    /// Pages of events, which are counted among a merchant's requests besides.
    pages: Option<DefaultKeyedRateLimiter<MerchantId>>,
    /// Payment sessions of the wallet.
    wallets: Option<DefaultKeyedRateLimiter<(MerchantId, Client)>>,
    clients: Option<DefaultKeyedRateLimiter<Client>>,
    bodies: BodyBudget,
    trusted: TrustedCredentials,
    metrics: Arc<Metrics>,
}

impl RateLimiter {
    pub(crate) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Arc<Self> {
        let (merchants, named) = (limiter(limits.merchant_rate), PublicLimiters::new(limits.merchant_rate));
        let (clients, pages) = (limiter(limits.client_rate), limiter(limits.event_rate));
        let (bodies, wallets) = (BodyBudget::new(limits.body_memory, metrics.clone()), limiter(limits.wallet_rate));
        Arc::new(Self {
            merchants,
            named,
            pages,
            wallets,
            clients,
            bodies,
            trusted: TrustedCredentials::default(),
            metrics,
        })
    }

    /// Counts a request against its client address, before anything else is done for it. The second value is 429 RATE_LIMITED over the rate.
    pub(crate) fn admit(
        self: &Arc<Self>,
        client: Client,
        headers: &HeaderMap,
    ) -> (Rc<RequestQuota>, Result<(), ApiError>) {
        let credentials = headers.get(AUTHORIZATION).map(|value| self.trusted.hash(value));
        let is_trusted = credentials.is_some_and(|credentials| self.trusted.within(credentials, TRUST_DURATION));
        let admitted = if is_trusted { Ok(()) } else { self.client(client) };
        let quota = RequestQuota {
            rate_limiter: self.clone(),
            client,
            credentials,
            is_counted: true,
            charged: !is_trusted,
            merchant: Cell::new(None),
            refused_user: RefCell::default(),
            body_bytes: Cell::new(0),
        };
        (Rc::new(quota), admitted)
    }

    /// Drops idle keys at each cleanup interval, as long as the limiter lives.
    pub(crate) fn spawn_cleanup(this: &Arc<Self>) {
        let rate_limiter = Arc::downgrade(this);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(CLEANUP_INTERVAL);
            while let Some(rate_limiter) = rate_limiter.upgrade() {
                drop_idle_keys(&rate_limiter.merchants);
                drop_idle_keys(&rate_limiter.pages);
                drop_idle_keys(&rate_limiter.clients);
                drop_idle_keys(&rate_limiter.named.anonymous);
                drop_idle_keys(&rate_limiter.named.clients);
                drop_idle_keys(&rate_limiter.named.shoppers);
                drop_idle_keys(&rate_limiter.named.sessions);
                drop_idle_keys(&rate_limiter.wallets);
                drop(rate_limiter);
                ticks.tick().await;
            }
        });
    }

    /// Counts a request against its merchant; 429 RATE_LIMITED over the rate.
    fn merchant(&self, merchant: MerchantId) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_merchant;
        take(self.merchants.as_ref(), &merchant, limited, "of this merchant's requests")
    }

    /// Counts a request of a client against the merchant that it names; 429 RATE_LIMITED over the rate.
    fn named(&self, merchant: MerchantId, client: Client) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_merchant;
        take(
            self.named.clients.as_ref(),
            &(merchant, client),
            limited,
            "requests for this merchant from this address",
        )?;
        take(self.named.anonymous.as_ref(), &merchant, limited, "shoppers' requests for this merchant")
    }

    /// Counts a request that names a live Session of a merchant against both; 429 RATE_LIMITED over either rate.
    fn named_session(&self, merchant: MerchantId, session: SessionId) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_merchant;
        take(self.named.sessions.as_ref(), &session, limited, "requests for this Session")?;
        take(self.named.shoppers.as_ref(), &merchant, limited, "requests for Sessions of this merchant")
    }

    /// Counts a page of events against its merchant; 429 RATE_LIMITED over the rate.
    fn page(&self, merchant: MerchantId) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_merchant;
        take(self.pages.as_ref(), &merchant, limited, "of this merchant's reads of events")
    }

    /// Counts a payment session of the wallet against the merchant and the client together; 429 RATE_LIMITED over the rate.
    fn wallet(&self, merchant: MerchantId, client: Client) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_client;
        take(self.wallets.as_ref(), &(merchant, client), limited, "payment sessions of the wallet from this address")
    }

    /// Counts a request against its client address; 429 RATE_LIMITED over the rate.
    fn client(&self, client: Client) -> Result<(), ApiError> {
        let limited = &self.metrics.counters.limited_client;
        take(self.clients.as_ref(), &client, limited, "requests without a merchant's credentials from this address")
    }
}

/// A merchant's rate of requests that name it and prove nothing, in halves: one without a Session, of which a single client has a small part, one
/// for requests that name a live Session of the merchant. A flood of the first half leaves the second to shoppers.
struct PublicLimiters {
    anonymous: Option<DefaultKeyedRateLimiter<MerchantId>>,
    clients: Option<DefaultKeyedRateLimiter<(MerchantId, Client)>>,
    shoppers: Option<DefaultKeyedRateLimiter<MerchantId>>,
    sessions: Option<DefaultKeyedRateLimiter<SessionId>>,
}

impl PublicLimiters {
    fn new(merchant_rate: u32) -> Self {
        let part = |of: u32| if merchant_rate == 0 { 0 } else { (merchant_rate / of).max(1) };
        let sessions = NonZeroU32::new(merchant_rate).map(|_limited| {
            let burst = NonZeroU32::MIN.saturating_add(SESSION_BURST - 1);
            governor::RateLimiter::keyed(Quota::per_second(NonZeroU32::MIN).allow_burst(burst))
        });
        Self { anonymous: limiter(part(2)), clients: limiter(part(CLIENT_SHARE)), shoppers: limiter(part(2)), sessions }
    }
}

/// Drops the keys that have been idle.
fn drop_idle_keys<K: Hash + Eq + Clone>(limiter: &Option<DefaultKeyedRateLimiter<K>>) {
    if let Some(limiter) = limiter {
        limiter.retain_recent();
        limiter.shrink_to_fit();
    }
}

/// So many in a second, with bursts of twice that; none for 0.
fn limiter<K: Hash + Eq + Clone>(rate: u32) -> Option<DefaultKeyedRateLimiter<K>> {
    let rate = NonZeroU32::new(rate)?;
    let burst = rate.saturating_mul(NonZeroU32::MIN.saturating_add(1));
    Some(governor::RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst)))
}

fn take<K: Hash + Eq + Clone>(
    limiter: Option<&DefaultKeyedRateLimiter<K>>,
    key: &K,
    limited: &AtomicU64,
    what: &'static str,
) -> Result<(), ApiError> {
    let Some(limiter) = limiter else { return Ok(()) };
    limiter.check_key(key).map_err(|until| {
        Counters::increment(limited);
        let wait = until.wait_time_from(DefaultClock::default().now());
        let seconds = wait.as_secs() + u64::from(0 < wait.subsec_nanos());
        let rate = (1.0 / until.quota().replenish_interval().as_secs_f64()).round();
        let message =
            format!("Too many {what}: at most {rate} a second. Wait as many seconds as the header Retry-After says.");
        ApiError::new(ErrorCode::RateLimited, message).with_header(RETRY_AFTER, seconds.max(1).into())
    })
}

/// When credentials last proved a merchant, by a keyed hash of them.
#[derive(Default)]
struct TrustedCredentials {
    hasher: RandomState,
    proven_at: RwLock<HashMap<u64, Instant>>,
}

impl TrustedCredentials {
    fn hash(&self, credentials: &HeaderValue) -> u64 {
        self.hasher.hash_one(credentials.as_bytes())
    }

    fn within(&self, credentials: u64, time: Duration) -> bool {
        let proven_at = self.proven_at.read().unwrap_or_else(PoisonError::into_inner);
        proven_at.get(&credentials).is_some_and(|at| at.elapsed() < time)
    }

    fn record(&self, credentials: u64) {
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

    fn forget(&self, credentials: u64) {
        self.proven_at.write().unwrap_or_else(PoisonError::into_inner).remove(&credentials);
    }
}

/// The limits that a request is counted against, and what it has used of them.
pub(crate) struct RequestQuota {
    rate_limiter: Arc<RateLimiter>,
    client: Client,
    /// The keyed hash of its credentials, when it has some.
    credentials: Option<u64>,
    /// Whether its client address paid for it.
    charged: bool,
    merchant: Cell<Option<MerchantId>>,
    /// The user name of a refused login, as it may stand in a log.
    refused_user: RefCell<Option<String>>,
    /// Whether it counts against anything.
    is_counted: bool,
    /// What its body has taken of the budget.
    body_bytes: Cell<usize>,
}

impl RequestQuota {
    /// A request that does not count against its client address.
    pub(crate) fn uncounted(rate_limiter: &Arc<RateLimiter>, client: Client) -> Rc<Self> {
        Rc::new(Self {
            rate_limiter: rate_limiter.clone(),
            client,
            credentials: None,
            is_counted: false,
            charged: true,
            merchant: Cell::new(None),
            refused_user: RefCell::default(),
            body_bytes: Cell::new(0),
        })
    }

    /// Notes that the login of `username` was refused, for the access log.
    pub(crate) fn refuse_login(&self, username: &str) {
        self.refused_user.replace(Some(loggable(username).to_owned()));
    }

    /// The user name whose login was refused.
    pub(crate) fn refused_user(&self) -> Option<String> {
        self.refused_user.borrow().clone()
    }

    /// The client that sent it.
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// The merchant, once the request has proven it.
    pub(crate) fn merchant(&self) -> Option<MerchantId> {
        self.merchant.get()
    }

    /// The request has proven its merchant; 429 RATE_LIMITED when that one is over its rate.
    pub(crate) fn prove(&self, merchant: MerchantId) -> Result<(), ApiError> {
        if self.merchant.replace(Some(merchant)) == Some(merchant) {
            return Ok(());
        }
        if let Some(credentials) = self.credentials {
            self.rate_limiter.trusted.record(credentials);
        }
        self.rate_limiter.merchant(merchant)
    }

    /// The request names a merchant without proving it; 429 RATE_LIMITED when too many do. Only for merchants that exist.
    pub(crate) fn count_public(&self, merchant: MerchantId) -> Result<(), ApiError> {
        self.rate_limiter.named(merchant, self.client)
    }

    /// The request names a live Session of that merchant; 429 RATE_LIMITED when too many do.
    pub(crate) fn count_session(&self, merchant: MerchantId, session: SessionId) -> Result<(), ApiError> {
        self.rate_limiter.named_session(merchant, session)
    }

    /// Takes memory for the request's body, which is `size` bytes large from now on, until the request is over. A proven merchant's takes none: its
    /// merchant has a rate.
    ///
    /// # Errors
    /// 429 RATE_LIMITED, 503 SERVICE_UNAVAILABLE: no memory is left for it.
    pub(crate) fn grow_body(&self, size: usize) -> Result<(), ApiError> {
        let more = size.saturating_sub(self.body_bytes.get());
        if !self.is_counted || self.merchant.get().is_some() || more == 0 {
            return Ok(());
        }
        self.rate_limiter.bodies.take(self.client, more, size)?;
        self.body_bytes.set(size);
        Ok(())
    }

    /// The request asks for a payment session of the wallet; 429 RATE_LIMITED when its client asks for too many.
    pub(crate) fn wallet(&self, merchant: MerchantId) -> Result<(), ApiError> {
        self.rate_limiter.wallet(merchant, self.client)
    }

    /// The merchant that the request has proven reads a page of events; 429 RATE_LIMITED when it reads too many.
    pub(crate) fn page(&self) -> Result<(), ApiError> {
        self.merchant.get().map_or(Ok(()), |merchant| self.rate_limiter.page(merchant))
    }

    /// Ends the request. Credentials that prove nothing any more, or are sent to an operation that needs none, lose their trust.
    pub(crate) fn finish(&self, status: StatusCode) {
        let Some(credentials) = self.credentials.filter(|_| !self.charged && self.merchant.get().is_none()) else {
            return;
        };
        let paid = self.rate_limiter.client(self.client);
        if paid.is_err() || status == StatusCode::UNAUTHORIZED {
            self.rate_limiter.trusted.forget(credentials);
        }
    }
}

impl Drop for RequestQuota {
    fn drop(&mut self) {
        if 0 < self.body_bytes.get() {
            self.rate_limiter.bodies.give_back(self.client, self.body_bytes.get());
        }
    }
}

/// A user name as it may stand in a log: `-` for one that is none of those that we make (`api-` and twelve hexadecimal digits), which may be a password or a
/// card number in the wrong place, or try to look like other members of the line.
fn loggable(username: &str) -> &str {
    let is_hex = |digits: &str| digits.len() == 12 && digits.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    if username.strip_prefix("api-").is_some_and(is_hex) { username } else { "-" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Client = Client::V6(1);

    fn rate_limiter(merchant_rate: u32, client_rate: u32) -> Arc<RateLimiter> {
        let limits = Limits { merchant_rate, client_rate, ..Limits::default() };
        RateLimiter::new(&limits, Arc::default())
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
        let rate_limiter = rate_limiter(0, 5);
        assert_eq!(passing(|| rate_limiter.admit(HERE, &HeaderMap::new()).1.is_ok()), 10);
        assert_eq!(passing(|| rate_limiter.admit(Client::V6(2), &with("Basic guess")).1.is_ok()), 10, "another client");
        let (_, refused) = rate_limiter.admit(HERE, &HeaderMap::new());
        let refused = refused.unwrap_err();
        assert_eq!((refused.code, refused.headers.len()), (ErrorCode::RateLimited, 1));
        assert_eq!(refused.headers[0].1, "1");
        assert!(refused.message.contains("at most 5 a second"), "{refused}");
        assert_eq!(passing(|| tests::rate_limiter(0, 0).admit(HERE, &HeaderMap::new()).1.is_ok()), 100, "0 is off");
    }

    #[test]
    fn whoever_proves_a_merchant_counts_against_that_one_alone() {
        let rate_limiter = rate_limiter(20, 5);
        let first = rate_limiter.admit(HERE, &with("Basic right")).0;
        first.prove(merchant()).unwrap();
        // Another client of the address uses up its rate.
        passing(|| rate_limiter.admit(HERE, &HeaderMap::new()).1.is_ok());
        let served = passing(|| {
            let (quota, admitted) = rate_limiter.admit(HERE, &with("Basic right"));
            let served = admitted.and_then(|()| quota.prove(merchant()));
            quota.finish(StatusCode::OK);
            served.is_ok()
        });
        assert_eq!(served, 39, "the merchant's burst of 40, less the first request");
        assert!(rate_limiter.admit(HERE, &with("Basic wrong")).1.is_err());
    }

    #[test]
    fn strangers_leave_half_of_a_merchants_rate_to_its_shoppers() {
        let rate_limiter = rate_limiter(200, 0);
        let quota = |client| rate_limiter.admit(Client::V6(client), &HeaderMap::new()).0;
        let session = |number: u128| SessionId::new(uuid::Uuid::from_u128(number));
        assert_eq!(
            passing(|| quota(0).count_public(merchant()).is_ok()),
            4,
            "a hundredth of the rate, and a burst of it"
        );
        let taken = (1..200).filter(|client| passing(|| quota(*client).count_public(merchant()).is_ok()) != 0).count();
        assert!((45..150).contains(&taken), "{taken}: two hundred, four each, and what grows back meanwhile");
        assert_eq!(passing(|| quota(0).count_session(merchant(), session(1)).is_ok()), 10, "one Session");
        let shoppers = (2..22).map(|number| passing(|| quota(0).count_session(merchant(), session(number)).is_ok()));
        assert!(190 <= shoppers.sum::<usize>(), "the other half");
        let unlimited = tests::rate_limiter(0, 0).admit(HERE, &HeaderMap::new()).0;
        assert_eq!(passing(|| unlimited.count_public(merchant()).is_ok()), 100, "0 is off");
        assert_eq!(passing(|| unlimited.count_session(merchant(), session(1)).is_ok()), 100, "0 is off");
    }

    #[test]
    fn the_log_shows_user_names_and_nothing_that_was_typed_in_their_place() {
        for shown in ["api-0123456789ab", "api-012345678901"] {
            assert_eq!(loggable(shown), shown);
        }
        for hidden in [
            "4242424242424242",
            "4242-4242-4242-4242",
            "4242.4242.4242.4242@x",
            "hunter2",
            "api-hunter2",
            "api-0123456789AB",
            "api-0123456789ab\n",
            "x status=200",
            "p\u{e4}ss",
            "",
        ] {
            assert_eq!(loggable(hidden), "-", "{hidden}");
        }
    }

    #[test]
    fn pages_of_events_have_a_rate_of_their_own() {
        let limits = Limits { merchant_rate: 0, event_rate: 5, ..Limits::default() };
        let rate_limiter = RateLimiter::new(&limits, Arc::default());
        let quota = rate_limiter.admit(HERE, &with("Basic right")).0;
        assert_eq!(passing(|| quota.page().is_ok()), 100, "nobody's");
        quota.prove(merchant()).unwrap();
        assert_eq!(passing(|| quota.page().is_ok()), 10);
        assert!(quota.page().unwrap_err().message.contains("at most 5 a second"));
        let other = rate_limiter.admit(HERE, &with("Basic other")).0;
        other.prove("0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c12".parse().unwrap()).unwrap();
        assert_eq!(passing(|| other.page().is_ok()), 10, "another merchant");
    }

    #[test]
    fn payment_sessions_are_bounded_for_each_merchant_and_client() {
        let limits = Limits { wallet_rate: 5, ..Limits::default() };
        let rate_limiter = RateLimiter::new(&limits, Arc::default());
        let here = rate_limiter.admit(HERE, &HeaderMap::new()).0;
        assert_eq!(passing(|| here.wallet(merchant()).is_ok()), 10);
        let other = "0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c12".parse().unwrap();
        assert_eq!(passing(|| here.wallet(other).is_ok()), 10, "another merchant");
        let there = rate_limiter.admit(Client::V6(2), &HeaderMap::new()).0;
        assert_eq!(passing(|| there.wallet(merchant()).is_ok()), 10, "another client");
    }

    #[test]
    fn credentials_lose_their_trust_when_they_prove_nothing() {
        let rate_limiter = rate_limiter(0, 5);
        let trust = || {
            let quota = rate_limiter.admit(Client::V6(7), &with("Basic right")).0;
            quota.prove(merchant()).unwrap();
        };
        trust();
        passing(|| rate_limiter.admit(HERE, &HeaderMap::new()).1.is_ok());
        // Revoked.
        let (quota, admitted) = rate_limiter.admit(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        quota.finish(StatusCode::UNAUTHORIZED);
        assert!(rate_limiter.admit(HERE, &with("Basic right")).1.is_err());
        // Sent to an operation that needs none.
        trust();
        let (quota, admitted) = rate_limiter.admit(HERE, &with("Basic right"));
        assert!(admitted.is_ok());
        quota.finish(StatusCode::OK);
        assert!(rate_limiter.admit(HERE, &with("Basic right")).1.is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let rate_limiter = rate_limiter(1, 1);
        (0..3 * MAX_TRUSTED_CREDENTIALS as u64).for_each(|credentials| rate_limiter.trusted.record(credentials));
        assert!(rate_limiter.trusted.proven_at.read().unwrap().len() <= MAX_TRUSTED_CREDENTIALS);
    }
}
