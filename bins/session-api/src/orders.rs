//! The Order API (docs/SPECIFICATION.md#order-api).

use actix_web::{HttpResponse, web};
use dropin_http::{
    ApiError, Authenticated, BasicAuthCaller, ClientAddress, IdempotencyKey, IfNoneMatch, OptionalJsonBody, PathId,
    respond_idempotently,
};
use dropin_kernel::{OrderId, Violation, ViolationCode};
use dropin_order::Channel;
use dropin_ports::{Actor, OrderDetails, OrderName, StoredHistoryEntry};
use dropin_usecases::access::Caller;
use dropin_usecases::idempotency::Version;
use dropin_validation::Text;
use dropin_wire::RequestError;
use dropin_wire::order::{HistoryEntry, OrderBody, OrderCaptureRequest};
use serde::Deserialize;

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), (known, PathId(id))): Authenticated<(IfNoneMatch, PathId<OrderId>)>,
) -> Result<HttpResponse, ApiError> {
    let details = deps.payments.order(&caller, &OrderName::Id(id)).await?;
    order_response(&deps, &caller, &known, &details).await
}

/// The query of a search.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct OrderSearch {
    merchant_reference: Option<String>,
}

pub(crate) async fn find(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), (known, search)): Authenticated<(IfNoneMatch, web::Query<OrderSearch>)>,
) -> Result<HttpResponse, ApiError> {
    let reference = search.reference()?.into_string();
    let details = deps.payments.order(&caller, &OrderName::Reference(reference)).await?;
    order_response(&deps, &caller, &known, &details).await
}

impl OrderSearch {
    fn reference(&self) -> Result<Text, RequestError> {
        const NAME: &str = "MerchantReference";
        let missing = || Violation::new(NAME, ViolationCode::Missing, "is required in the query");
        let raw = self.merchant_reference.as_deref().ok_or_else(missing)?;
        Ok(Text::parse(NAME, raw)?)
    }
}

async fn order_response(
    deps: &SessionApiDeps,
    caller: &Caller,
    known: &IfNoneMatch,
    details: &OrderDetails,
) -> Result<HttpResponse, ApiError> {
    let OrderDetails { order, refunds, history, rate } = details;
    let screening = deps.payments.find_screening(caller, order.id).await?;
    Ok(known.answer(&Version::of_order(order), || {
        let body = OrderBody::with_history(order, refunds, history.iter().map(step)).at_rate(order, rate.as_ref());
        body.screened(screening.as_ref())
    }))
}

/// Who of ours decided is not the merchant's business; that it was one of ours is.
fn step(past: &StoredHistoryEntry) -> HistoryEntry<'_> {
    let (actor, user) = match &past.actor {
        Actor::Merchant(user) => ("MERCHANT", Some(user.as_str())),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(_) | Actor::CommandLine(_) => ("OPERATOR", None),
        Actor::System => ("SYSTEM", None),
    };
    HistoryEntry { at: past.at, actor, user, what: &past.what, before: past.before.as_deref(), after: &past.after }
}

pub(crate) async fn capture(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, PathId(id), OptionalJsonBody(body))): Authenticated<(
        IdempotencyKey,
        PathId<OrderId>,
        OptionalJsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[body.as_deref().unwrap_or_default()]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let request = OrderCaptureRequest::parse(body.as_deref())?;
        let (act, payments) = (caller.act(from.0), deps.payments.clone());
        let flow = async move { payments.capture(&act, id, request.amount.as_ref(), Channel::Order, key_use).await };
        Ok::<_, ApiError>(deps.flows.run(flow).await??)
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}

pub(crate) async fn cancel(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, PathId(id))): Authenticated<(IdempotencyKey, PathId<OrderId>)>,
) -> Result<HttpResponse, ApiError> {
    // A body has no meaning here and is not read.
    let key_use = key.used_by(&caller, &deps.answers, &[&[]]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let (act, payments) = (caller.act(from.0), deps.payments.clone());
        Ok::<_, ApiError>(
            deps.flows.run(async move { payments.cancel(&act, id, Channel::Order, key_use).await }).await??,
        )
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}
