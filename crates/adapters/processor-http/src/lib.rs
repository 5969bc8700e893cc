#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod breaker;
mod bulkhead;
mod client;
mod config;
mod credential_reply;
mod guard;
mod health;
mod journal;
mod measure;
mod processor_reply;
mod request;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId};
use dropin_order::OpKind;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, CredentialListPage, CredentialListQuery,
    CredentialListUnavailable, DeleteCredentialRequest, JournalEntry, JournalUnavailable, OperationQuery, Processor,
    ProcessorJournal, ProcessorReply, RefundRequest, StatusReply, StoredCredentialList, VoidRequest,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use crate::client::{Call, Job, Reply};
use crate::guard::{Guard, HeldBack};
use crate::health::CallKind;

pub use crate::breaker::{BreakerState, ProcessorBreakerRules};
pub use crate::config::{CallLimits, ProcessorConfig, ProcessorConfigError, ProcessorKey};
pub use crate::health::{Occupancy, OutcomeCount, ProcessorHealth};

/// How much longer than the deadline the other thread is waited for; it keeps the deadline itself.
const GRACE: Duration = Duration::from_secs(1);

/// The client: awc is bound to one thread, so it lives on its own and is reached through a channel. A guard stands before it: so many
/// calls at once and no more, and none while the processor answers nobody.
#[derive(Debug, Clone)]
pub struct HttpProcessor {
    /// As many calls as the guard lets pass.
    calls: mpsc::UnboundedSender<Job>,
    guard: Arc<Guard>,
    key: Arc<ProcessorKey>,
    deadline: Duration,
}

impl HttpProcessor {
    /// Starts the client's thread; it ends when the last clone is dropped.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(config: ProcessorConfig) -> Result<Self, ProcessorConfigError> {
        let (calls, inbox) = mpsc::unbounded_channel();
        let (guard, key, deadline) = (Arc::new(Guard::new(&config)), config.key.clone(), config.deadline);
        let shared = Arc::clone(&guard);
        std::thread::Builder::new()
            .name("processor-client".to_owned())
            .spawn(move || client::run(config, shared, inbox))
            .map_err(|error| ProcessorConfigError::Start(error.to_string()))?;
        Ok(Self { calls, guard, key, deadline })
    }

    /// The key that the processor knows us by, to replace it.
    pub fn key(&self) -> Arc<ProcessorKey> {
        self.key.clone()
    }

    /// How things stand with the processor; cheap enough for every look at the metrics.
    pub fn health(&self) -> ProcessorHealth {
        self.guard.health()
    }

    /// Never waits much longer than the deadline, whatever happens on the other thread.
    async fn call(&self, asked: CallKind, merchant: Option<MerchantId>, call: Call) -> Result<Reply, HeldBack> {
        let until = Instant::now() + self.deadline;
        // A call that is held back is still in our hands: it was surely not sent. Half of the time is left for one that passes.
        let permit = self.guard.enter(asked, merchant, self.deadline / 2).await?;
        let (reply, answer) = oneshot::channel();
        if self.calls.send(Job { call, reply, until, permit }).is_err() {
            return Ok(Reply::NotSent("the processor client has stopped".to_owned()));
        }
        Ok(match timeout_at(until + GRACE, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_dropped)) => Reply::Unclear("the processor client dropped the call".to_owned()),
            Err(_late) => Reply::Unclear("the processor client did not answer in time".to_owned()),
        })
    }

    async fn effect(&self, about: OperationQuery, body: Zeroizing<Vec<u8>>) -> ProcessorReply {
        let (asked, path) = match about.kind {
            OpKind::Authorize => (CallKind::Authorize, "/v1/authorizations"),
            OpKind::Capture => (CallKind::Capture, "/v1/captures"),
            OpKind::Void => (CallKind::Void, "/v1/voids"),
            OpKind::Refund => (CallKind::Refund, "/v1/refunds"),
        };
        let call = Call::effect(path, about.key, body);
        let (answer, outcome) = match self.call(asked, Some(about.merchant_id), call).await {
            Ok(reply) => {
                let answer = processor_reply::effect(reply, about.key, about.kind);
                let outcome = health::of_effect(&answer);
                (answer, outcome)
            }
            Err(held_back) => (ProcessorReply::NotSent, health::of_held_back(held_back)),
        };
        self.guard.outcomes.count(asked, outcome);
        answer
    }

    async fn question(&self, asked: CallKind, about: OperationQuery, call: Call) -> StatusReply {
        let (answer, outcome) = match self.call(asked, Some(about.merchant_id), call).await {
            Ok(reply) => {
                let answer = processor_reply::status(reply, about.key, about.kind);
                let outcome = health::of_status(&answer);
                (answer, outcome)
            }
            Err(held_back) => {
                (StatusReply::Unreachable { why: held_back.to_string() }, health::of_held_back(held_back))
            }
        };
        self.guard.outcomes.count(asked, outcome);
        answer
    }
}

#[async_trait]
impl Processor for HttpProcessor {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        let (about, body) = (about(request.key, request.merchant_id, OpKind::Authorize), request::authorize(&request));
        // Its card is wiped before anybody waits.
        drop(request);
        self.effect(about, body).await
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.effect(about(request.key, request.merchant_id, OpKind::Capture), request::capture(&request)).await
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        self.effect(about(request.key, request.merchant_id, OpKind::Void), request::void(&request)).await
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.effect(about(request.key, request.merchant_id, OpKind::Refund), request::refund(&request)).await
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        self.question(CallKind::Status, question, Call::look_up(question.key)).await
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        self.question(CallKind::Abandon, question, Call::abandon(question.key)).await
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let (key, merchant_id) = (request.key, request.merchant_id);
        let call = Call::effect("/v1/credentials/delete", key, request::delete_credential(&request));
        // Its credential is wiped before anybody waits.
        drop(request);
        let asked = CallKind::DeleteCredential;
        let (answer, outcome) = match self.call(asked, Some(merchant_id), call).await {
            Ok(reply) => {
                let answer = credential_reply::deletion(reply);
                let outcome = health::of_deletion(&answer);
                (answer, outcome)
            }
            Err(held_back) => (CredentialDeletion::NotSent, health::of_held_back(held_back)),
        };
        self.guard.outcomes.count(asked, outcome);
        answer
    }
}

fn about(key: OpId, merchant_id: MerchantId, kind: OpKind) -> OperationQuery {
    OperationQuery { key, merchant_id, kind }
}

#[async_trait]
impl ProcessorJournal for HttpProcessor {
    async fn journal(&self, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
        let limit = limit.min(journal::MAX_PAGE);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let (page, outcome) = match self.call(CallKind::Journal, None, Call::journal(after, limit)).await {
            Ok(reply) => {
                let page = journal::page(reply, after, limit);
                let outcome = if page.is_ok() { health::READ } else { health::UNREACHABLE };
                (page, outcome)
            }
            Err(held_back) => (Err(JournalUnavailable(held_back.to_string())), health::HELD_BACK),
        };
        self.guard.outcomes.count(CallKind::Journal, outcome);
        page
    }
}

#[async_trait]
impl StoredCredentialList for HttpProcessor {
    async fn list_credentials(
        &self,
        query: CredentialListQuery,
    ) -> Result<CredentialListPage, CredentialListUnavailable> {
        let after = credential_reply::position(query.after.as_ref())?;
        let limit = query.limit.clamp(1, journal::MAX_PAGE);
        let asked = CallKind::ListCredentials;
        let call = Call::list_credentials(query.merchant_id, after, limit);
        let (page, outcome) = match self.call(asked, Some(query.merchant_id), call).await {
            Ok(reply) => {
                let page = credential_reply::page(reply, after, limit);
                let outcome = if page.is_ok() { health::READ } else { health::UNREACHABLE };
                (page, outcome)
            }
            Err(held_back) => (Err(CredentialListUnavailable(held_back.to_string())), health::of_held_back(held_back)),
        };
        self.guard.outcomes.count(asked, outcome);
        page
    }
}
