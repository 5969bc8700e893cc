//! Where a hosted page sends the shopper back to. It is a page for people: it sends them on to the merchant, or says what to do.

use std::collections::HashMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, Resource, web};
use dropin_http::{ApiError, PathId};
use dropin_kernel::OrderId;
use dropin_usecases::payments::{ShopperError, WayBack};
use dropin_wire::ErrorCode;
use url::Url;

use crate::CheckoutDeps;

/// How long the shopper looks at an empty page before being told to wait.
const PATIENCE: Duration = Duration::from_secs(3);

/// Inside the drop-in's dialog, which closes by itself.
const DONE: &str = "<p>Thank you. You can close this.</p>";
/// On the top page, where the bundle has no words in a language of the shopper's; it asks again.
const WAITING: [&str; 2] =
    ["Your payment is being checked", "Please wait, and do not pay again: the result appears as soon as it is known."];
/// Most languages of a browser that are looked for.
const MOST_LANGUAGES: usize = 16;

pub(crate) fn resource() -> Resource {
    web::resource("/v1/return/{OrderId}").route(web::get().to(back))
}

async fn back(
    deps: web::Data<CheckoutDeps>,
    request: HttpRequest,
    PathId(order): PathId<OrderId>,
) -> Result<HttpResponse, ApiError> {
    let framed = request.headers().get("sec-fetch-dest").is_some_and(|dest| dest == "iframe");
    let (shopper, wait) = (deps.shopper.clone(), if framed { Duration::ZERO } else { PATIENCE });
    let way =
        deps.flows.run(async move { shopper.came_back(order, wait).await }).await?.map_err(|error| match error {
            ShopperError::NotFound => {
                ApiError::new(ErrorCode::OrderNotFound, "There is no payment under this address.")
            }
            error @ ShopperError::Store(_) => error.into(),
        })?;
    Ok(match way {
        _ if framed => page("en", DONE),
        WayBack::To(url) => {
            // As it was written it may hold what no header can carry (WHATWG URL).
            let url = Url::parse(&url).map_or(url, String::from);
            answer(StatusCode::SEE_OTHER).insert_header((header::LOCATION, url)).finish()
        }
        WayBack::Waiting => waiting(&request),
    })
}

/// Says in the shopper's language, as far as the drop-in has it, that the payment is being checked; and asks again.
fn waiting(request: &HttpRequest) -> HttpResponse {
    let languages =
        request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or("en");
    let (language, [title, text]) = languages
        .split(',')
        .take(MOST_LANGUAGES)
        .find_map(|one| words(one.split(';').next()?.trim()))
        .unwrap_or_else(|| ("en".to_owned(), WAITING.map(str::to_owned)));
    page(
        &language,
        &format!(
            "<meta http-equiv=\"refresh\" content=\"2\">\n<h1>{}</h1>\n<p>{}</p>",
            escaped(&title),
            escaped(&text)
        ),
    )
}

/// The drop-in's own words in a language that a browser names, for example `de-AT`: in its exact form, else in that of all lands.
fn words(named: &str) -> Option<(String, [String; 2])> {
    let plain = named.split('-').next()?.to_ascii_lowercase();
    let exact = named.replace('-', "_");
    let found = [exact, plain]
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .find_map(|name| dropin_browser::asset(&format!("locales/{name}.json")).map(|file| (name, file)));
    let (name, file) = found?;
    let mut all: HashMap<String, String> = serde_json::from_slice(file.bytes).ok()?;
    Some((name.replace('_', "-"), [all.remove("checkingTitle")?, all.remove("checkingText")?]))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn page(language: &str, content: &str) -> HttpResponse {
    let direction =
        if ["ar", "fa", "he", "ur"].iter().any(|right| language.starts_with(right)) { "rtl" } else { "ltr" };
    let page = format!(
        "<!doctype html>\n<html lang=\"{language}\" dir=\"{direction}\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Payment</title>\n{content}\n"
    );
    answer(StatusCode::OK).insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8")).body(page)
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
