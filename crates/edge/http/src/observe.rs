//! What every request gets: an id, one line in the log, a count, headers, and an Error object whatever went wrong.

use std::cell::Cell;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse, ResponseError};
use dropin_kernel::MerchantId;
use futures_util::FutureExt;

use crate::ApiError;
use crate::metrics::Metrics;
use crate::request_id::{self, RequestId};

/// What the observer of one listener knows.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tls: bool,
}

/// Where the authentication leaves word of whose request it is.
#[derive(Clone, Default)]
struct Whose(Rc<Cell<Option<MerchantId>>>);

/// Notes whose request it is, for the access log.
pub(crate) fn note_merchant(request: &HttpRequest, merchant: MerchantId) {
    if let Some(whose) = request.extensions().get::<Whose>() {
        whose.0.set(Some(merchant));
    }
}

/// One line of the access log and one count, both written when it is dropped: also when the caller went away first.
struct Line {
    started: Instant,
    id: RequestId,
    whose: Whose,
    method: Method,
    route: String,
    status: Option<StatusCode>,
    metrics: Arc<Metrics>,
}

impl Drop for Line {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.metrics.count(&self.method, &self.route, self.status, took);
        let merchant = self.whose.0.get().map_or_else(|| "-".to_owned(), |merchant| merchant.to_string());
        // 499, as nginx writes it: the caller closed the connection before there was an answer.
        let status = self.status.map_or(499, |status| status.as_u16());
        log::info!(
            target: "access",
            request_id = self.id.as_str(), merchant = merchant.as_str(), method = self.method.as_str(),
            route = self.route.as_str(), status = status, ms = took.as_millis() as u64;
            "request"
        );
    }
}

/// The outermost layer of every listener.
pub(crate) async fn observe(
    observer: Observer,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let id = RequestId::choose(request.headers());
    let whose = Whose::default();
    let mut line = Line {
        started: Instant::now(),
        id: id.clone(),
        whose: whose.clone(),
        method: request.method().clone(),
        // The pattern, never the address as it was written: somebody may have written a card number there.
        route: request.match_pattern().unwrap_or_else(|| "(no route)".to_owned()),
        status: None,
        metrics: observer.metrics.clone(),
    };
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(whose);
    let outcome = AssertUnwindSafe(async move { next.call(request).await }).catch_unwind().await;
    let answer = match outcome {
        Ok(Ok(answer)) => answer.map_into_boxed_body(),
        Ok(Err(error)) => return Err(refuse(&observer, &mut line, id, as_api_error(&error))),
        Err(_panic) => {
            let error = ApiError::internal("a handler panicked; the panic's own line says where");
            return Err(refuse(&observer, &mut line, id, error));
        }
    };
    line.status = Some(answer.status());
    log_failure(answer.response().error().and_then(|error| error.as_error::<ApiError>()), &id);
    let mut answer = with_error_object(answer);
    add_headers(&observer, answer.headers_mut(), &id);
    Ok(answer)
}

/// For an error that has lost its request: actix turns it into the answer, so that it has to carry everything itself.
fn refuse(observer: &Observer, line: &mut Line, id: RequestId, error: ApiError) -> Error {
    line.status = Some(error.status_code());
    log_failure(Some(&error), &id);
    Refusal { error, id, observer: observer.clone() }.into()
}

struct Refusal {
    error: ApiError,
    id: RequestId,
    observer: Observer,
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
        add_headers(&self.observer, answer.headers_mut(), &self.id);
        answer
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

/// A refusal that a library made (a wrong method, a bad query) gets the Error object; its status and headers stay.
fn with_error_object(answer: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let status = answer.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let is_json =
        answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_error || is_json {
        return answer;
    }
    let body = serde_json::to_vec(&ApiError::for_status(status).body()).unwrap_or_default();
    answer.map_body(|head, _theirs| {
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        BoxBody::new(body)
    })
}

fn add_headers(observer: &Observer, headers: &mut HeaderMap, id: &RequestId) {
    headers.insert(request_id::HEADER, id.to_header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if observer.tls {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}
