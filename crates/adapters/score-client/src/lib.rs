#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod pause;
mod response;
mod thread;

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId};
use dropin_ports::{Clock, OutsideScoreUnavailable, OutsideScorer};
use dropin_risk::{Facts, OutsideScore};
use serde::Serialize;
use standardwebhooks::Webhook;
use tokio::sync::{Semaphore, mpsc, oneshot};
use url::{Host, Url};

use crate::pause::Pause;
use crate::thread::Job;

/// Calls in flight; further ones get no score.
const MAX_CALLS: usize = 64;

/// The service cannot be asked with these settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreClientError {
    /// No URL, or http to another machine.
    #[error("must be an https address, or http on this machine, such as https://score.example/v1/score")]
    Address,
    /// The key is no base64 of 24 bytes or more.
    #[error("must be a key of 24 bytes or more in base64, with or without whsec_ before it")]
    Key,
    /// The system gives no thread.
    #[error("cannot start the client's thread: {0}")]
    Thread(io::Error),
}

/// Asks one service. The HTTP client lives on a thread of its own, since it cannot move between threads; the thread ends with the last clone of this handle.
#[derive(Clone)]
pub struct ScoreClient {
    inbox: mpsc::UnboundedSender<Job>,
    key: Arc<Webhook>,
    clock: Arc<dyn Clock>,
    calls: Arc<Semaphore>,
    pause: Arc<Pause>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    order_id: String,
    merchant_id: String,
    facts: &'a Facts,
}

impl ScoreClient {
    /// Starts the thread of a client of the service at `url`, whose calls are signed with `key`.
    ///
    /// # Errors
    /// [`ScoreClientError`].
    pub fn start(url: &str, key: &str, clock: Arc<dyn Clock>) -> Result<Self, ScoreClientError> {
        let url = Url::parse(url).ok().filter(is_allowed).ok_or(ScoreClientError::Address)?;
        let key = key.trim();
        let is_long = (32..=1_024).contains(&key.trim_start_matches("whsec_").len());
        let key = Some(key).filter(|_| is_long).and_then(|key| Webhook::new(key).ok()).ok_or(ScoreClientError::Key)?;
        let (inbox, work) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("score-client".to_owned())
            .spawn(move || thread::run(url.into(), work))
            .map_err(ScoreClientError::Thread)?;
        let calls = Arc::new(Semaphore::new(MAX_CALLS));
        Ok(Self { inbox, key: Arc::new(key), clock, calls, pause: Arc::default() })
    }

    async fn ask(&self, order: OrderId, body: Vec<u8>) -> Result<OutsideScore, String> {
        let (id, timestamp) = (order.to_string(), self.clock.now().unix_seconds());
        let signature = self.key.sign(&id, timestamp, &body).map_err(|_no_text| "it cannot be signed".to_owned())?;
        let (reply, answer) = oneshot::channel();
        let job = Job { id, timestamp, signature, body, reply };
        self.inbox.send(job).map_err(|_gone| "its thread has ended".to_owned())?;
        let bytes = answer.await.map_err(|_gone| "its thread has ended".to_owned())??;
        response::read(&bytes).ok_or_else(|| "its answer makes no sense".to_owned())
    }
}

fn is_allowed(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || url.scheme() == "http" && is_local
}

#[async_trait]
impl OutsideScorer for ScoreClient {
    async fn score_payment(
        &self,
        order: OrderId,
        merchant: MerchantId,
        facts: &Facts,
    ) -> Result<OutsideScore, OutsideScoreUnavailable> {
        let unavailable = |why: &str| OutsideScoreUnavailable(why.to_owned());
        if self.pause.is_on() {
            return Err(unavailable("it answered none of the last calls, and is left alone for 10 s"));
        }
        let Ok(_permit) = self.calls.try_acquire() else { return Err(unavailable("too many calls are under way")) };
        let request = Request { order_id: order.to_string(), merchant_id: merchant.to_string(), facts };
        let body = serde_json::to_vec(&request).map_err(|error| OutsideScoreUnavailable(error.to_string()))?;
        // A caller that waits no longer drops this: that counts as a failure.
        let outcome = self.pause.begin();
        let answer = self.ask(order, body).await;
        outcome.ended(answer.is_ok());
        answer.map_err(OutsideScoreUnavailable)
    }
}
