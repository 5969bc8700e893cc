#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod call;
mod credential_reply;
mod dispute;
mod journal;
mod processor_reply;
mod records;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, ProcessorId};
use dropin_order::OpKind;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, CredentialListPage, CredentialListQuery,
    CredentialListUnavailable, DeleteCredentialRequest, DisputeAnswerRequest, DisputeReply, DisputesUnavailable,
    JournalEntry, JournalUnavailable, ListedDispute, Metric, MetricSource, OperationQuery, Processor,
    ProcessorDisputes, ProcessorJournal, ProcessorRecordPage, ProcessorRecords, ProcessorRecordsUnavailable,
    ProcessorReply, Readiness, RecordList, RecordSpan, RefundRequest, ReportedDispute, StatusReply,
    StoredCredentialList, VoidRequest,
};
use dropin_processor_transport::health::{self, CallKind};
use dropin_processor_transport::{Call, HeldBack, HttpReply, Transport};
use zeroize::Zeroizing;

pub use dropin_processor_transport::health::{Occupancy, OutcomeCount, ProcessorHealth};
pub use dropin_processor_transport::{
    BreakerState, CallLimits, ProcessorBreakerRules, ProcessorConfig, ProcessorConfigError, ProcessorKey,
};

/// A client of the processor's own API.
#[derive(Debug, Clone)]
pub struct HttpProcessor(Transport);

impl HttpProcessor {
    /// Starts the client's thread; it ends when the last clone is dropped.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(config: ProcessorConfig) -> Result<Self, ProcessorConfigError> {
        Transport::start(config, call::PROBE).map(Self)
    }

    /// The key that the processor knows us by, to replace it.
    pub fn key(&self) -> Arc<ProcessorKey> {
        self.0.key()
    }

    /// How things stand with the processor; cheap enough for every look at the metrics.
    pub fn health(&self) -> ProcessorHealth {
        self.0.health()
    }

    async fn call(&self, asked: CallKind, merchant: Option<MerchantId>, call: Call) -> Result<HttpReply, HeldBack> {
        self.0.call(asked, merchant, self.0.deadline(), call).await
    }

    async fn effect(&self, about: OperationQuery, body: Zeroizing<Vec<u8>>) -> ProcessorReply {
        let (asked, path) = match about.kind {
            OpKind::Authorize => (CallKind::Authorize, "/v1/authorizations"),
            OpKind::Capture => (CallKind::Capture, "/v1/captures"),
            OpKind::Void => (CallKind::Void, "/v1/voids"),
            OpKind::Refund => (CallKind::Refund, "/v1/refunds"),
        };
        let call = call::effect(path, about.key, body);
        let (answer, outcome) = match self.call(asked, Some(about.merchant_id), call).await {
            Ok(reply) => {
                let answer = processor_reply::effect(reply, about.key, about.kind);
                let outcome = health::of_effect(&answer);
                (answer, outcome)
            }
            Err(held_back) => (ProcessorReply::NotSent, health::of_held_back(held_back)),
        };
        self.0.count(asked, outcome);
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
        self.0.count(asked, outcome);
        answer
    }
}

#[async_trait]
impl Processor for HttpProcessor {
    async fn readiness(&self, _processor: Option<&ProcessorId>) -> Readiness {
        self.0.readiness().await
    }

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
        let call = call::look_up(question.key);
        self.question(CallKind::Status, question, call).await
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        let call = call::abandon(question.key);
        self.question(CallKind::Abandon, question, call).await
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let (key, merchant_id) = (request.key, request.merchant_id);
        let call = call::effect("/v1/credentials/delete", key, request::delete_credential(&request));
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
        self.0.count(asked, outcome);
        answer
    }
}

fn about(key: OpId, merchant_id: MerchantId, kind: OpKind) -> OperationQuery {
    OperationQuery { key, processor: None, merchant_id, kind, reference: None }
}

#[async_trait]
impl MetricSource for HttpProcessor {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        self.0.collect_metrics().await
    }
}

#[async_trait]
impl ProcessorJournal for HttpProcessor {
    async fn journal(&self, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
        let limit = limit.min(journal::MAX_PAGE);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let (page, outcome) = match self.call(CallKind::Journal, None, call::journal(after, limit)).await {
            Ok(reply) => health::of_reading(journal::page(reply, after, limit)),
            Err(held_back) => (Err(JournalUnavailable(held_back.to_string())), health::HELD_BACK),
        };
        self.0.count(CallKind::Journal, outcome);
        page
    }
}

#[async_trait]
impl ProcessorRecords for HttpProcessor {
    /// All of a list at once: a payment is what all of the journal says of it.
    async fn list_records(
        &self,
        list: RecordList,
        span: RecordSpan,
        _next: Option<&str>,
    ) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
        let (mut read, mut after) = (records::Records::default(), 0);
        loop {
            let page = self.journal(after, journal::MAX_PAGE).await;
            let page = page.map_err(|JournalUnavailable(why)| ProcessorRecordsUnavailable(why))?;
            page.iter().for_each(|entry| read.read(entry));
            match page.last() {
                Some(last) if page.len() == journal::MAX_PAGE as usize => after = last.number,
                _ => break,
            }
        }
        let mut records = read.list(list);
        records.retain(|record| (span.from..span.until).contains(&record.created_at));
        Ok(ProcessorRecordPage { records, next: None })
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
        let call = call::list_credentials(query.merchant_id, after, limit);
        let (page, outcome) = match self.call(asked, Some(query.merchant_id), call).await {
            Ok(reply) => health::of_reading(credential_reply::page(reply, after, limit)),
            Err(held_back) => (Err(CredentialListUnavailable(held_back.to_string())), health::of_held_back(held_back)),
        };
        self.0.count(asked, outcome);
        page
    }
}

#[async_trait]
impl ProcessorDisputes for HttpProcessor {
    async fn list_disputes(&self, after: Option<&str>, limit: u32) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
        let (after, limit) = (dispute::position(after)?, limit.clamp(1, dispute::MAX_PAGE));
        let asked = CallKind::ListDisputes;
        let (page, outcome) = match self.call(asked, None, dispute::list_call(after, limit)).await {
            Ok(reply) => health::of_reading(dispute::page(reply, after, limit)),
            Err(held_back) => (Err(DisputesUnavailable(held_back.to_string())), health::of_held_back(held_back)),
        };
        self.0.count(asked, outcome);
        page
    }

    async fn read_dispute(&self, reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
        let foreign = || DisputesUnavailable("the reference is none of this processor's".to_owned());
        let (asked, call) = (CallKind::ReadDispute, dispute::read_call(reference).ok_or_else(foreign)?);
        let (found, outcome) = match self.call(asked, None, call).await {
            Ok(reply) => health::of_reading(dispute::one(reply, reference)),
            Err(held_back) => (Err(DisputesUnavailable(held_back.to_string())), health::of_held_back(held_back)),
        };
        self.0.count(asked, outcome);
        found
    }

    async fn answer_dispute(&self, request: DisputeAnswerRequest) -> DisputeReply {
        let asked = CallKind::AnswerDispute;
        let Some(call) = dispute::answer_call(&request) else {
            return DisputeReply::Refused { why: "the reference is none of this processor's".to_owned() };
        };
        let (merchant, reference) = (request.merchant_id, request.reference);
        let (answer, outcome) = match self.call(asked, Some(merchant), call).await {
            Ok(reply) => {
                let answer = dispute::reply(reply, &reference);
                let outcome = health::of_dispute_reply(&answer);
                (answer, outcome)
            }
            Err(held_back) => (DisputeReply::Unknown { why: held_back.to_string() }, health::of_held_back(held_back)),
        };
        self.0.count(asked, outcome);
        answer
    }
}
