//! The Session API (contract, endpoints 2 to 5).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{
    ApiError, Authenticated, Caller, IdempotencyKey, IfMatch, IfNoneMatch, JsonBody, PathId, stored, tell,
};
use dropin_kernel::SessionId;
use dropin_ports::StoredAnswer;
use dropin_session::Session;
use dropin_usecases::answers::{Reply, Version};
use dropin_wire::session::SessionBody;

use crate::SessionApiDeps;

pub(crate) async fn create(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (key, JsonBody(body))): Authenticated<(IdempotencyKey, JsonBody)>,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body]);
    let told = deps.sessions.create(&caller, &body, Reply { render: created, key_use }).await;
    tell(&deps.answers, key_use, told).await
}

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (known, PathId(id))): Authenticated<(IfNoneMatch, PathId<SessionId>)>,
) -> Result<HttpResponse, ApiError> {
    let found = deps.sessions.get(&caller, id).await?;
    let (session, order) = (&found.session, found.order.as_ref());
    Ok(known.answer(&Version::of_session(session, order), || SessionBody::new(session, order)))
}

pub(crate) async fn replace(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (key, version, PathId(id), JsonBody(body))): Authenticated<(
        IdempotencyKey,
        IfMatch,
        PathId<SessionId>,
        JsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let key_use = key.used_by(&caller, &deps.answers, &[&body, version.sent()]);
    let reply = Reply { render: replaced, key_use };
    let told = deps.sessions.replace(&caller, id, &body, version.expected(), reply).await;
    tell(&deps.answers, key_use, told).await
}

pub(crate) async fn cancel(
    deps: web::Data<SessionApiDeps>,
    Authenticated(Caller(caller), (key, version, PathId(id))): Authenticated<(
        IdempotencyKey,
        IfMatch,
        PathId<SessionId>,
    )>,
) -> Result<HttpResponse, ApiError> {
    // A body of a DELETE has no meaning and is not read.
    let key_use = key.used_by(&caller, &deps.answers, &[&[], version.sent()]);
    let reply = Reply { render: cancelled, key_use };
    let told = deps.sessions.cancel(&caller, id, version.expected(), reply).await;
    tell(&deps.answers, key_use, told).await
}

fn created(session: &Session) -> StoredAnswer {
    whole(StatusCode::CREATED, session)
}

fn replaced(session: &Session) -> StoredAnswer {
    whole(StatusCode::OK, session)
}

fn cancelled(_: &Session) -> StoredAnswer {
    StoredAnswer { status: StatusCode::NO_CONTENT.as_u16(), etag: None, body: Vec::new() }
}

fn whole(status: StatusCode, session: &Session) -> StoredAnswer {
    stored(status, &Version::of_session(session, None), &SessionBody::new(session, None))
}
