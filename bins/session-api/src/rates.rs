//! Exchange rates, for the merchant's pages (docs/SPECIFICATION.md#rates).

use actix_web::http::header::{CACHE_CONTROL, ContentType, ETAG, WARNING};
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, IfNoneMatch, Parameters};
use dropin_kernel::{MerchantId, ParseIdError};
use dropin_usecases::rates::{RatesError, RatesShown};

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    known: IfNoneMatch,
    parameters: Parameters,
) -> Result<HttpResponse, ApiError> {
    let merchant = parameters.require("merchantId")?;
    // A malformed id names no merchant.
    let merchant: MerchantId = merchant.parse().map_err(|ParseIdError| RatesError::MerchantNotFound)?;
    let shown = deps.rates.show(merchant).await?;
    Ok(answer(&shown, &known, deps.rates.keeps(&shown)))
}

fn answer(shown: &RatesShown, known: &IfNoneMatch, seconds: u64) -> HttpResponse {
    let is_known = known.knows(&shown.tag);
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    answer.insert_header((ETAG, format!("\"{}\"", shown.tag)));
    answer.insert_header((CACHE_CONTROL, format!("public, max-age={seconds}")));
    if let Some(day) = shown.stale {
        // RFC 7234 section 5.5.1: 110 says that the answer is stale.
        answer.insert_header((WARNING, format!("110 dropin \"the exchange rates are those of {day}\"")));
    }
    if is_known { answer.finish() } else { answer.content_type(ContentType::json()).body(shown.body.clone()) }
}
