use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use bigdecimal::num_bigint::{BigInt, BigUint, Sign};

/// Which neighbour takes the place of a number that lies between two.
///
/// A neighbour is a whole number, or a number with as many decimals as were asked for.
///
/// ```
/// use dropin_money::{Decimal, Rounding};
///
/// let rounded = |text: &str| {
///     let number: Decimal = text.parse().unwrap();
///     Rounding::ALL.map(|rule| number.rounded(0, rule).to_string())
/// };
/// //                          HalfUp, HalfEven, Down, Up
/// assert_eq!(rounded("2.5"), ["3", "2", "2", "3"]);
/// assert_eq!(rounded("3.5"), ["4", "4", "3", "4"]);
/// assert_eq!(rounded("2.1"), ["2", "2", "2", "3"]);
/// assert_eq!(rounded("-2.5"), ["-3", "-2", "-2", "-3"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rounding {
    /// The nearest; from the middle away from zero. For invoices and taxes, unless a law or a contract names another rule.
    HalfUp,
    /// The nearest; from the middle to the even neighbour. For many numbers that are added up afterwards, such as interest: the
    /// errors of the middles cancel out (IEEE 754 calls it roundTiesToEven).
    HalfEven,
    /// Towards zero. For what must not exceed its share: a discount, a commission, a payout.
    Down,
    /// Away from zero. For what must not fall short of its share: a fee that has to cover a cost, a deposit.
    Up,
}

impl Rounding {
    /// Every rule, in the order of declaration.
    pub const ALL: [Self; 4] = [Self::HalfUp, Self::HalfEven, Self::Down, Self::Up];
}

impl Rounding {
    /// The code: the spelling in files and settings.
    ///
    /// ```
    /// use dropin_money::Rounding;
    ///
    /// assert_eq!(Rounding::ALL.map(Rounding::as_str), ["HALF_UP", "HALF_EVEN", "DOWN", "UP"]);
    /// assert_eq!("HALF_EVEN".parse(), Ok(Rounding::HalfEven));
    /// assert_eq!("NEAREST".parse::<Rounding>().unwrap_err().to_string(), "is no rounding; there are HALF_UP, HALF_EVEN, DOWN, UP");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HalfUp => "HALF_UP",
            Self::HalfEven => "HALF_EVEN",
            Self::Down => "DOWN",
            Self::Up => "UP",
        }
    }
}

/// The text is the code of no [`Rounding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no rounding; there are {}", Rounding::ALL.map(Rounding::as_str).join(", "))]
pub struct UnknownRounding;

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Rounding {
    type Err = UnknownRounding;

    /// Reads the exact code.
    fn from_str(text: &str) -> Result<Self, UnknownRounding> {
        Self::ALL.into_iter().find(|rounding| rounding.as_str() == text).ok_or(UnknownRounding)
    }
}

/// The whole number that stands for `dividend / divisor`. The divisor is not zero.
pub(crate) fn divided(dividend: &BigInt, divisor: &BigInt, rounding: Rounding) -> BigInt {
    let (size, by) = (dividend.magnitude(), divisor.magnitude());
    let (quotient, remainder) = (size / by, size % by);
    let to_middle = (&remainder + &remainder).cmp(by);
    let away_from_zero = match rounding {
        Rounding::HalfUp => to_middle != Ordering::Less,
        Rounding::HalfEven => to_middle == Ordering::Greater || (to_middle == Ordering::Equal && quotient.bit(0)),
        Rounding::Down => false,
        Rounding::Up => remainder != BigUint::ZERO,
    };
    let magnitude = if away_from_zero { quotient + 1_u32 } else { quotient };
    let sign = if dividend.sign() == divisor.sign() { Sign::Plus } else { Sign::Minus };
    BigInt::from_biguint(sign, magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_on_both_sides_of_zero_and_of_the_middle() {
        for (dividend, divisor, wanted) in [
            (7, 2, [4, 4, 3, 4]),
            (5, 2, [3, 2, 2, 3]),
            (-5, 2, [-3, -2, -2, -3]),
            (5, -2, [-3, -2, -2, -3]),
            (-5, -2, [3, 2, 2, 3]),
            (1, 3, [0, 0, 0, 1]),
            (-1, 3, [0, 0, 0, -1]),
            (2, 3, [1, 1, 0, 1]),
            (6, 3, [2, 2, 2, 2]),
            (0, 3, [0, 0, 0, 0]),
            (0, -3, [0, 0, 0, 0]),
        ] {
            let got = Rounding::ALL.map(|rule| divided(&BigInt::from(dividend), &BigInt::from(divisor), rule));
            assert_eq!(got, wanted.map(BigInt::from), "{dividend} / {divisor}");
        }
    }
}
