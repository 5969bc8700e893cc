#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod amount;
mod asking;
mod authorize;
mod decline;
mod dispute;
mod event;
mod follow;
mod form;
mod multipart;
mod names;
mod object;
mod outcome;
mod records;
mod reference;
mod register;

use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, DisputeAnswerRequest, DisputeReply,
    DisputesUnavailable, ListedDispute, Metric, MetricSource, OperationQuery, Processor, ProcessorDisputes,
    ProcessorRecordPage, ProcessorRecords, ProcessorRecordsUnavailable, ProcessorReply, Readiness, RecordList,
    RecordSpan, RefundRequest, Registration, ReportedDispute, StatusReply, VoidRequest,
};
use dropin_processor_transport::health::{self, CallKind, ProcessorHealth};
use dropin_processor_transport::{KeyVerdict, ProcessorConfig, ProcessorConfigError, ProcessorKey, Transport};

pub use crate::event::{EventHints, EventRefused, EventSecrets, MAX_EVENT_SECRETS, SIGNATURE_HEADER};

use crate::asking::{Asking, Said};
use crate::authorize::Confirmation;

/// Where Stripe is.
pub const API_URL: &str = "https://api.stripe.com";
/// Where Stripe takes files.
const UPLOAD_URL: &str = "https://files.stripe.com";
/// The version of the API that everything here was written for; every call names it.
pub const API_VERSION: &str = "2024-06-20";

/// A question that changes nothing, and that every key may ask.
const PROBE: &str = "/v1/balance";

/// A client of Stripe's API.
#[derive(Debug, Clone)]
pub struct StripeProcessor(Transport);

impl StripeProcessor {
    /// Starts the client's thread; it ends when the last clone is dropped.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(config: ProcessorConfig) -> Result<Self, ProcessorConfigError> {
        let config = if config.address() == API_URL { config.with_upload_address(UPLOAD_URL) } else { config };
        Transport::start(config.with_header("Stripe-Version", API_VERSION), PROBE).map(Self)
    }

    /// The secret key, to replace it.
    pub fn key(&self) -> Arc<ProcessorKey> {
        self.0.key()
    }

    /// How things stand with Stripe; cheap enough for every look at the metrics.
    pub fn health(&self) -> ProcessorHealth {
        self.0.health()
    }

    /// Asks whether Stripe accepts the key.
    pub async fn check_key(&self) -> KeyVerdict {
        self.0.check_key(self.0.deadline()).await
    }

    /// Stripe's own id of the account that the key is of.
    ///
    /// # Errors
    /// What to do about it.
    pub async fn find_account(&self) -> Result<String, String> {
        // docs.stripe.com/api/accounts/retrieve: without an id, the account of the key.
        match self.asking(CallKind::Status, None).get::<object::Account>("/v1/account").await {
            Said::Object(account) if !account.id.is_empty() => Ok(account.id),
            Said::Refused { status: 401, .. } => {
                Err("Stripe does not accept the key: give one that is not revoked".to_owned())
            }
            Said::Refused { status: 403, .. } => Err(
                "the key may not read which account it is of: give a secret key, or let the restricted key read the account".to_owned(),
            ),
            other => Err(format!("Stripe did not say of which account the key is ({}): try again", other.why())),
        }
    }

    fn asking(&self, asked: CallKind, merchant_id: Option<MerchantId>) -> Asking<'_> {
        Asking::new(&self.0, asked, merchant_id)
    }
}

#[async_trait]
impl Processor for StripeProcessor {
    async fn readiness(&self, _processor: Option<&ProcessorId>) -> Readiness {
        self.0.readiness().await
    }

    async fn register(&self, request: &AuthorizeRequest) -> Registration {
        let asking = self.asking(CallKind::Authorize, Some(request.merchant_id));
        let registration = register::register(&asking, request).await;
        // An authorization that ends here is counted as one.
        match registration {
            Registration::Declined { .. } => asking.count("declined"),
            Registration::NotRegistered { .. } => asking.count("not_sent"),
            Registration::Registered(_) | Registration::Unneeded => {}
        }
        registration
    }

    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        let asking = self.asking(CallKind::Authorize, Some(request.merchant_id));
        let confirmation = Confirmation::of(&request);
        // Its card is wiped before anybody waits.
        drop(request);
        let reply = match confirmation {
            Some(confirmation) => confirmation.confirm(&asking).await,
            None => ProcessorReply::NotSent,
        };
        asking.count(health::of_effect(&reply));
        reply
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        let asking = self.asking(CallKind::Capture, Some(request.merchant_id));
        let reply = follow::capture(&asking, &request).await;
        asking.count(health::of_effect(&reply));
        reply
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        let asking = self.asking(CallKind::Void, Some(request.merchant_id));
        let reply = follow::void(&asking, &request).await;
        asking.count(health::of_effect(&reply));
        reply
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        let asking = self.asking(CallKind::Refund, Some(request.merchant_id));
        let reply = follow::refund(&asking, &request).await;
        asking.count(health::of_effect(&reply));
        reply
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        let asking = self.asking(CallKind::Status, Some(question.merchant_id));
        let reply = follow::status(&asking, &question).await;
        asking.count(health::of_status(&reply));
        reply
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        let asking = self.asking(CallKind::Abandon, Some(question.merchant_id));
        let reply = follow::abandon(&asking, &question).await;
        asking.count(health::of_status(&reply));
        reply
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let asking = self.asking(CallKind::DeleteCredential, Some(request.merchant_id));
        let deletion = follow::delete_credential(&asking, &request).await;
        asking.count(health::of_deletion(&deletion));
        deletion
    }
}

#[async_trait]
impl ProcessorDisputes for StripeProcessor {
    async fn list_disputes(&self, after: Option<&str>, limit: u32) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
        let mut asking = self.asking(CallKind::ListDisputes, None);
        let (listed, outcome) = health::of_reading(dispute::list(&mut asking, after, limit).await);
        asking.count(outcome);
        listed
    }

    async fn read_dispute(&self, reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
        let asking = self.asking(CallKind::ReadDispute, None);
        let (found, outcome) = health::of_reading(dispute::read(&asking, reference).await);
        asking.count(outcome);
        found
    }

    async fn answer_dispute(&self, request: DisputeAnswerRequest) -> DisputeReply {
        let asking = self.asking(CallKind::AnswerDispute, Some(request.merchant_id));
        let reply = dispute::answer(&asking, &request).await;
        asking.count(health::of_dispute_reply(&reply));
        reply
    }
}

#[async_trait]
impl ProcessorRecords for StripeProcessor {
    async fn list_records(
        &self,
        list: RecordList,
        span: RecordSpan,
        next: Option<&str>,
    ) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
        let asking = self.asking(CallKind::Journal, None);
        let (page, outcome) = health::of_reading(records::list(&asking, list, span, next).await);
        asking.count(outcome);
        page
    }
}

#[async_trait]
impl MetricSource for StripeProcessor {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        self.0.collect_metrics().await
    }
}
