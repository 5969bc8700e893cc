//! The Session API (contract, endpoints 2 to 5).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, Caller, JsonBody, PathId, json};
use dropin_kernel::SessionId;
use dropin_wire::session::SessionBody;

use crate::SessionApiDeps;

pub(crate) async fn create(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), JsonBody(body)): Authenticated<JsonBody>,
) -> Result<HttpResponse, ApiError> {
    let session = deps.sessions.create(&caller, &body).await?;
    Ok(json(StatusCode::CREATED, &SessionBody::new(&session, None)))
}

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), PathId(id)): Authenticated<PathId<SessionId>>,
) -> Result<HttpResponse, ApiError> {
    let found = deps.sessions.get(&caller, id).await?;
    Ok(json(StatusCode::OK, &SessionBody::new(&found.session, found.order.as_ref())))
}

pub(crate) async fn replace(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (PathId(id), JsonBody(body))): Authenticated<(PathId<SessionId>, JsonBody)>,
) -> Result<HttpResponse, ApiError> {
    let session = deps.sessions.replace(&caller, id, &body).await?;
    Ok(json(StatusCode::OK, &SessionBody::new(&session, None)))
}

pub(crate) async fn cancel(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), PathId(id)): Authenticated<PathId<SessionId>>,
) -> Result<HttpResponse, ApiError> {
    deps.sessions.cancel(&caller, id).await?;
    Ok(HttpResponse::NoContent().finish())
}
