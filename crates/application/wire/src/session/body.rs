use dropin_money::Amount;
use dropin_order::{FailureReason, Order, OrderState};
use dropin_risk::Screening;
use dropin_session::{BillingChoice, Session, SessionStateKind};
use dropin_validation::{Discount, Item};
use serde::Serialize;
use utoipa::ToSchema;

use crate::number::ExactNumber;
use crate::order::OrderBody;
use crate::people::{BillingBody, ShippingBody};
use crate::schema;
use crate::screening::ScreeningBody;

/// A Session as its merchant sees it (docs/SPECIFICATION.md#session-fields).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Session, description = "A Session as its merchant sees it.")]
pub struct SessionBody<'a> {
    /// Give it to the drop-in.
    #[schema(value_type = schema::Id)]
    session_id: String,
    #[schema(value_type = schema::SessionState)]
    state: &'static str,
    merchant_reference: &'a str,
    auto_capture: bool,
    /// As it was sent; `{SessionId}` in it is replaced when the shopper is sent there.
    complete_url: &'a str,
    cancel_url: &'a str,
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// TaxAmount, ShippingAmount, DutyAmount and every Item.Amount, less every Discount.
    #[schema(value_type = schema::Amount)]
    total_amount: ExactNumber,
    /// The rate offer that it is priced by, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    rate_offer_id: Option<String>,
    /// Units of Currency for one unit of SettlementCurrency; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::RateNumber)]
    rate: Option<ExactNumber>,
    /// What TotalAmount is settled for, at that rate; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    settlement_amount: Option<ExactNumber>,
    /// What the merchant is paid out in; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::CurrencyCode)]
    settlement_currency: Option<&'static str>,
    items: Vec<ItemBody<'a>>,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    tax_amount: Option<ExactNumber>,
    /// When they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<DiscountBody>)]
    discounts: Option<Vec<DiscountBody<'a>>>,
    /// When they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ShippingBody)]
    shipping_details: Option<ShippingBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = BillingBody, required = true)]
    billing_profile: Option<BillingBody<'a>>,
    /// When the billing profile was named by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    billing_profile_reference: Option<&'a str>,
    /// Names this billing profile in later Sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id, required = true)]
    billing_profile_id: Option<String>,
    via_agent: bool,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    allow_contract: Option<bool>,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    open_contract: Option<bool>,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    contract_id: Option<String>,
    /// While REDIRECTED: the hosted page that the shopper has to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    redirect_url: Option<&'a str>,
    /// Once COMPLETED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    payment_method: Option<&'a str>,
    /// Once COMPLETED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = OrderBody)]
    order: Option<OrderBody<'a>>,
    /// When the Session is read: every attempt to pay it, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<AttemptBody>)]
    attempts: Option<Vec<AttemptBody<'a>>>,
    #[schema(value_type = schema::Moment)]
    created_at: String,
    #[schema(value_type = schema::Moment)]
    updated_at: String,
    /// When it will be CANCELLED unless somebody pays.
    #[schema(value_type = schema::Moment)]
    expires_at: String,
}

impl<'a> SessionBody<'a> {
    /// The whole Session; its Order is shown once it is COMPLETED, and of it only the hosted page while REDIRECTED.
    pub fn new(session: &'a Session, order: Option<&'a Order>) -> Self {
        let terms = &session.terms;
        let by_reference = match &terms.billing_choice {
            BillingChoice::ByReference(reference) => Some(reference.as_str()),
            BillingChoice::Supplied | BillingChoice::ById => None,
        };
        let shown = order.filter(|_| session.state.kind() == SessionStateKind::Completed);
        let redirected = order.filter(|_| session.state.kind() == SessionStateKind::Redirected);
        Self {
            billing_profile: Some((&terms.billing).into()),
            billing_profile_reference: by_reference,
            billing_profile_id: Some(terms.billing.id.to_string()),
            redirect_url: redirected.and_then(|order| order.page.as_deref()),
            order: shown.map(OrderBody::in_session),
            ..Self::without_billing(session, order)
        }
    }

    /// With the attempts to pay it, by their Orders and what screening made of each; the member is left out where there are none.
    #[must_use]
    pub fn with_attempts(self, attempts: impl IntoIterator<Item = (&'a Order, Option<&'a Screening>)>) -> Self {
        let attempts: Vec<_> = attempts.into_iter().map(AttemptBody::from).collect();
        Self { attempts: (!attempts.is_empty()).then_some(attempts), ..self }
    }

    /// Without the person of a stored billing profile that was named by its id or reference: for a caller that may not read Sessions, and so hears
    /// its BillingProfileId alone (docs/SPECIFICATION.md#stored-person).
    #[must_use]
    pub fn without_stored_person(self, session: &Session) -> Self {
        match session.terms.billing_choice {
            BillingChoice::Supplied => self,
            BillingChoice::ByReference(_) | BillingChoice::ById => Self { billing_profile: None, ..self },
        }
    }

    /// The Session without billing details and without its Order, for notifications (docs/SPECIFICATION.md#session-events).
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
            rate_offer_id: terms.rate.as_ref().map(|sale| sale.offer_id.to_string()),
            rate: terms.rate.as_ref().map(|sale| sale.rate.rate().into()),
            settlement_amount: terms.rate.as_ref().map(|sale| (&sale.settlement).into()),
            settlement_currency: terms.rate.as_ref().map(|sale| sale.rate.base().code()),
            items: terms.items.iter().map(ItemBody::from).collect(),
            tax_amount: terms.tax.as_ref().map(ExactNumber::from),
            discounts: terms.discounts.as_ref().map(|discounts| discounts.iter().map(DiscountBody::from).collect()),
            shipping_details: terms.shipping.as_ref().map(ShippingBody::from),
            billing_profile: None,
            billing_profile_reference: None,
            billing_profile_id: None,
            via_agent: terms.via_agent,
            allow_contract: terms.allow_contract,
            open_contract: terms.open_contract,
            contract_id: terms.contract_id.map(|id| id.to_string()),
            redirect_url: None,
            payment_method: shown.map(|order| order.payment_method.as_str()),
            order: None,
            attempts: None,
            created_at: session.created_at.to_string(),
            updated_at: session.updated_at.to_string(),
            expires_at: session.expires_at.to_string(),
        }
    }
}

/// An attempt to pay a Session. It names no card.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Attempt)]
struct AttemptBody<'a> {
    /// When it began.
    #[schema(value_type = schema::Moment)]
    at: String,
    #[schema(value_type = schema::MethodId)]
    payment_method: &'a str,
    /// COMPLETED when it completed the Session, whatever became of the Order since.
    #[schema(value_type = schema::AttemptOutcome)]
    outcome: &'static str,
    /// Why it FAILED, exactly; never shown to the shopper.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::FailureCode)]
    code: Option<&'static str>,
    /// When it was screened; never shown to the shopper. A Code of PAYMENT_DECLINED beside the Decision BLOCK is screening's, not the issuer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ScreeningBody)]
    screening: Option<ScreeningBody>,
}

impl<'a> From<(&'a Order, Option<&'a Screening>)> for AttemptBody<'a> {
    fn from((order, screening): (&'a Order, Option<&'a Screening>)) -> Self {
        let (outcome, code) = match order.state {
            _ if order.shown => ("COMPLETED", None),
            OrderState::ProcessingFailed => ("FAILED", order.failure.map(FailureReason::as_str)),
            _ => ("PROCESSING", None),
        };
        let (at, screening) = (order.created_at.to_string(), screening.map(ScreeningBody::from));
        Self { at, payment_method: &order.payment_method, outcome, code, screening }
    }
}

/// Item, as it is echoed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Item)]
pub(crate) struct ItemBody<'a> {
    name: &'a str,
    #[schema(value_type = schema::Amount)]
    amount: ExactNumber,
    quantity: u32,
}

impl<'a> From<&'a Item> for ItemBody<'a> {
    fn from(item: &'a Item) -> Self {
        Self { name: item.name.as_str(), amount: (&item.amount).into(), quantity: item.quantity }
    }
}

/// Discount, as it is echoed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Discount)]
pub(crate) struct DiscountBody<'a> {
    name: &'a str,
    #[schema(value_type = schema::Amount)]
    amount: ExactNumber,
}

impl<'a> From<&'a Discount> for DiscountBody<'a> {
    fn from(discount: &'a Discount) -> Self {
        let amount: &Amount = &discount.amount;
        Self { name: discount.name.as_str(), amount: amount.into() }
    }
}
