//! A shop with prices in euros shows and takes other currencies by the European Central Bank's daily file: both directions, a cross between two
//! foreign currencies, and a markup. `cargo run -p dropin-ecb-rates --example shop`
#![allow(clippy::unwrap_used, reason = "an example ends at the first thing that is wrong")]

use dropin_ecb_rates::read_days;
use dropin_money::{Amount, Currency, Decimal};
use dropin_rates::{
    Dated, ExchangeError, Markup, Pricing, RateSourceLimits, Source, SourceTable, Table, is_publication_day,
};
use time::macros::datetime;

/// As the bank writes it, with the currencies that this shop takes.
const DAILY: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<gesmes:Envelope xmlns:gesmes=\"http://www.gesmes.org/xml/2002-08-01\" xmlns=\"http://www.ecb.int/vocabulary/2002-08-01/eurofxref\">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender>
		<gesmes:name>European Central Bank</gesmes:name>
	</gesmes:Sender>
	<Cube>
		<Cube time='2026-11-20'>
			<Cube currency='USD' rate='1.1172'/>
			<Cube currency='JPY' rate='175.68'/>
			<Cube currency='GBP' rate='0.83380'/>
			<Cube currency='SEK' rate='11.0215'/>
		</Cube>
	</Cube>
</gesmes:Envelope>
";

fn main() {
    let table = table_of_today();
    let basket = ["19.99", "149.50", "18.01"].map(|price| amount(Currency::Eur, price));
    let total = basket.iter().try_fold(Amount::zero(Currency::Eur), |sum, price| sum.checked_add(price)).unwrap();
    assert_eq!(total.to_string(), "187.50");
    show_reference_prices(&table, &total);
    sell_with_markup(&table, &total);
    compare_foreign_prices(&table);
}

/// The bank's rates in a table, through the guards against stale days and slipped points.
fn table_of_today() -> Table {
    let days = read_days(DAILY.as_bytes()).unwrap();
    let (day, rates) = days.into_iter().next_back().unwrap();
    assert!(is_publication_day(day));
    let bank = SourceTable { source: Source::Primary, dated: Dated::On(day), rates };
    let (now, limits) = (datetime!(2026-11-20 17:30 UTC).into(), RateSourceLimits::default());
    let merged = Table::default().merge(&[bank], now, &limits);
    assert!(merged.refused.is_empty() && !merged.table.is_stale(now, &limits));
    merged.table
}

/// What the basket costs at the reference rates, and what such a price is in euros.
fn show_reference_prices(table: &Table, total: &Amount) {
    for (currency, shown, back) in [
        (Currency::Usd, "209.48", "187.50"),  // 209.475: half to even; back 187.504…
        (Currency::Jpy, "32940", "187.50"),   // 32940 exactly
        (Currency::Gbp, "156.34", "187.50"),  // 156.3375
        (Currency::Sek, "2066.53", "187.50"), // 2066.53125
    ] {
        let rate = table.cross(Currency::Eur, currency).unwrap();
        let price = rate.convert(total).unwrap();
        println!("{total} EUR are {price} {currency} at {rate}");
        assert_eq!((price.currency(), price.to_string().as_str()), (currency, shown));
        assert_eq!(rate.convert(&price).unwrap().to_string(), back);
    }
}

/// What the shopper pays with a markup of 2.5 %, and what that settles for.
fn sell_with_markup(table: &Table, total: &Amount) {
    let markup = Markup::from_basis_points(250).unwrap();
    let currencies = [Currency::Usd, Currency::Jpy, Currency::Gbp];
    let pricing = Pricing { settlement: Currency::Eur, markups: currencies.map(|currency| (currency, markup)).into() };
    let expected = [
        ("EUR/USD 1.14513", "214.71"),
        ("EUR/JPY 180.072", "33764"), // 33763.5: half to even
        ("EUR/GBP 0.854645", "160.25"),
    ];
    for (rate, (shown, price)) in pricing.rates(table, currencies).zip(expected) {
        let pays = rate.to_quote(total).unwrap();
        let settles = rate.settlement_amount(&pays).unwrap();
        println!("the shopper pays {pays} {} at {rate}, and {settles} EUR are settled", pays.currency());
        assert_eq!((rate.to_string().as_str(), pays.to_string().as_str()), (shown, price));
        assert_eq!(settles, *total);
    }
    // A rate for dollars settles no yen.
    let dollars = pricing.rate(table, Currency::Usd).unwrap();
    assert_eq!(dollars.settlement_amount(&amount(Currency::Jpy, "33764")), Err(ExchangeError::CurrencyMismatch));
    assert_eq!(dollars.settlement_amount(total), Err(ExchangeError::CurrencyMismatch));
}

/// A price in pounds in yen: the two rates of the bank are crossed and rounded once, to ten digits.
fn compare_foreign_prices(table: &Table) {
    let rate = table.cross(Currency::Gbp, Currency::Jpy).unwrap();
    assert_eq!(rate.to_string(), "GBP/JPY 210.6980091"); // 175.68 / 0.8338
    let (pounds, yen) = (amount(Currency::Gbp, "25.00"), amount(Currency::Jpy, "5267"));
    assert_eq!(rate.convert(&pounds).as_ref(), Ok(&yen));
    assert_eq!(rate.convert(&yen), Ok(pounds));
}

fn amount(currency: Currency, text: &str) -> Amount {
    Amount::from_decimal(currency, &Decimal::parse(text).unwrap()).unwrap()
}
