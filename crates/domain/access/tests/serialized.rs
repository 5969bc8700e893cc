//! The serialized forms of settings: restored through the same checks. Password hashes and sealed secrets have none.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_access::{
    DomainCheck, DomainState, EndpointSettings, MerchantIdentifier, Origin, Permission, Permissions, RateChange,
    RateForm, RateSettings, RegisteredDomain, TargetPolicy, WalletDomain,
};
use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_rates::Markup;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// That `value` is written as `json` and read back as itself.
#[track_caller]
fn is<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
}

/// That `json` is refused as a `T` for a reason that begins with `why`.
#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(json: &str, why: &str) {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(error.starts_with(why), "{json}: {error}");
}

#[test]
fn permissions_are_lists_of_codes() {
    is(&Permission::OrderRefund, r#""order:refund""#);
    let some: Permissions = [Permission::OrderRead, Permission::SessionWrite].into_iter().collect();
    is(&some, r#"["session:write","order:read"]"#);
    is(&Permissions::default(), "[]");
    is(&Permissions::all(), &serde_json::to_string(&Permission::ALL).unwrap());
    refused::<Permissions>(r#"["session:write","order:delete"]"#, "is no permission; there are session:write,");
    refused::<Permissions>(r#"["checkout","checkout"]"#, "has checkout twice");
    refused::<Permissions>("255", "invalid type");
}

#[test]
fn origins_come_back_in_their_one_spelling() {
    is(&Origin::parse("https://Shop.example:443/").unwrap(), r#""https://shop.example""#);
    assert_eq!(format!("{:<22}|", "https://shop.example".parse::<Origin>().unwrap()), "https://shop.example  |");
    for wrong in [r#""https://shop.example/cart""#, r#""*""#, r#""null""#] {
        refused::<Origin>(wrong, "must be an origin such as");
    }
}

#[test]
fn settings_of_an_endpoint() {
    is(&EndpointSettings::default(), r#"{"Events":null,"Retry":null}"#);
    let settings = EndpointSettings {
        events: Some("ORDER_*,SESSION_FAILED".parse().unwrap()),
        retry: Some("5s,1m;1h".parse().unwrap()),
    };
    let written = r#"{"Events":"ORDER_*,SESSION_FAILED","Retry":"5s,1m;1h"}"#;
    is(&settings, written);
    refused::<EndpointSettings>(&written.replace("ORDER_*", "order_*"), "an event filter is made of");
    refused::<EndpointSettings>(&written.replace(";1h", ";1m"), "the schedule gives up before");
    refused::<EndpointSettings>(&written.replace("Retry", "Secret"), "unknown field `Secret`");
}

#[test]
fn rates_that_a_merchant_is_given_and_what_of_them_is_set() {
    is(&RateForm::Guaranteed, r#""GUARANTEED""#);
    let markup = |points| Markup::from_basis_points(points).unwrap();
    let change = RateChange {
        form: Some(RateForm::Guaranteed),
        settlement: Some(Currency::Usd),
        markups: [(Currency::Brl, markup(250)), (Currency::Jpy, Markup::NONE)].into(),
    };
    let written = serde_json::to_string(&change).unwrap();
    assert!(written.starts_with(r#"{"Form":"GUARANTEED","Settlement":"USD","Markups":{"#), "{written}");
    is(&change, &written);
    // What is left out is not set.
    assert_eq!(serde_json::from_str::<RateChange>("{}").unwrap(), RateChange::default());
    refused::<RateChange>(r#"{"Markups":{"BRL":2001}}"#, "a markup is 0 to 2000 basis points");
    refused::<RateChange>(r#"{"Markups":{"BRL":250,"BRL":0}}"#, "has BRL twice");
    refused::<RateChange>(r#"{"Markups":{"BRL":2.5}}"#, "invalid type");
    refused::<RateChange>(r#"{"Form":"spot"}"#, "is no form of rates; there are SPOT, GUARANTEED");
    refused::<RateChange>(r#"{"Currency":"USD"}"#, "unknown field `Currency`");

    let settings = RateSettings::default().changed(&change);
    is(&settings, r#"{"Form":"GUARANTEED","Pricing":{"Settlement":"USD","Markups":{"BRL":250}}}"#);
    refused::<RateSettings>(r#"{"Form":"SPOT"}"#, "missing field `Pricing`");
}

#[test]
fn where_webhooks_may_go() {
    let networks = |text: &str| vec![text.parse().unwrap()];
    is(&TargetPolicy::sandbox(), r#"{"Sandbox":true,"Ports":[],"Allowed":[],"Denied":[]}"#);
    let policy = TargetPolicy::production().with(networks("10.20.0.0/16")).without(networks("10.20.0.9"));
    let written = r#"{"Sandbox":false,"Ports":[443,8443],"Allowed":["10.20.0.0/16"],"Denied":["10.20.0.9/32"]}"#;
    is(&policy, written);
    refused::<TargetPolicy>(&written.replace("/16", "/33"), "must be an address such as");
    refused::<TargetPolicy>(&written.replace("8443", "65536"), "invalid value");
    // A policy of which a part was lost would forbid less than it did.
    refused::<TargetPolicy>(&written.replace(r#","Denied":["10.20.0.9/32"]"#, ""), "missing field `Denied`");
}

#[test]
fn what_a_wallet_needs() {
    is(&DomainState::Verified, r#""VERIFIED""#);
    is(&MerchantIdentifier::parse("merchant.com.example.shop").unwrap(), r#""merchant.com.example.shop""#);
    refused::<MerchantIdentifier>(r#""merchant example""#, "must be the wallet's identifier of the merchant");
    is(&WalletDomain::parse("Shop.example", false).unwrap(), r#""shop.example""#);
    is(&WalletDomain::parse("localhost:8081", true).unwrap(), r#""localhost:8081""#);
    for wrong in [r#""Shop.example""#, r#""shop.example/cart""#, r#""shop""#] {
        refused::<WalletDomain>(wrong, "must be a domain such as");
    }
}

#[test]
fn a_registered_domain_keeps_its_file() {
    let registered = RegisteredDomain {
        merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
        domain: WalletDomain::parse("shop.example", false).unwrap(),
        file: "7B2274".to_owned(),
        check: Some(DomainCheck { at: Timestamp::from_micros(0), failure: Some("no answer".to_owned()) }),
        registered_at: Timestamp::from_micros(0),
    };
    let written = concat!(
        r#"{"MerchantId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112","Domain":"shop.example","File":"7B2274","#,
        r#""Check":{"At":"1970-01-01T00:00:00.000000Z","Failure":"no answer"},"RegisteredAt":"1970-01-01T00:00:00.000000Z"}"#
    );
    is(&registered, written);
    refused::<RegisteredDomain>(&written.replace("7B2274", " "), "must be the text file that the wallet");
    refused::<RegisteredDomain>(&written.replace("shop.example", "shop"), "must be a domain such as");
    refused::<RegisteredDomain>(&written.replace("Failure", "Why"), "unknown field `Why`");
}
