//! The drop-in, the shopper's calls and the server-to-server checkout as a program of their own.

use std::alloc::System;
use std::process::ExitCode;
use std::sync::Arc;

use checkout_api::{CheckoutDeps, MerchantDeps, configure, configure_checkout, openapi};
use clap::Args;
use dropin_boot::{
    AccessArgs, Context, DocsArgs, Failure, Mode, Parts, ProcessorArgs, ProcessorLimitArgs, PublicArgs,
    keep_memory_private, serve,
};
use dropin_catalogue::Catalogue;
use dropin_http::Gate;
use dropin_keyring::{MasterKey, StashKeys};
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_usecases::access::{Authenticator, FailureLimit, KnownMerchants};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::payments::{Checkouts, PROCESSOR_DEADLINE, Payments, Shopper, Timing};
use dropin_usecases::stash::{KEY_PERIOD, STASH_LIFETIME};
use zeroizing_alloc::ZeroAlloc;

/// What this program gives back is wiped first: some of it held cards.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    processor: ProcessorArgs,
    #[command(flatten)]
    limits: ProcessorLimitArgs,
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    docs: DocsArgs,
}

fn main() -> ExitCode {
    serve("checkout-api", 8083, async |context: &Context, concerns: Concerns| {
        keep_memory_private()?;
        let store = Arc::new(context.store.clone());
        let key = concerns.processor.key()?.expose().to_owned();
        let limits = &concerns.limits;
        let config = ProcessorConfig::new(&concerns.processor.processor_url, key, PROCESSOR_DEADLINE)?
            .with_room(Room {
                payments: limits.processor_payments,
                questions: limits.processor_questions,
                share: limits.processor_merchant_share,
            })
            .with_breaker(BreakerRules::of(limits.processor_failures, limits.pause()));
        let processor = Arc::new(HttpProcessor::start(config)?);
        let payments = Payments {
            store: store.clone(),
            processor: processor.clone(),
            clock: context.clock.clone(),
            ids: context.ids.clone(),
            timing: Timing::default(),
        };
        let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, STASH_LIFETIME)?);
        StashKeys::rotate_in_background(&keys, context.clock.clone())?;
        let public = concerns.public.urls()?;
        let return_base = public.asset.clone();
        let catalogue = Arc::new(Catalogue::of_sandbox());
        let checkouts = Checkouts {
            payments: payments.clone(),
            stash: store.clone(),
            vault: keys.clone(),
            return_base: return_base.clone(),
            catalogue: catalogue.clone(),
        };
        let merchant = MerchantDeps {
            gate: gate(context, concerns.access.limit()).await?,
            checkouts,
            answers: Answers { store: store.clone(), clock: context.clock.clone(), keep: KEEP },
            flows: context.flows.clone(),
            url_policy: context.mode.url_policy(),
        };
        let (sessions, merchants) = (store.clone(), KnownMerchants::new(store.clone()));
        let deps = CheckoutDeps {
            shopper: Shopper { sessions, merchants, stash: store, vault: keys, payments, return_base, catalogue },
            flows: context.flows.clone(),
            stash_url: public.stash,
            sandbox: context.mode == Mode::Sandbox,
            stop: context.stop.clone(),
        };
        let docs = concerns.docs.shown(context.mode);
        Ok(Parts::new()
            .mount(openapi::DOCS.beside(docs, configure_checkout(merchant)))
            .mount(openapi::shopper::DOCS.beside(docs, configure(deps)))
            .watch(processor))
    })
}

async fn gate(context: &Context, limit: FailureLimit) -> Result<Gate, Failure> {
    let secrets = Arc::new(MasterKey::of_deployment(&context.keys, &context.store).await?);
    let (store, clock) = (Arc::new(context.store.clone()), context.clock.clone());
    Ok(Gate(Arc::new(Authenticator::new(store, secrets, clock, context.mode == Mode::Sandbox, limit))))
}
