#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod address;
mod assemble;
mod cors;
mod form;
pub mod openapi;
mod stash;

use std::time::Duration;

use actix_web::http::Method;
use actix_web::web;
use dropin_http::{ApiOperation, BodyLimit};
use dropin_usecases::stash::Stashing;
use tokio::sync::watch;

pub use assemble::{StashApiArgs, assemble};

/// Largest form: a card is a few hundred bytes, a wallet's token some five thousand, and percent-encoding makes up to three of one.
const FORM_LIMIT: BodyLimit = BodyLimit(32 * 1024);

/// How often expired cards are looked for. They are worth nothing from the moment they expire; this only tidies up.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);

/// What the service works with.
#[derive(Clone)]
pub struct StashApiDeps {
    /// The use cases.
    pub stashing: Stashing,
}

/// Mounts `/{MerchantId}/{StashId}` below {stash_url}.
pub fn configure(deps: StashApiDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        // The tail takes everything, so that an id with a slash in it is refused as an id and not unknown as an address.
        let address = web::resource("/{merchant}/{stash:.*}")
            .app_data(FORM_LIMIT)
            .route(web::method(Method::OPTIONS).to(stash::preflight));
        let address = OPERATIONS
            .iter()
            .fold(address, |address, operation| address.route((operation.handler)().method(operation.method.clone())));
        config.app_data(web::Data::new(deps.clone())).service(address);
    }
}

/// The operations of the stash; a browser's preflight is none.
pub const OPERATIONS: &[ApiOperation] = &[ApiOperation {
    name: "stashCard",
    method: Method::POST,
    path: "/{MerchantId}/{StashId}",
    query: &[],
    permission: None,
    handler: || web::to(stash::post),
}];

/// Deletes cards that have expired, until `stop` turns true.
pub async fn run(deps: StashApiDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.stashing.purge_due().await {
            Ok((purged, more)) => {
                if 0 < purged {
                    log::info!("stash: {purged} expired cards deleted");
                }
                more
            }
            Err(error) => {
                log::warn!("stash: cannot delete expired cards, trying again: {error}");
                false
            }
        };
        if !more {
            // Either ends the pause; which one is seen at the top of the loop.
            drop(tokio::time::timeout(PURGE_INTERVAL, stop.wait_for(|stopping| *stopping)).await);
        }
    }
}
