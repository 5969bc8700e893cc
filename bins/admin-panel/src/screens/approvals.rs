//! Refunds above a merchant's limit, which wait for a second operator.

use askama::Template;
use dropin_access::operator::{MoneyRequest, MoneyRequestState};
use dropin_kernel::{MoneyRequestId, OperatorId};
use dropin_usecases::operators::{MoneyError, OperatorRefundError};

use super::orders::{refund_notice, refunds};
use super::{MerchantNames, acting, visible_merchants};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

struct RequestRow {
    id: String,
    order: String,
    merchant: String,
    amount: String,
    note: String,
    asked: Html,
    ends: Html,
    decision: Decision,
}

/// What this operator can do about a request.
enum Decision {
    /// Approve or refuse what another one asked for.
    Decide,
    /// Take back what it asked for itself.
    Withdraw,
    /// Make the refund that it approved, and that was interrupted.
    Finish,
    /// Another one has to finish it.
    None,
}

impl Decision {
    fn of(request: &MoneyRequest, operator: OperatorId) -> Self {
        let (is_own, is_granted) = (request.requested_by == operator, request.state == MoneyRequestState::Granted);
        match (is_granted, is_own) {
            (true, _) if request.decided_by == Some(operator) => Self::Finish,
            (true, _) => Self::None,
            (false, true) => Self::Withdraw,
            (false, false) => Self::Decide,
        }
    }
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    shell: Shell,
    rows: Vec<RequestRow>,
}

/// What waits, and what was granted and is not made.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let open = request.deps.operators.list_open_money_requests(&request.operator, None).await.map_err(refusal)?;
    let names = MerchantNames::of(&visible_merchants(&request).await?);
    let rows = open.iter().map(|one| RequestRow {
        id: one.id.to_string(),
        order: one.order.to_string(),
        merchant: names.name(one.merchant),
        amount: show::money(&one.amount),
        note: one.note.clone(),
        asked: show::instant(one.requested_at),
        ends: show::instant(one.expires_at()),
        decision: Decision::of(one, request.operator.operator.id),
    });
    let page = ApprovalsPage { shell: request.shell(texts().approvals), rows: rows.collect() };
    Ok(request.page(&page))
}

/// Approves and makes the refund in one flow, or refuses. What was interrupted is finished by the same form.
pub(crate) async fn decide(request: PanelRequest) -> Answer {
    let id: MoneyRequestId = request.id("request")?;
    let operators = &request.deps.operators;
    let asked = operators.find_money_request(&request.operator, id).await.map_err(refusal)?;
    match request.fields.text("decision") {
        "approve" => {
            request.own(asked.merchant, "request")?;
            let (refunds, by, acting) = (refunds(&request), request.operator.clone(), acting(&request));
            let flow = async move { refunds.approve(&by, id, acting).await };
            match request.deps.flows.run(flow).await? {
                Ok(state) => Ok(see(format!("/orders/{}?done={}", asked.order, refund_notice(state)))),
                Err(OperatorRefundError::Request(error)) => Err(refusal(error)),
                Err(OperatorRefundError::Store(error)) => Err(error.into()),
                Err(OperatorRefundError::NotPossible(why)) => {
                    Err(Refusal::Changed(texts().approved_not_possible(sentence(&why))))
                }
            }
        }
        "refuse" => {
            operators.refuse_money(&request.operator, id).await.map_err(refusal)?;
            Ok(see("/approvals?done=refused"))
        }
        _ => Err(Refusal::Invalid(texts().choose_approve_refuse.to_owned())),
    }
}

/// Takes back what the operator asked for itself.
pub(crate) async fn withdraw(request: PanelRequest) -> Answer {
    let id: MoneyRequestId = request.id("request")?;
    let withdrawn = request.deps.operators.withdraw_money(&request.operator, id).await.map_err(refusal)?;
    Ok(see(format!("/orders/{}?done=withdrawn", withdrawn.order)))
}

fn refusal(error: MoneyError) -> Refusal {
    match error {
        MoneyError::Store(error) => error.into(),
        MoneyError::NoRequest | MoneyError::NoOrder => Refusal::NotFound("request"),
        MoneyError::NotAllowed(refused) => Refusal::NotAllowed(sentence(&refused)),
        MoneyError::Refused(_) | MoneyError::Invalid(_) | MoneyError::Exceeds(_) => Refusal::Changed(sentence(&error)),
    }
}
