//! Refunds of an Order (docs/SPECIFICATION.md#order-refund).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{
    ApiError, Authenticated, BasicAuthCaller, ClientAddress, IdempotencyKey, JsonBody, PathId, PathIds, json,
    respond_idempotently,
};
use dropin_kernel::{OrderId, RefundId};
use dropin_usecases::payments::RefundAsk;
use dropin_validation::Text;
use dropin_wire::order::{OrderRefundRequest, RefundBody, refund_list};

use crate::SessionApiDeps;

pub(crate) async fn create(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, PathId(id), JsonBody(body))): Authenticated<(
        IdempotencyKey,
        PathId<OrderId>,
        JsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let OrderRefundRequest { reference, amount, description } = OrderRefundRequest::parse(&body)?;
        let ask =
            RefundAsk { reference: reference.into_string(), amount, description: description.map(Text::into_string) };
        let (act, payments) = (caller.act(from.0), deps.payments.clone());
        Ok::<_, ApiError>(deps.flows.run(async move { payments.refund(&act, id, &ask, key_use).await }).await??)
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}

pub(crate) async fn list(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), PathId(id)): Authenticated<PathId<OrderId>>,
) -> Result<HttpResponse, ApiError> {
    let refunds = deps.payments.refunds(&caller, id).await?;
    Ok(json(StatusCode::OK, &refund_list(&refunds)))
}

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), PathIds(order, id)): Authenticated<PathIds<OrderId, RefundId>>,
) -> Result<HttpResponse, ApiError> {
    let refund = deps.payments.find_refund(&caller, order, id).await?;
    Ok(json(StatusCode::OK, &RefundBody::from(&refund)))
}
