//! Who makes a request, and whether it may: the one way from a route's row to its handler.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::http::header::{
    CONTENT_TYPE, COOKIE as COOKIE_HEADER, HOST, HeaderName, HeaderValue, ORIGIN, SET_COOKIE, USER_AGENT,
};
use actix_web::http::{Method, Uri};
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, Route, web};
use dropin_access::operator::{ActionReach, PanelAction};
use dropin_http::{ApiError, ClientAddress, FormBody, MultipartBody};
use dropin_usecases::operators::{CurrentOperator, Operators, PanelClient, SessionError};
use dropin_wire::dispute::FormPart;

use crate::PanelDeps;
use crate::fields::Fields;
use crate::live;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::routes::{Access, PanelRoute, current_route};
use crate::texts::{Language, in_language_of, texts};

/// The cookie that holds the session's token. Its prefix makes browsers take it with Secure, for this host alone and for every path.
const COOKIE: &str = "__Host-dropin-admin";
/// The cookie that holds the chosen language.
const LANGUAGE_COOKIE: &str = "__Host-dropin-admin-language";
/// For how many seconds a browser keeps it: a year.
const LANGUAGE_SECONDS: u32 = 365 * 24 * 60 * 60;
/// Cookies are no script's and go with requests of our own pages alone; the session's ends with the browser.
const COOKIE_ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";

/// The field of a form that takes files.
pub(crate) const FILES: &str = "files[]";
/// Most bytes of a form with files: 2.5 MiB.
const MAX_FILES_FORM_BYTES: usize = 5 * 512 * 1024;

/// What a handler answers.
pub(crate) type Answer = Result<HttpResponse, Refusal>;

/// A request of anybody: signing in, and what leads there.
pub(crate) struct OpenRequest {
    pub(crate) deps: web::Data<PanelDeps>,
    pub(crate) http: HttpRequest,
    pub(crate) fields: Fields,
}

impl OpenRequest {
    /// From where it comes.
    pub(crate) fn client(&self) -> PanelClient {
        client(&self.http)
    }

    /// The token of the session, if the browser has one.
    pub(crate) fn session_token(&self) -> Option<String> {
        token_of(&self.http)
    }
}

/// From where a request comes.
pub(crate) fn client(http: &HttpRequest) -> PanelClient {
    let user_agent = http.headers().get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let address = client_address(http).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    PanelClient { address, user_agent: user_agent.to_owned() }
}

/// The client's address, where it is known.
pub(crate) fn client_address(http: &HttpRequest) -> Option<IpAddr> {
    http.extensions().get::<ClientAddress>().and_then(|address| address.0)
}

pub(crate) fn token_of(http: &HttpRequest) -> Option<String> {
    cookie(http, COOKIE)
}

/// The language that was chosen in this browser.
pub(crate) fn chosen_language(http: &HttpRequest) -> Option<Language> {
    cookie(http, LANGUAGE_COOKIE).and_then(|tag| Language::of_tag(&tag))
}

fn cookie(http: &HttpRequest, wanted: &str) -> Option<String> {
    let lines = http.headers().get_all(COOKIE_HEADER).filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(name, value)| *name == wanted && !value.is_empty()).map(|(_, value)| value.to_owned())
}

/// Gives the browser a session's token.
pub(crate) fn with_session(response: HttpResponse, token: &str) -> HttpResponse {
    with_cookie(response, &format!("{COOKIE}={token}; {COOKIE_ATTRIBUTES}"))
}

/// Takes the token away from the browser.
pub(crate) fn without_session(response: HttpResponse) -> HttpResponse {
    with_cookie(response, &format!("{COOKIE}=; Max-Age=0; {COOKIE_ATTRIBUTES}"))
}

/// Has the browser keep a language; `None` has it forget the one that it keeps.
pub(crate) fn with_language(response: HttpResponse, language: Option<Language>) -> HttpResponse {
    let (tag, seconds) = language.map_or(("", 0), |language| (language.texts().language_tag, LANGUAGE_SECONDS));
    with_cookie(response, &format!("{LANGUAGE_COOKIE}={tag}; Max-Age={seconds}; {COOKIE_ATTRIBUTES}"))
}

fn with_cookie(mut response: HttpResponse, cookie: &str) -> HttpResponse {
    match HeaderValue::from_str(cookie) {
        Ok(cookie) => {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        Err(error) => log::error!("a cookie cannot be given to a browser: {error}"),
    }
    response
}

/// A route for an operator who is signed in.
pub(crate) fn to<F: Future<Output = Answer> + 'static>(handler: fn(PanelRequest) -> F) -> Route {
    web::to(move |http: HttpRequest, payload: web::Payload, deps: web::Data<PanelDeps>| async move {
        let answer = async {
            let (route, fields, files) = match read(&deps, &http, payload).await {
                Ok(read) => read,
                Err(refusal) => return refusal.response(&http, &Fields::default()),
            };
            let answer = match admit(&deps, &http, route, &fields).await {
                Ok((operator, csrf)) => {
                    let (fields, http) = (fields.clone(), http.clone());
                    handler(PanelRequest { deps, operator, csrf, route, fields, files, http }).await
                }
                Err(refusal) => Err(refusal),
            };
            answer.unwrap_or_else(|refusal| refusal.response(&http, &fields))
        };
        in_language_of(&http, answer).await
    })
}

/// A route for anybody.
pub(crate) fn to_anybody<F: Future<Output = Answer> + 'static>(handler: fn(OpenRequest) -> F) -> Route {
    web::to(move |http: HttpRequest, payload: web::Payload, deps: web::Data<PanelDeps>| async move {
        let answer = async {
            let fields = match read(&deps, &http, payload).await {
                Ok((_, fields, _)) => fields,
                Err(refusal) => return refusal.response(&http, &Fields::default()),
            };
            let request = OpenRequest { deps, http: http.clone(), fields: fields.clone() };
            handler(request).await.unwrap_or_else(|refusal| refusal.response(&http, &fields))
        };
        in_language_of(&http, answer).await
    })
}

/// The route of a request, its fields and its files. A form has to come from a page of ours.
async fn read(
    deps: &PanelDeps,
    http: &HttpRequest,
    payload: web::Payload,
) -> Result<(&'static PanelRoute, Fields, Vec<FormPart>), Refusal> {
    let route =
        current_route(http).ok_or_else(|| Refusal::Internal("a handler outside the table of routes".to_owned()))?;
    if route.method != Method::POST {
        return Ok((route, Fields::parse(http.query_string().as_bytes(), route.fields)?, Vec::new()));
    }
    if !is_from_own_page(http) {
        return Err(Refusal::Forged);
    }
    if route.fields.contains(&FILES) && has_files(http) {
        let (fields, files) = read_files(deps, http, payload, route).await?;
        return Ok((route, fields, files));
    }
    let FormBody(body) = FormBody::from_request(http, &mut payload.into_inner()).await.map_err(unreadable)?;
    Ok((route, Fields::parse(&body, route.fields)?, Vec::new()))
}

fn unreadable(error: ApiError) -> Refusal {
    Refusal::Invalid(texts().domain(&error.message))
}

fn has_files(http: &HttpRequest) -> bool {
    let media_type = http.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("multipart/form-data"))
}

/// A form with files. Nobody sends us so much who is not signed in, or may not do what it is for.
async fn read_files(
    deps: &PanelDeps,
    http: &HttpRequest,
    payload: web::Payload,
    route: &PanelRoute,
) -> Result<(Fields, Vec<FormPart>), Refusal> {
    let operator = deps.operators.peek(&token_of(http).ok_or(Refusal::SignIn(""))?).await.map_err(no_session)?;
    check_role(&operator, route)?;
    let form = MultipartBody::<MAX_FILES_FORM_BYTES>::from_request(http, &mut payload.into_inner()).await;
    let parts = form.and_then(|form| form.parts()).map_err(unreadable)?;
    let (mut files, fields): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.name == FILES);
    // Where nobody chose a file, a browser sends an empty one without a name.
    files.retain(|file| !file.content.is_empty() || file.file_name.as_ref().is_some_and(|name| !name.is_empty()));
    let fields = fields.into_iter().map(|part| (part.name, String::from_utf8_lossy(&part.content).into_owned()));
    Ok((Fields::of(fields, route.fields)?, files))
}

/// Whether a browser says that a page of this origin sends the form. Sec-Fetch-Site is its own word, which no page can write; `Origin` is `null` where
/// pages tell no referrer, as ours do. A browser that says neither is none: all send `Origin` with a form since 2020.
fn is_from_own_page(http: &HttpRequest) -> bool {
    const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    let headers = http.headers();
    let mut origins = headers.get_all(ORIGIN);
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let names_us = names_host(origin, host(http).as_deref());
    match headers.get(FETCH_SITE) {
        Some(site) => site == "same-origin" && (names_us || origin == "null"),
        None => names_us,
    }
}

/// The host that the browser asked for, which HTTP/2 has in the address. What a proxy forwards of it is not looked at.
pub(crate) fn host(http: &HttpRequest) -> Option<String> {
    match http.headers().get(HOST) {
        Some(host) => host.to_str().ok().map(str::to_owned),
        None => http.uri().authority().map(|authority| authority.as_str().to_owned()),
    }
}

fn names_host(origin: &HeaderValue, host: Option<&str>) -> bool {
    let origin = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority).map(|authority| authority.as_str().to_ascii_lowercase());
    let host = host.map(str::to_ascii_lowercase);
    authority.is_some() && authority == host
}

/// The operator of a request, who may do what the route does, somewhere; and the token for its forms. About whose things, the handler finds out
/// ([`PanelRequest::own`]).
async fn admit(
    deps: &PanelDeps,
    http: &HttpRequest,
    route: &PanelRoute,
    fields: &Fields,
) -> Result<(CurrentOperator, String), Refusal> {
    let token = token_of(http).ok_or(Refusal::SignIn(""))?;
    let current = match live::asks_by_itself(http, route) {
        true => deps.operators.peek(&token).await,
        false => deps.operators.current(&token).await,
    };
    let operator = current.map_err(no_session)?;
    if route.method == Method::POST && !Operators::check_csrf(&token, fields.text("csrf")) {
        return Err(Refusal::Forged);
    }
    check_role(&operator, route)?;
    Ok((operator, Operators::csrf_token(&token)))
}

/// Whether an operator may do what a route does, somewhere.
fn check_role(operator: &CurrentOperator, route: &PanelRoute) -> Result<(), Refusal> {
    match route.access {
        Access::Anybody | Access::SignedIn => Ok(()),
        Access::Allowed(action) if may(operator, action) => Ok(()),
        Access::Allowed(action) => Err(Refusal::NotAllowed(texts().needs_a_role(action.rule().role_list()))),
    }
}

fn no_session(error: SessionError) -> Refusal {
    match error {
        SessionError::None => Refusal::SignIn(""),
        SessionError::Idle => Refusal::SignIn("idle"),
        SessionError::Over => Refusal::SignIn("over"),
        SessionError::SecondFactorMissing => Refusal::SecondFactor,
        SessionError::Store(error) => error.into(),
    }
}

/// Whether the operator may do it about anything at all.
pub(crate) fn may(operator: &CurrentOperator, action: PanelAction) -> bool {
    match action.rule().reach {
        ActionReach::Merchant => operator.operator.rights.roles.allow(action),
        ActionReach::Deployment => operator.require(action, None).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn own(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut request = TestRequest::post().uri("/orders");
        for (name, value) in pairs {
            request = request.insert_header((*name, *value));
        }
        is_from_own_page(&request.to_http_request())
    }

    #[test]
    fn only_a_page_of_this_origin_sends_a_form() {
        let here = ("host", "panel.example:8443");
        assert!(own(&[here, ("origin", "https://panel.example:8443"), ("sec-fetch-site", "same-origin")]));
        assert!(own(&[here, ("origin", "https://PANEL.example:8443")]));
        for other in [
            "https://panel.example",
            "https://evil.example:8443",
            "null",
            "https://panel.example:8443.evil.example",
            "?",
        ] {
            assert!(!own(&[here, ("origin", other)]), "{other}");
        }
        for site in ["cross-site", "same-site", "none"] {
            assert!(!own(&[here, ("origin", "https://panel.example:8443"), ("sec-fetch-site", site)]), "{site}");
        }
        assert!(own(&[here, ("origin", "null"), ("sec-fetch-site", "same-origin")]), "a page that tells no referrer");
        let foreign = [here, ("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")];
        assert!(!own(&foreign), "the two do not agree");
        assert!(!own(&[here]) && !own(&[here, ("sec-fetch-site", "same-origin")]), "without an Origin");
    }
}
