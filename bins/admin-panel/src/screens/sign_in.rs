//! Signing in and out.

use actix_web::http::StatusCode;
use askama::Template;
use dropin_usecases::operators::{SignInError, SignedIn};

use crate::fields::query;
use crate::guard::{Answer, OpenRequest, with_session, without_session};
use crate::page::{html, is_own_path, see};
use crate::refusal::{Alone, Refusal};
use crate::request::PanelRequest;
use crate::texts::{sentence, texts};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    alone: Alone,
    email: String,
    next: String,
    wrong: Option<String>,
    why: &'static str,
}

#[derive(Template)]
#[template(path = "sign_in_code.html")]
struct CodePage {
    alone: Alone,
    next: String,
    wrong: Option<String>,
}

/// Why somebody is here, in words of ours.
fn why(request: &OpenRequest) -> &'static str {
    match request.fields.text("why") {
        "idle" => texts().signed_out_idle,
        "over" => texts().session_over,
        "out" => texts().signed_out,
        _ => "",
    }
}

/// A page of the panel to go to, whatever was sent.
fn next(request: &OpenRequest) -> String {
    let wanted = request.fields.text("next");
    if is_own_path(wanted) && !wanted.starts_with("/sign-in") { wanted.to_owned() } else { String::new() }
}

/// The form.
pub(crate) async fn show(request: OpenRequest) -> Answer {
    let page =
        SignInPage { alone: Alone::new(), email: String::new(), next: next(&request), wrong: None, why: why(&request) };
    Ok(html(StatusCode::OK, &page))
}

/// Takes the password.
pub(crate) async fn enter(request: OpenRequest) -> Answer {
    let email = request.fields.text("email").to_owned();
    // Spaces belong to a password.
    let password = request.fields.all("password").last().unwrap_or_default();
    match request.deps.operators.sign_in(&email, password, &request.client()).await {
        Ok(signed_in) => Ok(enter_with(&request, &signed_in)),
        Err(error) => {
            let wrong = Some(refused(error)?);
            let page = SignInPage { alone: Alone::new(), email, next: next(&request), wrong, why: "" };
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page))
        }
    }
}

fn enter_with(request: &OpenRequest, signed_in: &SignedIn) -> actix_web::HttpResponse {
    let next = next(request);
    let path = match signed_in.needs_second_factor() {
        true => format!(
            "/sign-in/code{}",
            query([("next", next.as_str())].into_iter().filter(|(_, next)| !next.is_empty()))
        ),
        false if next.is_empty() => "/".to_owned(),
        false => next,
    };
    with_session(see(path), &signed_in.session_token)
}

/// What a person is told; what is a fault of ours is none of the form's.
fn refused(error: SignInError) -> Result<String, Refusal> {
    match error {
        SignInError::Store(error) => Err(error.into()),
        SignInError::Keyring(error) => Err(error.into()),
        error => Ok(sentence(&error)),
    }
}

/// The form for the second factor.
pub(crate) async fn show_code(request: OpenRequest) -> Answer {
    Ok(html(StatusCode::OK, &CodePage { alone: Alone::new(), next: next(&request), wrong: None }))
}

/// Takes the second factor.
pub(crate) async fn enter_code(request: OpenRequest) -> Answer {
    let Some(token) = request.session_token() else { return Ok(see("/sign-in")) };
    match request.deps.operators.second_factor(&token, request.fields.text("code"), &request.client()).await {
        Ok(signed_in) => Ok(enter_with(&request, &signed_in)),
        Err(SignInError::SessionOver) => Ok(without_session(see("/sign-in?why=over"))),
        Err(error) => {
            let page = CodePage { alone: Alone::new(), next: next(&request), wrong: Some(refused(error)?) };
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page))
        }
    }
}

/// Signs out.
pub(crate) async fn leave(request: PanelRequest) -> Answer {
    if let Some(token) = crate::guard::token_of(&request.http) {
        request.deps.operators.sign_out(&token).await?;
    }
    Ok(without_session(see("/sign-in?why=out")))
}
