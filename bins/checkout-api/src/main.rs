//! The drop-in and the shopper's calls as a program of their own.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use checkout_api::{CheckoutDeps, configure, openapi};
use clap::Args;
use dropin_boot::{Context, DocsArgs, Mode, Parts, ProcessorArgs, PublicArgs, serve};
use dropin_keyring::StashKeys;
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use dropin_usecases::payments::{Payments, Shopper, Timing};
use dropin_usecases::stash::STASH_LIFETIME;

/// Longest that the processor may take; below the lease of an operation.
const PROCESSOR_DEADLINE: Duration = Duration::from_secs(8);

/// Keys of the stash change every hour.
const KEY_PERIOD: Duration = Duration::from_secs(3_600);

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    processor: ProcessorArgs,
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    docs: DocsArgs,
}

fn main() -> ExitCode {
    serve("checkout-api", 8083, async |context: &Context, concerns: Concerns| {
        let store = Arc::new(context.store.clone());
        let key = concerns.processor.key()?.expose().to_owned();
        let config = ProcessorConfig::new(&concerns.processor.processor_url, key, PROCESSOR_DEADLINE)?;
        let payments = Payments {
            store: store.clone(),
            processor: Arc::new(HttpProcessor::start(config)?),
            clock: context.clock.clone(),
            ids: context.ids.clone(),
            timing: Timing::default(),
        };
        let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, STASH_LIFETIME)?);
        StashKeys::rotate_in_background(&keys, context.clock.clone())?;
        let shopper = Shopper { sessions: store.clone(), access: store.clone(), stash: store, vault: keys, payments };
        let deps = CheckoutDeps {
            shopper,
            flows: context.flows.clone(),
            stash_url: concerns.public.urls()?.stash,
            sandbox: context.mode == Mode::Sandbox,
            stop: context.stop.clone(),
        };
        Ok(Parts::new().mount(openapi::DOCS.beside(concerns.docs.shown(context.mode), configure(deps))))
    })
}
