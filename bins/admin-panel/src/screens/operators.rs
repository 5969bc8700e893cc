//! Operators: inviting, what they may do, disabling, and a new link for one who is locked out.

use std::collections::BTreeSet;

use askama::Template;
use dropin_access::Merchant;
use dropin_access::operator::{
    OperatorRights, OperatorRole, OperatorRoles, OperatorScope, OperatorState, RefundLimits,
};
use dropin_kernel::{MerchantId, OperatorId};
use dropin_money::{Amount, Currency};
use dropin_ports::OperatorAccount;
use dropin_usecases::operators::{ManageError, ManagedBy, NewOperator, OperatorInvitation};

use super::{in_words, secret, visible_merchants};
use crate::amounts;
use crate::fields::Fields;
use crate::guard::{self, Answer};
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

/// The fields of the form that invites.
pub(crate) const FIELDS: &[&str] = &["csrf", "name", "email", "role[]", "scope", "merchant[]", "limits"];
/// The fields of the form that sets rights.
pub(crate) const RIGHTS_FIELDS: &[&str] = &["csrf", "role[]", "scope", "merchant[]", "limits"];

struct OperatorRow {
    path: String,
    name: String,
    email: String,
    state: Html,
    roles: String,
    scope: String,
    second_factor: &'static str,
}

/// A box with its meaning.
struct RoleBox {
    code: &'static str,
    summary: &'static str,
    ticked: bool,
}

struct MerchantBox {
    id: String,
    name: String,
    ticked: bool,
}

/// The part of a form that says what an operator may do.
struct RightsForm {
    roles: Vec<RoleBox>,
    merchants: Vec<MerchantBox>,
    is_deployment: bool,
    limits: String,
}

#[derive(Template)]
#[template(path = "operators.html")]
struct OperatorsPage {
    shell: Shell,
    rows: Vec<OperatorRow>,
    rights: RightsForm,
    name: String,
    email: String,
    wrong: Vec<String>,
}

fn by(request: &PanelRequest) -> ManagedBy<'_> {
    ManagedBy::Operator(&request.operator)
}

fn state_badge(state: OperatorState) -> Html {
    match state {
        OperatorState::Active => show::badge("good", texts().badge_active),
        OperatorState::Invited => show::badge("wait", texts().invited),
        OperatorState::Disabled => show::badge("bad", texts().badge_disabled),
    }
}

fn row(account: &OperatorAccount) -> OperatorRow {
    let operator = &account.operator;
    let scope = match &operator.rights.scope {
        OperatorScope::Deployment => texts().everywhere.to_owned(),
        OperatorScope::Merchants(merchants) => texts().merchants_seen(merchants.len()),
    };
    OperatorRow {
        path: format!("/operators/{}", operator.id),
        name: operator.name.as_str().to_owned(),
        email: operator.email.as_str().to_owned(),
        state: state_badge(operator.state),
        roles: operator.rights.roles.to_string().replace(',', ", "),
        scope,
        second_factor: second_factor(account),
    }
}

fn second_factor(account: &OperatorAccount) -> &'static str {
    let t = texts();
    if account.credentials.authenticator.is_some() { t.factor_authenticator } else { t.factor_none }
}

fn rights_form(merchants: &[Merchant], rights: &OperatorRights, limits: String) -> RightsForm {
    let roles = OperatorRole::ALL.iter().map(|role| RoleBox {
        code: role.as_str(),
        summary: summary(*role),
        ticked: rights.roles.contains(*role),
    });
    let covers =
        |id: MerchantId| matches!(&rights.scope, OperatorScope::Merchants(merchants) if merchants.contains(&id));
    let boxes = merchants.iter().map(|one| MerchantBox {
        id: one.id.to_string(),
        name: one.name.clone(),
        ticked: covers(one.id),
    });
    RightsForm {
        roles: roles.collect(),
        merchants: boxes.collect(),
        is_deployment: rights.scope.is_deployment(),
        limits,
    }
}

/// What a role is there for.
fn summary(role: OperatorRole) -> &'static str {
    let t = texts();
    match role {
        OperatorRole::Viewer => t.role_viewer,
        OperatorRole::Support => t.role_support,
        OperatorRole::Reviewer => t.role_reviewer,
        OperatorRole::Developer => t.role_developer,
        OperatorRole::Owner => t.role_owner,
    }
}

/// What a form says; every part that makes no sense.
fn rights_of(fields: &Fields, wrong: &mut Vec<String>) -> OperatorRights {
    let roles: OperatorRoles = fields.all("role[]").filter_map(|code| code.parse::<OperatorRole>().ok()).collect();
    let merchants: BTreeSet<MerchantId> = fields.all("merchant[]").filter_map(|id| id.parse().ok()).collect();
    let scope = match fields.text("scope") {
        "deployment" => Some(OperatorScope::Deployment),
        _ => OperatorScope::of_merchants(merchants),
    };
    let scope = scope.unwrap_or_else(|| {
        wrong.push(texts().choose_a_scope.to_owned());
        OperatorScope::Deployment
    });
    let refund_limits =
        limits(fields).and_then(|amounts| RefundLimits::new(amounts).ok_or_else(|| texts().two_limits.to_owned()));
    let refund_limits = refund_limits.map_err(|why| wrong.push(why)).unwrap_or_default();
    OperatorRights { roles, scope, refund_limits }
}

/// One amount a line, as `500.00 EUR`.
pub(crate) fn limits(fields: &Fields) -> Result<Vec<Amount>, String> {
    fields.text("limits").lines().map(str::trim).filter(|line| !line.is_empty()).map(limit).collect()
}

/// The amounts as they are typed.
pub(crate) fn write_limits<'a>(limits: impl IntoIterator<Item = &'a Amount>) -> String {
    limits.into_iter().map(|amount| format!("{amount} {}", amount.currency())).collect::<Vec<_>>().join("\n")
}

fn limit(line: &str) -> Result<Amount, String> {
    let wrong = || texts().no_limit(line);
    let (number, currency) = line.rsplit_once(' ').ok_or_else(wrong)?;
    let currency: Currency = currency.trim().to_ascii_uppercase().parse().map_err(|_unknown| wrong())?;
    amounts::typed(number.trim(), currency).map_err(|_no_amount| wrong())
}

async fn list_page(request: &PanelRequest, wrong: Vec<String>) -> Result<OperatorsPage, Refusal> {
    let accounts = request.deps.operators.list(by(request)).await.map_err(refusal)?;
    let merchants = visible_merchants(request).await?;
    let fields = &request.fields;
    let rights = if fields.given("csrf").is_some() {
        rights_of(fields, &mut Vec::new())
    } else {
        OperatorRights {
            roles: [OperatorRole::Viewer].into_iter().collect(),
            scope: OperatorScope::Deployment,
            refund_limits: RefundLimits::default(),
        }
    };
    Ok(OperatorsPage {
        shell: request.shell(texts().operators),
        rows: accounts.iter().map(row).collect(),
        rights: rights_form(&merchants, &rights, fields.text("limits").to_owned()),
        name: fields.text("name").to_owned(),
        email: fields.text("email").to_owned(),
        wrong,
    })
}

/// Every operator.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let page = list_page(&request, Vec::new()).await?;
    Ok(request.page(&page))
}

/// Invites one, and shows the link once.
pub(crate) async fn invite(request: PanelRequest) -> Answer {
    let mut wrong = Vec::new();
    let rights = rights_of(&request.fields, &mut wrong);
    let (name, email) = (request.fields.text("name").to_owned(), request.fields.text("email").to_owned());
    if wrong.is_empty() {
        match request.deps.operators.invite(by(&request), NewOperator { name, email, rights }).await {
            Ok(invited) => return link_page(&request, invited),
            Err(ManageError::Invalid(violations)) => wrong.extend(in_words(&violations)),
            Err(error @ (ManageError::DuplicateEmail | ManageError::NoMerchant)) => wrong.push(sentence(&error)),
            Err(error) => return Err(refusal(error)),
        }
    }
    Ok(request.rejected(&list_page(&request, wrong).await?))
}

fn link_page(request: &PanelRequest, invited: OperatorInvitation) -> Answer {
    let scheme = if request.deps.is_https { "https" } else { "http" };
    let host = guard::host(&request.http).ok_or_else(|| Refusal::Invalid(texts().no_host.to_owned()))?;
    let link = format!("{scheme}://{host}/accept?token={}", invited.link.token);
    let name = invited.operator.name.as_str();
    let until = show::instant_text(invited.link.expires_at);
    let intro = texts().invitation_intro(name, until);
    secret::page(
        request,
        texts().invitation,
        &intro,
        vec![(texts().one_time_link, link)],
        format!("/operators/{}", invited.operator.id),
    )
}

#[derive(Template)]
#[template(path = "operator.html")]
struct OperatorPage {
    shell: Shell,
    id: String,
    name: String,
    email: String,
    state: Html,
    is_disabled: bool,
    is_self: bool,
    second_factor: &'static str,
    recovery_codes: u32,
    created: Html,
    rights: RightsForm,
    wrong: Vec<String>,
}

async fn load(request: &PanelRequest) -> Result<OperatorAccount, Refusal> {
    let id: OperatorId = request.id("operator")?;
    request.deps.operators.find(by(request), id).await.map_err(refusal)
}

async fn page_of(
    request: &PanelRequest,
    account: &OperatorAccount,
    wrong: Vec<String>,
) -> Result<OperatorPage, Refusal> {
    let merchants = visible_merchants(request).await?;
    let operator = &account.operator;
    let limits = write_limits(operator.rights.refund_limits.iter());
    let rights = match request.fields.given("csrf") {
        Some(_) => rights_form(
            &merchants,
            &rights_of(&request.fields, &mut Vec::new()),
            request.fields.text("limits").to_owned(),
        ),
        None => rights_form(&merchants, &operator.rights, limits),
    };
    Ok(OperatorPage {
        shell: request.shell(operator.name.as_str()),
        id: operator.id.to_string(),
        name: operator.name.as_str().to_owned(),
        email: operator.email.as_str().to_owned(),
        state: state_badge(operator.state),
        is_disabled: operator.state == OperatorState::Disabled,
        is_self: operator.id == request.operator.operator.id,
        second_factor: second_factor(account),
        recovery_codes: account.credentials.recovery_codes_left,
        created: show::instant(operator.created_at),
        rights,
        wrong,
    })
}

/// One operator.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    Ok(request.page(&page_of(&request, &account, Vec::new()).await?))
}

/// Sets what an operator may do.
pub(crate) async fn set_rights(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let mut wrong = Vec::new();
    let rights = rights_of(&request.fields, &mut wrong);
    if wrong.is_empty() {
        match request.deps.operators.set_rights(by(&request), account.operator.id, rights).await {
            Ok(_) => return Ok(see(format!("/operators/{}?done=saved", account.operator.id))),
            Err(ManageError::Invalid(violations)) => wrong.extend(in_words(&violations)),
            Err(error @ (ManageError::LastOwner | ManageError::NoMerchant)) => wrong.push(sentence(&error)),
            Err(error) => return Err(refusal(error)),
        }
    }
    Ok(request.rejected(&page_of(&request, &account, wrong).await?))
}

/// Disables or enables.
pub(crate) async fn set_state(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = account.operator.id;
    if id == request.operator.operator.id {
        return Err(Refusal::Invalid(texts().not_disable_yourself.to_owned()));
    }
    let done = match request.fields.text("state") {
        "disabled" => request.deps.operators.disable(by(&request), id).await.map(|()| "changed"),
        "active" => request.deps.operators.enable(by(&request), id).await.map(|state| match state {
            OperatorState::Invited => "enabled-invited",
            OperatorState::Active | OperatorState::Disabled => "changed",
        }),
        _ => return Err(Refusal::Invalid(texts().choose_enabled.to_owned())),
    };
    match done {
        Ok(done) => Ok(see(format!("/operators/{id}?done={done}"))),
        Err(error @ ManageError::LastOwner) => {
            Ok(request.rejected(&page_of(&request, &account, vec![sentence(&error)]).await?))
        }
        Err(error) => Err(refusal(error)),
    }
}

/// A new link in place of password, authenticator and sessions.
pub(crate) async fn reset(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    if account.operator.id == request.operator.operator.id {
        return Err(Refusal::Invalid(texts().not_reset_yourself.to_owned()));
    }
    match request.deps.operators.reset(by(&request), account.operator.id).await {
        Ok(invited) => link_page(&request, invited),
        Err(error @ ManageError::LastOwner) => {
            Ok(request.rejected(&page_of(&request, &account, vec![sentence(&error)]).await?))
        }
        Err(error) => Err(refusal(error)),
    }
}

fn refusal(error: ManageError) -> Refusal {
    match error {
        ManageError::Store(error) => error.into(),
        ManageError::NoOperator => Refusal::NotFound("operator"),
        ManageError::NotAllowed(_) => Refusal::NotAllowed(sentence(&error)),
        ManageError::WrongState | ManageError::LastOwner | ManageError::DuplicateEmail => {
            Refusal::Changed(sentence(&error))
        }
        _ => Refusal::Invalid(sentence(&error)),
    }
}
