//! What holds of rates and settlements whatever the numbers; checked by other means than the code's own.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_money::{Amount, Currency, Decimal};
use dropin_rates::{Dated, ExchangeError, ExchangeRate, Markup, Pricing, Quote, Rate, Source, Table};
use proptest::prelude::*;

/// `digits` with the point `decimals` places from the right; `None` when that is no rate.
fn spelled(digits: u128, decimals: usize) -> Option<Rate> {
    let text = format!("{digits:0width$}", width = decimals + 1);
    let (whole, fraction) = text.split_at(text.len() - decimals);
    let text = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
    text.parse().ok()
}

/// Any rate as a source may write it: up to 15 significant digits anywhere between the bounds.
fn rates() -> impl Strategy<Value = Rate> {
    (1..10_u128.pow(15), 0..=18_usize, 0..15_u32).prop_filter_map("out of range", |(digits, decimals, fewer)| {
        spelled((digits / 10_u128.pow(fewer)).max(1), decimals)
    })
}

/// Rates as real currencies have them, so that every cross is a rate too.
fn plausible() -> impl Strategy<Value = Rate> {
    (1_000..1_000_000_u128, 0..=5_usize).prop_map(|(digits, decimals)| spelled(digits, decimals).unwrap())
}

/// The digits and how many are decimals, from the text alone.
fn parts(rate: Rate) -> (u128, u32) {
    let text = rate.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    (text.replace('.', "").parse().unwrap(), u32::try_from(decimals).unwrap())
}

/// Whether `rounded` lies within half a unit of its tenth significant digit of `numerator / denominator`.
fn is_nearest(rounded: Rate, numerator: u128, denominator: u128) -> bool {
    let (digits, decimals) = parts(rounded);
    let length = digits.to_string().len();
    // Ten digits, with the trailing zeros that the canonical form leaves out.
    let missing = u32::try_from(10 - length.min(10)).unwrap();
    let (digits, decimals) = (digits * 10_u128.pow(missing), decimals + missing);
    let scaled = numerator * 10_u128.pow(decimals);
    let exact = digits * denominator;
    2 * scaled.abs_diff(exact) <= denominator
}

fn table(usd: Rate, gbp: Rate) -> Table {
    let quote = |rate| Quote { rate, dated: Dated::Always, source: Source::Sandbox };
    [(Currency::Usd, quote(usd)), (Currency::Gbp, quote(gbp))].into_iter().collect()
}

proptest! {
    #[test]
    fn text_and_back(rate in rates()) {
        let text = rate.to_string();
        prop_assert_eq!(Rate::parse(&text), Ok(rate));
        prop_assert!(Decimal::parse(&text).is_ok_and(|number| number.to_string() == text), "a JSON number: {text}");
    }

    #[test]
    fn a_cross_is_the_nearest_number_with_ten_digits(one in plausible(), other in plausible()) {
        let cross = table(one, other).cross(Currency::Gbp, Currency::Usd).unwrap().rate();
        let ((a, up), (b, down)) = (parts(one), parts(other));
        prop_assert!(is_nearest(cross, a * 10_u128.pow(down), b * 10_u128.pow(up)), "{one} / {other} = {cross}");
    }

    #[test]
    fn a_marked_up_cross_is_rounded_once(one in plausible(), other in plausible(), points in 0..=2_000_u16) {
        let markups = [(Currency::Usd, Markup::from_basis_points(points).unwrap())].into();
        let pricing = Pricing { settlement: Currency::Gbp, markups };
        let rate = pricing.rate(&table(one, other), Currency::Usd).unwrap().rate();
        let ((a, up), (b, down)) = (parts(one), parts(other));
        let raised = a * 10_u128.pow(down) * (10_000 + u128::from(points));
        prop_assert!(is_nearest(rate, raised, b * 10_u128.pow(up) * 10_000), "{one} / {other} + {points} = {rate}");
        prop_assert!(pricing.rate(&table(one, other), Currency::Gbp) == Some(ExchangeRate::identity(Currency::Gbp)));
    }

    #[test]
    fn there_and_back_is_one_within_the_two_roundings(one in plausible(), other in plausible()) {
        let table = table(one, other);
        let (a, up) = parts(table.cross(Currency::Gbp, Currency::Usd).unwrap().rate());
        let (b, down) = parts(table.cross(Currency::Usd, Currency::Gbp).unwrap().rate());
        let one = 10_u128.pow(up + down);
        // Each is off by less than 5 × 10^-10 of itself.
        prop_assert!((a * b).abs_diff(one) * 999_999_999 <= one, "{a} × {b} against {one}");
    }

    #[test]
    fn an_inverse_is_the_nearest_number_with_ten_digits(rate in plausible()) {
        let (digits, decimals) = parts(rate);
        prop_assert!(is_nearest(rate.inverse().unwrap(), 10_u128.pow(decimals), digits));
    }

    #[test]
    fn a_settlement_is_the_nearest_minor_unit(
        minor in 1..1_000_000_000_i64, rate in plausible(), shopper in 0..60_usize, settlement in 0..60_usize,
    ) {
        prop_assume!(shopper != settlement);
        let (shopper, settlement) = (Currency::ALL[shopper], Currency::ALL[settlement]);
        let pair = ExchangeRate::new(settlement, shopper, rate).unwrap();
        let total = Amount::from_minor(shopper, minor).unwrap();
        let settled = match pair.settlement_amount(&total) {
            Err(ExchangeError::TooSmall) => None,
            settled => Some(settled.unwrap()),
        };
        // settled / 10^e × digits / 10^decimals against minor / 10^f, all multiplied out.
        let (digits, decimals) = parts(rate);
        let one_unit = digits * 10_u128.pow(u32::from(shopper.exponent()));
        let exact = u128::try_from(minor).unwrap() * 10_u128.pow(u32::from(settlement.exponent()) + decimals);
        prop_assert_eq!(settled.is_none(), exact < one_unit, "{} at {}", total, rate);
        let Some(settled) = settled else { return Ok(()) };
        let ours = u128::try_from(settled.minor()).unwrap() * one_unit;
        prop_assert!(0 < settled.minor());
        prop_assert!(2 * ours.abs_diff(exact) <= one_unit, "{total} at {rate} = {settled}");
    }

    #[test]
    fn a_conversion_is_the_nearest_minor_unit_in_both_directions(
        minor in 0..1_000_000_i64, rate in plausible(), base in 0..60_usize, quote in 0..60_usize,
    ) {
        prop_assume!(base != quote);
        let (base, quote) = (Currency::ALL[base], Currency::ALL[quote]);
        let pair = ExchangeRate::new(base, quote, rate).unwrap();
        let (digits, decimals) = parts(rate);
        let one = |currency: Currency| 10_u128.pow(u32::from(currency.exponent()));
        let whole = |amount: &Amount| u128::try_from(amount.minor()).unwrap();
        // given / one(base) × digits / 10^decimals against converted / one(quote), all multiplied out.
        let given = Amount::from_minor(base, minor).unwrap();
        let converted = pair.convert(&given).unwrap();
        let (exact, unit) = (whole(&given) * digits * one(quote), one(base) * 10_u128.pow(decimals));
        prop_assert_eq!(converted.currency(), quote);
        prop_assert!(2 * (whole(&converted) * unit).abs_diff(exact) <= unit, "{given} {base} at {pair} = {converted}");
        let given = Amount::from_minor(quote, minor).unwrap();
        let converted = pair.convert(&given).unwrap();
        let (exact, unit) = (whole(&given) * one(base) * 10_u128.pow(decimals), one(quote) * digits);
        prop_assert_eq!(converted.currency(), base);
        prop_assert!(2 * (whole(&converted) * unit).abs_diff(exact) <= unit, "{given} {quote} at {pair} = {converted}");
        prop_assert_eq!(pair.to_string().parse(), Ok(pair));
    }

    #[test]
    fn refunds_add_up_to_the_whole_even_when_some_fail(
        rate in plausible(), parts in prop::collection::vec((1..5_000_i64, any::<bool>()), 1..40), shopper in 0..60_usize,
    ) {
        let shopper = Currency::ALL[shopper];
        prop_assume!(shopper != Currency::Kwd);
        let rate = ExchangeRate::new(Currency::Kwd, shopper, rate).unwrap();
        let amount = |minor| Amount::from_minor(shopper, minor).unwrap();
        let captured: i64 = parts.iter().map(|(minor, _)| minor).sum();
        let whole = rate.to_base(&amount(captured)).unwrap();
        let (mut refunded, mut back) = (Amount::zero(shopper), Amount::zero(Currency::Kwd));
        let mut failed = Vec::new();
        let mut live = Vec::new();
        for (minor, fails) in parts {
            let share = rate.refund_share(&refunded, &back, &amount(minor)).unwrap();
            refunded = refunded.checked_add(&amount(minor)).unwrap();
            back = back.checked_add(&share).unwrap();
            prop_assert!(back <= whole);
            live.push((minor, share));
            if fails {
                // An earlier one fails, not only the newest.
                let (minor, share) = live.swap_remove(live.len() / 2);
                refunded = refunded.checked_sub(&amount(minor)).unwrap();
                back = back.checked_sub(&share).unwrap();
                failed.push(minor);
            }
        }
        for minor in failed {
            let share = rate.refund_share(&refunded, &back, &amount(minor)).unwrap();
            refunded = refunded.checked_add(&amount(minor)).unwrap();
            back = back.checked_add(&share).unwrap();
        }
        prop_assert_eq!((refunded.minor(), back), (captured, whole));
    }
}
