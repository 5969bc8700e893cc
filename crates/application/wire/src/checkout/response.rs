use dropin_catalogue::PaymentRules;
use dropin_kernel::Timestamp;
use dropin_order::{Order, OrderState};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ErrorBody, ErrorCode};
use crate::schema;

/// How a checkout stands (docs/SPECIFICATION.md#checkout-response).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Checkout, description = "How a checkout stands.")]
pub struct CheckoutBody<'a> {
    #[schema(value_type = schema::Id)]
    order_id: String,
    /// As it was sent.
    reference_id: &'a str,
    #[schema(value_type = schema::OrderStateName)]
    state: &'static str,
    /// Whether it is held by our review or the pay-later provider's; captured, if asked for, when that is over.
    under_review: bool,
    /// Until when it can be captured; before it is authorized, until when the shopper can pay.
    #[schema(value_type = schema::Moment)]
    expiry: String,
    /// Whether the money is reserved.
    authorized: bool,
    /// Whether nothing more will happen by itself: captured, or authorized with Capture false.
    completed: bool,
    /// Whether all of it is taken.
    captured: bool,
    /// When the shopper has to do something.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ActionBody)]
    action: Option<ActionBody<'a>>,
}

/// What the shopper has to do.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Action)]
pub(crate) struct ActionBody<'a> {
    /// The page to send the shopper to.
    redirect: &'a str,
}

impl<'a> ActionBody<'a> {
    /// To visit `page`.
    pub(crate) const fn redirect(page: &'a str) -> Self {
        Self { redirect: page }
    }
}

impl<'a> CheckoutBody<'a> {
    /// As `order` stands, by the rules of its method.
    pub fn new(order: &'a Order, rules: PaymentRules<'_>) -> Self {
        // Our own page shows where to transfer the money to, once that is known.
        let transfer = order.transfer_page.as_deref().filter(|_| order.awaits_transfer());
        let waits = order.state == OrderState::Processing && order.voiding.is_none();
        let page = order.page.as_deref().filter(|_| waits).or(transfer);
        Self {
            order_id: order.id.to_string(),
            reference_id: &order.merchant_reference,
            state: order.state.as_str(),
            under_review: order.is_held(),
            expiry: expiry(order, rules).to_string(),
            authorized: is_authorized(order),
            completed: is_completed(order),
            captured: is_captured(order),
            action: page.map(ActionBody::redirect),
        }
    }
}

/// Until when it can be captured or paid. When nothing waits for that end any more, or yet, it is counted from the Order's creation.
fn expiry(order: &Order, rules: PaymentRules<'_>) -> Timestamp {
    let span = match order.state {
        OrderState::Processing => rules.patience(),
        _ => rules.capture_window(),
    };
    order.expires_at.unwrap_or_else(|| order.created_at.plus(span))
}

/// An authorization that was voided, or ended otherwise, reserves nothing any more.
fn is_authorized(order: &Order) -> bool {
    let live = match order.state {
        OrderState::PaymentAuthorized | OrderState::CommitAccepted | OrderState::Processed => true,
        OrderState::Processing | OrderState::ProcessingFailed | OrderState::Cancelled | OrderState::Declined => false,
    };
    live && !order.amounts.total_authorized().is_zero()
}

/// After a capture of a part the rest is released, and so never all of it taken.
fn is_captured(order: &Order) -> bool {
    order.state == OrderState::Processed && order.amounts.captured() == order.amounts.total_authorized()
}

fn is_completed(order: &Order) -> bool {
    match order.state {
        OrderState::Processed => true,
        OrderState::PaymentAuthorized => {
            let nothing_runs = order.voiding.is_none() && order.amounts.capture_pending().is_zero();
            nothing_runs && !order.under_review && order.capture_due().is_none()
        }
        _ => false,
    }
}

/// The answer to a capture or a cancel through the checkout (docs/SPECIFICATION.md#checkout-operations).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = CheckoutAction, description = "What came of a capture or a cancel.")]
pub struct CheckoutActionBody {
    #[schema(value_type = schema::Id)]
    order_id: String,
    /// Whether it is done: captured or cancelled. A notification tells of it otherwise.
    completed: bool,
    /// Whether it is held by our review or the pay-later provider's; captured, if asked for, when that is over.
    under_review: bool,
}

/// The body of the answer to a checkout that was not refused, and to a query.
pub fn checkout_result(order: &Order, rules: PaymentRules<'_>) -> Vec<u8> {
    serde_json::to_vec(&CheckoutBody::new(order, rules)).expect("a checkout has string keys only")
}

/// The body of the answer to a checkout that failed: the Error object PAYMENT_DECLINED with OrderId. `reached` says whether issuer or screening refused
/// it; otherwise it never came to them.
pub fn declined(order: &Order, reached: bool) -> Vec<u8> {
    let message = if reached {
        "The payment was refused and nothing was charged. Ask the shopper for another means of payment and send a new ReferenceId."
    } else {
        "The payment never reached the processor and nothing was charged. Nothing is wrong with the means of payment: let the shopper pay again \
         later, with a new ReferenceId; a card has to be stashed again."
    };
    let body = ErrorBody::new(ErrorCode::PaymentDeclined, message).with_order(order.id);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}

/// The body of the answer to a checkout that needs the shopper, who is away (docs/SPECIFICATION.md#contract-checkout) or could not come back
/// (docs/SPECIFICATION.md#screening): the Error object SHOPPER_AUTHENTICATION_REQUIRED with OrderId.
pub fn authentication_required(order: &Order) -> Vec<u8> {
    let message = if order.contract_id.is_some() {
        "The issuer wants the shopper to authenticate and nothing was charged. Bring the shopper back with a Session that carries this ContractId."
    } else {
        "The shopper has to authenticate and nothing was charged. Stash the payment again and send a new ReferenceId with Return, so that the shopper can be \
         sent to a page and come back."
    };
    let body = ErrorBody::new(ErrorCode::ShopperAuthenticationRequired, message).with_order(order.id);
    serde_json::to_vec(&body).expect("an Error object has string keys only")
}

/// The body of the answer to a capture or a cancel of `order`, as it stands after it.
pub fn checkout_action(order: &Order) -> Vec<u8> {
    let completed = matches!(order.state, OrderState::Processed | OrderState::Cancelled);
    let body = CheckoutActionBody { order_id: order.id.to_string(), completed, under_review: order.is_held() };
    serde_json::to_vec(&body).expect("the answer has string keys only")
}
