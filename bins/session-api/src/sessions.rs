//! The Session API (docs/SPECIFICATION.md#session-operations).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_access::Permission;
use dropin_http::{
    ApiError, Authenticated, BasicAuthCaller, ClientAddress, IdempotencyKey, IfMatch, IfNoneMatch, JsonBody, PathId,
    respond_idempotently, stored_response,
};
use dropin_kernel::SessionId;
use dropin_ports::StoredResponse;
use dropin_session::Session;
use dropin_usecases::access;
use dropin_usecases::idempotency::{Reply, Version};
use dropin_wire::session::SessionBody;

use crate::SessionApiDeps;

pub(crate) async fn create(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), (key, JsonBody(body))): Authenticated<(IdempotencyKey, JsonBody)>,
) -> Result<HttpResponse, ApiError> {
    let (render, read_marker) = match may_read_sessions(&caller) {
        true => (created as fn(&Session) -> StoredResponse, &b""[..]),
        false => (created_unseen as fn(&Session) -> StoredResponse, WITHOUT_READ_PERMISSION),
    };
    let key_use = key.used_by(&caller, &deps.answers, &request_parts(&[&body], read_marker));
    let outcome = deps.sessions.create(&caller, &body, Reply { render, key_use }).await;
    respond_idempotently(&deps.answers, key_use, outcome).await
}

pub(crate) async fn get(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), (known, PathId(id))): Authenticated<(IfNoneMatch, PathId<SessionId>)>,
) -> Result<HttpResponse, ApiError> {
    let found = deps.sessions.get(&caller, id).await?;
    let (session, order) = (&found.session, found.order.as_ref());
    let mut attempts = Vec::with_capacity(found.attempts.len());
    for attempt in &found.attempts {
        attempts.push((attempt, deps.payments.find_screening(&caller, attempt.id).await?));
    }
    Ok(known.answer(&Version::of_session(session, order), || {
        let attempts = attempts.iter().map(|(attempt, screening)| (*attempt, screening.as_ref()));
        SessionBody::new(session, order).with_attempts(attempts)
    }))
}

pub(crate) async fn replace(
    deps: web::Data<SessionApiDeps>,
    Authenticated(BasicAuthCaller(caller), (key, version, PathId(id), JsonBody(body))): Authenticated<(
        IdempotencyKey,
        IfMatch,
        PathId<SessionId>,
        JsonBody,
    )>,
) -> Result<HttpResponse, ApiError> {
    let (render, read_marker) = match may_read_sessions(&caller) {
        true => (replaced as fn(&Session) -> StoredResponse, &b""[..]),
        false => (replaced_unseen as fn(&Session) -> StoredResponse, WITHOUT_READ_PERMISSION),
    };
    let key_use = key.used_by(&caller, &deps.answers, &request_parts(&[&body, version.sent()], read_marker));
    let reply = Reply { render, key_use };
    let outcome = deps.sessions.replace(&caller, id, &body, version.expected(), reply).await;
    respond_idempotently(&deps.answers, key_use, outcome).await
}

pub(crate) async fn cancel(
    deps: web::Data<SessionApiDeps>,
    from: ClientAddress,
    Authenticated(BasicAuthCaller(caller), (key, version, PathId(id))): Authenticated<(
        IdempotencyKey,
        IfMatch,
        PathId<SessionId>,
    )>,
) -> Result<HttpResponse, ApiError> {
    // A body of a DELETE has no meaning and is not read.
    let key_use = key.used_by(&caller, &deps.answers, &[&[], version.sent()]);
    let reply = Reply { render: cancelled, key_use };
    let outcome = deps.sessions.cancel(&caller.act(from.0), id, version.expected(), reply).await;
    respond_idempotently(&deps.answers, key_use, outcome).await
}

/// Marks the request of a caller that may not read Sessions, so that its key never replays an answer to one that may.
const WITHOUT_READ_PERMISSION: &[u8] = b"without session:read";

/// Whether the caller may read Sessions, and so the persons that are stored with them.
fn may_read_sessions(caller: &access::Caller) -> bool {
    caller.permissions.contains(Permission::SessionRead)
}

/// What makes a request the same as another.
fn request_parts<'a>(request: &[&'a [u8]], read_marker: &'a [u8]) -> Vec<&'a [u8]> {
    request.iter().copied().chain(Some(read_marker).filter(|read_marker| !read_marker.is_empty())).collect()
}

fn created_unseen(session: &Session) -> StoredResponse {
    unseen(StatusCode::CREATED, session)
}

fn replaced_unseen(session: &Session) -> StoredResponse {
    unseen(StatusCode::OK, session)
}

fn unseen(status: StatusCode, session: &Session) -> StoredResponse {
    let body = SessionBody::new(session, None).without_stored_person(session);
    stored_response(status, &Version::of_session(session, None), &body)
}

fn created(session: &Session) -> StoredResponse {
    whole(StatusCode::CREATED, session)
}

fn replaced(session: &Session) -> StoredResponse {
    whole(StatusCode::OK, session)
}

fn cancelled(_: &Session) -> StoredResponse {
    StoredResponse { status: StatusCode::NO_CONTENT.as_u16(), etag: None, body: Vec::new() }
}

fn whole(status: StatusCode, session: &Session) -> StoredResponse {
    stored_response(status, &Version::of_session(session, None), &SessionBody::new(session, None))
}
