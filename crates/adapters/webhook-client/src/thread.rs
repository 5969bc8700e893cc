//! The thread that owns the HTTP client. One job, one try, one deadline over all of it.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix_tls::connect::{Connector as TcpConnector, Resolve, Resolver};
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HttpDate, RETRY_AFTER, USER_AGENT};
use actix_web::rt::{System, spawn};
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, Connector};
use dropin_kernel::Timestamp;
use dropin_notification::AttemptOutcome;
use dropin_ports::{Sent, WebhookRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::client::{ClientConfig, Job, Names};
use crate::signature;
use crate::target::{TargetPolicy, TargetRefused};

const PRODUCT: &str = concat!("Dropin/", env!("CARGO_PKG_VERSION"));

/// How long an unused connection is kept: shorter than the five seconds after which many servers close theirs.
const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// How old a client gets. Its pool never closes what nobody asks for again, so it goes as a whole, once its last answer is there.
const RENEWAL: Duration = Duration::from_secs(60);

/// Bytes of the answer that are kept for the history.
const KEPT: usize = 4 * 1024;

/// Runs until every sender is gone.
pub(crate) fn run(config: ClientConfig, names: Arc<dyn Names>, mut jobs: mpsc::Receiver<Job>) {
    System::new().block_on(async move {
        let tls = tls();
        let mut client = client(&config, names.clone(), tls.clone());
        let mut made = Instant::now();
        while let Some((request, told)) = jobs.recv().await {
            if RENEWAL < made.elapsed() {
                (client, made) = (self::client(&config, names.clone(), tls.clone()), Instant::now());
            }
            let client = client.clone();
            spawn(async move {
                let outcome = match timeout(config.deadline, send(&client, &config, request)).await {
                    Ok(outcome) => outcome,
                    Err(_late) => failed("no complete answer in time").into(),
                };
                // Whoever asked may be gone; the notification is then sent again after its lease.
                drop(told.send(outcome));
            });
        }
    });
}

fn tls() -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        log::warn!(
            "webhooks: the system has no root certificates, so no https address can be called; install ca-certificates"
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

/// No redirects, no limit of its own on connections (the notifier has slots per endpoint), no proxy.
fn client(config: &ClientConfig, names: Arc<dyn Names>, tls: Arc<rustls::ClientConfig>) -> Client {
    let resolver = Resolver::custom(GuardedNames { policy: config.policy, names });
    let connector = Connector::new()
        .connector(TcpConnector::new(resolver).service())
        .rustls_0_23(tls)
        .timeout(config.connect_deadline)
        .handshake_timeout(config.connect_deadline)
        .conn_keep_alive(KEEP_ALIVE)
        .limit(0);
    Client::builder().connector(connector).disable_redirects().disable_timeout().no_default_headers().finish()
}

/// Resolves a name and lets its addresses pass only when all of them are allowed; what passes is what is dialled.
struct GuardedNames {
    policy: TargetPolicy,
    names: Arc<dyn Names>,
}

impl Resolve for GuardedNames {
    fn lookup<'a>(&'a self, host: &'a str, port: u16) -> LocalBoxFuture<'a, Result<Vec<SocketAddr>, Box<dyn Error>>> {
        Box::pin(async move {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let found = match host.parse::<IpAddr>() {
                Ok(literal) => vec![SocketAddr::new(literal, port)],
                Err(_a_name) => self.names.find(host, port).await?,
            };
            found.iter().try_for_each(|address| self.policy.admit(address.ip()))?;
            Ok(found)
        })
    }
}

async fn send(client: &Client, config: &ClientConfig, request: WebhookRequest) -> Sent {
    let url = match config.policy.check(&request.url) {
        Ok(url) => url,
        Err(refused) => return failed(refused.why()).into(),
    };
    let Some(headers) = signature::headers(&request) else {
        return failed("the notification cannot be signed").into();
    };
    let mut post = client
        .post(url.as_str())
        .insert_header((CONTENT_TYPE, "application/json"))
        .insert_header((USER_AGENT, PRODUCT));
    for header in headers {
        post = post.insert_header(header);
    }
    let mut answer = match post.send_body(request.body).await {
        Ok(answer) => answer,
        Err(error) => return failed(why(&error)).into(),
    };
    let declared = header(answer.headers(), CONTENT_LENGTH.as_str()).and_then(|text| text.parse::<usize>().ok());
    let (mut read, mut kept) = (0, Vec::new());
    while read < config.answer_limit {
        match answer.next().await {
            Some(Ok(chunk)) => {
                kept.extend(chunk.iter().take(KEPT - kept.len()));
                read += chunk.len();
            }
            // The end of the connection looks like the end of the answer.
            None if declared.is_none_or(|declared| declared <= read) => break,
            None | Some(Err(_)) => return failed("the answer broke off").into(),
        }
    }
    let retry_after = header(answer.headers(), RETRY_AFTER.as_str()).and_then(|text| delay(text, request.at));
    Sent { outcome: AttemptOutcome::Answered { status: answer.status().as_u16(), retry_after }, answer: kept }
}

const fn failed(why: &'static str) -> AttemptOutcome {
    AttemptOutcome::Failed { why }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Reads Retry-After (RFC 9110 section 10.2.3): seconds, or a date, counted from `now`.
fn delay(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Duration::from_secs);
    }
    let date = SystemTime::from(text.parse::<HttpDate>().ok()?);
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since_1970.as_micros()).ok()?).since(now))
}

/// A reason for the operator: never the address, which may hold a secret.
fn why(error: &SendRequestError) -> &'static str {
    match error {
        SendRequestError::Url(_) => "the webhook address cannot be called",
        SendRequestError::Connect(error) => why_not_connected(error),
        SendRequestError::Send(_) | SendRequestError::Body(_) => "the connection broke while sending",
        SendRequestError::Response(_) => "the answer is not HTTP",
        _ => "the request could not be made",
    }
}

fn why_not_connected(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Resolver(error) => match error.downcast_ref::<TargetRefused>() {
            Some(refused) => refused.why(),
            None => "the host name cannot be resolved",
        },
        ConnectError::NoRecords | ConnectError::Unresolved => "the host name cannot be resolved",
        ConnectError::Timeout => "no connection in time",
        ConnectError::Disconnected => "the connection was closed without an answer",
        ConnectError::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => "the connection was refused",
            io::ErrorKind::InvalidData => "the TLS handshake failed; look at the certificate",
            _ => "the connection failed",
        },
        _ => "no connection could be made",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Timestamp::from_micros(1_795_000_000_000_000);
        for (text, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Wed, 18 Nov 2026 11:07:40 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(delay(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
