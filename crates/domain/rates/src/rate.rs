use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::ratio;

/// Most digits after the point: ten significant digits of the smallest rate.
const DECIMALS: u8 = 18;
/// Most significant digits of a rate as a source writes it.
const WRITTEN_DIGITS: usize = 15;
/// Longest text that is looked at.
const MAX_TEXT: usize = 40;
/// The smallest rate, 10^-8, as a count of 10^-18.
const SMALLEST: u128 = 10_u128.pow(10);
/// The first rate that is too large, 10^9, as a count of 10^-18.
const TOO_LARGE: u128 = 10_u128.pow(27);

/// Why a text or a calculation gives no rate.
///
/// ```
/// use dropin_rates::{Rate, RateError};
///
/// assert_eq!(Rate::parse("1,1172"), Err(RateError::NotANumber));
/// assert_eq!(Rate::parse("0.0"), Err(RateError::NotPositive));
/// assert_eq!(Rate::parse("1000000000"), Err(RateError::OutOfRange));
/// assert_eq!(Rate::parse("1.123456789012345"), Err(RateError::TooPrecise));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// Something else than digits with at most one point between them.
    #[error("must be a plain decimal number such as 1.1172, without sign, exponent, spaces or leading zeros")]
    NotANumber,
    /// Zero or below.
    #[error("must be greater than zero")]
    NotPositive,
    /// Below 0.00000001, or 1,000,000,000 and more.
    #[error("must be at least 0.00000001 and less than 1000000000")]
    OutOfRange,
    /// More than fifteen significant digits, or more than eighteen decimals.
    #[error("must have at most {WRITTEN_DIGITS} significant digits and {DECIMALS} decimals")]
    TooPrecise,
}

/// A rate has no inverse that is a rate: it is above 10^8, and its inverse would be below the smallest rate, 10^-8.
///
/// ```
/// use dropin_rates::Rate;
///
/// let rate = Rate::parse("250000000").unwrap();
/// let error = rate.inverse().unwrap_err();
/// assert_eq!(error.rate(), rate);
/// assert_eq!(error.to_string(), "the inverse of 250000000 is below 0.00000001, the smallest rate");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the inverse of {rate} is below 0.00000001, the smallest rate")]
pub struct InverseTooSmall {
    rate: Rate,
}

impl InverseTooSmall {
    /// The rate whose inverse was asked for.
    pub const fn rate(self) -> Rate {
        self.rate
    }
}

/// How many units of one currency one unit of another costs: exact, positive, at least 10^-8 and below 10^9.
///
/// A bare number, which does not know its currencies: [`ExchangeRate`](crate::ExchangeRate) does, and converts amounts. Written rates keep every digit that they came with (at most 15 significant ones); computed rates are rounded once, half to
/// even, to ten significant digits. Displays in its one canonical form without trailing zeros, which is a JSON number and what a
/// store keeps; `parse` reads it back to the same rate. Serialized as that text, never as a number that a reader could take for a float.
///
/// ```
/// use dropin_rates::Rate;
///
/// let rate: Rate = "7.53450".parse().unwrap();
/// assert_eq!(rate.to_string(), "7.5345");
/// assert_eq!(format!("{rate:>8}"), "  7.5345");
/// assert!(Rate::ONE < rate);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Ends in zero only where there are no decimals.
    digits: u64,
    decimals: u8,
}

impl Rate {
    /// One for one.
    ///
    /// ```
    /// assert_eq!(dropin_rates::Rate::ONE.to_string(), "1");
    /// ```
    pub const ONE: Self = Self { digits: 1, decimals: 0 };

    /// Reads digits with or without a point, as feeds write them and stores keep them: no sign, exponent, space or leading zero, at most 15
    /// significant digits and 18 decimals.
    ///
    /// # Errors
    /// [`RateError`].
    ///
    /// ```
    /// use dropin_rates::Rate;
    ///
    /// assert_eq!(Rate::parse("0.58231").unwrap().to_string(), "0.58231");
    /// assert!(Rate::parse("5.8231e-1").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(number) = text.strip_prefix('-')
            && number.starts_with(|first: char| first.is_ascii_digit())
        {
            return Err(RateError::NotPositive);
        }
        if !digits(whole) || !fraction.is_none_or(digits) || (1 < whole.len() && whole.starts_with('0')) {
            return Err(RateError::NotANumber);
        }
        if MAX_TEXT < text.len() {
            return Err(RateError::TooPrecise);
        }
        let fraction = fraction.unwrap_or_default().trim_end_matches('0');
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            return Err(RateError::NotPositive);
        }
        if WRITTEN_DIGITS < significant.len() || usize::from(DECIMALS) < fraction.len() {
            return Err(RateError::TooPrecise);
        }
        let decimals = u8::try_from(fraction.len()).map_err(|_beyond| RateError::TooPrecise)?;
        Self::bounded(significant.parse().map_err(|_beyond| RateError::TooPrecise)?, decimals)
    }

    /// `numerator / denominator` to ten significant digits; both are positive and below 10^38 / 2.
    pub(crate) fn rounded(numerator: u128, denominator: u128) -> Result<Self, RateError> {
        let (digits, decimals) = ratio::significant(numerator, denominator, DECIMALS).ok_or(RateError::OutOfRange)?;
        Self::bounded(u64::try_from(digits).map_err(|_beyond| RateError::OutOfRange)?, decimals)
    }

    fn bounded(mut digits: u64, mut decimals: u8) -> Result<Self, RateError> {
        while 0 < decimals && digits.is_multiple_of(10) && digits != 0 {
            (digits, decimals) = (digits / 10, decimals - 1);
        }
        let rate = Self { digits, decimals };
        if (SMALLEST..TOO_LARGE).contains(&rate.atoms()) { Ok(rate) } else { Err(RateError::OutOfRange) }
    }

    /// The rate the other way round, rounded half to even to ten significant digits: to be shown, never to convert by.
    /// [`ExchangeRate`](crate::ExchangeRate) converts in both directions without this rounding.
    ///
    /// # Errors
    /// [`InverseTooSmall`] for rates above 10^8.
    ///
    /// ```
    /// use dropin_rates::Rate;
    ///
    /// assert_eq!(Rate::parse("1.1172").unwrap().inverse().unwrap().to_string(), "0.8950948801");
    /// assert!(Rate::parse("999999999").unwrap().inverse().is_err());
    /// ```
    pub fn inverse(self) -> Result<Self, InverseTooSmall> {
        // No rate is below 10^-8, so no inverse is above 10^8.
        Self::ONE.per(self, 0).map_err(|_below| InverseTooSmall { rate: self })
    }

    /// This rate for one unit of what `base` is the rate of, raised by `basis_points` of itself; rounded once.
    ///
    /// Units per euro of two currencies give the cross of these: `usd.per(gbp, 0)` is dollars for one pound.
    pub(crate) fn per(self, base: Self, basis_points: u16) -> Result<Self, RateError> {
        // Both stay below 10^15 × 10^18 × 2 × 10^4.
        let up = 10_u128.pow(u32::from(base.decimals.saturating_sub(self.decimals)));
        let down = 10_u128.pow(u32::from(self.decimals.saturating_sub(base.decimals)));
        Self::rounded(
            u128::from(self.digits) * up * (10_000 + u128::from(basis_points)),
            u128::from(base.digits) * down * 10_000,
        )
    }

    /// The digits without the point, and how many of them are decimals.
    pub(crate) fn parts(self) -> (u128, u32) {
        (u128::from(self.digits), u32::from(self.decimals))
    }

    /// How many 10^-18 it is.
    fn atoms(self) -> u128 {
        u128::from(self.digits) * 10_u128.pow(u32::from(DECIMALS - self.decimals))
    }

    /// Whether one of the two is more than `percent` above the other.
    pub(crate) fn is_far_from(self, other: Self, percent: u16) -> bool {
        let (small, large) = (self.atoms().min(other.atoms()), self.atoms().max(other.atoms()));
        small * (100 + u128::from(percent)) < large * 100
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.atoms().cmp(&other.atoms())
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        Self::parse(text)
    }
}

impl fmt::Display for Rate {
    /// Aligned like any number where a width is given; a precision is ignored, since it would cut the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = usize::from(self.decimals);
        if decimals == 0 {
            return f.pad_integral(true, "", &self.digits.to_string());
        }
        let one = 10_u64.pow(u32::from(self.decimals));
        f.pad_integral(true, "", &format!("{}.{:0decimals$}", self.digits / one, self.digits % one))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Rate);

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_canonical_form() {
        for (text, shown) in [
            ("1.1172", "1.1172"),
            ("7.53450", "7.5345"),
            ("136", "136"),
            ("100", "100"),
            ("100.000", "100"),
            ("0.58231", "0.58231"),
            ("0.00000001", "0.00000001"),
            ("999999999", "999999999"),
            ("999999999.999999", "999999999.999999"),
            ("0.000000010203040506", "0.000000010203040506"),
            ("1.0000000000000000000000", "1"),
        ] {
            assert_eq!(Rate::parse(text).map(|rate| rate.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate() {
        use RateError::{NotANumber, NotPositive, OutOfRange, TooPrecise};
        for (text, error) in [
            ("", NotANumber),
            (".", NotANumber),
            ("1.", NotANumber),
            (".5", NotANumber),
            ("+1", NotANumber),
            ("1e3", NotANumber),
            ("NaN", NotANumber),
            ("inf", NotANumber),
            ("-inf", NotANumber),
            ("1,5", NotANumber),
            ("1 ", NotANumber),
            ("01.5", NotANumber),
            ("1.2.3", NotANumber),
            ("١", NotANumber),
            ("0", NotPositive),
            ("0.000", NotPositive),
            ("-1.5", NotPositive),
            ("1000000000", OutOfRange),
            ("999999999999999", OutOfRange),
            ("0.000000009", OutOfRange),
            ("1.123456789012345", TooPrecise),
            ("0.0000000102030405067", TooPrecise),
        ] {
            assert_eq!(Rate::parse(text), Err(error), "{text}");
        }
        assert_eq!(Rate::parse(&"9".repeat(1_000_000)), Err(TooPrecise));
    }

    #[test]
    fn crosses_are_rounded_once() {
        let rate = |text| Rate::parse(text).unwrap();
        assert_eq!(rate("1.1172").per(rate("0.8338"), 0).unwrap().to_string(), "1.339889662");
        assert_eq!(rate("0.35").per(rate("98000"), 0).unwrap().to_string(), "0.000003571428571");
        assert_eq!(rate("1.1172").per(Rate::ONE, 250).unwrap().to_string(), "1.14513");
        assert_eq!(rate("3").inverse().unwrap().to_string(), "0.3333333333");
        assert_eq!(rate("0.00000001").inverse().unwrap().to_string(), "100000000");
        assert_eq!(rate("999999999").per(rate("0.00000001"), 0), Err(RateError::OutOfRange));
        assert_eq!(rate("0.00000001").per(rate("999999999"), 2_000), Err(RateError::OutOfRange));
    }

    #[test]
    fn an_inverse_that_is_no_rate_has_an_error_of_its_own() {
        let rate = |text| Rate::parse(text).unwrap();
        assert_eq!(rate("100000000").inverse().unwrap().to_string(), "0.00000001");
        for text in ["100000000.1", "999999999", "999999999.999999"] {
            let error = rate(text).inverse().unwrap_err();
            assert_eq!(error, InverseTooSmall { rate: rate(text) });
            assert_eq!(error.to_string(), format!("the inverse of {text} is below 0.00000001, the smallest rate"));
        }
    }

    #[test]
    fn a_width_aligns_and_a_precision_cuts_nothing() {
        let rate = Rate::parse("30412.5").unwrap();
        let shown = [format!("{rate:>9}"), format!("{rate:<9}"), format!("{rate:9}"), format!("{rate:.1}")];
        assert_eq!(shown, ["  30412.5", "30412.5  ", "  30412.5", "30412.5"]);
        assert_eq!(format!("{:3}|", Rate::ONE), "  1|");
    }

    #[test]
    fn far_is_symmetric() {
        let rate = |text| Rate::parse(text).unwrap();
        for (one, two, far) in [("1", "1.2", false), ("1", "1.2000001", true), ("100", "10", true), ("5", "5", false)] {
            assert_eq!(rate(one).is_far_from(rate(two), 20), far);
            assert_eq!(rate(two).is_far_from(rate(one), 20), far);
        }
        assert!(rate("0.00000001").is_far_from(rate("999999999"), u16::MAX));
    }

    #[test]
    fn order_is_by_value() {
        let mut rates: Vec<Rate> = ["10", "2.5", "0.9", "2.49"].iter().map(|text| Rate::parse(text).unwrap()).collect();
        rates.sort_unstable();
        assert_eq!(rates.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.9", "2.49", "2.5", "10"]);
    }
}
