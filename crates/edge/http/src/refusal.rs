//! Answers that are given without actix, before or in place of its own.

use std::time::SystemTime;

use actix_web::ResponseError;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HttpDate};
use dropin_wire::ErrorCode;

use crate::ApiError;
use crate::request_id::RequestId;

/// Longest head of an answer of actix' own that is looked for, in bytes.
const MAX_HEAD_BYTES: usize = 512;

/// A whole HTTP/1.1 answer with the Error object, after which the connection is closed.
pub(crate) fn closing_answer(error: &ApiError) -> Vec<u8> {
    let status = error.status_code();
    let body = serde_json::to_vec(&error.body()).unwrap_or_default();
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-request-id: {}\r\ndate: {}\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        body.len(),
        RequestId::choose(&HeaderMap::new()),
        HttpDate::from(SystemTime::now()),
    )
    .into_bytes();
    for (name, value) in &error.headers {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    [&head, &b"\r\n"[..], &body].concat()
}

/// What is told to a client that has as many connections as it may.
pub(crate) fn too_many_connections(limit: usize) -> ApiError {
    let message =
        format!("Your address has {limit} connections open, the most that is allowed; close some or use them again.");
    ApiError::new(ErrorCode::RateLimited, message).retry_soon()
}

/// What is told to a client whose headers are too many or too long.
pub(crate) fn head_too_large() -> ApiError {
    ApiError::new(
        ErrorCode::InvalidRequest,
        "The headers of the request are too many or too long; send fewer or shorter ones.",
    )
}

/// When `bytes` end with a refusal that actix' parser made, which has no body: where that begins, and what to send in its place.
pub(crate) fn replace_parser_refusal(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    if !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let from = bytes.len().saturating_sub(MAX_HEAD_BYTES);
    let begins = from + find_last(&bytes[from..], b"HTTP/1.1 ")?;
    let head = str::from_utf8(&bytes[begins..]).ok()?;
    if !head.contains("\r\ncontent-length: 0\r\n") {
        return None;
    }
    let error = match head.get("HTTP/1.1 ".len()..)?.split(' ').next()? {
        "400" => ApiError::new(
            ErrorCode::InvalidRequest,
            "This is no HTTP/1.1 request that can be read; look at its first line, its headers and the form of its chunks.",
        ),
        "408" => ApiError::for_status(StatusCode::REQUEST_TIMEOUT),
        "431" => head_too_large(),
        _ => return None,
    };
    Some((begins, closing_answer(&error)))
}

fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(bytes: &str) -> Option<String> {
        replace_parser_refusal(bytes.as_bytes()).map(|(begins, answer)| {
            let answer = String::from_utf8(answer).unwrap();
            format!("{}{answer}", &bytes[..begins])
        })
    }

    #[test]
    fn only_refusals_of_the_parser_are_replaced() {
        let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\ndate: x\r\n\r\n";
        let first = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let answer = replaced(&format!("{first}{refusal}")).unwrap();
        let rest = answer.strip_prefix(first).expect("what came before stays");
        let (head, body) = rest.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("\r\nx-request-id: "), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(body.contains("INVALID_REQUEST"), "{body}");
        let no_content = "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        for other in [first, "", "\r\n\r\n", no_content, "HTTP/1.1 400 Bad Request\r\ncontent-length: 9\r\n\r\n"] {
            assert_eq!(replaced(other), None, "{other}");
        }
    }

    #[test]
    fn a_refused_connection_hears_when_to_come_again() {
        let answer = String::from_utf8(closing_answer(&too_many_connections(7))).unwrap();
        assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
        assert!(answer.contains("\r\nretry-after: 1\r\n") && answer.contains("has 7 connections"), "{answer}");
    }
}
