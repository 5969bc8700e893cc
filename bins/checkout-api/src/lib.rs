#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assemble;
mod assets;
mod catalogue;
mod checkout;
mod contract;
mod frame;
mod ip_countries;
pub mod openapi;
mod processor_event;
mod return_page;
mod shopper;
mod transfer;
mod wallet;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::web;
use dropin_access::Permission;
use dropin_http::{ApiOperation, AuthState, Flows, mount_with_cors};
use dropin_payments::ProcessorEvents;
use dropin_ports::Payment;
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::Disputes;
use dropin_usecases::idempotency::IdempotencyService;
use dropin_usecases::payments::{Checkouts, Payments, Shopper};
use dropin_usecases::wallet::{AssociationFile, WalletCertificates, WalletSessions};
use dropin_validation::UrlPolicy;
use tokio::sync::watch;

pub use assemble::{CheckoutApiArgs, assemble, wallet_client};
pub use assets::{INVENTORY_PATH, script_inventory};
pub use frame::document_without_session;

/// What the shopper's side works with.
#[derive(Clone)]
pub struct CheckoutDeps {
    /// The shopper's use cases.
    pub shopper: Shopper,
    /// Where payments run.
    pub flows: Flows,
    /// {stash_url}: where the card frame sends the card.
    pub stash_url: String,
    /// Becomes true when the process shall stop: a long poll then answers at once.
    pub stop: watch::Receiver<bool>,
}

/// What the merchant's side works with.
#[derive(Clone)]
pub struct MerchantDeps {
    /// Who may call.
    pub auth: AuthState,
    /// Payments from server to server.
    pub checkouts: Checkouts,
    /// Contracts.
    pub contracts: Contracts,
    /// Stored answers to repeated requests.
    pub answers: IdempotencyService,
    /// Where payments run.
    pub flows: Flows,
    /// Which URLs a merchant may name.
    pub url_policy: UrlPolicy,
    /// What merchants offer.
    pub methods: MethodLists,
    /// Payment sessions of the wallet's provider.
    pub wallets: WalletSessions,
    /// Disputes, of which processors send events.
    pub disputes: Disputes,
    /// Who may tell of what happened at which processor.
    pub events: Arc<ProcessorEvents>,
}

/// Mounts {asset_url}: the drop-in's files and the shopper's calls, both under `/v1`.
pub fn configure(deps: CheckoutDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.clone()));
        mount_with_cors(config, SHOPPER_OPERATIONS, &[EMBEDDABLE_PATH]);
        config
            .service(frame::resource())
            .service(return_page::resource())
            .service(transfer::resource())
            .service(assets::inventory_resource())
            .service(assets::resource());
    }
}

/// Mounts {checkout_url}: the server-to-server checkout, under `/v2.21`.
pub fn configure_checkout(deps: MerchantDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.auth.clone())).app_data(web::Data::new(deps.clone()));
        mount_with_cors(config, OPERATIONS, &[METHODS_PATH]);
        config.service(processor_event::resource());
    }
}

/// Mounts the file that proves our own address to the wallet's provider, at the root of {asset_url}'s host.
pub fn configure_association(file: AssociationFile) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(file.clone())).service(wallet::association_resource());
    }
}

/// How often merchants' wallet certificates are looked at.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// How soon again when they could not be.
const CERTIFICATE_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Warns of wallet certificates that end soon, once a day, until `stop` turns true.
pub async fn watch_certificates(certificates: WalletCertificates, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let pause = match certificates.warn().await {
            Ok(_) => CERTIFICATE_CHECK_INTERVAL,
            Err(error) => {
                log::warn!("wallet certificates cannot be looked at, trying again: {error}");
                CERTIFICATE_RETRY_INTERVAL
            }
        };
        // Either ends the pause; which one is seen at the top of the loop.
        drop(tokio::time::timeout(pause, stop.wait_for(|stopping| *stopping)).await);
    }
}

/// Starts what follows a payment without waiting for it. While stopping nothing is started: it is an open operation and the settler finishes
/// it.
fn finish_later(flows: &Flows, payments: Payments, next: Payment) {
    let begun = flows.spawn(async move {
        let key = next.operation.id.to_string();
        if let Err(error) = payments.follow_up(next).await {
            log::warn!(operation = key.as_str(), error:% = error; "what follows a payment is left to the settler");
        }
    });
    if begun.is_err() {
        log::info!("stopping: what follows a payment is left to the settler");
    }
}

/// Tells a page whether it may embed the drop-in; pages of every origin may read the answer.
const EMBEDDABLE_PATH: &str = "/v1/session/{SessionId}/embeddable";

/// The one address of {checkout_url} that pages of every origin may read.
const METHODS_PATH: &str = "/v2.22/getPaymentMethods";

/// Every operation of the server-to-server checkout. What captures, cancels or refunds works on any Order of the merchant's, those of Sessions too, and so
/// takes the permission that the Order API asks for the same.
pub const OPERATIONS: &[ApiOperation] = &[
    ApiOperation {
        name: "checkout",
        method: Method::POST,
        path: "/v2.21",
        query: &[],
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::pay),
    },
    ApiOperation {
        name: "captureCheckout",
        method: Method::POST,
        path: "/v2.21/capture",
        query: &[],
        permission: Some(Permission::OrderCapture),
        handler: || web::to(checkout::capture),
    },
    ApiOperation {
        name: "cancelCheckout",
        method: Method::POST,
        path: "/v2.21/cancel",
        query: &[],
        permission: Some(Permission::OrderCapture),
        handler: || web::to(checkout::cancel),
    },
    ApiOperation {
        name: "refundCheckout",
        method: Method::POST,
        path: "/v2.21/refund",
        query: &[],
        permission: Some(Permission::OrderRefund),
        handler: || web::to(checkout::refund),
    },
    ApiOperation {
        name: "queryCheckout",
        method: Method::POST,
        path: "/v2.21/query",
        query: &[],
        permission: Some(Permission::Checkout),
        handler: || web::to(checkout::query),
    },
    ApiOperation {
        name: "openContract",
        method: Method::POST,
        path: "/v2.21/openContract",
        query: &[],
        permission: Some(Permission::ContractWrite),
        handler: || web::to(contract::open),
    },
    ApiOperation {
        name: "closeContract",
        method: Method::POST,
        path: "/v2.21/closeContract",
        query: &[],
        permission: Some(Permission::ContractWrite),
        handler: || web::to(contract::close),
    },
    ApiOperation {
        name: "getPaymentMethods",
        method: Method::GET,
        path: METHODS_PATH,
        query: &["MerchantId", "Country", "Currency", "Amount", "Locale"],
        permission: None,
        handler: || web::to(catalogue::list),
    },
    ApiOperation {
        name: "startWalletSession",
        method: Method::GET,
        path: "/v1/wallet/{MerchantId}/session",
        query: &["validationURL", "displayName", "domainName"],
        permission: None,
        handler: || web::to(wallet::session),
    },
];

/// The shopper's calls; the drop-in's files and pages are no operations.
pub const SHOPPER_OPERATIONS: &[ApiOperation] = &[
    ApiOperation {
        name: "viewSession",
        method: Method::GET,
        path: "/v1/shopper/session/{SessionId}",
        query: &[],
        permission: None,
        handler: || web::to(shopper::view),
    },
    ApiOperation {
        name: "submitPayment",
        method: Method::POST,
        path: "/v1/shopper/session/{SessionId}/submit",
        query: &[],
        permission: None,
        handler: || web::to(shopper::submit),
    },
    ApiOperation {
        name: "removeSavedCard",
        method: Method::DELETE,
        path: "/v1/session/{SessionId}/contract/{ContractId}",
        query: &[],
        permission: None,
        handler: || web::to(shopper::remove_card),
    },
    ApiOperation {
        name: "payAnotherWay",
        method: Method::POST,
        path: "/v1/shopper/session/{SessionId}/pay-another-way",
        query: &[],
        permission: None,
        handler: || web::to(shopper::pay_another_way),
    },
    ApiOperation {
        name: "paymentProgress",
        method: Method::GET,
        path: "/v1/shopper/session/{SessionId}/progress",
        query: &["from", "wait"],
        permission: None,
        handler: || web::to(shopper::progress),
    },
    ApiOperation {
        name: "checkEmbedding",
        method: Method::GET,
        path: EMBEDDABLE_PATH,
        query: &[],
        permission: None,
        handler: || web::to(frame::embeddable),
    },
];
