use std::sync::Arc;

use async_trait::async_trait;
use dropin_boot::ProcessorKind;
use dropin_ports::{
    Metric, MetricSource, Processor, ProcessorDisputes, ProcessorJournal, ProcessorRecords, StoredCredentialList,
};
use dropin_processor_http::HttpProcessor;
use dropin_processor_stripe::StripeProcessor;
use dropin_processor_transport::{KeyVerdict, ProcessorConfig, ProcessorConfigError, ProcessorKey};

/// A client of one processor: the one place that knows which kinds there are.
#[derive(Debug, Clone)]
pub enum ProcessorClient {
    /// One that speaks the sandbox processor's API.
    Sandbox(HttpProcessor),
    /// Stripe.
    Stripe(StripeProcessor),
}

impl ProcessorClient {
    /// Starts a client of a processor of this kind.
    ///
    /// # Errors
    /// [`ProcessorConfigError::Start`].
    pub fn start(kind: ProcessorKind, config: ProcessorConfig) -> Result<Self, ProcessorConfigError> {
        match kind {
            ProcessorKind::Sandbox => HttpProcessor::start(config).map(Self::Sandbox),
            ProcessorKind::Stripe => StripeProcessor::start(config).map(Self::Stripe),
        }
    }

    /// The key that the processor knows us by, to replace it.
    pub fn key(&self) -> Arc<ProcessorKey> {
        match self {
            Self::Sandbox(client) => client.key(),
            Self::Stripe(client) => client.key(),
        }
    }

    /// Asks whether the processor accepts the key, where it has a question for that.
    ///
    /// # Errors
    /// What to do about it.
    pub async fn check_key(&self) -> Result<(), String> {
        let Self::Stripe(client) = self else { return Ok(()) };
        match client.check_key().await {
            KeyVerdict::Accepted => Ok(()),
            KeyVerdict::Refused => Err("Stripe does not accept the key: put one that is not revoked where it comes from (PROCESSOR_KEY_FILE or PROCESSOR_KEY, or the key_file of a further \
                processor); \
                until then every payment fails, and nothing is charged"
                .to_owned()),
            KeyVerdict::Silent => Err("Stripe was asked whether it accepts the key, and did not say: see that it can be reached from here; \
                payments are asked for all the same"
                .to_owned()),
        }
    }

    /// The processor's own id of the account that the key is of.
    ///
    /// # Errors
    /// What to do about it.
    pub async fn find_account(&self) -> Result<String, String> {
        match self {
            Self::Sandbox(_) => Err("a sandbox processor has no accounts".to_owned()),
            Self::Stripe(client) => client.find_account().await,
        }
    }

    /// Its journal, where it has one.
    pub fn journal(&self) -> Option<Arc<dyn ProcessorJournal>> {
        match self {
            Self::Sandbox(client) => Some(Arc::new(client.clone())),
            Self::Stripe(_) => None,
        }
    }

    /// Its list of stored cards, where it has one.
    pub fn credential_list(&self) -> Option<Arc<dyn StoredCredentialList>> {
        match self {
            Self::Sandbox(client) => Some(Arc::new(client.clone())),
            Self::Stripe(_) => None,
        }
    }

    /// Its disputes, where it tells of them.
    pub fn disputes(&self) -> Option<Arc<dyn ProcessorDisputes>> {
        match self {
            Self::Sandbox(client) => Some(Arc::new(client.clone())),
            Self::Stripe(client) => Some(Arc::new(client.clone())),
        }
    }

    /// Its lists of payments and refunds, or its journal as such.
    pub fn records(&self) -> Arc<dyn ProcessorRecords> {
        match self {
            Self::Sandbox(client) => Arc::new(client.clone()),
            Self::Stripe(client) => Arc::new(client.clone()),
        }
    }

    /// Its adapter.
    pub(crate) fn processor(&self) -> &dyn Processor {
        match self {
            Self::Sandbox(client) => client,
            Self::Stripe(client) => client,
        }
    }
}

#[async_trait]
impl MetricSource for ProcessorClient {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        match self {
            Self::Sandbox(client) => client.collect_metrics().await,
            Self::Stripe(client) => client.collect_metrics().await,
        }
    }
}
