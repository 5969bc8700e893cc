//! How many requests a merchant and a client address may send in a second.
//!
//! A request that proves a merchant counts against that merchant alone. Everything else counts against the client address: the shopper's calls, wrong
//! credentials, unknown addresses. It is counted before anything is looked up, so that a flood of guesses costs no database reads;
//! credentials that proved a merchant lately, to whichever worker, are let through to be counted afterwards, so that no client locks a merchant
//! out by sending from its address. A server that has not seen them yet cannot tell them from a guess: while their address is flooded they
//! may have to be sent again until one is looked at.

mod quota;
mod trusted;

use std::hash::Hash;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix_web::http::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
use dropin_kernel::{MerchantId, SessionId};
use dropin_wire::ErrorCode;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

pub(crate) use self::quota::RequestQuota;
use self::trusted::{TRUST_DURATION, TrustedCredentials};
use crate::ApiError;
use crate::body_budget::BodyBudget;
use crate::client::Client;
use crate::limits::Limits;
use crate::metrics::{Counters, Metrics};

/// How often idle keys are dropped.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);
/// What a single client may send of the requests that name a merchant: this part of the merchant's rate.
const CLIENT_SHARE: u32 = 100;
/// Requests that name one Session: so many at once, then one a second.
const SESSION_BURST: u32 = 10;

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
        (RequestQuota::counted(self, client, credentials, !is_trusted), admitted)
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

#[cfg(test)]
mod tests;
