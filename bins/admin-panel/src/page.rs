//! Answers: pages of HTML, redirects after a form, and the headers that all of them have.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY};
use actix_web::middleware::DefaultHeaders;
use askama::Template;

/// Nothing is loaded but our own style and icon, nothing runs, forms go to this origin alone, and no page frames ours.
pub(crate) const SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The same for a page that shows at once what changes: one script of ours runs, and asks this origin alone.
pub(crate) const LIVE_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every answer of the panel, also of those that say that there is nothing.
pub(crate) fn headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add((CONTENT_SECURITY_POLICY, SECURITY_POLICY))
        .add((REFERRER_POLICY, "no-referrer"))
        .add((HeaderName::from_static("x-frame-options"), "DENY"))
        .add((HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .add((HeaderName::from_static("cross-origin-resource-policy"), "same-origin"))
        .add((HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=(), payment=()"))
}

/// A page. No browser and nothing between keeps it.
pub(crate) fn html(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(text) => HttpResponse::build(status)
            .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
            .insert_header(("cache-control", "no-store"))
            .body(text),
        Err(error) => {
            log::error!("a page of the admin panel cannot be written: {error}");
            HttpResponse::InternalServerError()
                .content_type("text/html; charset=utf-8")
                .body("<!doctype html><title>Error</title>")
        }
    }
}

/// To another page of the panel, so that a reload sends no form again. `path` is of ours, never of a request.
pub(crate) fn see(path: impl AsRef<str>) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, path.as_ref())).finish()
}

/// Whether a path leads to a page of the panel and nowhere else: a browser reads `//host` and `/\host` as another host's address.
pub(crate) fn is_own_path(path: &str) -> bool {
    let rest = path.strip_prefix('/');
    let begins_well = rest.is_some_and(|rest| !rest.starts_with(['/', '\\']));
    begins_well && path.bytes().all(|byte| (b'!'..=b'~').contains(&byte) && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_of_another_host_is_a_path() {
        for own in ["/", "/orders?state=PROCESSED&after=1.2", "/orders/x#y", "/find?q=a//b"] {
            assert!(is_own_path(own), "{own}");
        }
        for other in [
            "",
            "x",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/\t/evil.example",
            "/\n//x",
            "javascript:1",
            "/a\\b",
            "/é",
        ] {
            assert!(!is_own_path(other), "{other}");
        }
    }
}
