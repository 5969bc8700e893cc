//! Serialized money is exact text, restored through the checks of FromStr.
#![cfg(feature = "serde")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use dropin_money::{Amount, Currency, Decimal, IsoCurrency, Rounding};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn refusal<T: DeserializeOwned + Debug>(json: &str) -> String {
    serde_json::from_str::<T>(json).expect_err(json).to_string()
}

fn round_trip<T: Serialize + DeserializeOwned + Debug + PartialEq>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).expect("text"), json);
    assert_eq!(&serde_json::from_str::<T>(json).expect(json), value);
    let tree = serde_json::to_value(value).expect("text");
    assert_eq!(&serde_json::from_value::<T>(tree).expect(json), value);
}

#[test]
fn each_type_is_its_text() {
    for (text, json) in
        [("29.9 EUR", r#""29.90 EUR""#), ("999999999999.999 KWD", r#""999999999999.999 KWD""#), ("0 JPY", r#""0 JPY""#)]
    {
        round_trip(&text.parse::<Amount>().expect(text), json);
    }
    round_trip(&Decimal::parse("0.10").expect("a number"), r#""0.10""#);
    round_trip(&Currency::Usd, r#""USD""#);
    round_trip(&Rounding::HalfEven, r#""HALF_EVEN""#);
    round_trip(&"JOD".parse::<IsoCurrency>().expect("a code"), r#""JOD""#);
    round_trip(
        &BTreeMap::from([(Currency::Eur, vec!["1 EUR".parse::<Amount>().expect("an amount")])]),
        r#"{"EUR":["1.00 EUR"]}"#,
    );
}

#[test]
fn a_number_is_refused_since_it_may_have_been_a_float() {
    for json in ["29.90", "0", "1e2", "true", "null", "[\"29.90 EUR\"]"] {
        assert!(refusal::<Amount>(json).contains(r#"expected an amount as text, such as "29.90 EUR""#), "{json}");
        assert!(refusal::<Decimal>(json).contains(r#"expected a number as text, such as "29.90""#), "{json}");
        assert!(refusal::<Currency>(json).contains("expected a currency's code"), "{json}");
    }
}

#[test]
fn what_no_constructor_makes_is_not_restored() {
    for (json, why) in [
        (r#""29.901 EUR""#, "EUR has 2 decimals at most"),
        (r#""-1.00 EUR""#, "must not be negative"),
        (r#""1000000000000 JPY""#, "must have at most 12 digits before the decimal point"),
        (r#""29.90 NGN""#, "the currency is not one of the 60 currencies of Dropin, such as USD"),
        (r#""29.90""#, "must be a number, one space and a currency code, such as 29.90 EUR"),
    ] {
        assert!(refusal::<Amount>(json).starts_with(why), "{json}: {}", refusal::<Amount>(json));
    }
    assert!(refusal::<Decimal>(r#""1e1000000000""#).starts_with("is outside the range of numbers that are accepted"));
    assert!(refusal::<Currency>(r#""eur""#).starts_with("is not one of the 60 currencies of Dropin"));
    assert!(refusal::<IsoCurrency>(r#""XXX""#).starts_with("is not a currency of ISO 4217"));
}
