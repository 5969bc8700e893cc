//! The Order API (contract, POST /v1/order/{OrderId}/capture; decisions.md section 4).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, Caller, IdempotencyKey, IfNoneMatch, OptionalJsonBody, PathId, tell};
use dropin_kernel::OrderId;
use dropin_ports::KeyUse;
use dropin_usecases::access;
use dropin_usecases::answers::{Told, Version};
use dropin_wire::order::{CaptureRequest, OrderBody};

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (known, PathId(id))): Authenticated<(IfNoneMatch, PathId<OrderId>)>,
) -> Result<HttpResponse, ApiError> {
    let order = deps.payments.order(&caller, id).await?;
    Ok(known.answer(&Version::of_order(&order), || OrderBody::full(&order)))
}

pub(crate) async fn capture(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (key, PathId(id), OptionalJsonBody(body))): Authenticated<(
        IdempotencyKey,
        PathId<OrderId>,
        OptionalJsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[body.as_deref().unwrap_or_default()]);
    let told = run_capture(&deps, caller, id, body.as_deref(), key_use).await;
    tell(&deps.answers, key_use, told).await
}

/// Where nobody can cancel it halfway.
async fn run_capture(
    deps: &SessionApiDeps,
    caller: Arc<access::Caller>,
    id: OrderId,
    body: Option<&[u8]>,
    key_use: Option<KeyUse>,
) -> Result<Told, ApiError> {
    let request = CaptureRequest::parse(body)?;
    let payments = deps.payments.clone();
    let flow = async move { payments.capture(&caller, id, request.amount.as_ref(), key_use).await };
    Ok(deps.flows.run(flow).await??)
}
