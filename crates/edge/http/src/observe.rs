//! What every request gets: an id, a place among the rates, one line in the log, a count, headers, and an Error object whatever went wrong.

use std::cell::Cell;
use std::fmt;
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
use dropin_kernel::MerchantId;
use dropin_wire::ErrorCode;
use futures_util::FutureExt;

use crate::ApiError;
use crate::body_guard::BodyGuard;
use crate::client::Client;
use crate::connections::{Connection, Running};
use crate::head;
use crate::health;
use crate::limits::{Limits, PIECE, STREAMS};
use crate::metrics::{Events, Metrics, Shard, known};
use crate::rates::{Rates, Standing};
use crate::request_id::{self, RequestId};

/// Most refusals over a rate that a worker logs in a second.
const LOGGED_REFUSALS: u32 = 10;

/// What the observer of one worker of one listener knows.
pub(crate) struct Observer {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) counts: Arc<Shard>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) limits: Limits,
    pub(crate) tls: bool,
    pub(crate) behind_proxy: bool,
    /// What is mounted, in the order in which the router looks.
    pub(crate) places: Vec<Place>,
    pub(crate) refusals: Refusals,
}

/// Where a part is mounted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Empty, or beginning with a slash.
    pub(crate) prefix: &'static str,
    /// Whether its requests count against a client address.
    pub(crate) counted: bool,
}

impl Place {
    /// Whether the router looks for an address here.
    fn holds(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Refusals over a rate that stand in the log, which a flood must not fill: since when they are counted, and how many there were.
pub(crate) struct Refusals(Cell<(Instant, u32)>);

impl Refusals {
    pub(crate) fn new() -> Self {
        Self(Cell::new((Instant::now(), 0)))
    }

    /// Whether one more is logged.
    fn log(&self, now: Instant) -> bool {
        let (since, count) = self.0.get();
        let over = Duration::from_secs(1) <= now.saturating_duration_since(since);
        let (since, count) = if over { (now, 1) } else { (since, count.saturating_add(1)) };
        self.0.set((since, count));
        count <= LOGGED_REFUSALS
    }
}

impl Observer {
    /// Whether a request may go on, and how it stands.
    fn admit(&self, request: &ServiceRequest, running: Option<&Connection>) -> (Rc<Standing>, Result<(), ApiError>) {
        let client = Client::of(request.peer_addr(), request.headers(), self.behind_proxy);
        let (standing, admitted) = if self.is_counted(request.path()) {
            let (standing, admitted) = self.rates.look(client, request.headers());
            (standing, admitted.map_err(readable))
        } else {
            (Standing::uncounted(&self.rates, client), Ok(()))
        };
        let crowded = running.is_some_and(|connection| STREAMS < connection.running());
        if admitted.is_ok() && crowded {
            Events::count(&self.metrics.events.limited_connection);
            return (standing, Err(readable(too_many_streams())));
        }
        (standing, admitted)
    }

    fn is_counted(&self, path: &str) -> bool {
        let place = self.places.iter().find(|place| place.holds(path));
        !health::is_own(path) && place.is_none_or(|place| place.counted)
    }
}

/// Lets pages of every origin read (CORS) a refusal that says nothing but when to come again; else they take it for a broken network.
fn readable(refusal: ApiError) -> ApiError {
    refusal
        .with_header(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))
        .with_header(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Request-Id, Retry-After"))
}

fn too_many_streams() -> ApiError {
    let message = format!("More than {STREAMS} requests at once on one connection; send some of them later.");
    ApiError::new(ErrorCode::RateLimited, message).retry_soon()
}

/// Notes whose request it is, for the access log, and counts it against that merchant.
///
/// # Errors
/// 429 RATE_LIMITED when the merchant is over its rate.
pub(crate) fn note_merchant(request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let standing = request.extensions().get::<Rc<Standing>>().cloned();
    standing.map_or(Ok(()), |standing| standing.prove(merchant))
}

/// Counts a public request against the merchant that it names, which has to exist: as many in a second as a merchant's own, and apart from
/// them, so that strangers lock nobody out of its API.
///
/// # Errors
/// 429 RATE_LIMITED when too many requests name the merchant.
pub fn count_for(request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let standing = request.extensions().get::<Rc<Standing>>().cloned();
    standing.map_or(Ok(()), |standing| standing.name(merchant))
}

/// Counts a request as one for a page of events, against the merchant that it has proven: those have a rate of their own.
///
/// # Errors
/// 429 RATE_LIMITED when the merchant reads too many pages.
pub fn count_page(request: &HttpRequest) -> Result<(), ApiError> {
    let standing = request.extensions().get::<Rc<Standing>>().cloned();
    standing.map_or(Ok(()), |standing| standing.page())
}

/// Names the client of a request, for limits of its operation's own: one IPv4 address or one IPv6 network of 64 bits, behind a proxy as that
/// one says. 0 where nobody knows.
pub fn client_key(request: &HttpRequest) -> u128 {
    let standing = request.extensions().get::<Rc<Standing>>().cloned();
    standing.map_or(0, |standing| standing.client().key())
}

/// One line of the access log and one count, both written when it is dropped: also when the caller went away first.
struct Line {
    started: Instant,
    id: RequestId,
    standing: Rc<Standing>,
    method: Method,
    route: String,
    status: Option<StatusCode>,
    counts: Arc<Shard>,
    logged: bool,
}

impl Drop for Line {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.counts.count(&self.method, &self.route, self.status, took);
        if !self.logged || !log::log_enabled!(target: "access", log::Level::Info) {
            return;
        }
        let merchant = self.standing.merchant().map_or_else(|| "-".to_owned(), |merchant| merchant.to_string());
        // 499, as nginx writes it: the caller closed the connection before there was an answer.
        let status = self.status.map_or(499, |status| status.as_u16());
        log::info!(
            target: "access",
            request_id = self.id.as_str(), merchant = merchant.as_str(), method = known(&self.method),
            route = self.route.as_str(), status = status, ms = took.as_millis() as u64;
            "request"
        );
    }
}

/// What lives until the answer has ended.
struct Tail {
    running: Option<Running>,
    body: BodyGuard,
}

/// An answer's body; its connection sees who waits for whom.
pub(crate) struct Observed {
    body: BoxBody,
    /// What is left of a piece of the body.
    rest: Bytes,
    tail: Tail,
}

impl Observed {
    fn new(body: BoxBody, tail: Tail) -> Self {
        Self { body, rest: Bytes::new(), tail }
    }
}

impl MessageBody for Observed {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if let Some(running) = &self.tail.running {
            running.asked();
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(piece)) => self.rest = piece,
                end => return Poll::Ready(end),
            }
        }
        if let Some(running) = &self.tail.running {
            running.handed();
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

/// The outermost layer of every listener.
pub(crate) async fn observe(
    observer: Rc<Observer>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<Observed>, Error> {
    let started = Instant::now();
    let body = BodyGuard::put(&mut request, (started + observer.limits.body_deadline).into());
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    let running = connection.as_ref().map(Connection::begin);
    let (standing, admitted) = observer.admit(&request, connection.as_deref());
    let id = RequestId::choose(request.headers());
    // Also where it is refused for another reason: what is not looked at is not kept.
    let light = head::lighten(&mut request);
    let admitted = admitted.and(light);
    let mut line = Line {
        started,
        id: id.clone(),
        standing: standing.clone(),
        method: request.method().clone(),
        // The pattern, never the address as it was written: somebody may have written a card number there.
        route: request.match_pattern().unwrap_or_else(|| "(no route)".to_owned()),
        status: None,
        counts: observer.counts.clone(),
        logged: admitted.is_ok() || observer.refusals.log(started),
    };
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(standing.clone());
    let outcome = match admitted {
        Ok(()) => {
            let called = AssertUnwindSafe(async move { next.call(request).await });
            called.catch_unwind().await.map(|answer| answer.map(ServiceResponse::map_into_boxed_body))
        }
        Err(error) => Ok(Ok(request.error_response(error))),
    };
    let tail = Tail { running, body };
    let answer = match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(refuse(observer, &mut line, as_api_error(&error), tail).await),
        Err(_panic) => {
            let error = ApiError::internal("a handler panicked; the panic's own line says where");
            return Err(refuse(observer, &mut line, error, tail).await);
        }
    };
    if is_refusal(answer.status()) {
        tail.body.read_on().await;
    }
    line.status = Some(answer.status());
    standing.settle(answer.status());
    log_failure(answer.response().error().and_then(|error| error.as_error::<ApiError>()), &id);
    let mut answer = with_error_object(answer);
    add_headers(observer.tls, answer.headers_mut(), &id);
    Ok(answer.map_body(|_, body| Observed::new(body, tail)))
}

fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// For an error that has lost its request: actix turns it into the answer, so that it has to carry everything itself.
async fn refuse(observer: Rc<Observer>, line: &mut Line, error: ApiError, tail: Tail) -> Error {
    tail.body.read_on().await;
    line.status = Some(error.status_code());
    line.standing.settle(error.status_code());
    log_failure(Some(&error), &line.id);
    Refusal { error, id: line.id.clone(), tls: observer.tls, tail: Cell::new(Some(tail)) }.into()
}

struct Refusal {
    error: ApiError,
    id: RequestId,
    tls: bool,
    tail: Cell<Option<Tail>>,
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
        match self.tail.take() {
            Some(tail) => answer.map_body(|_, body| BoxBody::new(Observed::new(body, tail))),
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
    let is_said = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| {
        [&b"application/json"[..], b"text/html"].iter().any(|said| kind.as_bytes().starts_with(said))
    });
    if !is_refusal(status) || is_said {
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
