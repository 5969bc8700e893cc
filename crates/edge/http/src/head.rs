//! How much a request's head may hold, and how long.

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};

use crate::ApiError;
use crate::refusal::head_too_large;

/// Most headers of one request; actix' parser of HTTP/1.1 takes no more either.
const MAX_HEADERS: usize = 96;
/// Longest names and values together, in bytes; actix' parser of HTTP/1.1 takes no more either.
const MAX_HEADER_BYTES: usize = 128 * 1024;

/// Takes the headers away from a request that has too many or too long ones. Over HTTP/2 a quarter of a million headers fit into as many bytes
/// (RFC 7541 section 6.1) and would be kept for as long as the request's body may take.
///
/// # Errors
/// 400 INVALID_REQUEST, as over HTTP/1.1.
pub(crate) fn limit_headers(request: &mut ServiceRequest) -> Result<(), ApiError> {
    if fits(request.headers()) {
        detach(request);
        return Ok(());
    }
    *request.headers_mut() = HeaderMap::new();
    Err(head_too_large())
}

/// Gives every header of a request with a body memory of its own. They point into the buffer that the connection was read into, the body behind
/// them, and actix keeps the heads of requests that are over for those that come: a card in the body would stay in memory until then.
fn detach(request: &mut ServiceRequest) {
    let has_body = |headers: &HeaderMap| {
        headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
    };
    if !has_body(request.headers()) {
        return;
    }
    request.headers_mut().retain(|_, value| {
        let mut own = HeaderValue::from_bytes(value.as_bytes()).expect("the bytes of a header's value make one");
        own.set_sensitive(value.is_sensitive());
        *value = own;
        true
    });
}

fn fits(headers: &HeaderMap) -> bool {
    let (mut count, mut bytes) = (0, 0);
    headers.iter().all(|(name, value)| {
        count += 1;
        bytes += name.as_str().len() + value.len();
        count <= MAX_HEADERS && bytes <= MAX_HEADER_BYTES
    })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// Whether a request of so many headers passes, and how many are left of them.
    fn passes(count: usize, length: usize) -> (bool, usize) {
        let value = "v".repeat(length);
        let mut request = TestRequest::default();
        for _ in 0..count {
            request = request.append_header(("name", value.as_str()));
        }
        let mut request = request.to_srv_request();
        (limit_headers(&mut request).is_ok(), request.headers().len())
    }

    #[test]
    fn a_head_that_is_too_large_is_not_kept() {
        assert_eq!(
            [passes(0, 0), passes(MAX_HEADERS, 1), passes(MAX_HEADERS + 1, 1)],
            [(true, 0), (true, MAX_HEADERS), (false, 0)]
        );
        assert_eq!([passes(2, MAX_HEADER_BYTES / 2 - 4), passes(2, MAX_HEADER_BYTES / 2 - 3)], [(true, 2), (false, 0)]);
    }
}
