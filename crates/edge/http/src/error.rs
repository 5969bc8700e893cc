use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use dropin_wire::{ErrorBody, ErrorCode, FieldError};

use crate::response::json;

/// Seconds after which a caller may try again when something of ours is away.
const RETRY_SECONDS: &str = "1";

/// An answer that is no success: the Error object (docs/SPECIFICATION.md#http-errors).
///
/// What went wrong inside stays in the log, beside the request id; it never reaches a body.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// For programs; decides the status too.
    pub code: ErrorCode,
    /// For people; says what to do.
    pub message: Cow<'static, str>,
    /// What is wrong with which field.
    pub field_errors: Vec<FieldError>,
    /// Headers of the answer, for example `Retry-After`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    detail: Option<String>,
}

impl ApiError {
    /// An error without field errors or headers.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), field_errors: Vec::new(), headers: Vec::new(), detail: None }
    }

    /// A defect or fault of ours: 500, with `detail` in the log only.
    pub fn internal(detail: impl fmt::Display) -> Self {
        let message = "Something went wrong on our side. Report the X-Request-Id of this answer if it happens again.";
        Self::new(ErrorCode::InternalServerError, message).with_detail(detail)
    }

    /// Something that is needed is away for now: 503 with `Retry-After`, `detail` in the log only.
    pub fn unavailable(detail: impl fmt::Display) -> Self {
        let message = "The service cannot do this right now and has changed nothing. Try again in a moment.";
        Self::new(ErrorCode::ServiceUnavailable, message).retry_soon().with_detail(detail)
    }

    /// Names the fields that are wrong.
    #[must_use]
    pub fn with_field_errors(mut self, field_errors: Vec<FieldError>) -> Self {
        self.field_errors = field_errors;
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What the log says of it; never a secret or card data.
    #[must_use]
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    pub(crate) fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Asks the caller to try again in a moment.
    #[must_use]
    pub fn retry_soon(self) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS))
    }

    /// Asks the caller to wait that long: whole seconds, at least one.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(0 < wait.subsec_nanos());
        self.with_header(RETRY_AFTER, seconds.max(1).into())
    }

    /// The Error object for an answer that some library gave with a body of its own, or none.
    pub(crate) fn for_status(status: StatusCode) -> Self {
        let (code, message) = match status.as_u16() {
            401 => (ErrorCode::AuthenticationRequired, "Send a user name and password."),
            403 => (ErrorCode::NotAuthorized, "This is not allowed here."),
            404 => (ErrorCode::NotFound, "There is nothing under this address."),
            405 => (
                ErrorCode::MethodNotAllowed,
                "This address does not take this method; the header Allow lists those it takes.",
            ),
            408 => (ErrorCode::RequestTimeout, "The request did not arrive in time; send it again."),
            413 => (ErrorCode::PayloadTooLarge, "The body is larger than this address takes."),
            415 => (ErrorCode::UnsupportedMediaType, "Expected content-type application/json."),
            429 => (ErrorCode::RateLimited, "Too many requests; wait as long as the header Retry-After says."),
            503 => (ErrorCode::ServiceUnavailable, "The service cannot do this right now. Try again in a moment."),
            500.. => return Self::internal("a library answered with a server error of its own"),
            _ => (ErrorCode::InvalidRequest, "The request cannot be understood."),
        };
        Self::new(code, message)
    }

    pub(crate) fn body(&self) -> ErrorBody {
        ErrorBody::new(self.code, self.message.as_ref()).with_field_errors(self.field_errors.clone())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = json(self.status_code(), &self.body());
        for (name, value) in &self.headers {
            answer.headers_mut().append(name.clone(), value.clone());
        }
        answer
    }
}
