//! Who may read an answer (Fetch standard, CORS protocol). By hand, because whom to admit depends on the merchant in the address.

use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use actix_web::{HttpRequest, HttpResponse};
use dropin_access::Merchant;
use dropin_http::ApiError;
use dropin_usecases::stash::Stashing;
use dropin_wire::ErrorCode;

/// Where a request comes from, as far as its browser says.
pub(crate) enum Visitor {
    /// No browser page.
    NoPage,
    /// A page of this origin.
    Page(HeaderValue),
}

impl Visitor {
    /// Reads Origin.
    ///
    /// # Errors
    /// No browser sends two: 403.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        let mut given = request.headers().get_all(ORIGIN);
        match (given.next(), given.next()) {
            (None, _) => Ok(Self::NoPage),
            (Some(origin), None) => Ok(Self::Page(origin.clone())),
            (Some(_), Some(_)) => Err(refused()),
        }
    }

    /// Whether a page of the asset origin asks, which may read every answer: also those given before the merchant is known.
    pub(crate) fn is_card_frame(&self, stashing: &Stashing) -> bool {
        matches!(self, Self::Page(origin) if origin == stashing.asset_origin.as_str())
    }

    /// Lets requests without a page pass, and pages that may stash for `merchant`.
    ///
    /// # Errors
    /// 403 NOT_AUTHORIZED.
    pub(crate) fn admit(&self, stashing: &Stashing, merchant: &Merchant) -> Result<(), ApiError> {
        match self {
            Self::NoPage => Ok(()),
            Self::Page(origin) if origin.to_str().is_ok_and(|origin| stashing.admits(merchant, origin)) => Ok(()),
            Self::Page(_) => Err(refused()),
        }
    }

    /// Lets the page read `response`.
    pub(crate) fn may_read(&self, mut response: HttpResponse) -> HttpResponse {
        if let Self::Page(origin) = self {
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Request-Id, Retry-After"));
        }
        response
    }
}

fn refused() -> ApiError {
    let message =
        "Pages of this origin may not stash cards for this merchant; register the origin with the merchant's account.";
    ApiError::new(ErrorCode::NotAuthorized, message)
}

/// Caches must not give one page's answer to another.
pub(crate) fn vary(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(VARY, HeaderValue::from_static("Origin"));
    response
}

/// What a page may send, kept by its browser for ten minutes.
pub(crate) fn allow(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Content-Type, X-Request-Id"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}
