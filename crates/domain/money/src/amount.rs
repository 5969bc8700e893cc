use std::fmt;

use crate::{Currency, Decimal};

/// Most digits before the decimal point, in amounts and in sums (decisions.md section 1).
pub const MAX_INTEGER_DIGITS: u32 = 12;

/// Why a number is no amount of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// More decimals than the currency's minor unit has.
    #[error("{currency} has {decimals} decimals at most", decimals = .currency.exponent())]
    TooPrecise {
        /// The currency whose minor unit is too coarse for the number.
        currency: Currency,
    },
    /// Below zero.
    #[error("must not be negative")]
    Negative,
    /// More than twelve integer digits.
    #[error("must have at most {MAX_INTEGER_DIGITS} digits before the decimal point")]
    TooLarge,
    /// Two currencies met in one calculation.
    #[error("amounts of different currencies do not add up")]
    CurrencyMismatch,
}

/// A non-negative amount of money, exact: a count of its currency's minor units.
///
/// Below 10^12 in the currency's major unit, so that every sum and difference of two fits 64 bits with room to spare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    currency: Currency,
    minor: i64,
}

impl Amount {
    /// Nothing of `currency`.
    pub const fn zero(currency: Currency) -> Self {
        Self { currency, minor: 0 }
    }

    /// From a number as it was written.
    ///
    /// # Errors
    /// [`AmountError`] when it is negative, has too many integer digits, or more decimals than the minor unit (trailing zeros
    /// do not count).
    pub fn from_decimal(currency: Currency, number: &Decimal) -> Result<Self, AmountError> {
        if number.is_negative() {
            return Err(AmountError::Negative);
        }
        let (digits, exact) = number.shifted(currency.exponent());
        if !exact {
            return Err(AmountError::TooPrecise { currency });
        }
        Self::bounded(currency, i64::try_from(digits).map_err(|_beyond| AmountError::TooLarge)?)
    }

    /// From minor units (cents for USD, yen for JPY).
    ///
    /// # Errors
    /// [`AmountError::Negative`], [`AmountError::TooLarge`].
    pub fn from_minor(currency: Currency, minor: i64) -> Result<Self, AmountError> {
        Self::bounded(currency, minor)
    }

    fn bounded(currency: Currency, minor: i64) -> Result<Self, AmountError> {
        if minor < 0 {
            return Err(AmountError::Negative);
        }
        if 10_i64.pow(MAX_INTEGER_DIGITS + u32::from(currency.exponent())) <= minor {
            return Err(AmountError::TooLarge);
        }
        Ok(Self { currency, minor })
    }

    /// The currency.
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The amount in minor units.
    pub const fn minor(&self) -> i64 {
        self.minor
    }

    /// Whether it is nothing.
    pub const fn is_zero(&self) -> bool {
        self.minor == 0
    }

    /// The sum.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`], [`AmountError::TooLarge`].
    pub fn checked_add(&self, other: &Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        Self::bounded(self.currency, self.minor + other.minor)
    }

    /// The difference.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`], [`AmountError::Negative`] when `other` is larger.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        Self::bounded(self.currency, self.minor - other.minor)
    }

    fn same_currency(&self, other: &Self) -> Result<(), AmountError> {
        if self.currency == other.currency { Ok(()) } else { Err(AmountError::CurrencyMismatch) }
    }
}

impl PartialOrd for Amount {
    /// Amounts of different currencies have no order.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (self.currency == other.currency).then(|| self.minor.cmp(&other.minor))
    }
}

impl fmt::Display for Amount {
    /// The plain number with all decimals of the currency and without its code: `29.90`, a valid JSON number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = usize::from(self.currency.exponent());
        if decimals == 0 {
            return write!(f, "{}", self.minor);
        }
        let one = 10_i64.pow(u32::from(self.currency.exponent()));
        write!(f, "{}.{:0decimals$}", self.minor / one, self.minor % one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(currency: &str, text: &str) -> Result<Amount, AmountError> {
        Amount::from_decimal(currency.parse().unwrap(), &Decimal::parse(text).unwrap())
    }

    #[test]
    fn scale_is_the_currencys_minor_unit() {
        assert_eq!(amount("USD", "29.9").unwrap().to_string(), "29.90");
        assert_eq!(amount("USD", "29.900").unwrap().minor(), 2990);
        assert_eq!(amount("JPY", "1e3").unwrap().to_string(), "1000");
        assert_eq!(amount("KWD", "0.001").unwrap().minor(), 1);
        assert_eq!(amount("JPY", "0.5"), Err(AmountError::TooPrecise { currency: Currency::Jpy }));
        assert_eq!(amount("USD", "0.001"), Err(AmountError::TooPrecise { currency: Currency::Usd }));
    }

    #[test]
    fn twelve_integer_digits_and_no_more() {
        assert_eq!(amount("KWD", "999999999999.999").unwrap().minor(), 999_999_999_999_999);
        assert_eq!(amount("USD", "1000000000000"), Err(AmountError::TooLarge));
        let most = amount("USD", "999999999999.99").unwrap();
        assert_eq!(most.checked_add(&amount("USD", "0.01").unwrap()), Err(AmountError::TooLarge));
    }

    #[test]
    fn negative_amounts_and_mixed_currencies_do_not_exist() {
        assert_eq!(amount("USD", "-0.01"), Err(AmountError::Negative));
        assert_eq!(amount("USD", "-0").map(|a| a.to_string()), Ok("0.00".to_owned()));
        let (one, two) = (amount("USD", "1").unwrap(), amount("USD", "2").unwrap());
        assert_eq!(one.checked_sub(&two), Err(AmountError::Negative));
        assert_eq!(one.checked_add(&amount("EUR", "1").unwrap()), Err(AmountError::CurrencyMismatch));
        assert_eq!(one.partial_cmp(&amount("EUR", "1").unwrap()), None);
    }

    proptest! {
        #[test]
        fn minor_units_round_trip_for_every_currency(minor in 0..1_000_000_000_000_i64, pick in 0..60_usize) {
            let currency = Currency::ALL[pick];
            let there = Amount::from_minor(currency, minor).unwrap();
            prop_assert_eq!(there.minor(), minor);
            let again = Amount::from_decimal(currency, &Decimal::parse(&there.to_string()).unwrap()).unwrap();
            prop_assert_eq!(again, there);
        }

        #[test]
        fn sums_are_integer_sums_of_minor_units(a in 0..100_000_000_000_i64, b in 0..100_000_000_000_i64) {
            let (x, y) = (Amount::from_minor(Currency::Usd, a).unwrap(), Amount::from_minor(Currency::Usd, b).unwrap());
            prop_assert_eq!(x.checked_add(&y).unwrap().minor(), a + b);
            prop_assert_eq!(x.checked_add(&y).unwrap().checked_sub(&y).unwrap(), x);
        }
    }
}
