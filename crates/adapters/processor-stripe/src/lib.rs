#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod amount;
mod asking;
mod authorize;
mod decline;
mod event;
mod follow;
mod form;
mod names;
mod object;
mod outcome;
mod reference;
mod register;

use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, Metric, MetricSource,
    OperationQuery, Processor, ProcessorReply, Readiness, RefundRequest, Registration, StatusReply, VoidRequest,
};
use dropin_processor_transport::health::{self, CallKind, ProcessorHealth};
use dropin_processor_transport::{ProcessorConfig, ProcessorConfigError, ProcessorKey, Transport};
use serde::de::IgnoredAny;

pub use crate::event::{EventRefused, EventSecrets, MAX_EVENT_SECRETS, SIGNATURE_HEADER};

use crate::asking::{Asking, Said};
use crate::authorize::Confirmation;

/// Where Stripe is.
pub const API_URL: &str = "https://api.stripe.com";
/// The version of the API that everything here was written for; every call names it.
pub const API_VERSION: &str = "2024-06-20";

/// A question that changes nothing, and that every key may ask.
const PROBE: &str = "/v1/balance";

/// Stripe does not know the key, or cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCheck {
    /// Stripe knows it.
    Accepted,
    /// Stripe refuses it: it is wrong, revoked or of another account.
    Refused,
    /// Nobody says so.
    Unknown {
        /// For the log.
        why: String,
    },
}

/// A client of Stripe's API.
#[derive(Debug, Clone)]
pub struct StripeProcessor(Transport);

impl StripeProcessor {
    /// Starts the client's thread; it ends when the last clone is dropped.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(config: ProcessorConfig) -> Result<Self, ProcessorConfigError> {
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
    pub async fn check_key(&self) -> KeyCheck {
        let asking = self.asking(CallKind::Status, None);
        match asking.get::<IgnoredAny>(PROBE).await {
            Said::Object(_) => KeyCheck::Accepted,
            Said::Refused { status: 401, .. } => KeyCheck::Refused,
            // A restricted key need not be allowed to read the balance.
            Said::Refused { status: 403, .. } => KeyCheck::Accepted,
            said => KeyCheck::Unknown { why: said.why() },
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
impl MetricSource for StripeProcessor {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        self.0.collect_metrics().await
    }
}
