//! What a merchant's server asks of an Order through the checkout.

use dropin_kernel::{ContractId, OrderId, Violation, ViolationCode, Violations};
use dropin_money::Decimal;
use dropin_validation::Text;
use serde::Deserialize;
use utoipa::ToSchema;

use super::contract::parse_contract_id;
use crate::known::Known;
use crate::member::Member;
use crate::order::{self, RefundInput};
use crate::request::RequestError;
use crate::schema;
use crate::strict_json::read_object;

/// The body of POST {checkout_url}/v2.21/capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutCaptureRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The Order.
    pub order: OrderId,
    /// How much to capture; all that is authorized when left out. Its currency is the Order's.
    pub amount: Option<Decimal>,
}

/// The body of POST {checkout_url}/v2.21/cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The Order.
    pub order: OrderId,
}

/// The body of POST {checkout_url}/v2.21/refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRefundRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The Order.
    pub order: OrderId,
    /// What to give back.
    pub refund: order::OrderRefundRequest,
}

/// The body of POST {checkout_url}/v2.21/query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// What is asked for.
    pub subject: QuerySubject,
}

/// What a query asks for, by the one name that it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySubject {
    /// An Order, by OrderId.
    Order(OrderId),
    /// By ReferenceId: that of a checkout, or that of an openContract.
    Reference(Text),
    /// A contract, by ContractId.
    Contract(ContractId),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutCapture)]
struct CaptureDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    #[schema(value_type = schema::Id)]
    order_id: Member<String>,
    /// More than zero and at most what is authorized; the rest is released. All of it when left out.
    #[schema(value_type = Option<schema::AmountRequest>)]
    amount: Member<Decimal>,
}

impl Known for CaptureDto {}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutCancel)]
struct CancelDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    #[schema(value_type = schema::Id)]
    order_id: Member<String>,
}

impl Known for CancelDto {}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutRefund)]
struct RefundDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    #[schema(value_type = schema::Id)]
    order_id: Member<String>,
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

/// Give exactly one of OrderId, ReferenceId and ContractId.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutQuery)]
struct QueryDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    #[schema(value_type = Option<schema::Id>)]
    order_id: Member<String>,
    /// The ReferenceId of the checkout or of the contract.
    #[schema(value_type = Option<schema::Text>)]
    reference_id: Member<String>,
    #[schema(value_type = Option<schema::Id>)]
    contract_id: Member<String>,
}

impl Known for QueryDto {}

schema::sent_as! {
    CheckoutCaptureRequest => CaptureDto;
    CancelRequest => CancelDto;
    CheckoutRefundRequest => RefundDto;
    QueryRequest => QueryDto;
}

impl CheckoutCaptureRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else an OrderId that is none.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: CaptureDto = read_object(body, &mut all)?;
        let amount = dto.amount.optional("", "Amount", &mut all);
        let (merchant_id, order) = named(dto.merchant_id, dto.order_id, all)?;
        Ok(Self { merchant_id, order: order_id(&order)?, amount })
    }
}

impl CancelRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// As [`CheckoutCaptureRequest::parse`].
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: CancelDto = read_object(body, &mut all)?;
        let (merchant_id, order) = named(dto.merchant_id, dto.order_id, all)?;
        Ok(Self { merchant_id, order: order_id(&order)? })
    }
}

impl CheckoutRefundRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: RefundDto = read_object(body, &mut all)?;
        let refund = RefundInput::of(dto.refund_reference, dto.amount, dto.description, &mut all);
        let merchant_id = dto.merchant_id.required("", "MerchantId", &mut all);
        let order = dto.order_id.required("", "OrderId", &mut all);
        let ((merchant_id, order), refund) = all.into_result(merchant_id.zip(order).zip(refund))?;
        let mut all = Violations::new();
        let order = all.check(order_id(&order));
        let refund = refund.meaning(&mut all);
        let whole = order.zip(refund).map(|(order, refund)| Self { merchant_id, order, refund });
        Ok(all.into_result(whole)?)
    }
}

impl QueryRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning, more than one name among it.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: QueryDto = read_object(body, &mut all)?;
        let names = [&dto.order_id, &dto.reference_id, &dto.contract_id].map(Member::is_there);
        let merchant_id = dto.merchant_id.required("", "MerchantId", &mut all);
        if names == [false; 3] {
            all.push("OrderId", ViolationCode::Missing, "is required, or ReferenceId or ContractId in its place");
        }
        let order = dto.order_id.optional("", "OrderId", &mut all);
        let reference = dto.reference_id.optional("", "ReferenceId", &mut all);
        let contract = dto.contract_id.optional("", "ContractId", &mut all);
        let merchant_id = all.into_result(merchant_id)?;
        let mut all = Violations::new();
        if 1 < names.into_iter().filter(|there| *there).count() {
            for (name, _) in ["OrderId", "ReferenceId", "ContractId"].into_iter().zip(names).filter(|(_, there)| *there)
            {
                all.push(name, ViolationCode::Conflict, "give exactly one of OrderId, ReferenceId and ContractId");
            }
        }
        let order = order.and_then(|id| all.check(order_id(&id))).map(QuerySubject::Order);
        let reference = reference.and_then(|text| all.check(Text::parse("ReferenceId", &text)));
        let contract = contract.and_then(|id| all.check(parse_contract_id(&id))).map(QuerySubject::Contract);
        let subject = order.or(reference.map(QuerySubject::Reference)).or(contract);
        Ok(all.into_result(subject.map(|subject| Self { merchant_id, subject }))?)
    }
}

/// MerchantId and OrderId, of the right types.
fn named(
    merchant_id: Member<String>,
    order: Member<String>,
    mut all: Violations,
) -> Result<(String, String), Violations> {
    let merchant_id = merchant_id.required("", "MerchantId", &mut all);
    let order = order.required("", "OrderId", &mut all);
    all.into_result(merchant_id.zip(order))
}

fn order_id(text: &str) -> Result<OrderId, Violation> {
    let why = "must be a UUID that an answer of ours gave";
    text.parse().map_err(|_invalid| Violation::new("OrderId", ViolationCode::Invalid, why))
}
