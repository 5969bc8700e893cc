//! Serialized forms are restored through the checks that made the values.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Debug;

use dropin_kernel::BillingProfileId;
use dropin_kernel::uuid::Uuid;
use dropin_money::{Currency, Decimal};
use dropin_validation::identity::{Cpf, NationalIdentifier};
use dropin_validation::{
    Address, AddressInput, BillingDetails, BillingInput, BillingProfile, BirthDate, Country, Discount, DiscountInput,
    Email, Item, ItemInput, Phone, Postcode, Region, ShippingDetails, ShippingInput, Subdivision, Text, UrlPolicy,
    WebUrl,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use time::macros::date;

/// The JSON of `value`, which is read back as the same value.
fn json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value);
    json
}

fn refused<T: DeserializeOwned + Debug>(json: &str) -> String {
    serde_json::from_str::<T>(json).unwrap_err().to_string()
}

fn address() -> AddressInput {
    AddressInput {
        street: "Rua 1".to_owned(),
        city: "São Paulo".to_owned(),
        country: "BR".to_owned(),
        postcode: Some("01310-100".to_owned()),
        ..AddressInput::default()
    }
}

#[test]
fn small_values_are_their_texts() {
    assert_eq!(json(&"Blue mug".parse::<Text>().unwrap()), "\"Blue mug\"");
    assert_eq!(json(&"ana@shop.example".parse::<Email>().unwrap()), "\"ana@shop.example\"");
    assert_eq!(json(&"030/901820".parse::<Phone>().unwrap()), "\"030/901820\"");
    assert_eq!(json(&"BR".parse::<Country>().unwrap()), "\"BR\"");
    assert_eq!(json(&"BR-SP".parse::<Subdivision>().unwrap()), "\"BR-SP\"");
    assert_eq!(json(&Region::restore("Bayern").unwrap()), "\"Bayern\"");
    assert_eq!(json(&BirthDate::restore(date!(1980 - 05 - 04)).unwrap()), "\"1980-05-04\"");
    assert_eq!(json(&WebUrl::restore("http://shop.example/é").unwrap()), "\"http://shop.example/é\"");
    assert_eq!(json(&UrlPolicy::Sandbox), "\"SANDBOX\"");
    assert_eq!(json(&"25524893033".parse::<Cpf>().unwrap()), "\"255.248.930-33\"");
    let id = NationalIdentifier::parse("AR".parse().unwrap(), "20123456786").unwrap().unwrap();
    assert_eq!(json(&id), "{\"Cuit\":\"20-12345678-6\"}");
    let postcode = Postcode::parse("GB".parse().unwrap(), "sw1a1aa").unwrap();
    assert_eq!(json(&postcode), "{\"Country\":\"GB\",\"Postcode\":\"SW1A 1AA\"}");
}

#[test]
fn small_values_that_break_a_rule_are_refused() {
    assert!(refused::<Text>("\"  \"").contains("must not be empty"));
    assert!(refused::<Email>("\"ana\"").contains("must be an e-mail address"));
    assert!(refused::<Country>("\"UK\"").contains("ISO 3166-1"));
    assert!(refused::<Region>("\"\"").contains("Region"));
    assert!(refused::<BirthDate>("\"1980-02-30\"").contains("BirthDate"));
    assert!(refused::<WebUrl>("\"shop.example\"").contains("WebUrl"));
    assert!(refused::<Cpf>("\"25524893034\"").contains("check digits"));
    assert!(refused::<Postcode>("{\"Country\":\"GB\",\"Postcode\":\"1\"}").contains("such as SW1A 1AA"));
}

#[test]
fn an_address_is_restored_through_the_rules_of_its_country() {
    let address = Address::parse("Address", &address()).unwrap();
    let written = json(&address);
    assert!(written.starts_with("{\"Street\":\"Rua 1\",\"City\":\"São Paulo\""), "{written}");
    let without = written.replace("\"01310-100\"", "null");
    assert!(refused::<Address>(&without).contains("Address.Postcode is required for country BR"));
}

#[test]
fn billing_details_are_restored_through_the_rules_of_their_country() {
    let input = BillingInput {
        reference: Some("customer-7".to_owned()),
        name: "Ana Souza".to_owned(),
        email: "ana@shop.example".to_owned(),
        birth_date: Some("1980-05-04".to_owned()),
        national_identifier: Some("255.248.930-33".to_owned()),
        address: address(),
        ..BillingInput::default()
    };
    assert_eq!(json(&input), json(&input));
    let details = BillingDetails::parse("BillingProfile", &input, date!(2026 - 11 - 23)).unwrap();
    let written = json(&details);
    let wrong = written.replace("255.248.930-33", "255.248.930-34");
    assert!(refused::<BillingDetails>(&wrong).contains("BillingProfile.NationalIdentifier must be a CPF"), "{written}");
    let id = BillingProfileId::new(Uuid::from_u128(7));
    let profile = json(&BillingProfile { id, details });
    assert!(profile.contains("\"BillingProfileId\":\"00000000-0000-0000-0000-000000000007\""), "{profile}");
}

#[test]
fn amounts_are_texts_with_their_currency() {
    let item = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("19"), quantity: Decimal::parse("2") };
    let written = json(&Item::parse("I", &item, Currency::Eur).unwrap());
    assert_eq!(written, "{\"Name\":\"Mug\",\"Amount\":\"19.00 EUR\",\"Quantity\":2}");
    assert!(refused::<Item>(&written.replace(":2", ":0")).contains("from 1 to 1,000,000"));
    for wrong in ["19.001 EUR", "19.00EUR", "-1.00 EUR", "19.00 EURO", "1e1000 EUR"] {
        assert!(!refused::<Item>(&written.replace("19.00 EUR", wrong)).is_empty());
    }
    let sale = DiscountInput { name: "Sale".to_owned(), amount: Decimal::parse("5") };
    let written = json(&Discount::parse("D", &sale, Currency::Jpy).unwrap());
    assert!(refused::<Discount>(&written.replace("5 JPY", "0 JPY")).contains("above zero"));
    let shipping = ShippingInput {
        shipping_amount: Decimal::parse("4.5"),
        name: "Ana".to_owned(),
        email: "ana@shop.example".to_owned(),
        phone: "+55 11 98765-4321".to_owned(),
        address: address(),
        ..ShippingInput::default()
    };
    let written = json(&ShippingDetails::parse("S", &shipping, Currency::Usd).unwrap());
    assert!(refused::<ShippingDetails>(&written.replace("0.00 USD", "0.00 EUR")).contains("one currency"), "{written}");
}
