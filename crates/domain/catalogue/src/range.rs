use std::fmt;
use std::str::FromStr;

use dropin_money::{Amount, AmountError, Currency, Decimal};

/// What may be paid with a method in one currency, both ends included.
///
/// Both ends are whole minor units (cents of EUR, yen of JPY), not negative and below 10^12 of the major unit, as an [`Amount`] is; the least is not above the most.
/// As text, and with the feature `serde`, it is what people read: `5.00 to 49999.99 BRL`, `at least 5 JPY`, `at most 7.500 KWD`.
///
/// ```
/// use dropin_catalogue::Range;
/// use dropin_money::{Amount, Currency};
///
/// let limits = Range::new(Currency::Eur, 50, Some(500_000))?;
/// assert!(limits.holds(&Amount::from_minor(Currency::Eur, 50)?));
/// assert!(!limits.holds(&Amount::from_minor(Currency::Eur, 49)?));
/// assert_eq!(limits.to_string(), "0.50 to 5000.00 EUR");
/// assert_eq!("0.50 to 5000.00 EUR".parse(), Ok(limits));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    currency: Currency,
    least: i64,
    most: Option<i64>,
}

/// Why there is no such [`Range`].
///
/// ```
/// use dropin_catalogue::{InvalidRange, Range};
/// use dropin_money::Currency;
///
/// assert_eq!(Range::new(Currency::Eur, 2, Some(1)), Err(InvalidRange::Reversed));
/// assert_eq!(InvalidRange::Reversed.to_string(), "ends before it begins: the most has to be at least the least");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidRange {
    /// The most is below the least.
    Reversed,
    /// An end is negative, or 10^12 of the major unit or more.
    End,
    /// The text has another form.
    Form,
}

impl fmt::Display for InvalidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reversed => "ends before it begins: the most has to be at least the least",
            Self::End => "has an end that is no amount: it has to be 0 or more, and below 10^12",
            Self::Form => "has to be written as 0.50 to 5000.00 EUR, at least 5 JPY or at most 7.500 KWD",
        })
    }
}

impl std::error::Error for InvalidRange {}

impl Range {
    /// From `least` to `most` minor units of `currency`; 0 and `None` stand for no limit.
    ///
    /// # Errors
    /// [`InvalidRange::Reversed`], [`InvalidRange::End`].
    ///
    /// ```
    /// use dropin_catalogue::Range;
    /// use dropin_money::Currency;
    ///
    /// assert!(Range::new(Currency::Jpy, 1, Some(300_000)).is_ok());
    /// assert!(Range::new(Currency::Jpy, -1, None).is_err());
    /// ```
    pub fn new(currency: Currency, least: i64, most: Option<i64>) -> Result<Self, InvalidRange> {
        for end in [Some(least), most].into_iter().flatten() {
            Amount::from_minor(currency, end).map_err(|_no_amount| InvalidRange::End)?;
        }
        if most.is_some_and(|most| most < least) {
            return Err(InvalidRange::Reversed);
        }
        Ok(Self { currency, least, most })
    }

    /// The same as a constant of the table, whose test holds it to the rule of [`Range::new`].
    pub(crate) const fn of_table(currency: Currency, least: i64, most: i64) -> Self {
        Self { currency, least, most: Some(most) }
    }

    /// The currency.
    ///
    /// ```
    /// # use dropin_catalogue::Range;
    /// # use dropin_money::Currency;
    /// assert_eq!(Range::new(Currency::Jpy, 1, None)?.currency(), Currency::Jpy);
    /// # Ok::<(), dropin_catalogue::InvalidRange>(())
    /// ```
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The least, in minor units; 0 for no limit.
    ///
    /// ```
    /// # use dropin_catalogue::Range;
    /// # use dropin_money::Currency;
    /// assert_eq!(Range::new(Currency::Eur, 50, None)?.least(), 50, "0.50 EUR");
    /// # Ok::<(), dropin_catalogue::InvalidRange>(())
    /// ```
    pub const fn least(&self) -> i64 {
        self.least
    }

    /// The most, in minor units; `None` for no limit.
    ///
    /// ```
    /// # use dropin_catalogue::Range;
    /// # use dropin_money::Currency;
    /// assert_eq!(Range::new(Currency::Kwd, 0, Some(1_500))?.most(), Some(1_500), "1.500 KWD");
    /// # Ok::<(), dropin_catalogue::InvalidRange>(())
    /// ```
    pub const fn most(&self) -> Option<i64> {
        self.most
    }

    /// Whether `amount` is within. A range says nothing about an amount of another currency: that one is held.
    ///
    /// ```
    /// # use dropin_catalogue::Range;
    /// # use dropin_money::{Amount, Currency};
    /// let limits = Range::new(Currency::Eur, 50, None)?;
    /// assert!(!limits.holds(&Amount::from_minor(Currency::Eur, 49)?));
    /// assert!(limits.holds(&Amount::from_minor(Currency::Usd, 1)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds(&self, amount: &Amount) -> bool {
        amount.currency() != self.currency
            || (self.least <= amount.minor() && self.most.is_none_or(|most| amount.minor() <= most))
    }
}

impl fmt::Display for Range {
    /// As people read it: `5.00 to 49999.99 BRL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { currency, least, most } = *self;
        let text = |minor| Amount::from_minor(currency, minor).map_or_else(|_| minor.to_string(), |it| it.to_string());
        let code = currency.code();
        f.pad(&match (least, most) {
            (least, None) => format!("at least {} {code}", text(least)),
            (0, Some(most)) => format!("at most {} {code}", text(most)),
            (least, Some(most)) => format!("{} to {} {code}", text(least), text(most)),
        })
    }
}

impl FromStr for Range {
    type Err = InvalidRange;

    /// Reads what [`Range`] writes, with the checks of [`Range::new`].
    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let (ends, code) = text.rsplit_once(' ').ok_or(InvalidRange::Form)?;
        let currency: Currency = code.parse().map_err(|_unknown| InvalidRange::Form)?;
        let minor = |number: &str| -> Result<i64, InvalidRange> {
            let number = Decimal::parse(number).map_err(|_no_number| InvalidRange::Form)?;
            let amount = Amount::from_decimal(currency, &number).map_err(|error| match error {
                AmountError::TooPrecise { .. } => InvalidRange::Form,
                _ => InvalidRange::End,
            })?;
            Ok(amount.minor())
        };
        if let Some(least) = ends.strip_prefix("at least ") {
            return Self::new(currency, minor(least)?, None);
        }
        if let Some(most) = ends.strip_prefix("at most ") {
            return Self::new(currency, 0, Some(minor(most)?));
        }
        let (least, most) = ends.split_once(" to ").ok_or(InvalidRange::Form)?;
        Self::new(currency, minor(least)?, Some(minor(most)?))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Range);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_refused_that_no_amount_could_be_in() {
        let euros = |least, most| Range::new(Currency::Eur, least, most);
        assert_eq!(euros(2, Some(1)), Err(InvalidRange::Reversed));
        assert!(euros(1, Some(1)).is_ok(), "one amount");
        for (least, most) in [(-1, None), (0, Some(-1)), (100_000_000_000_000, None), (0, Some(i64::MAX))] {
            assert_eq!(euros(least, most), Err(InvalidRange::End), "{least} {most:?}");
        }
    }

    #[test]
    fn the_text_comes_back_as_the_range_it_was_written_from() {
        for currency in Currency::ALL.iter().copied() {
            for (least, most) in [(0, None), (7, None), (0, Some(0)), (0, Some(7)), (5, Some(5)), (1, Some(9_999_999))]
            {
                let range = Range::new(currency, least, most).unwrap();
                assert_eq!(range.to_string().parse(), Ok(range), "{range}");
            }
        }
        for (text, why) in [
            ("", InvalidRange::Form),
            ("EUR", InvalidRange::Form),
            ("1 EUR", InvalidRange::Form),
            ("1 to 2", InvalidRange::Form),
            ("1 to 2 XTS", InvalidRange::Form),
            ("at least 1.5 JPY", InvalidRange::Form),
            ("at least -1 JPY", InvalidRange::End),
            ("at most 1000000000000 EUR", InvalidRange::End),
            ("2 to 1 EUR", InvalidRange::Reversed),
        ] {
            assert_eq!(text.parse::<Range>(), Err(why), "{text}");
        }
    }
}
