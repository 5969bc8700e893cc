//! The shopper's calls. They are same-origin with the card frame, so there is no CORS; whoever knows the SessionId may make them.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, JsonBody, PathId, json};
use dropin_kernel::SessionId;
use dropin_usecases::payments::Submit;
use dropin_wire::shopper::{ProgressBody, ShopperViewBody, SubmitRequest, ViewSource};

use crate::CheckoutDeps;

/// Longest wait of one progress call; below the idle limit of common proxies.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

pub(crate) async fn view(deps: web::Data<CheckoutDeps>, id: PathId<SessionId>) -> Result<HttpResponse, ApiError> {
    let view = deps.shopper.view(id.0).await?;
    let body = ShopperViewBody::new(&ViewSource {
        session: &view.session,
        merchant_name: &view.merchant.name,
        origins: &view.origins,
        methods: &view.methods,
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
    let submit = Submit {
        version: request.version,
        attempt: request.attempt,
        stash_id: request.stash_id,
        fingerprint: request.fingerprint,
    };
    let (shopper, flows) = (deps.shopper.clone(), deps.flows.clone());
    let progress = deps
        .flows
        .run(async move {
            let submitted = shopper.submit(id.0, submit).await?;
            if let Some(capture) = submitted.follow_up {
                let payments = shopper.payments.clone();
                // While stopping nothing new is begun: the capture is an open operation and the settler finishes it.
                let begun = flows.spawn(async move {
                    let key = capture.id.to_string();
                    if let Err(error) = payments.finish_capture(capture).await {
                        log::warn!(operation = key.as_str(), error:% = error; "an automatic capture is left to the settler");
                    }
                });
                if begun.is_err() {
                    log::info!("stopping: an automatic capture is left to the settler");
                }
            }
            Ok::<_, dropin_usecases::payments::SubmitError>(submitted.progress)
        })
        .await??;
    Ok(fresh(json(StatusCode::OK, &ProgressBody::new(progress.state, progress.error_code))))
}

#[derive(serde::Deserialize)]
pub(crate) struct Wait {
    #[serde(default)]
    wait: u32,
}

pub(crate) async fn progress(
    deps: web::Data<CheckoutDeps>,
    id: PathId<SessionId>,
    query: web::Query<Wait>,
) -> Result<HttpResponse, ApiError> {
    let wait = Duration::from_secs(query.wait.into()).min(LONGEST_WAIT);
    let mut stop = deps.stop.clone();
    let progress = tokio::select! {
        progress = deps.shopper.progress(id.0, wait) => progress?,
        _stopping = stop.wait_for(|stopping| *stopping) => deps.shopper.progress(id.0, Duration::ZERO).await?,
    };
    Ok(fresh(json(StatusCode::OK, &ProgressBody::new(progress.state, progress.error_code))))
}

/// What a shopper sees is never kept by a cache.
fn fresh(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
