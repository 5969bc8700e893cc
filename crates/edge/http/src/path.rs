use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use dropin_wire::ErrorCode;

use crate::ApiError;

/// The identifier in the address: its only path parameter, or the last one. 400 VALIDATION_ERROR when it is not one.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(
    /// The identifier.
    pub T,
);

/// The two identifiers in the address: of a thing, and of one that belongs to it. 400 VALIDATION_ERROR when either is none.
#[derive(Debug, Clone, Copy)]
pub struct PathIds<T, U>(
    /// The first.
    pub T,
    /// The second.
    pub U,
);

impl<T: FromStr + 'static> FromRequest for PathId<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let text = request.match_info().iter().last().map_or("", |(_, value)| value);
        ready(id(text).map(Self))
    }
}

impl<T: FromStr + 'static, U: FromStr + 'static> FromRequest for PathIds<T, U> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut texts = request.match_info().iter().map(|(_, value)| value);
        let mut next = || texts.next().unwrap_or_default();
        let (first, second) = (next(), next());
        ready(id(first).and_then(|first| Ok(Self(first, id(second)?))))
    }
}

fn id<T: FromStr>(text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|_not_an_id| {
        ApiError::new(
            ErrorCode::ValidationError,
            "The identifier in the address is not a valid UUID; use it exactly as it was given to you.",
        )
    })
}
