use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::{HttpResponse, web};
use dropin_ports::StoreHealth;
use tokio::sync::watch;

use crate::ApiError;
use crate::metrics::Metrics;

/// Longest wait for the store before it counts as away.
const PATIENCE: Duration = Duration::from_secs(3);

/// What has to hold for requests to be served.
#[derive(Clone)]
pub(crate) struct Readiness {
    pub(crate) store: Option<Arc<dyn StoreHealth>>,
    pub(crate) stop: Option<watch::Receiver<bool>>,
}

/// Mounts `/healthz` (alive), `/readyz` (can serve) and `/metrics`.
pub(crate) fn mount(config: &mut web::ServiceConfig, readiness: Readiness, metrics: Arc<Metrics>) {
    let ready = move || ready(readiness.clone());
    let render = move || {
        let text = metrics.render();
        async move { HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4")).body(text) }
    };
    config
        .service(web::resource("/healthz").route(web::get().to(|| async { plain("ok\n") })))
        .service(web::resource("/readyz").route(web::get().to(ready)))
        .service(web::resource("/metrics").route(web::get().to(render)));
}

async fn ready(readiness: Readiness) -> Result<HttpResponse, ApiError> {
    if readiness.stop.is_some_and(|stop| *stop.borrow()) {
        return Err(ApiError::unavailable("the process is stopping"));
    }
    if let Some(store) = readiness.store {
        match tokio::time::timeout(PATIENCE, store.ready()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(ApiError::unavailable(error)),
            Err(_elapsed) => return Err(ApiError::unavailable("the store did not answer in time")),
        }
    }
    Ok(plain("ready\n"))
}

fn plain(text: &'static str) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))).body(text)
}
