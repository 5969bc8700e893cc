//! The Order: what a merchant asks of it, and what it is told (contract, Order; decisions.md section 4).

use dropin_kernel::Violations;
use dropin_money::Decimal;
use dropin_order::Order;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ErrorBody, ErrorCode};
use crate::gate::read_object;
use crate::member::Member;
use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;

/// The body of POST /v1/order/{OrderId}/capture: empty, or `{"Amount": n}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureRequest {
    /// How much to capture; all that is authorized when left out. Its currency is the Order's.
    pub amount: Option<Decimal>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = CaptureRequest)]
struct CaptureDto {
    /// More than zero and at most what is authorized; the rest is released. All of it when left out.
    #[schema(value_type = Option<schema::AmountRequest>)]
    amount: Member<Decimal>,
}

schema::sent_as! { CaptureRequest => CaptureDto; }

impl CaptureRequest {
    /// Reads the body; an empty one asks for everything.
    ///
    /// # Errors
    /// Malformed JSON, or an Amount that is no number.
    pub fn parse(body: Option<&[u8]>) -> Result<Self, RequestError> {
        let Some(body) = body.filter(|body| !body.is_empty()) else {
            return Ok(Self { amount: None });
        };
        let dto: CaptureDto = read_object(body)?;
        let mut all = Violations::new();
        let amount = dto.amount.optional("", "Amount", &mut all);
        Ok(all.into_result(Some(Self { amount }))?)
    }
}

/// What came of a capture (contract, Order.Reason).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Reason)]
struct ReasonBody {
    /// Captured; PendingNotification or UnderReview: completed later, told by ORDER_PROCESSED.
    #[schema(value_type = schema::CaptureReason)]
    code: &'static str,
    /// Whether to ask again.
    retryable: bool,
}

/// An Order as its merchant sees it. Members beyond the contract's four appear where decisions.md sections 4 and 9 ask for them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Order, description = "An Order as its merchant sees it.")]
pub struct OrderBody<'a> {
    #[schema(value_type = schema::Id)]
    order_id: String,
    #[schema(value_type = schema::OrderStateName)]
    state: &'static str,
    /// The Session's.
    merchant_reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    session_id: Option<String>,
    /// Whether a person has to look at it before it may be captured.
    under_review: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    payment_method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::CurrencyCode)]
    currency: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    authorized_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    captured_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    refunded_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    updated_at: Option<String>,
    /// In the answer to a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ReasonBody)]
    reason: Option<ReasonBody>,
}

impl<'a> OrderBody<'a> {
    /// The contract's members and UnderReview: what Session answers and notifications carry.
    pub fn brief(order: &'a Order) -> Self {
        Self {
            order_id: order.id.to_string(),
            state: order.state.as_str(),
            merchant_reference: &order.merchant_reference,
            session_id: order.session_id.map(|id| id.to_string()),
            under_review: order.under_review,
            payment_method: None,
            currency: None,
            authorized_amount: None,
            captured_amount: None,
            refunded_amount: None,
            created_at: None,
            updated_at: None,
            reason: None,
        }
    }

    /// With amounts, method and times: the answer to GET /v1/order/{OrderId}.
    pub fn full(order: &'a Order) -> Self {
        Self {
            payment_method: Some(&order.payment_method),
            currency: Some(order.amounts.currency().code()),
            authorized_amount: Some(order.amounts.total_authorized().into()),
            captured_amount: Some(order.amounts.captured().into()),
            refunded_amount: Some(order.amounts.refunded().into()),
            created_at: Some(order.created_at.to_string()),
            updated_at: Some(order.updated_at.to_string()),
            ..Self::brief(order)
        }
    }

    /// The answer to a capture; `code` is Captured, PendingNotification or UnderReview, none of which asks for another try.
    pub fn captured(order: &'a Order, code: &'static str) -> Self {
        Self { reason: Some(ReasonBody { code, retryable: false }), ..Self::full(order) }
    }
}

/// The body of the answer to a capture that was taken or will be; `code` as for [`OrderBody::captured`].
pub fn captured(order: &Order, code: &'static str) -> Vec<u8> {
    serde_json::to_vec(&OrderBody::captured(order, code)).expect("an Order has string keys and exact numbers only")
}

/// The body of the answer to a capture that the processor refused: the Error object CAPTURE_FAILED with Retryable (decisions.md section 4).
pub fn capture_refused(retryable: bool) -> Vec<u8> {
    let message = if retryable {
        "The processor refused the capture for now; the Order stays PAYMENT_AUTHORIZED. Try again later."
    } else {
        "The processor refused the capture for good; the Order is PROCESSING_FAILED."
    };
    let body = ErrorBody::new(ErrorCode::CaptureFailed, message).with_retryable(retryable);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}
