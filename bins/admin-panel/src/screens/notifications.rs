//! Notifications: what became of each, sending again, discarding.

use askama::Template;
use dropin_access::operator::PanelAction;
use dropin_kernel::{EndpointId, EventId, PaymentId};
use dropin_notification::EventFilter;
use dropin_ports::{DeliveryState, NotificationDetails, NotificationFilter, NotificationQuery};
use dropin_usecases::notifications::{
    DiscardError, DiscardOrder, DiscardWhich, ReplayError, ReplayOrder, ReplayOutcome, ReplayWhich,
};

use super::{Choice, MerchantNames, PAGE_ROWS, acting, merchant_choices, visible_merchants};
use crate::fields::Fields;
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

/// The fields of the list's filters.
pub(crate) const FILTERS: &[&str] = &["merchant", "state", "type", "payment", "after"];

/// Times that a list looks on before it shows a short page: one look goes through a bounded number of events.
const MAX_LOOKS: usize = 5;

struct NotificationRow {
    path: String,
    at: Html,
    event_type: String,
    merchant: String,
    sequence: i64,
    states: Vec<Html>,
}

#[derive(Template)]
#[template(path = "notifications.html")]
struct NotificationsPage {
    shell: Shell,
    merchants: Vec<Choice>,
    states: Vec<Choice>,
    event_type: String,
    payment: String,
    rows: Vec<NotificationRow>,
    wrong: Vec<String>,
    next: Option<String>,
    is_filtered: bool,
    replay_many: Option<String>,
    discard_many: Option<String>,
}

/// The types of events that a form names.
pub(super) fn types_of(fields: &Fields, wrong: &mut Vec<String>) -> Option<EventFilter> {
    let parsed = fields.given("type")?.to_ascii_uppercase().parse();
    parsed.map_err(|_no_filter| wrong.push(texts().write_types.to_owned())).ok()
}

/// The payment that a form names.
pub(super) fn payment_of(fields: &Fields, wrong: &mut Vec<String>) -> Option<PaymentId> {
    let text = fields.given("payment")?;
    text.parse().map_err(|_no_id| wrong.push(texts().no_payment_id(text))).ok()
}

/// The list, newest first.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let names = MerchantNames::of(&merchants);
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let state = fields.given("state").and_then(|code| {
        let known = DeliveryState::ALL.into_iter().find(|state| state.as_str() == code);
        if known.is_none() {
            wrong.push(texts().no_notification_state(code));
        }
        known
    });
    let (types, payment) = (types_of(fields, &mut wrong), payment_of(fields, &mut wrong));
    let after = fields.given("after").map(|_| fields.id::<EventId>("after", "page")).transpose()?;
    let chosen = request.chosen_merchants()?;
    let merchant = match chosen.as_deref() {
        Some([one]) => Some(*one),
        _ => None,
    };
    let filter = NotificationFilter { merchant, types, state, payment, ..NotificationFilter::default() };
    let mut query = NotificationQuery { filter, after, oldest_first: false, limit: PAGE_ROWS };
    let (mut rows, mut next) = (Vec::new(), None);
    for _ in 0..if wrong.is_empty() { MAX_LOOKS } else { 0 } {
        let page = request.deps.notifications.list(query.clone()).await?;
        let seen =
            page.notifications.into_iter().filter(|one| request.operator.operator.rights.scope.covers(one.merchant_id));
        rows.extend(seen);
        next = page.next;
        query.after = next;
        query.limit = PAGE_ROWS.saturating_sub(u32::try_from(rows.len()).unwrap_or(PAGE_ROWS));
        if next.is_none() || query.limit == 0 {
            break;
        }
    }
    let states = DeliveryState::ALL.into_iter();
    let many = |path: &str, action, without: &[&str]| {
        crate::guard::may(&request.operator, action).then(|| format!("{path}{}", fields.query(without, &[])))
    };
    let page = NotificationsPage {
        shell: request.shell(texts().notifications),
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        states: states
            .map(|state| Choice::new(state.as_str(), show::words(state.as_str()), fields.text("state")))
            .collect(),
        event_type: fields.text("type").to_owned(),
        payment: fields.text("payment").to_owned(),
        rows: rows
            .into_iter()
            .map(|one| NotificationRow {
                path: format!("/notifications/{}", one.event_id),
                at: show::instant(one.happened_at),
                event_type: one.event_type,
                merchant: names.name(one.merchant_id),
                sequence: one.sequence,
                states: one.statuses.iter().map(|status| show::delivery_badge(status.state)).collect(),
            })
            .collect(),
        wrong,
        next: next.map(|id| fields.next_page("/notifications", &id.to_string())),
        replay_many: many("/notifications/replay", PanelAction::ReplayNotifications, &["after", "state"]),
        discard_many: many("/notifications/discard", PanelAction::DiscardNotifications, &["after", "state"]),
        is_filtered: fields.is_narrowed(),
    };
    Ok(request.page(&page))
}

struct StatusRow {
    endpoint: String,
    url: String,
    removed: bool,
    state: Html,
    tries: u32,
    when: Html,
    may_replay: bool,
    may_discard: bool,
}

struct TryRow {
    at: Html,
    number: u32,
    endpoint: String,
    took: String,
    came: Html,
    answer: String,
}

#[derive(Template)]
#[template(path = "notification.html")]
struct NotificationPage {
    shell: Shell,
    id: String,
    event_type: String,
    merchant: String,
    at: Html,
    payment: String,
    sequence: i64,
    statuses: Vec<StatusRow>,
    tries: Vec<TryRow>,
    body: String,
    wrong: Option<String>,
}

async fn load(request: &PanelRequest) -> Result<NotificationDetails, Refusal> {
    let id: EventId = request.id("notification")?;
    let found = request.deps.notifications.show(id).await?.ok_or(Refusal::NotFound("notification"))?;
    request.own(found.notification.merchant_id, "notification")?;
    Ok(found)
}

/// One, with its tries and bytes.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let found = load(&request).await?;
    let page = page_of(&request, found, None).await?;
    Ok(request.page(&page))
}

async fn page_of(
    request: &PanelRequest,
    found: NotificationDetails,
    wrong: Option<String>,
) -> Result<NotificationPage, Refusal> {
    let one = &found.notification;
    let merchant = request.deps.access.find_merchant(one.merchant_id).await?;
    let endpoints = request.deps.access.list_endpoints(one.merchant_id).await?;
    let url = |id: EndpointId| {
        endpoints
            .iter()
            .find(|endpoint| endpoint.id == id)
            .map_or_else(|| id.to_string(), |endpoint| endpoint.url.clone())
    };
    let may = |action| request.may(action, one.merchant_id);
    let statuses = one.statuses.iter().map(|status| StatusRow {
        endpoint: status.endpoint_id.to_string(),
        url: url(status.endpoint_id),
        removed: status.removed,
        state: show::delivery_badge(status.state),
        tries: status.tries,
        when: show::instant_or_dash(status.delivered_at.or(status.parked_at).or(status.due_at)),
        may_replay: may(PanelAction::ReplayNotifications) && !status.removed,
        may_discard: may(PanelAction::DiscardNotifications) && status.state == DeliveryState::Parked,
    });
    let tries = found.tries.iter().map(|one| {
        let came = match (one.status, &one.why) {
            (Some(200), _) => show::badge("good", "200"),
            (Some(status), _) => show::badge("bad", &status.to_string()),
            (None, why) => show::badge(
                "bad",
                &why.as_deref().map_or_else(|| texts().no_answer.to_owned(), |why| texts().domain(why)),
            ),
        };
        TryRow {
            at: show::instant(one.started_at),
            number: one.attempt,
            endpoint: url(one.endpoint_id),
            took: format!("{} ms", one.took.as_millis()),
            came,
            answer: show::bytes(&one.answer),
        }
    });
    Ok(NotificationPage {
        shell: request.shell(texts().notification_titled(&one.event_type)),
        id: one.event_id.to_string(),
        event_type: one.event_type.clone(),
        merchant: merchant.map_or_else(|| one.merchant_id.to_string(), |merchant| merchant.name.clone()),
        at: show::instant(one.happened_at),
        payment: one.payment_id.to_string(),
        sequence: one.sequence,
        statuses: statuses.collect(),
        tries: tries.collect(),
        body: show::bytes(&found.body),
        wrong,
    })
}

/// Sends it again to an endpoint.
pub(crate) async fn replay(request: PanelRequest) -> Answer {
    let found = load(&request).await?;
    let event = found.notification.event_id;
    let endpoint = endpoint(&request)?;
    let which = ReplayWhich::One { event, endpoint: Some(endpoint) };
    let order =
        ReplayOrder { which, to: None, rate: None, by: request.actor(), dry_run: false, acting: acting(&request) };
    let wrong = match request.deps.notifications.replay(&order).await {
        Ok(outcome) => return Ok(see(format!("/notifications/{event}?done={}", outcome_code(&outcome)))),
        Err(ReplayError::Store { error, .. }) => return Err(error.into()),
        Err(error) => sentence(&error),
    };
    let page = page_of(&request, found, Some(wrong)).await?;
    Ok(request.rejected(&page))
}

fn outcome_code(outcome: &ReplayOutcome) -> &'static str {
    match (outcome.total(), outcome.hurried) {
        (0, 0) => "not-queued",
        (0, _) => "hurried",
        _ => "queued",
    }
}

/// Takes it off the list of what is parked.
pub(crate) async fn discard(request: PanelRequest) -> Answer {
    let found = load(&request).await?;
    let event = found.notification.event_id;
    let which = DiscardWhich::One { event, endpoint: Some(endpoint(&request)?) };
    let order = DiscardOrder { which, by: request.actor(), dry_run: false, acting: acting(&request) };
    match request.deps.notifications.discard(&order).await {
        Ok(0) => Ok(see(format!("/notifications/{event}?done=not-discarded"))),
        Ok(_) => Ok(see(format!("/notifications/{event}?done=discarded"))),
        Err(DiscardError::NotFound) => Err(Refusal::NotFound("notification")),
        Err(DiscardError::Store { error, .. }) => Err(error.into()),
    }
}

fn endpoint(request: &PanelRequest) -> Result<EndpointId, Refusal> {
    request.fields.id("endpoint", "endpoint")
}
