use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dropin_usecases::access::{self, AuthenticateError, Authenticator};
use dropin_wire::ErrorCode;
use zeroize::Zeroizing;

use crate::client::Client;
use crate::observe::{note_merchant, note_refused_login};
use crate::rate_limiter::RequestQuota;
use crate::{ApiError, operation};

/// Longest credentials that are looked at, in bytes as sent; ours are a fraction of that.
const MAX_CREDENTIALS: usize = 1024;

/// What authentication needs; put it into the app data as [`web::Data`]. Clones share what was seen; one is enough for a process.
#[derive(Clone)]
pub struct AuthState(
    /// Authenticates the callers.
    pub Arc<Authenticator>,
);

/// Who sent the request, proven by HTTP Basic (docs/SPECIFICATION.md#http-authentication). 401 AUTHENTICATION_REQUIRED otherwise, 429 RATE_LIMITED after too
/// many wrong passwords, 403 NOT_AUTHORIZED when the account is not for this deployment or the API user lacks what the
/// [`ApiOperation`](crate::ApiOperation) needs.
#[derive(Debug, Clone)]
pub struct BasicAuthCaller(
    /// The API user and its merchant.
    pub Arc<access::Caller>,
);

/// First who and whether it may, then what: nothing else of the request is looked at before its sender is known, so that a stranger gets
/// 401 whatever else is wrong. `T` is one extractor or a tuple of several.
#[derive(Debug, Clone)]
pub struct Authenticated<T>(
    /// Who.
    pub BasicAuthCaller,
    /// What.
    pub T,
);

type Extracting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>>>>;

impl FromRequest for BasicAuthCaller {
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
            operation::only_known_query(&request)?;
            let what = T::from_request(&request, &mut payload).await.map_err(Into::into)?;
            Ok(Self(caller, what))
        })
    }
}

async fn identify(request: &HttpRequest) -> Result<BasicAuthCaller, ApiError> {
    let basic = Basic::read(request.headers())?;
    let auth = request
        .app_data::<web::Data<AuthState>>()
        .ok_or_else(|| ApiError::internal("the service was configured without an AuthState in its app data"))?;
    let authenticated = auth.0.authenticate(client(request), basic.username(), basic.password()).await;
    if let Err(AuthenticateError::Invalid | AuthenticateError::Throttled { .. }) = authenticated {
        note_refused_login(request, basic.username());
    }
    let caller = authenticated?;
    note_merchant(request, caller.merchant.id)?;
    caller.require(operation::permission(request)?)?;
    Ok(BasicAuthCaller(caller))
}

/// The address that wrong passwords are counted for, as the limits see it.
fn client(request: &HttpRequest) -> IpAddr {
    let client = request.extensions().get::<Rc<RequestQuota>>().map(|quota| quota.client());
    match client {
        Some(Client::V4(address)) => address.into(),
        Some(Client::V6(network)) => Ipv6Addr::from_bits(u128::from(network) << 64).into(),
        None => Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// A user name and password as sent, wiped when they are not needed any more; no Debug.
struct Basic {
    text: Zeroizing<String>,
    colon: usize,
}

impl Basic {
    /// Strict: one header, the scheme, one space, padded base64, UTF-8 without control characters, a user name.
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut given = headers.get_all(AUTHORIZATION);
        let value = given.next().ok_or_else(missing)?;
        if given.next().is_some() || value.len() > MAX_CREDENTIALS {
            return Err(invalid());
        }
        if !is_basic(value.as_bytes()) {
            return Err(other_scheme());
        }
        Self::parse(value.as_bytes()).ok_or_else(invalid)
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let (scheme, encoded) = value.split_at_checked("Basic ".len())?;
        if !scheme.eq_ignore_ascii_case(b"Basic ") {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Zeroizing::new)?;
        let colon = text.find(':').filter(|colon| 0 < *colon)?;
        if text.chars().any(char::is_control) {
            return None;
        }
        Some(Self { text, colon })
    }

    fn username(&self) -> &str {
        &self.text[..self.colon]
    }

    fn password(&self) -> &str {
        &self.text[self.colon + 1..]
    }
}

/// Whether credentials name the scheme Basic, whatever follows.
fn is_basic(value: &[u8]) -> bool {
    let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"Basic")
}

/// For Bearer and the like: the client has credentials, and sends them in a way that is not taken.
fn other_scheme() -> ApiError {
    unauthenticated(
        "The Authorization header has to be HTTP Basic: the word Basic, then the API user name and password, joined by a colon, in base64.",
    )
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
        Basic::read(&headers).ok().map(|basic| (basic.username().to_owned(), basic.password().to_owned()))
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
    fn another_scheme_hears_that_basic_is_wanted() {
        for (value, basic_is_wanted) in [
            ("Bearer abc", true),
            ("Digest username=\"a\"", true),
            ("dXNlcjpwYXNz", true),
            ("", true),
            ("Basic", false),
            ("basic !!!!", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            let error = Basic::read(&headers).err().unwrap();
            assert_eq!(error.code, ErrorCode::AuthenticationRequired);
            assert_eq!(error.message.contains("has to be HTTP Basic"), basic_is_wanted, "{value}: {error}");
        }
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
