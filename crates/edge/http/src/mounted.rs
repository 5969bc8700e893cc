use actix_web::{HttpResponse, web};
use dropin_wire::ErrorCode;

use crate::ApiError;
use crate::observe::MountPoint;

/// A mounted service. Cloned once for each worker.
pub(crate) trait Configure: Send {
    fn apply(&self, config: &mut web::ServiceConfig);
    fn boxed_clone(&self) -> Box<dyn Configure>;
}

impl<F: Fn(&mut web::ServiceConfig) + Clone + Send + 'static> Configure for F {
    fn apply(&self, config: &mut web::ServiceConfig) {
        self(config);
    }

    fn boxed_clone(&self) -> Box<dyn Configure> {
        Box::new(self.clone())
    }
}

pub(crate) struct Mounted {
    pub(crate) mount_point: MountPoint,
    pub(crate) configure: Box<dyn Configure>,
}

impl Clone for Mounted {
    fn clone(&self) -> Self {
        Self { mount_point: self.mount_point, configure: self.configure.boxed_clone() }
    }
}

pub(crate) fn mount_all(config: &mut web::ServiceConfig, mounted: &[Mounted]) {
    for Mounted { mount_point: MountPoint { prefix, .. }, configure } in mounted {
        if prefix.is_empty() {
            configure.apply(config);
        } else {
            config.service(web::scope(prefix).configure(|scope| configure.apply(scope)));
        }
    }
}

pub(crate) async fn no_route() -> Result<HttpResponse, ApiError> {
    Err(not_found())
}

/// 404 NOT_FOUND.
pub(crate) fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is nothing under this address; compare it with the documentation.")
}

pub(crate) fn bad_path() -> ApiError {
    ApiError::new(
        ErrorCode::ValidationError,
        "A part of the address has the wrong form; compare it with the documentation.",
    )
}

pub(crate) fn bad_query(error: actix_web::error::QueryPayloadError) -> ApiError {
    ApiError::new(
        ErrorCode::InvalidRequest,
        "The query string cannot be understood; compare it with the documentation.",
    )
    .with_detail(match error {
        actix_web::error::QueryPayloadError::Deserialize(_) => "a query parameter is missing or has the wrong form",
        _ => "the query string has the wrong form",
    })
}
