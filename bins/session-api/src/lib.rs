#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod events;
pub mod openapi;
mod orders;
mod rates;
mod refunds;
mod sessions;

use actix_web::http::Method;
use actix_web::web;
use dropin_access::Permission;
use dropin_http::{Flows, Gate, Operation, mount_open};
use dropin_usecases::answers::Answers;
use dropin_usecases::events::Events;
use dropin_usecases::payments::Payments;
use dropin_usecases::rates::Rates;
use dropin_usecases::sessions::Sessions;

/// What the service works with.
#[derive(Clone)]
pub struct SessionApiDeps {
    /// Who may call.
    pub gate: Gate,
    /// Sessions.
    pub sessions: Sessions,
    /// Orders and what is asked of them.
    pub payments: Payments,
    /// What merchants are told, to be read.
    pub events: Events,
    /// Exchange rates.
    pub rates: Rates,
    /// Answers for whoever repeats a request.
    pub answers: Answers,
    /// Where captures, cancels and refunds run.
    pub flows: Flows,
}

/// Mounts the Session and Order API below {base_url}.
pub fn configure(deps: SessionApiDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.app_data(web::Data::new(deps.gate.clone())).app_data(web::Data::new(deps.clone()));
        mount_open(config, OPERATIONS, &[GET_RATES]);
    }
}

/// Where rates are; merchants' pages read them.
const GET_RATES: &str = "/v2.2/getRates";

/// Every operation of the Session and Order API.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "createSession",
        method: Method::POST,
        path: "/v1/session",
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::create),
    },
    Operation {
        name: "getSession",
        method: Method::GET,
        path: "/v1/session/{SessionId}",
        permission: Some(Permission::SessionRead),
        handler: || web::to(sessions::get),
    },
    Operation {
        name: "replaceSession",
        method: Method::PUT,
        path: "/v1/session/{SessionId}",
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::replace),
    },
    Operation {
        name: "cancelSession",
        method: Method::DELETE,
        path: "/v1/session/{SessionId}",
        permission: Some(Permission::SessionWrite),
        handler: || web::to(sessions::cancel),
    },
    Operation {
        name: "findOrder",
        method: Method::GET,
        path: "/v1/order",
        permission: Some(Permission::OrderRead),
        handler: || web::to(orders::find),
    },
    Operation {
        name: "getOrder",
        method: Method::GET,
        path: "/v1/order/{OrderId}",
        permission: Some(Permission::OrderRead),
        handler: || web::to(orders::get),
    },
    Operation {
        name: "captureOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/capture",
        permission: Some(Permission::OrderCapture),
        handler: || web::to(orders::capture),
    },
    Operation {
        name: "cancelOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/cancel",
        permission: Some(Permission::OrderCapture),
        handler: || web::to(orders::cancel),
    },
    Operation {
        name: "refundOrder",
        method: Method::POST,
        path: "/v1/order/{OrderId}/refund",
        permission: Some(Permission::OrderRefund),
        handler: || web::to(refunds::create),
    },
    Operation {
        name: "listRefunds",
        method: Method::GET,
        path: "/v1/order/{OrderId}/refund",
        permission: Some(Permission::OrderRead),
        handler: || web::to(refunds::list),
    },
    Operation {
        name: "getRefund",
        method: Method::GET,
        path: "/v1/order/{OrderId}/refund/{RefundId}",
        permission: Some(Permission::OrderRead),
        handler: || web::to(refunds::get),
    },
    Operation {
        name: "listEvents",
        method: Method::GET,
        path: "/v1/event",
        permission: Some(Permission::OrderRead),
        handler: || web::to(events::pull),
    },
    Operation {
        name: "getRates",
        method: Method::GET,
        path: GET_RATES,
        permission: None,
        handler: || web::to(rates::get),
    },
];
