//! Contracts, to be read (docs/SPECIFICATION.md#contract-read).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, Authenticated, BasicAuthCaller, PathId, json};
use dropin_kernel::{ContractId, Violation, ViolationCode};
use dropin_validation::Text;
use dropin_wire::RequestError;
use dropin_wire::contract::{ContractBody, ContractOrder, contract_list};
use serde::Deserialize;

use crate::SessionApiDeps;

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), PathId(id)): Authenticated<PathId<ContractId>>,
) -> Result<HttpResponse, ApiError> {
    let (contract, orders) = deps.contracts.details(&caller, id).await?;
    let orders = orders.iter().map(|order| ContractOrder {
        order_id: order.id,
        merchant_reference: &order.merchant_reference,
        state: order.state,
        amount: order.total,
        created_at: order.created_at,
    });
    Ok(json(StatusCode::OK, &ContractBody::with_orders(&contract, orders)))
}

/// The query of a list.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ContractSearch {
    billing_profile_reference: Option<String>,
}

pub(crate) async fn list(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), search): Authenticated<web::Query<ContractSearch>>,
) -> Result<HttpResponse, ApiError> {
    let reference = search.reference()?;
    let contracts = deps.contracts.of_profile(&caller, reference.as_str()).await?;
    Ok(json(StatusCode::OK, &contract_list(&contracts)))
}

impl ContractSearch {
    fn reference(&self) -> Result<Text, RequestError> {
        const NAME: &str = "BillingProfileReference";
        let missing = || Violation::new(NAME, ViolationCode::Missing, "is required in the query");
        let raw = self.billing_profile_reference.as_deref().ok_or_else(missing)?;
        Ok(Text::parse(NAME, raw)?)
    }
}
