//! The thread that owns the HTTP client. One call, one answer, one deadline over all of it; nothing is retried here.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::rt::{System, spawn};
use actix_web::web::Bytes;
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, Connector};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};
use zeroize::Zeroizing;

use crate::bulkhead::Permit;
use crate::config::ProcessorConfig;
use crate::guard::Guard;
use crate::health::CallKind;

const CONNECT_DEADLINE: Duration = Duration::from_secs(3);
/// How long an idle connection is kept: less than servers keep theirs, so that a call rarely meets one that was just closed.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// An answer is one operation; anything much larger is none.
const ANSWER_LIMIT: usize = 64 * 1024;
/// A long answer repeats a text of some 20,000 characters, each written as up to twelve bytes.
const LONG_ANSWER_LIMIT: usize = 1024 * 1024;
/// A page of a list has up to 1,000 entries of some hundred bytes.
const PAGE_LIMIT: usize = 2 * 1024 * 1024;
/// The longest wait that a processor may ask for; what it says beyond that is taken for this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// One call to make.
pub struct Call {
    path: String,
    method: Method,
    /// Most bytes of its answer.
    limit: usize,
}

enum Method {
    Get,
    Post { key: Option<String>, content_type: Cow<'static, str>, body: Zeroizing<Vec<u8>>, is_upload: bool },
}

impl Call {
    /// A call with an effect, once under its key; without one, a call that may be made again. The body is wiped when it has been written to the connection.
    pub fn post(path: String, key: Option<String>, content_type: &'static str, body: Zeroizing<Vec<u8>>) -> Self {
        let method = Method::Post { key, content_type: content_type.into(), body, is_upload: false };
        Self { path, method, limit: ANSWER_LIMIT }
    }

    /// A call that sends a file, once under its key, to where the processor takes files. The body is wiped as that of [`Call::post`].
    pub fn upload(path: String, key: String, content_type: String, body: Zeroizing<Vec<u8>>) -> Self {
        let method = Method::Post { key: Some(key), content_type: content_type.into(), body, is_upload: true };
        Self { path, method, limit: ANSWER_LIMIT }
    }

    /// A question about one thing.
    pub fn get(path: String) -> Self {
        Self { path, method: Method::Get, limit: ANSWER_LIMIT }
    }

    /// A question whose answer is a list.
    pub fn get_page(path: String) -> Self {
        Self { path, method: Method::Get, limit: PAGE_LIMIT }
    }

    /// The same call, whose answer may repeat a long text.
    pub fn with_long_answer(self) -> Self {
        Self { limit: self.limit.max(LONG_ANSWER_LIMIT), ..self }
    }
}

/// What came back.
pub enum HttpReply {
    /// A whole answer.
    Answer {
        /// Of HTTP.
        status: u16,
        /// How long to wait before asking again, where it says so in seconds.
        retry_after: Option<Duration>,
        /// Its body; wiped when dropped, for what it may repeat of the request.
        body: Zeroizing<Vec<u8>>,
    },
    /// No connection could be made: surely nothing was sent.
    NotSent(String),
    /// It may have arrived, and no whole answer came.
    Unclear(String),
}

impl HttpReply {
    /// Whether there is life. A gateway that finds nobody behind it is none.
    fn is_answer(&self) -> bool {
        matches!(self, Self::Answer { status, .. } if !matches!(status, 502..=504))
    }
}

/// A call on its way.
pub(crate) struct Job {
    pub(crate) asked: CallKind,
    pub(crate) call: Call,
    pub(crate) reply: oneshot::Sender<HttpReply>,
    /// When nobody waits for the answer any more.
    pub(crate) until: Instant,
    /// Its permit of the bulkhead.
    pub(crate) permit: Permit,
}

/// Runs until every sender is gone.
pub(crate) fn run(
    config: ProcessorConfig,
    probe: &'static str,
    guard: Arc<Guard>,
    mut inbox: mpsc::UnboundedReceiver<Job>,
) {
    System::new().block_on(async move {
        let caller = Rc::new(Caller { client: client(&config), config, probe, guard });
        while let Some(Job { asked, call, reply, until, permit }) = inbox.recv().await {
            let caller = Rc::clone(&caller);
            spawn(async move {
                if until <= Instant::now() {
                    // It waited here too long, which says nothing about the processor. Its permit is released before its caller hears of it.
                    drop(permit);
                    drop(reply.send(HttpReply::NotSent("nobody waits for the answer any more".to_owned())));
                    return;
                }
                let begun = Instant::now();
                let answer = caller.send(call, until).await;
                if !matches!(answer, HttpReply::NotSent(_)) {
                    caller.guard.took(asked, begun.elapsed());
                }
                if let HttpReply::Answer { status, .. } = &answer {
                    caller.guard.key.answered(*status);
                }
                if caller.guard.ended(answer.is_answer()) {
                    spawn(probe_until_answered(Rc::clone(&caller)));
                }
                drop(permit);
                // The asker may have stopped waiting; its operation is settled by asking again.
                drop(reply.send(answer));
            });
        }
    });
}

/// Probes a processor that answers no call, one probe at a time, until it answers.
async fn probe_until_answered(caller: Rc<Caller>) {
    while let Some(pause) = caller.guard.pause() {
        sleep(pause).await;
        if caller.guard.begin_probe() {
            let until = Instant::now() + caller.config.breaker.probe_deadline;
            let answered = caller.send(Call::get(caller.probe.to_owned()), until).await.is_answer();
            caller.guard.probed(answered);
        }
    }
}

/// TLS 1.2 or newer with the system's roots.
pub fn tls_client_config() -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(tls)
}

fn client(config: &ProcessorConfig) -> Client {
    let connector = Connector::new()
        .timeout(CONNECT_DEADLINE)
        .conn_keep_alive(KEEP_ALIVE)
        .limit(0)
        .rustls_0_23(tls_client_config());
    let client = Client::builder().connector(connector).timeout(config.deadline).disable_redirects();
    let client = config.headers.iter().fold(client, |client, (name, value)| client.add_default_header((*name, *value)));
    client.finish()
}

struct Caller {
    client: Client,
    config: ProcessorConfig,
    /// A harmless question: any answer closes the breaker.
    probe: &'static str,
    guard: Arc<Guard>,
}

impl Caller {
    async fn send(&self, call: Call, until: Instant) -> HttpReply {
        match timeout_at(until, self.exchange(call)).await {
            Ok(reply) => reply,
            Err(_late) => HttpReply::Unclear("no whole answer within the deadline".to_owned()),
        }
    }

    async fn exchange(&self, call: Call) -> HttpReply {
        let base = match &call.method {
            Method::Post { is_upload: true, .. } => self.config.upload_base.unwrap_or(&self.config.base),
            _ => &self.config.base,
        };
        let url = format!("{base}{}", call.path);
        let key = self.config.key.text();
        let key = key.as_str();
        let sent = match call.method {
            Method::Get => self.client.get(url).bearer_auth(key).send().await,
            Method::Post { key: idempotency_key, content_type, body, .. } => {
                let request =
                    self.client.post(url).bearer_auth(key).insert_header((header::CONTENT_TYPE, &*content_type));
                let request = match idempotency_key {
                    Some(key) => request.insert_header(("Idempotency-Key", key)),
                    None => request,
                };
                // No copy: it is wiped when it has been written to the connection.
                request.send_body(Bytes::from_owner(body)).await
            }
        };
        match sent {
            Ok(mut response) => match response.body().limit(call.limit).await {
                Ok(body) => HttpReply::Answer {
                    status: response.status().as_u16(),
                    retry_after: retry_after(response.headers()),
                    body: Zeroizing::new(body.to_vec()),
                },
                Err(error) => HttpReply::Unclear(format!("the answer broke off: {error}")),
            },
            Err(error) if never_left(&error) => HttpReply::NotSent(error.to_string()),
            Err(error) => HttpReply::Unclear(error.to_string()),
        }
    }
}

/// The wait that an answer asks for. A date is none: it would be by another clock.
fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

/// Only errors from before a connection stood.
fn never_left(error: &SendRequestError) -> bool {
    use ConnectError::{Io, NoRecords, Resolver, Timeout, Unresolved};
    matches!(
        error,
        SendRequestError::Url(_) | SendRequestError::Connect(Io(_) | NoRecords | Resolver(_) | Timeout | Unresolved)
    )
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpListener;

    use super::*;
    use crate::health::CallKind;

    #[actix_web::test]
    async fn what_is_taken_up_too_late_is_never_sent() {
        let processor = TcpListener::bind("127.0.0.1:0").unwrap();
        processor.set_nonblocking(true).unwrap();
        let base = format!("http://{}", processor.local_addr().unwrap());
        let config = ProcessorConfig::new(&base, String::new(), Duration::from_secs(60)).unwrap();
        let guard = Arc::new(Guard::new(&config));
        let (calls, inbox) = mpsc::unbounded_channel();
        let shared = Arc::clone(&guard);
        std::thread::spawn(move || run(config, "/", shared, inbox));
        let ask = async |until| {
            let permit = guard.enter(CallKind::Capture, None, Duration::from_secs(60)).await.unwrap();
            let (reply, answer) = oneshot::channel();
            let body = Zeroizing::new(b"{}".to_vec());
            let call = Call::post("/v1/captures".to_owned(), Some("key".to_owned()), "application/json", body);
            assert!(calls.send(Job { asked: CallKind::Status, call, reply, until, permit }).is_ok());
            answer.await.unwrap()
        };
        assert!(matches!(ask(Instant::now()).await, HttpReply::NotSent(_)));
        assert_eq!(guard.health().payments.under_way, 0);
        assert_eq!(processor.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
        // One that is in time arrives, and here nobody answers it.
        assert!(matches!(ask(Instant::now() + Duration::from_millis(300)).await, HttpReply::Unclear(_)));
        assert!(processor.accept().is_ok());
    }
}
