//! Contracts that the merchant's server opens and closes (docs/SPECIFICATION.md#open-contract).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, BasicAuthCaller, ClientAddress, JsonBody, respond_idempotently};
use dropin_ports::{KeyUse, StoredResponse};
use dropin_usecases::access;
use dropin_usecases::idempotency::{IdempotentOutcome, Reply};
use dropin_usecases::payments::OpenContractAsk;
use dropin_wire::checkout::{CloseContractRequest, OpenContractRequest};
use dropin_wire::contract::closed_contract;

use crate::MerchantDeps;
use crate::checkout::{Keyed, is_caller};

pub(crate) async fn open(
    deps: web::Data<MerchantDeps>,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    let outcome = run_open(&deps, caller, &body, key_use).await;
    respond_idempotently(&deps.answers, key_use, outcome).await
}

/// Runs on the flow runtime, where a client that disconnects cancels nothing.
async fn run_open(
    deps: &MerchantDeps,
    caller: Arc<access::Caller>,
    body: &[u8],
    key_use: Option<KeyUse>,
) -> Result<IdempotentOutcome, ApiError> {
    let payments = &deps.checkouts.payments;
    let request = OpenContractRequest::parse(body, deps.url_policy, &payments.catalogue)?;
    is_caller(&caller, &request.merchant_id)?;
    let ask = OpenContractAsk {
        reference: request.reference,
        kind: request.kind,
        currency: request.currency,
        country: request.country,
        method: request.method,
        stash_id: request.stash_id,
        email: request.email,
        fingerprint: request.fingerprint.into_string(),
        return_url: Some(request.return_url),
        billing_profile_reference: request.billing_profile_reference,
        consent: request.consent.given_at(payments.clock.now()),
        document: request.document,
    };
    let checkouts = deps.checkouts.clone();
    Ok(deps.flows.run(async move { checkouts.open_contract(&caller, &ask, key_use).await }).await??)
}

pub(crate) async fn close(
    deps: web::Data<MerchantDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Keyed,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    let outcome = async {
        let CloseContractRequest { merchant_id, contract } = CloseContractRequest::parse(&body)?;
        is_caller(&caller, &merchant_id)?;
        let render = |contract: &_| StoredResponse { status: 200, etag: None, body: closed_contract(contract) };
        let closed = deps.contracts.close(&caller.act(from.0), contract, Reply { render, key_use }).await;
        closed.map_err(ApiError::of_named_contract)
    };
    respond_idempotently(&deps.answers, key_use, outcome.await).await
}
