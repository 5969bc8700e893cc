//! Accepting an invitation: a password, then an authenticator, then recovery codes.

use actix_web::http::StatusCode;
use askama::Template;
use dropin_usecases::operators::{AcceptError, AcceptanceForm, SecondFactorPolicy};

use super::in_words;
use crate::guard::{Answer, OpenRequest, with_session};
use crate::page::html;
use crate::refusal::{Alone, Refusal};
use crate::texts::sentence;

#[derive(Template)]
#[template(path = "accept.html")]
struct AcceptPage {
    alone: Alone,
    token: String,
    is_first: bool,
    name: String,
    email: String,
    wrong: Vec<String>,
}

#[derive(Template)]
#[template(path = "authenticator.html")]
struct AuthenticatorPage {
    alone: Alone,
    path: &'static str,
    token: String,
    csrf: String,
    sealed: String,
    secret: String,
    uri: String,
    is_optional: bool,
    wrong: Option<String>,
}

#[derive(Template)]
#[template(path = "recovery.html")]
struct RecoveryPage {
    alone: Alone,
    codes: Vec<String>,
}

/// The codes, shown this once.
pub(crate) fn recovery_page(codes: Vec<String>) -> actix_web::HttpResponse {
    html(StatusCode::OK, &RecoveryPage { alone: Alone::new(), codes })
}

/// An authenticator to set up in place of the one that an operator has.
pub(crate) fn replacement_page(
    csrf: &str,
    sealed: String,
    secret: String,
    uri: String,
    wrong: Option<String>,
) -> actix_web::HttpResponse {
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let (csrf, path) = (csrf.to_owned(), "/account/authenticator/confirm");
    html(
        status,
        &AuthenticatorPage {
            alone: Alone::new(),
            path,
            token: String::new(),
            csrf,
            sealed,
            secret,
            uri,
            is_optional: false,
            wrong,
        },
    )
}

fn refusal(error: AcceptError) -> Refusal {
    match error {
        AcceptError::Store(error) => error.into(),
        AcceptError::Keyring(error) => error.into(),
        error => Refusal::Invalid(sentence(&error)),
    }
}

async fn form(request: &OpenRequest, wrong: Vec<String>) -> Answer {
    let token = request.fields.text("token").to_owned();
    let invitation = request.deps.operators.invitation(&token).await.map_err(refusal)?;
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let typed = |name: &str| request.fields.given(name).map(str::to_owned);
    let page = AcceptPage {
        alone: Alone::new(),
        token,
        is_first: invitation.operator.is_none(),
        name: typed("name")
            .or_else(|| invitation.operator.as_ref().map(|one| one.name.as_str().to_owned()))
            .unwrap_or_default(),
        email: invitation
            .operator
            .as_ref()
            .map(|one| one.email.as_str().to_owned())
            .or_else(|| typed("email"))
            .unwrap_or_default(),
        wrong,
    };
    Ok(html(status, &page))
}

/// The first form.
pub(crate) async fn show(request: OpenRequest) -> Answer {
    form(&request, Vec::new()).await
}

/// Takes the password, and shows an authenticator to set up.
pub(crate) async fn begin(request: OpenRequest) -> Answer {
    let fields = &request.fields;
    let acceptance = AcceptanceForm {
        name: fields.text("name").to_owned(),
        email: fields.text("email").to_owned(),
        // Spaces belong to a password.
        password: fields.all("password").last().unwrap_or_default().to_owned(),
    };
    let token = fields.text("token");
    match request.deps.operators.begin_acceptance(token, &acceptance).await {
        Ok(enrolment) => {
            Ok(html(StatusCode::OK, &enrolment_page(&request, enrolment.sealed, enrolment.secret, enrolment.uri, None)))
        }
        Err(AcceptError::Invalid(violations)) => form(&request, in_words(&violations)).await,
        Err(error @ AcceptError::Busy(_)) => form(&request, vec![sentence(&error)]).await,
        Err(error) => Err(refusal(error)),
    }
}

fn enrolment_page(
    request: &OpenRequest,
    sealed: String,
    secret: String,
    uri: String,
    wrong: Option<String>,
) -> AuthenticatorPage {
    AuthenticatorPage {
        alone: Alone::new(),
        path: "/accept/authenticator",
        token: request.fields.text("token").to_owned(),
        csrf: String::new(),
        sealed,
        secret,
        uri,
        is_optional: request.deps.operators.policy() == SecondFactorPolicy::Optional,
        wrong,
    }
}

/// Takes the authenticator's code; the operator is in.
pub(crate) async fn finish(request: OpenRequest) -> Answer {
    let fields = &request.fields;
    let code = fields.given("code").filter(|_| !fields.is_ticked("without"));
    let (token, sealed) = (fields.text("token"), fields.text("sealed"));
    match request.deps.operators.accept(token, sealed, code, &request.client()).await {
        Ok(accepted) => {
            let response = match accepted.recovery_codes.is_empty() {
                true => crate::page::see("/"),
                false => recovery_page(accepted.recovery_codes),
            };
            Ok(with_session(response, &accepted.signed_in.session_token))
        }
        Err(error @ (AcceptError::WrongCode | AcceptError::CodeMissing)) => {
            let (sealed, secret, uri) =
                (sealed.to_owned(), fields.text("secret").to_owned(), fields.text("uri").to_owned());
            let page = enrolment_page(&request, sealed, secret, uri, Some(sentence(&error)));
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page))
        }
        Err(error @ (AcceptError::EnrolmentOver | AcceptError::DuplicateEmail)) => {
            form(&request, vec![sentence(&error)]).await
        }
        Err(error) => Err(refusal(error)),
    }
}
