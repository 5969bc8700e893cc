//! The card frame's document. Its headers are the wall around card data, so they are made here, for the Session at hand.

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, Resource, web};
use dropin_http::ApiError;
use dropin_usecases::payments::ShopperError;
use url::Url;

use crate::CheckoutDeps;

pub(crate) fn resource() -> Resource {
    web::resource("/v1/frame.html").route(web::get().to(frame))
}

#[derive(serde::Deserialize)]
struct Query {
    session: Option<String>,
}

async fn frame(deps: web::Data<CheckoutDeps>, query: web::Query<Query>) -> Result<HttpResponse, ApiError> {
    let document = dropin_browser::asset("frame.html")
        .ok_or_else(|| ApiError::internal("frame.html is missing from the bundle"))?;
    let policy = content_security_policy(&deps.stash_url, &ancestors(&deps, query.session.as_deref()).await?);
    let policy = HeaderValue::from_str(&policy)
        .map_err(|_odd| ApiError::internal("a registered origin cannot stand in a header"))?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, document.content_type))
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"))
        .insert_header((HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"))
        .body(document.bytes))
}

/// Who may frame the card form: the merchant's origins. An unknown Session has nothing to protect: the frame then only says so, to anybody.
/// Without a well-formed id nobody may.
async fn ancestors(deps: &CheckoutDeps, session: Option<&str>) -> Result<Vec<String>, ApiError> {
    let Some(id) = session.and_then(|text| text.parse().ok()) else { return Ok(vec!["'none'".to_owned()]) };
    match deps.shopper.view(id).await {
        Ok(view) => Ok(view.origins),
        Err(ShopperError::NotFound) => Ok(vec!["*".to_owned()]),
        Err(error) => Err(error.into()),
    }
}

fn content_security_policy(stash_url: &str, ancestors: &[String]) -> String {
    let stash = Url::parse(stash_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' {stash}; base-uri 'none'; form-action 'none'; \
         frame-ancestors {}; require-trusted-types-for 'script'; trusted-types 'none'",
        ancestors.join(" ")
    )
}
