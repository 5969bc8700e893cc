//! The shopper's calls. They are same-origin with the card frame, so there is no CORS; every client that knows the SessionId may make them.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, PathId, PathIds, SmallJsonBody, json};
use dropin_kernel::{ContractId, SessionId, Violation, ViolationCode};
use dropin_session::SessionStateKind;
use dropin_usecases::payments::{AttemptFailure, Progress, ShopperError, ShopperView, Submit, SubmitError};
use dropin_wire::RequestError;
use dropin_wire::shopper::{
    FailedAttemptSource, PayAnotherWayRequest, ProgressBody, ShopperViewBody, SubmitRequest, ViewSource,
};

use crate::{CheckoutDeps, finish_later};

/// Largest submit: nine members, none of them longer than 255 characters.
const MAX_SUBMIT_BYTES: usize = 4 * 1024;
/// Longest wait of one progress call; below the idle limit of common proxies.
const MAX_PROGRESS_WAIT: Duration = Duration::from_secs(25);

pub(crate) async fn view(deps: web::Data<CheckoutDeps>, id: PathId<SessionId>) -> Result<HttpResponse, ApiError> {
    let view = deps.shopper.view(id.0).await?;
    Ok(no_store(json(StatusCode::OK, &view_body(&deps, &view))))
}

pub(crate) fn view_body<'a>(deps: &'a CheckoutDeps, view: &'a ShopperView) -> ShopperViewBody<'a> {
    ShopperViewBody::new(&ViewSource {
        session: &view.session,
        merchant_name: &view.merchant.name,
        origins: &view.origins,
        methods: &view.methods,
        token_methods: &view.token_methods,
        opens_contract: view.opens_contract,
        allows_contract: view.allows_contract,
        saved_cards: &view.saved_cards,
        asked_postcode: view.asked_postcode,
        stash_url: &deps.stash_url,
        sandbox: deps.shopper.sandbox,
        failed_attempt: view.failed_attempt.map(failed_attempt),
        now: view.now,
    })
}

pub(crate) async fn submit(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    SmallJsonBody(body): SmallJsonBody<MAX_SUBMIT_BYTES>,
) -> Result<HttpResponse, ApiError> {
    let catalogue = deps.shopper.payments.catalogue.clone();
    let read = move || {
        let SubmitRequest { version, attempt, means, fingerprint, consent, postcode } =
            SubmitRequest::parse(&body, &catalogue)?;
        Ok(Submit { version, attempt, means, fingerprint, consent, postcode })
    };
    let (shopper, flows) = (deps.shopper.clone(), deps.flows.clone());
    let progress = deps
        .flows
        .run(async move {
            let submitted = shopper.submit_read(id.0, read).await?;
            if let Some(next) = submitted.follow_up {
                finish_later(&flows, shopper.payments.clone(), next);
            }
            Ok::<_, SubmitError>(submitted.progress)
        })
        .await??;
    Ok(progress_response(&progress))
}

pub(crate) async fn remove_card(
    deps: web::Data<CheckoutDeps>,
    PathIds(session, contract): PathIds<SessionId, ContractId>,
) -> Result<HttpResponse, ApiError> {
    deps.shopper.remove_card(session, contract).await?;
    Ok(no_store(HttpResponse::NoContent().finish()))
}

pub(crate) async fn pay_another_way(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    SmallJsonBody(body): SmallJsonBody<MAX_SUBMIT_BYTES>,
) -> Result<HttpResponse, ApiError> {
    let PayAnotherWayRequest { attempt } = PayAnotherWayRequest::parse(&body).map_err(ApiError::from)?;
    let (shopper, flows) = (deps.shopper.clone(), deps.flows.clone());
    let progress = deps
        .flows
        .run(async move {
            let done = shopper.pay_another_way(id.0, attempt).await?;
            if let Some(next) = done.follow_up {
                finish_later(&flows, shopper.payments.clone(), next);
            }
            Ok::<_, ShopperError>(done.progress)
        })
        .await??;
    Ok(progress_response(&progress))
}

fn failed_attempt(failure: AttemptFailure) -> FailedAttemptSource {
    let AttemptFailure { attempt, code, attempts_left } = failure;
    FailedAttemptSource { attempt, code, attempts_left }
}

fn progress_response(progress: &Progress) -> HttpResponse {
    let mut body = ProgressBody::new(progress.state, progress.error_code).checking(progress.checking);
    if let Some(failure) = progress.failed_attempt {
        body = body.with_failed_attempt(failed_attempt(failure));
    }
    if let Some(order) = &progress.order {
        body = body.with_order(order.id, order.state, &order.payment_method);
    }
    if let Some(page) = &progress.page {
        body = body.with_page(&page.url, page.challenge, page.attempt);
    }
    if let Some(details) = &progress.bank_details {
        body = body.with_bank_details(details);
    }
    no_store(json(StatusCode::OK, &body))
}

#[derive(serde::Deserialize)]
pub(crate) struct Wait {
    #[serde(default)]
    wait: u32,
    from: Option<String>,
}

impl Wait {
    /// The state to leave: PROCESSING unless another is named.
    fn from(&self) -> Result<SessionStateKind, RequestError> {
        let Some(name) = &self.from else { return Ok(SessionStateKind::Processing) };
        let found = name.parse::<SessionStateKind>().ok();
        let why = "must be a state of a Session, such as REDIRECTED";
        Ok(found.ok_or_else(|| Violation::new("from", ViolationCode::NotAllowed, why))?)
    }
}

pub(crate) async fn progress(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    query: web::Query<Wait>,
) -> Result<HttpResponse, ApiError> {
    let wait = Duration::from_secs(query.wait.into()).min(MAX_PROGRESS_WAIT);
    let from = query.from()?;
    let mut stop = deps.stop.clone();
    let progress = tokio::select! {
        progress = deps.shopper.progress(id.0, from, wait) => progress?,
        _stopping = stop.wait_for(|stopping| *stopping) => deps.shopper.progress(id.0, from, Duration::ZERO).await?,
    };
    Ok(progress_response(&progress))
}

/// What a shopper sees is never kept by a cache.
pub(crate) fn no_store(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
