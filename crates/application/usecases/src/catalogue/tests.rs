use std::time::Duration;

use dropin_access::MerchantParts;
use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, MerchantMethods, Method, Range, find_method, methods,
};
use dropin_kernel::Timestamp;
use dropin_money::Currency;

use super::*;

fn merchant(methods: MerchantMethods) -> Merchant {
    let parts = MerchantParts {
        id: MerchantId::new(uuid::Uuid::from_u128(1)),
        name: "Shop".to_owned(),
        currencies: Currency::ALL.to_vec(),
        origins: vec![],
        session_lifetime: Duration::from_secs(86_400),
        attempts_allowed: 5,
        saved_cards: Default::default(),
        screening: Default::default(),
        processors: Default::default(),
        methods,
        sandbox: true,
        created_at: Timestamp::from_micros(0),
    };
    Merchant::restore(parts).unwrap()
}

fn adjusted(changes: &[(&str, Adjustment)]) -> MerchantMethods {
    let mut adjustments = Adjustments::default();
    for (id, change) in changes {
        adjustments.set(find_method(id).unwrap(), change.clone());
    }
    MerchantMethods { adjustments, ..MerchantMethods::default() }
}

/// A merchant about whom a lot is particular.
fn particular() -> MerchantMethods {
    let otherwise = |parts| Adjustment::new(parts).unwrap();
    let off = Adjustment::default().with_offered(false);
    let europe = ["AT", "DE", "NL"].map(str::to_owned).to_vec();
    let narrow = otherwise(AdjustmentParts { countries: Some(europe), ..AdjustmentParts::default() });
    let limit = Range::new(Currency::Eur, 5_000, None).unwrap();
    let large = otherwise(AdjustmentParts {
        amounts: Some(vec![limit]),
        channels: Some(vec![SalesChannel::Checkout]),
        ..AdjustmentParts::default()
    });
    adjusted(&[("MC", off.clone()), ("PAYPAL", off), ("PAYLATER", narrow), ("BANKTRANSFER", large)])
}

fn countries() -> Vec<Country> {
    let letters = || (b'A'..=b'Z').map(char::from);
    let codes = letters().flat_map(|one| letters().map(move |two| format!("{one}{two}")));
    codes.filter_map(|code| Country::parse("", &code).ok()).collect()
}

fn query(country: Option<Country>, currency: Option<Currency>, amount: Option<Amount>) -> MethodsQuery {
    MethodsQuery { merchant_id: String::new(), country, currency, amount, locale: None }
}

fn ids(offered: &[Offered]) -> Vec<&'static str> {
    offered.iter().filter_map(|method| find_method(method.id())).map(Method::id).collect()
}

/// What a payment may be made with, asked one by one as a checkout or a submit does.
fn taken(catalogue: &Catalogue, purchase: &Purchase<'_>) -> Vec<&'static str> {
    let takes = |method: &&Method| match method.class() {
        Class::Card => purchase.stashed(catalogue, method.id()).is_ok(),
        Class::Online | Class::Offline => purchase.method(catalogue, method.id()).is_ok(),
    };
    methods().filter(takes).map(Method::id).collect()
}

/// For every country and currency, in both channels, for a plain merchant and for one with adjustments.
#[test]
fn whatever_is_listed_is_taken_and_whatever_is_not_is_refused() {
    let (catalogue, countries) = (Catalogue::of_sandbox(), countries());
    assert_eq!((countries.len(), Currency::ALL.len()), (249, 60));
    let mut lists = std::collections::BTreeSet::new();
    for merchant in [merchant(MerchantMethods::default()), merchant(particular())] {
        for country in &countries {
            for currency in Currency::ALL.iter().copied() {
                let total = Amount::from_minor(currency, 2_990).unwrap();
                let public = ids(&listed(&catalogue, &merchant, &query(Some(*country), Some(currency), Some(total))));
                for channel in SalesChannel::ALL {
                    let (merchant, country, total) = (&merchant, country.code(), &total);
                    let purchase =
                        Purchase { merchant, country, total, recurring: false, capture_later: false, channel };
                    let shown = ids(&purchase.offers(&catalogue));
                    assert_eq!(shown, taken(&catalogue, &purchase), "{country} {currency} {channel:?}");
                    if channel == SalesChannel::Checkout {
                        assert_eq!(shown, public, "{country} {currency}");
                    }
                    lists.insert(shown);
                }
            }
        }
    }
    assert!(8 < lists.len(), "they differ: {lists:?}");
}

#[test]
fn limits_are_the_same_for_the_list_and_the_payment() {
    let (catalogue, merchant) = (Catalogue::of_sandbox(), merchant(particular()));
    let country = Country::parse("", "NL").unwrap();
    for (minor, expected) in
        [(1, (true, false)), (4_999, (true, false)), (5_000, (true, true)), (5_000_001, (false, true))]
    {
        let total = Amount::from_minor(Currency::Eur, minor).unwrap();
        let public = ids(&listed(&catalogue, &merchant, &query(Some(country), Some(Currency::Eur), Some(total))));
        let (total, channel) = (&total, SalesChannel::Checkout);
        let purchase =
            Purchase { merchant: &merchant, country: "NL", total, recurring: false, capture_later: false, channel };
        assert_eq!(public, taken(&catalogue, &purchase), "{minor}");
        assert_eq!((public.contains(&"IDEAL"), public.contains(&"BANKTRANSFER")), expected, "{minor}");
    }
}

#[test]
fn what_is_not_said_does_not_narrow_and_a_currency_that_is_not_enabled_has_no_methods() {
    let catalogue = Catalogue::of_sandbox();
    let all = merchant(MerchantMethods::default());
    let asked = |merchant: &Merchant, country: Option<&str>, currency| {
        let country = country.map(|code| Country::parse("", code).unwrap());
        ids(&listed(&catalogue, merchant, &query(country, currency, None)))
    };
    assert_eq!(asked(&all, None, None).len(), 13, "eleven and two wallets");
    assert!(!asked(&all, Some("DE"), None).contains(&"IDEAL"));
    let dollars = all.clone().edited(|parts| parts.currencies = vec![Currency::Usd]).unwrap();
    assert!(!asked(&dollars, Some("NL"), None).contains(&"IDEAL"), "it takes no euros");
    assert_eq!(asked(&dollars, Some("NL"), Some(Currency::Eur)), Vec::<&str>::new());
    assert!(asked(&dollars, None, Some(Currency::Usd)).contains(&"VISA"));
}
