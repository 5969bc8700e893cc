//! Where processors send their events (docs/SPECIFICATION.md#processor-events). The processor's server calls it, no page of a browser's.

use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_http::{ApiError, JsonBody};
use dropin_payments::{ProcessorEventError, SIGNATURE_HEADER};
use dropin_wire::ErrorCode;

use crate::MerchantDeps;

pub(crate) fn resource() -> Resource {
    web::resource("/v1/processor/{ProcessorId}/event").route(web::post().to(receive))
}

async fn receive(
    deps: web::Data<MerchantDeps>,
    request: HttpRequest,
    JsonBody(body): JsonBody,
) -> Result<HttpResponse, ApiError> {
    let processor = request.match_info().get("ProcessorId").unwrap_or_default();
    let signature = request.headers().get(SIGNATURE_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let payments = &deps.checkouts.payments;
    let read = deps.events.read(processor, signature, &body, payments.clock.now()).await;
    let (processor, hints) = read.map_err(|error| {
        let code = match error {
            ProcessorEventError::Unknown => ErrorCode::NotFound,
            ProcessorEventError::Refused(_) => ErrorCode::InvalidRequest,
        };
        ApiError::new(code, format!("The event is not taken notice of: {error}."))
    })?;
    payments.look_soon(&hints.operations).await?;
    let (payments, operations) = (payments.clone(), hints.operations);
    deps.flows.run(async move { payments.look_at_refunds(&operations).await }).await??;
    if let Some(reference) = hints.dispute {
        deps.disputes.look_soon(&processor, &reference).await?;
    }
    Ok(HttpResponse::Ok().finish())
}
