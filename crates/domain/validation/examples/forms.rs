//! A checkout form: every field is checked, and every mistake is told at once beside its field. Run it with
//! `cargo run -p dropin-validation --example forms`.

use std::collections::BTreeMap;

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::identity::NationalIdentifier;
use dropin_validation::time::macros::date;
use dropin_validation::{
    AddressInput, BillingDetails, BillingInput, Country, Discount, DiscountInput, Item, ItemInput, Postcode,
    Subdivision, Totals, UrlPolicy, WebUrl, total_amount,
};

/// The form as a browser posts it.
#[derive(Clone, Default)]
struct Form {
    billing: BillingInput,
    items: Vec<ItemInput>,
    discounts: Vec<DiscountInput>,
    complete_url: String,
}

/// The form when nothing is wrong with it.
struct Checkout {
    billing: BillingDetails,
    total: Amount,
    complete_url: WebUrl,
}

/// Checks all of it. A shop may ask more than the service: this one also wants a postcode of the country's form.
fn check(form: &Form) -> Result<Checkout, Violations> {
    let (currency, today) = (Currency::Brl, date!(2026 - 11 - 23));
    let mut all = Violations::new();
    let billing = all.check_all(BillingDetails::parse("BillingProfile", &form.billing, today));
    let address = &form.billing.address;
    if let (Ok(country), Some(postcode)) = (address.country.parse::<Country>(), &address.postcode) {
        let postcode = Postcode::parse(country, postcode);
        all.check(postcode.map_err(|refused| refused.at("BillingProfile.Address.Postcode")));
    }
    let items = all.check_all(Item::parse_all("Items", &form.items, currency));
    let discounts = all.check_all(Discount::parse_all("Discounts", &form.discounts, currency));
    let complete_url = all.check(WebUrl::parse("CompleteUrl", &form.complete_url, UrlPolicy::Production));
    let total = items.zip(discounts).and_then(|(items, discounts)| {
        let (items, discounts) = (items.as_slice(), discounts.as_slice());
        let of = Totals { currency, items, tax: None, shipping_and_duty: None, discounts, open_contract: false };
        all.check(total_amount(of))
    });
    let checkout = match (billing, total, complete_url) {
        (Some(billing), Some(total), Some(complete_url)) => Some(Checkout { billing, total, complete_url }),
        _ => None,
    };
    all.into_result(checkout)
}

/// What a page shows beside each field.
fn by_field(violations: Violations) -> BTreeMap<String, Vec<(ViolationCode, String)>> {
    let mut fields: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for violation in violations.into_sorted() {
        fields.entry(violation.field).or_default().push((violation.code, violation.message));
    }
    fields
}

/// A form without a mistake.
fn good_form() -> Form {
    let address = AddressInput {
        street: "Avenida Paulista 1000".to_owned(),
        city: "São Paulo".to_owned(),
        region: Some("SP".to_owned()),
        country: "BR".to_owned(),
        postcode: Some("01310-100".to_owned()),
        phone: None,
    };
    let billing = BillingInput {
        name: "Ana Souza".to_owned(),
        email: "ana@shop.example".to_owned(),
        birth_date: Some("1980-05-04".to_owned()),
        national_identifier: Some("12.ABC.345/01DE-35".to_owned()),
        company: Some("Loja Ltda".to_owned()),
        address,
        ..BillingInput::default()
    };
    let mug = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("59.80"), quantity: Decimal::parse("2") };
    let sale = DiscountInput { name: "Sale".to_owned(), amount: Decimal::parse("9.8") };
    let complete_url = "https://shop.example/paid?id={SessionId}".to_owned();
    Form { billing, items: vec![mug], discounts: vec![sale], complete_url }
}

fn main() {
    // The drop-downs of the form.
    let brazil: Country = "BR".parse().expect("a country");
    let states: Vec<_> = Subdivision::ALL.iter().filter(|state| state.country() == brazil).collect();
    assert_eq!((Country::ALL.len(), states.len()), (249, 27));
    assert_eq!(Postcode::example(brazil), Some("01310-100"));

    // Nothing is wrong.
    let checkout = check(&good_form()).unwrap_or_else(|wrong| panic!("{:?}", by_field(wrong)));
    let address = &checkout.billing.address;
    assert_eq!(address.region.as_ref().map(|region| region.name(address.country)), Some("São Paulo"));
    assert_eq!((address.country.name(), checkout.total.to_string().as_str()), ("Brazil", "50.00"));
    assert_eq!(checkout.complete_url.origin(), "https://shop.example");
    let id = checkout.billing.national_identifier.expect("required in Brazil");
    let id = NationalIdentifier::parse(brazil, id.as_str()).expect("it was checked");
    assert!(id.is_some_and(NationalIdentifier::is_brazilian_company));

    // Many things are wrong, and each field hears of its own.
    let mut form = good_form();
    form.billing.email = "ana@shop".to_owned() + "..example";
    form.billing.birth_date = Some("2026-11-23".to_owned());
    form.billing.company = None;
    form.billing.address.city = " ".to_owned();
    form.billing.address.postcode = Some("1310".to_owned());
    form.items[0].quantity = Decimal::parse("1.5");
    form.items.push(ItemInput::default());
    form.complete_url = "http://shop.example/paid".to_owned();
    let wrong = by_field(check(&form).err().expect("eight fields are wrong"));
    let codes: Vec<_> = wrong.iter().map(|(field, found)| (field.as_str(), found[0].0)).collect();
    let expected = [
        ("BillingProfile.Address.City", ViolationCode::Missing),
        ("BillingProfile.Address.Postcode", ViolationCode::Invalid),
        ("BillingProfile.BirthDate", ViolationCode::OutOfRange),
        ("BillingProfile.Company", ViolationCode::Missing),
        ("BillingProfile.Email", ViolationCode::Invalid),
        ("CompleteUrl", ViolationCode::Invalid),
        ("Items[0].Quantity", ViolationCode::Invalid),
        ("Items[1].Name", ViolationCode::Missing),
    ];
    assert_eq!(codes, expected);
    assert_eq!(wrong["BillingProfile.Address.Postcode"][0].1, "must be a postcode of Brazil such as 01310-100");

    // The total is a rule over several fields: it is told when the fields are right by themselves.
    let mut form = good_form();
    form.discounts[0].amount = Decimal::parse("59.81");
    let wrong = by_field(check(&form).err().expect("the total is negative"));
    assert_eq!(wrong.keys().collect::<Vec<_>>(), ["Discounts"]);

    for (field, found) in wrong {
        println!("{field}: {}", found[0].1);
    }
}
