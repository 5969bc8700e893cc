use std::fmt;

use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, AmountError, Currency, Decimal, DecimalError};

use crate::text::Text;

/// Most items of one Session (docs/SPECIFICATION.md#item-count).
///
/// ```
/// assert_eq!(dropin_validation::MAX_ITEMS, 500);
/// ```
pub const MAX_ITEMS: usize = 500;
/// Most discounts of one Session: as many as items, since an answer must not grow without a limit (docs/SPECIFICATION.md#discount-count).
///
/// ```
/// assert_eq!(dropin_validation::MAX_DISCOUNTS, 500);
/// ```
pub const MAX_DISCOUNTS: usize = MAX_ITEMS;
/// Largest Quantity (docs/SPECIFICATION.md#items).
///
/// ```
/// assert_eq!(dropin_validation::MAX_QUANTITY, 1_000_000);
/// ```
pub const MAX_QUANTITY: u32 = 1_000_000;

/// A number as it was sent. One outside the bounds of [`Decimal`] is a number all the same: its meaning is wrong, not its type.
///
/// ```
/// use dropin_money::{Decimal, DecimalError};
/// use dropin_validation::SentNumber;
///
/// let sent: SentNumber = Decimal::parse("1e1000");
/// assert_eq!(sent, Err(DecimalError::OutOfRange));
/// ```
pub type SentNumber = Result<Decimal, DecimalError>;

/// An Item as it was sent. The default is one of nothing, without a name.
///
/// ```
/// use dropin_money::Decimal;
/// use dropin_validation::ItemInput;
///
/// let mug = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("9.5"), ..ItemInput::default() };
/// assert_eq!(mug.quantity, Decimal::parse("1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemInput {
    /// Item.Name
    pub name: String,
    /// Item.Amount: of the whole line.
    pub amount: SentNumber,
    /// Item.Quantity
    pub quantity: SentNumber,
}

/// A line of what is bought (docs/SPECIFICATION.md#items). Its amount is the line's: Quantity does not multiply it.
///
/// ```
/// use dropin_money::{Currency, Decimal};
/// use dropin_validation::{Item, ItemInput};
///
/// let input = ItemInput { name: "Mug".to_owned(), amount: Decimal::parse("19"), quantity: Decimal::parse("2.0") };
/// let item = Item::parse("Items[0]", &input, Currency::Eur).unwrap();
/// assert_eq!((item.amount.to_string(), item.quantity), ("19.00".to_owned(), 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "crate::stored::StoredItem")
)]
pub struct Item {
    /// Name shown to the shopper.
    pub name: Text,
    /// Amount of the whole line; zero or more.
    pub amount: Amount,
    /// 1 to 1,000,000; informs, and does not multiply.
    pub quantity: u32,
}

/// A Discount as it was sent. The default is one of nothing, without a name: both are refused.
///
/// ```
/// use dropin_validation::DiscountInput;
///
/// assert!(DiscountInput::default().name.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscountInput {
    /// Discount.Name
    pub name: String,
    /// Discount.Amount
    pub amount: SentNumber,
}

/// A flat amount subtracted from the total (docs/SPECIFICATION.md#items).
///
/// ```
/// use dropin_money::{Currency, Decimal};
/// use dropin_validation::{Discount, DiscountInput};
///
/// let mut input = DiscountInput { name: "Sale".to_owned(), amount: Decimal::parse("5") };
/// assert_eq!(Discount::parse("Discounts[0]", &input, Currency::Usd).unwrap().amount.minor(), 500);
/// input.amount = Decimal::parse("0");
/// assert!(Discount::parse("Discounts[0]", &input, Currency::Usd).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "crate::stored::StoredDiscount")
)]
pub struct Discount {
    /// Description shown to the shopper.
    pub name: Text,
    /// Above zero.
    pub amount: Amount,
}

impl Default for ItemInput {
    fn default() -> Self {
        Self { name: String::new(), amount: Decimal::parse("0"), quantity: Decimal::parse("1") }
    }
}

impl Default for DiscountInput {
    fn default() -> Self {
        Self { name: String::new(), amount: Decimal::parse("0") }
    }
}

impl Item {
    /// Checks one item; `path` is its own, for example `Items[2]`.
    ///
    /// ```
    /// # use {dropin_money::Currency, dropin_validation::{Item, ItemInput}};
    /// let wrong = Item::parse("Items[2]", &ItemInput::default(), Currency::Eur).unwrap_err().into_sorted();
    /// assert_eq!(wrong[0].field, "Items[2].Name");
    /// ```
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

    /// Checks the whole list at `path`: 1 to 500 items (docs/SPECIFICATION.md#item-count).
    ///
    /// ```
    /// # use {dropin_money::Currency, dropin_validation::Item};
    /// assert_eq!(Item::parse_all("Items", &[], Currency::Eur).unwrap_err().into_sorted()[0].field, "Items");
    /// ```
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
    /// ```
    /// # use {dropin_money::Currency, dropin_validation::{Discount, DiscountInput}};
    /// let wrong = Discount::parse("Discounts[0]", &DiscountInput::default(), Currency::Eur).unwrap_err().into_sorted();
    /// assert_eq!((wrong[0].field.as_str(), wrong[1].field.as_str()), ("Discounts[0].Amount", "Discounts[0].Name"));
    /// ```
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
    /// ```
    /// # use {dropin_money::Currency, dropin_validation::Discount};
    /// assert_eq!(Discount::parse_all("Discounts", &[], Currency::Eur), Ok(vec![]));
    /// ```
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
/// ```
/// use dropin_money::{Currency, Decimal};
/// use dropin_validation::parse_amount;
///
/// let number = Decimal::parse("29.9").unwrap();
/// assert_eq!(parse_amount("Amount", Currency::Eur, &number).unwrap().to_string(), "29.90");
/// assert_eq!(parse_amount("Amount", Currency::Jpy, &number).unwrap_err().field, "Amount");
/// ```
///
/// # Errors
/// A violation at `field`: FIELD_INVALID for too many decimals, VALUE_OUT_OF_RANGE otherwise.
pub fn parse_amount(field: impl fmt::Display, currency: Currency, number: &Decimal) -> Result<Amount, Violation> {
    Amount::from_decimal(currency, number).map_err(|error| {
        let code = match error {
            AmountError::TooPrecise { .. } => ViolationCode::Invalid,
            _ => ViolationCode::OutOfRange,
        };
        Violation::new(field.to_string(), code, error.to_string())
    })
}

/// A currency from its code (docs/SPECIFICATION.md#currencies).
///
/// ```
/// use dropin_money::Currency;
/// use dropin_validation::parse_currency;
///
/// assert_eq!(parse_currency("Currency", "EUR"), Ok(Currency::Eur));
/// assert_eq!(parse_currency("Currency", "eur").unwrap_err().field, "Currency");
/// ```
///
/// # Errors
/// A violation at `field`: VALUE_NOT_ALLOWED for every other text.
pub fn parse_currency(field: impl fmt::Display, code: &str) -> Result<Currency, Violation> {
    let why = "must be one of the currencies that Dropin knows, such as USD";
    code.parse().map_err(|_unknown| Violation::new(field.to_string(), ViolationCode::NotAllowed, why))
}

/// An amount of `currency`, zero or more, from a number as it was sent.
///
/// ```
/// use dropin_money::{Currency, Decimal};
/// use dropin_validation::sent_amount;
///
/// assert_eq!(sent_amount("TaxAmount", Currency::Usd, &Decimal::parse("0.5")).unwrap().minor(), 50);
/// assert!(sent_amount("TaxAmount", Currency::Usd, &Decimal::parse("1e1000")).is_err());
/// ```
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
            _ => ViolationCode::OutOfRange,
        };
        Violation::new(field.to_string(), code, error.to_string())
    })
}

/// A whole number from 1 to 1,000,000, which may be written with a zero fraction (docs/SPECIFICATION.md#numbers, docs/SPECIFICATION.md#items).
///
/// ```
/// use dropin_money::Decimal;
/// use dropin_validation::sent_quantity;
///
/// assert_eq!(sent_quantity("Quantity", &Decimal::parse("2.0")), Ok(2));
/// assert!(sent_quantity("Quantity", &Decimal::parse("1.5")).is_err());
/// ```
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

/// What a total is made of. All of it is in one currency.
///
/// ```
/// use dropin_money::{Amount, Currency};
/// use dropin_validation::{Totals, total_amount};
///
/// let tax = Amount::from_minor(Currency::Eur, 190).unwrap();
/// let of = Totals {
///     currency: Currency::Eur,
///     items: &[],
///     tax: Some(&tax),
///     shipping_and_duty: None,
///     discounts: &[],
///     open_contract: false,
/// };
/// assert_eq!(total_amount(of).unwrap().to_string(), "1.90");
/// ```
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
    /// OpenContract: a payment that opens a contract may be of nothing, any other may not (docs/SPECIFICATION.md#zero-total).
    pub open_contract: bool,
}

/// TotalAmount: TaxAmount + ShippingAmount + DutyAmount + every Item.Amount − every Discount.Amount, exactly
/// (docs/SPECIFICATION.md#total-amount).
///
/// ```
/// use dropin_money::{Amount, Currency};
/// use dropin_validation::{Totals, total_amount};
///
/// let tax = Amount::from_minor(Currency::Eur, 190).unwrap();
/// let of = Totals {
///     currency: Currency::Eur,
///     items: &[],
///     tax: Some(&tax),
///     shipping_and_duty: None,
///     discounts: &[],
///     open_contract: false,
/// };
/// assert_eq!(total_amount(of), Ok(tax.clone()));
/// assert_eq!(total_amount(Totals { tax: None, ..of }).unwrap_err().message, "the total must be above zero");
/// assert!(total_amount(Totals { tax: None, open_contract: true, ..of }).unwrap().is_zero());
/// ```
///
/// # Errors
/// VALUE_OUT_OF_RANGE at `Items` when it has more than 12 integer digits, or is zero without OpenContract; at `Discounts` when it would be
/// negative (docs/SPECIFICATION.md#negative-total).
pub fn total_amount(of: Totals<'_>) -> Result<Amount, Violation> {
    let out = |field: &str, why: &str| Violation::new(field, ViolationCode::OutOfRange, why);
    let too_large = |field: &'static str| move |error| out(field, &format!("the sum {error}"));
    let shipping = of.shipping_and_duty.into_iter().flat_map(|(shipping, duty)| [shipping, duty]);
    let plus = of.items.iter().map(|item| &item.amount).chain(of.tax).chain(shipping);
    let plus = Amount::sum(of.currency, plus).map_err(too_large("Items"))?;
    let minus = of.discounts.iter().map(|discount| &discount.amount);
    let minus = Amount::sum(of.currency, minus).map_err(too_large("Discounts"))?;
    let total = plus
        .checked_sub(&minus)
        .map_err(|_negative| out("Discounts", "the discounts exceed everything else: the total would be negative"))?;
    if total.is_zero() && !of.open_contract {
        return Err(out("Items", "the total must be above zero"));
    }
    Ok(total)
}
