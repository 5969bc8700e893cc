//! Files behind an address. Each call has a thread of its own, since the HTTP client cannot move between threads and is asked every few minutes
//! at most; it ends with its deadline at the latest.

use std::sync::Arc;
use std::time::Duration;

use actix_tls::connect::Connector as TcpConnector;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_LENGTH, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, USER_AGENT,
};
use actix_web::rt::System;
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, Connector};
use dropin_ecb_rates::MAX_BYTES;
use dropin_ports::RateSourceError;
use futures_util::StreamExt;
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::Url;

const PRODUCT: &str = concat!("Dropin/", env!("CARGO_PKG_VERSION"));
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Longest header that is given back to whom it came from.
const MAX_VALIDATOR: usize = 256;

/// What an address said of the version that was read last; given back, it answers "not modified".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

/// What an address answered.
pub(crate) enum Answer {
    /// The version that was read last is still the newest.
    Unchanged,
    /// A whole file.
    File(Vec<u8>, Validators),
}

/// Asks for the file, within the deadline.
pub(crate) async fn get(url: Url, known: Validators, deadline: Duration) -> Result<Answer, RateSourceError> {
    let (sender, outcome) = oneshot::channel();
    let asking = move || {
        let answer = System::new().block_on(async {
            match timeout(deadline, ask(&url, &known)).await {
                Ok(answer) => answer,
                Err(_late) => Err(unreachable("no complete answer in time")),
            }
        });
        // Whoever asked may be gone.
        drop(sender.send(answer));
    };
    std::thread::Builder::new()
        .name("rate-source".to_owned())
        .spawn(asking)
        .map_err(|_none| unreachable("the system gives no thread"))?;
    outcome.await.unwrap_or_else(|_ended| Err(unreachable("the thread that asked has ended")))
}

fn unreachable(why: &str) -> RateSourceError {
    RateSourceError::Unreachable(why.to_owned())
}

async fn ask(url: &Url, known: &Validators) -> Result<Answer, RateSourceError> {
    let mut request = client().get(url.as_str()).insert_header((USER_AGENT, PRODUCT));
    for (name, value) in [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.last_modified)] {
        if let Some(value) = value {
            request = request.insert_header((name, value.as_str()));
        }
    }
    let mut answer = request.send().await.map_err(|error| unreachable(why(&error)))?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED if *known != Validators::default() => return Ok(Answer::Unchanged),
        other => return Err(RateSourceError::Status(other.as_u16())),
    }
    let declared = header(answer.headers(), &CONTENT_LENGTH).and_then(|text| text.parse::<usize>().ok());
    let too_large = || RateSourceError::TooLarge { limit: MAX_BYTES };
    if declared.is_some_and(|declared| MAX_BYTES < declared) {
        return Err(too_large());
    }
    let validators =
        Validators { etag: header(answer.headers(), &ETAG), last_modified: header(answer.headers(), &LAST_MODIFIED) };
    let mut body = Vec::new();
    while let Some(chunk) = answer.next().await {
        let chunk = chunk.map_err(|_broken| unreachable("the answer broke off"))?;
        if MAX_BYTES < body.len() + chunk.len() {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    // The end of the connection looks like the end of the answer.
    if declared.is_some_and(|declared| body.len() < declared) {
        return Err(unreachable("the answer broke off"));
    }
    // The HTTP client gives no body of an answer in HTTP/1.1 that says neither its length nor that it comes in chunks.
    if body.is_empty() {
        return Err(unreachable("the answer is empty or does not say its length"));
    }
    Ok(Answer::File(body, validators))
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= MAX_VALIDATOR).then(|| value.to_owned())
}

/// No redirects, no proxy, no compression: what was configured is what is asked.
fn client() -> Client {
    let connector = Connector::new()
        .connector(TcpConnector::default().service())
        .rustls_0_23(tls())
        .timeout(CONNECT_DEADLINE)
        .handshake_timeout(CONNECT_DEADLINE);
    Client::builder().connector(connector).disable_redirects().disable_timeout().no_default_headers().finish()
}

fn tls() -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        log::warn!(
            "rates: the system has no root certificates, so no https address can be called; install ca-certificates"
        );
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(tls)
}

/// A reason for the operator, without the address.
fn why(error: &SendRequestError) -> &'static str {
    match error {
        SendRequestError::Url(_) => "it cannot be called",
        SendRequestError::Connect(ConnectError::Timeout) => "no connection in time",
        SendRequestError::Connect(ConnectError::Resolver(_) | ConnectError::NoRecords | ConnectError::Unresolved) => {
            "the host name cannot be resolved"
        }
        SendRequestError::Connect(ConnectError::Io(error)) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "the connection was refused",
            std::io::ErrorKind::InvalidData => "the TLS handshake failed; look at the certificate",
            _ => "the connection failed",
        },
        SendRequestError::Connect(_) => "no connection could be made",
        SendRequestError::Send(_) | SendRequestError::Body(_) => "the connection broke while sending",
        SendRequestError::Response(_) => "the answer is not HTTP",
        _ => "the request could not be made",
    }
}
