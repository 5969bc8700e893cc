//! The two documents that a merchant's page frames: the card form, and the page in whose frame a bank checks the shopper. Their headers are the
//! wall around card data, so they are made here, for the Session at hand.

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, Resource, web};
use dropin_http::ApiError;
use dropin_usecases::payments::ShopperError;
use url::Url;

use crate::CheckoutDeps;

pub(crate) fn resource() -> Resource {
    web::resource("/v1/{page:frame|challenge}.html").route(web::get().to(document))
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Page {
    /// The card form: the only document that ever sees a card.
    Frame,
    /// Nests the bank's page during 3-D Secure; shows nothing of its own.
    Challenge,
}

impl Page {
    fn file(self) -> &'static str {
        match self {
            Self::Frame => "frame.html",
            Self::Challenge => "challenge.html",
        }
    }

    /// What the page may reach, beside its own files and calls: the stash, and where the wallet's payment sessions are; or the bank wherever it is.
    fn reach(self, deps: &CheckoutDeps) -> String {
        match self {
            Self::Frame => {
                let others = origins([&deps.stash_url, &deps.shopper.wallets.checkout_url]);
                format!("style-src 'self'; connect-src 'self' {others}")
            }
            Self::Challenge if deps.sandbox => "connect-src 'self'; frame-src http: https:".to_owned(),
            Self::Challenge => "connect-src 'self'; frame-src https:".to_owned(),
        }
    }
}

/// The origins of these addresses, each once.
fn origins(urls: [&str; 2]) -> String {
    let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin().ascii_serialization());
    let mut origins: Vec<_> = urls.into_iter().filter_map(origin).collect();
    origins.dedup();
    origins.join(" ")
}

#[derive(serde::Deserialize)]
struct Query {
    session: Option<String>,
    /// Present when the merchant's page is isolated from other origins, where only a document that says so itself may be framed. A bank
    /// nested in such a document comes without its cookies, so the others are spared it.
    isolated: Option<String>,
}

async fn document(
    deps: web::Data<CheckoutDeps>,
    page: web::Path<Page>,
    query: web::Query<Query>,
) -> Result<HttpResponse, ApiError> {
    let page = page.into_inner();
    let document = dropin_browser::asset(page.file())
        .ok_or_else(|| ApiError::internal("a document of the drop-in is missing from the bundle"))?;
    let ancestors = ancestors(&deps, query.session.as_deref()).await?;
    let policy = content_security_policy(&page.reach(&deps), &ancestors);
    let policy = HeaderValue::from_str(&policy)
        .map_err(|_odd| ApiError::internal("a registered origin cannot stand in a header"))?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, document.content_type))
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"))
        .insert_header((HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"));
    if page == Page::Frame || query.isolated.is_some() {
        response.insert_header((HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"));
    }
    Ok(response.body(document.bytes))
}

/// Who may frame the documents: the merchant's origins. An unknown Session has nothing to protect: the frame then only says so, to anybody.
/// Without a well-formed id nobody may.
async fn ancestors(deps: &CheckoutDeps, session: Option<&str>) -> Result<Vec<String>, ApiError> {
    let Some(id) = session.and_then(|text| text.parse().ok()) else { return Ok(vec!["'none'".to_owned()]) };
    match deps.shopper.view(id).await {
        Ok(view) => Ok(view.origins),
        Err(ShopperError::NotFound) => Ok(vec!["*".to_owned()]),
        Err(error) => Err(error.into()),
    }
}

fn content_security_policy(reach: &str, ancestors: &[String]) -> String {
    format!(
        "default-src 'none'; script-src 'self'; {reach}; base-uri 'none'; form-action 'none'; frame-ancestors {}; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        ancestors.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_reaches_the_stash_and_the_wallets_sessions_wherever_they_are() {
        assert_eq!(
            origins(["https://stash.example/in", "https://pay.example/checkout"]),
            "https://stash.example https://pay.example"
        );
        assert_eq!(origins(["http://127.0.0.1:8080/stash", "http://127.0.0.1:8080/checkout"]), "http://127.0.0.1:8080");
    }
}
