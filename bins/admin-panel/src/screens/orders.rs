//! Orders: the list, one Order with everything that happened to it, and what an operator does about it.

use askama::Template;
use dropin_access::operator::{MoneyRequestState, PanelAction};
use dropin_kernel::{MerchantId, MoneyRequestId, OrderId, Timestamp};
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::{Channel, OpState, Order, OrderState, RefundState};
use dropin_ports::{NotificationFilter, NotificationQuery, OrderAuditTrail, OrderSearch, SearchFilter};
use dropin_session::Session;
use dropin_usecases::operators::{MoneyError, RefundWish};
use dropin_usecases::payments::{CancelError, CaptureError, RefundAsk, RefundError};

use super::{
    Choice, MerchantNames, PAGE_ROWS, day, merchant_act, merchant_choices, read_cursor, required_note,
    visible_merchants, write_cursor,
};
use crate::fields::Fields;
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};

/// The fields of the list's filters.
pub(crate) const FILTERS: &[&str] =
    &["merchant", "state", "method", "currency", "amount", "reference", "email", "since", "until", "after", "held"];

/// A row of the list.
pub(crate) struct OrderRow {
    pub(crate) path: String,
    pub(crate) created: Html,
    pub(crate) reference: String,
    pub(crate) merchant: String,
    pub(crate) method: String,
    pub(crate) total: String,
    pub(crate) state: Html,
}

impl OrderRow {
    pub(crate) fn new(order: &Order, names: &MerchantNames) -> Self {
        Self {
            path: format!("/orders/{}", order.id),
            created: show::instant(order.created_at),
            reference: order.merchant_reference.clone(),
            merchant: names.name(order.merchant_id),
            method: order.payment_method.clone(),
            total: show::money(&order.total),
            state: show::order_badges(order),
        }
    }
}

#[derive(Template)]
#[template(path = "orders.html")]
struct OrdersPage {
    shell: Shell,
    filters: Filters,
    rows: Vec<OrderRow>,
    wrong: Vec<String>,
    next: Option<String>,
    export: Option<String>,
    sessions: String,
    is_filtered: bool,
    is_continued: bool,
}

/// What was typed into the filters.
struct Filters {
    merchants: Vec<Choice>,
    states: Vec<Choice>,
    currencies: Vec<Choice>,
    method: String,
    amount: String,
    reference: String,
    email: String,
    since: String,
    until: String,
}

/// The list.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let names = MerchantNames::of(&merchants);
    let (found, next, wrong) = match search_of(&request, PAGE_ROWS)? {
        Ok(search) => {
            let page = request.deps.back_office.search_orders(search).await?;
            (page.found, page.next, Vec::new())
        }
        Err(wrong) => (Vec::new(), None, wrong),
    };
    let fields = &request.fields;
    let text = |name: &str| fields.text(name).to_owned();
    let states = OrderState::ALL.into_iter();
    let filters = Filters {
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        states: states
            .map(|state| Choice::new(state.as_str(), show::order_state(state).1, fields.text("state")))
            .collect(),
        currencies: Currency::ALL
            .iter()
            .map(|one| Choice::new(one.code(), one.code(), fields.text("currency")))
            .collect(),
        method: text("method"),
        amount: text("amount"),
        reference: text("reference"),
        email: text("email"),
        since: text("since"),
        until: text("until"),
    };
    let may_export = crate::guard::may(&request.operator, PanelAction::ExportPayments);
    let page = OrdersPage {
        shell: request.shell("Orders"),
        filters,
        rows: found.iter().map(|order| OrderRow::new(order, &names)).collect(),
        wrong,
        next: next.map(|cursor| format!("/orders{}", fields.query(&["after"], &[("after", &write_cursor(&cursor))]))),
        export: may_export.then(|| format!("/orders.csv{}", fields.query(&["after"], &[]))),
        sessions: format!("/sessions{}", fields.query(&["after", "state", "method", "held"], &[])),
        is_filtered: fields.pairs().iter().any(|(name, value)| name != "after" && !value.trim().is_empty()),
        is_continued: fields.given("after").is_some(),
    };
    Ok(request.page(&page))
}

/// What the filters ask for; every one that makes no sense.
pub(crate) fn search_of(request: &PanelRequest, limit: u32) -> Result<Result<OrderSearch, Vec<String>>, Refusal> {
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let filter = filter_of(request, &mut wrong)?;
    let state = fields.given("state").and_then(|code| {
        code.parse::<OrderState>().map_err(|_unknown| wrong.push(format!("{code} is no state of an Order."))).ok()
    });
    let search = OrderSearch {
        filter,
        state,
        under_review: fields.is_ticked("held"),
        payment_method: fields.given("method").map(str::to_ascii_uppercase),
        after: read_cursor(fields)?,
        limit,
    };
    Ok(if wrong.is_empty() { Ok(search) } else { Err(wrong) })
}

/// What the filters of Orders and Sessions have in common.
pub(crate) fn filter_of(request: &PanelRequest, wrong: &mut Vec<String>) -> Result<SearchFilter, Refusal> {
    let fields = &request.fields;
    let currency = fields.given("currency").and_then(|code| {
        code.parse::<Currency>().map_err(|_unknown| wrong.push(format!("{code} is no currency here."))).ok()
    });
    let totals = totals(fields, currency).map_err(|why| wrong.push(why)).unwrap_or_default();
    let since = day(fields, "since", 0).map_err(|why| wrong.push(why)).unwrap_or_default();
    let until = day(fields, "until", 1).map_err(|why| wrong.push(why)).unwrap_or_default();
    Ok(SearchFilter {
        merchants: request.chosen_merchants()?,
        currency,
        totals,
        since,
        until,
        reference: fields.given("reference").map(str::to_owned),
        email: fields.given("email").map(str::to_owned),
    })
}

/// The totals that a typed amount stands for: one in a currency, else one in each currency that can have it.
fn totals(fields: &Fields, currency: Option<Currency>) -> Result<Option<Vec<Amount>>, String> {
    let Some(text) = fields.given("amount") else { return Ok(None) };
    let number = Decimal::parse(&text.replace(',', ""))
        .map_err(|_no_number| format!("{text} is no amount; write it as 29.90."))?;
    let currencies = currency.map_or_else(|| Currency::ALL.to_vec(), |one| vec![one]);
    let totals: Vec<_> = currencies.into_iter().filter_map(|one| Amount::from_decimal(one, &number).ok()).collect();
    if totals.is_empty() { Err(format!("No total can be {text}.")) } else { Ok(Some(totals)) }
}

/// Something that happened.
pub(crate) struct Happening {
    at: Timestamp,
    kind: &'static str,
    when: Html,
    title: String,
    detail: String,
    link: Option<String>,
}

impl Happening {
    fn new(at: Timestamp, kind: &'static str, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { at, kind, when: show::instant(at), title: title.into(), detail: detail.into(), link: None }
    }
}

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

/// A form for an amount with a note, and what was wrong with it.
#[derive(Default)]
struct ActForm {
    amount: String,
    note: String,
    wrong: Vec<String>,
}

/// The forms of the page, as far as the operator and the Order's state allow them.
#[derive(Default)]
struct Acts {
    refund: Option<ActForm>,
    capture: Option<ActForm>,
    cancel: Option<ActForm>,
    review: Option<ActForm>,
}

impl Acts {
    fn is_empty(&self) -> bool {
        self.refund.is_none() && self.capture.is_none() && self.cancel.is_none() && self.review.is_none()
    }
}

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage {
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
    timeline: Vec<Happening>,
    operations: Vec<OperationRow>,
    refunds: Vec<RefundRow>,
    balances: Vec<BalanceRow>,
    unbalanced: bool,
    checkout: Option<String>,
    acts: Acts,
    key: String,
    revision: i64,
    currency: String,
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
enum Form {
    None,
    Refund(ActForm),
    Capture(ActForm),
    Cancel(ActForm),
    Review(ActForm),
}

/// The Order of the address, which the operator sees.
async fn load(request: &PanelRequest) -> Result<(OrderAuditTrail, Option<Session>), Refusal> {
    let id: OrderId = request.id("Order")?;
    let trail = request.deps.audit.find_audit_trail(id).await?.ok_or(Refusal::NotFound("Order"))?;
    request.own(trail.records.order.merchant_id, "Order")?;
    let found = request.deps.payments.store.find_order_anywhere(id).await?;
    Ok((trail, found.and_then(|(_, session)| session)))
}

async fn page_of(
    request: &PanelRequest,
    trail: OrderAuditTrail,
    session: Option<Session>,
    form: Form,
) -> Result<OrderPage, Refusal> {
    let order = &trail.records.order;
    let merchant = order.merchant_id;
    let found = request.deps.access.find_merchant(merchant).await?;
    let name = found.map_or_else(|| merchant.to_string(), |found| found.name.clone());
    let attempts = match &session {
        Some(session) => request.deps.sessions.list_attempts(session.id).await?,
        None => Vec::new(),
    };
    let attempts =
        if 1 < attempts.len() { attempts.iter().map(|one| attempt_row(one, order)).collect() } else { Vec::new() };
    let amounts = &order.amounts;
    let pending = |amount: &Amount| (!amount.is_zero()).then(|| show::money(amount));
    let mut acts = acts_of(request, order);
    match form {
        Form::None => {}
        Form::Refund(form) => acts.refund = Some(form),
        Form::Capture(form) => acts.capture = Some(form),
        Form::Cancel(form) => acts.cancel = Some(form),
        Form::Review(form) => acts.review = Some(form),
    }
    let timeline = timeline(request, &trail, session.as_ref()).await?;
    Ok(OrderPage {
        shell: request.shell(format!("Order {}", order.merchant_reference)),
        id: order.id.to_string(),
        reference: order.merchant_reference.clone(),
        total: show::money(&order.total),
        state: show::order_badges(order),
        merchant: name,
        merchant_path: request.may(PanelAction::ViewMerchants, merchant).then(|| format!("/merchants/{merchant}")),
        session: order.session_id.map(|id| id.to_string()),
        contract: order.contract_id.map(|id| format!("/contracts/{id}?merchant={merchant}")),
        method: order.payment_method.clone(),
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
        refunds: trail.records.refunds.iter().map(refund_row).collect(),
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

fn shopper_of(session: &Session) -> Shopper {
    let details = &session.terms.billing.details;
    let address = &details.address;
    let parts = [Some(&address.street), Some(&address.city), address.postcode.as_ref()];
    let parts = parts.into_iter().flatten().map(|text| text.as_str().to_owned());
    let address = parts.chain([address.country.code().to_owned()]).collect::<Vec<_>>().join(", ");
    Shopper { name: details.name.as_str().to_owned(), email: details.email.as_str().to_owned(), address }
}

fn operation_row(operation: &dropin_order::Operation) -> OperationRow {
    let open = operation.state.is_open().then(|| {
        let due = show::instant_text(operation.due_at);
        format!("{} tries, next at {due}", operation.tries)
    });
    OperationRow {
        id: operation.id.to_string(),
        kind: show::words(operation.kind.as_str()),
        amount: show::money(&operation.amount),
        state: show::operation_badge(operation.state),
        created: show::instant(operation.created_at),
        open: open.unwrap_or_default(),
    }
}

fn refund_row(refund: &dropin_order::Refund) -> RefundRow {
    RefundRow {
        reference: refund.reference.clone(),
        amount: show::money(&refund.amount),
        state: show::refund_badge(refund.state),
        created: show::instant(refund.created_at),
        description: refund.description.clone().unwrap_or_default(),
    }
}

/// History, operations and notifications in the order of time.
async fn timeline(
    request: &PanelRequest,
    trail: &OrderAuditTrail,
    session: Option<&Session>,
) -> Result<Vec<Happening>, Refusal> {
    let order = &trail.records.order;
    let mut all = Vec::new();
    if let Some(session) = session {
        let mut created = Happening::new(session.created_at, "", "Session created", "");
        created.link = Some(format!("/sessions/{}", session.id));
        all.push(created);
    }
    for step in &trail.history {
        let state = match step.before.as_deref().filter(|before| !before.is_empty() && *before != step.after) {
            Some(before) => format!("{} → {}", show::words(before), show::words(&step.after)),
            None => show::words(&step.after),
        };
        let kind = match step.after.as_str() {
            "PROCESSED" => "good",
            "PROCESSING_FAILED" | "DECLINED" => "bad",
            _ => "",
        };
        let what = if step.what == "START" { "Payment begun".to_owned() } else { show::words(&step.what) };
        all.push(Happening::new(step.at, kind, what, format!("{state}, by {}", show::actor(&step.actor))));
    }
    for placed in &trail.records.operations {
        let operation = &placed.operation;
        let kind = match operation.state {
            OpState::Approved => "good",
            OpState::Declined | OpState::Abandoned => "bad",
            _ => "wait",
        };
        let title = format!("{} asked of the processor", show::words(operation.kind.as_str()));
        let detail =
            format!("{}, {}", show::money(&operation.amount), show::words(operation.state.as_str()).to_lowercase());
        all.push(Happening::new(operation.created_at, kind, title, detail));
    }
    if request.may(PanelAction::ViewNotifications, order.merchant_id) {
        let filter = NotificationFilter {
            payment: Some(order.payment_id()),
            merchant: Some(order.merchant_id),
            ..NotificationFilter::default()
        };
        let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 100 };
        for one in request.deps.notifications.list(query).await?.notifications {
            let states: Vec<_> =
                one.statuses.iter().map(|status| show::words(status.state.as_str()).to_lowercase()).collect();
            let is_parked = one.statuses.iter().any(|status| status.state == dropin_ports::DeliveryState::Parked);
            let detail = if states.is_empty() { "told to no endpoint".to_owned() } else { states.join(", ") };
            let kind = if is_parked { "bad" } else { "" };
            let mut happening =
                Happening::new(one.happened_at, kind, format!("Notification {}", one.event_type), detail);
            happening.link = Some(format!("/notifications/{}", one.event_id));
            all.push(happening);
        }
    }
    all.sort_by_key(|one| one.at);
    Ok(all)
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
    let can_capture = matches!(
        order.plan_capture(None, now),
        Ok(dropin_order::CapturePlan::Ask { .. } | dropin_order::CapturePlan::UnderReview(_))
    );
    let can_cancel = matches!(order.plan_cancel(now), Ok(dropin_order::VoidPlan::Ask(_)));
    Acts {
        refund: form(may(PanelAction::RefundOrder) && order.shown && !refundable.is_zero(), Some(refundable)),
        capture: form(may(PanelAction::CaptureOrder) && order.shown && can_capture, Some(order.amounts.capturable())),
        cancel: form(may(PanelAction::CancelOrder) && order.shown && can_cancel, None),
        review: form(may(PanelAction::ReviewOrder) && order.under_review, None),
    }
}

/// The page again, with the form as it was typed and what is wrong with it.
async fn again(request: &PanelRequest, wrap: fn(ActForm) -> Form, wrong: Vec<String>) -> Answer {
    let form = ActForm {
        amount: request.fields.text("amount").to_owned(),
        note: request.fields.text("note").to_owned(),
        wrong,
    };
    let (trail, session) = load(request).await?;
    let page = page_of(request, trail, session, wrap(form)).await?;
    Ok(request.rejected(&page))
}

/// The amount of a form in the Order's currency; `None` when it is left empty.
fn typed_amount(fields: &Fields, currency: Currency) -> Result<Option<Amount>, String> {
    let Some(text) = fields.given("amount") else { return Ok(None) };
    let number = Decimal::parse(&text.replace(',', ""))
        .map_err(|_no_number| format!("{text} is no amount; write it as 29.90."))?;
    let amount = Amount::from_decimal(currency, &number).map_err(|error| format!("{text} {currency}: {error}."))?;
    if amount.minor() <= 0 { Err("The amount must be above zero.".to_owned()) } else { Ok(Some(amount)) }
}

/// Refunds a part or all. The form names the request, so that one that is sent twice is one refund.
pub(crate) async fn refund(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    let key = request.fields.text("key").parse::<MoneyRequestId>();
    let key = key.map_err(|_no_id| Refusal::Invalid("The form is damaged: load the page again.".to_owned()))?;
    let mut wrong: Vec<String> = required_note(&request.fields).err().into_iter().collect();
    let amount =
        typed_amount(&request.fields, order.total.currency()).map_err(|why| wrong.push(why)).unwrap_or_default();
    if !wrong.is_empty() {
        return again(&request, Form::Refund, wrong).await;
    }
    let amount = amount.unwrap_or_else(|| order.amounts.refundable());
    let wish = RefundWish {
        id: key,
        merchant: order.merchant_id,
        order: order.id,
        amount,
        note: request.fields.text("note").to_owned(),
    };
    let granted = match request.deps.operators.request_refund(&request.operator, &wish).await {
        Ok(asked) => asked,
        Err(MoneyError::Store(error)) => return Err(error.into()),
        Err(error) => return again(&request, Form::Refund, vec![sentence(&error)]).await,
    };
    let path = format!("/orders/{}", order.id);
    match granted.state {
        MoneyRequestState::Waiting => Ok(see(format!("{path}?done=refund-waits"))),
        _ => match make_refund(&request, order.merchant_id, order.id, key, &granted.amount).await {
            Ok(done) => Ok(see(format!("{path}?done={done}"))),
            Err(RefundFailed::Refused(why)) => again(&request, Form::Refund, vec![why]).await,
            Err(RefundFailed::Other(refusal)) => Err(refusal),
        },
    }
}

/// Why a refund that may be made is not.
pub(crate) enum RefundFailed {
    /// Surely not, and why.
    Refused(String),
    /// Something else.
    Other(Refusal),
}

/// Makes a refund that was granted; what came of it, as a code of a notice. One that was surely refused does not count against any limit.
pub(crate) async fn make_refund(
    request: &PanelRequest,
    merchant: MerchantId,
    order: OrderId,
    id: MoneyRequestId,
    amount: &Amount,
) -> Result<&'static str, RefundFailed> {
    let deps = &request.deps;
    let ask = RefundAsk { reference: id.to_string(), amount: Some(amount.to_decimal()), description: None };
    let (payments, act) = (deps.payments.clone(), merchant_act(request, merchant));
    let flow = async move { payments.refund(&act, order, &ask, None).await };
    let outcome = deps.flows.run(flow).await.map_err(|error| RefundFailed::Other(error.into()))?;
    match outcome {
        Ok(_) => {}
        Err(RefundError::Store(error)) => return Err(RefundFailed::Other(error.into())),
        Err(refused) => {
            let released = deps.operators.release_money(&request.operator, id).await;
            if let Err(error) = released {
                log::warn!("a refund that was refused still counts against limits: {error}");
            }
            return Err(RefundFailed::Refused(sentence(&refused)));
        }
    }
    let made = deps.payments.store.find_refund_by_reference(order, &id.to_string()).await;
    Ok(match made.map_err(|error| RefundFailed::Other(error.into()))?.map(|refund| refund.state) {
        Some(RefundState::Succeeded) => "refunded",
        Some(RefundState::Failed) => "refund-failed",
        Some(RefundState::InProgress) | None => "refund-pending",
    })
}

/// An error as a sentence.
pub(crate) fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// Refuses a form of a page that shows the Order as it was before another change.
fn fresh(request: &PanelRequest, order: &Order) -> Result<(), Refusal> {
    if request.fields.text("revision") == order.revision.number().to_string() {
        return Ok(());
    }
    Err(Refusal::Changed(
        "The Order changed after the page was loaded, perhaps by this very form. This request did nothing. Look at the Order as it stands now.".to_owned(),
    ))
}

/// Captures a part or all.
pub(crate) async fn capture(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    fresh(&request, order)?;
    let mut wrong: Vec<String> = required_note(&request.fields).err().into_iter().collect();
    let amount =
        typed_amount(&request.fields, order.total.currency()).map_err(|why| wrong.push(why)).unwrap_or_default();
    if !wrong.is_empty() {
        return again(&request, Form::Capture, wrong).await;
    }
    let (payments, act, id) = (request.deps.payments.clone(), merchant_act(&request, order.merchant_id), order.id);
    let number = amount.map(|amount| amount.to_decimal());
    let flow = async move { payments.capture(&act, id, number.as_ref(), Channel::Order, None).await };
    match request.deps.flows.run(flow).await? {
        Ok(_) => {}
        Err(CaptureError::Store(error)) => return Err(error.into()),
        Err(CaptureError::Amount(violation)) => {
            return again(&request, Form::Capture, vec![format!("The amount {}.", violation.message)]).await;
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
    fresh(&request, order)?;
    if let Err(why) = required_note(&request.fields) {
        return again(&request, Form::Cancel, vec![why]).await;
    }
    let (payments, act, id) = (request.deps.payments.clone(), merchant_act(&request, order.merchant_id), order.id);
    let flow = async move { payments.cancel(&act, id, Channel::Order, None).await };
    match request.deps.flows.run(flow).await? {
        Ok(_) => {}
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

/// The Order of a review's form, fresh; and how its page comes back.
pub(crate) async fn reviewed(request: &PanelRequest) -> Result<OrderId, Refusal> {
    let (trail, _) = load(request).await?;
    fresh(request, &trail.records.order)?;
    Ok(trail.records.order.id)
}

/// The Order's page again, because the decision was not accepted.
pub(crate) async fn review_again(request: &PanelRequest, why: String) -> Answer {
    again(request, Form::Review, vec![why]).await
}
