use super::*;
use crate::find_method;

const EUR: &[Currency] = &[Currency::Eur];

fn ask<'a>(country: &'a str, currencies: &'a [Currency], merchant: &'a MerchantMethods) -> Ask<'a> {
    let country = Some(country);
    Ask { country, currencies, amount: None, merchant, sandbox: true, recurring: false, channel: Channel::DropIn }
}

fn method(id: &str) -> &'static Method {
    find_method(id).expect("in the table")
}

fn adjusted(id: &str, adjustment: Adjustment) -> Adjustments {
    let mut all = Adjustments::default();
    all.set(method(id), adjustment);
    all
}

fn deployed(id: &str, adjustment: Adjustment) -> Catalogue {
    Catalogue::new(Method::is_in_sandbox, &adjusted(id, adjustment))
}

fn particular(id: &str, adjustment: Adjustment) -> MerchantMethods {
    MerchantMethods { adjustments: adjusted(id, adjustment), ..MerchantMethods::default() }
}

fn off() -> Adjustment {
    Adjustment { offered: Some(false), ..Adjustment::default() }
}

fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).expect("an amount")
}

fn refusal(catalogue: &Catalogue, id: &str, ask: &Ask<'_>) -> Option<Refusal> {
    catalogue.offer(id, ask).err()
}

#[test]
fn a_narrow_method_is_offered_only_where_it_belongs() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let asked = |id, country, currencies| refusal(&catalogue, id, &ask(country, currencies, &plain));
    assert_eq!(asked("IDEAL", "NL", EUR), None);
    assert_eq!(asked("IDEAL", "DE", EUR), Some(Refusal::Country));
    assert_eq!(asked("IDEAL", "NL", &[Currency::Usd]), Some(Refusal::Currency));
    assert_eq!(asked("IDEAL", "NL", &[Currency::Usd, Currency::Eur]), None, "one of those to be chosen from fits");
    assert_eq!(asked("IDEAL", "NL", &[]), Some(Refusal::Currency), "a merchant without currencies is paid by nobody");
    assert_eq!(asked("PAYLATER", "GB", &[Currency::Gbp]), None);
    assert_eq!(asked("PAYLATER", "BR", &[Currency::Usd]), Some(Refusal::Country));
    let unknown = Ask { country: None, ..ask("DE", Currency::ALL, &plain) };
    assert_eq!(refusal(&catalogue, "IDEAL", &unknown), None, "what is not known does not narrow");
}

#[test]
fn what_the_processor_cannot_do_is_not_offered_however_it_is_adjusted() {
    let on = Adjustment { offered: Some(true), sandbox: Some(true), ..Adjustment::default() };
    let (catalogue, merchant) = (deployed("BLIK", on.clone()), particular("BLIK", on));
    let asked = Ask { country: Some("PL"), ..ask("PL", &[Currency::Pln], &merchant) };
    assert_eq!(refusal(&catalogue, "BLIK", &asked), Some(Refusal::Unknown));
    let able = Catalogue::new(|method| method.id == "BLIK", &Adjustments::default());
    assert_eq!(refusal(&able, "BLIK", &Ask { sandbox: false, ..asked }), None);
    assert_eq!(refusal(&able, "VISA", &Ask { sandbox: false, ..asked }), Some(Refusal::Unknown));
}

#[test]
fn limits_hold_at_both_ends() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let pays = |minor| {
        let amount = eur(minor);
        catalogue.offer("IDEAL", &Ask { amount: Some(&amount), ..ask("NL", EUR, &plain) }).map(|method| method.id)
    };
    let limit = Refusal::Amount(Range { currency: Currency::Eur, least: 1, most: Some(5_000_000) });
    assert_eq!(
        [pays(0), pays(1), pays(5_000_000), pays(5_000_001)],
        [Err(limit), Ok("IDEAL"), Ok("IDEAL"), Err(limit)]
    );
    assert!(limit.to_string().contains("0.01 to 50000.00 EUR"), "{limit}");
    let open = |least, most| Range { currency: Currency::Jpy, least, most }.to_string();
    assert_eq!([open(5, None), open(0, Some(7))], ["at least 5 JPY", "at most 7 JPY"]);
}

#[test]
fn a_deployment_replaces_what_the_table_says() {
    let wider = Adjustment {
        countries: Some(vec!["DE".to_owned(), "NL".to_owned()]),
        currencies: Some(vec![Currency::Usd]),
        amounts: Some(vec![Range { currency: Currency::Usd, least: 0, most: Some(100) }]),
        channels: Some(vec![Channel::DropIn]),
        ..Adjustment::default()
    };
    let (catalogue, plain) = (deployed("IDEAL", wider), MerchantMethods::default());
    let usd = &[Currency::Usd];
    let amount = |minor| Amount::from_minor(Currency::Usd, minor).expect("an amount");
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("DE", usd, &plain)), None);
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("DE", EUR, &plain)), Some(Refusal::Currency));
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("BE", usd, &plain)), Some(Refusal::Country));
    let (within, beyond) = (amount(100), amount(101));
    assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&within), ..ask("DE", usd, &plain) }), None);
    let refused = refusal(&catalogue, "IDEAL", &Ask { amount: Some(&beyond), ..ask("DE", usd, &plain) });
    assert!(matches!(refused, Some(Refusal::Amount(_))), "{refused:?}");
    let checkout = Ask { channel: Channel::Checkout, ..ask("DE", usd, &plain) };
    assert_eq!(refusal(&catalogue, "IDEAL", &checkout), Some(Refusal::Channel));
}

#[test]
fn a_merchant_narrows_what_is_left_and_alone_is_touched_by_it() {
    let narrower = Adjustment {
        countries: Some(vec!["DE".to_owned(), "NL".to_owned()]),
        currencies: Some(vec![Currency::Eur, Currency::Usd]),
        amounts: Some(vec![Range { currency: Currency::Eur, least: 1_000, most: None }]),
        channels: Some(vec![Channel::Checkout]),
        ..Adjustment::default()
    };
    let (catalogue, merchant) = (Catalogue::of_sandbox(), particular("IDEAL", narrower));
    let base = Ask { channel: Channel::Checkout, ..ask("NL", EUR, &merchant) };
    let small = eur(999);
    for (asked, expected) in [
        (base, None),
        (Ask { country: Some("DE"), ..base }, Some(Refusal::Country)),
        (Ask { currencies: &[Currency::Usd], ..base }, Some(Refusal::Currency)),
        (Ask { channel: Channel::DropIn, ..base }, Some(Refusal::Channel)),
    ] {
        assert_eq!(refusal(&catalogue, "IDEAL", &asked), expected, "{asked:?}");
    }
    let refused = refusal(&catalogue, "IDEAL", &Ask { amount: Some(&small), ..base });
    assert!(matches!(refused, Some(Refusal::Amount(_))), "{refused:?}");
    let other = MerchantMethods::default();
    assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&small), merchant: &other, ..base }), None);
    assert_eq!(refusal(&catalogue, "VISA", &base), None, "another method");
}

#[test]
fn a_merchant_narrows_a_method_that_is_used_everywhere() {
    let dutch = Adjustment {
        countries: Some(vec!["NL".to_owned()]),
        currencies: Some(vec![Currency::Eur]),
        ..Adjustment::default()
    };
    let (catalogue, merchant) = (Catalogue::of_sandbox(), particular("VISA", dutch));
    assert_eq!(refusal(&catalogue, "VISA", &ask("NL", EUR, &merchant)), None);
    assert_eq!(refusal(&catalogue, "VISA", &ask("DE", EUR, &merchant)), Some(Refusal::Country));
    assert_eq!(refusal(&catalogue, "VISA", &ask("NL", &[Currency::Usd], &merchant)), Some(Refusal::Currency));
}

#[test]
fn a_deployments_limit_takes_the_place_of_the_tables() {
    let limit = Range { currency: Currency::Eur, least: 500, most: Some(6_000_000) };
    let wider = Adjustment { amounts: Some(vec![limit]), ..Adjustment::default() };
    let (catalogue, plain) = (deployed("IDEAL", wider), MerchantMethods::default());
    for (minor, expected) in [(499, Some(Refusal::Amount(limit))), (500, None), (5_000_001, None)] {
        let amount = eur(minor);
        assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&amount), ..ask("NL", EUR, &plain) }), expected);
    }
}

#[test]
fn of_on_and_off_the_merchants_word_counts_first() {
    let on = || Adjustment { offered: Some(true), ..Adjustment::default() };
    for (deployment, merchant, expected) in [
        (Adjustment::default(), Adjustment::default(), None),
        (off(), Adjustment::default(), Some(Refusal::Off)),
        (off(), on(), None),
        (on(), off(), Some(Refusal::Off)),
        (Adjustment::default(), off(), Some(Refusal::Off)),
    ] {
        let (catalogue, merchant) = (deployed("VISA", deployment), particular("VISA", merchant));
        assert_eq!(refusal(&catalogue, "VISA", &ask("DE", EUR, &merchant)), expected, "{merchant:?}");
    }
}

#[test]
fn a_series_and_a_sandbox_need_a_method_that_can() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let series = Ask { recurring: true, ..ask("NL", EUR, &plain) };
    assert_eq!(refusal(&catalogue, "VISA", &series), None);
    assert_eq!(refusal(&catalogue, "PAYLATER", &series), Some(Refusal::Recurring));
    let never = Adjustment { recurring: Some(false), ..Adjustment::default() };
    let (merchant, strict) = (particular("VISA", never.clone()), deployed("VISA", never));
    assert_eq!(refusal(&catalogue, "VISA", &Ask { merchant: &merchant, ..series }), Some(Refusal::Recurring));
    assert_eq!(refusal(&strict, "VISA", &series), Some(Refusal::Recurring));
    let real = Adjustment { sandbox: Some(false), ..Adjustment::default() };
    let catalogue = deployed("VISA", real);
    assert_eq!(refusal(&catalogue, "VISA", &ask("DE", EUR, &plain)), Some(Refusal::Sandbox));
    assert_eq!(refusal(&catalogue, "VISA", &Ask { sandbox: false, ..ask("DE", EUR, &plain) }), None);
}

#[test]
fn what_is_listed_is_what_is_offered_one_by_one() {
    let off = particular("PAYPAL", off());
    let catalogue = Catalogue::of_sandbox();
    for country in ["NL", "DE", "US", "BR"] {
        for currency in Currency::ALL {
            let asked = ask(country, std::slice::from_ref(currency), &off);
            let listed: Vec<_> = catalogue.offers(&asked).iter().map(|method| method.id).collect();
            let one_by_one: Vec<_> = methods()
                .filter_map(|method| catalogue.offer(method.id, &asked).ok())
                .map(|method| method.id)
                .collect();
            assert_eq!(listed, one_by_one);
            assert!(!listed.contains(&"PAYPAL") && listed.contains(&"VISA"), "{country} {currency}");
        }
    }
}
