use super::*;
use crate::{AdjustmentParts, Class, find_method};

const EUR: &[Currency] = &[Currency::Eur];

fn ask<'a>(country: &'a str, currencies: &'a [Currency], merchant: &'a MerchantMethods) -> Ask<'a> {
    let country = Some(country);
    Ask {
        country,
        currencies,
        amount: None,
        merchant,
        sandbox: true,
        recurring: false,
        capture_later: false,
        channel: SalesChannel::DropIn,
    }
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
    Adjustment::default().with_offered(false)
}

fn otherwise(parts: AdjustmentParts) -> Adjustment {
    Adjustment::new(parts).expect("an adjustment")
}

fn range(currency: Currency, least: i64, most: Option<i64>) -> Range {
    Range::new(currency, least, most).expect("a range")
}

fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).expect("an amount")
}

fn refusal(catalogue: &Catalogue, id: &str, ask: &Ask<'_>) -> Option<MethodRefusal> {
    catalogue.offer(id, ask).err()
}

#[test]
fn a_narrow_method_is_offered_only_where_it_belongs() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let asked = |id, country, currencies| refusal(&catalogue, id, &ask(country, currencies, &plain));
    assert_eq!(asked("IDEAL", "NL", EUR), None);
    assert_eq!(asked("IDEAL", "DE", EUR), Some(MethodRefusal::Country));
    assert_eq!(asked("IDEAL", "NL", &[Currency::Usd]), Some(MethodRefusal::Currency));
    assert_eq!(asked("IDEAL", "NL", &[Currency::Usd, Currency::Eur]), None, "one of those to be chosen from fits");
    assert_eq!(
        asked("IDEAL", "NL", &[]),
        Some(MethodRefusal::Currency),
        "a merchant without currencies is paid by nobody"
    );
    assert_eq!(asked("PAYLATER", "GB", &[Currency::Gbp]), None);
    assert_eq!(asked("PAYLATER", "BR", &[Currency::Usd]), Some(MethodRefusal::Country));
    let unknown = Ask { country: None, ..ask("DE", Currency::ALL, &plain) };
    assert_eq!(refusal(&catalogue, "IDEAL", &unknown), None, "what is not known does not narrow");
}

#[test]
fn a_method_that_takes_the_money_at_once_is_not_offered_where_the_merchant_captures_later() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let later = Ask { capture_later: true, ..ask("NL", EUR, &plain) };
    for (id, refused) in
        [("IDEAL", true), ("BANKTRANSFER", true), ("VISA", false), ("PAYPAL", false), ("PAYLATER", false)]
    {
        let expected = refused.then_some(MethodRefusal::Capture);
        assert_eq!(refusal(&catalogue, id, &later), expected, "{id}");
        assert_eq!(refusal(&catalogue, id, &ask("NL", EUR, &plain)), None, "{id}");
    }
    // An acquirer that reserves a method's money first says so in the deployment's catalogue file.
    let able =
        deployed("IDEAL", otherwise(AdjustmentParts { capture_later: Some(true), ..AdjustmentParts::default() }));
    assert_eq!(refusal(&able, "IDEAL", &later), None);
}

#[test]
fn what_the_processor_cannot_do_is_not_offered_however_it_is_adjusted() {
    let on = otherwise(AdjustmentParts { offered: Some(true), sandbox: Some(true), ..AdjustmentParts::default() });
    let (catalogue, merchant) = (deployed("BLIK", on.clone()), particular("BLIK", on));
    let asked = Ask { country: Some("PL"), ..ask("PL", &[Currency::Pln], &merchant) };
    assert_eq!(refusal(&catalogue, "BLIK", &asked), Some(MethodRefusal::Unknown));
    let able = Catalogue::new(|method| method.id() == "BLIK", &Adjustments::default());
    assert_eq!(refusal(&able, "BLIK", &Ask { sandbox: false, ..asked }), None);
    assert_eq!(refusal(&able, "VISA", &Ask { sandbox: false, ..asked }), Some(MethodRefusal::Unknown));
}

#[test]
fn limits_hold_at_both_ends() {
    let (catalogue, plain) = (Catalogue::of_sandbox(), MerchantMethods::default());
    let pays = |minor| {
        let amount = eur(minor);
        catalogue
            .offer("IDEAL", &Ask { amount: Some(&amount), ..ask("NL", EUR, &plain) })
            .map(|method| method.id().to_owned())
    };
    let limit = MethodRefusal::Amount(range(Currency::Eur, 1, Some(5_000_000)));
    assert_eq!(
        [pays(0), pays(1), pays(5_000_000), pays(5_000_001)],
        [Err(limit), Ok("IDEAL".to_owned()), Ok("IDEAL".to_owned()), Err(limit)]
    );
    assert!(limit.to_string().contains("0.01 to 50000.00 EUR"), "{limit}");
    let open = |least, most| range(Currency::Jpy, least, most).to_string();
    assert_eq!([open(5, None), open(0, Some(7))], ["at least 5 JPY", "at most 7 JPY"]);
}

#[test]
fn a_deployment_replaces_what_the_table_says() {
    let wider = otherwise(AdjustmentParts {
        countries: Some(vec!["DE".to_owned(), "NL".to_owned()]),
        currencies: Some(vec![Currency::Usd]),
        amounts: Some(vec![range(Currency::Usd, 0, Some(100))]),
        channels: Some(vec![SalesChannel::DropIn]),
        ..AdjustmentParts::default()
    });
    let (catalogue, plain) = (deployed("IDEAL", wider), MerchantMethods::default());
    let usd = &[Currency::Usd];
    let amount = |minor| Amount::from_minor(Currency::Usd, minor).expect("an amount");
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("DE", usd, &plain)), None);
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("DE", EUR, &plain)), Some(MethodRefusal::Currency));
    assert_eq!(refusal(&catalogue, "IDEAL", &ask("BE", usd, &plain)), Some(MethodRefusal::Country));
    let (within, beyond) = (amount(100), amount(101));
    assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&within), ..ask("DE", usd, &plain) }), None);
    let refused = refusal(&catalogue, "IDEAL", &Ask { amount: Some(&beyond), ..ask("DE", usd, &plain) });
    assert!(matches!(refused, Some(MethodRefusal::Amount(_))), "{refused:?}");
    let checkout = Ask { channel: SalesChannel::Checkout, ..ask("DE", usd, &plain) };
    assert_eq!(refusal(&catalogue, "IDEAL", &checkout), Some(MethodRefusal::Channel));
}

#[test]
fn a_merchant_narrows_what_is_left_and_alone_is_touched_by_it() {
    let narrower = otherwise(AdjustmentParts {
        countries: Some(vec!["DE".to_owned(), "NL".to_owned()]),
        currencies: Some(vec![Currency::Eur, Currency::Usd]),
        amounts: Some(vec![range(Currency::Eur, 1_000, None)]),
        channels: Some(vec![SalesChannel::Checkout]),
        ..AdjustmentParts::default()
    });
    let (catalogue, merchant) = (Catalogue::of_sandbox(), particular("IDEAL", narrower));
    let base = Ask { channel: SalesChannel::Checkout, ..ask("NL", EUR, &merchant) };
    let small = eur(999);
    for (asked, expected) in [
        (base, None),
        (Ask { country: Some("DE"), ..base }, Some(MethodRefusal::Country)),
        (Ask { currencies: &[Currency::Usd], ..base }, Some(MethodRefusal::Currency)),
        (Ask { channel: SalesChannel::DropIn, ..base }, Some(MethodRefusal::Channel)),
    ] {
        assert_eq!(refusal(&catalogue, "IDEAL", &asked), expected, "{asked:?}");
    }
    let refused = refusal(&catalogue, "IDEAL", &Ask { amount: Some(&small), ..base });
    assert!(matches!(refused, Some(MethodRefusal::Amount(_))), "{refused:?}");
    let other = MerchantMethods::default();
    assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&small), merchant: &other, ..base }), None);
    assert_eq!(refusal(&catalogue, "VISA", &base), None, "another method");
}

#[test]
fn a_merchant_narrows_a_method_that_is_used_everywhere() {
    let dutch = otherwise(AdjustmentParts {
        countries: Some(vec!["NL".to_owned()]),
        currencies: Some(vec![Currency::Eur]),
        ..AdjustmentParts::default()
    });
    let (catalogue, merchant) = (Catalogue::of_sandbox(), particular("VISA", dutch));
    assert_eq!(refusal(&catalogue, "VISA", &ask("NL", EUR, &merchant)), None);
    assert_eq!(refusal(&catalogue, "VISA", &ask("DE", EUR, &merchant)), Some(MethodRefusal::Country));
    assert_eq!(refusal(&catalogue, "VISA", &ask("NL", &[Currency::Usd], &merchant)), Some(MethodRefusal::Currency));
}

#[test]
fn a_deployments_limit_takes_the_place_of_the_tables() {
    let limit = range(Currency::Eur, 500, Some(6_000_000));
    let wider = otherwise(AdjustmentParts { amounts: Some(vec![limit]), ..AdjustmentParts::default() });
    let (catalogue, plain) = (deployed("IDEAL", wider), MerchantMethods::default());
    for (minor, expected) in [(499, Some(MethodRefusal::Amount(limit))), (500, None), (5_000_001, None)] {
        let amount = eur(minor);
        assert_eq!(refusal(&catalogue, "IDEAL", &Ask { amount: Some(&amount), ..ask("NL", EUR, &plain) }), expected);
    }
}

#[test]
fn of_on_and_off_the_merchants_word_counts_first() {
    let on = || Adjustment::default().with_offered(true);
    for (deployment, merchant, expected) in [
        (Adjustment::default(), Adjustment::default(), None),
        (off(), Adjustment::default(), Some(MethodRefusal::Off)),
        (off(), on(), None),
        (on(), off(), Some(MethodRefusal::Off)),
        (Adjustment::default(), off(), Some(MethodRefusal::Off)),
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
    assert_eq!(refusal(&catalogue, "PAYLATER", &series), Some(MethodRefusal::Recurring));
    let never = otherwise(AdjustmentParts { recurring: Some(false), ..AdjustmentParts::default() });
    let (merchant, strict) = (particular("VISA", never.clone()), deployed("VISA", never));
    assert_eq!(refusal(&catalogue, "VISA", &Ask { merchant: &merchant, ..series }), Some(MethodRefusal::Recurring));
    assert_eq!(refusal(&strict, "VISA", &series), Some(MethodRefusal::Recurring));
    let real = otherwise(AdjustmentParts { sandbox: Some(false), ..AdjustmentParts::default() });
    let catalogue = deployed("VISA", real);
    assert_eq!(refusal(&catalogue, "VISA", &ask("DE", EUR, &plain)), Some(MethodRefusal::Sandbox));
    assert_eq!(refusal(&catalogue, "VISA", &Ask { sandbox: false, ..ask("DE", EUR, &plain) }), None);
}

#[test]
fn what_is_listed_is_what_is_offered_one_by_one() {
    let off = particular("PAYPAL", off());
    let catalogue = Catalogue::of_sandbox();
    for country in ["NL", "DE", "US", "BR"] {
        for currency in Currency::ALL {
            let asked = ask(country, std::slice::from_ref(currency), &off);
            let offers = catalogue.offers(&asked);
            let listed: Vec<_> = offers.iter().map(|method| method.id()).collect();
            let one_by_one: Vec<_> =
                methods().map(Method::id).filter(|id| catalogue.offer(id, &asked).is_ok()).collect();
            assert_eq!(listed, one_by_one);
            assert!(!listed.contains(&"PAYPAL") && listed.contains(&"VISA"), "{country} {currency}");
        }
    }
}

/// A Dutch method in euros, up to 5000.00, in the drop-in alone.
fn tikkie() -> Method {
    let builder = Method::builder("TIKKIE", "Tikkie", Class::Online).countries(["NL"]).currencies([Currency::Eur]);
    let limits = [range(Currency::Eur, 1, Some(500_000))];
    builder.amounts(limits).channels([SalesChannel::DropIn]).sandbox(true).build().expect("a method")
}

#[test]
fn an_own_method_is_offered_where_it_says_after_the_built_in_ones() {
    let (catalogue, plain) =
        (Catalogue::of_sandbox().with([tikkie()]).expect("another id"), MerchantMethods::default());
    let dutch = ask("NL", EUR, &plain);
    let offers = catalogue.offers(&dutch);
    assert_eq!(offers.last().map(|method| method.id()), Some("TIKKIE"));
    assert_eq!(offers.len(), 1 + Catalogue::of_sandbox().offers(&dutch).len());
    let large = eur(500_001);
    for (asked, expected) in [
        (dutch, None),
        (Ask { country: Some("DE"), ..dutch }, Some(MethodRefusal::Country)),
        (Ask { currencies: &[Currency::Usd], ..dutch }, Some(MethodRefusal::Currency)),
        (Ask { channel: SalesChannel::Checkout, ..dutch }, Some(MethodRefusal::Channel)),
        (Ask { recurring: true, ..dutch }, Some(MethodRefusal::Recurring)),
        (Ask { capture_later: true, ..dutch }, Some(MethodRefusal::Capture)),
        (Ask { amount: Some(&large), ..dutch }, Some(MethodRefusal::Amount(range(Currency::Eur, 1, Some(500_000))))),
    ] {
        assert_eq!(refusal(&catalogue, "TIKKIE", &asked), expected, "{asked:?}");
        assert_eq!(catalogue.offers(&asked).iter().any(|method| method.id() == "TIKKIE"), expected.is_none());
    }
    assert_eq!(refusal(&Catalogue::of_sandbox(), "TIKKIE", &dutch), Some(MethodRefusal::Unknown), "another deployment");
}

#[test]
fn a_merchant_narrows_an_own_method_and_switches_it_off() {
    let catalogue = Catalogue::of_sandbox().with([tikkie()]).expect("another id");
    let asked = |adjustment: Adjustment| {
        let mut merchant = MerchantMethods::default();
        merchant.adjustments.set(&tikkie(), adjustment);
        refusal(&catalogue, "TIKKIE", &ask("NL", EUR, &merchant))
    };
    assert_eq!(asked(Adjustment::default()), None);
    assert_eq!(asked(off()), Some(MethodRefusal::Off));
    let belgian = AdjustmentParts { countries: Some(vec!["BE".to_owned()]), ..AdjustmentParts::default() };
    assert_eq!(asked(otherwise(belgian)), Some(MethodRefusal::Country));
}

#[test]
fn an_id_is_given_once() {
    let named = |id: &'static str| Method::builder(id, "Ours", Class::Online).build().expect("a method");
    for (own, id) in [
        (vec![named("VISA")], "VISA"),
        (vec![named("BLIK")], "BLIK"), // built in, and not offered here
        (vec![named("OURS"), named("OTHER"), named("OURS")], "OURS"),
    ] {
        assert_eq!(Catalogue::of_sandbox().with(own).unwrap_err().id, id);
    }
    let twice = Catalogue::of_sandbox().with([named("OURS")]).and_then(|catalogue| catalogue.with([named("OURS")]));
    assert_eq!(twice.unwrap_err().id, "OURS");
    let known = || Catalogue::of_sandbox().with_known([named("OURS")]);
    for twice in
        [known().and_then(|one| one.with([named("OURS")])), known().and_then(|one| one.with_known([named("OURS")]))]
    {
        assert_eq!(twice.unwrap_err().id, "OURS");
    }
}

#[test]
fn an_own_method_that_the_processor_cannot_do_is_known_and_never_offered() {
    let catalogue = Catalogue::of_sandbox().with_known([tikkie()]).expect("another id");
    let mut on = MerchantMethods::default();
    on.adjustments.set(&tikkie(), Adjustment::default().with_offered(true));
    for merchant in [MerchantMethods::default(), on] {
        assert_eq!(refusal(&catalogue, "TIKKIE", &ask("NL", EUR, &merchant)), Some(MethodRefusal::Unknown));
    }
    assert!(!catalogue.has("TIKKIE") && catalogue.method("TIKKIE").is_some());
    assert_eq!(catalogue.known().filter(|method| method.id() == "TIKKIE").count(), 1);
    let built_in: Vec<_> = Catalogue::of_sandbox().known().map(Method::id).map(str::to_owned).collect();
    assert_eq!(built_in, methods().map(Method::id).collect::<Vec<_>>(), "also those that are not offered");
}

#[test]
fn a_method_is_found_by_its_id_whether_or_not_it_may_be_used() {
    let catalogue = Catalogue::of_sandbox().with([tikkie()]).expect("another id");
    let class = |id| catalogue.method(id).map(Method::class);
    assert_eq!(
        [class("TIKKIE"), class("BLIK"), class("VISA")],
        [Some(Class::Online), Some(Class::Online), Some(Class::Card)]
    );
    assert_eq!(class("CASH"), None);
    assert_eq!(Catalogue::of_sandbox().method("TIKKIE"), None, "another deployment's");
}
