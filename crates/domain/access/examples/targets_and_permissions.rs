//! What a deployment asks before it acts for a merchant: may this webhook address be called, may this API user do that, may this page embed the drop-in.
//!
//! `cargo run -p dropin-access --example targets_and_permissions`

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use dropin_access::address::Network;
use dropin_access::{
    ApiUser, Endpoint, Origin, PasswordHash, Permission, Permissions, Retiring, SealedSecret, TargetPolicy,
};
use dropin_kernel::{ApiUserId, EndpointId, MerchantId, Timestamp, UnknownCode, uuid::Uuid};

const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(1));

/// Registers a webhook address in its canonical spelling, or says what it must be instead.
fn register(policy: &TargetPolicy, address: &str) -> Result<Endpoint, String> {
    let url = policy.check(address).map_err(|refused| refused.advice(policy))?;
    let (id, sealed) = (EndpointId::new(Uuid::from_u128(2)), SealedSecret(vec![0; 60]));
    Ok(Endpoint::new(id, MERCHANT, url.into(), sealed))
}

/// The addresses behind a name that may be called. They are asked for at each delivery: a name can lead elsewhere by then.
fn callable(policy: &TargetPolicy, resolved: &[&str]) -> Result<Vec<IpAddr>, Box<dyn Error>> {
    let all: Vec<IpAddr> = resolved.iter().map(|address| address.parse()).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|address| policy.admit(*address).is_ok()).collect())
}

/// The status of a request by `user`, who showed a password with `hash`.
fn authorize(user: &ApiUser, hash: &PasswordHash, wanted: Permission, now: Timestamp) -> u16 {
    // A real program compares in constant time.
    let previous = user.previous.as_ref().and_then(|retiring| retiring.at(now));
    let is_known = *hash == user.password || previous == Some(hash);
    match is_known && user.revoked_at.is_none() {
        false => 401,
        true if user.permissions.contains(wanted) => 200,
        true => 403,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // An operator who calls receivers in one private network, and never the addresses of the deployment itself.
    let inside: Network = "10.20.0.0/16".parse()?;
    let own: Network = "10.20.0.0/24".parse()?;
    let policy = TargetPolicy::production().with(vec![inside]).without(vec![own]);
    for (address, expected) in [
        ("https://Shop.Example:443/webhook", Ok("https://shop.example/webhook")),
        ("https://10.20.7.1:8443/hook", Ok("https://10.20.7.1:8443/hook")),
        ("https://10.20.0.9/hook", Err("must not lead to an address that the operator has ruled out")),
        ("http://shop.example/webhook", Err("must begin with https:// in production")),
        ("https://shop.example:22/", Err("must use port 443 or 8443")),
        ("https://ana:pw@shop.example/", Err("must not carry a user name or password")),
        ("https://169.254.169.254/latest/meta-data", Err("must not lead into a private, local or reserved network")),
        ("https://2130706433/", Err("must not lead into a private, local or reserved network")),
    ] {
        let registered = register(&policy, address);
        let answer = registered.as_ref().map(|endpoint| endpoint.url.as_str()).map_err(String::as_str);
        println!("{address}: {answer:?}");
        assert_eq!(answer, expected);
    }
    // A name that was harmless when it was registered now leads to cloud metadata and to the machine itself.
    let addresses = callable(&policy, &["8.8.8.8", "169.254.169.254", "::ffff:127.0.0.1", "10.20.7.1", "10.20.0.9"])?;
    assert_eq!(addresses, callable(&policy, &["8.8.8.8", "10.20.7.1"])?);

    // A user of the shop's server, who reads and refunds, and whose password was changed an hour ago.
    let now: Timestamp = "2026-11-23T10:00:00.000000Z".parse()?;
    let permissions: Result<Permissions, UnknownCode> = "order:read,order:refund".split(',').map(str::parse).collect();
    let (old, new) = (PasswordHash(vec![1; 32]), PasswordHash(vec![2; 32]));
    let id = ApiUserId::new(Uuid::from_u128(3));
    let mut user = ApiUser::new(id, MERCHANT, "shop-7f3a".to_owned(), new.clone(), permissions?);
    user.previous = Some(Retiring { credential: old.clone(), until: now.plus(Duration::from_secs(3_600)) });
    let later = now.plus(Duration::from_secs(7_200));
    assert_eq!(authorize(&user, &new, Permission::OrderRefund, now), 200);
    assert_eq!(authorize(&user, &new, Permission::OrderCapture, now), 403);
    assert_eq!(
        (authorize(&user, &old, Permission::OrderRead, now), authorize(&user, &old, Permission::OrderRead, later)),
        (200, 401)
    );
    user.revoked_at = Some(later);
    assert_eq!(authorize(&user, &new, Permission::OrderRead, later), 401);
    assert!("order:delete".parse::<Permission>().is_err(), "no permission is guessed");
    println!("{user:?}"); // No log line shows a hash.
    assert!(format!("{user:?}").contains("PasswordHash(..)"));

    // Pages that may embed the drop-in, as browsers spell their origin.
    let registered = ["https://Shop.example/", "http://localhost:8081"].map(Origin::parse);
    let registered = registered.into_iter().collect::<Result<Vec<_>, _>>()?;
    let may_embed = |sent: &str| Origin::parse(sent).is_ok_and(|origin| registered.contains(&origin));
    assert!(may_embed("https://shop.example") && may_embed("http://localhost:8081"));
    assert!(!may_embed("http://shop.example") && !may_embed("https://shop.example.evil.example") && !may_embed("null"));
    Ok(())
}
