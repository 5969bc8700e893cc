//! An operator's own account: sessions, password, authenticator.

use askama::Template;
use dropin_kernel::OperatorSessionId;
use dropin_usecases::operators::ReplaceCredentialsError;

use super::accept::{recovery_page, replacement_page};
use super::{Choice, in_words};
use crate::guard::{Answer, chosen_language, with_language, with_session};
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{Language, sentence, texts};

struct SessionRow {
    id: String,
    client: String,
    browser: String,
    began: Html,
    seen: Html,
    ends: Html,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    shell: Shell,
    name: String,
    email: String,
    roles: String,
    has_authenticator: bool,
    recovery_codes: u32,
    sessions: Vec<SessionRow>,
    languages: Vec<Choice>,
    wrong: Option<String>,
}

async fn page_of(request: &PanelRequest, wrong: Option<String>) -> Result<AccountPage, Refusal> {
    let current = &request.operator;
    let sessions = request.deps.operators.sessions(current).await?;
    let rows = sessions.iter().map(|session| SessionRow {
        id: session.id.to_string(),
        client: session.client.clone(),
        browser: session.user_agent.clone(),
        began: show::instant(session.created_at),
        seen: show::instant(session.seen_at),
        ends: show::instant(session.idle_end()),
        is_current: session.id == current.session.id,
    });
    Ok(AccountPage {
        shell: request.shell(texts().your_account),
        name: request.name(),
        email: current.operator.email.as_str().to_owned(),
        roles: current.operator.rights.roles.to_string().replace(',', ", "),
        has_authenticator: current.has_authenticator,
        recovery_codes: current.recovery_codes_left,
        sessions: rows.collect(),
        languages: languages(request),
        wrong,
    })
}

/// The languages, each by its own name.
fn languages(request: &PanelRequest) -> Vec<Choice> {
    let chosen = chosen_language(&request.http).map_or("", |language| language.texts().language_tag);
    let named = Language::ALL.map(Language::texts).map(|one| (one.language_tag, one.language_name));
    let all = [("", texts().as_the_browser_asks_for)].into_iter().chain(named);
    all.map(|(tag, name)| Choice::new(tag, name, chosen)).collect()
}

/// Chooses the language of the panel in this browser.
pub(crate) async fn set_language(request: PanelRequest) -> Answer {
    let tag = request.fields.text("language");
    let language = Language::of_tag(tag);
    if language.is_none() && !tag.is_empty() {
        return Err(Refusal::Invalid(texts().choose_language.to_owned()));
    }
    Ok(with_language(see("/account?done=changed"), language))
}

/// The account.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    Ok(request.page(&page_of(&request, None).await?))
}

async fn again(request: &PanelRequest, error: ReplaceCredentialsError) -> Answer {
    match error {
        ReplaceCredentialsError::Store(error) => Err(error.into()),
        ReplaceCredentialsError::Keyring(error) => Err(error.into()),
        ReplaceCredentialsError::Invalid(violations) => {
            Ok(request.rejected(&page_of(request, Some(in_words(&violations).join(" "))).await?))
        }
        error => Ok(request.rejected(&page_of(request, Some(sentence(&error))).await?)),
    }
}

/// The last value of a field, with the spaces that belong to a password.
fn secret<'a>(request: &'a PanelRequest, name: &'a str) -> &'a str {
    request.fields.all(name).last().unwrap_or_default()
}

/// Gives the operator a new password; all other sessions end.
pub(crate) async fn change_password(request: PanelRequest) -> Answer {
    let (old, new) = (secret(&request, "old"), secret(&request, "new"));
    match request.deps.operators.change_password(&request.operator, old, new, &request.client()).await {
        Ok(replaced) => Ok(with_session(see("/account?done=changed"), &replaced.signed_in.session_token)),
        Err(error) => again(&request, error).await,
    }
}

/// Shows an authenticator to set up in place of the present one.
pub(crate) async fn begin_authenticator(request: PanelRequest) -> Answer {
    let password = secret(&request, "password");
    match request.deps.operators.begin_authenticator(&request.operator, password, &request.client()).await {
        Ok(enrolment) => Ok(replacement_page(&request.csrf, enrolment.sealed, enrolment.secret, enrolment.uri, None)),
        Err(error) => again(&request, error).await,
    }
}

/// Puts it in place.
pub(crate) async fn replace_authenticator(request: PanelRequest) -> Answer {
    let fields = &request.fields;
    let (sealed, code) = (fields.text("sealed"), fields.text("code"));
    match request.deps.operators.replace_authenticator(&request.operator, sealed, code, &request.client()).await {
        Ok(replaced) => Ok(with_session(recovery_page(replaced.recovery_codes), &replaced.signed_in.session_token)),
        Err(error @ ReplaceCredentialsError::WrongCode) => {
            let (secret, uri) = (fields.text("secret").to_owned(), fields.text("uri").to_owned());
            Ok(replacement_page(&request.csrf, sealed.to_owned(), secret, uri, Some(sentence(&error))))
        }
        Err(error) => again(&request, error).await,
    }
}

/// Ends one of the operator's sessions.
pub(crate) async fn end_session(request: PanelRequest) -> Answer {
    let id: OperatorSessionId = request.id("session")?;
    match request.deps.operators.end_session(&request.operator, id).await? {
        true => Ok(see("/account?done=ended")),
        false => Err(Refusal::NotFound("session")),
    }
}
