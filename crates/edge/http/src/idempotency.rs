//! Idempotency-Key, If-Match and If-None-Match (docs/SPECIFICATION.md#idempotency; RFC 9110 sections 8.8.3 and 13.1).

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use actix_web::{FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError};
use dropin_ports::{KeyUse, StoredResponse};
use dropin_usecases::access::Caller;
use dropin_usecases::idempotency::{
    Expected, IdempotencyService, IdempotentOutcome, IdempotentResponse, RepeatError, Version,
};
use dropin_wire::ErrorCode;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::ApiError;
use crate::response::json;

/// The header with the caller's key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that marks an answer as that of an earlier request.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Longest key.
const MAX_KEY_LENGTH: usize = 255;
/// Statuses of refusals that are not stored (docs/SPECIFICATION.md#idempotency-stored): who may call, how much of it is read and how often has nothing to do with
/// the request itself.
pub(crate) const NOT_STORED_STATUSES: [u16; 7] = [401, 403, 405, 408, 413, 415, 429];

/// The Idempotency-Key of a request, if it has one: bound to the method and address it was sent to. 400 INVALID_REQUEST when it is not 1 to
/// 255 printable ASCII characters in one header.
#[derive(Debug, Clone, Copy)]
pub struct IdempotencyKey(Option<[u8; 32]>);

impl IdempotencyKey {
    /// The use that `caller` makes of the key. `request_parts` is everything that makes this another request than one with the same key: the bytes of
    /// its body, and those of headers that decide about its effect.
    pub fn used_by(self, caller: &Caller, answers: &IdempotencyService, request_parts: &[&[u8]]) -> Option<KeyUse> {
        self.0.map(|digest| answers.key_use(caller.merchant.id, digest, sha256(request_parts)))
    }
}

impl FromRequest for IdempotencyKey {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let key = read_key(request.headers());
        let bound = |key: &[u8]| sha256(&[request.method().as_str().as_bytes(), request.path().as_bytes(), key]);
        ready(key.map(|key| Self(key.map(bound))))
    }
}

fn read_key(headers: &HeaderMap) -> Result<Option<&[u8]>, ApiError> {
    let mut given = headers.get_all(&KEY);
    let Some(key) = given.next().map(HeaderValue::as_bytes) else { return Ok(None) };
    let readable = (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.iter().all(|byte| (b' '..=b'~').contains(byte));
    if readable && given.next().is_none() {
        return Ok(Some(key));
    }
    Err(ApiError::new(
        ErrorCode::InvalidRequest,
        "Idempotency-Key must be one header with 1 to 255 printable ASCII characters; a UUID is a good key.",
    ))
}

/// Of all parts, each with its length, so that none can pass for another.
fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The versions that If-Match allows to be changed, if the request has it. 400 INVALID_REQUEST when it is neither `*` nor a list of entity
/// tags. A weak tag never matches (RFC 9110 section 13.1.1).
#[derive(Debug, Clone)]
pub struct IfMatch {
    expected: Option<Expected>,
    sent: Vec<u8>,
}

impl IfMatch {
    /// The versions; `None` when the request does not care.
    pub fn expected(&self) -> Option<&Expected> {
        self.expected.as_ref()
    }

    /// The header as it was sent, for [`IdempotencyKey::used_by`]; empty without one.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }
}

impl FromRequest for IfMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let sent = joined(request.headers(), IF_MATCH);
        let expected = sent.as_deref().map(|value| match read_tags(value) {
            Some(Tags::Any) => Ok(Expected::Any),
            Some(Tags::Listed(tags)) => {
                Ok(Expected::OneOf(tags.into_iter().filter(|tag| !tag.weak).map(|tag| tag.opaque).collect()))
            }
            None => Err(not_tags("If-Match")),
        });
        let sent = sent.unwrap_or_default();
        ready(expected.transpose().map(|expected| Self { expected, sent }))
    }
}

/// The versions that the caller has already, by If-None-Match. 400 INVALID_REQUEST when it is neither `*` nor a list of entity tags.
#[derive(Debug, Clone)]
pub struct IfNoneMatch(Option<Tags>);

impl IfNoneMatch {
    /// Whether the caller has what this entity tag (without its quotes) names already.
    pub fn knows(&self, opaque: &str) -> bool {
        match &self.0 {
            None => false,
            Some(Tags::Any) => true,
            // Compared weakly (RFC 9110 section 13.1.2).
            Some(Tags::Listed(tags)) => tags.iter().any(|tag| tag.opaque == opaque),
        }
    }

    /// 304 when the caller has `version` already, else 200 with what `body` makes; both with the version's ETag.
    pub fn answer<T: Serialize>(&self, version: &Version, body: impl FnOnce() -> T) -> HttpResponse {
        let known = self.knows(version.as_str());
        let mut answer = if known { HttpResponse::NotModified().finish() } else { json(StatusCode::OK, &body()) };
        if let Ok(tag) = HeaderValue::from_str(&quoted(version)) {
            answer.headers_mut().insert(ETAG, tag);
        }
        answer
    }
}

impl FromRequest for IfNoneMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let read = joined(request.headers(), IF_NONE_MATCH)
            .map(|value| read_tags(&value).ok_or_else(|| not_tags("If-None-Match")))
            .transpose();
        ready(read.map(Self))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    /// `*`
    Any,
    Listed(Vec<Tag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    weak: bool,
    /// Without its quotes.
    opaque: String,
}

/// A list that was sent in several headers, as one.
fn joined(headers: &HeaderMap, name: HeaderName) -> Option<Vec<u8>> {
    let values: Vec<_> = headers.get_all(name).map(HeaderValue::as_bytes).collect();
    (!values.is_empty()).then(|| values.join(&b","[..]))
}

/// `None` when it is neither `*` nor a list of entity tags. Empty members of a list do not count (RFC 9110 section 5.6.1.2).
fn read_tags(value: &[u8]) -> Option<Tags> {
    if value.trim_ascii() == b"*" {
        return Some(Tags::Any);
    }
    let mut tags = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after;
            continue;
        }
        if rest.is_empty() {
            break;
        }
        let (weak, quoted) = match rest.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|byte| *byte == b'"')?;
        let (opaque, after) = inner.split_at(end);
        if opaque.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return None;
        }
        tags.push(Tag { weak, opaque: String::from_utf8_lossy(opaque).into_owned() });
        rest = after.get(1..)?.trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
    (!tags.is_empty()).then_some(Tags::Listed(tags))
}

fn not_tags(header: &str) -> ApiError {
    let message =
        format!("{header} must be * or a list of entity tags, each as the header ETag gave it, with its quotes.");
    ApiError::new(ErrorCode::InvalidRequest, message)
}

fn quoted(version: &Version) -> String {
    format!("\"{}\"", version.as_str())
}

/// A success as it is stored: status, ETag of what it shows, JSON body.
pub fn stored_response<T: Serialize>(status: StatusCode, version: &Version, body: &T) -> StoredResponse {
    let body = serde_json::to_vec(body).expect("an answer has string keys and exact numbers only");
    StoredResponse { status: status.as_u16(), etag: Some(quoted(version)), body }
}

/// As [`respond_idempotently`], of an effect that cannot take the key with it: a kept answer is told before anything is done once more.
///
/// # Errors
/// What went wrong, or why the key cannot be used.
pub async fn respond_once<E: Into<ApiError>>(
    answers: &IdempotencyService,
    key_use: Option<KeyUse>,
    effect: impl Future<Output = Result<IdempotentOutcome, E>>,
) -> Result<HttpResponse, ApiError> {
    match key_use {
        Some(known) => match answers.known(known).await? {
            Some(answer) => Ok(respond(answer)),
            None => respond_idempotently(answers, key_use, effect.await).await,
        },
        None => respond_idempotently(answers, key_use, effect.await).await,
    }
}

/// Answers an executed request with its outcome, or with the stored answer to an earlier request with the same key.
///
/// # Errors
/// What went wrong, or why the key cannot be used.
pub async fn respond_idempotently<E: Into<ApiError>>(
    answers: &IdempotencyService,
    key_use: Option<KeyUse>,
    outcome: Result<IdempotentOutcome, E>,
) -> Result<HttpResponse, ApiError> {
    match (outcome.map_err(Into::into), key_use) {
        (Ok(outcome), _) => Ok(respond(answers.tell(key_use, outcome).await?)),
        (Err(refusal), Some(key_use)) if is_stored(refusal.code) => {
            let body = serde_json::to_vec(&refusal.body()).map_err(ApiError::internal)?;
            let answer = StoredResponse { status: refusal.code.status(), etag: None, body };
            match answers.keep(key_use, answer).await? {
                IdempotentResponse::Fresh(_) => Err(refusal),
                replayed @ IdempotentResponse::Replayed(_) => Ok(respond(replayed)),
            }
        }
        // Nothing was done now; with this key it may have been.
        (Err(refusal), Some(key_use)) if refusal.code == ErrorCode::ServiceUnavailable => {
            match answers.known(key_use).await {
                Ok(Some(answer)) => Ok(respond(answer)),
                Ok(None) | Err(RepeatError::Store(_)) => Err(refusal),
                Err(other) => Err(other.into()),
            }
        }
        (Err(error), _) => Err(error),
    }
}

/// Whether a refusal is final for its request and stored: neither one of [`NOT_STORED_STATUSES`] nor a server error, nor that another request is under way.
fn is_stored(code: ErrorCode) -> bool {
    code != ErrorCode::DuplicateRequest
        && (400..500).contains(&code.status())
        && !NOT_STORED_STATUSES.contains(&code.status())
}

fn respond(answered: IdempotentResponse) -> HttpResponse {
    let (answer, replayed) = match answered {
        IdempotentResponse::Fresh(answer) => (answer, false),
        IdempotentResponse::Replayed(answer) => (answer, true),
    };
    let Ok(status) = StatusCode::from_u16(answer.status) else {
        return ApiError::internal("a kept answer has no HTTP status").error_response();
    };
    let mut response = HttpResponseBuilder::new(status);
    if let Some(etag) = answer.etag {
        response.insert_header((ETAG, etag));
    }
    if replayed {
        response.insert_header((REPLAYED, "true"));
    }
    if answer.body.is_empty() {
        return response.finish();
    }
    response.insert_header((CONTENT_TYPE, "application/json")).body(answer.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(values: &[&[u8]]) -> Result<Option<Vec<u8>>, ErrorCode> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(KEY, HeaderValue::from_bytes(value).unwrap());
        }
        read_key(&headers).map(|key| key.map(<[u8]>::to_vec)).map_err(|error| error.code)
    }

    #[test]
    fn a_key_is_one_header_of_printable_ascii() {
        assert_eq!(key(&[]), Ok(None));
        let longest = [b'~'; MAX_KEY_LENGTH];
        for good in [&b"a"[..], b"two words", b"8e03978e-40d5-43dd-bc93-6894a57f9324", &longest] {
            assert_eq!(key(&[good]), Ok(Some(good.to_vec())));
        }
        let too_long = [b'a'; MAX_KEY_LENGTH + 1];
        for wrong in [&[&b""[..]][..], &[b"a", b"a"], &["schlüssel".as_bytes()], &[b"a\tb"], &[&too_long]] {
            assert_eq!(key(wrong), Err(ErrorCode::InvalidRequest), "{wrong:?}");
        }
    }

    #[test]
    fn parts_cannot_pass_for_another() {
        let all = [
            sha256(&[b"PUT", b"/a", b"b"]),
            sha256(&[b"PUT", b"/ab", b""]),
            sha256(&[b"PUT", b"/ab"]),
            sha256(&[b"PUT/a", b"b"]),
            sha256(&[]),
        ];
        for (number, one) in all.iter().enumerate() {
            assert!(!all[..number].contains(one), "{number}");
        }
        assert_eq!(sha256(&[b"PUT", b"/a", b"b"]), all[0]);
    }

    #[test]
    fn tags_are_read_as_rfc_9110_writes_them() {
        let tag = |weak, opaque: &str| Tag { weak, opaque: opaque.to_owned() };
        assert_eq!(read_tags(b" * "), Some(Tags::Any));
        assert_eq!(read_tags(br#""a""#), Some(Tags::Listed(vec![tag(false, "a")])));
        assert_eq!(read_tags(br#""""#), Some(Tags::Listed(vec![tag(false, "")])));
        assert_eq!(
            read_tags(br#", W/"a,b" ,"c",,"W/d","#),
            Some(Tags::Listed(vec![tag(true, "a,b"), tag(false, "c"), tag(false, "W/d")]))
        );
        let wrong = [
            "",
            " ",
            ",",
            "a",
            "\"a",
            "a\"",
            "\"a\" \"b\"",
            "\"a\"b",
            "w/\"a\"",
            "*, \"a\"",
            "\"a b\"",
            "\"a\", *",
            "'a'",
        ];
        for wrong in wrong {
            assert_eq!(read_tags(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn what_says_nothing_about_the_request_is_not_kept() {
        let kept: Vec<_> =
            ErrorCode::ALL.iter().copied().filter(|code| is_stored(*code)).map(ErrorCode::status).collect();
        assert!(kept.iter().all(|status| [400, 402, 404, 409, 412, 422].contains(status)), "{kept:?}");
        for status in [400, 402, 404, 409, 412] {
            assert!(kept.contains(&status), "{status}");
        }
    }
}
