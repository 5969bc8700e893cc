//! The shopper's calls. They are same-origin with the card frame, so there is no CORS; whoever knows the SessionId may make them.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, JsonBody, PathId, json};
use dropin_kernel::{SessionId, Violation, ViolationCode};
use dropin_session::SessionStateKind;
use dropin_usecases::payments::{Progress, Submit, SubmitError};
use dropin_wire::RequestError;
use dropin_wire::shopper::{ProgressBody, ShopperViewBody, SubmitRequest, ViewSource};

use crate::{CheckoutDeps, finish_later};

/// Longest wait of one progress call; below the idle limit of common proxies.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

pub(crate) async fn view(deps: web::Data<CheckoutDeps>, id: PathId<SessionId>) -> Result<HttpResponse, ApiError> {
    let view = deps.shopper.view(id.0).await?;
    let body = ShopperViewBody::new(&ViewSource {
        session: &view.session,
        merchant_name: &view.merchant.name,
        origins: &view.origins,
        methods: &view.methods,
        token_methods: &view.token_methods,
        stash_url: &deps.stash_url,
        sandbox: deps.sandbox,
    });
    Ok(fresh(json(StatusCode::OK, &body)))
}

pub(crate) async fn submit(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let request = SubmitRequest::parse(&body.0).map_err(ApiError::from)?;
    let SubmitRequest { version, attempt, means, fingerprint } = request;
    let submit = Submit { version, attempt, means, fingerprint };
    let (shopper, flows) = (deps.shopper.clone(), deps.flows.clone());
    let progress = deps
        .flows
        .run(async move {
            let submitted = shopper.submit(id.0, submit).await?;
            if let Some(next) = submitted.follow_up {
                finish_later(&flows, shopper.payments.clone(), next);
            }
            Ok::<_, SubmitError>(submitted.progress)
        })
        .await??;
    Ok(told(&progress))
}

fn told(progress: &Progress) -> HttpResponse {
    let mut body = ProgressBody::new(progress.state, progress.error_code);
    if let Some(page) = &progress.page {
        body = body.with_page(&page.url, page.challenge);
    }
    if let Some(details) = &progress.bank_details {
        body = body.with_bank_details(details);
    }
    fresh(json(StatusCode::OK, &body))
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
        let found = SessionStateKind::ALL.into_iter().find(|state| state.as_str() == name);
        let why = "must be a state of a Session, such as REDIRECTED";
        Ok(found.ok_or_else(|| Violation::new("from", ViolationCode::NotAllowed, why))?)
    }
}

pub(crate) async fn progress(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    query: web::Query<Wait>,
) -> Result<HttpResponse, ApiError> {
    let wait = Duration::from_secs(query.wait.into()).min(LONGEST_WAIT);
    let from = query.from()?;
    let mut stop = deps.stop.clone();
    let progress = tokio::select! {
        progress = deps.shopper.progress(id.0, from, wait) => progress?,
        _stopping = stop.wait_for(|stopping| *stopping) => deps.shopper.progress(id.0, from, Duration::ZERO).await?,
    };
    Ok(told(&progress))
}

/// What a shopper sees is never kept by a cache.
fn fresh(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
