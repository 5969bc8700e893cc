//! What single rules cost, and those of a whole billing profile.

use criterion::{Criterion, criterion_group, criterion_main};
use dropin_validation::{
    AddressInput, BillingDetails, BillingInput, Country, Email, Phone, Region, Text, UrlPolicy, WebUrl,
};
use std::hint::black_box;

fn rules(criterion: &mut Criterion) {
    let mut rule = |name, check: &dyn Fn() -> bool| {
        assert!(check(), "{name}");
        criterion.bench_function(name, |bench| bench.iter(check));
    };
    rule("text", &|| Text::parse("Name", black_box("Blue mug with a long description")).is_ok());
    rule("email", &|| Email::parse("Email", black_box("ana.example@shop.example")).is_ok());
    rule("phone", &|| Phone::parse("Phone", black_box("+1 213 373 4253")).is_ok());
    rule("url", &|| {
        WebUrl::parse("CompleteUrl", black_box("https://shop.example/paid?id={SessionId}"), UrlPolicy::Production)
            .is_ok()
    });
    let us = Country::parse("Country", "US").expect("a country");
    rule("country", &|| Country::parse("Country", black_box("US")).is_ok());
    rule("region", &|| Region::parse("Region", black_box("US-CA"), us).is_ok());
}

fn billing_profile(criterion: &mut Criterion) {
    let text = |text: &str| Some(text.to_owned());
    let input = BillingInput {
        reference: text("customer-778899"),
        name: "Ana Souza".to_owned(),
        email: "ana.souza@shop.example".to_owned(),
        phone: text("+55 11 98765-4321"),
        birth_date: text("1980-05-04"),
        birthdate: None,
        national_identifier: text("12.ABC.345/01DE-35"),
        company: text("Loja Ltda"),
        address: AddressInput {
            street: "Rua 1".to_owned(),
            city: "São Paulo".to_owned(),
            region: None,
            country: "BR".to_owned(),
            postcode: text("01000-000"),
            phone: None,
        },
    };
    let today = time::macros::date!(2026 - 11 - 21);
    criterion.bench_function("billing profile of a Brazilian company", |bench| {
        bench.iter(|| BillingDetails::parse("BillingProfile", black_box(&input), today).expect("it is valid"));
    });
}

criterion_group!(benches, rules, billing_profile);
criterion_main!(benches);
