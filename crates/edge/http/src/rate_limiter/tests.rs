use actix_web::http::StatusCode;
use actix_web::http::header::HeaderValue;

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
    assert_eq!(passing(|| quota(0).count_public(merchant()).is_ok()), 4, "a hundredth of the rate, and a burst of it");
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
