//! The wallet: payment sessions for pages with its button, and the file that proves our own address.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, ORIGIN, VARY,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_http::{ApiError, PathId, client_key, count_wallet, only_known_query};
use dropin_kernel::MerchantId;
use dropin_usecases::wallet::{AssociationFile, WalletSessionAsk, WalletSessionError};
use dropin_wire::ErrorCode;
use url::form_urlencoded;

use crate::MerchantDeps;

/// Longest query that is looked at, in bytes; what a page sends has two hundred.
const MAX_QUERY_BYTES: usize = 4_096;

/// Asks the wallet's provider for a payment session. A page of an origin that the merchant registered may read every answer, others none.
pub(crate) async fn session(
    request: HttpRequest,
    deps: web::Data<MerchantDeps>,
    id: Result<PathId<MerchantId>, ApiError>,
) -> HttpResponse {
    let mut readable = None;
    let outcome = async {
        only_known_query(&request)?;
        let origin = origin(&request)?;
        let merchant = deps.wallets.merchant(id?.0).await?;
        readable = origin.filter(|origin| deps.wallets.admits(&merchant, origin));
        // With an Origin too: any program can send one.
        count_wallet(&request, merchant.id)?;
        let ask = WalletSessionAsk { client: client_key(&request), ..ask(request.query_string())? };
        let session = deps.wallets.start(&merchant, origin, &ask).await?;
        Ok::<_, ApiError>(answer(session))
    }
    .await;
    // From the error itself, so that the log has its detail.
    let mut response = outcome.unwrap_or_else(HttpResponse::from_error);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(origin) = readable.and_then(|origin| HeaderValue::from_str(origin).ok()) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Request-Id, Retry-After"));
    }
    response
}

/// The page's origin; no browser sends two, or one that is no text.
fn origin(request: &HttpRequest) -> Result<Option<&str>, WalletSessionError> {
    let mut given = request.headers().get_all(ORIGIN);
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(origin), None) => origin.to_str().map(Some).map_err(|_no_text| WalletSessionError::Origin),
        (Some(_), Some(_)) => Err(WalletSessionError::Origin),
    }
}

/// Decoded once.
fn ask(query: &str) -> Result<WalletSessionAsk, ApiError> {
    if MAX_QUERY_BYTES < query.len() {
        return Err(ApiError::new(
            ErrorCode::InvalidRequest,
            "The query is too long; send validationURL and displayName.",
        ));
    }
    let mut ask = WalletSessionAsk::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "validationURL" => ask.validation_url.push(value.into_owned()),
            "displayName" => ask.display_name.push(value.into_owned()),
            "domainName" => ask.domain_name.push(value.into_owned()),
            _ => {}
        }
    }
    Ok(ask)
}

/// The provider's bytes.
fn answer(session: Vec<u8>) -> HttpResponse {
    HttpResponse::build(StatusCode::OK).insert_header((CONTENT_TYPE, "application/json")).body(session)
}

/// Where the wallet's provider looks for the file of our own address.
pub(crate) fn association_resource() -> Resource {
    web::resource("/.well-known/apple-developer-merchantid-domain-association").route(web::get().to(association))
}

async fn association(file: web::Data<AssociationFile>) -> Result<HttpResponse, ApiError> {
    let text = file.text().await?.ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            "No association file is registered for this address; `dropin wallet domain add` registers one.",
        )
    })?;
    let mut response = HttpResponse::Ok();
    response.insert_header((CONTENT_TYPE, "text/plain")).insert_header((CACHE_CONTROL, "public, max-age=300"));
    Ok(response.body(text))
}
