//! What is bought in a checkout. Unlike in a Session, Quantity multiplies here (docs/SPECIFICATION.md#checkout-total).

use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use dropin_validation::{MAX_ITEMS, SentNumber, Text, UrlPolicy, WebUrl, sent_amount, sent_quantity};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::known::Known;
use crate::member::{Member, Shape};
use crate::number::ExactNumber;
use crate::schema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutItem)]
pub(super) struct ItemDto {
    #[schema(value_type = schema::Text)]
    description: Member<String>,
    /// Of one piece, in ConsumerCurrency; Quantity multiplies it.
    #[schema(value_type = schema::AmountRequest)]
    consumer_price: Member<SentNumber>,
    #[schema(value_type = schema::Quantity)]
    quantity: Member<SentNumber>,
    /// Your number of the article.
    #[schema(value_type = Option<schema::Text>)]
    sku: Member<String>,
    /// A picture of it.
    #[schema(value_type = Option<schema::WebUrl>)]
    image_url: Member<String>,
}

impl Known for ItemDto {}

/// An item, its members of the right types.
pub(super) struct ItemInput {
    description: String,
    consumer_price: SentNumber,
    quantity: SentNumber,
    sku: Option<String>,
    image_url: Option<String>,
}

impl Shape for ItemDto {
    type Input = ItemInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<ItemInput> {
        let description = self.description.required(path, "Description", all);
        let consumer_price = self.consumer_price.required(path, "ConsumerPrice", all);
        let quantity = self.quantity.required(path, "Quantity", all);
        let sku = self.sku.optional(path, "Sku", all);
        let image_url = self.image_url.optional(path, "ImageUrl", all);
        Some(ItemInput {
            description: description?,
            consumer_price: consumer_price?,
            quantity: quantity?,
            sku,
            image_url,
        })
    }
}

/// A checked item, as it is kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CartItem {
    description: String,
    consumer_price: ExactNumber,
    quantity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_url: Option<String>,
    /// ConsumerPrice times Quantity.
    #[serde(skip)]
    line: Amount,
}

impl CartItem {
    fn parse(at: usize, input: &ItemInput, currency: Currency, policy: UrlPolicy) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let field = |name: &str| format!("Items[{at}].{name}");
        let description = all.check(Text::parse(field("Description"), &input.description));
        let price = all.check(sent_amount(field("ConsumerPrice"), currency, &input.consumer_price));
        let quantity = all.check(sent_quantity(field("Quantity"), &input.quantity));
        let line = price.as_ref().zip(quantity).and_then(|(price, quantity)| {
            let why = "times Quantity must have at most 12 digits before the decimal point";
            let too_much = || Violation::new(field("ConsumerPrice"), ViolationCode::OutOfRange, why);
            all.check(times(price, quantity).ok_or_else(too_much))
        });
        let sku = input.sku.as_ref().and_then(|sku| all.check(Text::parse(field("Sku"), sku)));
        let image = input.image_url.as_ref().and_then(|url| all.check(WebUrl::parse(field("ImageUrl"), url, policy)));
        let item = match (description, price, quantity, line) {
            (Some(description), Some(price), Some(quantity), Some(line)) => Some(Self {
                description: description.into_string(),
                consumer_price: (&price).into(),
                quantity,
                sku: sku.map(Text::into_string),
                image_url: image.map(|url| url.as_str().to_owned()),
                line,
            }),
            _ => None,
        };
        all.into_result(item)
    }
}

fn times(price: &Amount, quantity: u32) -> Option<Amount> {
    let minor = price.minor().checked_mul(quantity.into())?;
    Amount::from_minor(price.currency(), minor).ok()
}

/// Checks every item.
pub(super) fn parse(
    inputs: &[ItemInput],
    currency: Currency,
    policy: UrlPolicy,
    all: &mut Violations,
) -> Option<Vec<CartItem>> {
    let countable = (1..=MAX_ITEMS).contains(&inputs.len());
    if !countable {
        all.push("Items", ViolationCode::OutOfRange, "must have from 1 to 500 entries");
    }
    // Every item is looked at, also after a wrong one.
    let items: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(at, input)| all.check_all(CartItem::parse(at, input, currency, policy)))
        .collect();
    items.into_iter().collect::<Option<_>>().filter(|_| countable)
}

/// What is to be paid: every ConsumerPrice times its Quantity, exactly.
pub(super) fn total(items: &[CartItem], currency: Currency) -> Result<Amount, Violation> {
    let out = |why: String| Violation::new("Items", ViolationCode::OutOfRange, why);
    let total = items
        .iter()
        .try_fold(Amount::zero(currency), |sum, item| sum.checked_add(&item.line))
        .map_err(|error| out(format!("the sum {error}")))?;
    if total.is_zero() { Err(out("the total must be above zero".to_owned())) } else { Ok(total) }
}
