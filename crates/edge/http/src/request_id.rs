use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage, HttpRequest};
use uuid::Builder;

/// The name of the header.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Longest identifier that is taken over from a caller.
const MAX_LENGTH: usize = 128;

/// Names one request in answers and logs: the caller's own `X-Request-Id` when it is sane, else a new UUID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Rc<str>);

impl RequestId {
    /// The identifier of a request; empty outside a [`Server`](crate::Server).
    pub fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_else(|| Self("".into()))
    }

    /// The identifier as text: 1 to 128 of `A-Za-z0-9._-`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn choose(headers: &HeaderMap) -> Self {
        match headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(|text| is_sane(text)) {
            Some(text) => Self(text.into()),
            None => Self(new_uuid().into()),
        }
    }

    pub(crate) fn to_header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("letters, digits and punctuation make a header value")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Unique, which is all that a name in a log has to be; nobody gains by guessing it.
fn new_uuid() -> String {
    let mut bytes = [0; 16];
    for half in bytes.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0).to_ne_bytes());
    }
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn is_sane(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_identifiers_differ() {
        let (one, other) = (new_uuid(), new_uuid());
        assert!(one != other && is_sane(&one), "{one} {other}");
    }

    #[test]
    fn sane_identifiers_are_short_and_plain() {
        for good in ["a", "7f-3_x.Y", &"a".repeat(128)] {
            assert!(is_sane(good), "{good}");
        }
        for bad in ["", "a b", "a\"b", "ä", &"a".repeat(129)] {
            assert!(!is_sane(bad), "{bad}");
        }
    }
}
