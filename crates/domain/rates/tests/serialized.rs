//! The serialized forms: exact texts, restored by the same checks, and never through a float.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_rates::{
    Dated, ExchangeRate, Markup, Merged, Offer, OfferPolicy, OfferSetId, Pricing, Quote, QuoteRefusal, Rate,
    RateSourceLimits, RefusedQuote, Source, SourceTable, Table,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use time::macros::date;

/// That `value` is written as `json` and read back as itself.
#[track_caller]
fn is<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
}

/// Why `json` is refused as a `T`.
#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
    serde_json::from_str::<T>(json).unwrap_err().to_string()
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

#[test]
fn rates_are_exact_texts() {
    is(&rate("1.1172"), r#""1.1172""#);
    is(&rate("0.000000010203040506"), r#""0.000000010203040506""#);
    is(&rate("999999999.999999"), r#""999999999.999999""#);
    assert_eq!(serde_json::from_str::<Rate>(r#""7.53450""#).unwrap(), rate("7.5345"));
    for json in ["1.1172", "1", "null", r#""1,1172""#, r#""1e3""#, r#""0""#, r#""-1""#, r#""""#, r#"["1"]"#] {
        refused::<Rate>(json);
    }
    assert!(refused::<Rate>(r#""0""#).starts_with("must be greater than zero"));
}

#[test]
fn a_pair_stays_with_its_rate() {
    let euro: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    is(&euro, r#""EUR/USD 1.1172""#);
    for json in [r#""1.1172""#, r#""EUR/XXX 1.1172""#, r#""EUR/EUR 1.1172""#, r#""EUR/USD 0""#, "1.1172"] {
        refused::<ExchangeRate>(json);
    }
    assert!(refused::<ExchangeRate>(r#""EUR/EUR 2""#).starts_with("must be exactly 1 between a currency and itself"));
}

#[test]
fn quotes_and_tables() {
    is(&Source::Primary, r#""primary""#);
    is(&QuoteRefusal::Jump, r#""jump""#);
    is(&Dated::Always, r#""always""#);
    let friday = Dated::On(date!(2026 - 11 - 20));
    is(&friday, r#""2026-11-20""#);
    let quote = Quote { rate: rate("1.1172"), dated: friday, source: Source::Primary };
    let written = r#"{"Rate":"1.1172","Dated":"2026-11-20","Source":"primary"}"#;
    is(&quote, written);
    is(&Table::from_iter([(Currency::Usd, quote)]), &format!(r#"{{"USD":{written}}}"#));
    is(&Table::default(), "{}");
    refused::<Source>(r#""PRIMARY""#);
    refused::<Dated>(r#""2026-02-30""#);
    refused::<Quote>(r#"{"Rate":1.1172,"Dated":"2026-11-20","Source":"primary"}"#);
    refused::<Quote>(r#"{"Rate":"1.1172","Dated":"2026-11-20","Source":"primary","Multiplier":"100"}"#);
    refused::<Quote>(r#"{"Rate":"1.1172","Dated":"2026-11-20"}"#);
    refused::<Table>(&format!(r#"{{"XXX":{written}}}"#));
    assert!(refused::<Table>(&format!(r#"{{"EUR":{written}}}"#)).starts_with("quotes the euro"));
    assert!(refused::<Table>(&format!(r#"{{"USD":{written},"USD":{written}}}"#)).starts_with("has USD twice"));
}

#[test]
fn what_a_source_said_and_what_was_refused() {
    let friday = Dated::On(date!(2026 - 11 - 20));
    let said = SourceTable { source: Source::Primary, dated: friday, rates: [(Currency::Usd, rate("1.1172"))].into() };
    is(&said, r#"{"Source":"primary","Dated":"2026-11-20","Rates":{"USD":"1.1172"}}"#);
    refused::<SourceTable>(r#"{"Source":"primary","Dated":"2026-11-20","Rates":{"USD":1.1172}}"#);
    refused::<SourceTable>(r#"{"Source":"primary","Dated":"2026-11-20","Rates":{"USD":"1","USD":"2"}}"#);
    let offered = Quote { rate: rate("11.172"), dated: friday, source: Source::Primary };
    let quote = RefusedQuote { currency: Currency::Usd, why: QuoteRefusal::Jump, former: None, offered };
    let written = concat!(
        r#"{"Currency":"USD","Why":"jump","Former":null,"#,
        r#""Offered":{"Rate":"11.172","Dated":"2026-11-20","Source":"primary"}}"#
    );
    is(&quote, written);
    refused::<RefusedQuote>(&written.replace("USD", "XXX"));
    let merged = Merged { table: Table::default(), refused: vec![quote] };
    is(&merged, &format!(r#"{{"Table":{{}},"Refused":[{written}]}}"#));
}

#[test]
fn pricing_with_bounded_markups() {
    let markup = Markup::from_basis_points(250).unwrap();
    is(&markup, "250");
    let pricing = Pricing { settlement: Currency::Gbp, markups: [(Currency::Usd, markup)].into() };
    is(&pricing, r#"{"Settlement":"GBP","Markups":{"USD":250}}"#);
    assert!(refused::<Markup>("2001").starts_with("a markup is 0 to 2000 basis points"));
    for json in ["2.5", "-1", r#""250""#] {
        refused::<Markup>(json);
    }
    refused::<Pricing>(r#"{"Settlement":"gbp","Markups":{}}"#);
    refused::<Pricing>(r#"{"Settlement":"GBP","Markups":{"USD":2001}}"#);
}

#[test]
fn an_offer_keeps_its_exact_rate() {
    let offer = Offer {
        id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
        merchant_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113".parse().unwrap(),
        rate: "EUR/USD 1.1172".parse().unwrap(),
        created_at: Timestamp::from_micros(0),
        expires_at: Timestamp::from_micros(86_400_000_001),
    };
    let written = concat!(
        r#"{"Id":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112","MerchantId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113","#,
        r#""Rate":"EUR/USD 1.1172","CreatedAt":"1970-01-01T00:00:00.000000Z","ExpiresAt":"1970-01-02T00:00:00.000001Z"}"#
    );
    is(&offer, written);
    for (part, broken) in [
        ("EUR/USD 1.1172", "1.1172"),
        ("EUR/USD 1.1172", "EUR/USD -1"),
        ("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113", "6f1c3b2a"),
        ("1970-01-02T00:00:00.000001Z", "1970-01-02"),
        ("\"CreatedAt\"", "\"Currency\":\"USD\",\"CreatedAt\""),
        ("\"CreatedAt\"", "\"MadeAt\""),
    ] {
        assert!(written.contains(part));
        refused::<Offer>(&written.replace(part, broken));
    }
}

#[test]
fn sets_of_offers_are_numbered_from_one() {
    let set = OfferSetId { number: 7, created_at: Timestamp::from_micros(0) };
    let written = r#"{"Number":7,"CreatedAt":"1970-01-01T00:00:00.000000Z"}"#;
    is(&set, written);
    assert!(refused::<OfferSetId>(&written.replace('7', "0")).starts_with("must be 1 or more"));
    for broken in ["-1", "1.0", "\"7\"", "9223372036854775808"] {
        refused::<OfferSetId>(&written.replacen('7', broken, 1));
    }
}

#[test]
fn policies_and_limits_come_back_through_their_checks() {
    is(&OfferPolicy::default(), r#"{"Life":"1d","Period":"6h"}"#);
    // What a span cannot write is left out when the policy is made.
    let fine = OfferPolicy::new(Duration::from_micros(7_200_000_999), Duration::from_millis(90_001)).unwrap();
    is(&fine, r#"{"Life":"2h","Period":"90001ms"}"#);
    assert!(refused::<OfferPolicy>(r#"{"Life":"30m","Period":"5m"}"#).starts_with("an offer lives between"));
    assert!(refused::<OfferPolicy>(r#"{"Life":"6h","Period":"1d"}"#).starts_with("a new set of offers is made"));
    assert!(refused::<OfferPolicy>(r#"{"Life":"1.5h","Period":"1h"}"#).starts_with("must be a span of time"));
    for json in [r#"{"Life":86400,"Period":"6h"}"#, r#"{"Life":"1d"}"#, r#"{"Life":"1d","Period":"6h","Jitter":"1s"}"#]
    {
        refused::<OfferPolicy>(json);
    }

    let limits = RateSourceLimits::new(3, 6, 25).unwrap().with_confirmed([Currency::Try, Currency::Ars]);
    let written = r#"{"StaleAfter":3,"SupplementStaleAfter":6,"JumpPercent":25,"Confirmed":["TRY","ARS"]}"#;
    is(&limits, written);
    is(&RateSourceLimits::default(), r#"{"StaleAfter":2,"SupplementStaleAfter":5,"JumpPercent":20,"Confirmed":[]}"#);
    for (part, broken, why) in [
        (":3", ":0", "rates are stale after"),
        (":6", ":31", "rates are stale after"),
        (":25", ":901", "a rate may jump by"),
        ("ARS", "TRY", "has TRY twice"),
        ("ARS", "XXX", ""),
        (":25", ":25.5", ""),
        (",\"JumpPercent\":25", "", "missing field"),
    ] {
        let error = refused::<RateSourceLimits>(&written.replace(part, broken));
        assert!(error.starts_with(why), "{broken}: {error}");
    }
}
