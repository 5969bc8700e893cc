//! One test per rule of docs/SPECIFICATION.md#address, docs/SPECIFICATION.md#billing-profile and docs/SPECIFICATION.md#shipping-details, named after the rule.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Currency, Decimal};
use dropin_validation::{Address, AddressInput, BillingDetails, BillingInput, ShippingDetails, ShippingInput};
use time::macros::date;

const TODAY: time::Date = date!(2026 - 11 - 21);

fn address(country: &str) -> AddressInput {
    let subdivision = match country {
        "US" => Some("CA"),
        "CA" => Some("QC"),
        "MX" => Some("CMX"),
        _ => None,
    };
    AddressInput {
        street: "1 Main Street".to_owned(),
        city: "Springfield".to_owned(),
        region: subdivision.map(str::to_owned),
        country: country.to_owned(),
        postcode: Some("12345".to_owned()),
        phone: None,
    }
}

fn billing(country: &str) -> BillingInput {
    let id = match country {
        "BR" => Some("255.248.930-33"),
        "AR" => Some("20-12345678-6"),
        "IN" => Some("ABCPE1234F"),
        _ => None,
    };
    BillingInput {
        reference: None,
        name: "Ana Souza".to_owned(),
        email: "ana@shop.example".to_owned(),
        phone: None,
        birth_date: (country == "BR").then(|| "1980-05-04".to_owned()),
        birthdate: None,
        national_identifier: id.map(str::to_owned),
        company: None,
        address: address(country),
    }
}

fn shipping() -> ShippingInput {
    ShippingInput {
        shipping_amount: Decimal::parse("4.50"),
        duty_amount: Decimal::parse("0"),
        name: "Ana Souza".to_owned(),
        email: "ana@shop.example".to_owned(),
        phone: "+1 213 373 4253".to_owned(),
        address: address("US"),
    }
}

fn found<T>(result: Result<T, Violations>) -> Vec<(String, ViolationCode)> {
    let list = |violations: Violations| {
        violations.into_sorted().into_iter().map(|Violation { field, code, .. }| (field, code)).collect()
    };
    result.map_or_else(list, |_fine| Vec::new())
}

fn billing_found(change: impl FnOnce(&mut BillingInput), country: &str) -> Vec<(String, ViolationCode)> {
    let mut input = billing(country);
    change(&mut input);
    found(BillingDetails::parse("B", &input, TODAY))
}

fn address_found(change: impl FnOnce(&mut AddressInput), country: &str) -> Vec<(String, ViolationCode)> {
    let mut input = address(country);
    change(&mut input);
    found(Address::parse("A", &input))
}

fn one(field: &str, code: ViolationCode) -> Vec<(String, ViolationCode)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn examples_of_every_country_with_rules_pass() {
    for country in ["AR", "BR", "CA", "DE", "IN", "MX", "US"] {
        assert_eq!(billing_found(|_| {}, country), [], "{country}");
    }
    assert_eq!(found(ShippingDetails::parse("S", &shipping(), Currency::Usd)), []);
}

#[test]
fn street_city_and_country_are_required() {
    assert_eq!(address_found(|a| a.street = " ".to_owned(), "DE"), one("A.Street", ViolationCode::Missing));
    assert_eq!(address_found(|a| a.city = String::new(), "DE"), one("A.City", ViolationCode::Missing));
    assert_eq!(address_found(|a| a.country = "de".to_owned(), "DE"), one("A.Country", ViolationCode::NotAllowed));
}

#[test]
fn region_is_required_for_ca_mx_us() {
    for country in ["CA", "MX", "US"] {
        assert_eq!(address_found(|a| a.region = None, country), one("A.Region", ViolationCode::Missing), "{country}");
    }
    assert_eq!(address_found(|a| a.region = None, "DE"), []);
    assert_eq!(address_found(|a| a.region = Some("XX".to_owned()), "US"), one("A.Region", ViolationCode::NotAllowed));
}

#[test]
fn postcode_is_required_for_br_ca_mx_us() {
    for country in ["BR", "CA", "MX", "US"] {
        let seen = address_found(|a| a.postcode = None, country);
        assert_eq!(seen, one("A.Postcode", ViolationCode::Missing), "{country}");
    }
    assert_eq!(address_found(|a| a.postcode = None, "DE"), []);
    assert_eq!(
        address_found(|a| a.postcode = Some("\u{7}".to_owned()), "DE"),
        one("A.Postcode", ViolationCode::Invalid)
    );
}

#[test]
fn phone_is_optional_and_checked_in_both_places() {
    assert_eq!(address_found(|a| a.phone = Some("x".to_owned()), "DE"), one("A.Phone", ViolationCode::Invalid));
    assert_eq!(billing_found(|b| b.phone = Some("x".to_owned()), "DE"), one("B.Phone", ViolationCode::Invalid));
    assert_eq!(billing_found(|b| b.phone = Some("+4930901820".to_owned()), "DE"), []);
}

#[test]
fn birth_date_is_required_for_br() {
    let none = |b: &mut BillingInput| b.birth_date = None;
    assert_eq!(billing_found(none, "BR"), one("B.BirthDate", ViolationCode::Missing));
    assert_eq!(billing_found(none, "DE"), []);
    assert_eq!(
        billing_found(|b| b.birth_date = Some("soon".to_owned()), "DE"),
        one("B.BirthDate", ViolationCode::Invalid)
    );
}

#[test]
fn birthdate_is_the_same_field_and_conflicts_when_different() {
    let set = |one: Option<&str>, other: Option<&str>| {
        let (one, other) = (one.map(str::to_owned), other.map(str::to_owned));
        billing_found(|b| (b.birth_date, b.birthdate) = (one, other), "BR")
    };
    assert_eq!(set(None, Some("1980-05-04")), []);
    assert_eq!(set(Some("1980-05-04"), Some("1980-05-04")), []);
    let both =
        [("B.BirthDate".to_owned(), ViolationCode::Conflict), ("B.Birthdate".to_owned(), ViolationCode::Conflict)];
    assert_eq!(set(Some("1980-05-04"), Some("1980-05-05")), both);
    assert_eq!(set(None, Some("1980-13-05")), one("B.Birthdate", ViolationCode::Invalid));
}

#[test]
fn national_identifier_is_required_for_br_ar_in_and_checked_there() {
    for country in ["AR", "BR", "IN"] {
        let seen = billing_found(|b| b.national_identifier = None, country);
        assert_eq!(seen, one("B.NationalIdentifier", ViolationCode::Missing), "{country}");
        let seen = billing_found(|b| b.national_identifier = Some("nonsense".to_owned()), country);
        assert_eq!(seen, one("B.NationalIdentifier", ViolationCode::Invalid), "{country}");
    }
    assert_eq!(billing_found(|b| b.national_identifier = Some("nonsense".to_owned()), "US"), []);
}

#[test]
fn company_is_required_with_a_brazilian_company_tax_id() {
    let cnpj = |b: &mut BillingInput| b.national_identifier = Some("36.002.518/0001-01".to_owned());
    assert_eq!(billing_found(cnpj, "BR"), one("B.Company", ViolationCode::Missing));
    let with_company = |b: &mut BillingInput| {
        cnpj(b);
        b.company = Some("Loja Ltda".to_owned());
    };
    assert_eq!(billing_found(with_company, "BR"), []);
    assert_eq!(billing_found(cnpj, "US"), []);
}

#[test]
fn everything_wrong_is_reported_at_once() {
    let seen = billing_found(
        |b| {
            b.name = String::new();
            b.email = "nope".to_owned();
            b.birth_date = None;
            b.national_identifier = None;
            b.address.street = String::new();
            b.address.postcode = None;
        },
        "BR",
    );
    let fields: Vec<_> = seen.into_iter().map(|(field, _)| field).collect();
    let all = ["B.Address.Postcode", "B.Address.Street", "B.BirthDate", "B.Email", "B.Name", "B.NationalIdentifier"];
    assert_eq!(fields, all);
}

#[test]
fn shipping_amounts_are_in_the_currency_and_phone_is_required() {
    let seen = |change: fn(&mut ShippingInput), currency| {
        let mut input = shipping();
        change(&mut input);
        found(ShippingDetails::parse("S", &input, currency))
    };
    assert_eq!(seen(|_| {}, Currency::Jpy), one("S.ShippingAmount", ViolationCode::Invalid));
    assert_eq!(
        seen(|s| s.duty_amount = Decimal::parse("-1"), Currency::Usd),
        one("S.DutyAmount", ViolationCode::OutOfRange)
    );
    assert_eq!(seen(|s| s.phone = String::new(), Currency::Usd), one("S.Phone", ViolationCode::Missing));
    assert_eq!(seen(|s| s.address.region = None, Currency::Usd), one("S.Address.Region", ViolationCode::Missing));
}
