//! Parts add up to their whole, rounding stays within a minor unit, and texts are read back as what wrote them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_money::{Amount, Currency, Decimal, IsoCurrency, MAX_INTEGER_DIGITS, Rounding};
use proptest::prelude::*;

fn amounts() -> impl Strategy<Value = Amount> {
    (prop::sample::select(Currency::ALL), 0..=15_u32, any::<i64>()).prop_map(|(currency, digits, raw)| {
        let limit = 10_i64.pow(digits.min(MAX_INTEGER_DIGITS + u32::from(currency.exponent())));
        Amount::from_minor(currency, raw.rem_euclid(limit)).unwrap()
    })
}

/// Numbers of up to 30 digits with an exponent of up to 20: all that are within the documented bounds.
fn numbers() -> impl Strategy<Value = String> {
    ("-?(0|[1-9][0-9]{0,29})", -20..=20_i32).prop_map(|(digits, exponent)| format!("{digits}e{exponent}"))
}

/// `dividend / divisor` by integers alone.
fn rounded(dividend: i128, divisor: i128, rounding: Rounding) -> i128 {
    let (down, rest) = (dividend / divisor, dividend % divisor);
    match rounding {
        Rounding::Down => down,
        Rounding::Up => down + i128::from(rest != 0),
        Rounding::HalfUp => down + i128::from(divisor <= 2 * rest),
        Rounding::HalfEven => down + i128::from(divisor < 2 * rest || (divisor == 2 * rest && down % 2 == 1)),
        other => panic!("{other} is not computed here"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn parts_add_up_to_the_whole(
        whole in amounts(),
        weights in prop::collection::vec(prop_oneof![Just(0), 1..10_u64, any::<u64>()], 1..40),
    ) {
        let sum: u128 = weights.iter().copied().map(u128::from).sum();
        prop_assume!(0 < sum);
        let parts = whole.allocate(&weights).unwrap();
        prop_assert_eq!(parts.len(), weights.len());
        prop_assert_eq!(Amount::sum(whole.currency(), &parts).unwrap(), whole);
        for (part, weight) in parts.iter().zip(weights) {
            // Less than one minor unit away from the exact share, without a division.
            let (part, exact) = (u128::try_from(part.minor()).unwrap() * sum, u128::try_from(whole.minor()).unwrap() * u128::from(weight));
            prop_assert!(part.abs_diff(exact) < sum);
            prop_assert!(weight != 0 || part == 0);
        }
    }

    #[test]
    fn a_split_is_even(whole in amounts(), parts in 1..500_u16) {
        let parts = whole.split(parts).unwrap();
        prop_assert_eq!(Amount::sum(whole.currency(), &parts).unwrap(), whole);
        prop_assert!(parts.is_sorted_by(|one, next| next <= one));
        prop_assert!(parts[0].minor() - parts[parts.len() - 1].minor() <= 1);
    }

    #[test]
    fn a_percentage_is_the_exact_one_rounded(whole in amounts(), hundredths in 0..=10_000_i64) {
        let rate = IsoCurrency::from(Currency::Usd).to_decimal(hundredths); // 0.00 to 100.00 percent
        let exact = i128::from(whole.minor()) * i128::from(hundredths);
        for rounding in Rounding::ALL {
            let part = i128::from(whole.percent(&rate, rounding).unwrap().minor());
            prop_assert_eq!(part, rounded(exact, 10_000, rounding));
            prop_assert!((part * 10_000).abs_diff(exact) < 10_000, "within one minor unit");
        }
        let fraction = rate.checked_div(&Decimal::from(100), 4, Rounding::Down).unwrap();
        prop_assert_eq!(whole.share(&fraction, Rounding::HalfEven), whole.percent(&rate, Rounding::HalfEven));
    }

    #[test]
    fn a_multiple_is_a_sum(whole in amounts(), times in 0..20_u64) {
        let sum = Amount::sum(whole.currency(), (0..times).map(|_| whole));
        prop_assert_eq!(whole.checked_mul(times), sum);
    }

    #[test]
    fn amounts_are_read_back(whole in amounts()) {
        prop_assert_eq!(format!("{whole:#}").parse(), Ok(whole));
        prop_assert_eq!(whole.to_decimal().to_string(), whole.to_string());
        prop_assert_eq!(Amount::from_decimal(whole.currency(), &whole.to_decimal()), Ok(whole));
    }

    #[test]
    fn numbers_within_the_bounds_are_read_and_read_back(text in numbers()) {
        let number: Decimal = text.parse().unwrap();
        let shown = number.to_string();
        let again: Decimal = shown.parse().unwrap();
        prop_assert_eq!(&again, &number);
        prop_assert_eq!(again.to_string(), shown);
    }

    #[test]
    fn arithmetic_is_that_of_integers(a in any::<i32>(), b in any::<i32>(), decimals in 0..=6_u8) {
        // Millionths: both have six decimals, so that sums are sums of integers, and products have twelve.
        let number = |units: i128, places: usize| {
            let digits = format!("{:0width$}", units.abs(), width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let (sign, point) = (if units < 0 { "-" } else { "" }, if places == 0 { "" } else { "." });
            format!("{sign}{whole}{point}{fraction}").parse::<Decimal>().unwrap()
        };
        let (x, y) = (number(a.into(), 6), number(b.into(), 6));
        let (a, b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(x.checked_add(&y), Ok(number(a + b, 6)));
        prop_assert_eq!(x.checked_sub(&y), Ok(number(a - b, 6)));
        prop_assert_eq!(x.checked_mul(&y), Ok(number(a * b, 12)));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        for rounding in Rounding::ALL {
            let one = 10_i128.pow(6 - u32::from(decimals));
            let units = a.signum() * rounded(a.abs(), one, rounding);
            prop_assert_eq!(x.rounded(decimals, rounding), number(units, decimals.into()));
            if b != 0 {
                let units = a.signum() * b.signum() * rounded(a.abs() * 10_i128.pow(decimals.into()), b.abs(), rounding);
                prop_assert_eq!(x.checked_div(&y, decimals, rounding), Ok(number(units, decimals.into())));
            }
        }
    }

    #[test]
    fn no_arithmetic_panics(a in numbers(), b in numbers(), decimals in any::<u8>()) {
        let (x, y): (Decimal, Decimal) = (a.parse().unwrap(), b.parse().unwrap());
        let quotient = Rounding::ALL.map(|rounding| x.checked_div(&y, decimals, rounding));
        let results = [x.checked_add(&y), x.checked_sub(&y), x.checked_mul(&y)];
        for result in results.into_iter().chain(quotient).flatten().chain([x.rounded(decimals, Rounding::Up)]) {
            prop_assert_eq!(result.to_string().parse(), Ok(result));
        }
    }
}
