#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod client;

use std::convert::Infallible;
use std::sync::Arc;

use clap::Args;
use dropin_boot::{CatalogueFileArgs, Context, Failure, Mode, ProcessorArgs, ProcessorLimitArgs, Secret};
use dropin_catalogue::Catalogue;
use dropin_ports::{CredentialVault, Processor, Secrets};
use dropin_processor_transport::{CallLimits, ProcessorBreakerRules, ProcessorConfig};
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::disputes::{DisputeProcessor, Disputes};
use dropin_usecases::payments::{PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::screening::PaymentScreening;

pub use crate::client::ProcessorClient;

/// The payment processor, how many calls go to it, and what holds of payments.
#[derive(Debug, Clone, Args)]
pub struct PaymentArgs {
    /// The payment processor.
    #[command(flatten)]
    pub processor: ProcessorArgs,
    /// How many calls go to it.
    #[command(flatten)]
    pub limits: ProcessorLimitArgs,
    /// The deployment's file of payment methods.
    #[command(flatten)]
    pub methods: CatalogueFileArgs,
}

impl PaymentArgs {
    /// The processor's client, with the configured key. The services of a process share it, and its limits with it.
    ///
    /// # Errors
    /// Which setting is missing or wrong.
    pub async fn open(&self, context: &Context) -> Result<Arc<ProcessorClient>, Failure> {
        self.open_with(context, || Ok(self.processor.key()?)).await
    }

    /// The same with the key that `key` finds, when no service has opened the client yet.
    ///
    /// # Errors
    /// As [`PaymentArgs::open`], and those of `key`.
    pub async fn open_with(
        &self,
        context: &Context,
        key: impl FnOnce() -> Result<Secret, Failure>,
    ) -> Result<Arc<ProcessorClient>, Failure> {
        context
            .share(async || {
                let client = self.start(&key()?, context.mode)?;
                if let Err(why) = client.check_key().await {
                    log::error!(why = why.as_str(); "the payment processor");
                }
                Ok(client)
            })
            .await
    }

    fn start(&self, key: &Secret, mode: Mode) -> Result<Arc<ProcessorClient>, Failure> {
        let (processor, limits) = (&self.processor, &self.limits);
        processor.processor.check_key(key, mode)?;
        let config = ProcessorConfig::new(processor.url(), key.expose().to_owned(), PROCESSOR_DEADLINE)?
            .with_call_limits(CallLimits {
                payments: limits.processor_payments,
                questions: limits.processor_questions,
                share: limits.processor_merchant_share,
            })
            .with_breaker(ProcessorBreakerRules::of(limits.processor_failures, limits.pause()));
        let client = Arc::new(ProcessorClient::start(processor.processor, config)?);
        processor.follow_key(&client.key(), mode, |key, text| key.replace(text))?;
        Ok(client)
    }
}

/// Payments at this processor, by the methods of `catalogue`: [`CatalogueFileArgs::known`] for a service that begins none. `credentials` are the keys of
/// stored credentials, where the program has them. What was screened can be read; nothing is screened before it has rules.
pub async fn payments(
    context: &Context,
    processor: Arc<dyn Processor>,
    catalogue: Arc<Catalogue>,
    credentials: Option<Arc<dyn CredentialVault>>,
) -> Payments {
    let (clock, ids) = (context.clock.clone(), context.ids.clone());
    let screening = screening(context).await;
    Payments {
        store: context.store.clone(),
        processor,
        clock,
        ids,
        credentials,
        catalogue,
        timing: Timing::default(),
        screening,
    }
}

/// Disputes at these processors, with the master key that seals evidence. Without a processor, answers are left to the settler.
pub fn disputes(context: &Context, processors: Vec<DisputeProcessor>, secrets: Arc<dyn Secrets>) -> Disputes {
    Disputes {
        store: context.store.clone(),
        orders: context.store.clone(),
        processors,
        secrets,
        clock: context.clock.clone(),
        ids: context.ids.clone(),
    }
}

/// What the services of a process screen with, and count together.
async fn screening(context: &Context) -> PaymentScreening {
    let store = context.store.clone();
    let make = async || {
        let merchants = KnownMerchants::new(store.clone());
        let screening = PaymentScreening::new(store.clone(), store.clone(), merchants, context.clock.clone());
        Ok::<_, Infallible>(Arc::new(screening))
    };
    let Ok(screening) = context.share(make).await;
    (*screening).clone()
}
