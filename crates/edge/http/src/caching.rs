//! Public answers that caches keep for a while, and recognise by what they say.

use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, ContentType, ETAG, HeaderValue};
use serde::Serialize;

use crate::{ApiError, IfNoneMatch};

/// 304 when the caller has just this already, else 200 with `body`; every cache may keep it for `max_age`. The entity tag is of what the body says:
/// the same in every process of a release, and at worst another in the next one, which sends it once more.
///
/// # Errors
/// 500 when it cannot be written.
pub fn cacheable_json<T: Serialize>(
    known: &IfNoneMatch,
    max_age: Duration,
    body: &T,
) -> Result<HttpResponse, ApiError> {
    let bytes =
        serde_json::to_vec(body).map_err(|error| ApiError::internal(format!("cannot write a body: {error}")))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let tag = format!("{:016x}", hasher.finish());
    let mut answer = match known.knows(&tag) {
        true => HttpResponse::NotModified().finish(),
        false => HttpResponse::Ok().content_type(ContentType::json()).body(bytes),
    };
    let values = [(ETAG, format!("\"{tag}\"")), (CACHE_CONTROL, format!("public, max-age={}", max_age.as_secs()))];
    for (name, value) in values {
        // Digits and letters are a header's value.
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.headers_mut().insert(name, value);
        }
    }
    Ok(answer)
}
