//! Amounts as Stripe counts them. Source: docs.stripe.com/currencies, "Zero-decimal currencies", "Three-decimal currencies" and "Special cases".

use dropin_money::{Amount, Currency};

/// The largest amount, in Stripe's units: eight digits, and twelve in rupiah.
const MAX_UNITS: i64 = 99_999_999;
const MAX_RUPIAH_UNITS: i64 = 999_999_999_999;

/// How Stripe's unit of a currency differs from the minor unit of ISO 4217.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Not at all.
    Same,
    /// A whole amount is written with two decimals that are zero.
    Hundredth,
    /// The last of three decimals must be zero.
    LastDigitZero,
}

/// The currencies whose amounts are not simply in minor units.
const SPECIAL: &[(Currency, Unit)] = &[
    (Currency::Isk, Unit::Hundredth),
    (Currency::Bhd, Unit::LastDigitZero),
    (Currency::Kwd, Unit::LastDigitZero),
    (Currency::Omr, Unit::LastDigitZero),
];

fn unit(currency: Currency) -> Unit {
    SPECIAL.iter().find(|(special, _)| *special == currency).map_or(Unit::Same, |(_, unit)| *unit)
}

/// The amount in Stripe's units; `None` when it cannot be said exactly.
pub(crate) fn to_units(amount: &Amount) -> Option<i64> {
    let minor = amount.minor();
    let units = match unit(amount.currency()) {
        Unit::Same => minor,
        Unit::Hundredth => minor.checked_mul(100)?,
        Unit::LastDigitZero => (minor % 10 == 0).then_some(minor)?,
    };
    let most = if amount.currency() == Currency::Idr { MAX_RUPIAH_UNITS } else { MAX_UNITS };
    (0..=most).contains(&units).then_some(units)
}

/// The amount that Stripe means; `None` when it makes no sense.
pub(crate) fn from_units(currency: &str, units: i64) -> Option<Amount> {
    let currency: Currency = currency.to_ascii_uppercase().parse().ok()?;
    let minor = match unit(currency) {
        Unit::Same | Unit::LastDigitZero => units,
        Unit::Hundredth => (units % 100 == 0).then_some(units / 100)?,
    };
    Amount::from_minor(currency, minor).ok().filter(|_| 0 <= minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the page lists them.
    const ZERO_DECIMAL: &[&str] = &[
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF",
    ];
    const THREE_DECIMAL: &[&str] = &["BHD", "JOD", "KWD", "OMR", "TND"];
    /// Written with two decimals that are zero, though they have none.
    const TWO_ZEROS: &[&str] = &["ISK", "UGX"];

    #[test]
    fn every_currency_is_counted_as_the_page_says() {
        for currency in Currency::ALL {
            let (code, exponent) = (currency.code(), currency.exponent());
            let expected = if TWO_ZEROS.contains(&code) {
                assert_eq!(exponent, 0, "{code}");
                Unit::Hundredth
            } else if THREE_DECIMAL.contains(&code) {
                assert_eq!(exponent, 3, "{code}");
                Unit::LastDigitZero
            } else {
                assert_eq!(exponent, if ZERO_DECIMAL.contains(&code) { 0 } else { 2 }, "{code}");
                Unit::Same
            };
            assert_eq!(unit(*currency), expected, "{code}");
        }
    }

    #[test]
    fn amounts_go_there_and_come_back_or_are_refused() {
        for (currency, minor, units) in [
            (Currency::Usd, 2_990, Some(2_990)),
            (Currency::Jpy, 500, Some(500)),
            (Currency::Isk, 5, Some(500)),
            (Currency::Kwd, 5_120, Some(5_120)),
            (Currency::Kwd, 5_124, None),
            (Currency::Huf, 1_045, Some(1_045)),
            (Currency::Usd, 99_999_999, Some(99_999_999)),
            (Currency::Usd, 100_000_000, None),
            (Currency::Isk, 1_000_000, None),
            (Currency::Idr, 100_000_000, Some(100_000_000)),
        ] {
            let amount = Amount::from_minor(currency, minor).unwrap();
            assert_eq!(to_units(&amount), units, "{currency} {minor}");
            if let Some(units) = units {
                assert_eq!(from_units(&currency.code().to_ascii_lowercase(), units), Some(amount));
            }
        }
        for (currency, units) in [("usd", -1), ("isk", 550), ("btc", 1), ("", 1)] {
            assert_eq!(from_units(currency, units), None, "{currency} {units}");
        }
    }
}
