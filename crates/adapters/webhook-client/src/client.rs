use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_access::TargetPolicy;
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::{Sent, WebhookRequest, WebhookSender};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::internet::{Internet, SystemInternet};
use crate::thread;

/// Jobs that may wait for the thread; the notifier has fewer under way.
const MAX_QUEUED_JOBS: usize = 4_096;

/// Limits of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookClientConfig {
    /// Where notifications may go.
    pub policy: TargetPolicy,
    /// Longest time until a connection stands, finding the address included; the TLS handshake has as much again.
    pub connect_deadline: Duration,
    /// Longest time for all of it: connecting, sending, and reading the answer.
    pub deadline: Duration,
    /// Bytes of the answer's body that are read, with all that is wrapped around them.
    pub answer_limit: usize,
}

impl WebhookClientConfig {
    /// The limits of docs/SPECIFICATION.md#event-delivery: 3 s to connect, 10 s in all, 64 KiB of the answer.
    pub const fn new(policy: TargetPolicy) -> Self {
        let (connect_deadline, deadline) = (Duration::from_secs(3), Duration::from_secs(10));
        Self { policy, connect_deadline, deadline, answer_limit: 64 * 1024 }
    }
}

/// One try.
pub(crate) struct Job {
    pub(crate) request: WebhookRequest,
    /// When it ends, however late it began: whoever asked counts from when they asked.
    pub(crate) until: Instant,
    /// Where its outcome goes.
    pub(crate) reply: oneshot::Sender<Sent>,
}

/// Sends notifications. The HTTP client lives on a thread of its own, since it cannot move between threads; the thread ends with the last
/// clone of this handle.
#[derive(Clone)]
pub struct WebhookClient {
    inbox: mpsc::Sender<Job>,
    deadline: Duration,
}

impl WebhookClient {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(config: WebhookClientConfig) -> io::Result<Self> {
        Self::start_with(config, Arc::new(SystemInternet))
    }

    pub(crate) fn start_with(config: WebhookClientConfig, internet: Arc<dyn Internet>) -> io::Result<Self> {
        let ((inbox, jobs), deadline) = (mpsc::channel(MAX_QUEUED_JOBS), config.deadline);
        std::thread::Builder::new().name("webhooks".to_owned()).spawn(move || thread::run(config, internet, jobs))?;
        Ok(Self { inbox, deadline })
    }
}

#[async_trait]
impl WebhookSender for WebhookClient {
    async fn send(&self, request: WebhookRequest) -> Sent {
        const STOPPED: AttemptOutcome = AttemptOutcome::Failed { why: DeliveryFailure::Stopped };
        const BROKE: AttemptOutcome = AttemptOutcome::Failed { why: DeliveryFailure::Own("the try ended abnormally") };
        let (reply, outcome) = oneshot::channel();
        let job = Job { request, until: Instant::now() + self.deadline, reply };
        if self.inbox.send(job).await.is_err() {
            return STOPPED.into();
        }
        // A defect that one receiver brings to light costs that try, and must not end the sending to all others.
        let no_reply = |_| if self.inbox.is_closed() { STOPPED.into() } else { BROKE.into() };
        outcome.await.unwrap_or_else(no_reply)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use futures_util::future::LocalBoxFuture;
    use rustls::RootCertStore;
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;
    use crate::hostile::request;

    /// An internet with a defect: in what the thread begins with, or in what one try needs.
    struct Defect {
        at_the_start: bool,
    }

    impl Internet for Defect {
        fn find(&self, _: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
        }

        fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
            assert!(address.port() != 9, "a defect that one receiver brings to light");
            Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
        }

        fn is_own(&self, _: IpAddr) -> bool {
            false
        }

        fn roots(&self) -> RootCertStore {
            assert!(!self.at_the_start, "a defect of the machine");
            RootCertStore::empty()
        }
    }

    async fn outcomes(at_the_start: bool) -> Vec<AttemptOutcome> {
        let config = WebhookClientConfig::new(TargetPolicy::sandbox());
        let client = WebhookClient::start_with(config, Arc::new(Defect { at_the_start })).expect("a thread");
        let mut outcomes = Vec::new();
        for url in ["http://127.0.0.1:9/", "http://127.0.0.1:9/", "http://127.0.0.1:10/"] {
            let sent = timeout(Duration::from_secs(20), client.send(request(url.to_owned()))).await;
            outcomes.push(sent.expect("an end").outcome);
        }
        outcomes
    }

    #[tokio::test]
    async fn a_thread_that_died_is_told_from_a_try_that_broke() {
        let failed = |why| AttemptOutcome::Failed { why };
        assert_eq!(outcomes(true).await, vec![failed(DeliveryFailure::Stopped); 3]);
        let broke = failed(DeliveryFailure::Own("the try ended abnormally"));
        assert_eq!(outcomes(false).await, [broke.clone(), broke, failed(DeliveryFailure::Refused)]);
    }
}
