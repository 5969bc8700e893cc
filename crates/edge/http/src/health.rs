use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use dropin_ports::{StoreError, StoreHealth};
use tokio::sync::{Mutex, watch};

use crate::ApiError;
use crate::client::is_local;
use crate::metrics::Metrics;
use crate::server::nothing_here;
use crate::watched::Watched;

/// Longest wait for the store before it counts as away.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long the store's answer counts: strangers may ask as often as they like, and the store is asked no oftener.
const FRESH: Duration = Duration::from_millis(200);

/// What the store said, and when.
type Said = Option<(Instant, Result<(), StoreError>)>;

/// What has to hold for requests to be served.
#[derive(Clone)]
pub(crate) struct Readiness {
    store: Option<Arc<dyn StoreHealth>>,
    stop: Option<watch::Receiver<bool>>,
    said: Arc<Mutex<Said>>,
}

impl Readiness {
    pub(crate) fn new(store: Option<Arc<dyn StoreHealth>>, stop: Option<watch::Receiver<bool>>) -> Self {
        Self { store, stop, said: Arc::default() }
    }

    /// What the store says, or said a moment ago. Whoever comes while it is being asked waits for that answer.
    async fn ask(&self, store: &dyn StoreHealth) -> Result<(), StoreError> {
        let mut said = self.said.lock().await;
        if let Some((_, answer)) = said.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return answer.clone();
        }
        let answer = tokio::time::timeout(PATIENCE, store.ready()).await;
        let answer =
            answer.unwrap_or_else(|_elapsed| Err(StoreError::Unavailable("it did not answer in time".to_owned())));
        *said = Some((Instant::now(), answer.clone()));
        answer
    }
}

/// Who may read `/metrics` here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Whoever reaches the listener, which is there for that.
    All,
    /// Programs of this machine.
    Local,
    /// Nobody: they have a listener of their own.
    Nobody,
}

/// Whether an address is one of [`mount`]'s, whose requests are not limited.
pub(crate) fn is_own(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Mounts `/healthz` (alive), `/readyz` (can serve) and `/metrics`.
pub(crate) fn mount(
    config: &mut web::ServiceConfig,
    readiness: Readiness,
    metrics: Arc<Metrics>,
    watched: Arc<Watched>,
    readers: Readers,
) {
    let ready = move || ready(readiness.clone());
    let render = move |request: HttpRequest| {
        let (metrics, watched) = (metrics.clone(), watched.clone());
        async move { render(&request, &metrics, &watched, readers).await }
    };
    config
        .service(web::resource("/healthz").route(web::get().to(|| async { plain("ok\n") })))
        .service(web::resource("/readyz").route(web::get().to(ready)));
    if readers != Readers::Nobody {
        config.service(web::resource("/metrics").route(web::get().to(render)));
    }
}

async fn render(
    request: &HttpRequest,
    metrics: &Metrics,
    watched: &Watched,
    readers: Readers,
) -> Result<HttpResponse, ApiError> {
    if readers == Readers::Local && !is_local(request.peer_addr(), request.headers()) {
        return Err(nothing_here());
    }
    let text = metrics.render() + &watched.render().await;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4")).body(text))
}

async fn ready(readiness: Readiness) -> Result<HttpResponse, ApiError> {
    if readiness.stop.as_ref().is_some_and(|stop| *stop.borrow()) {
        return Err(ApiError::unavailable("the process is stopping"));
    }
    if let Some(store) = &readiness.store {
        readiness.ask(&**store).await.map_err(ApiError::unavailable)?;
    }
    Ok(plain("ready\n"))
}

fn plain(text: &'static str) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))).body(text)
}
