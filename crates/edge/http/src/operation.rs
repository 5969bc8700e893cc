use actix_web::http::Method;
use actix_web::{HttpRequest, Resource, Route, web};
use dropin_access::Permission;

use crate::ApiError;

/// One operation of a service: a row of the table from which its route, its permission, its documentation and the test of tenant
/// isolation come.
#[derive(Debug)]
pub struct Operation {
    /// Its name in the OpenAPI document (operationId), for example `createSession`.
    pub name: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Address below the service's own, with parameters in braces, for example `/v1/session/{SessionId}`.
    pub path: &'static str,
    /// What an API user needs to call it; `None` when the operation is public.
    pub permission: Option<Permission>,
    /// Its handler, by [`web::to`].
    pub handler: fn() -> Route,
}

/// The rows of one address; stands in the app data of its resource.
#[derive(Clone)]
struct Here(Vec<(Method, Option<Permission>)>);

/// Mounts a service's table of operations: one resource for each address, 405 with Allow for every method that it has no row for.
pub fn mount(config: &mut web::ServiceConfig, operations: &'static [Operation]) {
    for path in paths(operations) {
        config.service(resource(path, operations));
    }
}

/// The addresses of a table, each once.
pub(crate) fn paths(operations: &'static [Operation]) -> Vec<&'static str> {
    operations.iter().fold(Vec::new(), |mut paths, operation| {
        if !paths.contains(&operation.path) {
            paths.push(operation.path);
        }
        paths
    })
}

/// One address with its rows.
pub(crate) fn resource(path: &'static str, operations: &'static [Operation]) -> Resource {
    let rows = || operations.iter().filter(|operation| operation.path == path);
    let here = Here(rows().map(|operation| (operation.method.clone(), operation.permission)).collect());
    rows().fold(web::resource(path).app_data(here), |resource, operation| {
        resource.route((operation.handler)().method(operation.method.clone()))
    })
}

/// What the operation that is being called needs. Whoever asks for a caller outside the table, or in a public operation, has forgotten a row.
pub(crate) fn permission(request: &HttpRequest) -> Result<Permission, ApiError> {
    let Some(Here(rows)) = request.app_data::<Here>() else {
        return Err(ApiError::internal("an authenticated handler outside the table of operations"));
    };
    rows.iter()
        .find(|(method, _)| method == request.method())
        .and_then(|(_, permission)| *permission)
        .ok_or_else(|| ApiError::internal("an operation without a permission asked who its caller is"))
}
