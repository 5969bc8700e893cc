use std::fmt;

use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, AmountError, Currency, Decimal, DecimalError};

use crate::text::Text;

/// Most items of one Session (decisions.md section 2).
pub const MAX_ITEMS: usize = 500;
/// Most discounts of one Session: as many as items, since the contract and decisions.md set no limit and an answer must not grow without one.
pub const MAX_DISCOUNTS: usize = MAX_ITEMS;
/// Largest Quantity (decisions.md section 2).
pub const MAX_QUANTITY: u32 = 1_000_000;

/// A number as it was sent. One outside the bounds of [`Decimal`] is a number all the same: its meaning is wrong, not its type.
pub type SentNumber = Result<Decimal, DecimalError>;

/// An Item as it was sent.
#[derive(Debug, Clone)]
pub struct ItemInput {
    /// Item.Name
    pub name: String,
    /// Item.Amount: of the whole line.
    pub amount: SentNumber,
    /// Item.Quantity
    pub quantity: SentNumber,
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
    pub amount: SentNumber,
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
    pub fn parse(path: impl fmt::Display, input: &ItemInput, currency: Currency) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let name = all.check(Text::parse(format_args!("{path}.Name"), &input.name));
        let amount = all.check(sent_amount(format_args!("{path}.Amount"), currency, &input.amount));
        let quantity = all.check(sent_quantity(format_args!("{path}.Quantity"), &input.quantity));
        let item = match (name, amount, quantity) {
            (Some(name), Some(amount), Some(quantity)) => Some(Self { name, amount, quantity }),
            _ => None,
        };
        all.into_result(item)
    }

    /// Checks the whole list at `path`: 1 to 500 items (contract, Limits: at least 1; decisions.md section 2).
    ///
    /// # Errors
    /// VALUE_OUT_OF_RANGE at `path` for their number, and every violation of every item.
    pub fn parse_all(
        path: impl fmt::Display,
        inputs: &[ItemInput],
        currency: Currency,
    ) -> Result<Vec<Self>, Violations> {
        let mut all = Violations::new();
        if !(1..=MAX_ITEMS).contains(&inputs.len()) {
            all.push(path.to_string(), ViolationCode::OutOfRange, "must have from 1 to 500 entries");
        }
        let items = entries(&mut all, inputs, |at, input| Self::parse(format_args!("{path}[{at}]"), input, currency));
        all.into_result(items)
    }
}

impl Discount {
    /// Checks one discount; `path` is its own, for example `Discounts[0]`.
    ///
    /// # Errors
    /// Every violation of its fields.
    pub fn parse(path: impl fmt::Display, input: &DiscountInput, currency: Currency) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let name = all.check(Text::parse(format_args!("{path}.Name"), &input.name));
        let amount = all.check(sent_amount(format_args!("{path}.Amount"), currency, &input.amount)).filter(|amount| {
            if amount.is_zero() {
                all.push(format!("{path}.Amount"), ViolationCode::OutOfRange, "must be above zero");
            }
            !amount.is_zero()
        });
        all.into_result(name.zip(amount).map(|(name, amount)| Self { name, amount }))
    }

    /// Checks the whole list at `path`, which may be empty.
    ///
    /// # Errors
    /// VALUE_OUT_OF_RANGE at `path` for more than 500, and every violation of every discount.
    pub fn parse_all(
        path: impl fmt::Display,
        inputs: &[DiscountInput],
        currency: Currency,
    ) -> Result<Vec<Self>, Violations> {
        let mut all = Violations::new();
        if MAX_DISCOUNTS < inputs.len() {
            all.push(path.to_string(), ViolationCode::OutOfRange, "must have at most 500 entries");
        }
        let discounts =
            entries(&mut all, inputs, |at, input| Self::parse(format_args!("{path}[{at}]"), input, currency));
        all.into_result(discounts)
    }
}

/// Every entry, or `None` when one is wrong; each is looked at, also after a wrong one.
fn entries<I, T>(
    all: &mut Violations,
    inputs: &[I],
    parse: impl Fn(usize, &I) -> Result<T, Violations>,
) -> Option<Vec<T>> {
    let mut entries = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.iter().enumerate() {
        entries.extend(all.check_all(parse(at, input)));
    }
    (entries.len() == inputs.len()).then_some(entries)
}

/// An amount of `currency`, zero or more.
///
/// # Errors
/// A violation at `field`: FIELD_INVALID for too many decimals, VALUE_OUT_OF_RANGE otherwise.
pub fn parse_amount(field: impl fmt::Display, currency: Currency, number: &Decimal) -> Result<Amount, Violation> {
    Amount::from_decimal(currency, number).map_err(|error| {
        let code = match error {
            AmountError::TooPrecise { .. } => ViolationCode::Invalid,
            AmountError::Negative | AmountError::TooLarge | AmountError::CurrencyMismatch => ViolationCode::OutOfRange,
        };
        Violation::new(field.to_string(), code, error.to_string())
    })
}

/// An amount of `currency`, zero or more, from a number as it was sent.
///
/// # Errors
/// A violation at `field`: FIELD_INVALID for too many decimals, VALUE_OUT_OF_RANGE otherwise.
pub fn sent_amount(field: impl fmt::Display, currency: Currency, number: &SentNumber) -> Result<Amount, Violation> {
    parse_amount(&field, currency, usable(&field, number)?)
}

fn usable(field: impl fmt::Display, number: &SentNumber) -> Result<&Decimal, Violation> {
    number.as_ref().map_err(|error| {
        let code = match error {
            DecimalError::NotANumber => ViolationCode::Invalid,
            DecimalError::OutOfRange => ViolationCode::OutOfRange,
        };
        Violation::new(field.to_string(), code, error.to_string())
    })
}

/// A whole number from 1 to 1,000,000, which may be written with a zero fraction (decisions.md sections 1 and 2).
///
/// # Errors
/// A violation at `field`: FIELD_INVALID for a fraction, VALUE_OUT_OF_RANGE otherwise.
pub fn sent_quantity(field: impl fmt::Display, number: &SentNumber) -> Result<u32, Violation> {
    let number = usable(&field, number)?;
    match number.to_whole_u32() {
        Some(quantity @ 1..=MAX_QUANTITY) => Ok(quantity),
        Some(_) => Err(Violation::new(field.to_string(), ViolationCode::OutOfRange, "must be from 1 to 1,000,000")),
        None if number.is_negative() || number.is_whole() => {
            Err(Violation::new(field.to_string(), ViolationCode::OutOfRange, "must be from 1 to 1,000,000"))
        }
        None => Err(Violation::new(field.to_string(), ViolationCode::Invalid, "must be a whole number")),
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
    /// OpenContract: a payment that opens a contract may be of nothing, any other may not (decisions.md section 2).
    pub open_contract: bool,
}

/// TotalAmount: TaxAmount + ShippingAmount + DutyAmount + every Item.Amount − every Discount.Amount, exactly
/// (contract, Session.TotalAmount).
///
/// # Errors
/// VALUE_OUT_OF_RANGE at `Items` when it has more than 12 integer digits, or is zero without OpenContract; at `Discounts` when it would be
/// negative (decisions.md section 2).
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
    if total.is_zero() && !of.open_contract {
        return Err(out("Items", "the total must be above zero"));
    }
    Ok(total)
}
