//! A merchant's events, made to happen in a sandbox.

use std::time::Duration;

use actix_web::web;
use askama::Template;
use dropin_access::Merchant;
use dropin_access::operator::PanelAction;
use dropin_kernel::MerchantId;
use dropin_trigger::{SCENARIOS, TriggerScenario, TriggeredPayment};

use super::{load, merchants};
use crate::event_runs::{EventFailure, EventRun, EventRuns};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::sandbox::SandboxServices;
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

/// How long the page waits for an event; what takes longer is looked at again.
const WAIT: Duration = Duration::from_secs(8);

/// Something to look at: its name and where it is.
struct Link {
    name: String,
    path: String,
}

struct RunRow {
    event: &'static str,
    state: Html,
    began: Html,
    by: String,
    links: Vec<Link>,
    why: String,
}

struct ScenarioRow {
    event: &'static str,
    does: String,
}

#[derive(Template)]
#[template(path = "merchant_events.html")]
struct EventsPage {
    shell: Shell,
    id: String,
    merchant: String,
    runs: Vec<RunRow>,
    is_running: bool,
    scenarios: Vec<ScenarioRow>,
}

/// Whether events of this merchant can be made to happen here, by this operator.
pub(super) fn may_trigger(request: &PanelRequest, merchant: &Merchant) -> bool {
    services(request, merchant).is_some() && request.may(PanelAction::TriggerEvents, merchant.id)
}

/// In a sandbox, for a merchant of a sandbox.
fn services<'a>(request: &'a PanelRequest, merchant: &Merchant) -> Option<&'a SandboxServices> {
    let services = request.deps.sandbox_services.as_ref();
    services.filter(|_| request.deps.sandbox && merchant.sandbox)
}

fn runs(request: &PanelRequest) -> Result<&EventRuns, Refusal> {
    let runs = request.http.app_data::<web::Data<EventRuns>>();
    runs.map(|runs| &***runs).ok_or_else(|| Refusal::Internal("runs of events are not mounted".to_owned()))
}

/// Every event, with a button for each; and what came of the last ones.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let merchant = load(&request).await?.merchant;
    services(&request, &merchant).ok_or(Refusal::NotFound("page"))?;
    let last = runs(&request)?.of(merchant.id);
    let page = EventsPage {
        shell: request.shell(texts().make_events_happen),
        id: merchant.id.to_string(),
        merchant: merchant.name.clone(),
        is_running: last.first().is_some_and(|run| run.outcome.is_none()),
        runs: last.iter().map(|run| run_row(run, merchant.id)).collect(),
        scenarios: SCENARIOS
            .iter()
            .map(|one| ScenarioRow { event: one.event, does: sentence(&texts().part(one.event)) })
            .collect(),
    };
    Ok(request.page(&page))
}

fn run_row(run: &EventRun, merchant: MerchantId) -> RunRow {
    let t = texts();
    let (state, links, why) = match &run.outcome {
        None => (show::badge("wait", t.running), Vec::new(), String::new()),
        Some(Ok(happened)) => {
            let link = |name: &str, path: String| Link { name: name.to_owned(), path };
            let mut links = match &happened.payment {
                TriggeredPayment::Session { session, order, .. } => {
                    let order = order.map(|order| link(t.order, format!("/orders/{order}")));
                    order.into_iter().chain([link(t.session, format!("/sessions/{session}"))]).collect()
                }
                TriggeredPayment::Contract(contract) => {
                    vec![link(t.contract, format!("/contracts/{contract}?merchant={merchant}"))]
                }
                TriggeredPayment::Merchant(merchant) => {
                    vec![link(t.screening, format!("/merchants/{merchant}/screening"))]
                }
            };
            links.push(link(t.notification, format!("/notifications/{}", happened.notification)));
            (show::badge("good", t.happened), links, String::new())
        }
        Some(Err(failure)) => {
            let why = match failure {
                EventFailure::BrokeOff => t.event_broke_off.to_owned(),
                EventFailure::Failed(why) => t.domain(why),
            };
            (show::badge("bad", t.failed), Vec::new(), why)
        }
    };
    RunRow { event: run.event, state, began: show::instant(run.began), by: run.by.clone(), links, why }
}

/// Makes one happen.
pub(crate) async fn make_happen(request: PanelRequest) -> Answer {
    let merchant = load(&request).await?.merchant;
    let services = services(&request, &merchant).ok_or(Refusal::NotFound("page"))?.clone();
    let scenario = TriggerScenario::of(request.fields.text("event"))
        .ok_or_else(|| Refusal::Invalid(texts().choose_an_event.to_owned()))?;
    let (deps, merchants, by, id) = (request.deps.clone(), merchants(&request), request.actor(), merchant.id);
    let reviewer = by.clone();
    let run = async move {
        let happened = services.make_happen(&deps, &merchants, reviewer, id, scenario).await;
        happened.map_err(EventFailure::Failed)
    };
    let Some(run) = runs(&request)?.start(id, scenario.event, by, &*request.deps.clock, run) else {
        return Ok(see(format!("/merchants/{id}/events?done=happens-already")));
    };
    // Its page says whether it goes on.
    drop(actix_web::rt::time::timeout(WAIT, run).await);
    Ok(see(format!("/merchants/{id}/events")))
}
