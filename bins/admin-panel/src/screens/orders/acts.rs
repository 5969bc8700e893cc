//! What an operator does about an Order, each by the use case of the API.

use actix_web::http::StatusCode;
use dropin_kernel::{MoneyRequestId, OrderId, Revision};
use dropin_money::{Amount, Currency};
use dropin_order::{OrderState, RefundState};
use dropin_usecases::operators::{MoneyError, NewRefundRequest, OperatorRefundError, OperatorRefunds, RefundProgress};
use dropin_usecases::payments::{CancelError, CaptureError};

use super::page::{ActForm, Form, load, page_of};
use crate::amounts;
use crate::fields::Fields;
use crate::guard::Answer;
use crate::page::{self, see};
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::screens::{acting, merchant_act, required_note};
use crate::texts::{sentence, texts};

/// The page again, with the form as it was typed and what is wrong with it.
pub(super) async fn again(request: &PanelRequest, wrap: fn(ActForm) -> Form, wrong: Vec<String>) -> Answer {
    again_as(StatusCode::UNPROCESSABLE_ENTITY, request, wrap, wrong).await
}

/// The same for a form of a page that showed the Order as it was before another change: nothing was done, and it may be sent again as it is now.
async fn changed(request: &PanelRequest, wrap: fn(ActForm) -> Form) -> Answer {
    again_as(StatusCode::CONFLICT, request, wrap, vec![texts().order_changed.to_owned()]).await
}

async fn again_as(status: StatusCode, request: &PanelRequest, wrap: fn(ActForm) -> Form, wrong: Vec<String>) -> Answer {
    let form = ActForm {
        amount: request.fields.text("amount").to_owned(),
        text: request.fields.text("text").to_owned(),
        note: request.fields.text("note").to_owned(),
        wrong,
    };
    let (trail, session) = load(request).await?;
    let page = page_of(request, trail, session, wrap(form)).await?;
    Ok(page::html(status, &page))
}

/// The amount of a form in the Order's currency; `None` when it is left empty.
fn typed_amount(fields: &Fields, currency: Currency) -> Result<Option<Amount>, String> {
    let Some(text) = fields.given("amount") else { return Ok(None) };
    let amount = amounts::typed(text, currency)?;
    if amount.minor() <= 0 { Err(texts().amount_above_zero.to_owned()) } else { Ok(Some(amount)) }
}

/// Refunds a part or all. The form names the request, so that one that is sent twice is one refund, and one that was interrupted is finished.
pub(crate) async fn refund(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    let key = request.fields.text("key").parse::<MoneyRequestId>();
    let key = key.map_err(|_no_id| Refusal::Invalid(texts().form_damaged.to_owned()))?;
    let mut wrong: Vec<String> = required_note(&request.fields).err().into_iter().collect();
    let amount =
        typed_amount(&request.fields, order.total.currency()).map_err(|why| wrong.push(why)).unwrap_or_default();
    // All that is left is another amount when the form comes a second time.
    if amount.is_none() && wrong.is_empty() {
        wrong.push(texts().write_the_amount.to_owned());
    }
    let Some(amount) = amount.filter(|_| wrong.is_empty()) else { return again(&request, Form::Refund, wrong).await };
    let new = NewRefundRequest {
        id: key,
        merchant: order.merchant_id,
        order: order.id,
        amount,
        note: request.fields.text("note").to_owned(),
    };
    let (refunds, by, acting) = (refunds(&request), request.operator.clone(), acting(&request));
    let flow = async move { refunds.refund(&by, &new, acting).await };
    let done = match request.deps.flows.run(flow).await? {
        Ok(RefundProgress::Waiting) => "refund-waits",
        Ok(RefundProgress::Made(state)) => refund_notice(state),
        Err(OperatorRefundError::Store(error) | OperatorRefundError::Request(MoneyError::Store(error))) => {
            return Err(error.into());
        }
        Err(refused) => return again(&request, Form::Refund, vec![sentence(&refused)]).await,
    };
    Ok(see(format!("/orders/{}?done={done}", order.id)))
}

/// What makes operators' refunds.
pub(crate) fn refunds(request: &PanelRequest) -> OperatorRefunds {
    OperatorRefunds { operators: request.deps.operators.clone(), payments: request.deps.payments.clone() }
}

/// What came of a refund, as a code of a notice.
pub(crate) const fn refund_notice(state: RefundState) -> &'static str {
    match state {
        RefundState::Succeeded => "refunded",
        RefundState::Failed => "refund-failed",
        RefundState::InProgress => "refund-pending",
    }
}

/// The revision of the Order that the form's page showed.
fn seen_revision(request: &PanelRequest) -> Result<Revision, Refusal> {
    let number = request.fields.text("revision").parse();
    number.map(Revision::new).map_err(|_no_number| Refusal::Invalid(texts().form_damaged.to_owned()))
}

/// Captures a part or all.
pub(crate) async fn capture(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    let seen = seen_revision(&request)?;
    let mut wrong: Vec<String> = required_note(&request.fields).err().into_iter().collect();
    let amount =
        typed_amount(&request.fields, order.total.currency()).map_err(|why| wrong.push(why)).unwrap_or_default();
    if !wrong.is_empty() {
        return again(&request, Form::Capture, wrong).await;
    }
    let (payments, act, id) = (request.deps.payments.clone(), merchant_act(&request, order.merchant_id), order.id);
    let number = amount.map(|amount| amount.to_decimal());
    let flow = async move { payments.capture_as_seen(seen, &act, id, number.as_ref()).await };
    match request.deps.flows.run(flow).await? {
        Ok(_) => {}
        Err(CaptureError::Changed) => return changed(&request, Form::Capture).await,
        Err(CaptureError::Store(error)) => return Err(error.into()),
        Err(CaptureError::Amount(violation)) => {
            return again(&request, Form::Capture, vec![texts().the_amount(texts().domain(&violation.message))]).await;
        }
        Err(refused) => return again(&request, Form::Capture, vec![sentence(&refused)]).await,
    }
    let after = request.deps.payments.store.find_order_anywhere(id).await?.map(|(order, _)| order);
    let done = match after {
        Some(order) if order.state == OrderState::Processed => "captured",
        Some(order) if order.under_review => "capture-held",
        Some(order) if order.amounts.capture_pending().is_zero() => "capture-refused",
        _ => "capture-pending",
    };
    Ok(see(format!("/orders/{id}?done={done}")))
}

/// Cancels before the capture.
pub(crate) async fn cancel(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    let seen = seen_revision(&request)?;
    if let Err(why) = required_note(&request.fields) {
        return again(&request, Form::Cancel, vec![why]).await;
    }
    let (payments, act, id) = (request.deps.payments.clone(), merchant_act(&request, order.merchant_id), order.id);
    let flow = async move { payments.cancel_as_seen(seen, &act, id).await };
    match request.deps.flows.run(flow).await? {
        Ok(_) => {}
        Err(CancelError::Changed) => return changed(&request, Form::Cancel).await,
        Err(CancelError::Store(error)) => return Err(error.into()),
        Err(refused) => return again(&request, Form::Cancel, vec![sentence(&refused)]).await,
    }
    let after = request.deps.payments.store.find_order_anywhere(id).await?.map(|(order, _)| order);
    let done = match after {
        Some(order) if order.state == OrderState::Cancelled => "cancelled",
        Some(order) if order.voiding.is_some() => "cancel-pending",
        _ => "cancel-refused",
    };
    Ok(see(format!("/orders/{id}?done={done}")))
}

/// The Order of a review's form, and the revision that its page showed.
pub(crate) async fn reviewed(request: &PanelRequest) -> Result<(OrderId, Revision), Refusal> {
    let (trail, _) = load(request).await?;
    Ok((trail.records.order.id, seen_revision(request)?))
}

/// The Order's page again, because it changed before the decision.
pub(crate) async fn review_changed(request: &PanelRequest) -> Answer {
    changed(request, Form::Review).await
}

/// The Order's page again, because the decision was not accepted.
pub(crate) async fn review_again(request: &PanelRequest, why: String) -> Answer {
    again(request, Form::Review, vec![why]).await
}
