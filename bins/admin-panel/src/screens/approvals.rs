//! Refunds above a merchant's limit, which wait for a second operator.

use askama::Template;
use dropin_access::operator::MoneyRequestState;
use dropin_kernel::MoneyRequestId;
use dropin_usecases::operators::MoneyError;

use super::orders::{RefundFailed, make_refund, sentence};
use super::{MerchantNames, visible_merchants};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};

struct RequestRow {
    id: String,
    order: String,
    merchant: String,
    amount: String,
    note: String,
    asked: Html,
    ends: Html,
    is_own: bool,
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    shell: Shell,
    rows: Vec<RequestRow>,
}

/// What waits.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let waiting = request.deps.operators.list_money_requests(&request.operator, Some(MoneyRequestState::Waiting)).await;
    let waiting = waiting.map_err(refusal)?;
    let (names, now) = (MerchantNames::of(&visible_merchants(&request).await?), request.deps.clock.now());
    let rows = waiting.iter().filter(|one| now < one.expires_at()).map(|one| RequestRow {
        id: one.id.to_string(),
        order: one.order.to_string(),
        merchant: names.name(one.merchant),
        amount: show::money(&one.amount),
        note: one.note.clone(),
        asked: show::instant(one.requested_at),
        ends: show::instant(one.expires_at()),
        is_own: one.requested_by == request.operator.operator.id,
    });
    let page = ApprovalsPage { shell: request.shell("Approvals"), rows: rows.collect() };
    Ok(request.page(&page))
}

/// Approves, and makes the refund; or refuses.
pub(crate) async fn decide(request: PanelRequest) -> Answer {
    let id: MoneyRequestId = request.id("request")?;
    let operators = &request.deps.operators;
    let asked = operators.find_money_request(&request.operator, id).await.map_err(refusal)?;
    match request.fields.text("decision") {
        "approve" => {
            request.own(asked.merchant, "request")?;
            let granted = operators.approve_money(&request.operator, id).await.map_err(refusal)?;
            match make_refund(&request, granted.merchant, granted.order, id, &granted.amount).await {
                Ok(done) => Ok(see(format!("/orders/{}?done={done}", granted.order))),
                Err(RefundFailed::Refused(why)) => {
                    Err(Refusal::Changed(format!("The refund was approved, and is not possible any more. {why}")))
                }
                Err(RefundFailed::Other(refusal)) => Err(refusal),
            }
        }
        "refuse" => {
            operators.refuse_money(&request.operator, id).await.map_err(refusal)?;
            Ok(see("/approvals?done=refused"))
        }
        _ => Err(Refusal::Invalid("Choose whether the refund is approved or refused.".to_owned())),
    }
}

fn refusal(error: MoneyError) -> Refusal {
    match error {
        MoneyError::Store(error) => error.into(),
        MoneyError::NoRequest | MoneyError::NoOrder => Refusal::NotFound("request"),
        MoneyError::NotAllowed(refused) => Refusal::NotAllowed(sentence(&refused)),
        MoneyError::Refused(_) | MoneyError::Invalid(_) => Refusal::Changed(sentence(&error)),
    }
}
