//! Forms of `multipart/form-data` (RFC 7578), read whole: for the one operation that takes files.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;
use dropin_wire::ErrorCode;
use dropin_wire::dispute::FormPart;

use crate::ApiError;
use crate::body::read_limited;

/// Most parts of one form.
const MAX_PARTS: usize = 32;
/// Most bytes of the headers of one part.
const MAX_HEAD_BYTES: usize = 4 * 1024;
/// Longest boundary (RFC 2046 section 5.1.1).
const MAX_BOUNDARY_BYTES: usize = 70;

/// A form of `multipart/form-data` of at most `BYTES`, whatever the [`BodyLimit`](crate::BodyLimit) of other bodies is.
///
/// 415 UNSUPPORTED_MEDIA_TYPE for any other content type, 413 PAYLOAD_TOO_LARGE above it.
#[derive(Clone)]
pub struct MultipartBody<const BYTES: usize> {
    /// The body as it was sent.
    pub raw: Bytes,
    boundary: String,
}

impl<const BYTES: usize> FromRequest for MultipartBody<BYTES> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let boundary = boundary_of(request);
        let body = read_limited(BYTES, request, payload);
        Box::pin(async move {
            let boundary = boundary?;
            Ok(Self { raw: body.await?, boundary })
        })
    }
}

impl<const BYTES: usize> MultipartBody<BYTES> {
    /// The parts of the form, in their order.
    ///
    /// # Errors
    /// 400 INVALID_REQUEST: the body is no such form.
    pub fn parts(&self) -> Result<Vec<FormPart>, ApiError> {
        parse(&self.raw, &self.boundary).map_err(|why| {
            ApiError::new(ErrorCode::InvalidRequest, format!("The body is no form of multipart/form-data: {why}."))
        })
    }
}

fn boundary_of(request: &HttpRequest) -> Result<String, ApiError> {
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (essence, parameters) = given.split_once(';').unwrap_or((given, ""));
    let plain = request.headers().get_all(CONTENT_ENCODING).all(|encoding| encoding == "identity");
    let boundary = parameters_of(parameters).into_iter().find(|(name, _)| name == "boundary").map(|(_, value)| value);
    let boundary = boundary.filter(|boundary| (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()));
    match boundary {
        Some(boundary) if essence.trim().eq_ignore_ascii_case("multipart/form-data") && plain => Ok(boundary),
        _ => {
            let message = "Expected content-type multipart/form-data with its boundary, without a content-encoding.";
            let error = ApiError::new(ErrorCode::UnsupportedMediaType, message);
            Err(error.with_header(ACCEPT, HeaderValue::from_static("multipart/form-data")))
        }
    }
}

/// Parameters as `; name="value"`, with lower-case names.
fn parameters_of(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([';', ' ', '\t']);
        let Some((name, behind)) = rest.split_once('=') else { return found };
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => match unquoted(quoted) {
                Some(split) => split,
                None => return found,
            },
            None => {
                let (value, behind) = behind.split_at(behind.find(';').unwrap_or(behind.len()));
                (value.trim().to_owned(), behind)
            }
        };
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = behind;
    }
}

/// A quoted text without its first quote: what it says, and what stands behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, one)) = characters.next() {
        match one {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

fn parse(body: &[u8], boundary: &str) -> Result<Vec<FormPart>, &'static str> {
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    let opening = &delimiter[2..];
    let mut rest = match body.strip_prefix(opening) {
        Some(rest) => rest,
        None => find(body, &delimiter).map(|at| &body[at + delimiter.len()..]).ok_or("its boundary is missing")?,
    };
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let line = find(rest, b"\r\n").ok_or("a part is cut off")?;
        if !rest[..line].iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            return Err("something stands behind a boundary");
        }
        rest = &rest[line + 2..];
        let end = find(rest, &delimiter).ok_or("it does not end with its boundary")?;
        if parts.len() == MAX_PARTS {
            return Err("it has more than 32 parts");
        }
        parts.push(part(&rest[..end])?);
        rest = &rest[end + delimiter.len()..];
    }
}

fn part(bytes: &[u8]) -> Result<FormPart, &'static str> {
    let (head, content) = match bytes.strip_prefix(b"\r\n") {
        Some(content) => (&bytes[..0], content),
        None => {
            let end = find(bytes, b"\r\n\r\n").ok_or("a part has no end of its headers")?;
            (&bytes[..end], &bytes[end + 4..])
        }
    };
    if MAX_HEAD_BYTES < head.len() {
        return Err("the headers of a part are longer than 4 KiB");
    }
    let head = std::str::from_utf8(head).map_err(|_other| "the headers of a part are not UTF-8")?;
    let (mut name, mut file_name, mut media_type) = (None, None, None);
    for line in head.split("\r\n").filter(|line| !line.is_empty()) {
        let (header, value) = line.split_once(':').ok_or("a header of a part has no colon")?;
        match header.trim().to_ascii_lowercase().as_str() {
            "content-disposition" => {
                let (kind, parameters) = value.split_once(';').ok_or("a part has no name")?;
                if !kind.trim().eq_ignore_ascii_case("form-data") {
                    return Err("a part is no form-data");
                }
                for (parameter, value) in parameters_of(parameters) {
                    match parameter.as_str() {
                        "name" => name = Some(value),
                        "filename" => file_name = Some(value),
                        _ => {}
                    }
                }
            }
            "content-type" => {
                media_type = value.split(';').next().map(|essence| essence.trim().to_owned());
            }
            "content-transfer-encoding"
                if !["binary", "8bit", "7bit"].iter().any(|plain| value.trim().eq_ignore_ascii_case(plain)) =>
            {
                return Err("a part has a transfer encoding; send it as it is");
            }
            _ => {}
        }
    }
    Ok(FormPart { name: name.ok_or("a part has no name")?, file_name, media_type, content: content.to_vec() })
}

/// Where `needle`, which begins with a carriage return, stands first.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + haystack.get(from..)?.iter().position(|byte| *byte == b'\r')?;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, file name, media type and content.
    type Part = (String, Option<String>, Option<String>, Vec<u8>);

    fn read(body: &[u8]) -> Result<Vec<Part>, &'static str> {
        let parts = parse(body, "AaB")?;
        Ok(parts.into_iter().map(|part| (part.name, part.file_name, part.media_type, part.content)).collect())
    }

    #[test]
    fn a_form_is_read_whole() {
        let body = b"preamble\r\n--AaB\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\nline 1\r\nline 2\r\n--AaB  \r\n\
            content-disposition: FORM-DATA; filename=\"a \\\"b\\\".pdf\"; name=Files\r\nContent-Type: application/pdf; x=y\r\n\r\n\
            \xff\r\n--AaC\r\n\r\n--AaB--\r\nepilogue";
        assert_eq!(
            read(body).unwrap(),
            [
                ("Text".to_owned(), None, None, b"line 1\r\nline 2".to_vec()),
                (
                    "Files".to_owned(),
                    Some("a \"b\".pdf".to_owned()),
                    Some("application/pdf".to_owned()),
                    b"\xff\r\n--AaC\r\n".to_vec()
                ),
            ]
        );
        assert_eq!(read(b"--AaB--"), Ok(Vec::new()));
        let empty = b"--AaB\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\n\r\n--AaB--";
        assert_eq!(read(empty).unwrap()[0].3, b"");
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let with = |head: &str| format!("--AaB\r\n{head}\r\n\r\nx\r\n--AaB--").into_bytes();
        for wrong in [
            b"".to_vec(),
            b"--Other--".to_vec(),
            b"--AaB\r\n".to_vec(),
            b"--AaBx\r\n".to_vec(),
            b"--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx".to_vec(),
            b"--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\nx\r\n--AaB--".to_vec(),
            with("Content-Disposition: attachment; name=\"a\""),
            with("Content-Disposition: form-data"),
            with("Content-Type: text/plain"),
            with("no colon"),
            with("Content-Disposition: form-data; name=\"a"),
            with("Content-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: base64"),
            with(&format!("Content-Disposition: form-data; name=\"{}\"", "a".repeat(MAX_HEAD_BYTES))),
        ] {
            assert!(read(&wrong).is_err(), "{}", String::from_utf8_lossy(&wrong));
        }
        let one = "--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n";
        assert_eq!(
            read(format!("{}--AaB--", one.repeat(MAX_PARTS)).as_bytes()).map(|parts| parts.len()),
            Ok(MAX_PARTS)
        );
        assert!(read(format!("{}--AaB--", one.repeat(MAX_PARTS + 1)).as_bytes()).is_err());
    }

    #[test]
    fn cut_anywhere_it_is_no_form() {
        let body = b"--AaB\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\nabc\r\n--AaB--";
        assert!((0..body.len()).all(|cut| read(&body[..cut]).is_err()));
    }
}
