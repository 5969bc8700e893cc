//! The Order API (contract, POST /v1/order/{OrderId}/capture; decisions.md section 4).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, Caller, IdempotencyKey, IfNoneMatch, OptionalJsonBody, PathId, tell};
use dropin_kernel::{OrderId, Violation, ViolationCode};
use dropin_order::Channel;
use dropin_ports::{Actor, KeyUse, OrderDossier, OrderName, PastStep};
use dropin_usecases::access;
use dropin_usecases::answers::{Told, Version};
use dropin_validation::Text;
use dropin_wire::RequestError;
use dropin_wire::order::{CaptureRequest, LifeStep, OrderBody};
use serde::Deserialize;

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (known, PathId(id))): Authenticated<(IfNoneMatch, PathId<OrderId>)>,
) -> Result<HttpResponse, ApiError> {
    let dossier = deps.payments.order(&caller, &OrderName::Id(id)).await?;
    Ok(shown(&known, &dossier))
}

/// The query of a search.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Sought {
    merchant_reference: Option<String>,
}

pub(crate) async fn find(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (known, sought)): Authenticated<(IfNoneMatch, web::Query<Sought>)>,
) -> Result<HttpResponse, ApiError> {
    let reference = sought.reference()?.into_string();
    let dossier = deps.payments.order(&caller, &OrderName::Reference(reference)).await?;
    Ok(shown(&known, &dossier))
}

impl Sought {
    fn reference(&self) -> Result<Text, RequestError> {
        const NAME: &str = "MerchantReference";
        let missing = || Violation::new(NAME, ViolationCode::Missing, "is required in the query");
        let raw = self.merchant_reference.as_deref().ok_or_else(missing)?;
        Ok(Text::parse(NAME, raw)?)
    }
}

fn shown(known: &IfNoneMatch, dossier: &OrderDossier) -> HttpResponse {
    let OrderDossier { order, refunds, history, rate } = dossier;
    known.answer(&Version::of_order(order), || {
        OrderBody::with_life(order, refunds, history.iter().map(step)).at_rate(order, rate.as_ref())
    })
}

/// Who of ours decided is not the merchant's business; that it was one of ours is.
fn step(past: &PastStep) -> LifeStep<'_> {
    let (actor, user) = match &past.actor {
        Actor::Merchant(user) => ("MERCHANT", Some(user.as_str())),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(_) => ("OPERATOR", None),
        Actor::System => ("SYSTEM", None),
    };
    LifeStep { at: past.at, actor, user, what: &past.what, before: past.before.as_deref(), after: &past.after }
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
    let flow = async move { payments.capture(&caller, id, request.amount.as_ref(), Channel::Order, key_use).await };
    Ok(deps.flows.run(flow).await??)
}

pub(crate) async fn cancel(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (key, PathId(id))): Authenticated<(IdempotencyKey, PathId<OrderId>)>,
) -> Result<HttpResponse, ApiError> {
    // A body has no meaning here and is not read.
    let key_use = key.used_by(&caller, &deps.answers, &[&[]]);
    let told = run_cancel(&deps, caller, id, key_use).await;
    tell(&deps.answers, key_use, told).await
}

/// Where nobody can cancel it halfway.
async fn run_cancel(
    deps: &SessionApiDeps,
    caller: Arc<access::Caller>,
    id: OrderId,
    key_use: Option<KeyUse>,
) -> Result<Told, ApiError> {
    let payments = deps.payments.clone();
    Ok(deps.flows.run(async move { payments.cancel(&caller, id, Channel::Order, key_use).await }).await??)
}
