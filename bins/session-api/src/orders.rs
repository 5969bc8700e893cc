//! The Order API (contract, POST /v1/order/{OrderId}/capture; decisions.md section 4).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, Caller, OptionalJsonBody, PathId, json};
use dropin_kernel::OrderId;
use dropin_wire::order::{CaptureRequest, OrderBody};

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), PathId(id)): Authenticated<PathId<OrderId>>,
) -> Result<HttpResponse, ApiError> {
    let order = deps.payments.order(&caller, id).await?;
    Ok(json(StatusCode::OK, &OrderBody::full(&order)))
}

pub(crate) async fn capture(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (PathId(id), OptionalJsonBody(body))): Authenticated<(
        PathId<OrderId>,
        OptionalJsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let request = CaptureRequest::parse(body.as_deref())?;
    let payments = deps.payments.clone();
    let report = deps.flows.run(async move { payments.capture(&caller, id, request.amount.as_ref()).await }).await??;
    Ok(json(StatusCode::OK, &OrderBody::captured(&report.order, report.reason.as_str())))
}
