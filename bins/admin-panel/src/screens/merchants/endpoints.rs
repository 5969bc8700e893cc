//! A merchant's endpoints: where it is told of changes, of which, when it is tried again, and a test.

use askama::Template;
use dropin_access::operator::PanelAction;
use dropin_access::{Endpoint, EndpointSettings};
use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::{AttemptOutcome, EventFilter, Schedule};
use dropin_ports::{EndpointStatus, Sent};
use dropin_usecases::access::{AccountError, EndpointUpdate, MerchantAccount};

use super::{again, in_words, load, merchants, overlap, page_of, refusal};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::screens::secret;
use crate::show::{self, Html};
use crate::texts::texts;

/// An endpoint and how it stands.
pub(super) struct EndpointRow {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) events: String,
    pub(super) retry: String,
    pub(super) waiting: String,
    pub(super) parked: String,
    pub(super) last: Html,
    pub(super) retiring: Option<Html>,
}

impl EndpointRow {
    pub(super) fn new(endpoint: &Endpoint, status: Option<&EndpointStatus>, now: Timestamp) -> Self {
        let t = texts();
        let last = status.and_then(|status| status.last_attempt.as_ref()).map(|last| match (last.status, &last.why) {
            (Some(200), _) => show::badge("good", t.endpoint_answers),
            (Some(status), _) => show::badge("bad", &t.answered(status)),
            (None, why) => {
                show::badge("bad", &why.as_deref().map_or_else(|| t.endpoint_silent.to_owned(), |why| t.domain(why)))
            }
        });
        Self {
            id: endpoint.id.to_string(),
            url: endpoint.url.clone(),
            events: endpoint.settings.events.as_ref().map_or_else(|| t.all_of_them.to_owned(), ToString::to_string),
            waiting: status.map(|status| status.waiting.to_string()).unwrap_or_default(),
            parked: status.map(|status| status.parked.to_string()).unwrap_or_default(),
            last: last.unwrap_or_else(|| show::badge("", t.endpoint_quiet)),
            retry: endpoint
                .settings
                .retry
                .as_ref()
                .map_or_else(|| t.retry_as_everywhere.to_owned(), ToString::to_string),
            retiring: endpoint.previous.as_ref().filter(|old| now < old.until).map(|old| show::instant(old.until)),
        }
    }
}

/// The endpoint of the address, which is the merchant's.
fn endpoint(request: &PanelRequest, account: &MerchantAccount) -> Result<EndpointId, Refusal> {
    let id = request.segment("endpoint", "endpoint")?;
    let is_own = account.endpoints.iter().any(|endpoint| endpoint.id == id);
    if is_own { Ok(id) } else { Err(Refusal::NotFound("endpoint")) }
}

/// What came of a test.
struct TestResult {
    came: Html,
    took: String,
    answer: String,
}

#[derive(Template)]
#[template(path = "endpoint.html")]
struct EndpointPage {
    shell: Shell,
    merchant_id: String,
    merchant: String,
    row: EndpointRow,
    /// What the form shows.
    url: String,
    events: String,
    retry: String,
    may_change: bool,
    may_test: bool,
    test: Option<TestResult>,
    wrong: Vec<String>,
}

async fn endpoint_page(
    request: &PanelRequest,
    account: &MerchantAccount,
    id: EndpointId,
    test: Option<TestResult>,
    wrong: Vec<String>,
) -> Result<EndpointPage, Refusal> {
    let merchant = &account.merchant;
    let endpoint = account.endpoints.iter().find(|one| one.id == id).ok_or(Refusal::NotFound("endpoint"))?;
    let statuses = request.deps.backlog.endpoint_statuses(merchant.id).await?;
    let status = statuses.iter().find(|status| status.endpoint_id == id);
    let EndpointSettings { events, retry } = &endpoint.settings;
    let typed = |name: &str, kept: String| match wrong.is_empty() {
        true => kept,
        false => request.fields.text(name).to_owned(),
    };
    Ok(EndpointPage {
        shell: request.shell(texts().endpoint_of(&merchant.name)),
        merchant_id: merchant.id.to_string(),
        merchant: merchant.name.clone(),
        row: EndpointRow::new(endpoint, status, request.deps.clock.now()),
        url: typed("url", endpoint.url.clone()),
        events: typed("events", events.as_ref().map(ToString::to_string).unwrap_or_default()),
        retry: typed("retry", retry.as_ref().map(ToString::to_string).unwrap_or_default()),
        may_change: request.may(PanelAction::ManageEndpoints, merchant.id),
        may_test: request.may(PanelAction::ReplayNotifications, merchant.id),
        test,
        wrong,
    })
}

/// One endpoint.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = endpoint(&request, &account)?;
    let page = endpoint_page(&request, &account, id, None, Vec::new()).await?;
    Ok(request.page(&page))
}

/// Changes its address, filter and schedule.
pub(crate) async fn set(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = endpoint(&request, &account)?;
    let before = account.endpoints.iter().find(|one| one.id == id).ok_or(Refusal::NotFound("endpoint"))?;
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let events: Option<EventFilter> = fields.given("events").and_then(|text| {
        text.to_ascii_uppercase().parse().map_err(|_no_filter| wrong.push(texts().write_events.to_owned())).ok()
    });
    let retry: Option<Schedule> = fields.given("retry").and_then(|text| {
        text.parse::<Schedule>()
            .map_err(|error| wrong.push(texts().wrong_schedule(text, texts().domain(&error.to_string()))))
            .ok()
    });
    if wrong.is_empty() {
        let url = fields.text("url").to_owned();
        let update = EndpointUpdate {
            url: Some(url).filter(|url| *url != before.url),
            events: Some(events).filter(|events| *events != before.settings.events),
            retry: Some(retry).filter(|retry| *retry != before.settings.retry),
        };
        match merchants(&request).set_endpoint(id, update).await {
            Ok(()) => {
                return Ok(see(format!("/merchants/{}/endpoints/{id}?done=saved", account.merchant.id)));
            }
            Err(AccountError::Invalid(violations)) => wrong = in_words(&violations),
            Err(error) => return Err(refusal(error)),
        }
    }
    let page = endpoint_page(&request, &account, id, None, wrong).await?;
    Ok(request.rejected(&page))
}

/// Sends a test, once, and shows what came of it. It is no event of a payment: it is kept nowhere and not tried again.
pub(crate) async fn test(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = endpoint(&request, &account)?;
    let (by, deps) = (merchants(&request), request.deps.clone().into_inner());
    let sent = request
        .deps
        .flows
        .run(async move {
            let began = std::time::Instant::now();
            let sent = by.send_test(id, &*deps.audit_log, &*deps.webhooks).await;
            sent.map(|sent| (sent, began.elapsed()))
        })
        .await?;
    let (Sent { outcome, answer }, took) = sent.map_err(refusal)?;
    let came = match outcome {
        AttemptOutcome::Answered { status: 200, .. } => show::badge("good", texts().test_answered_200),
        AttemptOutcome::Answered { status, .. } => show::badge("bad", &texts().answered_wrong(status)),
        AttemptOutcome::Failed { why } => show::badge("bad", &texts().domain(why.as_str())),
    };
    let test = TestResult { came, took: format!("{} ms", took.as_millis()), answer: show::bytes(&answer) };
    let page = endpoint_page(&request, &account, id, Some(test), Vec::new()).await?;
    Ok(request.page(&page))
}

/// Adds an endpoint, and shows its secret once.
pub(crate) async fn add(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let events = match request.fields.given("events").map(|text| text.to_ascii_uppercase().parse()).transpose() {
        Ok(events) => events,
        Err(_no_filter) => {
            let wrong = vec![texts().write_events.to_owned()];
            return Ok(request.rejected(&page_of(&request, &account, wrong).await?));
        }
    };
    let settings = EndpointSettings { events, retry: None };
    match merchants(&request).add_endpoint(account.merchant.id, request.fields.text("url"), settings).await {
        Ok(added) => {
            let secrets = vec![(texts().endpoint, added.url), (texts().webhook_secret, added.webhook_secret)];
            secret::page(
                &request,
                texts().endpoint_added,
                texts().hand_it_over,
                secrets,
                format!("/merchants/{}", account.merchant.id),
            )
        }
        Err(error) => again(&request, &account, error).await,
    }
}

/// Gives an endpoint a new secret, shown once.
pub(crate) async fn rotate_secret(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = endpoint(&request, &account)?;
    match merchants(&request).rotate_secret(id, overlap(&request)?).await {
        Ok(rotated) => {
            let secrets = vec![(texts().new_webhook_secret, rotated.webhook_secret)];
            secret::page(
                &request,
                texts().new_webhook_secret,
                texts().hand_it_over,
                secrets,
                format!("/merchants/{}", account.merchant.id),
            )
        }
        Err(error) => again(&request, &account, error).await,
    }
}

/// Removes an endpoint; what waits for it is parked.
pub(crate) async fn remove(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    merchants(&request).remove_endpoint(endpoint(&request, &account)?).await.map_err(refusal)?;
    Ok(see(format!("/merchants/{}?done=removed", account.merchant.id)))
}
