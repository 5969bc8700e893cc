#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod accounts;
mod client;
mod events;
mod router;

use std::convert::Infallible;
use std::sync::Arc;

use clap::Args;
use dropin_boot::{
    CatalogueFileArgs, Context, Failure, FurtherProcessor, Mode, ProcessorArgs, ProcessorLimitArgs, Secret,
};
use dropin_catalogue::Catalogue;
use dropin_kernel::ProcessorId;
use dropin_ports::{CredentialVault, Secrets};
use dropin_processor_transport::{CallLimits, ProcessorBreakerRules, ProcessorConfig, ProcessorConfigError};
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::disputes::{DisputeProcessors, Disputes};
use dropin_usecases::payments::{AuthorizationMetrics, PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::screening::PaymentScreening;

pub use dropin_processor_stripe::SIGNATURE_HEADER;

pub use crate::accounts::ProcessorAccountClients;
pub use crate::client::ProcessorClient;
pub use crate::events::{ProcessorEventError, ProcessorEvents};
pub use crate::router::{NamedProcessor, ProcessorRouter};

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
    /// The processors' clients, each with its configured key. The services of a process share them, and their limits with them.
    ///
    /// # Errors
    /// Which setting is missing or wrong.
    pub async fn open(&self, context: &Context) -> Result<Arc<ProcessorRouter>, Failure> {
        self.open_with(context, || Ok(self.processor.key()?)).await
    }

    /// The same with the key of the main processor that `key` finds, when no service has opened the clients yet.
    ///
    /// # Errors
    /// As [`PaymentArgs::open`], and those of `key`.
    pub async fn open_with(
        &self,
        context: &Context,
        key: impl FnOnce() -> Result<Secret, Failure>,
    ) -> Result<Arc<ProcessorRouter>, Failure> {
        let (store, secrets) = (context.store.clone(), context.master_key().await?);
        context
            .share(async || {
                let main = self.start(&self.processor, self.processor.id(), &key()?, context.mode).await?;
                let mut others = Vec::new();
                let mut all = vec![(self.processor.id(), self.processor.clone())];
                for FurtherProcessor { profile, args, .. } in self.processor.others()? {
                    let id = profile.id;
                    all.push((id.clone(), args.clone()));
                    let started = match args.key() {
                        Ok(key) => self.start(&args, id.clone(), &key, context.mode).await,
                        Err(error) => Err(error.into()),
                    };
                    others.push(started.map_err(|error| format!("the processor {id}: {error}"))?);
                }
                let accounts = ProcessorAccountClients::new(store, secrets, all, self.limits.clone(), context.mode);
                Ok(Arc::new(ProcessorRouter::new(main, others).with_accounts(Arc::new(accounts))))
            })
            .await
    }

    /// Starts a client, and has its processor say whether it accepts the key.
    async fn start(
        &self,
        processor: &ProcessorArgs,
        id: ProcessorId,
        key: &Secret,
        mode: Mode,
    ) -> Result<NamedProcessor, Failure> {
        processor.processor.check_key(key, mode)?;
        let client = start_client(processor, &self.limits, key)?;
        if let Err(why) = client.check_key().await {
            log::error!(processor = id.as_str(), why = why.as_str(); "the payment processor");
        }
        let named = NamedProcessor { id, client };
        let key = named.client.key();
        processor.follow_key(&key, mode, |key, text| key.replace(text))?;
        Ok(named)
    }
}

/// A client with these limits.
fn start_client(
    processor: &ProcessorArgs,
    limits: &ProcessorLimitArgs,
    key: &Secret,
) -> Result<ProcessorClient, ProcessorConfigError> {
    let config = ProcessorConfig::new(processor.url(), key.expose().to_owned(), PROCESSOR_DEADLINE)?
        .with_call_limits(CallLimits {
            payments: limits.processor_payments,
            questions: limits.processor_questions,
            share: limits.processor_merchant_share,
        })
        .with_breaker(ProcessorBreakerRules::of(limits.processor_failures, limits.pause()));
    ProcessorClient::start(processor.processor, config)
}

/// Payments at these processors, by the methods of `catalogue`: [`CatalogueFileArgs::known`] for a service that begins none. `credentials` are the keys of
/// stored credentials, where the program has them. What was screened can be read; nothing is screened before it has rules.
pub async fn payments(
    context: &Context,
    processor: Arc<ProcessorRouter>,
    catalogue: Arc<Catalogue>,
    credentials: Option<Arc<dyn CredentialVault>>,
) -> Payments {
    let (clock, ids) = (context.clock.clone(), context.ids.clone());
    let screening = screening(context).await;
    let authorizations = authorizations(context, &processor).await;
    Payments {
        store: context.store.clone(),
        processor,
        clock,
        ids,
        credentials,
        catalogue,
        processors: Default::default(),
        timing: Timing::default(),
        screening,
        authorizations,
    }
}

/// Disputes at these processors, with the master key that seals evidence. Without a processor, answers are left to the settler.
pub fn disputes(context: &Context, processors: Arc<dyn DisputeProcessors>, secrets: Arc<dyn Secrets>) -> Disputes {
    Disputes {
        store: context.store.clone(),
        orders: context.store.clone(),
        processors,
        secrets,
        clock: context.clock.clone(),
        ids: context.ids.clone(),
        unreadable: Arc::default(),
    }
}

/// What the services of a process count together.
async fn authorizations(context: &Context, processors: &ProcessorRouter) -> Arc<AuthorizationMetrics> {
    let main = processors.all().next().map(|main| main.id.clone());
    let make = async || Ok::<_, Infallible>(Arc::new(main.map_or_else(Default::default, AuthorizationMetrics::new)));
    let Ok(authorizations) = context.share(make).await;
    authorizations
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
