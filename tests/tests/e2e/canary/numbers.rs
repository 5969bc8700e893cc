//! The numbers: those that are published (docs/SPECIFICATION.md#test-numbers), and as many as are wanted in the range of the first of them, which nobody issues
//! to a shopper.

use dropin_tests::cards;

/// How 4242 4242 4242 4242 begins.
pub(super) const RANGE: &str = "42424242";

/// So many different numbers, all with a right check digit.
pub(super) fn some(count: usize) -> Vec<String> {
    let made = (1..).map(|step: u64| with_check_digit(&format!("{RANGE}{:07}", 4_999_999 * step % 9_999_991)));
    let mut numbers: Vec<_> = made.take(count.saturating_sub(cards::all().count())).collect();
    // The made ones first: a short run has some of both.
    numbers.extend(cards::all().map(str::to_owned));
    let few = numbers.len().saturating_sub(count);
    numbers.drain(..few);
    numbers
}

fn with_check_digit(digits: &str) -> String {
    let double = |digit: u32| if digit < 5 { 2 * digit } else { 2 * digit - 9 };
    let values = digits.bytes().rev().map(|digit| u32::from(digit - b'0')).enumerate();
    let sum: u32 = values.map(|(at, digit)| if at % 2 == 0 { double(digit) } else { digit }).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

#[test]
fn numbers_are_as_many_as_wanted_and_different() {
    assert_eq!(with_check_digit("424242424242424"), cards::VISA);
    assert_eq!(with_check_digit("37828224631000"), cards::SCHEMES[2].1);
    let numbers = some(200);
    let different: std::collections::BTreeSet<_> = numbers.iter().collect();
    assert_eq!((numbers.len(), different.len(), some(20).len()), (200, 200, 20));
}
