#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answer;
mod client;
mod journal;
mod request;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::OpId;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, JournalEntry, JournalUnavailable, Processor, ProcessorAnswer, ProcessorJournal,
    RefundRequest, StatusAnswer, VoidRequest,
};
use tokio::sync::{mpsc, oneshot};
use url::Url;
use zeroize::Zeroizing;

use crate::client::{Call, Reply};

/// How many calls may be under way; further ones wait in line within their own deadline.
const CALLS_AT_ONCE: usize = 128;

/// The address, key or deadline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not an absolute http or https URL.
    #[error("the processor's address must be an absolute http or https URL, for example http://127.0.0.1:8086")]
    Address,
    /// http to another machine would show card data on the network.
    #[error("the processor's address must use https unless it is on this machine (loopback)")]
    PlainHttp,
    /// The client's thread could not be started.
    #[error("cannot start the processor client: {0}")]
    Start(String),
}

/// Where the processor is and how it is spoken to.
#[derive(Clone)]
pub struct ProcessorConfig {
    base: String,
    key: Zeroizing<String>,
    deadline: Duration,
}

impl fmt::Debug for ProcessorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessorConfig({})", self.base)
    }
}

impl ProcessorConfig {
    /// `deadline` bounds one whole call, from connecting to the last byte of the answer.
    ///
    /// # Errors
    /// [`ConfigError`] when `base` is no http(s) URL, or plain http to another machine.
    pub fn new(base: &str, key: String, deadline: Duration) -> Result<Self, ConfigError> {
        let url = Url::parse(base).map_err(|_not_a_url| ConfigError::Address)?;
        let loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err(ConfigError::PlainHttp),
            _ => return Err(ConfigError::Address),
        }
        Ok(Self { base: base.trim_end_matches('/').to_owned(), key: Zeroizing::new(key), deadline })
    }
}

/// The client: awc is bound to one thread, so it lives on its own and is reached through a channel.
#[derive(Debug, Clone)]
pub struct HttpProcessor {
    calls: mpsc::Sender<(Call, oneshot::Sender<Reply>)>,
    deadline: Arc<Duration>,
}

impl HttpProcessor {
    /// Starts the client's thread; it ends when the last clone is dropped.
    ///
    /// # Errors
    /// [`ConfigError::Start`].
    pub fn start(config: ProcessorConfig) -> Result<Self, ConfigError> {
        let (calls, inbox) = mpsc::channel(CALLS_AT_ONCE);
        let deadline = Arc::new(config.deadline);
        std::thread::Builder::new()
            .name("processor-client".to_owned())
            .spawn(move || client::run(config, inbox))
            .map_err(|error| ConfigError::Start(error.to_string()))?;
        Ok(Self { calls, deadline })
    }

    /// Never waits much longer than the deadline, whatever happens on the other thread.
    async fn call(&self, call: Call) -> Reply {
        let (reply, answer) = oneshot::channel();
        // Still in our hands: a call that never left this queue was surely not sent.
        match tokio::time::timeout(*self.deadline, self.calls.send((call, reply))).await {
            Ok(Ok(())) => {}
            Ok(Err(_thread_gone)) => return Reply::NotSent("the processor client has stopped".to_owned()),
            Err(_too_many) => return Reply::NotSent("too many calls to the processor are waiting".to_owned()),
        }
        match tokio::time::timeout(*self.deadline + Duration::from_secs(1), answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_dropped)) => Reply::Unclear("the processor client dropped the call".to_owned()),
            Err(_late) => Reply::Unclear("the processor client did not answer in time".to_owned()),
        }
    }
}

#[async_trait]
impl Processor for HttpProcessor {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorAnswer {
        let (key, body) = (request.key, request::authorize(&request));
        // Its card is wiped before anybody waits.
        drop(request);
        answer::effect(self.call(Call::effect("/v1/authorizations", key, body)).await, key)
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorAnswer {
        let body = request::capture(&request);
        answer::effect(self.call(Call::effect("/v1/captures", request.key, body)).await, request.key)
    }

    async fn void(&self, request: VoidRequest) -> ProcessorAnswer {
        let body = request::void(&request);
        answer::effect(self.call(Call::effect("/v1/voids", request.key, body)).await, request.key)
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorAnswer {
        let body = request::refund(&request);
        answer::effect(self.call(Call::effect("/v1/refunds", request.key, body)).await, request.key)
    }

    async fn status(&self, key: OpId) -> StatusAnswer {
        answer::status(self.call(Call::look_up(key)).await, key)
    }

    async fn abandon(&self, key: OpId) -> StatusAnswer {
        answer::status(self.call(Call::abandon(key)).await, key)
    }
}

#[async_trait]
impl ProcessorJournal for HttpProcessor {
    async fn journal(&self, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
        let limit = limit.min(journal::MAX_PAGE);
        if limit == 0 {
            return Ok(Vec::new());
        }
        journal::page(self.call(Call::journal(after, limit)).await, after, limit)
    }
}
