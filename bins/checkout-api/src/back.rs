//! Where a hosted page sends the shopper back to. It is a page for people: it sends them on to the merchant, or says what to do.

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
/// On the top page; it asks again.
const WAITING: &str = "<meta http-equiv=\"refresh\" content=\"2\">\n<p>Your payment is being checked. Please wait, and do not pay again.</p>";

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
        _ if framed => page(DONE),
        WayBack::To(url) => {
            // As it was written it may hold what no header can carry (WHATWG URL).
            let url = Url::parse(&url).map_or(url, String::from);
            answer(StatusCode::SEE_OTHER).insert_header((header::LOCATION, url)).finish()
        }
        WayBack::Waiting => page(WAITING),
    })
}

fn page(content: &str) -> HttpResponse {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
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
