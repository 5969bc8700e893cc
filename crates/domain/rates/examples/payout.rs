//! A sale at a guaranteed rate and its refunds: what the merchant is paid out in euros for 100.00 dollars, and what three refunds take back.
//! `cargo run -p dropin-rates --example payout`
#![allow(clippy::unwrap_used, reason = "an example ends at the first thing that is wrong")]

use dropin_money::{Amount, Currency};
use dropin_rates::{Dated, ExchangeError, ExchangeRate, Markup, Pricing, Quote, Rate, Source, Table};

fn main() {
    let rate = guaranteed_rate();
    assert_eq!(rate.to_string(), "EUR/USD 1.133958"); // 1.1172 and 1.5 % of it

    let total = dollars(10_000);
    let settled = rate.settlement_amount(&total).unwrap();
    println!("{total} {} settle for {settled} {} at {rate}", total.currency(), settled.currency());
    assert_eq!(settled.to_string(), "88.19"); // 88.18668…

    // The rate knows what it converts: an amount in euros is no total of this sale.
    let euros = Amount::from_minor(Currency::Eur, 10_000).unwrap();
    assert_eq!(rate.settlement_amount(&euros), Err(ExchangeError::CurrencyMismatch));

    // Three refunds take back what the sale settled for, to the cent, however they are rounded on their own.
    let (mut refunded, mut taken) = (dollars(0), Amount::zero(Currency::Eur));
    for (minor, expected) in [(33_33, "29.39"), (33_33, "29.40"), (33_34, "29.40")] {
        let refund = dollars(minor);
        let share = rate.refund_share(&refunded, &taken, &refund).unwrap();
        println!("a refund of {refund} USD takes back {share} EUR");
        assert_eq!(share.to_string(), expected);
        refunded = refunded.checked_add(&refund).unwrap();
        taken = taken.checked_add(&share).unwrap();
    }
    assert_eq!((refunded, taken), (total, settled));
}

/// One euro in dollars with a markup of 1.5 %.
fn guaranteed_rate() -> ExchangeRate {
    let dollar = Quote { rate: Rate::parse("1.1172").unwrap(), dated: Dated::Always, source: Source::Sandbox };
    let table = Table::from_iter([(Currency::Usd, dollar)]);
    let markups = [(Currency::Usd, Markup::from_basis_points(150).unwrap())].into();
    Pricing { settlement: Currency::Eur, markups }.rate(&table, Currency::Usd).unwrap()
}

fn dollars(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}
