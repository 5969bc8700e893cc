use std::fmt;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};

/// Most significant digits: those between the first and the last that are not zero.
const MAX_DIGITS: u64 = 30;
/// Largest exponent, counted from the last digit as written.
const MAX_EXPONENT: i64 = 20;
/// Most decimals, without zeros at the end.
pub(crate) const MAX_DECIMALS: u8 = 20;
/// Most digits before the point: as many as the digits and the exponent allow.
const MAX_WHOLE_DIGITS: i64 = 50;
/// Longest text of a number that is looked at: the longest that is written, a sign, 50 digits, the point, 20 decimals.
const MAX_TEXT: usize = 72;

/// Why a text is no usable number.
///
/// ```
/// use dropin_money::{Decimal, DecimalError};
///
/// assert_eq!(Decimal::parse(".5"), Err(DecimalError::NotANumber));
/// assert_eq!(Decimal::parse("1e1000000000"), Err(DecimalError::OutOfRange));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum DecimalError {
    /// It does not follow the JSON grammar for numbers (RFC 8259 section 6).
    #[error("must be a JSON number")]
    NotANumber,
    /// It is too long, or its exponent too large, to be looked at.
    #[error("is outside the range of numbers that are accepted")]
    OutOfRange,
}

/// A signed decimal number exactly as written, bounded so that arithmetic on it is cheap.
///
/// It is digits × 10^exponent with at most 30 significant digits and an exponent from -20 to 20; zeros at the end are no
/// significant digits, and the exponent counts from the last digit (`1.5e-20` is 15 × 10^-21, so it is refused). Its text has
/// at most 72 characters, which is the longest that it writes: `1e1000000000` is refused by reading its text.
///
/// Equality, order and hash are those of the value: 2.0 equals 2.00, though each shows the decimals it was written with.
///
/// ```
/// use dropin_money::Decimal;
///
/// let (two, also): (Decimal, Decimal) = ("2.0".parse()?, "2.00".parse()?);
/// assert_eq!(two, also);
/// assert_eq!(also.to_string(), "2.00");
/// assert!(two < Decimal::from(3));
/// # Ok::<(), dropin_money::DecimalError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(BigDecimal);

impl Decimal {
    /// Reads a JSON number token, as [`FromStr`] does.
    ///
    /// # Errors
    /// [`DecimalError::NotANumber`] for strings, `+1`, `01`, `.5`, `5.`, `null`; [`DecimalError::OutOfRange`] beyond the bounds.
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// assert_eq!(Decimal::parse("29.90")?.to_string(), "29.90");
    /// assert_eq!(Decimal::parse("1.5e3")?.to_string(), "1500");
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        if !is_json_number(text) {
            return Err(DecimalError::NotANumber);
        }
        if MAX_TEXT < text.len() {
            return Err(DecimalError::OutOfRange);
        }
        // An exponent that does not fit bigdecimal's scale is a JSON number all the same: out of range, not malformed.
        let value = BigDecimal::from_str(text).map_err(|_beyond_scale| DecimalError::OutOfRange)?;
        // Before any arithmetic: it would write out as many zeros as the exponent says. A longer fraction has no digit that counts.
        if !(-MAX_EXPONENT..=MAX_EXPONENT + MAX_TEXT as i64).contains(&value.fractional_digit_count()) {
            return Err(DecimalError::OutOfRange);
        }
        Self::bounded(value).ok_or(DecimalError::OutOfRange)
    }

    /// The value, when it is within the bounds, with the decimals it was written with, 20 at most.
    ///
    /// The caller has bounded its exponent. No exponent above zero is left: `1e3` would print as something that is no JSON number.
    pub(crate) fn bounded(value: BigDecimal) -> Option<Self> {
        let most = i64::from(MAX_DECIMALS);
        let written = value.fractional_digit_count();
        if (0..=most).contains(&written) && value.digits() <= MAX_DIGITS {
            return Some(Self(value));
        }
        let shortest = value.normalized();
        let (digits, decimals) = (shortest.digits(), shortest.fractional_digit_count());
        let within = digits <= MAX_DIGITS && decimals <= most && digits as i64 - decimals <= MAX_WHOLE_DIGITS;
        within.then(|| Self(shortest.with_scale(written.clamp(0, most))))
    }

    /// `units` of the last of `decimals` decimals. The caller knows that it is within the bounds.
    pub(crate) fn with_decimals(units: BigInt, decimals: u8) -> Self {
        Self(BigDecimal::from_bigint(units, decimals.into()))
    }

    pub(crate) fn number(&self) -> &BigDecimal {
        &self.0
    }

    /// Its digits without the point, and how many of them are decimals.
    pub(crate) fn parts(&self) -> (BigInt, u32) {
        let (digits, scale) = self.0.as_bigint_and_exponent();
        (digits, u32::try_from(scale).expect("a bounded number has 0 to 20 decimals"))
    }

    /// How many of the `decimals`th decimal unit it is (for cents, two), and whether that is all of it.
    pub(crate) fn shifted(&self, decimals: u8) -> (BigInt, bool) {
        let units = self.0.with_scale(i64::from(decimals));
        let exact = units == self.0;
        (units.into_bigint_and_exponent().0, exact)
    }

    /// The value as an unsigned whole number; `None` when it has decimals, is negative, or does not fit.
    ///
    /// `2.0` is the whole number 2 (docs/SPECIFICATION.md#numbers).
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// assert_eq!(Decimal::parse("2.0")?.to_whole_u32(), Some(2));
    /// assert_eq!(Decimal::parse("2.5")?.to_whole_u32(), None);
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    pub fn to_whole_u32(&self) -> Option<u32> {
        self.0.is_integer().then(|| self.0.with_scale(0).to_plain_string().parse().ok()).flatten()
    }

    /// Whether it has no decimals other than zeros.
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// assert!(Decimal::parse("-2.0")?.is_whole());
    /// assert!(!Decimal::parse("2.5")?.is_whole());
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    pub fn is_whole(&self) -> bool {
        self.0.is_integer()
    }

    /// Whether the number is below zero.
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// assert!(Decimal::parse("-0.5")?.is_negative());
    /// assert!(!Decimal::parse("-0")?.is_negative());
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    pub fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    /// Whether the number is zero.
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// assert!(Decimal::parse("0.00")?.is_zero());
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    pub fn is_zero(&self) -> bool {
        self.0.sign() == Sign::NoSign
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Reads a JSON number token: [`Decimal::parse`].
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Self::parse(text)
    }
}

macro_rules! from_integers {
    ($($integer:ty),+) => {$(
        impl From<$integer> for Decimal {
            fn from(number: $integer) -> Self {
                Self(number.into())
            }
        }
    )+};
}

from_integers!(u32, i32, u64, i64);

impl fmt::Display for Decimal {
    /// Plain digits, a valid JSON number. A width pads it, on the left unless told otherwise; a precision changes nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_plain_string();
        f.pad_integral(!self.is_negative(), "", text.strip_prefix('-').unwrap_or(&text))
    }
}

/// RFC 8259 section 6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
fn is_json_number(text: &str) -> bool {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (1 < whole && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use super::*;

    #[test]
    fn the_json_grammar_and_nothing_else() {
        for (text, shown) in
            [("0", "0"), ("29.90", "29.90"), ("1e3", "1000"), ("0E5", "0"), ("-0.5", "-0.5"), ("2.50e1", "25.0")]
        {
            assert_eq!(Decimal::parse(text).map(|n| n.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for text in ["", "+1", "01", ".5", "5.", "1e", "\"1\"", "null", "1 ", "0x1", "NaN", "1_000", "١"] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::NotANumber), "{text}");
        }
    }

    #[test]
    fn giant_numbers_are_refused_by_their_text() {
        let long = "9".repeat(1_000_000);
        let digits = "9".repeat(31);
        for text in
            ["1e1000000000", "1e-1000000000", "1e9223372036854775808", "1e21", "1E-21", "1.5e-20", &digits, &long]
        {
            assert_eq!(Decimal::parse(text), Err(DecimalError::OutOfRange), "{}", &text[..text.len().min(30)]);
        }
    }

    /// 30 digits and an exponent of one: the zero that the exponent adds was counted as a 31st significant digit.
    #[test]
    fn every_number_within_the_bounds_is_read() {
        let most = "260212345678901234567890123456";
        for (text, shown) in [
            (format!("{most}E1"), format!("{most}0")),
            (format!("-{most}e20"), format!("-{most}{}", "0".repeat(20))),
            (format!("{most}E-20"), "2602123456.78901234567890123456".to_owned()),
            ("12345678901e20".to_owned(), format!("12345678901{}", "0".repeat(20))),
            (format!("1.5{}e-19", "0".repeat(30)), "0.00000000000000000015".to_owned()),
            (format!("1{}", "0".repeat(49)), format!("1{}", "0".repeat(49))),
            ("1".repeat(30), "1".repeat(30)),
        ] {
            let number = Decimal::parse(&text);
            assert_eq!(number.as_ref().map(ToString::to_string), Ok(shown), "{text}");
            assert_eq!(Decimal::parse(&number.clone().unwrap().to_string()), number);
        }
        for text in
            [format!("{most}1"), format!("1{}", "0".repeat(50)), "1.00000000000000000000000000000000001".to_owned()]
        {
            assert_eq!(Decimal::parse(&text), Err(DecimalError::OutOfRange), "{text}");
        }
    }

    #[test]
    fn equal_numbers_have_one_hash() {
        let hash = |number: &Decimal| {
            let mut state = DefaultHasher::new();
            number.hash(&mut state);
            state.finish()
        };
        for texts in [["2.0", "2.00", "2", "20e-1"], ["0", "0.00", "-0", "0e5"], ["10", "10.0", "1e1", "100e-1"]] {
            let numbers = texts.map(|text| Decimal::parse(text).unwrap());
            for number in &numbers {
                assert_eq!((number, hash(number)), (&numbers[0], hash(&numbers[0])));
            }
        }
    }

    #[test]
    fn a_width_pads_and_a_precision_takes_nothing_away() {
        let number = Decimal::parse("-29.90").unwrap();
        assert_eq!(
            format!("{number:>8}|{number:<8}|{number:8}|{number:08}|{number:.1}"),
            "  -29.90|-29.90  |  -29.90|-0029.90|-29.90"
        );
    }

    #[test]
    fn integers_are_numbers() {
        assert_eq!(Decimal::from(u64::MAX).to_string(), u64::MAX.to_string());
        assert_eq!(Decimal::from(i64::MIN).to_string(), i64::MIN.to_string());
        assert!(Decimal::from(-1) < Decimal::from(0_u32));
    }

    #[test]
    fn whole_numbers_may_carry_a_zero_fraction() {
        let whole = |text| Decimal::parse(text).ok().and_then(|n| n.to_whole_u32());
        assert_eq!(
            (whole("2.0"), whole("2.5"), whole("-1"), whole("1e3"), whole("99999999999")),
            (Some(2), None, None, Some(1000), None)
        );
    }

    proptest::proptest! {
        #[test]
        fn what_is_accepted_is_accepted_again_as_printed(text in "-?[0-9]{1,45}(\\.[0-9]{0,30})?([eE][+-]?[0-9]{1,20})?") {
            if let Ok(number) = Decimal::parse(&text) {
                proptest::prop_assert_eq!(Decimal::parse(&number.to_string()), Ok(number));
            }
        }
    }
}
