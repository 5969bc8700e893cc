use std::cmp::Ordering;

/// Significant digits that a computed rate is rounded to: a relative error below 5 × 10^-10, and well within what a
/// browser's numbers hold exactly (15 digits).
pub(crate) const SIGNIFICANT_DIGITS: u32 = 10;

/// `numerator / denominator` as a whole number, half to even.
pub(crate) fn divide_half_even(numerator: u128, denominator: u128) -> u128 {
    round_half_even(numerator / denominator, numerator % denominator, denominator)
}

/// The decimal nearest to `numerator / denominator` with [`SIGNIFICANT_DIGITS`] digits, half to even, as digits and how many of
/// them are decimals; fewer digits only where more decimals than `most_decimals` would be needed. `None` when the value has more
/// integer digits than that.
///
/// The denominator must be below 2^128 / 10.
pub(crate) fn significant(numerator: u128, denominator: u128, most_decimals: u8) -> Option<(u128, u8)> {
    let full = 10_u128.pow(SIGNIFICANT_DIGITS - 1);
    let (mut digits, mut rest, mut decimals) = (numerator / denominator, numerator % denominator, 0);
    if 10 * full <= digits {
        return None;
    }
    while digits < full && decimals < most_decimals {
        rest *= 10;
        digits = digits * 10 + rest / denominator;
        rest %= denominator;
        decimals += 1;
    }
    Some((round_half_even(digits, rest, denominator), decimals))
}

fn round_half_even(whole: u128, rest: u128, denominator: u128) -> u128 {
    // Against the other part of the denominator, not doubled: nothing can overflow.
    match rest.cmp(&(denominator - rest)) {
        Ordering::Less => whole,
        Ordering::Greater => whole + 1,
        Ordering::Equal => whole + whole % 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_neighbour() {
        for (numerator, denominator, expected) in
            [(5, 10, 0), (15, 10, 2), (25, 10, 2), (251, 100, 3), (249, 100, 2), (1, 3, 0), (2, 3, 1), (7, 1, 7)]
        {
            assert_eq!(divide_half_even(numerator, denominator), expected, "{numerator}/{denominator}");
        }
        assert_eq!(divide_half_even(u128::MAX, u128::MAX), 1);
    }

    #[test]
    fn ten_digits_wherever_they_begin() {
        assert_eq!(significant(1, 3, 18), Some((3_333_333_333, 10)));
        assert_eq!(significant(2, 3, 18), Some((6_666_666_667, 10)));
        assert_eq!(significant(200_000, 3, 18), Some((6_666_666_667, 5)));
        assert_eq!(significant(1, 98_000, 18), Some((1_020_408_163, 14)));
        assert_eq!(significant(99_999_999_995, 100_000_000_000, 18), Some((10_000_000_000, 10)));
        assert_eq!(significant(10_000_000_000, 1, 18), None);
        assert_eq!(significant(1, 3, 4), Some((3_333, 4)));
    }
}
