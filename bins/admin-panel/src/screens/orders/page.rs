//! One Order: amounts, timeline, refunds, operations, and the forms that fit its state.

use askama::Template;
use dropin_access::operator::{MoneyRequest, MoneyRequestState, PanelAction};
use dropin_kernel::{OperatorId, OrderId};
use dropin_money::Amount;
use dropin_order::{CapturePlan, Operation, Order, Refund, VoidPlan};
use dropin_ports::OrderAuditTrail;
use dropin_risk::Screening;
use dropin_session::Session;
use dropin_usecases::operators::MoneyError;

use super::disputes::{DisputeRow, disputes_of, to_answer};
use super::timeline::{TimelineEvent, timeline};
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::texts;

struct OperationRow {
    id: String,
    kind: String,
    amount: String,
    state: Html,
    created: Html,
    open: String,
}

struct RefundRow {
    reference: String,
    amount: String,
    state: Html,
    created: Html,
    description: String,
}

/// A refund that was asked for and is not made.
struct RequestRow {
    id: String,
    amount: String,
    plain_amount: String,
    note: String,
    waits: bool,
    is_own: bool,
    ends: Html,
}

struct BalanceRow {
    account: String,
    amount: String,
}

struct AttemptRow {
    path: String,
    method: String,
    state: Html,
    failure: String,
    created: Html,
    current: bool,
}

/// A form for an amount or a text with a note, and what was wrong with it.
#[derive(Default)]
pub(super) struct ActForm {
    pub(super) amount: String,
    pub(super) text: String,
    pub(super) note: String,
    pub(super) wrong: Vec<String>,
}

/// The forms of the page, as far as the operator and the Order's state allow them.
#[derive(Default)]
struct Acts {
    refund: Option<ActForm>,
    capture: Option<ActForm>,
    cancel: Option<ActForm>,
    review: Option<ActForm>,
    /// With the id of the dispute.
    dispute: Option<(String, ActForm)>,
}

impl Acts {
    fn is_empty(&self) -> bool {
        let money = self.refund.is_none() && self.capture.is_none() && self.cancel.is_none();
        money && self.review.is_none() && self.dispute.is_none()
    }
}

#[derive(Template)]
#[template(path = "order.html")]
pub(super) struct OrderPage {
    shell: Shell,
    id: String,
    reference: String,
    total: String,
    state: Html,
    merchant: String,
    merchant_path: Option<String>,
    session: Option<String>,
    contract: Option<String>,
    method: String,
    last_four: Option<String>,
    created: Html,
    updated: Html,
    ends: Option<Html>,
    failure: String,
    shown: bool,
    auto_capture: bool,
    authorized: String,
    captured: String,
    capture_pending: Option<String>,
    refunded: String,
    refund_pending: Option<String>,
    refundable: String,
    shopper: Option<Shopper>,
    attempts: Vec<AttemptRow>,
    timeline: Vec<TimelineEvent>,
    operations: Vec<OperationRow>,
    requests: Vec<RequestRow>,
    refunds: Vec<RefundRow>,
    disputes: Vec<DisputeRow>,
    balances: Vec<BalanceRow>,
    unbalanced: bool,
    checkout: Option<String>,
    screening: Option<ScreeningCard>,
    acts: Acts,
    key: String,
    revision: i64,
    currency: String,
}

/// What screening made of it.
struct ScreeningCard {
    decision: Html,
    score: u8,
    reasons: Vec<ScreeningReason>,
    exemption: Option<String>,
}

struct ScreeningReason {
    what: String,
    points: String,
}

/// Who pays.
struct Shopper {
    name: String,
    email: String,
    address: String,
}

/// One Order.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let (trail, session) = load(&request).await?;
    let page = page_of(&request, trail, session, Form::None).await?;
    Ok(request.page(&page))
}

/// Which form comes back with what was typed.
pub(super) enum Form {
    None,
    Refund(ActForm),
    Capture(ActForm),
    Cancel(ActForm),
    Review(ActForm),
    Dispute(ActForm),
}

/// The Order of the address, which the operator sees.
pub(super) async fn load(request: &PanelRequest) -> Result<(OrderAuditTrail, Option<Session>), Refusal> {
    let id: OrderId = request.id("Order")?;
    let trail = request.deps.audit.find_audit_trail(id).await?.ok_or(Refusal::NotFound("Order"))?;
    request.own(trail.records.order.merchant_id, "Order")?;
    let found = request.deps.payments.store.find_order_anywhere(id).await?;
    Ok((trail, found.and_then(|(_, session)| session)))
}

pub(super) async fn page_of(
    request: &PanelRequest,
    trail: OrderAuditTrail,
    session: Option<Session>,
    form: Form,
) -> Result<OrderPage, Refusal> {
    let order = &trail.records.order;
    let merchant = order.merchant_id;
    let name = request
        .deps
        .access
        .find_merchant(merchant)
        .await?
        .map_or_else(|| merchant.to_string(), |found| found.name.clone());
    let attempts = match &session {
        Some(session) => request.deps.sessions.list_attempts(session.id).await?,
        None => Vec::new(),
    };
    let attempts =
        if 1 < attempts.len() { attempts.iter().map(|one| attempt_row(one, order)).collect() } else { Vec::new() };
    let amounts = &order.amounts;
    let pending = |amount: &Amount| (!amount.is_zero()).then(|| show::money(amount));
    let mut acts = acts_of(request, order);
    let disputes = if trail.records.disputes.is_empty() { Vec::new() } else { disputes_of(request, order).await? };
    let answerable = to_answer(&disputes, request.deps.clock.now());
    acts.dispute = answerable
        .filter(|_| request.may(PanelAction::AnswerDispute, merchant))
        .map(|dispute| (dispute.id.to_string(), ActForm::default()));
    match form {
        Form::None => {}
        Form::Refund(form) => acts.refund = Some(form),
        Form::Capture(form) => acts.capture = Some(form),
        Form::Cancel(form) => acts.cancel = Some(form),
        Form::Review(form) => acts.review = Some(form),
        Form::Dispute(form) => {
            acts.dispute = Some((request.fields.text("dispute").to_owned(), form));
        }
    }
    let screening = request.deps.payments.screening.find(merchant, order.id).await?;
    let timeline = timeline(request, &trail, session.as_ref()).await?;
    let open = request.deps.operators.list_open_money_requests(&request.operator, Some(order.id)).await;
    let open = match open {
        Ok(open) => open,
        Err(MoneyError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(Refusal::Internal(error.to_string())),
    };
    Ok(OrderPage {
        shell: request.shell(texts().order_titled(&order.merchant_reference)),
        id: order.id.to_string(),
        reference: order.merchant_reference.clone(),
        total: show::money(&order.total),
        state: show::order_badges(order),
        merchant: name,
        merchant_path: request.may(PanelAction::ViewMerchants, merchant).then(|| format!("/merchants/{merchant}")),
        session: order.session_id.map(|id| id.to_string()),
        contract: order.contract_id.map(|id| format!("/contracts/{id}?merchant={merchant}")),
        method: order.payment_method.clone(),
        last_four: order.last_four.map(|four| four.to_string()),
        created: show::instant(order.created_at),
        updated: show::instant(order.updated_at),
        ends: order.expires_at.filter(|_| !order.state.is_final()).map(show::instant),
        failure: order.failure.map(|reason| show::words(reason.as_str())).unwrap_or_default(),
        shown: order.shown,
        auto_capture: order.auto_capture,
        authorized: show::money(amounts.total_authorized()),
        captured: show::money(amounts.captured()),
        capture_pending: pending(amounts.capture_pending()),
        refunded: show::money(amounts.refunded()),
        refund_pending: pending(amounts.refund_pending()),
        refundable: show::money(&amounts.refundable()),
        shopper: session.as_ref().map(shopper_of),
        attempts,
        timeline,
        operations: trail.records.operations.iter().map(|placed| operation_row(&placed.operation)).collect(),
        requests: open.iter().map(|one| request_row(one, request.operator.operator.id)).collect(),
        refunds: trail.records.refunds.iter().map(refund_row).collect(),
        disputes: disputes.iter().map(DisputeRow::from).collect(),
        balances: trail
            .records
            .balances
            .iter()
            .map(|one| BalanceRow {
                account: show::words(one.account.as_str()),
                amount: show::minor_units(one.minor, one.currency),
            })
            .collect(),
        unbalanced: !trail.records.unbalanced.is_empty(),
        checkout: trail.checkout.as_ref().map(|checkout| checkout.document.clone()),
        screening: screening.as_ref().map(screening_card),
        acts,
        key: request.deps.ids.random().to_string(),
        revision: order.revision.number(),
        currency: order.total.currency().code().to_owned(),
    })
}

fn attempt_row(attempt: &Order, current: &Order) -> AttemptRow {
    AttemptRow {
        path: format!("/orders/{}", attempt.id),
        method: attempt.payment_method.clone(),
        state: show::order_badges(attempt),
        failure: attempt.failure.map(|reason| show::words(reason.as_str())).unwrap_or_default(),
        created: show::instant(attempt.created_at),
        current: attempt.id == current.id,
    }
}

fn screening_card(screening: &Screening) -> ScreeningCard {
    let reasons = screening.reasons().iter().map(|reason| ScreeningReason {
        what: show::reason(&reason.code),
        points: if reason.points == 0 { String::new() } else { format!("{:+}", reason.points) },
    });
    ScreeningCard {
        decision: show::decision_badge(screening.decision()),
        score: screening.score().value(),
        reasons: reasons.collect(),
        exemption: screening.exemption().map(|exemption| show::words(exemption.as_str())),
    }
}

fn shopper_of(session: &Session) -> Shopper {
    let details = &session.terms.billing.details;
    let address = &details.address;
    let parts = [Some(&address.street), Some(&address.city), address.postcode.as_ref()];
    let parts = parts.into_iter().flatten().map(|text| text.as_str().to_owned());
    let address = parts.chain([address.country.code().to_owned()]).collect::<Vec<_>>().join(", ");
    Shopper { name: details.name.as_str().to_owned(), email: details.email.as_str().to_owned(), address }
}

fn operation_row(operation: &Operation) -> OperationRow {
    let open =
        operation.state.is_open().then(|| texts().tries_next_at(operation.tries, show::instant_text(operation.due_at)));
    OperationRow {
        id: operation.id.to_string(),
        kind: show::words(operation.kind.as_str()),
        amount: show::money(&operation.amount),
        state: show::operation_badge(operation.state),
        created: show::instant(operation.created_at),
        open: open.unwrap_or_default(),
    }
}

fn request_row(request: &MoneyRequest, operator: OperatorId) -> RequestRow {
    RequestRow {
        id: request.id.to_string(),
        amount: show::money(&request.amount),
        plain_amount: request.amount.to_string(),
        note: request.note.clone(),
        waits: request.state == MoneyRequestState::Waiting,
        is_own: request.requested_by == operator,
        ends: show::instant(request.expires_at()),
    }
}

fn refund_row(refund: &Refund) -> RefundRow {
    RefundRow {
        reference: refund.reference.clone(),
        amount: show::money(&refund.amount),
        state: show::refund_badge(refund.state),
        created: show::instant(refund.created_at),
        description: refund.description.clone().unwrap_or_default(),
    }
}

/// What can be done now, by this operator.
fn acts_of(request: &PanelRequest, order: &Order) -> Acts {
    let (merchant, now) = (order.merchant_id, request.deps.clock.now());
    let may = |action| request.may(action, merchant);
    let form = |allowed: bool, amount: Option<Amount>| {
        allowed.then(|| ActForm {
            amount: amount.map(|amount| amount.to_string()).unwrap_or_default(),
            ..ActForm::default()
        })
    };
    let refundable = order.amounts.refundable();
    let can_capture =
        matches!(order.plan_capture(None, now), Ok(CapturePlan::Ask { .. } | CapturePlan::UnderReview(_)));
    let can_cancel = matches!(order.plan_cancel(now), Ok(VoidPlan::Ask(_)));
    Acts {
        refund: form(may(PanelAction::RefundOrder) && order.shown && !refundable.is_zero(), Some(refundable)),
        capture: form(may(PanelAction::CaptureOrder) && order.shown && can_capture, Some(order.amounts.capturable())),
        cancel: form(may(PanelAction::CancelOrder) && order.shown && can_cancel, None),
        review: form(may(PanelAction::ReviewOrder) && order.under_review, None),
        dispute: None,
    }
}
