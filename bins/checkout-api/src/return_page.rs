//! Where a hosted page sends the shopper back to. It is a page for people: it sends them on to the merchant, or says what to do.

use std::collections::HashMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, Resource, web};
use dropin_browser::Language;
use dropin_http::{ApiError, PathId};
use dropin_kernel::OrderId;
use dropin_usecases::payments::{ReturnDestination, ShopperError};
use dropin_wire::ErrorCode;
use url::Url;

use crate::CheckoutDeps;

/// How long the shopper looks at an empty page before being told to wait.
const MAX_RESULT_WAIT: Duration = Duration::from_secs(3);

/// Most languages of a browser that are looked for.
const MAX_LANGUAGES: usize = 16;

pub(crate) fn resource() -> Resource {
    web::resource("/v1/return/{OrderId}").route(web::get().to(show))
}

async fn show(
    deps: web::Data<CheckoutDeps>,
    request: HttpRequest,
    PathId(order): PathId<OrderId>,
) -> Result<HttpResponse, ApiError> {
    let framed = request.headers().get("sec-fetch-dest").is_some_and(|dest| dest == "iframe");
    let (shopper, wait) = (deps.shopper.clone(), if framed { Duration::ZERO } else { MAX_RESULT_WAIT });
    let way =
        deps.flows.run(async move { shopper.return_shopper(order, wait).await }).await?.map_err(
            |error| match error {
                ShopperError::NotFound => {
                    ApiError::new(ErrorCode::OrderNotFound, "There is no payment under this address.")
                }
                error @ ShopperError::Store(_) => error.into(),
            },
        )?;
    Ok(match way {
        _ if framed => done(&request),
        ReturnDestination::To(url) => {
            // As it was written it may hold what no header can carry (WHATWG URL).
            let url = Url::parse(&url).map_or(url, String::from);
            answer(StatusCode::SEE_OTHER).insert_header((header::LOCATION, url)).finish()
        }
        ReturnDestination::Waiting => waiting(&request),
    })
}

/// Says in the shopper's language, as far as the drop-in has it, that there is nothing left to do on this page.
fn done(request: &HttpRequest) -> HttpResponse {
    let translations = translations_for(request);
    page(StatusCode::OK, &translations, &format!("<p>{}</p>", escaped(translations.text("pageDone"))))
}

/// Says in the shopper's language, as far as the drop-in has it, that the payment is being checked; and asks again.
fn waiting(request: &HttpRequest) -> HttpResponse {
    let translations = translations_for(request);
    let [title, text] = ["checkingTitle", "checkingText"].map(|name| escaped(translations.text(name)));
    page(
        StatusCode::OK,
        &translations,
        &format!("<meta http-equiv=\"refresh\" content=\"2\">\n<h1>{title}</h1>\n<p>{text}</p>"),
    )
}

/// The drop-in's texts in one language.
pub(crate) struct Translations {
    language: &'static Language,
    all: HashMap<String, String>,
}

impl Translations {
    fn of(language: &'static Language) -> Self {
        Self { language, all: serde_json::from_str(language.texts).unwrap_or_default() }
    }

    /// The text with this name. Every language has all of them, which the drop-in's own tests see to.
    pub(crate) fn text<'a>(&'a self, name: &'a str) -> &'a str {
        self.all.get(name).map_or(name, String::as_str)
    }
}

/// The texts in the first of the browser's languages that the drop-in has; English where it has none.
pub(crate) fn translations_for(request: &HttpRequest) -> Translations {
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let named =
        accepted.split(',').take(MAX_LANGUAGES).find_map(|one| dropin_browser::language(one.split(';').next()?.trim()));
    Translations::of(named.unwrap_or_else(dropin_browser::english))
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

pub(crate) fn page(status: StatusCode, translations: &Translations, content: &str) -> HttpResponse {
    let Language { tag, is_right_to_left, .. } = translations.language;
    let direction = if *is_right_to_left { "rtl" } else { "ltr" };
    let title = escaped(translations.text("pageTitle"));
    let page = format!(
        "<!doctype html>\n<html lang=\"{tag}\" dir=\"{direction}\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n{content}\n"
    );
    answer(status).insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8")).body(page)
}

/// Nothing of it is kept, learns where the shopper came from, or can run; it may stand inside a page that is cross-origin isolated.
fn answer(status: StatusCode) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; base-uri 'none'; form-action 'none'"))
        .insert_header((HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"));
    answer
}
