use std::borrow::Borrow;
use std::cmp::Ordering;

use crate::{Currency, Decimal, IsoCurrency};

/// Most digits before the decimal point, in amounts and in sums (docs/SPECIFICATION.md#integer-digits): an amount is below 10^12.
///
/// ```
/// assert_eq!(dropin_money::MAX_INTEGER_DIGITS, 12);
/// ```
pub const MAX_INTEGER_DIGITS: u32 = 12;

/// Why a number is no amount of its currency, or a calculation has none.
///
/// ```
/// use dropin_money::{Amount, Currency, Decimal};
///
/// let error = Amount::from_decimal(Currency::Jpy, &Decimal::parse("0.5")?).unwrap_err();
/// assert_eq!(error.to_string(), "JPY has 0 decimals at most");
/// # Ok::<(), dropin_money::DecimalError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// More decimals than the currency's minor unit has.
    #[error("{currency} has {decimals} decimals at most", decimals = .currency.exponent())]
    TooPrecise {
        /// The currency whose minor unit is too coarse for the number.
        currency: IsoCurrency,
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
    /// An amount was to be allocated to no part, or to parts that all weigh nothing.
    #[error("must be allocated to a part that weighs more than zero")]
    NoWeight,
}

/// A non-negative amount of money, exact: a count of its currency's minor units.
///
/// Below 10^12 in the currency's major unit, so that every sum and difference of two fits 64 bits with room to spare. Amounts of
/// one currency have an order, those of two have none. There are no operators: each calculation can fail, and says why.
///
/// The text is the plain number, and with `#` the number and the code, which [`FromStr`](std::str::FromStr) reads.
///
/// ```
/// use dropin_money::{Amount, Currency};
///
/// let price: Amount = "29.90 EUR".parse()?;
/// assert_eq!((price.currency(), price.minor()), (Currency::Eur, 2990));
/// assert_eq!(format!("{price} or {price:#}"), "29.90 or 29.90 EUR");
/// # Ok::<(), dropin_money::ParseAmountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    currency: Currency,
    minor: i64,
}

impl Amount {
    /// Nothing of `currency`.
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    ///
    /// assert_eq!(format!("{:#}", Amount::zero(Currency::Usd)), "0.00 USD");
    /// ```
    pub const fn zero(currency: Currency) -> Self {
        Self { currency, minor: 0 }
    }

    /// From a number as it was written.
    ///
    /// # Errors
    /// [`AmountError`] when it is negative, has too many integer digits, or more decimals than the minor unit (trailing zeros
    /// do not count).
    ///
    /// ```
    /// use dropin_money::{Amount, Currency, Decimal};
    ///
    /// let price = Amount::from_decimal(Currency::Usd, &Decimal::parse("29.900")?)?;
    /// assert_eq!(price.minor(), 2990);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_decimal(currency: Currency, number: &Decimal) -> Result<Self, AmountError> {
        IsoCurrency::from(currency).minor_units(number).map(|minor| Self { currency, minor })
    }

    /// From minor units (cents for USD, yen for JPY).
    ///
    /// # Errors
    /// [`AmountError::Negative`], [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, AmountError, Currency};
    ///
    /// assert_eq!(Amount::from_minor(Currency::Kwd, 1)?.to_string(), "0.001");
    /// assert_eq!(Amount::from_minor(Currency::Kwd, -1), Err(AmountError::Negative));
    /// # Ok::<(), AmountError>(())
    /// ```
    pub fn from_minor(currency: Currency, minor: i64) -> Result<Self, AmountError> {
        bounded(currency.exponent(), minor).map(|minor| Self { currency, minor })
    }

    /// The currency.
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    ///
    /// assert_eq!(Amount::zero(Currency::Jpy).currency(), Currency::Jpy);
    /// ```
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The amount in minor units.
    ///
    /// ```
    /// # use dropin_money::Amount;
    /// assert_eq!("29.90 EUR".parse::<Amount>()?.minor(), 2990);
    /// # Ok::<(), dropin_money::ParseAmountError>(())
    /// ```
    pub const fn minor(&self) -> i64 {
        self.minor
    }

    /// The number in major units, with all decimals of the currency: for arithmetic that an amount does not have.
    ///
    /// ```
    /// use dropin_money::{Amount, Decimal, Rounding};
    ///
    /// let gross: Amount = "119.00 EUR".parse()?;
    /// let (currency, divisor) = (gross.currency(), Decimal::parse("1.19")?);
    /// let net = gross.to_decimal().checked_div(&divisor, currency.exponent(), Rounding::HalfUp)?;
    /// assert_eq!(Amount::from_decimal(currency, &net)?, "100.00 EUR".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_decimal(&self) -> Decimal {
        IsoCurrency::from(self.currency).to_decimal(self.minor)
    }

    /// Whether it is nothing.
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    ///
    /// assert!(Amount::zero(Currency::Usd).is_zero());
    /// ```
    pub const fn is_zero(&self) -> bool {
        self.minor == 0
    }

    /// The sum.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`], [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, AmountError};
    ///
    /// let (one, two): (Amount, Amount) = ("0.10 USD".parse()?, "0.20 USD".parse()?);
    /// assert_eq!(one.checked_add(&two)?.to_string(), "0.30");
    /// assert_eq!(one.checked_add(&"0.20 EUR".parse()?), Err(AmountError::CurrencyMismatch));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_add(&self, other: &Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        Self::from_minor(self.currency, self.minor + other.minor)
    }

    /// The difference.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`], [`AmountError::Negative`] when `other` is larger.
    ///
    /// ```
    /// use dropin_money::{Amount, AmountError};
    ///
    /// let (one, two): (Amount, Amount) = ("0.10 USD".parse()?, "0.20 USD".parse()?);
    /// assert_eq!(two.checked_sub(&one)?, one);
    /// assert_eq!(one.checked_sub(&two), Err(AmountError::Negative));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_sub(&self, other: &Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        Self::from_minor(self.currency, self.minor - other.minor)
    }

    /// The amount `times` over: a price and a quantity.
    ///
    /// # Errors
    /// [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::Amount;
    ///
    /// let price: Amount = "29.90 EUR".parse()?;
    /// assert_eq!(price.checked_mul(3)?.to_string(), "89.70");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_mul(&self, times: u64) -> Result<Self, AmountError> {
        let product = i128::from(self.minor) * i128::from(times);
        Self::from_minor(self.currency, i64::try_from(product).map_err(|_beyond| AmountError::TooLarge)?)
    }

    /// The sum of amounts of one currency, which has to be named since there may be no amount.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`], [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    ///
    /// let lines: [Amount; 2] = ["29.90 EUR".parse()?, "0.10 EUR".parse()?];
    /// assert_eq!(Amount::sum(Currency::Eur, lines)?.to_string(), "30.00");
    /// assert_eq!(Amount::sum(Currency::Eur, &lines[..0])?, Amount::zero(Currency::Eur));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sum<I>(currency: Currency, amounts: I) -> Result<Self, AmountError>
    where
        I: IntoIterator<Item: Borrow<Self>>,
    {
        amounts.into_iter().try_fold(Self::zero(currency), |sum, amount| sum.checked_add(amount.borrow()))
    }

    pub(crate) fn same_currency(&self, other: &Self) -> Result<(), AmountError> {
        if self.currency == other.currency { Ok(()) } else { Err(AmountError::CurrencyMismatch) }
    }
}

/// The minor units, when an amount of a currency with this exponent can have them.
pub(crate) fn bounded(exponent: u8, minor: i64) -> Result<i64, AmountError> {
    if minor < 0 {
        return Err(AmountError::Negative);
    }
    if 10_i64.pow(MAX_INTEGER_DIGITS + u32::from(exponent)) <= minor {
        return Err(AmountError::TooLarge);
    }
    Ok(minor)
}

impl PartialOrd for Amount {
    /// Amounts of different currencies have no order.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.currency == other.currency).then(|| self.minor.cmp(&other.minor))
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
        assert_eq!(amount("JPY", "0.5"), Err(AmountError::TooPrecise { currency: Currency::Jpy.into() }));
        assert_eq!(amount("USD", "0.001"), Err(AmountError::TooPrecise { currency: Currency::Usd.into() }));
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

    #[test]
    fn products_and_sums_are_exact_or_refused() {
        let most = amount("KWD", "999999999999.999").unwrap();
        assert_eq!((most.checked_mul(0), most.checked_mul(1)), (Ok(Amount::zero(Currency::Kwd)), Ok(most)));
        for times in [2, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(most.checked_mul(times), Err(AmountError::TooLarge));
        }
        let mixed = [amount("USD", "1").unwrap(), amount("EUR", "1").unwrap()];
        assert_eq!(Amount::sum(Currency::Usd, mixed), Err(AmountError::CurrencyMismatch));
        assert_eq!(Amount::sum(Currency::Eur, &mixed[..1]), Err(AmountError::CurrencyMismatch));
        assert_eq!(Amount::sum(Currency::Kwd, [most, most]), Err(AmountError::TooLarge));
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
