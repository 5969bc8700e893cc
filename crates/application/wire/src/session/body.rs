use dropin_money::Amount;
use dropin_order::Order;
use dropin_session::{BillingChoice, Session, SessionStateKind};
use dropin_validation::{Discount, Item};
use serde::Serialize;

use crate::number::ExactNumber;
use crate::order::OrderBody;
use crate::people::{BillingBody, ShippingBody};

/// A Session as its merchant sees it (contract, Session, column "Returned when"; decisions.md section 3 for the additional members).
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SessionBody<'a> {
    session_id: String,
    state: &'static str,
    merchant_reference: &'a str,
    auto_capture: bool,
    complete_url: &'a str,
    cancel_url: &'a str,
    currency: &'static str,
    total_amount: ExactNumber,
    items: Vec<ItemBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tax_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discounts: Option<Vec<DiscountBody<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_details: Option<ShippingBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_profile: Option<BillingBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_profile_reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_profile_id: Option<String>,
    via_agent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<OrderBody<'a>>,
    created_at: String,
    updated_at: String,
    expires_at: String,
}

impl<'a> SessionBody<'a> {
    /// The whole Session; its Order is shown once it is COMPLETED.
    pub fn new(session: &'a Session, order: Option<&'a Order>) -> Self {
        let terms = &session.terms;
        let by_reference = match &terms.billing_choice {
            BillingChoice::ByReference(reference) => Some(reference.as_str()),
            BillingChoice::Supplied | BillingChoice::ById => None,
        };
        let shown = order.filter(|_| session.state.kind() == SessionStateKind::Completed);
        Self {
            billing_profile: Some((&terms.billing).into()),
            billing_profile_reference: by_reference,
            billing_profile_id: Some(terms.billing.id.to_string()),
            order: shown.map(OrderBody::brief),
            ..Self::without_billing(session, order)
        }
    }

    /// The Session without billing details and without its Order, for notifications (decisions.md section 9).
    pub(crate) fn without_billing(session: &'a Session, order: Option<&'a Order>) -> Self {
        let terms = &session.terms;
        let kind = session.state.kind();
        let shown = order.filter(|_| kind == SessionStateKind::Completed);
        Self {
            session_id: session.id.to_string(),
            state: kind.as_str(),
            merchant_reference: terms.merchant_reference.as_str(),
            auto_capture: terms.auto_capture,
            complete_url: terms.complete_url.as_str(),
            cancel_url: terms.cancel_url.as_str(),
            currency: terms.currency.code(),
            total_amount: (&terms.total).into(),
            items: terms.items.iter().map(ItemBody::from).collect(),
            tax_amount: terms.tax.as_ref().map(ExactNumber::from),
            discounts: terms.discounts.as_ref().map(|discounts| discounts.iter().map(DiscountBody::from).collect()),
            shipping_details: terms.shipping.as_ref().map(ShippingBody::from),
            billing_profile: None,
            billing_profile_reference: None,
            billing_profile_id: None,
            via_agent: terms.via_agent,
            payment_method: shown.map(|order| order.payment_method.as_str()),
            order: None,
            created_at: session.created_at.to_string(),
            updated_at: session.updated_at.to_string(),
            expires_at: session.expires_at.to_string(),
        }
    }
}

/// Item, as it is echoed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ItemBody<'a> {
    name: &'a str,
    amount: ExactNumber,
    quantity: u32,
}

impl<'a> From<&'a Item> for ItemBody<'a> {
    fn from(item: &'a Item) -> Self {
        Self { name: item.name.as_str(), amount: (&item.amount).into(), quantity: item.quantity }
    }
}

/// Discount, as it is echoed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DiscountBody<'a> {
    name: &'a str,
    amount: ExactNumber,
}

impl<'a> From<&'a Discount> for DiscountBody<'a> {
    fn from(discount: &'a Discount) -> Self {
        let amount: &Amount = &discount.amount;
        Self { name: discount.name.as_str(), amount: amount.into() }
    }
}
