//! The server-to-server checkout (docs/SPECIFICATION.md#checkout).

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{
    ApiError, Authenticated, BasicAuthCaller, ClientAddress, IdempotencyKey, JsonBody, json, respond_idempotently,
};
use dropin_kernel::MerchantId;
use dropin_order::Channel;
use dropin_ports::{ContractName, KeyUse, OrderName};
use dropin_usecases::access;
use dropin_usecases::contracts::ContractError;
use dropin_usecases::idempotency::IdempotentOutcome;
use dropin_usecases::payments::{ChargeAsk, CheckoutAsk, OrderError, RefundAsk};
use dropin_validation::Text;
use dropin_wire::ErrorCode;
use dropin_wire::checkout::{
    CancelRequest, CheckoutBody, CheckoutCaptureRequest, CheckoutRefundRequest, CheckoutRequest, PaidBy, QueryRequest,
    QuerySubject,
};
use dropin_wire::contract::{FoundContractBody, QueryBody};

use crate::MerchantDeps;

/// What every operation that moves money takes.
pub(crate) type Keyed = Authenticated<(IdempotencyKey, JsonBody)>;

pub(crate) async fn pay(
    deps: web::Data<MerchantDeps>,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    let outcome = run_pay(&deps, caller, &body, key_use).await;
    respond_idempotently(&deps.answers, key_use, outcome).await
}

/// Runs on the flow runtime, where a client that disconnects cancels nothing; so do the others.
async fn run_pay(
    deps: &MerchantDeps,
    caller: Arc<access::Caller>,
    body: &[u8],
    key_use: Option<KeyUse>,
) -> Result<IdempotentOutcome, ApiError> {
    let request = CheckoutRequest::parse(body, deps.url_policy, &deps.checkouts.payments.catalogue)?;
    is_caller(&caller, &request.merchant_id)?;
    let checkouts = deps.checkouts.clone();
    let (method, stash_id, return_url, fingerprint) = match request.paid_by {
        PaidBy::Instrument { method, stash_id, return_url, fingerprint } => (method, stash_id, return_url, fingerprint),
        PaidBy::Contract(contract) => {
            let ask = ChargeAsk {
                reference: request.reference.into_string(),
                total: request.total,
                country: request.country,
                contract,
                capture: request.capture,
                document: request.document,
            };
            return Ok(deps.flows.run(async move { checkouts.charge(&caller, &ask, key_use).await }).await??);
        }
    };
    let ask = CheckoutAsk {
        reference: request.reference.into_string(),
        total: request.total,
        country: request.country,
        method,
        stash_id,
        email: request.email,
        fingerprint: fingerprint.into_string(),
        capture: request.capture,
        return_url,
        document: request.document,
    };
    Ok(deps.flows.run(async move { checkouts.pay(&caller, &ask, key_use).await }).await??)
}

pub(crate) async fn capture(
    deps: web::Data<MerchantDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let CheckoutCaptureRequest { merchant_id, order, amount } = CheckoutCaptureRequest::parse(&body)?;
        is_caller(&caller, &merchant_id)?;
        let (act, payments) = (caller.act(from.0), deps.checkouts.payments.clone());
        let flow = async move { payments.capture(&act, order, amount.as_ref(), Channel::Checkout, key_use).await };
        Ok::<_, ApiError>(deps.flows.run(flow).await??)
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}

pub(crate) async fn cancel(
    deps: web::Data<MerchantDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let CancelRequest { merchant_id, order } = CancelRequest::parse(&body)?;
        is_caller(&caller, &merchant_id)?;
        let (act, payments) = (caller.act(from.0), deps.checkouts.payments.clone());
        Ok::<_, ApiError>(
            deps.flows.run(async move { payments.cancel(&act, order, Channel::Checkout, key_use).await }).await??,
        )
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}

pub(crate) async fn refund(
    deps: web::Data<MerchantDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    // On the flow runtime, where a client that disconnects cancels nothing.
    let outcome = async {
        let CheckoutRefundRequest { merchant_id, order, refund } = CheckoutRefundRequest::parse(&body)?;
        is_caller(&caller, &merchant_id)?;
        let ask = RefundAsk {
            reference: refund.reference.into_string(),
            amount: refund.amount,
            description: refund.description.map(Text::into_string),
        };
        let (act, payments) = (caller.act(from.0), deps.checkouts.payments.clone());
        Ok::<_, ApiError>(deps.flows.run(async move { payments.refund(&act, order, &ask, key_use).await }).await??)
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}

/// Changes nothing, so it needs no key.
pub(crate) async fn query(
    deps: web::Data<MerchantDeps>,
    Authenticated(BasicAuthCaller(caller), JsonBody(body)): Authenticated<JsonBody>,
) -> Result<HttpResponse, ApiError> {
    let QueryRequest { merchant_id, subject } = QueryRequest::parse(&body).map_err(ApiError::from)?;
    is_caller(&caller, &merchant_id)?;
    let name = match subject {
        QuerySubject::Order(id) => OrderName::Id(id),
        QuerySubject::Reference(reference) => OrderName::Reference(reference.into_string()),
        QuerySubject::Contract(id) => {
            let found = deps.contracts.find(&caller, &ContractName::Id(id)).await;
            let contract = found.map_err(ApiError::of_named_contract)?;
            return Ok(json(StatusCode::OK, &QueryBody::Contract(Box::new(FoundContractBody::new(&contract)))));
        }
    };
    let payments = &deps.checkouts.payments;
    let order = match (payments.order(&caller, &name).await, name) {
        (Ok(details), _) => details.order,
        // The reference of a contract.
        (Err(OrderError::NotFound), OrderName::Reference(reference)) => {
            let found = deps.contracts.find(&caller, &ContractName::Reference(reference)).await;
            return match found {
                Ok(contract) => {
                    Ok(json(StatusCode::OK, &QueryBody::Contract(Box::new(FoundContractBody::new(&contract)))))
                }
                Err(ContractError::Store(error)) => Err(error.into()),
                Err(ContractError::NotFound | ContractError::WrongState(_)) => Err(OrderError::NotFound.into()),
            };
        }
        (Err(error), _) => return Err(error.into()),
    };
    Ok(json(StatusCode::OK, &QueryBody::Payment(CheckoutBody::new(&order, payments.rules(&order)))))
}

/// Refuses every MerchantId but the caller's own as unknown, also that of another merchant.
pub(crate) fn is_caller(caller: &access::Caller, merchant_id: &str) -> Result<(), ApiError> {
    if merchant_id.parse() == Ok(caller.merchant.id) as Result<MerchantId, _> {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::MerchantNotFound,
        "There is no such merchant for these credentials; send the MerchantId that came with them.",
    ))
}
