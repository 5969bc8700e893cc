#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod breaker;
mod bulkhead;
mod client;
mod config;
mod guard;
pub mod health;
mod key_status;
mod measure;

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::MerchantId;
use dropin_ports::Readiness;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::client::Job;
use crate::guard::Guard;
use crate::health::{CallKind, ProcessorHealth};

pub use crate::breaker::{BreakerState, ProcessorBreakerRules};
pub use crate::client::{Call, HttpReply, tls_client_config};
pub use crate::config::{CallLimits, ProcessorConfig, ProcessorConfigError, ProcessorKey};
pub use crate::guard::HeldBack;
pub use crate::key_status::KeyVerdict;

/// How much longer than the deadline the other thread is waited for; it keeps the deadline itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long the processor may take to say whether it accepts the key. A slower one is asked for the payment itself.
const KEY_CHECK_DEADLINE: Duration = Duration::from_secs(1);

/// The client: awc is bound to one thread, so it lives on its own and is reached through a channel. A guard stands before it: so many
/// calls at once and no more, and none while the processor answers nobody.
#[derive(Debug, Clone)]
pub struct Transport {
    /// As many calls as the guard lets pass.
    calls: mpsc::UnboundedSender<Job>,
    guard: Arc<Guard>,
    key: Arc<ProcessorKey>,
    deadline: Duration,
    probe: &'static str,
    /// Held while the processor is asked about the key: one asks, the others take the answer.
    checking_key: Arc<Mutex<()>>,
}

impl Transport {
    /// Starts the client's thread; it ends when the last clone is dropped. `probe` is the path of a harmless question: any answer to it is life.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(config: ProcessorConfig, probe: &'static str) -> Result<Self, ProcessorConfigError> {
        let (calls, inbox) = mpsc::unbounded_channel();
        let (guard, key, deadline) = (Arc::new(Guard::new(&config)), config.key.clone(), config.deadline);
        let shared = Arc::clone(&guard);
        std::thread::Builder::new()
            .name("processor-client".to_owned())
            .spawn(move || client::run(config, probe, shared, inbox))
            .map_err(|error| ProcessorConfigError::Start(error.to_string()))?;
        Ok(Self { calls, guard, key, deadline, probe, checking_key: Arc::default() })
    }

    /// The key that the processor knows us by, to replace it.
    pub fn key(&self) -> Arc<ProcessorKey> {
        self.key.clone()
    }

    /// How things stand with the processor; cheap enough for every look at the metrics.
    pub fn health(&self) -> ProcessorHealth {
        self.guard.health()
    }

    /// Whether the processor takes calls now, and our key. Its answers to other calls tell; where there was none for a second, it is asked.
    pub async fn readiness(&self) -> Readiness {
        if self.guard.holds_back() {
            return Readiness::HeldBack;
        }
        match self.check_key(Instant::now() + KEY_CHECK_DEADLINE).await {
            KeyVerdict::Refused => Readiness::Unusable,
            KeyVerdict::Accepted | KeyVerdict::Silent => Readiness::Ready,
        }
    }

    /// Whether the processor accepts our key: what its answers of the last second told, else what it says to a question by `until`.
    pub async fn check_key(&self, until: Instant) -> KeyVerdict {
        if let Some(verdict) = self.guard.key.verdict() {
            return verdict;
        }
        let _only_one = self.checking_key.lock().await;
        if let Some(verdict) = self.guard.key.verdict() {
            return verdict;
        }
        let question = self.call(CallKind::Status, None, until, Call::get(self.probe.to_owned()));
        // What the processor answers to it is noted where all answers are.
        drop(timeout_at(until, question).await);
        let verdict = self.guard.key.verdict().unwrap_or(KeyVerdict::Silent);
        if verdict == KeyVerdict::Silent {
            self.guard.key.note(verdict);
        }
        verdict
    }

    /// When a call that begins now has to have ended.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.deadline
    }

    /// Makes one call. Never waits much longer than until `until`, whatever happens on the other thread.
    ///
    /// # Errors
    /// [`HeldBack`]: the guard did not let it pass, and surely nothing was sent.
    pub async fn call(
        &self,
        asked: CallKind,
        merchant: Option<MerchantId>,
        until: Instant,
        call: Call,
    ) -> Result<HttpReply, HeldBack> {
        // A call that is held back is still in our hands: it was surely not sent. Half of the time is left for one that passes.
        let patience = until.saturating_duration_since(Instant::now()) / 2;
        let permit = self.guard.enter(asked, merchant, patience).await?;
        let (reply, answer) = oneshot::channel();
        if self.calls.send(Job { asked, call, reply, until, permit }).is_err() {
            return Ok(HttpReply::NotSent("the processor client has stopped".to_owned()));
        }
        Ok(match timeout_at(until + GRACE, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_dropped)) => HttpReply::Unclear("the processor client dropped the call".to_owned()),
            Err(_late) => HttpReply::Unclear("the processor client did not answer in time".to_owned()),
        })
    }

    /// Counts how what was asked ended, in one of the words of [`health`].
    pub fn count(&self, asked: CallKind, outcome: &'static str) {
        self.guard.outcomes.count(asked, outcome);
    }
}
