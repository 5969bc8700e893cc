//! TotalAmount is exactly the sum of docs/SPECIFICATION.md#total-amount, whatever the numbers.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_kernel::{ViolationCode, Violations};
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::{Discount, DiscountInput, Item, ItemInput, Totals, total_amount};
use proptest::prelude::*;

fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

fn item(minor: i64, quantity: &str) -> Item {
    let input = ItemInput {
        name: "Mug".to_owned(),
        amount: Decimal::parse(&usd(minor).to_string()),
        quantity: Decimal::parse(quantity),
    };
    Item::parse("Items[0]", &input, Currency::Usd).unwrap()
}

fn discount(minor: i64) -> Result<Discount, Violations> {
    let amount = Decimal::parse(&usd(minor).to_string());
    Discount::parse("Discounts[0]", &DiscountInput { name: "Sale".to_owned(), amount }, Currency::Usd)
}

fn total(
    items: &[i64],
    tax: Option<i64>,
    shipping: Option<(i64, i64)>,
    discounts: &[i64],
) -> Result<i64, (String, ViolationCode)> {
    let items: Vec<_> = items.iter().map(|minor| item(*minor, "3")).collect();
    let discounts: Vec<_> = discounts.iter().map(|minor| discount(*minor).unwrap()).collect();
    let (tax, shipping) = (tax.map(usd), shipping.map(|(shipping, duty)| (usd(shipping), usd(duty))));
    let shipping_and_duty = shipping.as_ref().map(|(shipping, duty)| (shipping, duty));
    let of = Totals {
        currency: Currency::Usd,
        items: &items,
        tax: tax.as_ref(),
        shipping_and_duty,
        discounts: &discounts,
        open_contract: false,
    };
    total_amount(of).map(|total| total.minor()).map_err(|violation| (violation.field, violation.code))
}

#[test]
fn quantity_does_not_multiply() {
    assert_eq!(total(&[1_000], None, None, &[]), Ok(1_000));
}

#[test]
fn quantity_is_a_whole_number_from_1_to_a_million() {
    let code = |quantity: &str| {
        let number = Decimal::parse(quantity);
        let input = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("1"), quantity: number };
        Item::parse("I", &input, Currency::Usd).map(|item| item.quantity).map_err(|all| all.into_sorted()[0].code)
    };
    assert_eq!((code("2.0"), code("1e6"), code("1")), (Ok(2), Ok(1_000_000), Ok(1)));
    for (wrong, why) in [
        ("0", ViolationCode::OutOfRange),
        ("-1", ViolationCode::OutOfRange),
        ("1000001", ViolationCode::OutOfRange),
        ("99999999999", ViolationCode::OutOfRange),
        ("1.5", ViolationCode::Invalid),
    ] {
        assert_eq!(code(wrong), Err(why), "{wrong}");
    }
}

#[test]
fn a_discount_is_above_zero() {
    assert_eq!(discount(0).unwrap_err().into_sorted()[0].code, ViolationCode::OutOfRange);
}

#[test]
fn a_negative_total_is_the_discounts_fault_and_zero_the_items() {
    assert_eq!(total(&[500], None, None, &[501]), Err(("Discounts".to_owned(), ViolationCode::OutOfRange)));
    assert_eq!(total(&[500], None, None, &[500]), Err(("Items".to_owned(), ViolationCode::OutOfRange)));
    assert_eq!(total(&[0], Some(1), None, &[]), Ok(1));
}

#[test]
fn sums_have_twelve_integer_digits_at_most() {
    let most = 99_999_999_999_999;
    assert_eq!(total(&[most], None, None, &[]), Ok(most));
    assert_eq!(total(&[most, 1], None, None, &[]), Err(("Items".to_owned(), ViolationCode::OutOfRange)));
    assert_eq!(total(&[most, 1], None, None, &[1]), Err(("Items".to_owned(), ViolationCode::OutOfRange)));
    assert_eq!(total(&[most], None, None, &[most, 1]), Err(("Discounts".to_owned(), ViolationCode::OutOfRange)));
}

proptest! {
    #[test]
    fn the_total_is_the_integer_sum_of_minor_units(
        items in prop::collection::vec(0..10_000_000_i64, 1..20),
        tax in prop::option::of(0..1_000_000_i64),
        shipping in prop::option::of((0..1_000_000_i64, 0..1_000_000_i64)),
        discounts in prop::collection::vec(1..3_000_000_i64, 0..10),
    ) {
        let (shipping_charge, duty) = shipping.unwrap_or_default();
        let plus: i64 = items.iter().sum::<i64>() + tax.unwrap_or(0) + shipping_charge + duty;
        let sum = plus - discounts.iter().sum::<i64>();
        let expected = match sum {
            ..0 => Err(("Discounts".to_owned(), ViolationCode::OutOfRange)),
            0 => Err(("Items".to_owned(), ViolationCode::OutOfRange)),
            1.. => Ok(sum),
        };
        prop_assert_eq!(total(&items, tax, shipping, &discounts), expected);
    }

    #[test]
    fn the_order_of_items_does_not_matter(mut items in prop::collection::vec(1..10_000_000_i64, 1..20)) {
        let there = total(&items, None, None, &[]);
        items.reverse();
        prop_assert_eq!(total(&items, None, None, &[]), there);
    }
}
