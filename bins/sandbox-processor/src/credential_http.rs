//! The routes of stored credentials: those of a merchant, and the end of one.

use actix_web::{HttpResponse, web};
use serde::Deserialize;

use crate::credential;
use crate::credential_body::{check_merchant, parse_deletion};
use crate::enums::Call;
use crate::faults::Mode;
use crate::http::{Body, MAX_PAGE, Processor, Refusal, read};
use crate::perform;
use crate::response::{Credentials, Deleted};

#[derive(Deserialize)]
pub(crate) struct Page {
    merchant: String,
    after: Option<i64>,
    limit: Option<i64>,
}

/// A merchant's credentials, a page at a time; what is deleted is not there.
pub(crate) async fn list(
    processor: Processor,
    page: Result<web::Query<Page>, actix_web::Error>,
) -> Result<HttpResponse, Refusal> {
    let malformed = || {
        let what = format!("merchant must be given, after be a number, limit a number from 1 to {MAX_PAGE}.");
        Refusal::Malformed(what)
    };
    let page = page.map_err(|_not_numbers| malformed())?.into_inner();
    let (after, limit) = (page.after.unwrap_or(0), page.limit.unwrap_or(MAX_PAGE));
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(malformed());
    }
    let merchant = check_merchant(page.merchant).map_err(Refusal::Malformed)?;
    let rows = processor.store().run(move |store| credential::list(store, &merchant, after, limit)).await??;
    Ok(HttpResponse::Ok().json(Credentials { credentials: rows.into_iter().map(Into::into).collect() }))
}

/// Deletes a credential. Whoever repeats it hears that it is gone.
pub(crate) async fn delete(processor: Processor, body: Body) -> Result<HttpResponse, Refusal> {
    let (merchant, reference) = parse_deletion(&read(body)?).map_err(Refusal::Malformed)?;
    let fault = processor.faults().take(Call::Credential, None);
    let work = move |store: &mut _, context: crate::rules::CallContext| match context.refuse {
        Some(_) => Ok(None),
        None => credential::delete(store, &merchant, &reference, context.now).map(Some),
    };
    let deleted = perform::run(&processor, fault, work).await??;
    if fault.mode == Mode::TimeoutAfterWork {
        return Err(perform::time_out(fault.silence(processor.silence())).await);
    }
    let deleted = deleted.ok_or(Refusal::OnPurpose)?;
    Ok(HttpResponse::Ok().json(Deleted { deleted }))
}
