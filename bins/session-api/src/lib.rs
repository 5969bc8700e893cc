#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assemble;
mod contracts;
mod disputes;
mod events;
pub mod openapi;
mod orders;
mod rates;
mod refunds;
mod sessions;

use actix_web::http::Method;
use actix_web::web;
use dropin_access::Permission;
use dropin_http::{ApiOperation, AuthState, Flows, mount_with_cors};
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::Disputes;
use dropin_usecases::events::Events;
use dropin_usecases::idempotency::IdempotencyService;
use dropin_usecases::payments::Payments;
use dropin_usecases::rates::Rates;
use dropin_usecases::sessions::Sessions;

pub use assemble::{SessionApiArgs, assemble};

/// What the service works with.
#[derive(Clone)]
pub struct SessionApiDeps {
    /// Who may call.
    pub auth: AuthState,
    /// Sessions.
    pub sessions: Sessions,
    /// Orders and what is asked of them.
    pub payments: Payments,
    /// Contracts.
    pub contracts: Contracts,
    /// Disputes of Orders.
    pub disputes: Disputes,
    /// What merchants are told, to be read.
    pub events: Events,
    /// Exchange rates.
    pub rates: Rates,
    /// Stored answers to repeated requests.
    pub answers: IdempotencyService,
    /// Where captures, cancels and refunds run.
    pub flows: Flows,
}

/// Mounts the Session and Order API below {base_url}.
pub fn configure(deps: SessionApiDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.auth.clone())).app_data(web::Data::new(deps.clone()));
        mount_with_cors(config, OPERATIONS, &[GET_RATES]);
    }
}

/// Where rates are; merchants' pages read them.
const GET_RATES: &str = "/v2.2/getRates";

/// Every operation of the Session and Order API.
pub const OPERATIONS: &[ApiOperation] = &[
    ApiOperation {
        name: "createSession",
        method: Method::POST,
        path: "/v1/session",
        query: &[],
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::create),
    },
    ApiOperation {
        name: "getSession",
        method: Method::GET,
        path: "/v1/session/{SessionId}",
        query: &[],
        permission: Some(Permission::SessionRead),
        handler: || web::to(sessions::get),
    },
    ApiOperation {
        name: "replaceSession",
        method: Method::PUT,
        path: "/v1/session/{SessionId}",
        query: &[],
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::replace),
    },
    ApiOperation {
        name: "cancelSession",
        method: Method::DELETE,
        path: "/v1/session/{SessionId}",
        query: &[],
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::cancel),
    },
    ApiOperation {
        name: "listContracts",
        method: Method::GET,
        path: "/v1/contract",
        query: &["BillingProfileReference"],
        permission: Some(Permission::ContractRead),
        handler: || web::to(contracts::list),
    },
    ApiOperation {
        name: "getContract",
        method: Method::GET,
        path: "/v1/contract/{ContractId}",
        query: &[],
        permission: Some(Permission::ContractRead),
        handler: || web::to(contracts::get),
    },
    ApiOperation {
        name: "findOrder",
        method: Method::GET,
        path: "/v1/order",
        query: &["MerchantReference"],
        permission: Some(Permission::OrderRead),
        handler: || web::to(orders::find),
    },
    ApiOperation {
        name: "getOrder",
        method: Method::GET,
        path: "/v1/order/{OrderId}",
        query: &[],
        permission: Some(Permission::OrderRead),
        handler: || web::to(orders::get),
    },
    ApiOperation {
        name: "captureOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/capture",
        query: &[],
        permission: Some(Permission::OrderCapture),
        handler: || web::to(orders::capture),
    },
    ApiOperation {
        name: "cancelOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/cancel",
        query: &[],
        permission: Some(Permission::OrderCapture),
        handler: || web::to(orders::cancel),
    },
    ApiOperation {
        name: "refundOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/refund",
        query: &[],
        permission: Some(Permission::OrderRefund),
        handler: || web::to(refunds::create),
    },
    ApiOperation {
        name: "listRefunds",
        method: Method::GET,
        path: "/v1/order/{OrderId}/refund",
        query: &[],
        permission: Some(Permission::OrderRead),
        handler: || web::to(refunds::list),
    },
    ApiOperation {
        name: "getRefund",
        method: Method::GET,
        path: "/v1/order/{OrderId}/refund/{RefundId}",
        query: &[],
        permission: Some(Permission::OrderRead),
        handler: || web::to(refunds::get),
    },
    ApiOperation {
        name: "listDisputes",
        method: Method::GET,
        path: "/v1/order/{OrderId}/dispute",
        query: &[],
        permission: Some(Permission::DisputeRead),
        handler: || web::to(disputes::list),
    },
    ApiOperation {
        name: "acceptDispute",
        method: Method::POST,
        path: "/v1/order/{OrderId}/dispute/{DisputeId}/accept",
        query: &[],
        permission: Some(Permission::DisputeWrite),
        handler: || web::to(disputes::accept),
    },
    ApiOperation {
        name: "handInEvidence",
        method: Method::POST,
        path: "/v1/order/{OrderId}/dispute/{DisputeId}/evidence",
        query: &[],
        permission: Some(Permission::DisputeWrite),
        handler: || web::to(disputes::hand_in),
    },
    ApiOperation {
        name: "listEvents",
        method: Method::GET,
        path: "/v1/event",
        query: &["after", "limit"],
        permission: Some(Permission::OrderRead),
        handler: || web::to(events::pull),
    },
    ApiOperation {
        name: "getRates",
        method: Method::GET,
        path: GET_RATES,
        query: &["merchantId"],
        permission: None,
        handler: || web::to(rates::get),
    },
];
