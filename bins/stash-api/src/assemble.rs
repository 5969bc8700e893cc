use std::sync::Arc;

use clap::Args;
use dropin_access::Origin;
use dropin_boot::{
    Context, DocsArgs, Failure, Parts, PublicArgs, StashArgs, StashLimitArgs, check_reachable, keep_memory_private,
};
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::stash::{StashQuota, Stashing};

use crate::{StashApiDeps, configure, openapi, run};

/// The settings of the stash.
#[derive(Debug, Clone, Args)]
pub struct StashApiArgs {
    /// Public addresses.
    #[command(flatten)]
    pub public: PublicArgs,
    /// How long what was stashed waits for its payment.
    #[command(flatten)]
    pub stash: StashArgs,
    /// How much is stashed.
    #[command(flatten)]
    pub limits: StashLimitArgs,
    /// Whether the API document is served.
    #[command(flatten)]
    pub docs: DocsArgs,
}

/// The service, built from its settings.
///
/// # Errors
/// Which setting is wrong, or why the stash's keys cannot be opened.
pub async fn assemble(context: &Context, settings: StashApiArgs) -> Result<Parts, Failure> {
    keep_memory_private()?;
    let (store, lifetime) = (context.store.clone(), settings.stash.lifetime());
    let keys = context.stash_keys(lifetime).await?;
    let public = settings.public.urls(context.mode)?;
    if context.is_public_production {
        check_reachable("asset_url", "DROPIN_ASSET_URL", &public.asset)?;
    }
    let deps = StashApiDeps {
        stashing: Stashing {
            store: store.clone(),
            merchants: KnownMerchants::new(store.clone()),
            sessions: store.clone(),
            wallets: store,
            vault: keys.clone(),
            clock: context.clock.clone(),
            asset_origin: Origin::parse(&public.asset_origin())?,
            lifetime,
            quota: Arc::new(StashQuota::new(settings.limits.limits(), lifetime)),
        },
    };
    let routes = openapi::DOCS.added_to(settings.docs.shown(context.mode), configure(deps.clone()));
    let clock = context.clock.clone();
    Ok(Parts::new()
        .ready_with_keys(move || dropin_ports::StashVault::check(&*keys, clock.now()))
        .mount(context.prefixes.stash, routes)
        .run("stash purge", run(deps, context.stop.clone())))
}
