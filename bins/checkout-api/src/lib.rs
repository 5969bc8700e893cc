#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assets;
mod back;
mod checkout;
mod frame;
pub mod openapi;
mod shopper;

use actix_web::http::Method;
use actix_web::web;
use dropin_access::Permission;
use dropin_http::{Flows, Gate, Operation, mount};
use dropin_kernel::MerchantId;
use dropin_order::Operation as Asked;
use dropin_usecases::answers::Answers;
use dropin_usecases::payments::{Checkouts, Payments, Shopper};
use dropin_validation::UrlPolicy;
use tokio::sync::watch;

/// What the shopper's side works with.
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

/// What the merchant's side works with.
#[derive(Clone)]
pub struct MerchantDeps {
    /// Who may call.
    pub gate: Gate,
    /// Payments from server to server.
    pub checkouts: Checkouts,
    /// Answers for whoever repeats a request.
    pub answers: Answers,
    /// Where payments run.
    pub flows: Flows,
    /// Which URLs a merchant may name.
    pub url_policy: UrlPolicy,
}

/// Mounts {asset_url}: the drop-in's files and the shopper's calls, both under `/v1`.
pub fn configure(deps: CheckoutDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.clone()));
        mount(config, SHOPPER_OPERATIONS);
        config.service(frame::resource()).service(back::resource()).service(assets::resource());
    }
}

/// Mounts {checkout_url}: the server-to-server checkout, under `/v2.21`.
pub fn configure_checkout(deps: MerchantDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.gate.clone())).app_data(web::Data::new(deps.clone()));
        mount(config, OPERATIONS);
    }
}

/// Asks for what follows a payment; nobody waits for it. While stopping nothing new is begun: it is an open operation and the settler finishes
/// it.
fn finish_later(flows: &Flows, payments: Payments, merchant: MerchantId, next: Asked) {
    let begun = flows.spawn(async move {
        let key = next.id.to_string();
        if let Err(error) = payments.finish(merchant, next).await {
            log::warn!(operation = key.as_str(), error:% = error; "what follows a payment is left to the settler");
        }
    });
    if begun.is_err() {
        log::info!("stopping: what follows a payment is left to the settler");
    }
}

/// Every operation of the server-to-server checkout.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "checkout",
        method: Method::POST,
        path: "/v2.21",
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::pay),
    },
    Operation {
        name: "captureCheckout",
        method: Method::POST,
        path: "/v2.21/capture",
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::capture),
    },
    Operation {
        name: "cancelCheckout",
        method: Method::POST,
        path: "/v2.21/cancel",
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::cancel),
    },
    Operation {
        name: "refundCheckout",
        method: Method::POST,
        path: "/v2.21/refund",
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::refund),
    },
    Operation {
        name: "queryCheckout",
        method: Method::POST,
        path: "/v2.21/query",
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::query),
    },
];

/// The shopper's calls; the drop-in's files and pages are no operations.
pub const SHOPPER_OPERATIONS: &[Operation] = &[
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
