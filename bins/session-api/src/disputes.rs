//! Disputes of an Order (docs/SPECIFICATION.md#disputes).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{
    ApiError, Authenticated, BasicAuthCaller, ClientAddress, IdempotencyKey, MultipartBody, PathId, PathIds, json,
    respond_once,
};
use dropin_kernel::{DisputeId, OrderId};
use dropin_ports::DisputeResponse;
use dropin_usecases::audit_log::MerchantAct;
use dropin_usecases::idempotency::IdempotentOutcome;
use dropin_wire::dispute::{FormPart, dispute_list, evidence};

use crate::SessionApiDeps;

/// Most bytes of a form with evidence: 2.5 MiB.
pub(crate) const MAX_EVIDENCE_BYTES: usize = 5 * 512 * 1024;

pub(crate) async fn list(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), PathId(id)): Authenticated<PathId<OrderId>>,
) -> Result<HttpResponse, ApiError> {
    let disputes = deps.disputes.of_order(caller.merchant.id, id).await?;
    let disputes = disputes.iter().map(|answered| (&answered.dispute, answered.is_pending));
    Ok(json(StatusCode::OK, &dispute_list(disputes)))
}

pub(crate) async fn accept(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, PathIds(order, id))): Authenticated<(
        IdempotencyKey,
        PathIds<OrderId, DisputeId>,
    )>,
) -> Result<HttpResponse, ApiError> {
    // A body has no meaning here and is not read.
    let key_use = key.used_by(&caller, &deps.answers, &[&[]]);
    let effect = answer(&deps, caller.act(from.0), (order, id), DisputeResponse::Accept);
    respond_once(&deps.answers, key_use, effect).await
}

pub(crate) async fn hand_in(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, PathIds(order, id), form)): Authenticated<(
        IdempotencyKey,
        PathIds<OrderId, DisputeId>,
        MultipartBody<MAX_EVIDENCE_BYTES>,
    )>,
) -> Result<HttpResponse, ApiError> {
    let parts = form.parts();
    // A client makes a new boundary each time: the same parts are the same request.
    let request = match &parts {
        Ok(parts) => parts.iter().flat_map(fields).collect(),
        Err(_unreadable) => vec![&form.raw[..]],
    };
    let key_use = key.used_by(&caller, &deps.answers, &request);
    let effect = async {
        let evidence = evidence(parts?)?;
        answer(&deps, caller.act(from.0), (order, id), DisputeResponse::Evidence(evidence)).await
    };
    respond_once(&deps.answers, key_use, effect).await
}

/// All of a part that makes it another one.
fn fields(part: &FormPart) -> [&[u8]; 4] {
    let [file_name, media_type] = [&part.file_name, &part.media_type].map(|text| text.as_deref().unwrap_or_default());
    [part.name.as_bytes(), file_name.as_bytes(), media_type.as_bytes(), &part.content]
}

/// Runs on the flow runtime, where a client that disconnects cancels nothing.
async fn answer(
    deps: &SessionApiDeps,
    act: MerchantAct,
    (order, id): (OrderId, DisputeId),
    response: DisputeResponse,
) -> Result<IdempotentOutcome, ApiError> {
    let disputes = deps.disputes.clone();
    let answered = deps.flows.run(async move { disputes.answer(&act, order, id, response).await }).await??;
    Ok(answered.into())
}
