//! Bills one order in yen, US dollars and Kuwaiti dinars: quantities, a discount on a line, one on the whole, taxes.
//!
//! Every number is exact or rounded by a named rule, and the lines of the invoice add up to its total.

use std::error::Error;
use std::fmt;

use dropin_money::{Amount, AmountError, Currency, Decimal, Rounding};

/// What is billed, as an order has it.
struct Order {
    currency: Currency,
    items: Vec<Item>,
    /// Taken off the whole order, before tax.
    coupon: Amount,
}

struct Item {
    name: &'static str,
    quantity: u64,
    /// Of one.
    price: Amount,
    /// In percent.
    discount: Decimal,
    /// In percent.
    tax: Decimal,
}

/// A line of the invoice: what it costs after discounts, and its tax.
struct Line {
    name: &'static str,
    quantity: u64,
    net: Amount,
    tax: Amount,
}

struct Invoice {
    lines: Vec<Line>,
    discounts: Amount,
    net: Amount,
    tax: Amount,
    total: Amount,
}

fn bill(order: &Order) -> Result<Invoice, AmountError> {
    let mut discounts = vec![order.coupon];
    let mut before_coupon = Vec::new();
    for item in &order.items {
        let gross = item.price.checked_mul(item.quantity)?;
        // A discount never gives more than was promised.
        let discount = gross.percent(&item.discount, Rounding::Down)?;
        discounts.push(discount);
        before_coupon.push(gross.checked_sub(&discount)?);
    }

    // Each line carries its part of the coupon, since their taxes differ; the parts add up to the coupon.
    let coupons = order.coupon.allocate_over(&before_coupon)?;
    let mut lines = Vec::new();
    for ((item, amount), coupon) in order.items.iter().zip(before_coupon).zip(coupons) {
        let net = amount.checked_sub(&coupon)?;
        let tax = net.percent(&item.tax, Rounding::HalfUp)?;
        lines.push(Line { name: item.name, quantity: item.quantity, net, tax });
    }

    let sum = |part: fn(&Line) -> Amount| Amount::sum(order.currency, lines.iter().map(part));
    let (net, tax) = (sum(|line| line.net)?, sum(|line| line.tax)?);
    let discounts = Amount::sum(order.currency, discounts)?;
    Ok(Invoice { discounts, net, tax, total: net.checked_add(&tax)?, lines })
}

impl fmt::Display for Invoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14}{:>4}{:>12}{:>12}", "", "", "net", "tax")?;
        for Line { name, quantity, net, tax } in &self.lines {
            writeln!(f, "{name:<14}{quantity:>4}{net:>12}{tax:>12}")?;
        }
        writeln!(f, "{:<18}{:>12}{:>12}", "sum", self.net, self.tax)?;
        writeln!(f, "{:<18}{:>#24}", "to pay", self.total)?;
        writeln!(f, "{:<18}{:>#24}", "discounts", self.discounts)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let percent = Decimal::parse;
    for (currency, [pen, paper, lamp], coupon, total, nets) in [
        (Currency::Jpy, ["150 JPY", "498 JPY", "3980 JPY"], "500 JPY", "7173 JPY", ["1673", "1216", "3699"]),
        (Currency::Usd, ["1.29 USD", "4.99 USD", "39.80 USD"], "5 USD", "68.98 USD", ["14.35", "12.14", "36.89"]),
        (Currency::Kwd, ["0.395 KWD", "1.525 KWD", "12.25 KWD"], "1.5 KWD", "21.216 KWD", ["4.401", "3.718", "11.375"]),
    ] {
        let items = vec![
            Item { name: "Pen", quantity: 12, price: pen.parse()?, discount: percent("0")?, tax: percent("10")? },
            Item { name: "Paper", quantity: 3, price: paper.parse()?, discount: percent("12.5")?, tax: percent("10")? },
            Item { name: "Desk lamp", quantity: 1, price: lamp.parse()?, discount: percent("0")?, tax: percent("8")? },
        ];
        let order = Order { currency, items, coupon: coupon.parse()? };
        let invoice = bill(&order)?;
        println!("{invoice}");
        assert_eq!(format!("{:#}", invoice.total), total);
        assert_eq!(invoice.lines.iter().map(|line| line.net.to_string()).collect::<Vec<_>>(), nets);

        // What is paid without tax and what was taken off are what the lines cost at first: nothing is lost on the way.
        let listed: Result<Vec<_>, AmountError> =
            order.items.iter().map(|item| item.price.checked_mul(item.quantity)).collect();
        assert_eq!(Amount::sum(currency, listed?)?, invoice.net.checked_add(&invoice.discounts)?);

        // Three instalments of the total are the total.
        assert_eq!(Amount::sum(currency, invoice.total.split(3)?)?, invoice.total);
    }
    Ok(())
}
