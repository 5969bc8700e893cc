//! The two documents that a merchant's page frames: the card form, and the page in whose frame a bank checks the shopper. Their headers are the
//! wall around card data, so they are made here, for the Session at hand. The card form's document carries the Session's view, which spares the
//! shopper a request, and says which language they get.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_access::Origin;
use dropin_browser::Asset;
use dropin_http::{ApiError, PathId, json};
use dropin_kernel::SessionId;
use dropin_usecases::payments::ShopperError;
use dropin_wire::ErrorCode;
use dropin_wire::shopper::{EmbeddableBody, ShopperViewBody};
use serde::Serialize;
use url::Url;

use crate::CheckoutDeps;
use crate::shopper::{no_store, view_body};

/// Of the languages that a drop-in names, no more are looked at.
const MAX_LANGUAGES: usize = 16;

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
                let others = origins([&deps.stash_url, deps.shopper.wallets.checkout_url()]);
                format!("connect-src 'self' {others}")
            }
            Self::Challenge if deps.shopper.sandbox => "connect-src 'self'; frame-src http: https:".to_owned(),
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
    /// The languages that the shopper may read, the best first, with commas between them.
    locale: Option<String>,
    /// Present when the merchant's page is isolated from other origins, where only a document that says so itself may be framed. A bank
    /// nested in such a document comes without its cookies, so the others are spared it.
    isolated: Option<String>,
}

async fn document(
    request: HttpRequest,
    deps: web::Data<CheckoutDeps>,
    page: web::Path<Page>,
    query: web::Query<Query>,
) -> Result<HttpResponse, ApiError> {
    let page = page.into_inner();
    let document = dropin_browser::asset(page.file())
        .ok_or_else(|| ApiError::internal("a document of the drop-in is missing from the bundle"))?;
    let template = std::str::from_utf8(document.bytes).map_err(ApiError::internal)?;
    let Content { ancestors, view } = content(&deps, query.session.as_deref(), embedder(&request).as_deref()).await?;
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
    Ok(response.body(filled(template, query.locale.as_deref().unwrap_or_default(), &view)?))
}

/// The document with its language, where the texts in it are (so that the browser asks for them at once), and the Session's view.
fn filled(template: &str, languages: &str, view: &str) -> Result<String, ApiError> {
    let locale = dropin_browser::locale(languages.split(',').take(MAX_LANGUAGES))
        .ok_or_else(|| ApiError::internal("the bundle has no texts"))?;
    let address = |texts: &Asset| format!("{}?{}", texts.path, texts.fingerprint);
    Ok(template
        .replace("{{lang}}", &locale.format)
        .replace("{{dir}}", if locale.is_right_to_left { "rtl" } else { "ltr" })
        .replace("{{texts}}", &address(locale.form_texts))
        .replace("{{outcomes}}", &address(locale.outcome_texts))
        // Last, so that nothing in it is taken for one of the others.
        .replace("{{session}}", view))
}

/// A document of the drop-in in English, by its file, as it is sent to whoever names no Session; `None` of a file that is no document.
#[must_use]
pub fn document_without_session(file: &str) -> Option<String> {
    let page = [Page::Frame, Page::Challenge].into_iter().find(|page| page.file() == file)?;
    let template = std::str::from_utf8(dropin_browser::asset(page.file())?.bytes).ok()?;
    filled(template, "", &embedded(&UNKNOWN_SESSION).ok()?).ok()
}

/// The origin of the page that asks for the document, as far as its browser tells.
fn embedder(request: &HttpRequest) -> Option<String> {
    let referer = Url::parse(request.headers().get(header::REFERER)?.to_str().ok()?).ok()?;
    Some(referer.origin().ascii_serialization())
}

/// What a document says, and to whom.
struct Content {
    /// Origins whose pages may frame it.
    ancestors: Vec<String>,
    /// JSON for a `script` element: the Session's view, or why there is none.
    view: String,
}

/// In place of a view.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    code: &'static str,
    message: &'static str,
}

impl Refusal {
    /// A document without a Session has no form and so nothing to protect. Any page may frame it, so that the drop-in there can say why.
    fn for_anybody(self) -> Result<Content, ApiError> {
        Ok(Content { ancestors: vec!["*".to_owned()], view: embedded(&self)? })
    }
}

const UNKNOWN_SESSION: Refusal =
    Refusal { code: "SESSION_NOT_FOUND", message: "There is no Session with this SessionId." };
const FOREIGN_ORIGIN: Refusal = Refusal {
    code: "ORIGIN_NOT_ALLOWED",
    message: "The page's origin is not registered for the merchant of this Session.",
};

/// The form is framed by pages of the merchant alone, which the browser sees to. Where it says beforehand that the page is another's, that
/// page gets a document without the Session instead of one that its browser would refuse without a word.
async fn content(deps: &CheckoutDeps, session: Option<&str>, embedder: Option<&str>) -> Result<Content, ApiError> {
    let Some(id) = session.and_then(|text| text.parse().ok()) else { return UNKNOWN_SESSION.for_anybody() };
    match deps.shopper.view(id).await {
        Ok(view) if embedder.is_some_and(|page| !view.origins.iter().any(|origin| origin == page)) => {
            FOREIGN_ORIGIN.for_anybody()
        }
        Ok(view) => {
            let body: ShopperViewBody<'_> = view_body(deps, &view);
            Ok(Content { view: embedded(&body)?, ancestors: view.origins.clone() })
        }
        Err(ShopperError::NotFound) => UNKNOWN_SESSION.for_anybody(),
        Err(error) => Err(error.into()),
    }
}

/// JSON that ends no `script` element that it stands in.
fn embedded(value: &impl Serialize) -> Result<String, ApiError> {
    Ok(serde_json::to_string(value).map_err(ApiError::internal)?.replace('<', "\\u003c"))
}

fn content_security_policy(reach: &str, ancestors: &[String]) -> String {
    format!(
        "default-src 'none'; script-src 'self'; {reach}; base-uri 'none'; form-action 'none'; frame-ancestors {}; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        if ancestors.is_empty() { "'none'".to_owned() } else { ancestors.join(" ") }
    )
}

/// Tells a page whether it may embed the drop-in for a Session. A browser that refuses a frame for its `frame-ancestors` tells the page nothing:
/// without this, the drop-in could only wait for a frame that never speaks.
pub(crate) async fn embeddable(
    request: HttpRequest,
    deps: web::Data<CheckoutDeps>,
    id: Result<PathId<SessionId>, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let id = id.map_err(|_no_id| ShopperError::NotFound)?.0;
    let allowed = deps.shopper.embedding_origins(id).await?;
    let origin = page_origin(&request, &deps.shopper.return_base);
    if !origin.is_some_and(|origin| allowed.iter().any(|allowed| allowed == origin.as_str())) {
        let message = "Pages of this origin may not embed the drop-in for this Session: register the origin with the merchant's account \
            (dropin merchant set MERCHANT_ID --origin ..., repeated for every origin of the shop: the list is replaced).";
        return Err(ApiError::new(ErrorCode::OriginNotAllowed, message));
    }
    Ok(no_store(json(StatusCode::OK, &EmbeddableBody::allowed())))
}

/// The origin of the page that asks. Browsers leave the header out where the page is of the origin that is asked.
fn page_origin(request: &HttpRequest, asset_url: &str) -> Option<Origin> {
    let mut given = request.headers().get_all(header::ORIGIN);
    match (given.next(), given.next()) {
        (None, _) => Origin::parse(&Url::parse(asset_url).ok()?.origin().ascii_serialization()).ok(),
        (Some(origin), None) => Origin::parse(origin.to_str().ok()?).ok(),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merchants_name_ends_no_element_of_the_document() {
        let text = embedded(&serde_json::json!({"MerchantName": "</script><!--"})).expect("JSON");
        assert_eq!(text, r#"{"MerchantName":"\u003c/script>\u003c!--"}"#);
    }

    #[test]
    fn a_document_has_its_language_and_where_the_texts_in_it_are() {
        let template = "{{lang}} {{dir}} {{texts}} {{outcomes}} {{session}}";
        for (languages, start, tag) in [
            ("de_AT,en", "de-AT ltr", "de"),
            ("xx_YY,ar_EG", "ar-EG rtl", "ar"),
            ("en_XA", "en-XA ltr", "en-XA"),
            ("", "en ltr", "en"),
            ("\"><script>,no", "nb ltr", "nb"),
        ] {
            let [texts, outcomes] = ["locales", "outcomes"].map(|folder| format!("{folder}/{tag}.json"));
            let named = |path: &str| dropin_browser::asset(path).map(|asset| format!("{path}?{}", asset.fingerprint));
            let expected =
                [named(&texts), named(&outcomes)].map(|address| address.expect("part of the bundle")).join(" ");
            let document = filled(template, languages, "{{lang}}").expect("there is English");
            assert_eq!(document, format!("{start} {expected} {{{{lang}}}}"), "{languages}");
        }
    }

    #[test]
    fn the_form_reaches_the_stash_and_the_wallets_sessions_wherever_they_are() {
        assert_eq!(
            origins(["https://stash.example/in", "https://pay.example/checkout"]),
            "https://stash.example https://pay.example"
        );
        assert_eq!(origins(["http://127.0.0.1:8080/stash", "http://127.0.0.1:8080/checkout"]), "http://127.0.0.1:8080");
    }
}
