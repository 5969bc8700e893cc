//! The stash as a program of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use dropin_access::Origin;
use dropin_boot::{Context, DocsArgs, Parts, PublicArgs, serve};
use dropin_keyring::StashKeys;
use dropin_usecases::stash::{KEY_PERIOD, STASH_LIFETIME, Stashing};
use stash_api::{StashApiDeps, configure, openapi, run};

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    public: PublicArgs,
    #[command(flatten)]
    docs: DocsArgs,
}

fn main() -> ExitCode {
    serve("stash-api", 8084, async |context: &Context, concerns: Concerns| {
        let store = Arc::new(context.store.clone());
        let keys = Arc::new(StashKeys::open(&context.keys.join("stash"), KEY_PERIOD, STASH_LIFETIME)?);
        StashKeys::rotate_in_background(&keys, context.clock.clone())?;
        let deps = StashApiDeps {
            stashing: Stashing {
                store: store.clone(),
                access: store,
                vault: keys,
                clock: context.clock.clone(),
                asset_origin: Origin::parse(&concerns.public.urls()?.asset_origin())?,
                lifetime: STASH_LIFETIME,
            },
        };
        let routes = openapi::DOCS.beside(concerns.docs.shown(context.mode), configure(deps.clone()));
        Ok(Parts::new().mount(routes).run("stash purge", run(deps, context.stop.clone())))
    })
}
