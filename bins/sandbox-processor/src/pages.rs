//! The hosted pages: what a shopper's browser sees. A page's address holds an unguessable token and is all that is needed; GET shows and
//! never decides, a form's POST decides once and sends the browser on.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError, web};
use serde::Deserialize;

use crate::SandboxProcessor;
use crate::enums::{Call, Choice, Method, Stage};
use crate::faults::Mode;
use crate::html;
use crate::http::Refusal;
use crate::perform;
use crate::rows::Operation;
use crate::shopper::{self, FormError, Press, Pressed};

/// Longest form that is read, in bytes.
const MAX_FORM: usize = 4 * 1024;

/// Browsers hold every redirect after a form's POST against `form-action`, so it has to admit wherever a shop sends its shoppers on to.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action http: https:";

type Processor = web::Data<SandboxProcessor>;

/// Mounts `/pages` for the shopper.
pub(crate) fn mount(processor: SandboxProcessor, config: &mut web::ServiceConfig) {
    config.service(
        web::scope("/pages")
            .app_data(web::Data::new(processor))
            .app_data(web::FormConfig::default().limit(MAX_FORM))
            .service(web::resource("/style.css").route(web::get().to(style)))
            .service(
                web::resource("/{token}")
                    .route(web::get().to(show))
                    .route(web::post().to(decide))
                    .default_service(web::to(wrong_method)),
            )
            .default_service(web::to(no_page)),
    );
}

#[derive(Deserialize)]
struct Form {
    form: String,
    choice: String,
    amount: Option<String>,
}

async fn show(processor: Processor, token: web::Path<String>) -> HttpResponse {
    let now = perform::now();
    let found = processor.store().run(move |store| shopper::visit(store, &token, now)).await;
    match found.map_err(Refusal::from).and_then(|found| Ok(found?)) {
        Ok(Some(operation)) => page(&processor, StatusCode::OK, &operation, None),
        Ok(None) => no_page().await,
        Err(refusal) => failed(&refusal),
    }
}

async fn decide(
    processor: Processor,
    token: web::Path<String>,
    form: Result<web::Form<Form>, actix_web::Error>,
) -> HttpResponse {
    let press = match form {
        Ok(web::Form(form)) => Press { form: form.form, choice: Choice::from_word(&form.choice), amount: form.amount },
        // As good as a form of another page.
        Err(_unreadable) => Press { form: String::new(), choice: None, amount: None },
    };
    match work(&processor, token.into_inner(), press).await {
        Ok(Some((operation, Pressed::Done))) => onward(&operation),
        Ok(Some((operation, Pressed::Refused(form_error)))) => {
            let status = match form_error {
                FormError::Form | FormError::Choice => StatusCode::BAD_REQUEST,
                FormError::TooLate => StatusCode::CONFLICT,
                FormError::Amount(_) => StatusCode::UNPROCESSABLE_ENTITY,
            };
            page(&processor, status, &operation, Some(&form_error))
        }
        Ok(None) => no_page().await,
        Err(refusal) => failed(&refusal),
    }
}

async fn work(
    processor: &SandboxProcessor,
    token: String,
    press: Press,
) -> Result<Option<(Operation, Pressed)>, Refusal> {
    let fault = processor.faults().take(Call::Page, None);
    let done =
        perform::run(processor, fault, move |store, context| shopper::press(store, &token, &press, context)).await??;
    if fault.mode == Mode::TimeoutAfterWork {
        return Err(perform::time_out(fault.silence(processor.silence())).await);
    }
    Ok(done)
}

fn page(
    processor: &SandboxProcessor,
    status: StatusCode,
    operation: &Operation,
    form_error: Option<&FormError>,
) -> HttpResponse {
    let mut answer = answer(status, frames(operation));
    match operation.stage {
        Some(Stage::Page | Stage::Transfer) => {
            let payable = shopper::payable(operation, perform::context(processor));
            answer.body(html::open_page(operation, payable, form_error))
        }
        Some(Stage::Review) | None => answer.body(html::closed_page(operation)),
    }
}

/// Sends the browser back to the shop, or where there is none to the page, by GET.
fn onward(operation: &Operation) -> HttpResponse {
    let page = || operation.page_token.clone().unwrap_or_default();
    let target = operation.return_url.clone().unwrap_or_else(page);
    answer(StatusCode::SEE_OTHER, frames(operation)).insert_header((header::LOCATION, target)).finish()
}

async fn no_page() -> HttpResponse {
    let text = "There is no payment under this address. Go back to the shop and begin again there.";
    answer(StatusCode::NOT_FOUND, NO_FRAME).body(html::plain_page("No such page", text))
}

async fn wrong_method() -> HttpResponse {
    let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, NO_FRAME);
    answer.insert_header((header::ALLOW, "GET, POST"));
    answer.body(html::plain_page("Not like this", "Open this page in a browser, and use its buttons."))
}

fn failed(refusal: &Refusal) -> HttpResponse {
    let text = "Open this page again to see whether it was done, then go back to the shop.";
    answer(refusal.status_code(), NO_FRAME).body(html::plain_page("Something went wrong", text))
}

async fn style() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(include_str!("pages.css"))
}

/// Nobody may frame a page on which a shopper pays.
const NO_FRAME: &str = "'none'";

/// Who may show a page within theirs: the shop's checkout nests the bank's challenge, whoever the shop is.
fn frames(operation: &Operation) -> &'static str {
    if operation.method == Some(Method::Card) { "http: https:" } else { NO_FRAME }
}

fn answer(status: StatusCode, frames: &str) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, format!("{POLICY}; frame-ancestors {frames}")))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // The address is a secret.
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header(("X-Robots-Tag", "noindex"));
    answer
}
