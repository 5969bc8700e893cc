//! The merchant's events, to catch up with (docs/SPECIFICATION.md#event-pull).

use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use dropin_http::{ApiError, Authenticated, BasicAuthCaller, Parameters, count_page};
use dropin_wire::event_log::EventsQuery;

use crate::SessionApiDeps;

pub(crate) async fn pull(
    request: HttpRequest,
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), parameters): Authenticated<Parameters>,
) -> Result<HttpResponse, ApiError> {
    let query = EventsQuery::parse(parameters.find("after")?, parameters.find("limit")?)?;
    count_page(&request)?;
    let body = deps.events.pull(&caller, query).await?;
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(body))
}
