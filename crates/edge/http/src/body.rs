use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use bytes::Bytes;
use dropin_wire::ErrorCode;
use futures_util::StreamExt;

use crate::ApiError;
use crate::rate_limiter::RequestQuota;

/// The first allocation for a body, in bytes.
const INITIAL_CAPACITY_BYTES: usize = 1024;

/// Largest body that is taken, in bytes; put another one into the app data of a scope or resource to change it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimit(
    /// Bytes.
    pub usize,
);

impl Default for BodyLimit {
    /// 256 KiB (docs/SPECIFICATION.md#http-body).
    fn default() -> Self {
        Self(256 * 1024)
    }
}

/// The raw bytes of an `application/json` body, not parsed yet.
///
/// 415 UNSUPPORTED_MEDIA_TYPE for any other content type or a charset other than UTF-8, 413 PAYLOAD_TOO_LARGE over the
/// [`BodyLimit`], 408 REQUEST_TIMEOUT when the body takes longer than [`Limits::body_deadline`](crate::Limits).
#[derive(Debug, Clone)]
pub struct JsonBody(
    /// The body.
    pub Bytes,
);

/// Like [`JsonBody`], for operations whose bodies are small: at most `BYTES`, whatever the [`BodyLimit`] says beyond that.
#[derive(Debug, Clone)]
pub struct SmallJsonBody<const BYTES: usize>(
    /// The body.
    pub Bytes,
);

/// Like [`JsonBody`], for operations whose body may be left out: an empty one is `None`, whatever its content type.
#[derive(Debug, Clone)]
pub struct OptionalJsonBody(
    /// The body, when there is one.
    pub Option<Bytes>,
);

/// The raw bytes of an `application/x-www-form-urlencoded` body; the same limits and answers as [`JsonBody`]'s.
///
/// No Debug: forms carry cards.
#[derive(Clone)]
pub struct FormBody(
    /// The body.
    pub Bytes,
);

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, ApiError>>>>;

impl FromRequest for JsonBody {
    type Error = ApiError;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let typed = require_type(request, "application/json");
        let body = read(request, payload);
        Box::pin(async move {
            typed?;
            body.await.map(Self)
        })
    }
}

impl<const BYTES: usize> FromRequest for SmallJsonBody<BYTES> {
    type Error = ApiError;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let typed = require_type(request, "application/json");
        let body = read_up_to(BYTES, request, payload);
        Box::pin(async move {
            typed?;
            body.await.map(Self)
        })
    }
}

impl FromRequest for FormBody {
    type Error = ApiError;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let typed = require_type(request, "application/x-www-form-urlencoded");
        let body = read(request, payload);
        Box::pin(async move {
            typed?;
            body.await.map(Self)
        })
    }
}

impl FromRequest for OptionalJsonBody {
    type Error = ApiError;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let typed = require_type(request, "application/json");
        let body = read(request, payload);
        Box::pin(async move {
            let body = body.await?;
            if body.is_empty() {
                return Ok(Self(None));
            }
            typed?;
            Ok(Self(Some(body)))
        })
    }
}

/// The content type without its parameters has to be `wanted`, its charset UTF-8 when it names one, and nothing packed.
fn require_type(request: &HttpRequest, wanted: &'static str) -> Result<(), ApiError> {
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = given.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let readable = parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        !name.trim().eq_ignore_ascii_case("charset") || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    let plain = request.headers().get_all(CONTENT_ENCODING).all(|encoding| encoding == "identity");
    if essence.eq_ignore_ascii_case(wanted) && readable && plain {
        return Ok(());
    }
    let error = ApiError::new(
        ErrorCode::UnsupportedMediaType,
        format!("Expected content-type {wanted}, in UTF-8 and without a content-encoding."),
    );
    Err(error.with_header(ACCEPT, HeaderValue::from_static(wanted)))
}

fn read(request: &HttpRequest, payload: &mut Payload) -> impl Future<Output = Result<Bytes, ApiError>> + 'static {
    read_up_to(usize::MAX, request, payload)
}

/// Reads at most `most` bytes, and no more than the [`BodyLimit`] says.
fn read_up_to(
    most: usize,
    request: &HttpRequest,
    payload: &mut Payload,
) -> impl Future<Output = Result<Bytes, ApiError>> + 'static {
    let limit = request.app_data::<BodyLimit>().copied().unwrap_or_default().0.min(most);
    read_limited(limit, request, payload)
}

/// Reads at most `limit` bytes.
pub(crate) fn read_limited(
    limit: usize,
    request: &HttpRequest,
    payload: &mut Payload,
) -> impl Future<Output = Result<Bytes, ApiError>> + 'static {
    let declared = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<usize>().ok());
    let mut payload = payload.take();
    let quota = request.extensions().get::<Rc<RequestQuota>>().cloned();
    async move {
        if declared.is_some_and(|length| length > limit) {
            return Err(too_large(limit));
        }
        let mut body = Vec::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(broken)?;
            let length = body.len() + chunk.len();
            if length > limit {
                return Err(too_large(limit));
            }
            if body.capacity() < length {
                // As much as came, not as much as was announced: an announcement costs its sender nothing.
                let capacity =
                    length.next_power_of_two().clamp(INITIAL_CAPACITY_BYTES, limit.max(INITIAL_CAPACITY_BYTES));
                if let Some(quota) = &quota {
                    quota.grow_body(capacity)?;
                }
                body.reserve_exact(capacity - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Bytes::from(body))
    }
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(
        ErrorCode::PayloadTooLarge,
        format!("The body is larger than {limit} bytes, the most that is taken here."),
    )
}

fn broken(error: PayloadError) -> ApiError {
    match error {
        PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            ApiError::new(ErrorCode::RequestTimeout, "The body did not arrive in time; send the request again.")
        }
        error => ApiError::new(ErrorCode::InvalidRequest, "The body did not arrive whole; send the request again.")
            .with_detail(error),
    }
}
