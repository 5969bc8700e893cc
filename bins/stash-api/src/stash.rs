use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError, web};
use dropin_access::Merchant;
use dropin_card::ClientFacts;
use dropin_http::{ApiError, ClientAddress, FormBody, client_key, count_for, count_for_session, json};
use dropin_kernel::{MerchantId, SessionId};
use dropin_usecases::stash::NewEntry;
use dropin_wire::stash::StashBody;
use zeroize::{Zeroize, Zeroizing};

use crate::StashApiDeps;
use crate::cors::{Visitor, allow, vary};
use crate::form::StashForm;
use crate::{address, form};

/// Stashes a card or a wallet's token.
pub(crate) async fn post(
    request: HttpRequest,
    from: ClientAddress,
    payload: web::Payload,
    deps: web::Data<StashApiDeps>,
) -> HttpResponse {
    answer(&request, &deps, async |merchant| {
        let stash_id = address::stash_id(&request)?;
        // What is no form costs the client that sends it, and not the merchant whose shoppers would be refused for it.
        let StashForm { fingerprint, session, data, time_zone, language } = read_form(&request, payload).await?;
        count(&request, &deps, merchant.id, session).await?;
        let client = client_key(&request);
        let facts = ClientFacts::new(from.0, plain(&time_zone), plain(&language));
        let entry = NewEntry { client, session, stash_id, fingerprint, data, facts };
        let stashed = deps.stashing.put(&merchant, entry).await?;
        Ok(json(StatusCode::OK, &StashBody::new(&stashed.stash_id, stashed.last4.as_deref(), &stashed.warnings)))
    })
    .await
}

fn plain(field: &Option<Zeroizing<String>>) -> Option<&str> {
    field.as_ref().map(|text| text.as_str())
}

/// Counts a post against the merchant; when strangers have used up what anybody may send, against the live Session that it names.
async fn count(
    request: &HttpRequest,
    deps: &StashApiDeps,
    merchant: MerchantId,
    session: Option<SessionId>,
) -> Result<(), ApiError> {
    let Err(limited) = count_for(request, merchant) else { return Ok(()) };
    match session {
        Some(session) if deps.stashing.is_live(merchant, session).await? => {
            count_for_session(request, merchant, session)
        }
        _ => Err(limited),
    }
}

/// Tells a browser in advance what its page may send.
pub(crate) async fn preflight(request: HttpRequest, deps: web::Data<StashApiDeps>) -> HttpResponse {
    answer(&request, &deps, async |_merchant| {
        let mut response =
            HttpResponse::NoContent().insert_header((ALLOW, HeaderValue::from_static("OPTIONS, POST"))).finish();
        allow(response.headers_mut());
        Ok(response)
    })
    .await
}

/// What every answer of this address has in common: it is for a merchant, a page has to be admitted before anything is done for it, and an
/// admitted page may read what went wrong.
async fn answer(
    request: &HttpRequest,
    deps: &StashApiDeps,
    work: impl AsyncFnOnce(Arc<Merchant>) -> Result<HttpResponse, ApiError>,
) -> HttpResponse {
    let visitor = match Visitor::of(request) {
        Ok(visitor) => visitor,
        Err(error) => return vary(error.error_response()),
    };
    let mut readable = visitor.is_card_frame(&deps.stashing);
    let outcome = async {
        let merchant = deps.stashing.merchant(address::merchant_id(request)?).await?;
        visitor.admit(&deps.stashing, &merchant)?;
        readable = true;
        work(merchant).await
    }
    .await;
    // From the error itself, so that the log has its detail.
    let response = outcome.unwrap_or_else(HttpResponse::from_error);
    vary(if readable { visitor.may_read(response) } else { response })
}

async fn read_form(request: &HttpRequest, payload: web::Payload) -> Result<StashForm, ApiError> {
    let body = FormBody::from_request(request, &mut payload.into_inner()).await?.0;
    let form = form::parse(&body);
    // Nobody else has this buffer, so it can be wiped before it is given back.
    if let Ok(mut body) = body.try_into_mut() {
        body.as_mut().zeroize();
    }
    form
}
