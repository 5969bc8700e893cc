use std::borrow::Cow;

use actix_web::http::Method;
use actix_web::{HttpRequest, Resource, Route, web};
use dropin_access::Permission;
use dropin_wire::{RequestError, only_known_parameters};

use crate::ApiError;

/// One operation of a service: a row of the table from which its route, its permission, its documentation and the test of tenant
/// isolation come.
#[derive(Debug)]
pub struct ApiOperation {
    /// Its name in the OpenAPI document (operationId), for example `createSession`.
    pub name: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Address below the service's own, with parameters in braces, for example `/v1/session/{SessionId}`.
    pub path: &'static str,
    /// The query parameters that it takes. Where a merchant's server asks, or [`Parameters`](crate::Parameters) are read, another one is 400
    /// INVALID_REQUEST with FIELD_UNKNOWN; what a page or a provider appends to other addresses is passed over.
    pub query: &'static [&'static str],
    /// What an API user needs to call it; `None` when the operation is public.
    pub permission: Option<Permission>,
    /// Its handler, by [`web::to`].
    pub handler: fn() -> Route,
}

/// The rows of one address; stands in the app data of its resource.
#[derive(Clone)]
struct ResourceOperations(Vec<&'static ApiOperation>);

/// Mounts a service's table of operations: one resource for each address, 405 with Allow for every method that it has no row for.
pub fn mount(config: &mut web::ServiceConfig, operations: &'static [ApiOperation]) {
    for path in paths(operations) {
        config.service(resource(path, operations));
    }
}

/// The addresses of a table, each once.
pub(crate) fn paths(operations: &'static [ApiOperation]) -> Vec<&'static str> {
    operations.iter().fold(Vec::new(), |mut paths, operation| {
        if !paths.contains(&operation.path) {
            paths.push(operation.path);
        }
        paths
    })
}

/// One address with its rows.
pub(crate) fn resource(path: &'static str, operations: &'static [ApiOperation]) -> Resource {
    let rows = || operations.iter().filter(|operation| operation.path == path);
    let resource_operations = ResourceOperations(rows().collect());
    rows().fold(web::resource(path).app_data(resource_operations), |resource, operation| {
        resource.route((operation.handler)().method(operation.method.clone()))
    })
}

/// The row of the current operation.
fn current_operation(request: &HttpRequest) -> Option<&'static ApiOperation> {
    let ResourceOperations(rows) = request.app_data::<ResourceOperations>()?;
    rows.iter().find(|operation| operation.method == request.method()).copied()
}

/// The permission that the current operation needs; 500 for a handler outside the table, or of a public operation, that extracts a caller.
pub(crate) fn permission(request: &HttpRequest) -> Result<Permission, ApiError> {
    let operation = current_operation(request);
    let operation =
        operation.ok_or_else(|| ApiError::internal("an authenticated handler outside the table of operations"))?;
    operation.permission.ok_or_else(|| ApiError::internal("an operation without a permission asked who its caller is"))
}

/// Refuses a query parameter that the operation does not have: a filter that is misspelled must not look as if it had matched.
///
/// # Errors
/// 400 INVALID_REQUEST with FIELD_UNKNOWN and the nearest parameter that it has.
pub fn only_known_query(request: &HttpRequest) -> Result<(), ApiError> {
    let query = request.query_string();
    let Some(operation) = current_operation(request).filter(|_| !query.is_empty()) else { return Ok(()) };
    let Ok(pairs) = web::Query::<Vec<(String, String)>>::from_query(query) else {
        return Err(RequestError::Malformed("The query cannot be read; write it as name=value.".to_owned()).into());
    };
    let names = pairs.iter().map(|(name, _)| Cow::Borrowed(name.as_str()));
    only_known_parameters(names, operation.query).map_err(|unknown| RequestError::from(unknown).into())
}
