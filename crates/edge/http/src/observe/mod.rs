//! The outermost middleware: request id, rate limits, access log, metrics, headers, and the Error object for every failure.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap,
    HeaderValue, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse, ResponseError};
use bytes::Bytes;
use dropin_kernel::{MerchantId, SessionId};
use dropin_wire::ErrorCode;
use futures_util::FutureExt;

use crate::ApiError;
use crate::body_guard::BodyGuard;
use crate::client::{self, Client, ClientAddress};
use crate::connections::{Connection, RequestGuard};
use crate::head;
use crate::health;
use crate::limits::{Limits, MAX_CHUNK_BYTES, MAX_STREAMS};
use crate::metrics::{Counters, Metrics, Shard, method_label};
use crate::rate_limiter::{RateLimiter, RequestQuota};
use crate::request_id::{self, RequestId};

/// Most refusals over a rate that a worker logs in a second.
const MAX_LOGGED_REFUSALS_PER_SECOND: u32 = 10;

/// What the middleware of one worker of one listener needs.
pub(crate) struct Observer {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) counts: Arc<Shard>,
    pub(crate) rate_limiter: Arc<RateLimiter>,
    pub(crate) limits: Limits,
    pub(crate) tls: bool,
    pub(crate) behind_proxy: bool,
    /// The mounted services, in the order in which the router matches them.
    pub(crate) mount_points: Vec<MountPoint>,
    pub(crate) refusal_log: RefusalLog,
}

/// The path prefix of a mounted service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MountPoint {
    /// Empty, or beginning with a slash.
    pub(crate) prefix: &'static str,
    /// Whether its requests count against a client address.
    pub(crate) counted: bool,
    /// Paths below the prefix that are asked for again and again: the access log tells a success at level debug.
    pub(crate) polled: &'static [&'static str],
}

impl MountPoint {
    /// Whether a path is below the prefix.
    fn contains(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether a path is asked for again and again.
    fn is_polled(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| self.polled.contains(&rest))
    }
}

/// Bounds the logged refusals, so that a flood does not fill the log: start of the current second, and how many were logged in it.
pub(crate) struct RefusalLog(Cell<(Instant, u32)>);

impl RefusalLog {
    pub(crate) fn new() -> Self {
        Self(Cell::new((Instant::now(), 0)))
    }

    /// Whether one more is logged.
    fn log(&self, now: Instant) -> bool {
        let (since, count) = self.0.get();
        let over = Duration::from_secs(1) <= now.saturating_duration_since(since);
        let (since, count) = if over { (now, 1) } else { (since, count.saturating_add(1)) };
        self.0.set((since, count));
        count <= MAX_LOGGED_REFUSALS_PER_SECOND
    }
}

impl Observer {
    /// Whether a request may go on, and the quota that it uses.
    fn admit(
        &self,
        request: &ServiceRequest,
        client: Client,
        running: Option<&Connection>,
    ) -> (Rc<RequestQuota>, Result<(), ApiError>) {
        let (quota, admitted) = if self.is_counted(request.path()) {
            let (quota, admitted) = self.rate_limiter.admit(client, request.headers());
            (quota, admitted.map_err(with_cors_for_any_origin))
        } else {
            (RequestQuota::uncounted(&self.rate_limiter, client), Ok(()))
        };
        let is_over_limit = running.is_some_and(|connection| MAX_STREAMS < connection.running());
        if admitted.is_ok() && is_over_limit {
            Counters::increment(&self.metrics.counters.limited_connection);
            return (quota, Err(with_cors_for_any_origin(too_many_streams())));
        }
        (quota, admitted)
    }

    fn is_counted(&self, path: &str) -> bool {
        let mount_point = self.mount_points.iter().find(|mount_point| mount_point.contains(path));
        !health::is_operational_path(path) && mount_point.is_none_or(|mount_point| mount_point.counted)
    }
}

/// Lets pages of every origin read (CORS) a refusal that says nothing but when to come again; else they take it for a broken network.
fn with_cors_for_any_origin(refusal: ApiError) -> ApiError {
    refusal
        .with_header(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))
        .with_header(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Request-Id, Retry-After"))
}

fn too_many_streams() -> ApiError {
    let message = format!("More than {MAX_STREAMS} requests at once on one connection; send some of them later.");
    ApiError::new(ErrorCode::RateLimited, message).retry_soon()
}

/// Notes whose request it is, for the access log, and counts it against that merchant.
///
/// # Errors
/// 429 RATE_LIMITED when the merchant is over its rate.
pub(crate) fn note_merchant(request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(Ok(()), |quota| quota.prove(merchant))
}

/// Notes the user name of a refused login, for the access log.
pub(crate) fn note_refused_login(request: &HttpRequest, username: &str) {
    if let Some(quota) = request.extensions().get::<Rc<RequestQuota>>() {
        quota.refuse_login(username);
    }
}

/// Counts a public request against the merchant that it names, which has to exist: half as many in a second as a merchant's own, a hundredth
/// for one client, and apart from them, so that strangers lock no merchant out of its API.
///
/// # Errors
/// 429 RATE_LIMITED when too many requests name the merchant.
pub fn count_for(request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(Ok(()), |quota| quota.count_public(merchant))
}

/// Counts a public request that names a live Session against that and its merchant: as many in a second as those of anybody, and apart from
/// them, so that strangers lock no shopper out; one a second for each Session.
///
/// # Errors
/// 429 RATE_LIMITED when too many requests name the Session, or Sessions of the merchant.
pub fn count_for_session(request: &HttpRequest, merchant: MerchantId, session: SessionId) -> Result<(), ApiError> {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(Ok(()), |quota| quota.count_session(merchant, session))
}

/// Counts a request as one for a page of events, against the merchant that it has proven: those have a rate of their own.
///
/// # Errors
/// 429 RATE_LIMITED when the merchant reads too many pages.
pub fn count_page(request: &HttpRequest) -> Result<(), ApiError> {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(Ok(()), |quota| quota.page())
}

/// Counts a request as one for a payment session of the wallet that no page vouches for, against merchant and client together.
///
/// # Errors
/// 429 RATE_LIMITED when this client asks for too many of the merchant's.
pub fn count_wallet(request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(Ok(()), |quota| quota.wallet(merchant))
}

/// Names the client of a request, for limits of its operation's own: one IPv4 address or one IPv6 network of 64 bits, behind a proxy as that
/// one says. 0 when it is unknown.
pub fn client_key(request: &HttpRequest) -> u128 {
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    quota.map_or(0, |quota| quota.client().key())
}

/// One line of the access log and one count, both written when it is dropped: also when the caller went away first.
struct AccessLogEntry {
    started: Instant,
    id: RequestId,
    client: IpAddr,
    quota: Rc<RequestQuota>,
    method: Method,
    route: String,
    status: Option<StatusCode>,
    counts: Arc<Shard>,
    logged: bool,
    polled: bool,
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.counts.count(&self.method, &self.route, self.status, took);
        let is_routine = self.polled && self.status.is_some_and(|status| status.is_success());
        let level = if is_routine { log::Level::Debug } else { log::Level::Info };
        if !self.logged || !log::log_enabled!(target: "access", level) {
            return;
        }
        let merchant = self.quota.merchant().map_or_else(|| "-".to_owned(), |merchant| merchant.to_string());
        // 499, as nginx writes it: the caller closed the connection before there was an answer.
        let status = self.status.map_or(499, |status| status.as_u16());
        let user = self.quota.refused_user().unwrap_or_else(|| "-".to_owned());
        log::log!(
            target: "access", level,
            request_id = self.id.as_str(), client:% = self.client, merchant = merchant.as_str(),
            refused_user = user.as_str(), method = method_label(&self.method),
            route = self.route.as_str(), status = status, ms = took.as_millis() as u64;
            "request"
        );
    }
}

/// Guards that live until the answer has ended.
struct ResponseGuards {
    running: Option<RequestGuard>,
    body: BodyGuard,
}

/// An answer's body, sent in chunks; it reports to the connection whether server or client is waited for.
pub(crate) struct ObservedBody {
    body: BoxBody,
    /// What is left of a piece of the body.
    rest: Bytes,
    guards: ResponseGuards,
}

impl ObservedBody {
    fn new(body: BoxBody, guards: ResponseGuards) -> Self {
        Self { body, rest: Bytes::new(), guards }
    }
}

impl MessageBody for ObservedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if let Some(running) = &self.guards.running {
            running.chunk_requested();
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(piece)) => self.rest = piece,
                end => return Poll::Ready(end),
            }
        }
        if let Some(running) = &self.guards.running {
            running.chunk_sent();
        }
        let length = self.rest.len().min(MAX_CHUNK_BYTES);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

/// The outermost layer of every listener.
pub(crate) async fn observe(
    observer: Rc<Observer>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<ObservedBody>, Error> {
    let started = Instant::now();
    let body = BodyGuard::attach(&mut request, (started + observer.limits.body_deadline).into());
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    let running = connection.as_ref().map(Connection::begin);
    let address = client::address(request.peer_addr(), request.headers(), observer.behind_proxy);
    request.extensions_mut().insert(ClientAddress::new(address));
    let (quota, admitted) = observer.admit(&request, address.into(), connection.as_deref());
    let id = RequestId::choose(request.headers());
    // Also where it is refused for another reason: what is not looked at is not kept.
    let header_check = head::limit_headers(&mut request);
    let admitted = admitted.and(header_check);
    let mut entry = AccessLogEntry {
        started,
        id: id.clone(),
        client: address,
        quota: quota.clone(),
        method: request.method().clone(),
        // The pattern, never the address as it was sent: it may hold a card number.
        route: request.match_pattern().unwrap_or_else(|| "(no route)".to_owned()),
        status: None,
        counts: observer.counts.clone(),
        logged: admitted.is_ok() || observer.refusal_log.log(started),
        polled: observer.mount_points.iter().any(|mount_point| mount_point.is_polled(request.path())),
    };
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(quota.clone());
    let outcome = match admitted {
        Ok(()) => {
            let called = AssertUnwindSafe(async move { next.call(request).await });
            called.catch_unwind().await.map(|answer| answer.map(ServiceResponse::map_into_boxed_body))
        }
        Err(error) => Ok(Ok(request.error_response(error))),
    };
    let guards = ResponseGuards { running, body };
    let answer = match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(refuse(observer, &mut entry, as_api_error(&error), guards).await),
        Err(_panic) => {
            let error = ApiError::internal("a handler panicked; the panic's own line says where");
            return Err(refuse(observer, &mut entry, error, guards).await);
        }
    };
    if is_refusal(answer.status()) {
        guards.body.drain().await;
    }
    entry.status = Some(answer.status());
    quota.finish(answer.status());
    log_failure(answer.response().error().and_then(|error| error.as_error::<ApiError>()), &id);
    let mut answer = with_error_object(answer);
    add_headers(observer.tls, answer.headers_mut(), &id);
    Ok(answer.map_body(|_, body| ObservedBody::new(body, guards)))
}

fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// For an error that has lost its request: actix turns it into the answer, so that it has to carry everything itself.
async fn refuse(observer: Rc<Observer>, entry: &mut AccessLogEntry, error: ApiError, guards: ResponseGuards) -> Error {
    guards.body.drain().await;
    entry.status = Some(error.status_code());
    entry.quota.finish(error.status_code());
    log_failure(Some(&error), &entry.id);
    Refusal { error, id: entry.id.clone(), tls: observer.tls, guards: Cell::new(Some(guards)) }.into()
}

struct Refusal {
    error: ApiError,
    id: RequestId,
    tls: bool,
    guards: Cell<Option<ResponseGuards>>,
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.error.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = self.error.error_response();
        add_headers(self.tls, answer.headers_mut(), &self.id);
        match self.guards.take() {
            Some(guards) => answer.map_body(|_, body| BoxBody::new(ObservedBody::new(body, guards))),
            None => answer,
        }
    }
}

fn as_api_error(error: &Error) -> ApiError {
    match error.as_error::<ApiError>() {
        Some(error) => error.clone(),
        None => ApiError::for_status(error.as_response_error().status_code()),
    }
}

fn log_failure(error: Option<&ApiError>, id: &RequestId) {
    let Some((error, detail)) = error.and_then(|error| Some((error, error.detail()?))) else { return };
    let level =
        if error.status_code() == StatusCode::INTERNAL_SERVER_ERROR { log::Level::Error } else { log::Level::Warn };
    log::log!(level, request_id = id.as_str(), code = error.code.as_str(); "{detail}");
}

/// A refusal that a library made (a wrong method, a bad query) gets the Error object; its status and headers stay. What a handler of ours said
/// in JSON, or to a person on a page, stays as it is: libraries say nothing in either.
fn with_error_object(answer: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let status = answer.status();
    let has_own_body = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| {
        [&b"application/json"[..], b"text/html"].iter().any(|own| kind.as_bytes().starts_with(own))
    });
    if !is_refusal(status) || has_own_body {
        return answer;
    }
    let body = serde_json::to_vec(&ApiError::for_status(status).body()).unwrap_or_default();
    answer.map_body(|head, _theirs| {
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        BoxBody::new(body)
    })
}

fn add_headers(tls: bool, headers: &mut HeaderMap, id: &RequestId) {
    headers.insert(request_id::HEADER, id.to_header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if tls {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

#[cfg(test)]
mod tests;
