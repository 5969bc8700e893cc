//! The stash as a program of its own.

use std::alloc::System;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use dropin_access::Origin;
use dropin_boot::{Context, DocsArgs, Parts, PublicArgs, StashArgs, StashLimitArgs, keep_memory_private, serve};
use dropin_keyring::StashKeys;
use dropin_usecases::stash::{Door, KEY_PERIOD, Stashing};
use stash_api::{StashApiDeps, configure, openapi, run};
use zeroizing_alloc::ZeroAlloc;

/// What this program gives back is wiped first: some of it held cards.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    stash: StashArgs,
    #[command(flatten)]
    limits: StashLimitArgs,
    #[command(flatten)]
    docs: DocsArgs,
}

fn main() -> ExitCode {
    serve("stash-api", 8084, async |context: &Context, concerns: Concerns| {
        keep_memory_private()?;
        let store = Arc::new(context.store.clone());
        let lifetime = concerns.stash.lifetime();
        let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, lifetime)?);
        StashKeys::rotate_in_background(&keys, context.clock.clone())?;
        let deps = StashApiDeps {
            stashing: Stashing {
                store: store.clone(),
                access: store,
                vault: keys,
                clock: context.clock.clone(),
                asset_origin: Origin::parse(&concerns.public.urls()?.asset_origin())?,
                lifetime,
                door: Arc::new(Door::new(concerns.limits.stash_entries)),
            },
        };
        let routes = openapi::DOCS.beside(concerns.docs.shown(context.mode), configure(deps.clone()));
        Ok(Parts::new().mount(routes).run("stash purge", run(deps, context.stop.clone())))
    })
}
