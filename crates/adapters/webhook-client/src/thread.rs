//! The thread that owns the HTTP clients. One job, one try, one deadline over all of it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use actix_web::error::{ParseError, PayloadError};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, HttpDate, RETRY_AFTER, USER_AGENT,
};
use actix_web::rt::{System, spawn};
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, ClientResponse, Connector};
use dropin_kernel::Timestamp;
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::{Sent, WebhookRequest};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::client::{Job, WebhookClientConfig};
use crate::dialer::{Dialer, NotConnected};
use crate::internet::{Internet, Lookups};
use crate::redaction::{MAX_COLLECTED_BYTES, redacted_excerpt};
use crate::signature;
use crate::stream::Stopped;
use crate::targets::Targets;

const PRODUCT: &str = concat!("Dropin/", env!("CARGO_PKG_VERSION"));

/// How long an unused connection is kept: shorter than the five seconds after which many servers close theirs.
const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// How old a client gets. Its pool never closes what nobody asks for again, so it goes as a whole, once its last answer is there.
const CLIENT_MAX_AGE: Duration = Duration::from_secs(15);

/// Runs until every sender is gone.
pub(crate) fn run(config: WebhookClientConfig, internet: Arc<dyn Internet>, mut jobs: mpsc::Receiver<Job>) {
    System::new().block_on(async move {
        let shared = Shared {
            targets: Rc::new(RefCell::new(Targets::new(config.policy.clone()))),
            lookups: Rc::new(Lookups::new(Arc::clone(&internet))),
            config: Rc::new(config),
            tls: tls(internet.roots()),
            internet,
        };
        let mut sender = Rc::new(shared.sender());
        let mut made = Instant::now();
        loop {
            let job = timeout(CLIENT_MAX_AGE, jobs.recv()).await;
            if CLIENT_MAX_AGE < made.elapsed() {
                (sender, made) = (Rc::new(shared.sender()), Instant::now());
            }
            let Job { request, until, reply } = match job {
                Ok(Some(job)) => job,
                Ok(None) => break,
                Err(_nothing_to_do) => continue,
            };
            let sender = Rc::clone(&sender);
            spawn(async move {
                let sent = in_time(until, sender.send(request)).await.unwrap_or_else(|| failed(DeliveryFailure::Late));
                // Whoever asked may be gone; the notification is then sent again after its lease.
                drop(reply.send(sent));
            });
        }
    });
}

/// What comes of `work`, of which nothing is done after `until`, not even when the thread had no time before. `None` when it is late.
async fn in_time<T>(until: Instant, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let step = poll_fn(|cx| match Instant::now() < until {
        true => work.as_mut().poll(cx).map(Some),
        false => Poll::Ready(None),
    });
    timeout_at(until, step).await.ok().flatten()
}

fn tls(roots: rustls::RootCertStore) -> Arc<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(tls)
}

/// What outlives a client.
struct Shared {
    config: Rc<WebhookClientConfig>,
    targets: Rc<RefCell<Targets>>,
    lookups: Rc<Lookups>,
    internet: Arc<dyn Internet>,
    tls: Arc<rustls::ClientConfig>,
}

impl Shared {
    fn sender(&self) -> Sender {
        Sender {
            config: Rc::clone(&self.config),
            targets: Rc::clone(&self.targets),
            plain: self.client(None),
            secure: self.client(Some(Arc::clone(&self.tls))),
        }
    }

    /// No redirects, no limit of its own on time or connections (the notifier has slots per endpoint), no proxy. As its connector brings
    /// TLS along, it takes every connection for a plain one.
    fn client(&self, tls: Option<Arc<rustls::ClientConfig>>) -> Client {
        let dialer = Dialer::new(Rc::clone(&self.config), Arc::clone(&self.internet), Rc::clone(&self.lookups), tls);
        let connector =
            Connector::new().connector(dialer).timeout(self.config.deadline).conn_keep_alive(KEEP_ALIVE).limit(0);
        Client::builder().connector(connector).disable_redirects().disable_timeout().no_default_headers().finish()
    }
}

/// Clients with their connections, which are kept apart: the same host and port may speak either way.
struct Sender {
    config: Rc<WebhookClientConfig>,
    targets: Rc<RefCell<Targets>>,
    plain: Client,
    secure: Client,
}

impl Sender {
    async fn send(&self, request: WebhookRequest) -> Sent {
        let target = self.targets.borrow_mut().get(&request.url);
        let target = match target {
            Ok(target) => target,
            Err(why) => return failed(why),
        };
        let client = if target.is_https { &self.secure } else { &self.plain };
        // The answer is read as it comes: nothing is ever unpacked.
        let mut post = client.post(target.uri.clone()).no_decompress();
        let headers = post.headers_mut();
        headers.insert(HOST, target.host.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(PRODUCT));
        let Some(signatures) = signature::sign(&request, headers) else {
            return failed(DeliveryFailure::Own("the notification cannot be signed"));
        };
        let mut answer = match post.send_body(request.body).await {
            Ok(answer) => answer,
            Err(error) => return failed(why(&error)),
        };
        let body = match self.read(&mut answer).await {
            Ok(body) => redacted_excerpt(&body, &request.secrets, &signatures),
            Err(why) => return failed(why),
        };
        let retry_after = header(answer.headers(), RETRY_AFTER.as_str()).and_then(|text| delay(text, request.at));
        Sent { outcome: AttemptOutcome::Answered { status: answer.status().as_u16(), retry_after }, answer: body }
    }

    /// Reads the body to its end or to the limit; returns its beginning.
    async fn read(&self, answer: &mut ClientResponse) -> Result<Vec<u8>, DeliveryFailure> {
        let mut kept = Vec::new();
        if [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED, StatusCode::SWITCHING_PROTOCOLS]
            .contains(&answer.status())
        {
            return Ok(kept);
        }
        let declared = header(answer.headers(), CONTENT_LENGTH.as_str()).and_then(|text| text.parse::<u64>().ok());
        let mut read = 0;
        while read < self.config.answer_limit {
            match answer.next().await {
                Some(Ok(chunk)) => {
                    kept.extend(chunk.iter().take(MAX_COLLECTED_BYTES - kept.len()));
                    read += chunk.len();
                }
                Some(Err(PayloadError::Incomplete(Some(error)))) if Stopped::of(&error) == Some(Stopped::Limit) => {
                    break;
                }
                // The end of the connection looks like the end of the answer.
                None if declared.is_none_or(|declared| declared <= read as u64) => break,
                None | Some(Err(_)) => return Err(DeliveryFailure::AnswerBroke),
            }
        }
        let encoded = header(answer.headers(), CONTENT_ENCODING.as_str());
        if encoded.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) && !kept.is_empty() {
            kept = b"(an encoded body, which is never unpacked)".to_vec();
        }
        Ok(kept)
    }
}

const fn failed(why: DeliveryFailure) -> Sent {
    Sent { outcome: AttemptOutcome::Failed { why }, answer: Vec::new() }
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
fn why(error: &SendRequestError) -> DeliveryFailure {
    match error {
        SendRequestError::Url(_) => DeliveryFailure::Uncallable,
        SendRequestError::Connect(ConnectError::Resolver(error)) => {
            error.downcast_ref::<NotConnected>().map_or(DeliveryFailure::NoConnection, |why| why.0)
        }
        SendRequestError::Connect(ConnectError::Timeout) => DeliveryFailure::ConnectLate,
        SendRequestError::Connect(ConnectError::Disconnected) => DeliveryFailure::Closed,
        SendRequestError::Connect(_) => DeliveryFailure::NoConnection,
        SendRequestError::Send(_) | SendRequestError::Body(_) => DeliveryFailure::BrokeSending,
        SendRequestError::Response(ParseError::Io(error)) => {
            Stopped::of(error).map_or(DeliveryFailure::BrokeAnswering, Stopped::why)
        }
        SendRequestError::Response(_) => DeliveryFailure::NotHttp,
        _ => DeliveryFailure::Own("the request could not be made"),
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
