//! The payment methods that a merchant offers, for anybody to read (contract, getPaymentMethods; decisions.md section 7).

use std::hash::{DefaultHasher, Hasher};

use actix_web::http::header::{CACHE_CONTROL, ETAG, HeaderValue};
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, IfNoneMatch, Parameters};
use dropin_wire::catalogue::MethodsQuery;

use crate::MerchantDeps;

/// What is asked.
const NAMES: [&str; 5] = ["MerchantId", "Country", "Currency", "Amount", "Locale"];
/// An operator's change is seen by everybody within a minute.
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=60");

pub(crate) async fn list(
    deps: web::Data<MerchantDeps>,
    parameters: Parameters,
    known: IfNoneMatch,
) -> Result<HttpResponse, ApiError> {
    let given = NAMES.iter().map(|name| Ok((*name, parameters.find(name)?))).collect::<Result<Vec<_>, ApiError>>()?;
    let find = |name: &str| given.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
    let query = MethodsQuery::parse(find).map_err(ApiError::from)?;
    let body = deps.methods.list(&query).await?;
    let bytes =
        serde_json::to_vec(&body).map_err(|error| ApiError::internal(format!("cannot write a list: {error}")))?;
    let tag = tag_of(&bytes);
    let mut answer = if known.knows(&tag) {
        HttpResponse::NotModified().finish()
    } else {
        HttpResponse::Ok().content_type("application/json").body(bytes)
    };
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, KEEP);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        headers.insert(ETAG, tag);
    }
    Ok(answer)
}

/// The same for the same list, in every process of this release; another release at worst sends a list once more.
fn tag_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}
