use std::fmt;
use std::str::FromStr;

use dropin_money::{Amount, Currency};

use crate::ratio::divide_half_even;
use crate::{Rate, RateError};

/// Why there is no such exchange rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeRateError {
    /// One unit of a currency would cost more or less than one unit of the same currency.
    #[error("must be exactly 1 between a currency and itself")]
    SameCurrency,
    /// The text has another form than `EUR/USD 1.1172`.
    #[error("must be written like EUR/USD 1.1172, which says that 1 EUR costs 1.1172 USD")]
    Form,
    /// One of the two codes is no known currency.
    #[error("has a currency code that is not known")]
    Currency,
    /// The number is no rate.
    #[error("has a wrong rate: it {0}")]
    Rate(RateError),
}

/// Why an amount has no counterpart at an exchange rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// It would have more than twelve digits before the point.
    #[error("the amount is too large in the other currency")]
    TooLarge,
    /// It is worth less than one minor unit, and the operation gives no zero for something.
    #[error("the amount is worth less than the smallest unit of the other currency")]
    TooSmall,
    /// The amount is in a currency that the rate does not convert from: a defect of the caller.
    #[error("the amount is in another currency than the rate converts from")]
    CurrencyMismatch,
}

/// What one unit of the base currency costs in the quote currency: a [`Rate`] that knows its pair and converts no other currency.
///
/// `EUR/USD 1.1172` means that 1 EUR (base) costs 1.1172 USD (quote), as currency pairs are written on every market. An amount is converted in
/// either direction by exact integer arithmetic and rounded once, half to even, to the minor unit of the currency that it becomes: towards the
/// quote it is multiplied by the rate, towards the base it is divided by it. No inverse is computed on the way, so none is rounded.
///
/// Displays as `EUR/USD 1.1172`; that text is its serialized form too.
///
/// ```
/// use dropin_money::{Amount, Currency};
/// use dropin_rates::{ExchangeError, ExchangeRate};
///
/// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
/// let euros = Amount::from_minor(Currency::Eur, 18_750).unwrap();
/// let dollars = rate.convert(&euros).unwrap();
/// assert_eq!((dollars.currency(), dollars.to_string()), (Currency::Usd, "209.48".to_owned())); // 209.475 exactly
/// assert_eq!(rate.convert(&dollars), Ok(euros)); // 187.5044…
///
/// let yen = Amount::from_minor(Currency::Jpy, 1_000).unwrap();
/// assert_eq!(rate.convert(&yen), Err(ExchangeError::CurrencyMismatch));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeRate {
    base: Currency,
    quote: Currency,
    rate: Rate,
}

impl ExchangeRate {
    /// The rate at which one unit of `base` costs `rate` units of `quote`.
    ///
    /// # Errors
    /// [`ExchangeRateError::SameCurrency`] when both are the same currency and the rate is not exactly one.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::{ExchangeRate, ExchangeRateError, Rate};
    ///
    /// let rate = ExchangeRate::new(Currency::Eur, Currency::Usd, Rate::parse("1.1172").unwrap()).unwrap();
    /// assert_eq!(rate.to_string(), "EUR/USD 1.1172");
    /// let twice = Rate::parse("2").unwrap();
    /// assert_eq!(ExchangeRate::new(Currency::Eur, Currency::Eur, twice), Err(ExchangeRateError::SameCurrency));
    /// ```
    pub fn new(base: Currency, quote: Currency, rate: Rate) -> Result<Self, ExchangeRateError> {
        if base == quote && rate != Rate::ONE {
            return Err(ExchangeRateError::SameCurrency);
        }
        Ok(Self { base, quote, rate })
    }

    /// The rate between a currency and itself: one.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::ExchangeRate;
    ///
    /// assert_eq!(ExchangeRate::identity(Currency::Eur).to_string(), "EUR/EUR 1");
    /// ```
    pub const fn identity(currency: Currency) -> Self {
        Self { base: currency, quote: currency, rate: Rate::ONE }
    }

    /// The currency that one unit is taken of.
    ///
    /// ```
    /// # use dropin_rates::ExchangeRate;
    /// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    /// assert_eq!((rate.base().code(), rate.quote().code()), ("EUR", "USD"));
    /// ```
    pub const fn base(self) -> Currency {
        self.base
    }

    /// The currency in which the price of that unit is told.
    ///
    /// ```
    /// # use dropin_rates::ExchangeRate;
    /// let rate: ExchangeRate = "GBP/JPY 210.5".parse().unwrap();
    /// assert_eq!(rate.quote().code(), "JPY");
    /// ```
    pub const fn quote(self) -> Currency {
        self.quote
    }

    /// Units of the quote currency for one unit of the base currency.
    ///
    /// ```
    /// # use dropin_rates::{ExchangeRate, Rate};
    /// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    /// assert_eq!(rate.rate(), Rate::parse("1.1172").unwrap());
    /// ```
    pub const fn rate(self) -> Rate {
        self.rate
    }

    /// The amount in the other currency of the pair: from the base as [`to_quote`](Self::to_quote), from the quote as
    /// [`to_base`](Self::to_base).
    ///
    /// # Errors
    /// [`ExchangeError::CurrencyMismatch`] for an amount in a third currency, [`ExchangeError::TooLarge`].
    ///
    /// ```
    /// # use dropin_money::{Amount, Currency};
    /// # use dropin_rates::ExchangeRate;
    /// let rate: ExchangeRate = "KWD/JPY 500".parse().unwrap();
    /// let yen = Amount::from_minor(Currency::Jpy, 1_001).unwrap();
    /// assert_eq!(rate.convert(&yen).unwrap().to_string(), "2.002");
    /// ```
    pub fn convert(self, amount: &Amount) -> Result<Amount, ExchangeError> {
        if amount.currency() == self.base { self.to_quote(amount) } else { self.to_base(amount) }
    }

    /// What an amount in the base currency is in the quote currency: the exact product, rounded once, half to even, to the minor unit. What is
    /// worth less than half a minor unit becomes zero.
    ///
    /// # Errors
    /// [`ExchangeError::CurrencyMismatch`] for an amount in any other currency than the base, [`ExchangeError::TooLarge`].
    ///
    /// ```
    /// # use dropin_money::{Amount, Currency};
    /// # use dropin_rates::{ExchangeError, ExchangeRate};
    /// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    /// let euros = Amount::from_minor(Currency::Eur, 10_000).unwrap();
    /// assert_eq!(rate.to_quote(&euros).unwrap().to_string(), "111.72");
    /// let dollars = Amount::from_minor(Currency::Usd, 10_000).unwrap();
    /// assert_eq!(rate.to_quote(&dollars), Err(ExchangeError::CurrencyMismatch));
    /// ```
    pub fn to_quote(self, amount: &Amount) -> Result<Amount, ExchangeError> {
        expect_currency(amount, self.base)?;
        let (digits, decimals) = self.rate.parts();
        Exact::new(
            self.quote,
            minor(amount) * digits * ten_to_the(u32::from(self.quote.exponent())),
            ten_to_the(u32::from(self.base.exponent()) + decimals),
        )
        .rounded()
    }

    /// What an amount in the quote currency is in the base currency: the exact quotient, rounded once, half to even, to the minor unit. What is
    /// worth less than half a minor unit becomes zero.
    ///
    /// # Errors
    /// [`ExchangeError::CurrencyMismatch`] for an amount in any other currency than the quote, [`ExchangeError::TooLarge`].
    ///
    /// ```
    /// # use dropin_money::{Amount, Currency};
    /// # use dropin_rates::{ExchangeError, ExchangeRate};
    /// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    /// let dollars = Amount::from_minor(Currency::Usd, 99_95).unwrap();
    /// assert_eq!(rate.to_base(&dollars).unwrap().to_string(), "89.46"); // 89.464733…
    /// let euros = Amount::from_minor(Currency::Eur, 10_000).unwrap();
    /// assert_eq!(rate.to_base(&euros), Err(ExchangeError::CurrencyMismatch));
    /// ```
    pub fn to_base(self, amount: &Amount) -> Result<Amount, ExchangeError> {
        self.exactly_in_base(amount)?.rounded()
    }

    /// The minor units of the base currency that an amount in the quote currency comes to, not rounded yet.
    pub(crate) fn exactly_in_base(self, amount: &Amount) -> Result<Exact, ExchangeError> {
        expect_currency(amount, self.quote)?;
        let (digits, decimals) = self.rate.parts();
        Ok(Exact::new(
            self.base,
            minor(amount) * ten_to_the(u32::from(self.base.exponent()) + decimals),
            digits * ten_to_the(u32::from(self.quote.exponent())),
        ))
    }
}

fn expect_currency(amount: &Amount, currency: Currency) -> Result<(), ExchangeError> {
    if amount.currency() == currency { Ok(()) } else { Err(ExchangeError::CurrencyMismatch) }
}

/// Minor units of a currency as an exact fraction.
///
/// Nothing overflows: ISO 4217 has minor units of four decimals at most, so an amount is below 10^16 minor units, the digits of a rate are below
/// 10^15 and its decimals at most 18: both parts stay at 10^38 or below.
pub(crate) struct Exact {
    currency: Currency,
    numerator: u128,
    denominator: u128,
}

impl Exact {
    const fn new(currency: Currency, numerator: u128, denominator: u128) -> Self {
        Self { currency, numerator, denominator }
    }

    /// Whether it is something, and less than one minor unit.
    pub(crate) const fn is_below_minor_unit(&self) -> bool {
        0 < self.numerator && self.numerator < self.denominator
    }

    /// The nearest whole number of minor units, half to even.
    pub(crate) fn rounded(&self) -> Result<Amount, ExchangeError> {
        let minor = i64::try_from(divide_half_even(self.numerator, self.denominator));
        let amount = minor.ok().and_then(|minor| Amount::from_minor(self.currency, minor).ok());
        amount.ok_or(ExchangeError::TooLarge)
    }
}

/// An amount is never negative.
fn minor(amount: &Amount) -> u128 {
    u128::from(amount.minor().unsigned_abs())
}

fn ten_to_the(power: u32) -> u128 {
    10_u128.pow(power)
}

impl FromStr for ExchangeRate {
    type Err = ExchangeRateError;

    /// Reads `EUR/USD 1.1172`: two codes in capitals with a slash between them, one space, and a number as [`Rate::parse`] takes it.
    fn from_str(text: &str) -> Result<Self, ExchangeRateError> {
        let (pair, rate) = text.split_once(' ').ok_or(ExchangeRateError::Form)?;
        let (base, quote) = pair.split_once('/').ok_or(ExchangeRateError::Form)?;
        let currency = |code: &str| code.parse().map_err(|_unknown| ExchangeRateError::Currency);
        Self::new(currency(base)?, currency(quote)?, Rate::parse(rate).map_err(ExchangeRateError::Rate)?)
    }
}

impl fmt::Display for ExchangeRate {
    /// Aligned like a number where a width is given; a precision is ignored, since it would cut the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(true, "", &format!("{}/{} {}", self.base, self.quote, self.rate))
    }
}

impl fmt::Debug for ExchangeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.base, self.quote, self.rate)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(ExchangeRate);

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(currency: Currency, minor: i64) -> Amount {
        Amount::from_minor(currency, minor).unwrap()
    }

    fn rate(text: &str) -> ExchangeRate {
        text.parse().unwrap()
    }

    #[test]
    fn both_directions_are_exact_and_rounded_once() {
        use Currency::{Eur, Jpy, Kwd, Usd};
        for (text, from, minor, shown) in [
            // Through an inverse of ten digits this became 209.47.
            ("EUR/USD 1.1172", Eur, 18_750, "209.48"),
            ("EUR/USD 1.1172", Usd, 20_948, "187.50"),
            ("USD/EUR 2", Eur, 1_01, "0.50"),
            ("USD/EUR 2", Eur, 1_03, "0.52"),
            ("USD/EUR 0.5", Usd, 1_01, "0.50"),
            ("USD/EUR 0.5", Usd, 1_03, "0.52"),
            ("KWD/JPY 500", Kwd, 1, "0"),
            ("KWD/JPY 500", Kwd, 3, "2"),
            ("KWD/JPY 500", Jpy, 1, "0.002"),
            ("EUR/JPY 175.68", Eur, 19_99, "3512"),
            ("EUR/EUR 1", Eur, 99_999_999_999_999, "999999999999.99"),
        ] {
            assert_eq!(
                rate(text).convert(&amount(from, minor)).unwrap().to_string(),
                shown,
                "{minor} {from} at {text}"
            );
        }
    }

    #[test]
    fn an_amount_of_another_currency_is_refused() {
        // Settled as if it were dollars, 100.00 EUR gave 89.51 USD.
        let euro = rate("EUR/USD 1.1172");
        let (euros, yen) = (amount(Currency::Eur, 10_000), amount(Currency::Jpy, 100));
        assert_eq!(euro.to_base(&euros), Err(ExchangeError::CurrencyMismatch));
        assert_eq!(euro.settlement_amount(&euros), Err(ExchangeError::CurrencyMismatch));
        assert_eq!(euro.to_quote(&amount(Currency::Usd, 1)), Err(ExchangeError::CurrencyMismatch));
        assert_eq!(euro.convert(&yen), Err(ExchangeError::CurrencyMismatch));
        assert_eq!(rate("USD/EUR 1.1172").to_base(&euros).unwrap().to_string(), "89.51", "another rate altogether");
    }

    #[test]
    fn amounts_end_at_twelve_digits_in_both_directions() {
        let most = 999_999_999_999_999;
        assert_eq!(rate("KWD/LBP 999999999").convert(&amount(Currency::Kwd, most)), Err(ExchangeError::TooLarge));
        let least = rate("KWD/BHD 0.000000010203040506");
        assert_eq!(least.to_base(&amount(Currency::Bhd, most)), Err(ExchangeError::TooLarge));
        assert_eq!(least.to_quote(&amount(Currency::Kwd, most)).unwrap().to_string(), "10203.041");
        let widest = rate("KWD/BHD 999999999.999999");
        assert_eq!(widest.to_quote(&amount(Currency::Kwd, most)), Err(ExchangeError::TooLarge));
        assert_eq!(widest.to_base(&amount(Currency::Bhd, most)).unwrap().to_string(), "1000.000");
    }

    #[test]
    fn text_and_back() {
        use ExchangeRateError::{Currency as Unknown, Form, SameCurrency};
        assert_eq!(rate("EUR/USD 1.1172").to_string(), "EUR/USD 1.1172");
        assert_eq!(rate("EUR/USD 1.11720").to_string(), "EUR/USD 1.1172");
        assert_eq!(format!("{:>16}|{:?}", rate("EUR/EUR 1"), rate("EUR/EUR 1")), "       EUR/EUR 1|EUR/EUR 1");
        for (text, error) in [
            ("", Form),
            ("1.1172", Form),
            ("EURUSD 1.1172", Form),
            ("EUR/USD", Form),
            ("EUR / USD 1.1172", Form),
            ("eur/usd 1.1172", Unknown),
            ("EUR/XXX 1.1172", Unknown),
            ("EUR/USD/JPY 1.1172", Unknown),
            ("EUR/USD  1.1172", ExchangeRateError::Rate(RateError::NotANumber)),
            ("EUR/USD 0", ExchangeRateError::Rate(RateError::NotPositive)),
            ("EUR/EUR 1.1", SameCurrency),
        ] {
            assert_eq!(text.parse::<ExchangeRate>(), Err(error), "{text}");
        }
        let message = "EUR/USD 0".parse::<ExchangeRate>().unwrap_err().to_string();
        assert_eq!(message, "has a wrong rate: it must be greater than zero");
    }
}
