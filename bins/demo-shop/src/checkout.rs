//! From a basket to the request that creates the Session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::catalogue::{BASE_CURRENCY, Currency, MAX_QUANTITY, PRODUCTS, Product, SHIPPING};
use super::customers::{Billing, Country, Person};
use super::pricing::Pricing;
use super::refusal::Refusal;

/// What the browser asks to pay.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CheckoutRequest {
    /// Names the cart: as long as it is not paid, it has one Session, in however many tabs and however often the page is loaded.
    pub(super) cart_id: Uuid,
    /// The Session that the browser knows for it, in case the shop does not remember it any more.
    pub(super) session_id: Option<Uuid>,
    /// Whether to price it anew though nothing changed: the rate that it was priced by may be over.
    #[serde(default)]
    pub(super) again: bool,
    #[serde(flatten)]
    pub(super) basket: Basket,
}

/// What the browser may say: things, quantities, a country, a currency and when to charge. No price, no rate, no total.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Basket {
    currency: String,
    country: Option<String>,
    auto_capture: bool,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    id: String,
    quantity: u32,
}

/// The body of `POST /v1/session`, and of the `PUT` that replaces one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SessionRequest {
    merchant_reference: String,
    auto_capture: bool,
    /// Whether the card is stored, so that the shop charges it again; left out where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_contract: Option<bool>,
    /// Whether the customer may have the card saved for the next purchase.
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_contract: Option<bool>,
    complete_url: String,
    cancel_url: String,
    /// Left out where an offer names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_offer_id: Option<String>,
    items: Vec<Item>,
    #[serde(flatten)]
    billing: Billing,
    shipping_details: Shipping,
}

/// `Amount` is the amount of the whole line: the service does not multiply it with `Quantity`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Item {
    name: &'static str,
    amount: Box<RawValue>,
    quantity: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shipping {
    shipping_amount: Box<RawValue>,
    duty_amount: Box<RawValue>,
    #[serde(flatten)]
    to: Person,
}

impl Basket {
    /// The currency to find a rate for; `None` when the price list is in it.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] when it is none.
    pub(super) fn foreign_currency(&self) -> Result<Option<Currency>, Refusal> {
        let currency = Currency::parse(&self.currency).ok_or_else(|| invalid("Choose the currency in the list."))?;
        Ok(Some(currency).filter(|currency| currency.code != BASE_CURRENCY))
    }

    /// Checks the basket before anybody is asked anything.
    ///
    /// # Errors
    /// [`Refusal::Invalid`], saying what to change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.country().is_none() {
            return Err(invalid("The shop does not send to this country; choose another one."));
        }
        if self.lines.is_empty() {
            return Err(invalid("The basket is empty; put something into it first."));
        }
        if self.lines.len() > PRODUCTS.len() {
            return Err(invalid("The basket names a thing twice; reload the page and try again."));
        }
        self.lines.iter().try_for_each(|line| line.product().map(drop))
    }

    /// Where the customer is.
    pub(super) fn country(&self) -> Option<&'static Country> {
        Country::find(self.country.as_deref())
    }

    /// Prices the basket from the shop's own list and writes the request down. A Session that is replaced keeps its `reference`; a new one gets a
    /// new one. A known customer is named, and may pay with a saved card.
    ///
    /// # Errors
    /// [`Refusal::Invalid`], saying what to change.
    pub(super) fn request(
        &self,
        pricing: &Pricing,
        origin: &str,
        reference: Option<String>,
        is_customer_known: bool,
    ) -> Result<SessionRequest, Refusal> {
        self.check()?;
        let country = self.country().ok_or_else(|| invalid("Choose a country."))?;
        let currency = &pricing.currency;
        let price = |cents| {
            pricing.convert(cents).ok_or_else(|| invalid("The shop cannot price in this currency now; choose another."))
        };
        let item = |line: &Line| {
            let product = line.product()?;
            // As it was shown: the price of one piece is converted, not that of the line.
            let amount = currency.number(price(product.price)?.saturating_mul(line.quantity.into()));
            Ok::<_, Refusal>(Item { name: product.name, amount, quantity: line.quantity })
        };
        let items = self.lines.iter().map(item).collect::<Result<Vec<_>, _>>()?;
        let is_subscription = items.iter().any(|item| Product::is_monthly(item.name));
        Ok(SessionRequest {
            merchant_reference: reference.unwrap_or_else(next_reference),
            auto_capture: self.auto_capture,
            open_contract: is_subscription.then_some(true),
            allow_contract: (!is_subscription).then_some(true),
            complete_url: format!("{origin}/paid?session={{SessionId}}"),
            cancel_url: format!("{origin}/pay?session={{SessionId}}"),
            currency: pricing.offer.is_none().then(|| currency.code.clone()),
            rate_offer_id: pricing.offer.clone(),
            items,
            billing: Billing::of(country, is_customer_known),
            shipping_details: Shipping {
                shipping_amount: currency.number(price(SHIPPING)?),
                duty_amount: currency.number(0),
                to: country.customer(),
            },
        })
    }
}

impl Line {
    fn product(&self) -> Result<&'static Product, Refusal> {
        let unknown = || invalid("The basket holds something the shop does not sell; reload the page.");
        let product = Product::find(&self.id).ok_or_else(unknown)?;
        if !(1..=MAX_QUANTITY).contains(&self.quantity) {
            return Err(Refusal::Invalid(format!("Choose between 1 and {MAX_QUANTITY} pieces of {}.", product.name)));
        }
        Ok(product)
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal::Invalid(message.to_owned())
}

/// An order number that this shop never gives twice: the service refuses a reference it has seen before.
fn next_reference() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64);
    let after = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).unwrap_or_default();
    format!("STILL-{}", now.max(last + 1))
}
