//! The routes.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::{StatusCode, header};
use actix_web::middleware::{Next, from_fn};
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use dropin_kernel::OpId;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::SandboxProcessor;
use crate::credential::CredentialView;
use crate::credential_http;
use crate::dispute_http::{self, MAX_EVIDENCE_BODY};
use crate::enums::{Call, Kind, Scenario};
use crate::execution::{self, ExecuteError};
use crate::faults::Mode;
use crate::perform::{self, now, time_out};
use crate::request::Request;
use crate::request_body;
use crate::response::{self, Corrupt};
use crate::rows;
use crate::shopper::{self, Reviewed};
use crate::store::StoreGone;

/// Largest body that is read.
const MAX_BODY: usize = 64 * 1024;
/// Most journal entries of one page, and how many without a `limit`.
pub(crate) const MAX_PAGE: i64 = 1000;

pub(crate) type Body = Result<web::Bytes, actix_web::Error>;
pub(crate) type Processor = web::Data<SandboxProcessor>;

/// Every answer that is no success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0}")]
    Malformed(String),
    #[error("Send the header \"Authorization: Bearer <processor key>\" with the key this processor was started with.")]
    Unauthorized,
    #[error("There is nothing under this address; see the README of sandbox-processor for the addresses.")]
    NoRoute,
    #[error("No operation is known under this key.")]
    NoOperation,
    #[error("No dispute is known by this reference.")]
    NoDispute,
    #[error("The dispute takes no answer: it was answered or decided, or its time is over.")]
    DisputeClosed,
    #[error("Nothing is under review with this key. Only a PAYLATER authorization with Review true can be decided.")]
    NotInReview,
    #[error("This program does not play the wallet's provider; start it with --wallet-listen.")]
    NoWallet,
    #[error("This address does not take this method.")]
    WrongMethod(&'static str),
    #[error("The key was abandoned: it is refused for ever. Use a new key.")]
    KeyAbandoned,
    #[error("The body is larger than {MAX_BODY} bytes.")]
    TooLarge,
    #[error("The key was used for another request. Use a new key, or repeat the first request.")]
    KeyReused,
    #[error("The sandbox fails this call on purpose. Ask for the operation by its key to learn what was done.")]
    OnPurpose,
    #[error("The sandbox let this call time out on purpose. Ask for the operation by its key to learn what was done.")]
    TimedOut,
    #[error("The processor's store failed; its log says why. Ask for the operation by its key to learn what was done.")]
    Store,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorBody {
    code: &'static str,
    message: String,
}

impl Refusal {
    const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "INVALID_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::NoRoute => "NOT_FOUND",
            Self::NoOperation => "OPERATION_NOT_FOUND",
            Self::WrongMethod(_) => "METHOD_NOT_ALLOWED",
            Self::NoWallet => "NO_WALLET",
            Self::NotInReview => "NOT_IN_REVIEW",
            Self::NoDispute => "DISPUTE_NOT_FOUND",
            Self::DisputeClosed => "DISPUTE_CLOSED",
            Self::KeyAbandoned => "KEY_ABANDONED",
            Self::TooLarge => "PAYLOAD_TOO_LARGE",
            Self::KeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::OnPurpose | Self::Store => "INTERNAL_ERROR",
            Self::TimedOut => "PROCESSOR_TIMEOUT",
        }
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::NoRoute | Self::NoOperation | Self::NoDispute => StatusCode::NOT_FOUND,
            Self::WrongMethod(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::KeyAbandoned | Self::NotInReview | Self::NoWallet | Self::DisputeClosed => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::OnPurpose | Self::Store => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        match self {
            Self::Unauthorized => {
                answer.insert_header((header::WWW_AUTHENTICATE, "Bearer realm=\"sandbox-processor\""));
            }
            Self::WrongMethod(allowed) => {
                answer.insert_header((header::ALLOW, *allowed));
            }
            _ => {}
        }
        answer.json(ErrorBody { code: self.code(), message: self.to_string() })
    }
}

impl From<StoreGone> for Refusal {
    fn from(_: StoreGone) -> Self {
        log::error!(
            "the store gave no answer; unless a line before this says why, its thread has ended: restart the program"
        );
        Self::Store
    }
}

impl From<diesel::result::Error> for Refusal {
    fn from(error: diesel::result::Error) -> Self {
        log::error!("the store failed: {error}");
        Self::Store
    }
}

impl From<Corrupt> for Refusal {
    fn from(error: Corrupt) -> Self {
        log::error!("{error}");
        Self::Store
    }
}

/// Mounts `/v1` for the caller.
pub(crate) fn mount(processor: SandboxProcessor, config: &mut web::ServiceConfig) {
    let effect = |path: &'static str, kind: Kind| {
        let handler = move |processor, request, body| effect(processor, request, body, kind);
        resource(path, "POST").route(web::post().to(handler))
    };
    config.service(
        web::scope("/v1")
            .app_data(web::Data::new(processor))
            .app_data(web::PayloadConfig::new(MAX_BODY))
            .wrap(from_fn(require_key))
            .service(effect("/authorizations", Kind::Authorize))
            .service(effect("/captures", Kind::Capture))
            .service(effect("/voids", Kind::Void))
            .service(effect("/refunds", Kind::Refund))
            .service(resource("/operations/{key}", "GET").route(web::get().to(operation)))
            .service(resource("/operations/{key}/abandon", "POST").route(web::post().to(abandon)))
            .service(resource("/operations/{key}/review", "PUT").route(web::put().to(review)))
            .service(resource("/credentials", "GET").route(web::get().to(credential_http::list)))
            .service(resource("/credentials/delete", "POST").route(web::post().to(credential_http::delete)))
            .service(resource("/disputes", "GET").route(web::get().to(dispute_http::list)))
            .service(resource("/disputes/{reference}", "GET").route(web::get().to(dispute_http::get)))
            .service(resource("/disputes/{reference}/accept", "POST").route(web::post().to(dispute_http::accept)))
            .service(
                resource("/disputes/{reference}/evidence", "POST")
                    .app_data(web::PayloadConfig::new(MAX_EVIDENCE_BODY))
                    .route(web::post().to(dispute_http::hand_in)),
            )
            .service(resource("/wallet/identities", "POST").route(web::post().to(issue_identity)))
            .service(resource("/journal", "GET").route(web::get().to(journal)))
            .service(resource("/faults", "GET, PUT").route(web::get().to(show_faults)).route(web::put().to(set_faults)))
            .default_service(web::to(no_route)),
    );
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct IdentityBody {
    certificate: String,
    private_key: String,
}

/// Issues a merchant's certificate for the sandbox's wallet provider.
async fn issue_identity(processor: Processor, body: Body) -> Result<HttpResponse, Refusal> {
    let identifier = request_body::parse_identity(&read(body)?).map_err(Refusal::Malformed)?;
    let authority = processor.wallet().ok_or(Refusal::NoWallet)?;
    let issued = authority.issue(&identifier).map_err(|error| {
        log::error!("no certificate for the wallet: {error}");
        Refusal::Store
    })?;
    Ok(HttpResponse::Ok().json(IdentityBody { certificate: issued.certificate, private_key: issued.key }))
}

/// The answer to an address that does not exist.
pub(crate) async fn no_route() -> Result<HttpResponse, Refusal> {
    Err(Refusal::NoRoute)
}

fn resource(path: &'static str, allowed: &'static str) -> actix_web::Resource {
    web::resource(path)
        .default_service(web::to(move || async move { Err::<HttpResponse, _>(Refusal::WrongMethod(allowed)) }))
}

async fn require_key(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<EitherBody<impl MessageBody>>, actix_web::Error> {
    let presented = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "))
        .unwrap_or_default();
    let known = request.app_data::<Processor>().is_some_and(|processor| processor.is_key(presented));
    if known {
        next.call(request).await.map(ServiceResponse::map_into_left_body)
    } else {
        Ok(request.into_response(Refusal::Unauthorized.error_response()).map_into_right_body())
    }
}

async fn effect(processor: Processor, http: HttpRequest, body: Body, kind: Kind) -> Result<HttpResponse, Refusal> {
    let key = idempotency_key(&http)?;
    let request = request_body::parse(kind, &read(body)?, OffsetDateTime::now_utc()).map_err(Refusal::Malformed)?;
    perform(&processor, key, request, &base(&processor, &http)).await
}

/// The key that names what is asked.
pub(crate) fn idempotency_key(http: &HttpRequest) -> Result<OpId, Refusal> {
    let key = http.headers().get("Idempotency-Key").and_then(|value| value.to_str().ok());
    key.and_then(|text| text.parse().ok()).ok_or_else(|| {
        Refusal::Malformed("Send a UUID in the header Idempotency-Key; it names this operation.".to_owned())
    })
}

/// Executes a call, as badly as the fault switch and the card want it.
async fn perform(
    processor: &SandboxProcessor,
    key: OpId,
    request: Request,
    base: &str,
) -> Result<HttpResponse, Refusal> {
    let fault = processor.faults().take(request.kind().into(), request.payer());
    let work = move |store: &mut _, context| execution::execute(store, key, &request, context);
    let executed = match perform::run(processor, fault, work).await? {
        Ok(executed) => executed,
        Err(ExecuteError::KeyReused) => return Err(Refusal::KeyReused),
        Err(ExecuteError::KeyAbandoned) => return Err(Refusal::KeyAbandoned),
        Err(ExecuteError::Store(error)) => return Err(error.into()),
        Err(ExecuteError::Silent) => return Err(time_out(processor.silence()).await),
    };
    if fault.mode == Mode::TimeoutAfterWork {
        return Err(time_out(fault.silence(processor.silence())).await);
    }
    if executed.scenario == Some(Scenario::LostAnswer) {
        return Err(Refusal::OnPurpose);
    }
    answer(executed.operation, executed.credential, base, executed.replayed)
}

async fn operation(processor: Processor, http: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let key = path_key(&path)?;
    let found = processor.store().run(move |store| execution::look_up(store, key, now())).await??;
    let (operation, credential) = found.ok_or(Refusal::NoOperation)?;
    answer(operation, credential, &base(&processor, &http), false)
}

async fn abandon(processor: Processor, http: HttpRequest, path: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let key = path_key(&path)?;
    let (operation, credential) = processor.store().run(move |store| execution::abandon(store, key, now())).await??;
    answer(operation, credential, &base(&processor, &http), false)
}

async fn review(
    processor: Processor,
    http: HttpRequest,
    path: web::Path<String>,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let key = path_key(&path)?;
    let approve = request_body::parse_review(&read(body)?).map_err(Refusal::Malformed)?;
    let fault = processor.faults().take(Call::Review, None);
    let work = move |store: &mut _, context| shopper::review(store, key, approve, context);
    let reviewed = perform::run(&processor, fault, work).await??;
    if fault.mode == Mode::TimeoutAfterWork {
        return Err(time_out(fault.silence(processor.silence())).await);
    }
    match reviewed {
        Reviewed::Unknown => Err(Refusal::NoOperation),
        Reviewed::NotInReview => Err(Refusal::NotInReview),
        Reviewed::Decided(operation, replayed) => answer(*operation, None, &base(&processor, &http), replayed),
    }
}

#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) after: Option<i64>,
    pub(crate) limit: Option<i64>,
}

async fn journal(
    processor: Processor,
    page: Result<web::Query<Page>, actix_web::Error>,
) -> Result<HttpResponse, Refusal> {
    let malformed = || Refusal::Malformed(format!("after must be a number, limit a number from 1 to {MAX_PAGE}."));
    let page = page.map_err(|_not_numbers| malformed())?;
    let (after, limit) = (page.after.unwrap_or(0), page.limit.unwrap_or(MAX_PAGE));
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(malformed());
    }
    let rows = processor.store().run(move |store| execution::entries(store, after, limit, now())).await??;
    let entries = rows.into_iter().map(response::Entry::try_from).collect::<Result<_, _>>()?;
    Ok(HttpResponse::Ok().json(response::Journal { entries }))
}

async fn show_faults(processor: Processor) -> HttpResponse {
    HttpResponse::Ok().json(processor.faults().show())
}

async fn set_faults(processor: Processor, body: Body) -> Result<HttpResponse, Refusal> {
    let switch = processor.faults().set(&read(body)?).map_err(Refusal::Malformed)?;
    Ok(HttpResponse::Ok().json(switch))
}

pub(crate) fn read(body: Body) -> Result<web::Bytes, Refusal> {
    body.map_err(|error| match error.as_error::<PayloadError>() {
        Some(PayloadError::Overflow) => Refusal::TooLarge,
        _ => Refusal::Malformed("The body did not arrive whole; send it again.".to_owned()),
    })
}

fn path_key(path: &str) -> Result<OpId, Refusal> {
    path.parse().map_err(|_invalid| Refusal::Malformed("The key in the address must be a UUID.".to_owned()))
}

fn answer(
    operation: rows::Operation,
    credential: Option<CredentialView>,
    base: &str,
    replayed: bool,
) -> Result<HttpResponse, Refusal> {
    let mut answer = HttpResponse::Ok();
    if replayed {
        answer.insert_header(("Idempotent-Replayed", "true"));
    }
    Ok(answer.json(response::Operation::render(operation, credential, base)?))
}

/// What stands before `/pages` in a page's address: as configured, else as this caller reached us.
fn base(processor: &SandboxProcessor, http: &HttpRequest) -> String {
    match processor.public_url() {
        Some(url) => url.to_owned(),
        None => {
            let prefix = http.path().rsplit_once("/v1/").map_or("", |(prefix, _)| prefix);
            let reached = http.connection_info();
            format!("{}://{}{prefix}", reached.scheme(), reached.host())
        }
    }
}
