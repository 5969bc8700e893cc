//! From a basket to the request that creates the Session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::catalogue::{Currency, MAX_PIECES, THINGS, Thing};
use super::refusal::Refusal;

/// What the browser may say: things, quantities, a currency and when to charge. No price, no total.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Basket {
    currency: String,
    auto_capture: bool,
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    id: String,
    quantity: u32,
}

/// The body of `POST /v1/session`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SessionRequest {
    merchant_reference: String,
    auto_capture: bool,
    complete_url: String,
    cancel_url: String,
    currency: &'static str,
    items: Vec<Item>,
    billing_profile: Person,
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

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Person {
    name: &'static str,
    email: &'static str,
    phone: &'static str,
    address: Address,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Address {
    street: &'static str,
    city: &'static str,
    country: &'static str,
    postcode: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shipping {
    shipping_amount: Box<RawValue>,
    duty_amount: Box<RawValue>,
    #[serde(flatten)]
    to: Person,
}

/// The customer everybody is in this shop. A real one would take this from its customer's account.
const CUSTOMER: Person = Person {
    name: "Robin Example",
    email: "robin@example.com",
    phone: "+35315550100",
    address: Address { street: "7 Harbour Lane", city: "Dublin", country: "IE", postcode: "D01 X2Y3" },
};

impl Basket {
    /// Prices the basket from the shop's own list and writes the request down.
    ///
    /// # Errors
    /// [`Refusal::Invalid`], saying what to change.
    pub(super) fn into_request(self, origin: &str) -> Result<SessionRequest, Refusal> {
        let Some(currency) = Currency::find(&self.currency) else {
            return Err(invalid("The shop has no prices in this currency; choose another one."));
        };
        if self.lines.is_empty() {
            return Err(invalid("The basket is empty; put something into it first."));
        }
        if self.lines.len() > THINGS.len() {
            return Err(invalid("The basket names a thing twice; reload the page and try again."));
        }
        let items = self.lines.iter().map(|line| item(line, currency)).collect::<Result<Vec<_>, _>>()?;
        Ok(SessionRequest {
            merchant_reference: next_reference(),
            auto_capture: self.auto_capture,
            complete_url: format!("{origin}/paid?session={{SessionId}}"),
            cancel_url: format!("{origin}/cancelled?session={{SessionId}}"),
            currency: currency.code,
            items,
            billing_profile: CUSTOMER,
            shipping_details: Shipping {
                shipping_amount: currency.number(currency.shipping()),
                duty_amount: currency.number(0),
                to: CUSTOMER,
            },
        })
    }
}

fn item(line: &Line, currency: Currency) -> Result<Item, Refusal> {
    let Some(thing) = Thing::find(&line.id) else {
        return Err(invalid("The basket holds something the shop does not sell; reload the page."));
    };
    if !(1..=MAX_PIECES).contains(&line.quantity) {
        return Err(Refusal::Invalid(format!("Choose between 1 and {MAX_PIECES} pieces of {}.", thing.name)));
    }
    let amount = thing.price(currency) * u64::from(line.quantity);
    Ok(Item { name: thing.name, amount: currency.number(amount), quantity: line.quantity })
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
