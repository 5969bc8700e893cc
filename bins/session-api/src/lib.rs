#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod orders;
mod sessions;

use actix_web::web;
use dropin_http::{Flows, Gate};
use dropin_usecases::payments::Payments;
use dropin_usecases::sessions::Sessions;

/// What the service works with.
#[derive(Clone)]
pub struct SessionApiDeps {
    /// Who may call.
    pub gate: Gate,
    /// Sessions.
    pub sessions: Sessions,
    /// Orders and their captures.
    pub payments: Payments,
    /// Where captures run.
    pub flows: Flows,
}

/// Mounts the Session and Order API below {base_url}.
pub fn configure(deps: SessionApiDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config
            .app_data(web::Data::new(deps.gate.clone()))
            .app_data(web::Data::new(deps.clone()))
            .service(sessions::collection())
            .service(sessions::resource())
            .service(orders::order_resource())
            .service(orders::capture_resource());
    }
}
