use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;

use crate::Decimal;
use crate::Rounding;
use crate::decimal::MAX_DECIMALS;
use crate::rounding::divided;

/// Why two numbers have no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ArithmeticError {
    /// The exact result is outside the bounds of [`Decimal`].
    #[error("the result is outside the range of numbers that are accepted")]
    OutOfRange,
    /// A division by zero.
    #[error("a number cannot be divided by zero")]
    DivisionByZero,
}

/// Arithmetic is exact, or it names its rounding. What would leave the bounds is an error.
impl Decimal {
    /// The exact sum.
    ///
    /// # Errors
    /// [`ArithmeticError::OutOfRange`].
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// let (tenth, fifth): (Decimal, Decimal) = ("0.1".parse()?, "0.2".parse()?);
    /// assert_eq!(tenth.checked_add(&fifth)?.to_string(), "0.3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_add(&self, other: &Self) -> Result<Self, ArithmeticError> {
        Self::bounded(self.number() + other.number()).ok_or(ArithmeticError::OutOfRange)
    }

    /// The exact difference, which may be below zero.
    ///
    /// # Errors
    /// [`ArithmeticError::OutOfRange`].
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// let (one, fifth): (Decimal, Decimal) = ("1".parse()?, "0.2".parse()?);
    /// assert_eq!(fifth.checked_sub(&one)?.to_string(), "-0.8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_sub(&self, other: &Self) -> Result<Self, ArithmeticError> {
        Self::bounded(self.number() - other.number()).ok_or(ArithmeticError::OutOfRange)
    }

    /// The exact product.
    ///
    /// # Errors
    /// [`ArithmeticError::OutOfRange`], also for more than 30 significant digits: a product is never rounded.
    ///
    /// ```
    /// use dropin_money::Decimal;
    ///
    /// let (hours, rate): (Decimal, Decimal) = ("2.5".parse()?, "80.00".parse()?);
    /// assert_eq!(hours.checked_mul(&rate)?, Decimal::from(200));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_mul(&self, other: &Self) -> Result<Self, ArithmeticError> {
        let ((one, decimals), (two, more)) = (self.parts(), other.parts());
        Self::bounded(BigDecimal::from_bigint(one * two, i64::from(decimals + more))).ok_or(ArithmeticError::OutOfRange)
    }

    /// The quotient with `decimals` decimals, rounded once.
    ///
    /// # Errors
    /// [`ArithmeticError::DivisionByZero`]; [`ArithmeticError::OutOfRange`], also for more than 20 decimals.
    ///
    /// ```
    /// use dropin_money::{ArithmeticError, Decimal, Rounding};
    ///
    /// // What is 119.00 without 19 % tax?
    /// let net = Decimal::from(119).checked_div(&"1.19".parse()?, 2, Rounding::HalfUp)?;
    /// assert_eq!(net.to_string(), "100.00");
    ///
    /// let zero = Decimal::from(0);
    /// assert_eq!(net.checked_div(&zero, 2, Rounding::HalfUp), Err(ArithmeticError::DivisionByZero));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_div(&self, divisor: &Self, decimals: u8, rounding: Rounding) -> Result<Self, ArithmeticError> {
        if divisor.is_zero() {
            return Err(ArithmeticError::DivisionByZero);
        }
        if MAX_DECIMALS < decimals {
            return Err(ArithmeticError::OutOfRange);
        }
        let ((dividend, own), (by, others)) = (self.parts(), divisor.parts());
        let quotient = divided(&(dividend * ten_to(u32::from(decimals) + others)), &(by * ten_to(own)), rounding);
        Self::bounded(BigDecimal::from_bigint(quotient, decimals.into())).ok_or(ArithmeticError::OutOfRange)
    }

    /// The number with `decimals` decimals. More than 20 mean 20, which every number has at most.
    ///
    /// ```
    /// use dropin_money::{Decimal, Rounding};
    ///
    /// let number: Decimal = "2.345".parse()?;
    /// assert_eq!(number.rounded(2, Rounding::HalfUp).to_string(), "2.35");
    /// assert_eq!(number.rounded(2, Rounding::HalfEven).to_string(), "2.34");
    /// assert_eq!(number.rounded(4, Rounding::HalfUp).to_string(), "2.3450");
    /// # Ok::<(), dropin_money::DecimalError>(())
    /// ```
    #[must_use]
    pub fn rounded(&self, decimals: u8, rounding: Rounding) -> Self {
        let (digits, own) = self.parts();
        let decimals = decimals.min(MAX_DECIMALS);
        let units = divided(&(digits * ten_to(decimals.into())), &ten_to(own), rounding);
        Self::with_decimals(units, decimals)
    }
}

fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10_u8).pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn results_stay_within_the_bounds_of_what_is_read() {
        let (giant, tiny) = (number("999999999999999999999999999999e20"), number("1e-20"));
        for refused in [
            giant.checked_add(&giant),
            giant.checked_sub(&tiny),
            giant.checked_mul(&giant),
            tiny.checked_mul(&tiny),
            giant.checked_div(&tiny, 20, Rounding::HalfUp),
            number("1").checked_div(&number("3"), 21, Rounding::HalfUp),
            number("1234567890123456").checked_mul(&number("1234567890123456")),
        ] {
            assert_eq!(refused, Err(ArithmeticError::OutOfRange));
        }
        let third = number("1").checked_div(&number("3"), 20, Rounding::HalfUp).unwrap();
        assert_eq!(third.to_string(), "0.33333333333333333333");
        assert_eq!(giant.rounded(20, Rounding::Up).to_string().parse(), Ok(giant));
    }

    #[test]
    fn zeros_at_the_end_of_a_product_use_up_no_digits() {
        let (one, two) = (number("1.0000000000000000000"), number("1.0000000000000000000"));
        assert_eq!(one.checked_mul(&two), Ok(number("1")));
        let product = number("4e19").checked_mul(&number("5e19")).unwrap();
        assert_eq!(product.to_string(), format!("2{}", "0".repeat(39)));
    }

    #[test]
    fn a_quotient_is_rounded_once_and_by_its_rule() {
        let by = |rule| number("-10").checked_div(&number("0.16"), 0, rule).unwrap().to_string();
        assert_eq!(Rounding::ALL.map(by), ["-63", "-62", "-62", "-63"]);
        assert_eq!(number("2").checked_div(&number("3"), 2, Rounding::Down).unwrap().to_string(), "0.66");
        assert_eq!(number("0").checked_div(&number("-3"), 2, Rounding::Up).unwrap(), number("0"));
    }
}
