#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assets;
mod frame;
mod shopper;

use actix_web::web;
use dropin_http::Flows;
use dropin_usecases::payments::Shopper;
use tokio::sync::watch;

/// What the service works with.
#[derive(Clone)]
pub struct CheckoutDeps {
    /// The shopper's use cases.
    pub shopper: Shopper,
    /// Where payments run.
    pub flows: Flows,
    /// {stash_url}: where the card frame sends the card.
    pub stash_url: String,
    /// Whether this deployment is a sandbox; the drop-in says so.
    pub sandbox: bool,
    /// Becomes true when the process shall stop: a long poll then answers at once.
    pub stop: watch::Receiver<bool>,
}

/// Mounts the asset origin: the drop-in's files and the shopper's calls, both under `/v1`.
pub fn configure(deps: CheckoutDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config
            .app_data(web::Data::new(deps.clone()))
            .service(shopper::view_resource())
            .service(shopper::submit_resource())
            .service(shopper::progress_resource())
            .service(frame::resource())
            .service(assets::resource());
    }
}
