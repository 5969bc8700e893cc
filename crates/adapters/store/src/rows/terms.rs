//! The document that holds a Session's terms. Amounts are whole minor units of the row's currency.

use dropin_kernel::ContractId;
use dropin_money::Currency;
use dropin_session::{BillingChoice, SessionTerms, SessionTermsParts};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_validation::{BillingProfile, Discount, Item, MAX_QUANTITY, ShippingDetails, WebUrl};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::billing::RecipientDocument;
use super::rates::RateDocument;
use super::values::{amount, missing, text};

const TABLE: &str = "session";

#[derive(Serialize, Deserialize)]
pub(super) struct TermsDocument {
    merchant_reference: String,
    auto_capture: bool,
    complete_url: String,
    cancel_url: String,
    items: Vec<ItemDocument>,
    via_agent: bool,
    shipping: Option<ShippingDocument>,
    tax: Option<i64>,
    discounts: Option<Vec<DiscountDocument>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allow_contract: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_contract: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contract_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<RateDocument>,
    billing: BillingDocument,
}

#[derive(Serialize, Deserialize)]
struct ItemDocument {
    name: String,
    amount: i64,
    quantity: u32,
}

#[derive(Serialize, Deserialize)]
struct DiscountDocument {
    name: String,
    amount: i64,
}

#[derive(Serialize, Deserialize)]
struct ShippingDocument {
    shipping_amount: i64,
    duty_amount: i64,
    recipient: RecipientDocument,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BillingDocument {
    Supplied,
    ByReference(String),
    ById,
}

impl TermsDocument {
    pub(super) fn new(terms: &SessionTerms) -> Self {
        let item = |item: &Item| ItemDocument {
            name: item.name.as_str().to_owned(),
            amount: item.amount.minor(),
            quantity: item.quantity,
        };
        let discount = |discount: &Discount| DiscountDocument {
            name: discount.name.as_str().to_owned(),
            amount: discount.amount.minor(),
        };
        let shipping = |shipping: &ShippingDetails| ShippingDocument {
            shipping_amount: shipping.shipping_amount.minor(),
            duty_amount: shipping.duty_amount.minor(),
            recipient: RecipientDocument::new(shipping),
        };
        Self {
            merchant_reference: terms.merchant_reference.as_str().to_owned(),
            auto_capture: terms.auto_capture,
            complete_url: terms.complete_url.as_str().to_owned(),
            cancel_url: terms.cancel_url.as_str().to_owned(),
            items: terms.items.iter().map(item).collect(),
            via_agent: terms.via_agent,
            shipping: terms.shipping.as_ref().map(shipping),
            tax: terms.tax.as_ref().map(dropin_money::Amount::minor),
            discounts: terms.discounts.as_ref().map(|discounts| discounts.iter().map(discount).collect()),
            allow_contract: terms.allow_contract,
            open_contract: terms.open_contract,
            contract_id: terms.contract_id.map(ContractId::uuid),
            rate: terms.rate.as_ref().map(RateDocument::new),
            billing: match &terms.billing_choice {
                BillingChoice::Supplied => BillingDocument::Supplied,
                BillingChoice::ByReference(reference) => BillingDocument::ByReference(reference.as_str().to_owned()),
                BillingChoice::ById => BillingDocument::ById,
            },
        }
    }

    /// The terms, of the row's currency, total and billing profile.
    pub(super) fn restore(
        &self,
        currency: Currency,
        total_minor: i64,
        billing: BillingProfile,
    ) -> Result<SessionTerms, Fault> {
        let discounts = self.discounts.as_ref().map(|stored| stored.iter().map(|discount| discount.restore(currency)));
        let terms = SessionTerms::restore(SessionTermsParts {
            merchant_reference: text(TABLE, "merchant_reference", &self.merchant_reference)?,
            auto_capture: self.auto_capture,
            complete_url: web_url(&self.complete_url)?,
            cancel_url: web_url(&self.cancel_url)?,
            currency,
            items: self.items.iter().map(|item| item.restore(currency)).collect::<Result<_, _>>()?,
            via_agent: self.via_agent,
            shipping: self.shipping.as_ref().map(|shipping| shipping.restore(currency)).transpose()?,
            tax: self.tax.map(|minor| amount(TABLE, currency, minor)).transpose()?,
            discounts: discounts.map(Iterator::collect::<Result<_, _>>).transpose()?,
            allow_contract: self.allow_contract,
            open_contract: self.open_contract,
            contract_id: self.contract_id.map(ContractId::new),
            rate: self.rate.as_ref().map(|rate| rate.restore(currency)).transpose()?,
            total: amount(TABLE, currency, total_minor)?,
            billing_choice: match &self.billing {
                BillingDocument::Supplied => BillingChoice::Supplied,
                BillingDocument::ByReference(stored) => BillingChoice::ByReference(text(TABLE, "billing", stored)?),
                BillingDocument::ById => BillingChoice::ById,
            },
            billing,
        });
        terms.map_err(|invalid| corrupt(TABLE, invalid.to_string()))
    }
}

/// A URL that was checked when it came in; whether plain http is allowed was decided then.
fn web_url(stored: &str) -> Result<WebUrl, Fault> {
    WebUrl::restore(stored).ok_or_else(|| missing(TABLE, "a URL"))
}

impl ItemDocument {
    fn restore(&self, currency: Currency) -> Result<Item, Fault> {
        if !(1..=MAX_QUANTITY).contains(&self.quantity) {
            return Err(missing(TABLE, "a quantity"));
        }
        Ok(Item {
            name: text(TABLE, "an item's name", &self.name)?,
            amount: amount(TABLE, currency, self.amount)?,
            quantity: self.quantity,
        })
    }
}

impl DiscountDocument {
    fn restore(&self, currency: Currency) -> Result<Discount, Fault> {
        let amount = amount(TABLE, currency, self.amount)?;
        if amount.is_zero() {
            return Err(missing(TABLE, "a discount's amount"));
        }
        Ok(Discount { name: text(TABLE, "a discount's name", &self.name)?, amount })
    }
}

impl ShippingDocument {
    fn restore(&self, currency: Currency) -> Result<ShippingDetails, Fault> {
        let (name, email, phone, address) = self.recipient.restore(TABLE)?;
        Ok(ShippingDetails {
            shipping_amount: amount(TABLE, currency, self.shipping_amount)?,
            duty_amount: amount(TABLE, currency, self.duty_amount)?,
            name,
            email,
            phone,
            address,
        })
    }
}
