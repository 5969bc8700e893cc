//! Requests that are repeated (Idempotency-Key) and requests that change only what was seen (If-Match), over HTTP.

mod captures;
mod keys;
mod races;
mod versions;

use crate::common::{Answer, Api, User};
use actix_web::http::Method;

/// A request with a key.
async fn keyed(api: &Api, user: &User, method: Method, path: &str, key: &str, body: &str) -> Answer {
    api.send(Some(user), method, path, &[("idempotency-key", key)], body).await
}

/// The answer to a request that was executed itself.
#[track_caller]
fn is_fresh(answer: &Answer, status: u16) {
    assert_eq!((answer.status, answer.header("idempotent-replayed")), (status, ""), "{answer:?}");
}

/// The answer of `first` once more: byte for byte, marked, and under a request id of its own.
#[track_caller]
fn is_replay(answer: &Answer, first: &Answer) {
    assert_eq!((answer.status, answer.header("idempotent-replayed")), (first.status, "true"), "{answer:?}");
    assert_eq!(answer.text, first.text);
    for header in ["etag", "content-type"] {
        assert_eq!(answer.header(header), first.header(header), "{header}");
    }
    let id = answer.header("x-request-id");
    assert!(!id.is_empty() && id != first.header("x-request-id"), "{answer:?}");
}
