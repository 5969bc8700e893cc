use std::fmt;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;

/// Longest text of a number that is looked at; 12 integer digits, a point, decimals and an exponent fit many times.
const MAX_TEXT: usize = 40;
/// Largest exponent or scale, in either direction, before any arithmetic is done on the number.
const MAX_SCALE: i64 = 20;
/// Most significant digits.
const MAX_DIGITS: u64 = 30;

/// Why a text is no usable number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
/// At most 40 characters, 30 significant digits and an exponent of ±20: `1e1000000000` is refused by reading its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(BigDecimal);

impl Decimal {
    /// Reads a JSON number token.
    ///
    /// # Errors
    /// [`DecimalError::NotANumber`] for strings, `+1`, `01`, `.5`, `5.`, `null`; [`DecimalError::OutOfRange`] beyond the bounds.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        if !is_json_number(text) {
            return Err(DecimalError::NotANumber);
        }
        if MAX_TEXT < text.len() {
            return Err(DecimalError::OutOfRange);
        }
        // An exponent that does not fit bigdecimal's scale is a JSON number all the same: out of range, not malformed.
        let value = BigDecimal::from_str(text).map_err(|_beyond_scale| DecimalError::OutOfRange)?;
        let scale = value.fractional_digit_count();
        if !(-MAX_SCALE..=MAX_SCALE).contains(&scale) {
            return Err(DecimalError::OutOfRange);
        }
        // A negative scale (1e3, 0e5) would print as something that is no JSON number; the scale is bounded by now.
        let value = if scale < 0 { value.with_scale(0) } else { value };
        if MAX_DIGITS < value.digits() {
            return Err(DecimalError::OutOfRange);
        }
        Ok(Self(value))
    }

    /// How many of the `decimals`th decimal unit it is (for cents, two), and whether that is all of it.
    pub(crate) fn shifted(&self, decimals: u8) -> (BigInt, bool) {
        let units = self.0.with_scale(i64::from(decimals));
        let exact = units == self.0;
        (units.into_bigint_and_exponent().0, exact)
    }

    /// The value as an unsigned whole number; `None` when it has decimals, is negative, or does not fit.
    ///
    /// `2.0` is the whole number 2 (decisions.md section 1).
    pub fn to_whole_u32(&self) -> Option<u32> {
        self.0.is_integer().then(|| self.0.with_scale(0).to_plain_string().parse().ok()).flatten()
    }

    /// Whether it has no decimals other than zeros.
    pub fn is_whole(&self) -> bool {
        self.0.is_integer()
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        self.0.sign() == bigdecimal::num_bigint::Sign::Minus
    }
}

impl fmt::Display for Decimal {
    /// Plain digits, a valid JSON number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_plain_string())
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
        for text in ["1e1000000000", "1e-1000000000", "1e9223372036854775808", "1e21", "1E-21", long.as_str()] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::OutOfRange), "{}", &text[..text.len().min(30)]);
        }
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
