//! Why a page is not shown or an act not done, and the page that says so: what happened, what to do, and what was typed.

use actix_web::http::header::LOCATION;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use askama::Template;
use dropin_http::{FlowError, RequestId};
use dropin_ports::{KeyringError, StoreError};

use crate::assets::{ICON, STYLE};
use crate::fields::{Fields, FieldsRefused};
use crate::page;
use crate::texts::{Texts, texts};

/// Why nothing is shown or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no such thing, or it is of a merchant that the operator does not see.
    NotFound(&'static str),
    /// The operator has no role for it.
    NotAllowed(String),
    /// Nobody is signed in: to the sign-in page, with why.
    SignIn(&'static str),
    /// The second factor is missing.
    SecondFactor,
    /// The request is not one that a page of ours makes.
    Forged,
    /// The request makes no sense.
    Invalid(String),
    /// What was decided on has changed meanwhile.
    Changed(String),
    /// Nothing was changed; it may be tried again.
    Unavailable(String),
    /// Nobody knows whether it was done.
    OutcomeUnknown,
    /// A defect of ours; the text is for the log alone.
    Internal(String),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::NotAllowed(_) | Self::Forged => StatusCode::FORBIDDEN,
            Self::SignIn(_) | Self::SecondFactor => StatusCode::SEE_OTHER,
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Changed(_) => StatusCode::CONFLICT,
            Self::Unavailable(_) | Self::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn title(&self) -> &'static str {
        let t = texts();
        match self {
            Self::NotFound(_) => t.not_found,
            Self::NotAllowed(_) => t.may_not,
            Self::SignIn(_) | Self::SecondFactor => t.sign_in,
            Self::Forged => t.forged,
            Self::Invalid(_) => t.makes_no_sense,
            Self::Changed(_) => t.has_changed,
            Self::Unavailable(_) => t.not_right_now,
            Self::OutcomeUnknown => t.not_known_whether_done,
            Self::Internal(_) => t.wrong_on_our_side,
        }
    }

    fn message(&self) -> String {
        let t = texts();
        match self {
            Self::NotFound(what) => t.no_such(t.code(what)),
            Self::NotAllowed(why) | Self::Invalid(why) | Self::Changed(why) => why.clone(),
            Self::SignIn(why) => (*why).to_owned(),
            Self::SecondFactor => t.second_factor_missing.to_owned(),
            Self::Forged => t.forged_advice.to_owned(),
            Self::Unavailable(_) => t.unavailable_advice.to_owned(),
            Self::OutcomeUnknown => t.outcome_unknown_advice.to_owned(),
            Self::Internal(_) => t.internal_advice.to_owned(),
        }
    }

    fn offers_again(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::OutcomeUnknown)
    }

    /// The page that says so; a form that may be sent again comes with all that was typed, but for passwords and codes.
    pub(crate) fn response(&self, request: &HttpRequest, fields: &Fields) -> HttpResponse {
        match self {
            Self::SignIn(why) => return sign_in(request, why, fields),
            Self::SecondFactor => return HttpResponse::SeeOther().insert_header((LOCATION, "/sign-in/code")).finish(),
            Self::Internal(why) | Self::Unavailable(why) => {
                let id = request_id(request);
                log::error!(request_id = id.as_str(); "the admin panel could not serve {}: {why}", request.match_pattern().unwrap_or_default());
            }
            _ => {}
        }
        let is_post = request.method() == Method::POST;
        let again = (is_post && self.offers_again()).then(|| Again::of(request, fields)).flatten();
        let page = RefusalPage {
            alone: Alone::new(),
            title: self.title(),
            message: self.message(),
            typed: Vec::new(),
            sign_in: None,
            again,
            request_id: request_id(request),
        };
        page::html(self.status(), &page)
    }
}

fn request_id(request: &HttpRequest) -> String {
    request.extensions().get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default()
}

/// To the sign-in page, and from there back to the page that was wanted, or to that of the form. A form is not sent by itself after that: what was
/// typed is shown, to be copied.
fn sign_in(request: &HttpRequest, why: &'static str, fields: &Fields) -> HttpResponse {
    let is_post = request.method() == Method::POST;
    let next = match is_post {
        true => request.path().rsplit_once('/').map_or("", |(page, _act)| page),
        false => request.uri().path_and_query().map_or("/", |wanted| wanted.as_str()),
    };
    let query = crate::fields::query([("why", why), ("next", next)].into_iter().filter(|(_, value)| !value.is_empty()));
    let sign_in = format!("/sign-in{query}");
    let typed = Again::of(request, fields).map(|again| again.typed).unwrap_or_default();
    if !is_post || typed.is_empty() {
        return HttpResponse::SeeOther().insert_header((LOCATION, sign_in)).finish();
    }
    let page = RefusalPage {
        alone: Alone::new(),
        title: texts().signed_out_meanwhile,
        message: texts().signed_out_typed.to_owned(),
        typed,
        sign_in: Some(sign_in),
        again: None,
        request_id: String::new(),
    };
    page::html(StatusCode::UNAUTHORIZED, &page)
}

/// What pages without the frame need.
pub(crate) struct Alone {
    pub(crate) t: &'static Texts,
    pub(crate) style: &'static str,
    pub(crate) icon: &'static str,
}

impl Alone {
    pub(crate) fn new() -> Self {
        Self { t: texts(), style: &STYLE.path, icon: &ICON.path }
    }
}

/// A form to send again.
struct Again {
    path: String,
    fields: Vec<(String, String)>,
    typed: Vec<(String, String)>,
}

impl Again {
    /// `None` where something secret was typed: that is typed again.
    fn of(request: &HttpRequest, fields: &Fields) -> Option<Self> {
        let fields = fields.pairs().to_vec();
        let is_secret = |name: &str| matches!(name, "password" | "old" | "new" | "code" | "sealed" | "token");
        if fields.iter().any(|(name, _)| is_secret(name)) {
            return None;
        }
        let typed = fields.iter().filter(|(name, value)| {
            !matches!(name.as_str(), "csrf" | "key" | "revision" | "seen") && !value.is_empty()
        });
        Some(Self { path: request.path().to_owned(), typed: typed.cloned().collect(), fields })
    }
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage {
    alone: Alone,
    title: &'static str,
    message: String,
    typed: Vec<(String, String)>,
    sign_in: Option<String>,
    again: Option<Again>,
    request_id: String,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Unavailable(why),
            StoreError::OutcomeUnknown => Self::OutcomeUnknown,
            StoreError::Corrupt { .. } | StoreError::Refused(_) => Self::Internal(error.to_string()),
        }
    }
}

impl From<KeyringError> for Refusal {
    fn from(error: KeyringError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<FlowError> for Refusal {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Stopping => Self::Unavailable(error.to_string()),
            FlowError::Panicked => {
                log::error!("an act of the admin panel: {error}; what it had begun is settled from what it wrote down");
                Self::OutcomeUnknown
            }
        }
    }
}

impl From<FieldsRefused> for Refusal {
    fn from(error: FieldsRefused) -> Self {
        Self::Invalid(error.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_was_changed_is_said_where_it_is_known() {
        assert!(matches!(Refusal::from(FlowError::Stopping), Refusal::Unavailable(_)));
        assert_eq!(Refusal::from(FlowError::Panicked), Refusal::OutcomeUnknown);
    }
}
