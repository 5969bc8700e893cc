//! The payment methods that a merchant offers, for anybody to read (docs/SPECIFICATION.md#catalogue).

use std::time::Duration;

use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, IfNoneMatch, Parameters, cacheable_json};
use dropin_wire::catalogue::MethodsQuery;

use crate::MerchantDeps;

/// What is asked.
const NAMES: [&str; 5] = ["MerchantId", "Country", "Currency", "Amount", "Locale"];
/// An operator's change is seen by everybody within a minute.
const MAX_AGE: Duration = Duration::from_secs(60);

pub(crate) async fn list(
    deps: web::Data<MerchantDeps>,
    parameters: Parameters,
    known: IfNoneMatch,
) -> Result<HttpResponse, ApiError> {
    let given = NAMES.iter().map(|name| Ok((*name, parameters.find(name)?))).collect::<Result<Vec<_>, ApiError>>()?;
    let find = |name: &str| given.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
    let query = MethodsQuery::parse(find).map_err(ApiError::from)?;
    cacheable_json(&known, MAX_AGE, &deps.methods.list(&query).await?)
}
