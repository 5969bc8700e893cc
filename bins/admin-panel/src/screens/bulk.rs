//! Sending many notifications again, or discarding many: first how many that would be, then the act.

use std::num::NonZeroU32;
use std::time::Duration;

use askama::Template;
use dropin_kernel::{EndpointId, MerchantId, Timestamp};
use dropin_ports::{DeliveryState, NotificationFilter};
use dropin_usecases::notifications::{
    DiscardError, DiscardOrder, DiscardWhich, Notifications, ReplayError, ReplayOrder, ReplayOutcome, ReplayWhich,
};

use super::notifications::{payment_of, types_of};
use super::{Choice, acting, day, merchant_choices, visible_merchants};
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show;
use crate::texts::{sentence, texts};

/// What says which ones, in the address of the estimate.
pub(crate) const REPLAY_CHOICE: &[&str] =
    &["merchant", "endpoint", "type", "state", "payment", "since", "until", "to", "rate"];
/// The same in the form that does it.
pub(crate) const REPLAY_FIELDS: &[&str] =
    &["csrf", "merchant", "endpoint", "type", "state", "payment", "since", "until", "to", "rate", "before", "note"];
/// What says which are discarded.
pub(crate) const DISCARD_CHOICE: &[&str] = &["merchant", "endpoint", "type", "payment", "since", "until"];
/// The same in the form that does it.
pub(crate) const DISCARD_FIELDS: &[&str] =
    &["csrf", "merchant", "endpoint", "type", "payment", "since", "until", "before", "note"];

/// How long counting may take.
const ESTIMATE_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a page waits for the act, which goes on after that.
const ACT_TIMEOUT: Duration = Duration::from_secs(15);
/// How many are due in a second at one endpoint unless something else is typed.
const RATE: &str = "50";
/// Most of them.
const MAX_RATE: u32 = 10_000;
/// What can be sent again.
const STATES: [DeliveryState; 3] = [DeliveryState::Parked, DeliveryState::Delivered, DeliveryState::Discarded];

#[derive(Template)]
#[template(path = "notifications_bulk.html")]
struct BulkPage {
    shell: Shell,
    path: &'static str,
    is_replay: bool,
    merchants: Vec<Choice>,
    endpoints: Vec<Choice>,
    heirs: Vec<Choice>,
    states: Vec<Choice>,
    event_type: String,
    payment: String,
    since: String,
    until: String,
    rate: String,
    note: String,
    /// What the form of the act carries on.
    carried: Vec<(String, String)>,
    /// What would come of it, or came.
    counts: Option<Vec<String>>,
    total: u64,
    is_done: bool,
    goes_on: bool,
    too_many: bool,
    wrong: Vec<String>,
}

/// Which ones, as far as it is said well.
struct Wanted {
    filter: NotificationFilter,
    state: DeliveryState,
    to: Option<EndpointId>,
    rate: Option<NonZeroU32>,
    /// When they were counted: what happened later is none of them, however long the act takes.
    before: Timestamp,
}

impl Wanted {
    fn replay(&self, request: &PanelRequest, dry_run: bool) -> ReplayOrder {
        ReplayOrder {
            which: ReplayWhich::All { state: self.state, filter: self.filter.clone() },
            to: self.to,
            rate: self.rate,
            by: request.actor(),
            acting: acting(request),
            dry_run,
        }
    }

    fn discard(&self, request: &PanelRequest, dry_run: bool) -> DiscardOrder {
        let which = DiscardWhich::All(self.filter.clone());
        DiscardOrder { which, by: request.actor(), acting: acting(request), dry_run }
    }
}

/// What is asked for; `None` until a merchant is chosen. Its endpoints are the choices of the form.
async fn wanted(
    request: &PanelRequest,
    wrong: &mut Vec<String>,
) -> Result<(Option<Wanted>, Vec<(EndpointId, String)>), Refusal> {
    let fields = &request.fields;
    if fields.given("merchant").is_none() {
        return Ok((None, Vec::new()));
    }
    let merchant: MerchantId = fields.id("merchant", "merchant")?;
    request.own(merchant, "merchant")?;
    let endpoints = request.deps.access.list_endpoints(merchant).await?;
    let endpoints: Vec<_> = endpoints.into_iter().map(|endpoint| (endpoint.id, endpoint.url)).collect();
    let mut endpoint = |name: &str| {
        let typed = fields.given(name)?;
        let known = endpoints.iter().map(|(id, _)| *id).find(|id| id.to_string() == typed);
        if known.is_none() {
            wrong.push(texts().no_endpoint_of_merchant(typed));
        }
        known
    };
    let (at, to) = (endpoint("endpoint"), endpoint("to"));
    let (types, payment) = (types_of(fields, wrong), payment_of(fields, wrong));
    let since = day(fields, "since", 0).map_err(|why| wrong.push(why)).unwrap_or_default();
    let until = day(fields, "until", 1).map_err(|why| wrong.push(why)).unwrap_or_default();
    let before = match fields.given("before") {
        None => request.deps.clock.now(),
        Some(text) => text.parse().map_err(|_no_instant| Refusal::Invalid(texts().form_damaged.to_owned()))?,
    };
    let until = Some(until.map_or(before, |until: Timestamp| until.min(before)));
    let state = match fields.given("state") {
        None => DeliveryState::Parked,
        Some(code) => STATES.into_iter().find(|state| state.as_str() == code).unwrap_or_else(|| {
            wrong.push(texts().replay_states.to_owned());
            DeliveryState::Parked
        }),
    };
    let rate = fields.given("rate").unwrap_or(RATE).parse().ok().filter(|rate: &NonZeroU32| rate.get() <= MAX_RATE);
    if rate.is_none() {
        wrong.push(texts().rate_range(MAX_RATE));
    }
    let filter =
        NotificationFilter { merchant: Some(merchant), endpoint: at, types, state: None, since, until, payment };
    Ok((Some(Wanted { filter, state, to, rate, before }), endpoints))
}

async fn page_of(
    request: &PanelRequest,
    is_replay: bool,
    endpoints: &[(EndpointId, String)],
    wrong: Vec<String>,
) -> Result<BulkPage, Refusal> {
    let fields = &request.fields;
    let text = |name: &str| fields.text(name).to_owned();
    let merchants = visible_merchants(request).await?;
    let choices = |name: &str| {
        let rows = endpoints.iter().map(|(id, url)| Choice::new(id.to_string(), url.clone(), fields.text(name)));
        rows.collect::<Vec<_>>()
    };
    let known = if is_replay { REPLAY_CHOICE } else { DISCARD_CHOICE };
    let carried =
        fields.pairs().iter().filter(|(name, value)| known.contains(&name.as_str()) && !value.trim().is_empty());
    let state = fields.given("state").unwrap_or(DeliveryState::Parked.as_str());
    Ok(BulkPage {
        shell: request.shell(if is_replay { texts().replay_title } else { texts().discard_title }),
        path: if is_replay { "/notifications/replay" } else { "/notifications/discard" },
        is_replay,
        merchants: merchant_choices(&merchants, fields.text("merchant")),
        endpoints: choices("endpoint"),
        heirs: choices("to"),
        states: STATES.map(|one| Choice::new(one.as_str(), show::words(one.as_str()), state)).into(),
        event_type: text("type"),
        payment: text("payment"),
        since: text("since"),
        until: text("until"),
        rate: fields.given("rate").unwrap_or(RATE).to_owned(),
        note: text("note"),
        carried: carried.cloned().collect(),
        counts: None,
        total: 0,
        is_done: false,
        goes_on: false,
        too_many: false,
        wrong,
    })
}

/// What a count is of, in the order of the page.
fn counts(outcome: &ReplayOutcome) -> Vec<String> {
    let t = texts();
    let all = [
        (outcome.total(), t.sent_again(outcome.total())),
        (outcome.hurried, t.hurried(outcome.hurried)),
        (outcome.waiting, t.waiting(outcome.waiting)),
        (outcome.changed, t.changed_by_now(outcome.changed)),
        (outcome.unwanted, t.unwanted(outcome.unwanted)),
        (outcome.stranded, t.stranded(outcome.stranded)),
    ];
    let told = all.into_iter().enumerate().filter(|(place, (count, _))| *place == 0 || 0 < *count);
    told.map(|(_, (_, text))| text).collect()
}

/// How many would be sent again.
pub(crate) async fn estimate_replay(request: PanelRequest) -> Answer {
    many(request, true, false).await
}

/// Sends them.
pub(crate) async fn replay(request: PanelRequest) -> Answer {
    many(request, true, true).await
}

/// How many would be discarded.
pub(crate) async fn estimate_discard(request: PanelRequest) -> Answer {
    many(request, false, false).await
}

/// Discards them.
pub(crate) async fn discard(request: PanelRequest) -> Answer {
    many(request, false, true).await
}

async fn many(request: PanelRequest, is_replay: bool, is_act: bool) -> Answer {
    let mut wrong = Vec::new();
    let (wanted, endpoints) = wanted(&request, &mut wrong).await?;
    if is_act && wanted.is_none() {
        return Err(Refusal::NotFound("merchant"));
    }
    let is_wrong = !wrong.is_empty();
    let mut page = page_of(&request, is_replay, &endpoints, wrong).await?;
    let Some(wanted) = wanted.filter(|_| !is_wrong) else {
        return Ok(if is_wrong { request.rejected(&page) } else { request.page(&page) });
    };
    page.carried.push(("before".to_owned(), wanted.before.to_string()));
    let notifications = request.deps.notifications.clone();
    let counting = if is_replay {
        count_replay(&request, notifications, wanted.replay(&request, !is_act)).await?
    } else {
        count_discard(&request, notifications, wanted.discard(&request, !is_act)).await?
    };
    match counting {
        Some((counts, total)) => {
            (page.counts, page.total, page.is_done) = (Some(counts), total, is_act);
        }
        None => (page.goes_on, page.too_many) = (is_act, !is_act),
    }
    Ok(request.page(&page))
}

/// What came, or would come, of it; `None` when that took too long.
type Counted = Option<(Vec<String>, u64)>;

async fn count_replay(
    request: &PanelRequest,
    notifications: Notifications,
    order: ReplayOrder,
) -> Result<Counted, Refusal> {
    let outcome = in_time(request, order.dry_run, async move { notifications.replay(&order).await }).await?;
    match outcome {
        None => Ok(None),
        Some(Ok(outcome)) => Ok(Some((counts(&outcome), outcome.total() + outcome.hurried))),
        Some(Err(ReplayError::Store { error, .. })) => Err(error.into()),
        Some(Err(error)) => Err(Refusal::Invalid(sentence(&error))),
    }
}

async fn count_discard(
    request: &PanelRequest,
    notifications: Notifications,
    order: DiscardOrder,
) -> Result<Counted, Refusal> {
    let outcome = in_time(request, order.dry_run, async move { notifications.discard(&order).await }).await?;
    match outcome {
        None => Ok(None),
        Some(Ok(count)) => Ok(Some((vec![texts().discarded(count)], count))),
        Some(Err(DiscardError::Store { error, .. })) => Err(error.into()),
        Some(Err(error)) => Err(Refusal::Invalid(sentence(&error))),
    }
}

/// Waits for it as long as a page may. An estimate ends then; an act goes on, and the log and the audit log say what came of it.
async fn in_time<T: Send + 'static>(
    request: &PanelRequest,
    is_estimate: bool,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<Option<T>, Refusal> {
    if is_estimate {
        return Ok(tokio::time::timeout(ESTIMATE_TIMEOUT, work).await.ok());
    }
    match tokio::time::timeout(ACT_TIMEOUT, request.deps.flows.run(work)).await {
        Ok(outcome) => Ok(Some(outcome?)),
        Err(_goes_on) => Ok(None),
    }
}
