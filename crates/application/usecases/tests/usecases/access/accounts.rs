use std::time::Duration;

use dropin_access::{Origin, Permission, Permissions, TargetPolicy, TargetRefused};
use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_ports::{AccessStore, AuditLog, AuditQuery, MerchantSettings};
use dropin_usecases::access::{AccountError, CreateMerchant, MerchantAccount, Merchants};
use uuid::Uuid;

use super::harness::{Harness, fields, wanted};

fn nobody() -> MerchantId {
    MerchantId::new(Uuid::from_u128(u128::MAX))
}

#[tokio::test]
async fn a_user_name_that_is_taken_is_drawn_again() {
    // A merchant's first user name is its third number; the second merchant draws the same one first.
    let harness = Harness::with_same_names(7);
    let (first, second) = (harness.create(None).await, harness.create(None).await);
    assert_ne!(first.username, second.username);
    assert_eq!(harness.store.list_merchants().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_merchant_is_of_its_deployments_kind_and_has_the_standard_settings() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    let account = MerchantAccount::load(&harness.store, made.merchant_id).await.unwrap();
    assert!(account.merchant.sandbox && !account.merchant.screening.on);
    assert_eq!(account.merchant.session_lifetime.as_secs(), 24 * 3_600);
    assert_eq!(account.users[0].permissions, Permissions::all());
    let production = Merchants { targets: TargetPolicy::production(), ..harness.merchants.clone() };
    let made = production.create(wanted()).await.map_err(|error| error.to_string()).unwrap();
    let merchant = harness.merchant(made.merchant_id).await;
    assert!(!merchant.sandbox && merchant.screening.on, "where money moves, payments are screened");
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_new_merchant_is_said_at_once() {
    let harness = Harness::new();
    let create = async |sandbox, wanted| {
        let targets = if sandbox { TargetPolicy::sandbox() } else { TargetPolicy::production() };
        Merchants { targets, ..harness.merchants.clone() }.create(wanted).await
    };
    let webhook = |url: &str| CreateMerchant { webhook_url: Some(url.to_owned()), ..wanted() };
    let all = CreateMerchant { name: " \t ".to_owned(), currencies: vec![], ..webhook("ftp://x") };
    assert_eq!(fields(create(true, all).await), ["Currencies", "Name", "WebhookUrl"]);
    for name in ["a\nb".to_owned(), "é".repeat(256)] {
        assert_eq!(fields(create(true, CreateMerchant { name, ..wanted() }).await), ["Name"]);
    }
    for url in [
        "http://shop.example/hook",
        "http://127.0.0.1/hook",
        "https://10.0.0.1/",
        "https://0x7f.1/",
        "https://[64:ff9b::a00:1]/",
        "https://localhost/hook",
        "https://shop.example:22/",
    ] {
        assert_eq!(fields(create(false, webhook(url)).await), ["WebhookUrl"], "{url} in production");
        assert!(create(true, webhook(url)).await.is_ok(), "{url} in a sandbox");
    }
    for url in ["http://shop.example/", "http://localhost/"] {
        let Err(AccountError::Invalid(wrong)) = create(false, webhook(url)).await else { panic!("{url}") };
        let expected = TargetRefused::NotHttps.advice(&TargetPolicy::production());
        assert_eq!(wrong.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), [expected], "{url}");
    }
    let origins = (0..51).map(|port| Origin::parse(&format!("http://localhost:{}", 1 + port)).unwrap()).collect();
    assert_eq!(fields(create(true, CreateMerchant { origins, ..wanted() }).await), ["Origins"]);
    let plain = || CreateMerchant { origins: vec![Origin::parse("http://shop.example").unwrap()], ..wanted() };
    assert_eq!(fields(create(false, plain()).await), ["Origins"], "http in production");
    assert!(create(true, plain()).await.is_ok(), "http in a sandbox");
}

#[tokio::test]
async fn what_is_given_twice_counts_once() {
    let harness = Harness::new();
    let shop = Origin::parse("https://shop.example").unwrap();
    let twice = CreateMerchant {
        currencies: vec![Currency::Usd, Currency::Eur, Currency::Usd],
        origins: vec![shop.clone(), shop.clone()],
        name: "  Ana  ".to_owned(),
        ..wanted()
    };
    let made = harness.merchants.create(twice).await.map_err(|error| error.to_string()).unwrap();
    let merchant = harness.merchant(made.merchant_id).await;
    assert_eq!(merchant.currencies, [Currency::Usd, Currency::Eur]);
    assert_eq!((&merchant.origins, merchant.name.as_str()), (&vec![shop], "Ana"));
}

#[tokio::test]
async fn a_merchants_settings_change_and_nothing_else_does() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    let before = harness.merchant(made.merchant_id).await;
    let hour = Duration::from_secs(3_600);
    let set = MerchantSettings { session_lifetime: Some(hour), origins: Some(vec![]), ..MerchantSettings::default() };
    let after = harness.merchants.set(made.merchant_id, set).await.unwrap();
    assert_eq!((after.session_lifetime, after.origins.len()), (hour, 0));
    assert_eq!((&after.name, &after.currencies, after.sandbox), (&before.name, &before.currencies, before.sandbox));
    for seconds in [0, 59, 30 * 86_400 + 1] {
        let set =
            MerchantSettings { session_lifetime: Some(Duration::from_secs(seconds)), ..MerchantSettings::default() };
        assert_eq!(fields(harness.merchants.set(made.merchant_id, set).await), ["SessionLifetime"], "{seconds}");
    }
    let empty = MerchantSettings { name: Some(String::new()), currencies: Some(vec![]), ..MerchantSettings::default() };
    assert_eq!(fields(harness.merchants.set(made.merchant_id, empty).await), ["Currencies", "Name"]);
    assert_eq!(harness.merchants.set(nobody(), MerchantSettings::default()).await, Err(AccountError::NoMerchant));
}

#[tokio::test]
async fn users_come_and_go() {
    let harness = Harness::new();
    let made = harness.create(None).await;
    let some: Permissions = [Permission::SessionRead, Permission::OrderRead].into_iter().collect();
    let added = harness.merchants.add_user(made.merchant_id, some).await.map_err(|error| error.to_string()).unwrap();
    let caller = harness.once(&added.username, &added.password).await.unwrap();
    assert_eq!((caller.permissions, caller.merchant.id), (some, made.merchant_id));
    assert!(caller.require(Permission::SessionRead).is_ok() && caller.require(Permission::SessionWrite).is_err());
    let one: Permissions = [Permission::Checkout].into_iter().collect();
    harness.merchants.set_permissions(&added.username, one).await.unwrap();
    assert_eq!(harness.once(&added.username, &added.password).await.unwrap().permissions, one);
    harness.merchants.revoke_user(&added.username).await.unwrap();
    assert!(harness.once(&added.username, &added.password).await.is_err());
    assert!(harness.once(&made.username, &made.password).await.is_ok(), "the other one stays");
    let users = harness.merchants.users(made.merchant_id).await.unwrap();
    let shown: Vec<_> = users.iter().map(|user| (user.username.as_str(), user.revoked_at.is_some())).collect();
    assert_eq!(shown, [(made.username.as_str(), false), (added.username.as_str(), true)]);
    let merchants = &harness.merchants;
    assert_eq!(merchants.revoke_user(&added.username).await, Err(AccountError::Revoked));
    assert_eq!(merchants.set_permissions(&added.username, one).await, Err(AccountError::Revoked));
    let rotated = merchants.rotate_password(&added.username, Duration::ZERO).await;
    assert_eq!(rotated.err(), Some(AccountError::Revoked));
}

#[tokio::test]
async fn a_user_needs_a_merchant_a_permission_and_a_name_that_exists() {
    let harness = Harness::new();
    let (made, merchants) = (harness.create(None).await, &harness.merchants);
    assert_eq!(fields(merchants.add_user(made.merchant_id, Permissions::default()).await), ["Permissions"]);
    assert_eq!(fields(merchants.set_permissions(&made.username, Permissions::default()).await), ["Permissions"]);
    assert_eq!(merchants.add_user(nobody(), Permissions::all()).await.err(), Some(AccountError::NoMerchant));
    assert_eq!(merchants.users(nobody()).await, Err(AccountError::NoMerchant));
    assert_eq!(merchants.revoke_user("nobody").await, Err(AccountError::NoUser));
    let months = Duration::from_secs(31 * 86_400);
    assert_eq!(fields(merchants.rotate_password(&made.username, months).await), ["Overlap"]);
}

/// Each event has a password of its own, which outlives the run before it for a while; a user that was revoked is not used again.
#[tokio::test]
async fn events_of_a_sandbox_are_asked_for_by_a_user_of_their_own() {
    let harness = Harness::new();
    let (made, merchants, log) = (harness.create(None).await, &harness.merchants, &harness.store);
    let some: Permissions = [Permission::SessionWrite].into_iter().collect();
    let ask = async || merchants.trigger_user(made.merchant_id, "ORDER_PROCESSED", some, log).await;
    let first = ask().await.map_err(|error| error.to_string()).unwrap();
    assert!(first.username.starts_with("trigger-"), "{}", first.username);
    assert_eq!(harness.once(&first.username, &first.password).await.unwrap().permissions, some);
    let second = ask().await.map_err(|error| error.to_string()).unwrap();
    assert!(second.username == first.username && second.password != first.password);
    for password in [&first.password, &second.password] {
        assert!(harness.once(&first.username, password).await.is_ok(), "another run goes on by the one of before");
    }
    harness.clock.advance(Duration::from_secs(301));
    assert!(harness.once(&first.username, &first.password).await.is_err());
    let none: Permissions = [Permission::OrderRead].into_iter().collect();
    merchants.set_permissions(&first.username, none).await.unwrap();
    let again = ask().await.map_err(|error| error.to_string()).unwrap();
    assert_eq!(harness.once(&again.username, &again.password).await.unwrap().permissions, some, "it lacked one");
    merchants.revoke_user(&first.username).await.unwrap();
    let third = ask().await.map_err(|error| error.to_string()).unwrap();
    assert_ne!(third.username, first.username);
    let query = AuditQuery { action: Some("EVENT_TRIGGER".to_owned()), limit: 10, ..AuditQuery::default() };
    let entries = log.search_audit_log(query).await.unwrap().entries;
    assert_eq!(entries.len(), 4);
}

#[tokio::test]
async fn no_event_is_made_to_happen_where_payments_are_real() {
    let harness = Harness::new();
    let sandbox = harness.create(None).await.merchant_id;
    let production = Merchants { targets: TargetPolicy::production(), ..harness.merchants.clone() };
    let live = production.create(wanted()).await.map_err(|error| error.to_string()).unwrap().merchant_id;
    for (merchants, merchant) in [(&harness.merchants, live), (&production, sandbox), (&production, live)] {
        let refused = merchants.trigger_user(merchant, "ORDER_PROCESSED", Permissions::all(), &harness.store).await;
        assert_eq!(refused.err(), Some(AccountError::NotSandbox));
        assert_eq!(merchants.users(merchant).await.unwrap().len(), 1, "none was added");
    }
}
