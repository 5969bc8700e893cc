use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, AmountError, Currency, Decimal};

use crate::text::Text;

/// Most items of one Session (decisions.md section 2).
pub const MAX_ITEMS: usize = 500;
/// Largest Quantity (decisions.md section 2).
pub const MAX_QUANTITY: u32 = 1_000_000;

/// An Item as it was sent.
#[derive(Debug, Clone)]
pub struct ItemInput {
    /// Item.Name
    pub name: String,
    /// Item.Amount: of the whole line.
    pub amount: Decimal,
    /// Item.Quantity
    pub quantity: Decimal,
}

/// A line of what is bought (contract, Item). Its amount is the line's: Quantity does not multiply it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Name shown to the shopper.
    pub name: Text,
    /// Amount of the whole line; zero or more.
    pub amount: Amount,
    /// 1 to 1,000,000; informs, and does not multiply.
    pub quantity: u32,
}

/// A Discount as it was sent.
#[derive(Debug, Clone)]
pub struct DiscountInput {
    /// Discount.Name
    pub name: String,
    /// Discount.Amount
    pub amount: Decimal,
}

/// A flat amount subtracted from the total (contract, Discount).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// Description shown to the shopper.
    pub name: Text,
    /// Above zero.
    pub amount: Amount,
}

impl Item {
    /// Checks one item; `path` is its own, for example `Items[2]`.
    ///
    /// # Errors
    /// Every violation of its fields.
    pub fn parse(path: &str, input: &ItemInput, currency: Currency) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let name = all.check(Text::parse(&format!("{path}.Name"), &input.name));
        let amount = all.check(parse_amount(&format!("{path}.Amount"), currency, &input.amount));
        let quantity = all.check(quantity(&format!("{path}.Quantity"), &input.quantity));
        let item = match (name, amount, quantity) {
            (Some(name), Some(amount), Some(quantity)) => Some(Self { name, amount, quantity }),
            _ => None,
        };
        all.into_result(item)
    }
}

impl Discount {
    /// Checks one discount; `path` is its own, for example `Discounts[0]`.
    ///
    /// # Errors
    /// Every violation of its fields.
    pub fn parse(path: &str, input: &DiscountInput, currency: Currency) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let field = format!("{path}.Amount");
        let name = all.check(Text::parse(&format!("{path}.Name"), &input.name));
        let amount = all.check(parse_amount(&field, currency, &input.amount)).filter(|amount| {
            if amount.is_zero() {
                all.push(field, ViolationCode::OutOfRange, "must be above zero");
            }
            !amount.is_zero()
        });
        all.into_result(name.zip(amount).map(|(name, amount)| Self { name, amount }))
    }
}

/// An amount of `currency`, zero or more.
///
/// # Errors
/// A violation at `field`: FIELD_INVALID for too many decimals, VALUE_OUT_OF_RANGE otherwise.
pub fn parse_amount(field: &str, currency: Currency, number: &Decimal) -> Result<Amount, Violation> {
    Amount::from_decimal(currency, number).map_err(|error| {
        let code = match error {
            AmountError::TooPrecise { .. } => ViolationCode::Invalid,
            AmountError::Negative | AmountError::TooLarge | AmountError::CurrencyMismatch => ViolationCode::OutOfRange,
        };
        Violation::new(field, code, error.to_string())
    })
}

fn quantity(field: &str, number: &Decimal) -> Result<u32, Violation> {
    match number.to_whole_u32() {
        Some(quantity @ 1..=MAX_QUANTITY) => Ok(quantity),
        Some(_) => Err(Violation::new(field, ViolationCode::OutOfRange, "must be from 1 to 1,000,000")),
        None if number.is_negative() || number.is_whole() => {
            Err(Violation::new(field, ViolationCode::OutOfRange, "must be from 1 to 1,000,000"))
        }
        None => Err(Violation::new(field, ViolationCode::Invalid, "must be a whole number")),
    }
}

/// What a total is made of.
#[derive(Debug, Clone, Copy)]
pub struct Totals<'a> {
    /// Currency of all of it.
    pub currency: Currency,
    /// Every Item.
    pub items: &'a [Item],
    /// TaxAmount.
    pub tax: Option<&'a Amount>,
    /// ShippingDetails.ShippingAmount and DutyAmount.
    pub shipping_and_duty: Option<(&'a Amount, &'a Amount)>,
    /// Every Discount.
    pub discounts: &'a [Discount],
}

/// TotalAmount: TaxAmount + ShippingAmount + DutyAmount + every Item.Amount − every Discount.Amount, exactly
/// (contract, Session.TotalAmount).
///
/// # Errors
/// VALUE_OUT_OF_RANGE at `Items` when it has more than 12 integer digits or is zero, at `Discounts` when it would be negative
/// (decisions.md section 2).
pub fn total_amount(of: Totals<'_>) -> Result<Amount, Violation> {
    let out = |field: &str, why: &str| Violation::new(field, ViolationCode::OutOfRange, why);
    let sum = |mut amounts: Box<dyn Iterator<Item = &Amount> + '_>, field: &str| {
        amounts
            .try_fold(Amount::zero(of.currency), |sum, amount| sum.checked_add(amount))
            .map_err(|error| out(field, &format!("the sum {error}")))
    };
    let shipping = of.shipping_and_duty.into_iter().flat_map(|(shipping, duty)| [shipping, duty]);
    let plus = of.items.iter().map(|item| &item.amount).chain(of.tax).chain(shipping);
    let plus = sum(Box::new(plus), "Items")?;
    let minus = sum(Box::new(of.discounts.iter().map(|discount| &discount.amount)), "Discounts")?;
    let total = plus
        .checked_sub(&minus)
        .map_err(|_negative| out("Discounts", "the discounts exceed everything else: the total would be negative"))?;
    if total.is_zero() {
        return Err(out("Items", "the total must be above zero"));
    }
    Ok(total)
}
