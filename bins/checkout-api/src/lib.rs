#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assets;
mod frame;
pub mod openapi;
mod shopper;

use actix_web::http::Method;
use actix_web::web;
use dropin_http::{Flows, Operation, mount};
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
        config.app_data(web::Data::new(deps.clone()));
        mount(config, OPERATIONS);
        config.service(frame::resource()).service(assets::resource());
    }
}

/// The shopper's calls; the drop-in's files are no operations.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "viewSession",
        method: Method::GET,
        path: "/v1/shopper/session/{SessionId}",
        permission: None,
        handler: || web::to(shopper::view),
    },
    Operation {
        name: "submitPayment",
        method: Method::POST,
        path: "/v1/shopper/session/{SessionId}/submit",
        permission: None,
        handler: || web::to(shopper::submit),
    },
    Operation {
        name: "paymentProgress",
        method: Method::GET,
        path: "/v1/shopper/session/{SessionId}/progress",
        permission: None,
        handler: || web::to(shopper::progress),
    },
];
