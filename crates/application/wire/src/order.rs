//! The Order: what a merchant asks of it, and what it is told (docs/SPECIFICATION.md#orders).

use dropin_kernel::{Timestamp, Violations};
use dropin_money::Decimal;
use dropin_order::{Order, Refund};
use dropin_risk::Screening;
use dropin_session::SaleRate;
use dropin_validation::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::bank::BankDetailsBody;
use crate::error::{ErrorBody, ErrorCode};
use crate::known::Known;
use crate::member::Member;
use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;
use crate::screening::ScreeningBody;
use crate::strict_json::read_object;

pub use crate::refund::{RefundBody, RefundListBody, refund, refund_list};

/// The body of POST /v1/order/{OrderId}/capture: empty, or `{"Amount": n}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderCaptureRequest {
    /// How much to capture; all that is authorized when left out. Its currency is the Order's.
    pub amount: Option<Decimal>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CaptureRequest)]
struct CaptureDto {
    /// More than zero and at most what is authorized; the rest is released. All of it when left out.
    #[schema(value_type = Option<schema::AmountRequest>)]
    amount: Member<Decimal>,
}

impl Known for CaptureDto {}

schema::sent_as! { OrderCaptureRequest => CaptureDto; }

impl OrderCaptureRequest {
    /// Reads the body; an empty one asks for everything.
    ///
    /// # Errors
    /// Malformed JSON, or an Amount that is no number.
    pub fn parse(body: Option<&[u8]>) -> Result<Self, RequestError> {
        let Some(body) = body.filter(|body| !body.is_empty()) else {
            return Ok(Self { amount: None });
        };
        let mut all = Violations::new();
        let dto: CaptureDto = read_object(body, &mut all)?;
        let amount = dto.amount.optional("", "Amount", &mut all);
        Ok(all.into_result(Some(Self { amount }))?)
    }
}

/// The body of POST /v1/order/{OrderId}/refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRefundRequest {
    /// The merchant's own name for the refund.
    pub reference: Text,
    /// How much to give back; all that is left when left out. Its currency is the Order's.
    pub amount: Option<Decimal>,
    /// For the merchant's own records.
    pub description: Option<Text>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = RefundRequest)]
struct RefundDto {
    /// Your identifier of the refund; unique among those of the Order. The same one again answers the refund that it names.
    #[schema(value_type = schema::Text)]
    refund_reference: Member<String>,
    /// More than zero and at most what is left of what was captured. All that is left when left out.
    #[schema(value_type = Option<schema::AmountRequest>)]
    amount: Member<Decimal>,
    /// For your own records.
    #[schema(value_type = Option<schema::Text>)]
    description: Member<String>,
}

impl Known for RefundDto {}

schema::sent_as! { OrderRefundRequest => RefundDto; }

impl OrderRefundRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let RefundDto { refund_reference, amount, description } = read_object(body, &mut all)?;
        let input = RefundInput::of(refund_reference, amount, description, &mut all);
        let input = all.into_result(input)?;
        let mut all = Violations::new();
        let request = input.meaning(&mut all);
        Ok(all.into_result(request)?)
    }
}

/// The members of a refund, of the right types; they stand in two requests.
pub(crate) struct RefundInput {
    reference: String,
    amount: Option<Decimal>,
    description: Option<String>,
}

impl RefundInput {
    pub(crate) fn of(
        reference: Member<String>,
        amount: Member<Decimal>,
        description: Member<String>,
        all: &mut Violations,
    ) -> Option<Self> {
        let reference = reference.required("", "RefundReference", all);
        let amount = amount.optional("", "Amount", all);
        let description = description.optional("", "Description", all);
        Some(Self { reference: reference?, amount, description })
    }

    pub(crate) fn meaning(self, all: &mut Violations) -> Option<OrderRefundRequest> {
        let reference = all.check(Text::parse("RefundReference", &self.reference));
        let description = self.description.and_then(|text| all.check(Text::parse("Description", &text)));
        Some(OrderRefundRequest { reference: reference?, amount: self.amount, description })
    }
}

/// What came of a capture or cancel.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Reason)]
struct ReasonBody {
    /// Captured; PendingNotification or UnderReview: completed later, told by a notification.
    #[schema(value_type = schema::CaptureReason)]
    code: &'static str,
    /// Whether to ask again.
    retryable: bool,
}

/// An Order as its merchant sees it. Which members it has depends on where it is shown (docs/SPECIFICATION.md#order-fields).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Order, description = "An Order as its merchant sees it.")]
pub struct OrderBody<'a> {
    #[schema(value_type = schema::Id)]
    order_id: String,
    #[schema(value_type = schema::OrderStateName)]
    state: &'static str,
    /// The Session's, or the ReferenceId of a server-to-server checkout.
    merchant_reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    session_id: Option<String>,
    /// The contract that it is made under.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    contract_id: Option<String>,
    /// Whether it is held by our review or the pay-later provider's; captured, if asked for, when that is over.
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
    /// The rate offer that it is priced by, when there is one and the Order is retrieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    rate_offer_id: Option<String>,
    /// Units of Currency for one unit of SettlementCurrency; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::RateNumber)]
    rate: Option<ExactNumber>,
    /// What CapturedAmount is settled for at that rate, and before the capture what the Session's TotalAmount is; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    settlement_amount: Option<ExactNumber>,
    /// What the merchant is paid out in; beside RateOfferId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::CurrencyCode)]
    settlement_currency: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    updated_at: Option<String>,
    /// When it ends by itself unless something happens: the limit of the hosted page or the transfer, then the end of the capture window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    expires_at: Option<String>,
    /// In a Session's answers, when it is paid by bank transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = BankDetailsBody)]
    bank_details: Option<BankDetailsBody<'a>>,
    /// In the answers to a capture and to a cancel that are completed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ReasonBody)]
    reason: Option<ReasonBody>,
    /// When the Order is retrieved: oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<RefundBody>)]
    refunds: Option<Vec<RefundBody<'a>>>,
    /// When the Order is retrieved: every step of its life, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<StepBody>)]
    history: Option<Vec<StepBody<'a>>>,
    /// When the Order is retrieved, and was screened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ScreeningBody)]
    screening: Option<ScreeningBody>,
}

/// One step in the life of an Order.
#[derive(Debug, Clone, Copy)]
pub struct HistoryEntry<'a> {
    /// When.
    pub at: Timestamp,
    /// Who caused it: MERCHANT, SHOPPER, OPERATOR or SYSTEM.
    pub actor: &'static str,
    /// The name of the API user, when it was the merchant.
    pub user: Option<&'a str>,
    /// What happened: a trigger's name.
    pub what: &'a str,
    /// State before; `None` for the first step.
    pub before: Option<&'a str>,
    /// State after.
    pub after: &'a str,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Step, description = "One step in the life of an Order.")]
struct StepBody<'a> {
    #[schema(value_type = schema::Moment)]
    at: String,
    #[schema(value_type = schema::Actor)]
    actor: &'static str,
    /// The API user, when it was the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    user: Option<&'a str>,
    /// What happened; for people, more words may follow.
    what: &'a str,
    /// State before; left out of the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::OrderStateName)]
    before: Option<&'a str>,
    /// State after.
    #[schema(value_type = schema::OrderStateName)]
    after: &'a str,
}

impl<'a> From<HistoryEntry<'a>> for StepBody<'a> {
    fn from(step: HistoryEntry<'a>) -> Self {
        let HistoryEntry { at, actor, user, what, before, after } = step;
        Self { at: at.to_string(), actor, user, what, before, after }
    }
}

impl<'a> OrderBody<'a> {
    /// The members that an Order has everywhere: what Session answers carry (docs/SPECIFICATION.md#order-fields).
    pub fn brief(order: &'a Order) -> Self {
        Self {
            order_id: order.id.to_string(),
            state: order.state.as_str(),
            merchant_reference: &order.merchant_reference,
            session_id: order.session_id.map(|id| id.to_string()),
            contract_id: order.contract_id.map(|id| id.to_string()),
            under_review: order.is_held(),
            payment_method: None,
            currency: None,
            authorized_amount: None,
            captured_amount: None,
            refunded_amount: None,
            rate_offer_id: None,
            rate: None,
            settlement_amount: None,
            settlement_currency: None,
            created_at: None,
            updated_at: None,
            expires_at: None,
            bank_details: None,
            reason: None,
            refunds: None,
            history: None,
            screening: None,
        }
    }

    /// As brief, and where the shopper transfers the money to: what Session answers carry, and nothing else does
    /// (docs/SPECIFICATION.md#order-fields).
    pub(crate) fn in_session(order: &'a Order) -> Self {
        Self { bank_details: order.bank_details.as_deref().map(BankDetailsBody::from), ..Self::brief(order) }
    }

    /// With currency, amounts and the time that it was made: what notifications carry (docs/SPECIFICATION.md#order-events).
    pub fn in_event(order: &'a Order) -> Self {
        Self {
            currency: Some(order.amounts.currency().code()),
            authorized_amount: Some(order.amounts.total_authorized().into()),
            captured_amount: Some(order.amounts.captured().into()),
            refunded_amount: Some(order.amounts.refunded().into()),
            created_at: Some(order.created_at.to_string()),
            ..Self::brief(order)
        }
    }

    /// With amounts, method and times: the answers to a capture and to a cancel.
    pub fn full(order: &'a Order) -> Self {
        Self {
            payment_method: Some(&order.payment_method),
            updated_at: Some(order.updated_at.to_string()),
            expires_at: order.expires_at.map(|end| end.to_string()),
            ..Self::in_event(order)
        }
    }

    /// With refunds and every step of its life, oldest first: the answer to GET /v1/order/{OrderId}.
    pub fn with_history(
        order: &'a Order,
        refunds: &'a [Refund],
        life: impl IntoIterator<Item = HistoryEntry<'a>>,
    ) -> Self {
        Self {
            refunds: Some(refunds.iter().map(RefundBody::from).collect()),
            history: Some(life.into_iter().map(StepBody::from).collect()),
            ..Self::full(order)
        }
    }

    /// With the guaranteed rate of the sale, if it has one, and what is settled at it: what was captured, and until then the whole.
    #[must_use]
    pub fn at_rate(self, order: &Order, sale: Option<&SaleRate>) -> Self {
        let Some(sale) = sale else { return self };
        let captured = order.amounts.captured();
        // Less than the whole, which fits.
        let settled = sale.rate.to_base(captured).ok().filter(|_| !captured.is_zero());
        Self {
            rate_offer_id: Some(sale.offer_id.to_string()),
            rate: Some(sale.rate.rate().into()),
            settlement_amount: Some(settled.as_ref().unwrap_or(&sale.settlement).into()),
            settlement_currency: Some(sale.rate.base().code()),
            ..self
        }
    }

    /// With what screening made of it, where it was screened.
    #[must_use]
    pub fn screened(self, screening: Option<&Screening>) -> Self {
        Self { screening: screening.map(ScreeningBody::from), ..self }
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

/// The body of the answer to a cancel: the Order, and when the processor has not confirmed it yet the Reason PendingNotification.
pub fn cancelled(order: &Order, pending: bool) -> Vec<u8> {
    let body = if pending { OrderBody::captured(order, "PendingNotification") } else { OrderBody::full(order) };
    serde_json::to_vec(&body).expect("an Order has string keys and exact numbers only")
}

/// The body of the answer to a capture that the processor refused: the Error object CAPTURE_FAILED with Retryable (docs/SPECIFICATION.md#capture-failed).
pub fn capture_refused(retryable: bool) -> Vec<u8> {
    let message = if retryable {
        "The processor refused the capture for now; the Order stays PAYMENT_AUTHORIZED. Try again later."
    } else {
        "The processor refused the capture for good; the Order is PROCESSING_FAILED."
    };
    let body = ErrorBody::new(ErrorCode::CaptureFailed, message).with_retryable(retryable);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}

/// The body of the answer to a cancel that the processor refused: the Error object INVALID_ORDER_STATE.
pub fn cancel_refused(order: &Order) -> Vec<u8> {
    let message = format!("The processor could not cancel it any more: the Order is {}.", order.state.as_str());
    let body = ErrorBody::new(ErrorCode::InvalidOrderState, message);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}
