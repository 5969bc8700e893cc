//! Money is exact from its text to minor units and back, in every currency, whatever the numbers.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::{Duration, Instant};

use dropin_money::{Amount, AmountError, Currency, Decimal, DecimalError, MAX_INTEGER_DIGITS};
use proptest::prelude::*;

/// The first count of minor units that is too large.
fn limit(currency: Currency) -> i64 {
    10_i64.pow(MAX_INTEGER_DIGITS + u32::from(currency.exponent()))
}

/// Any amount of any currency: (currency, minor units), small and large ones alike.
fn amounts() -> impl Strategy<Value = (Currency, i64)> {
    (prop::sample::select(Currency::ALL), 0..=15_u32, any::<i64>()).prop_map(|(currency, digits, raw)| {
        let below = limit(currency).min(10_i64.pow(digits));
        (currency, raw.rem_euclid(below))
    })
}

/// The plain number by string operations alone: no arithmetic to trust.
fn written(currency: Currency, minor: i64) -> String {
    let decimals = usize::from(currency.exponent());
    let digits = format!("{minor:0width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    if decimals == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn read(currency: Currency, text: &str) -> Result<Amount, AmountError> {
    Amount::from_decimal(currency, &Decimal::parse(text).unwrap())
}

/// The list of docs/SPECIFICATION.md#currencies.
const SPECIFIED: &str = "USD, EUR, CAD, GBP, AUD, BRL, JPY, MXN, CHF, SGD, ILS, NZD, HKD, AED, SEK, SAR, DKK, NOK, RUB, MYR, PHP, THB, KRW, INR, CLP, PLN, TWD, \
     TRY, CZK, KWD, QAR, ZAR, HUF, RON, PEN, IDR, CNY, EGP, ARS, COP, ISK, UAH, HRK, BND, BHD, CRC, PKR, BGN, VND, LKR, MOP, MAD, GTQ, BMD, OMR, RSD, DOP, \
     PAB, LBP, TTD";

#[test]
fn the_enumeration_is_that_of_the_specification() {
    let codes: Vec<_> = Currency::ALL.iter().map(|currency| currency.code()).collect();
    assert_eq!(codes, SPECIFIED.split(", ").collect::<Vec<_>>());
}

#[test]
fn the_edges_of_every_currency() {
    for currency in Currency::ALL.iter().copied() {
        let most = limit(currency) - 1;
        for minor in [0, 1, 9, 10, 99, 100, 999, 1_000, most - 1, most] {
            let amount = read(currency, &written(currency, minor)).unwrap();
            assert_eq!((amount.minor(), amount.to_string()), (minor, written(currency, minor)), "{currency}");
        }
        assert_eq!(Amount::from_minor(currency, most + 1), Err(AmountError::TooLarge));
        assert_eq!(read(currency, "1000000000000"), Err(AmountError::TooLarge));
        let finer = format!("0.{}1", "0".repeat(usize::from(currency.exponent())));
        assert_eq!(read(currency, &finer), Err(AmountError::TooPrecise { currency: currency.into() }));
    }
}

#[test]
fn tenths_add_up() {
    let usd = |text| read(Currency::Usd, text).unwrap();
    assert_eq!(usd("0.1").checked_add(&usd("0.2")).unwrap().to_string(), "0.30");
    let ten_cents = usd("0.10");
    let sum = (0..1_000_000).fold(Amount::zero(Currency::Usd), |sum, _| sum.checked_add(&ten_cents).unwrap());
    assert_eq!(sum.to_string(), "100000.00");
}

#[test]
fn what_is_too_long_to_be_a_number_is_refused_in_no_time() {
    let (digits, zeros) = ("9".repeat(400_000), format!("0.{}1", "0".repeat(400_000)));
    let texts = ["1e999999999", "1e-999999999", "-1E+999999999999999999999999999999", digits.as_str(), zeros.as_str()];
    // They cost the same each time; what other tests take away meanwhile does not.
    let fastest = (0..20).map(|_| {
        let begun = Instant::now();
        for text in texts {
            assert_eq!(Decimal::parse(text), Err(DecimalError::OutOfRange));
        }
        begun.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest < Duration::from_millis(50), "five numbers took {fastest:?} in a debug build");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn text_to_amount_to_text_and_minor_units_is_the_identity((currency, minor) in amounts()) {
        let text = written(currency, minor);
        let amount = read(currency, &text).unwrap();
        prop_assert_eq!(amount.to_string(), text);
        prop_assert_eq!(amount.minor(), minor);
        prop_assert_eq!(Amount::from_minor(currency, minor).unwrap(), amount);
    }

    #[test]
    fn one_number_has_many_writings((currency, minor) in amounts(), zeros in 0..4_usize) {
        let (exponent, padding) = (currency.exponent(), "0".repeat(zeros));
        let plain = written(currency, minor);
        let padded = if exponent == 0 { format!("{plain}.0{padding}") } else { format!("{plain}{padding}") };
        for text in [padded, format!("{minor}e-{exponent}"), format!("{minor}.{padding}0E-0{exponent}")] {
            prop_assert_eq!(read(currency, &text).unwrap().minor(), minor, "{}", text);
        }
        if minor % 10 != 0 {
            let finer = format!("{minor}e-{}", exponent + 1);
            prop_assert_eq!(read(currency, &finer), Err(AmountError::TooPrecise { currency: currency.into() }), "{}", finer);
        }
    }

    #[test]
    fn sums_and_differences_are_those_of_integers((currency, a) in amounts(), raw in any::<i64>()) {
        let b = raw.rem_euclid(limit(currency));
        let (x, y) = (Amount::from_minor(currency, a).unwrap(), Amount::from_minor(currency, b).unwrap());
        let sum = (a + b < limit(currency)).then_some(a + b).ok_or(AmountError::TooLarge);
        prop_assert_eq!(x.checked_add(&y).map(|sum| sum.minor()), sum);
        let difference = (b <= a).then_some(a - b).ok_or(AmountError::Negative);
        prop_assert_eq!(x.checked_sub(&y).map(|difference| difference.minor()), difference);
        prop_assert_eq!(x.partial_cmp(&y), Some(a.cmp(&b)));
    }

    #[test]
    fn no_text_makes_a_number_panic(text in "[-+0-9.eE]{0,50}") {
        if let Ok(number) = Decimal::parse(&text) {
            for currency in [Currency::Jpy, Currency::Usd, Currency::Kwd] {
                if let Ok(amount) = Amount::from_decimal(currency, &number) {
                    prop_assert!((0..limit(currency)).contains(&amount.minor()));
                }
            }
        }
    }
}
