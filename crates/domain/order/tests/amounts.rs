//! The amounts of an Order keep their rules whatever is restored.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_money::{Amount, Currency};
use dropin_order::{Amounts, MoneyRule};

fn of(currency: Currency, minor: i64) -> Amount {
    Amount::from_minor(currency, minor).unwrap()
}

/// Every combination of small amounts.
#[test]
fn restoring_keeps_both_rules() {
    let digits = |n: i64| [n % 4, n / 4 % 4, n / 16 % 4, n / 64 % 4, n / 256];
    for [authorized, captured, refunded, capture_pending, refund_pending] in (0..1_024).map(digits) {
        let usd = |minor| of(Currency::Usd, minor);
        let found =
            Amounts::restore(usd(authorized), usd(captured), usd(refunded), usd(capture_pending), usd(refund_pending));
        let expected = if authorized < captured + capture_pending {
            Err(MoneyRule::CapturedExceedsAuthorized)
        } else if captured < refunded + refund_pending {
            Err(MoneyRule::RefundedExceedsCaptured)
        } else {
            Ok(authorized - captured - capture_pending)
        };
        assert_eq!(found.map(|amounts| amounts.capturable().minor()), expected);
    }
}

#[test]
fn amounts_of_an_order_have_one_currency() {
    for odd in 0..5 {
        let zero = |at| of(if at == odd { Currency::Eur } else { Currency::Usd }, 0);
        let found = Amounts::restore(zero(0), zero(1), zero(2), zero(3), zero(4));
        assert_eq!(found, Err(MoneyRule::MixedCurrencies), "{odd}");
    }
}

#[test]
fn nothing_is_authorized_at_first() {
    let none = Amounts::none(Currency::Jpy);
    assert!(none.total_authorized().is_zero() && none.capturable().is_zero());
    assert_eq!(none.currency(), Currency::Jpy);
}
