use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use dropin_ports::{KeyringError, StoreError, StoreHealth};
use tokio::sync::{Mutex, watch};

use crate::ApiError;
use crate::client::is_local;
use crate::metrics::Metrics;
use crate::metrics_registry::MetricsRegistry;
use crate::mounted::not_found;

/// Longest wait for the store before it counts as away.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a result is served again: however often clients ask `/readyz`, the store is asked no oftener.
const CHECK_CACHE_TTL: Duration = Duration::from_millis(200);

/// The last result of a check, and when it was made.
type CachedCheck<E> = Arc<Mutex<Option<(Instant, Result<(), E>)>>>;

/// Tells whether keys can be used.
pub(crate) type KeyCheck = Arc<dyn Fn() -> Result<(), KeyringError> + Send + Sync>;

/// What has to hold for requests to be served.
#[derive(Clone)]
pub(crate) struct Readiness {
    /// With how long its last success counts while it does not answer.
    store: Option<(Arc<dyn StoreHealth>, Duration)>,
    keys: Vec<KeyCheck>,
    stop: Option<watch::Receiver<bool>>,
    latest: Arc<LatestRequest>,
    cached: CachedCheck<StoreError>,
    /// When the store was ready last.
    last_ready_at: Arc<Mutex<Option<Instant>>>,
    cached_keys: CachedCheck<KeyringError>,
}

/// When the last request other than a health check came, since the process was asked to stop.
#[derive(Debug)]
pub(crate) struct LatestRequest {
    since: Instant,
    /// Milliseconds.
    at: AtomicU64,
}

impl LatestRequest {
    fn record(&self) {
        let millis = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at.fetch_max(millis, Ordering::Relaxed);
    }

    /// For how long none came.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.at.load(Ordering::Relaxed)))
    }
}

impl Readiness {
    pub(crate) fn new(
        store: Option<(Arc<dyn StoreHealth>, Duration)>,
        keys: Vec<KeyCheck>,
        stop: Option<watch::Receiver<bool>>,
    ) -> Self {
        let latest = Arc::new(LatestRequest { since: Instant::now(), at: AtomicU64::new(0) });
        Self {
            store,
            keys,
            stop,
            latest,
            cached: Arc::default(),
            last_ready_at: Arc::default(),
            cached_keys: Arc::default(),
        }
    }

    pub(crate) fn latest(&self) -> Arc<LatestRequest> {
        self.latest.clone()
    }

    /// Notes that a request came while the process is about to stop.
    pub(crate) fn record_while_stopping(&self, path: &str) {
        if self.is_stopping() && !is_operational_path(path) {
            self.latest.record();
        }
    }

    /// Whether the process was asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| *stop.borrow())
    }

    /// The store's readiness, perhaps cached. A store that does not answer counts as ready for `grace`: all programs lose their database in the same
    /// moment, and the load balancer would have none left. What the database refuses counts at once.
    async fn check_store(&self, store: &dyn StoreHealth, grace: Duration) -> Result<(), StoreError> {
        let late = || StoreError::Unavailable("it did not answer in time".to_owned());
        let answer = cached_or_checked(&self.cached, store.ready(), late).await;
        let mut last_ready_at = self.last_ready_at.lock().await;
        match answer {
            Ok(()) => *last_ready_at = Some(Instant::now()),
            Err(StoreError::Unavailable(_) | StoreError::OutcomeUnknown)
                if last_ready_at.is_some_and(|when| when.elapsed() < grace) => {}
            refused => return refused,
        }
        Ok(())
    }

    /// Whether the keys can be used, possibly from the cache. The file system may be one that hangs, so it is asked on a thread of its own.
    async fn check_keys(&self) -> Result<(), KeyringError> {
        let keys = self.keys.clone();
        let late = || KeyringError::Unavailable("their folder did not answer in time".to_owned());
        let check = async {
            let check = tokio::task::spawn_blocking(move || keys.iter().try_for_each(|check| check()));
            check.await.unwrap_or_else(|_panicked| Err(late()))
        };
        cached_or_checked(&self.cached_keys, check, late).await
    }
}

/// The result of `check`, or the cached one. A caller that comes while the check runs waits for its result.
async fn cached_or_checked<E: Clone>(
    cached: &Mutex<Option<(Instant, Result<(), E>)>>,
    check: impl Future<Output = Result<(), E>>,
    late: impl FnOnce() -> E,
) -> Result<(), E> {
    let mut cached = cached.lock().await;
    if let Some((_, answer)) = cached.as_ref().filter(|(when, _)| when.elapsed() < CHECK_CACHE_TTL) {
        return answer.clone();
    }
    let answer = tokio::time::timeout(CHECK_TIMEOUT, check).await.unwrap_or_else(|_elapsed| Err(late()));
    *cached = Some((Instant::now(), answer.clone()));
    answer
}

/// Who may read `/metrics` here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsAccess {
    /// Every client of the listener, which is there for that.
    All,
    /// Programs of this machine.
    Local,
    /// No client: metrics have a listener of their own.
    Nobody,
}

/// Whether an address is one of [`mount`]'s, whose requests are not limited.
pub(crate) fn is_operational_path(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Mounts `/healthz` (alive), `/readyz` (can serve) and `/metrics`.
pub(crate) fn mount(
    config: &mut web::ServiceConfig,
    readiness: Readiness,
    metrics: Arc<Metrics>,
    metrics_registry: Arc<MetricsRegistry>,
    metrics_access: MetricsAccess,
) {
    let ready = move || ready(readiness.clone());
    let render = move |request: HttpRequest| {
        let (metrics, metrics_registry) = (metrics.clone(), metrics_registry.clone());
        async move { render(&request, &metrics, &metrics_registry, metrics_access).await }
    };
    config
        .service(web::resource("/healthz").route(web::get().to(|| async { plain("ok\n") })))
        .service(web::resource("/readyz").route(web::get().to(ready)));
    if metrics_access != MetricsAccess::Nobody {
        config.service(web::resource("/metrics").route(web::get().to(render)));
    }
}

async fn render(
    request: &HttpRequest,
    metrics: &Metrics,
    metrics_registry: &MetricsRegistry,
    metrics_access: MetricsAccess,
) -> Result<HttpResponse, ApiError> {
    if metrics_access == MetricsAccess::Local && !is_local(request.peer_addr(), request.headers()) {
        return Err(not_found());
    }
    let text = metrics.render() + &metrics_registry.render().await;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4")).body(text))
}

async fn ready(readiness: Readiness) -> Result<HttpResponse, ApiError> {
    if readiness.is_stopping() {
        return Err(ApiError::unavailable("the process is stopping"));
    }
    if let Some((store, grace)) = &readiness.store {
        readiness.check_store(&**store, *grace).await.map_err(not_ready)?;
    }
    readiness.check_keys().await.map_err(not_ready)?;
    Ok(plain("ready\n"))
}

/// Says what is missing: an operator asks, and the errors hold neither stored values nor secrets.
fn not_ready(why: impl std::fmt::Display) -> ApiError {
    let mut error = ApiError::unavailable(&why);
    error.message = format!("Not ready: {why}").into();
    error
}

fn plain(text: &'static str) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))).body(text)
}
