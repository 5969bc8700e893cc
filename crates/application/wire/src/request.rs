use dropin_kernel::{Violation, Violations};

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
