use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use dropin_access::{Permission, Permissions};
use dropin_ports::{AccessStore, MerchantSettings};
use dropin_usecases::access::{AuthenticateError, Authenticator, MerchantCreated};

use super::harness::{HERE, Harness, Work};

/// Within which a change has to be in force.
const BOUND: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_new_merchant_is_let_in_with_what_was_shown_once() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    assert!(made.password.len() == 64 && made.password.bytes().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(made.webhook_secret, None);
    let caller = harness.once(&made.username, &made.password).await.unwrap();
    assert_eq!((&caller.username, caller.merchant.id), (&made.username, made.merchant_id));
    assert_eq!(caller.permissions, Permissions::all());
    let stored = harness.store.find_user(&made.username).await.unwrap().unwrap();
    assert!(!stored.password.0.windows(8).any(|part| made.password.as_bytes().starts_with(part)));
}

#[tokio::test]
async fn wrong_credentials_are_one_answer_and_one_amount_of_work() {
    let harness = Harness::new();
    let (made, gone, rotated) = (harness.create(None).await, harness.create(None).await, harness.create(None).await);
    harness.merchants.revoke_user(&gone.username).await.unwrap();
    harness
        .merchants
        .rotate_password(&rotated.username, Duration::from_secs(9))
        .await
        .map_err(|error| error.to_string())
        .unwrap();
    for (username, password) in [
        (made.username.as_str(), "wrong"),
        (made.username.as_str(), ""),
        (rotated.username.as_str(), "wrong"),
        (gone.username.as_str(), gone.password.as_str()),
        ("nobody", made.password.as_str()),
        ("", ""),
    ] {
        harness.work();
        assert_eq!(harness.once(username, password).await, Err(AuthenticateError::Invalid), "{username}");
        assert_eq!(harness.work(), Work { compared: 2, users: 1, merchants: 0 }, "{username}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_no_wrong_password() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    harness.store.close();
    let refused = harness.once(&made.username, &made.password).await;
    assert!(matches!(refused, Err(AuthenticateError::Store(_))), "{refused:?}");
}

#[tokio::test]
async fn the_password_of_before_counts_until_it_ends() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    let rotate = async |seconds| {
        let rotated = harness.merchants.rotate_password(&made.username, Duration::from_secs(seconds)).await;
        rotated.map_err(|error| error.to_string()).unwrap()
    };
    let lets_in = async |password: &str| harness.once(&made.username, password).await.is_ok();
    let second = rotate(3_600).await;
    assert!(lets_in(&made.password).await && lets_in(&second.password).await);
    harness.clock.advance(Duration::from_secs(3_599));
    assert!(lets_in(&made.password).await);
    harness.clock.advance(Duration::from_secs(1));
    assert!(!lets_in(&made.password).await && lets_in(&second.password).await);
    let third = rotate(0).await;
    assert_eq!(third.old_until, None);
    assert!(!lets_in(&second.password).await && lets_in(&third.password).await);
    let fourth = rotate(3_600).await;
    let fifth = rotate(3_600).await;
    assert!(!lets_in(&third.password).await, "only one of before counts");
    assert!(lets_in(&fourth.password).await && lets_in(&fifth.password).await);
}

#[tokio::test]
async fn a_busy_caller_costs_no_read() {
    let harness = Harness::new();
    let (made, gate) = (harness.create(None).await, harness.authenticator(true, 0));
    harness.work();
    let begun = Instant::now();
    let mut asked = 0;
    while begun.elapsed() < Duration::from_millis(700) {
        gate.authenticate(HERE, &made.username, &made.password).await.unwrap();
        asked += 1;
    }
    assert!(100 < asked);
    assert_eq!(harness.work(), Work { compared: 2, users: 1, merchants: 1 });
    // Its password is remembered together with its name, and not for another one.
    let stranger = gate.authenticate(HERE, "api-other", &made.password).await;
    assert_eq!(stranger, Err(AuthenticateError::Invalid));
    assert_eq!(harness.work(), Work { compared: 2, users: 1, merchants: 0 });
}

/// Calls all the time, and says for how long after `change` it was still met as before.
async fn lag(
    gate: &Authenticator,
    made: &MerchantCreated,
    change: impl AsyncFnOnce(),
    as_before: impl Fn(Result<&Permissions, &AuthenticateError>, Duration) -> bool,
) -> Duration {
    let call = async || gate.authenticate(HERE, &made.username, &made.password).await;
    call().await.unwrap();
    // The worst moment: right after the store was asked.
    change().await;
    let changed = Instant::now();
    loop {
        let found = call().await;
        let lifetime = found.as_ref().map(|caller| caller.merchant.session_lifetime).unwrap_or_default();
        if !as_before(found.as_ref().map(|caller| &caller.permissions), lifetime) {
            return changed.elapsed();
        }
        assert!(changed.elapsed() < Duration::from_secs(20), "it is never in force: {found:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_revoked_user_is_out_within_two_seconds() {
    let harness = Harness::new();
    let (made, gate) = (harness.create(None).await, harness.authenticator(true, 0));
    let revoke = async || harness.merchants.revoke_user(&made.username).await.unwrap();
    let lag = lag(&gate, &made, revoke, |found, _| found != Err(&AuthenticateError::Invalid)).await;
    assert!(lag < BOUND, "{lag:?}");
}

#[tokio::test]
async fn a_replaced_password_is_out_within_two_seconds() {
    let harness = Harness::new();
    let (made, gate) = (harness.create(None).await, harness.authenticator(true, 0));
    let rotate = async || drop(harness.merchants.rotate_password(&made.username, Duration::ZERO).await);
    let lag = lag(&gate, &made, rotate, |found, _| found != Err(&AuthenticateError::Invalid)).await;
    assert!(lag < BOUND, "{lag:?}");
}

#[tokio::test]
async fn permissions_and_settings_are_in_force_within_two_seconds() {
    let harness = Harness::new();
    let (made, gate) = (harness.create(None).await, harness.authenticator(true, 0));
    let one: Permissions = [Permission::OrderRead].into_iter().collect();
    let change = async || harness.merchants.set_permissions(&made.username, one).await.unwrap();
    let permissions = lag(&gate, &made, change, |found, _| found != Ok(&one)).await;
    assert!(permissions < BOUND, "{permissions:?}");
    let hour = Duration::from_secs(3_600);
    let set = MerchantSettings { session_lifetime: Some(hour), ..MerchantSettings::default() };
    let change = async || drop(harness.merchants.set(made.merchant_id, set).await.unwrap());
    let settings = lag(&gate, &made, change, |_, lifetime| lifetime != hour).await;
    assert!(settings < BOUND, "{settings:?}");
}

#[tokio::test]
async fn without_the_store_nobody_is_let_in_for_more_than_two_seconds() {
    let harness = Harness::new();
    let (made, gate) = (harness.create(None).await, harness.authenticator(true, 0));
    let here = |found: Result<&Permissions, &AuthenticateError>| !matches!(found, Err(AuthenticateError::Store(_)));
    let lag = lag(&gate, &made, async || harness.store.close(), |found, _| here(found)).await;
    assert!(lag < BOUND, "{lag:?}");
}

#[tokio::test]
async fn guessing_is_slowed_down_and_locks_nobody_out() {
    let harness = Harness::new();
    let (made, other, gate) = (harness.create(None).await, harness.create(None).await, harness.authenticator(true, 3));
    let guess = async |client, username: &str| gate.authenticate(client, username, "wrong").await.err();
    for _ in 0..3 {
        assert_eq!(guess(HERE, &made.username).await, Some(AuthenticateError::Invalid));
    }
    let throttled = |found| match found {
        Some(AuthenticateError::Throttled { retry_after }) => Some(retry_after),
        _ => None,
    };
    let wait = throttled(guess(HERE, &made.username).await).expect("the fourth within a minute");
    assert!(Duration::from_secs(10) < wait && wait <= Duration::from_secs(20), "{wait:?}");
    let elsewhere: IpAddr = "192.0.2.7".parse().unwrap();
    assert_eq!(guess(elsewhere, &made.username).await, Some(AuthenticateError::Invalid), "another client");
    assert_eq!(guess(HERE, &other.username).await, Some(AuthenticateError::Invalid), "another user");
    // The owner comes from the same address.
    let right = gate.authenticate(HERE, &made.username, &made.password).await;
    assert_eq!(right.map(|caller| caller.merchant.id), Ok(made.merchant_id));
    assert_eq!(guess(HERE, &made.username).await, Some(AuthenticateError::Invalid), "and all is forgiven");
}

#[tokio::test]
async fn an_unknown_user_is_throttled_like_a_known_one_and_a_flood_costs_few_reads() {
    let harness = Harness::new();
    let gate = harness.authenticator(true, 3);
    for number in 0..3_u128 {
        let client = IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) | number));
        let refused = gate.authenticate(client, "nobody", "wrong").await;
        assert_eq!(refused, Err(AuthenticateError::Invalid));
    }
    harness.work();
    let begun = Instant::now();
    for number in 100..1_100_u128 {
        let client = IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) | number));
        let refused = gate.authenticate(client, "nobody", "wrong").await;
        assert!(matches!(refused, Err(AuthenticateError::Throttled { .. })), "one network is one client: {refused:?}");
    }
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let work = harness.work();
    assert!(work.users <= seconds && work.merchants == 0, "{work:?} in {seconds} s");
}

#[tokio::test]
async fn an_account_of_the_other_mode_is_refused() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    let production = harness.authenticator(false, 3);
    for _ in 0..5 {
        let refused = production.authenticate(HERE, &made.username, &made.password).await;
        assert_eq!(refused, Err(AuthenticateError::OtherMode { sandbox: true }), "also from memory");
    }
    assert_eq!(production.authenticate(HERE, &made.username, "x").await, Err(AuthenticateError::Invalid));
}
