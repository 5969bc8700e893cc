use dropin_kernel::{Violation, Violations};

use crate::error::{ErrorBody, ErrorCode, FieldError};

/// Why a request body is refused; answered as 400 INVALID_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is no strict JSON object; the text says where and why.
    #[error("{0}")]
    Malformed(String),
    /// Its fields are wrong: all of them, sorted by path.
    #[error("{} fields are wrong", .0.len())]
    Fields(Vec<Violation>),
}

impl RequestError {
    /// The answer.
    pub fn body(&self) -> ErrorBody {
        match self {
            Self::Malformed(why) => ErrorBody::new(ErrorCode::InvalidRequest, why.as_str()),
            Self::Fields(violations) => {
                let fields = violations.iter().cloned().map(FieldError::from).collect();
                ErrorBody::new(ErrorCode::InvalidRequest, "The request is not valid; FieldErrors names what to change.")
                    .with_field_errors(fields)
            }
        }
    }
}

impl From<Violations> for RequestError {
    fn from(violations: Violations) -> Self {
        Self::Fields(violations.into_sorted())
    }
}

impl From<Violation> for RequestError {
    fn from(violation: Violation) -> Self {
        Self::Fields(vec![violation])
    }
}
