use dropin_order::Refund;
use serde::Serialize;
use utoipa::ToSchema;

use crate::number::ExactNumber;
use crate::schema;

/// A refund as its merchant sees it (docs/SPECIFICATION.md#order-refund).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Refund, description = "Money given back of a captured Order.")]
pub struct RefundBody<'a> {
    #[schema(value_type = schema::Id)]
    refund_id: String,
    refund_reference: &'a str,
    #[schema(value_type = schema::RefundStateName)]
    state: &'static str,
    #[schema(value_type = schema::Amount)]
    amount: ExactNumber,
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// What it takes from the settlement, at the rate of the sale; of Orders with a RateOfferId. The refunds of an Order add up to what all of them together
    /// come to at that rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    settlement_amount: Option<ExactNumber>,
    /// Beside SettlementAmount.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::CurrencyCode)]
    settlement_currency: Option<&'static str>,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    description: Option<&'a str>,
    #[schema(value_type = schema::Moment)]
    created_at: String,
    #[schema(value_type = schema::Moment)]
    updated_at: String,
}

impl<'a> From<&'a Refund> for RefundBody<'a> {
    fn from(refund: &'a Refund) -> Self {
        Self {
            refund_id: refund.id.to_string(),
            refund_reference: &refund.reference,
            state: refund.state.as_str(),
            amount: (&refund.amount).into(),
            currency: refund.amount.currency().code(),
            settlement_amount: refund.settlement.as_ref().map(ExactNumber::from),
            settlement_currency: refund.settlement.as_ref().map(|amount| amount.currency().code()),
            description: refund.description.as_deref(),
            created_at: refund.created_at.to_string(),
            updated_at: refund.updated_at.to_string(),
        }
    }
}

/// The refunds of an Order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Refunds, description = "The refunds of an Order.")]
pub struct RefundListBody<'a> {
    /// Oldest first.
    refunds: Vec<RefundBody<'a>>,
}

/// The body of the answer to a refund that was taken on, whatever became of it.
pub fn refund(refund: &Refund) -> Vec<u8> {
    serde_json::to_vec(&RefundBody::from(refund)).expect("a refund has string keys and exact numbers only")
}

/// The answer to GET /v1/order/{OrderId}/refund; oldest first.
pub fn refund_list(refunds: &[Refund]) -> RefundListBody<'_> {
    RefundListBody { refunds: refunds.iter().map(RefundBody::from).collect() }
}
