use clap::Args;
use dropin_boot::{AccessArgs, Context, DocsArgs, Failure, OfferArgs, Parts};
use dropin_payments::{PaymentArgs, disputes, payments};
use dropin_usecases::events::Events;
use dropin_usecases::rates::Rates;

use crate::{SessionApiDeps, configure, openapi};

/// The settings of the Session and Order API.
#[derive(Debug, Clone, Args)]
pub struct SessionApiArgs {
    /// The payment processor.
    #[command(flatten)]
    pub payments: PaymentArgs,
    /// How API users are let in.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Whether the API document is served.
    #[command(flatten)]
    pub docs: DocsArgs,
    /// How long guaranteed rates hold.
    #[command(flatten)]
    pub offers: OfferArgs,
}

/// The service, built from its settings.
///
/// # Errors
/// Which setting is wrong, or why a key cannot be opened.
pub async fn assemble(context: &Context, settings: SessionApiArgs) -> Result<Parts, Failure> {
    let (store, clock, ids) = (context.store.clone(), context.clock.clone(), context.ids.clone());
    let catalogue = settings.payments.methods.known()?;
    let processor = settings.payments.open(context).await?;
    let secrets = context.master_key().await?;
    let deps = SessionApiDeps {
        auth: context.auth(&settings.access, secrets.clone()).await,
        sessions: context.sessions(),
        events: Events { store: store.clone() },
        rates: Rates::new(store.clone(), store, clock, ids, settings.offers.policy()?),
        answers: context.answers(),
        payments: payments(context, processor.clone(), catalogue.into(), None).await,
        contracts: context.contracts(),
        disputes: disputes(context, processor.clone(), secrets.clone()),
        flows: context.flows.clone(),
    };
    let docs = settings.docs.shown(context.mode);
    Ok(Parts::new()
        .with_master_key(secrets.id())
        .mount("", openapi::DOCS.added_to(docs, configure(deps)))
        .register_metrics(processor))
}
