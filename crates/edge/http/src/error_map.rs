//! The one map from what goes wrong inside to what a caller is told. Every match names every case.

use dropin_kernel::Violation;
use dropin_ports::StoreError;
use dropin_usecases::access::AuthenticateError;
use dropin_wire::{ErrorCode, FieldError, RequestError};

use crate::ApiError;
use crate::caller;
use crate::flows::FlowError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) => Self::unavailable(error),
            StoreError::OutcomeUnknown => Self::new(
                ErrorCode::OutcomeUnknown,
                "It could not be learned in time whether this was done. It is safe to send the same request again.",
            )
            .retry_soon()
            .with_detail(error),
            StoreError::Corrupt { .. } | StoreError::Refused(_) => Self::internal(error),
        }
    }
}

impl From<FlowError> for ApiError {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Stopping => Self::unavailable(error),
            FlowError::Panicked => Self::internal(error),
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Malformed(why) => Self::new(ErrorCode::InvalidRequest, why),
            RequestError::Fields(violations) => fields(violations),
        }
    }
}

impl From<AuthenticateError> for ApiError {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::Invalid => caller::invalid(),
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

/// 400 INVALID_REQUEST that names the fields.
fn fields(violations: Vec<Violation>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "The request is not valid; FieldErrors names what to change.")
        .with_field_errors(violations.into_iter().map(FieldError::from).collect())
}
