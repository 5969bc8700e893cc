//! The services of this process, each built by its library from the settings that a program of its own would be given.

use checkout_api::CheckoutApiArgs;
use dropin_boot::{CatalogueArgs, Context, Failure, Parts as Services, ProcessorArgs, PublicArgs, WalletArgs};
use dropin_payments::PaymentArgs;
use session_api::SessionApiArgs;
use settler::SettlerArgs;
use stash_api::StashApiArgs;

use crate::cli::{Cli, Target};
use crate::plan::{self, Addresses, Parts};

/// Builds the chosen ones.
pub(super) async fn assemble(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    wallet: WalletArgs,
    context: &Context,
) -> Result<Services, Failure> {
    let serve = cli.serve.clone();
    let payments = payments(cli, addresses);
    if parts.need_processor() {
        // Before a service asks for it: the key may be one of our own.
        payments.open_with(context, || plan::processor_key(cli, parts)).await?;
    }
    let public = PublicArgs { asset_url: addresses.public.asset.clone(), stash_url: addresses.public.stash.clone() };
    let mut services = Services::new();
    if parts.has(Target::SessionApi) {
        let settings = SessionApiArgs {
            payments: payments.clone(),
            access: serve.access.clone(),
            docs: serve.docs.clone(),
            offers: serve.offers,
        };
        services = services.join(session_api::assemble(context, settings).await?);
    }
    if parts.has(Target::StashApi) {
        let settings = StashApiArgs {
            public: public.clone(),
            stash: serve.stash.clone(),
            limits: serve.stash_limits,
            docs: serve.docs.clone(),
        };
        services = services.join(stash_api::assemble(context, settings).await?);
    }
    if parts.has(Target::CheckoutApi) {
        let settings = CheckoutApiArgs {
            payments: payments.clone(),
            processor_events: serve.processor_events,
            public,
            access: serve.access,
            stash: serve.stash,
            wallet,
            checkout_url: addresses.checkout.clone(),
            catalogue: catalogue(cli, parts, addresses)?,
            screening: serve.screening.clone(),
            ip_countries: serve.ip_countries,
            outside_score: serve.outside_score,
            docs: serve.docs,
        };
        services = services.join(checkout_api::assemble(context, settings).await?);
    }
    if parts.has(Target::Settler) {
        let (screening, retention) = (serve.screening, serve.screening_retention);
        let settings = SettlerArgs { payments, rates: serve.rates, screening, retention };
        services = services.join(settler::assemble(context, settings).await?);
    }
    if parts.has(Target::Notifier) {
        services = services.join(notifier::assemble(context, serve.delivery).await?);
    }
    Ok(services)
}

/// The processor and the payments over it.
pub(super) fn payments(cli: &Cli, addresses: &Addresses) -> PaymentArgs {
    let serve = &cli.serve;
    let processor = ProcessorArgs { processor_url: Some(addresses.processor.clone()), ..plan::processor_args(cli) };
    PaymentArgs { processor, limits: serve.processor_limits.clone(), methods: serve.methods.clone() }
}

/// Payment methods. The sandbox processor's script is found where browsers find the service, however we reach the processor ourselves.
fn catalogue(cli: &Cli, parts: &Parts, addresses: &Addresses) -> Result<CatalogueArgs, Failure> {
    let mut catalogue = cli.serve.catalogue.clone();
    if parts.has(Target::SandboxProcessor) {
        let pages = format!("{}{}", addresses.base, plan::SANDBOX);
        catalogue.pay_later_script_url = catalogue.pay_later_script(cli.mode.mode(), Some(&pages))?;
    }
    Ok(catalogue)
}
