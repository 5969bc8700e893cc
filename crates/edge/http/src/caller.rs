use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use actix_web::{FromRequest, HttpRequest, web};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dropin_ports::{AccessStore, Secrets};
use dropin_usecases::access;
use dropin_wire::ErrorCode;

use crate::observe::note_merchant;
use crate::{ApiError, operation};

/// Longest credentials that are looked at, in bytes as sent; ours are a fraction of that.
const MAX_CREDENTIALS: usize = 1024;

/// What authentication needs; put it into the app data as [`web::Data`].
#[derive(Clone)]
pub struct Gate {
    /// Knows the API users.
    pub access: Arc<dyn AccessStore>,
    /// Compares passwords.
    pub secrets: Arc<dyn Secrets>,
}

/// Who sent the request, proven by HTTP Basic (contract, Authentication). 401 AUTHENTICATION_REQUIRED otherwise, 403 NOT_AUTHORIZED when the
/// API user lacks what the [`Operation`](crate::Operation) needs.
#[derive(Debug, Clone)]
pub struct Caller(
    /// The API user and its merchant.
    pub access::Caller,
);

/// First who and whether it may, then what: nothing else of the request is looked at before its sender is known, so that a stranger gets
/// 401 whatever else is wrong. `T` is one extractor or a tuple of several.
#[derive(Debug, Clone)]
pub struct Authenticated<T>(
    /// Who.
    pub Caller,
    /// What.
    pub T,
);

type Extracting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>>>>;

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Extracting<Self, ApiError>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { identify(&request).await })
    }
}

impl<T: FromRequest> FromRequest for Authenticated<T> {
    type Error = actix_web::Error;
    type Future = Extracting<Self, actix_web::Error>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            let caller = identify(&request).await?;
            let what = T::from_request(&request, &mut payload).await.map_err(Into::into)?;
            Ok(Self(caller, what))
        })
    }
}

async fn identify(request: &HttpRequest) -> Result<Caller, ApiError> {
    let basic = Basic::read(request.headers())?;
    let gate = request
        .app_data::<web::Data<Gate>>()
        .ok_or_else(|| ApiError::internal("the service was configured without a Gate in its app data"))?;
    let caller = access::authenticate(&*gate.access, &*gate.secrets, &basic.username, &basic.password).await?;
    note_merchant(request, caller.merchant.id);
    caller.require(operation::permission(request)?)?;
    Ok(Caller(caller))
}

/// A user name and password as sent; no Debug.
struct Basic {
    username: String,
    password: String,
}

impl Basic {
    /// Strict: one header, the scheme, one space, padded base64, UTF-8 without control characters, a user name.
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut given = headers.get_all(AUTHORIZATION);
        let value = given.next().ok_or_else(missing)?;
        if given.next().is_some() || value.len() > MAX_CREDENTIALS {
            return Err(invalid());
        }
        Self::parse(value.as_bytes()).ok_or_else(invalid)
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let (scheme, encoded) = value.split_at_checked("Basic ".len())?;
        if !scheme.eq_ignore_ascii_case(b"Basic ") {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (username, password) = text.split_once(':')?;
        if username.is_empty() || text.chars().any(char::is_control) {
            return None;
        }
        Some(Self { username: username.to_owned(), password: password.to_owned() })
    }
}

fn missing() -> ApiError {
    unauthenticated("A user name and password are required; send them by HTTP Basic authentication.")
}

/// The one answer to every kind of wrong credentials.
pub(crate) fn invalid() -> ApiError {
    unauthenticated("The user name or password is invalid.")
}

fn unauthenticated(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::AuthenticationRequired, message)
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"Dropin\", charset=\"UTF-8\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Option<(String, String)> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        Basic::read(&headers).ok().map(|basic| (basic.username, basic.password))
    }

    fn basic(text: &[u8]) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    #[test]
    fn a_password_may_hold_colons_and_be_empty() {
        assert_eq!(read(&[&basic(b"user:pass:word")]), Some(("user".into(), "pass:word".into())));
        assert_eq!(read(&[&basic("u:päss".as_bytes()).replace("Basic", "bAsIc")]), Some(("u".into(), "päss".into())));
        assert_eq!(read(&[&basic(b"user:")]), Some(("user".into(), String::new())));
    }

    #[test]
    fn anything_else_is_refused() {
        let good = basic(b"user:pass1");
        for wrong in [
            vec![],
            vec![""],
            vec!["Basic"],
            vec!["Basic "],
            vec!["Bearer abc"],
            vec!["Basic !!!!"],
            vec![&*good.replace(' ', "  ")],
            vec![good.trim_end_matches('=')],
            vec![&*good, &*good],
            vec![&*basic(b"no-colon")],
            vec![&*basic(b":pass")],
            vec![&*basic(b"us\ner:pass")],
            vec![&*basic(b"\xff:pass")],
            vec![&*basic(&[&b"user:"[..], &[b'a'; 2000]].concat())],
        ] {
            assert_eq!(read(&wrong), None, "{wrong:?}");
        }
    }
}
