//! Merchants, their API users and origins.

pub(crate) mod endpoints;
pub(crate) mod events;
mod markups;
pub(crate) mod routing;
pub(crate) mod screening;
pub(crate) mod settings;
mod users;
pub(crate) mod wallet;

use std::time::Duration;

use askama::Template;
use dropin_access::operator::PanelAction;
use dropin_access::{MONEY_PERMISSIONS, MerchantParts, Origin, Permission};
use dropin_kernel::MerchantId;
use dropin_money::Currency;
use dropin_ports::MerchantSettings;
use dropin_usecases::access::{AccountError, CreateMerchant, MerchantAccount, Merchants};
use dropin_usecases::operators::MoneyError;

use self::endpoints::EndpointRow;
use self::wallet::{WalletCard, wallet};
use super::operators::{limits, write_limits};
use super::{acting, in_words, secret, visible_merchants};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::{PanelRequest, Shell};
use crate::show::{self, Html};
use crate::texts::{Texts, sentence, texts};

pub(crate) use users::{add_user, revoke_user, rotate_password, set_permissions};

/// The fields of the form that makes a merchant.
pub(crate) const NEW_FIELDS: &[&str] = &["csrf", "name", "webhook_url", "origins", "currency[]", "note"];

/// Picks a text of whichever language is spoken.
type TextOf = fn(&Texts) -> &'static str;

/// For how long an old password or secret may go on, as the form offers it, in hours.
const OVERLAPS: &[(&str, TextOf)] =
    &[("0", |t| t.overlap_none), ("1", |t| t.overlap_hour), ("24", |t| t.overlap_day), ("168", |t| t.overlap_week)];

struct MerchantRow {
    path: String,
    name: String,
    id: String,
    currencies: String,
    created: Html,
}

#[derive(Template)]
#[template(path = "merchants.html")]
struct MerchantsPage {
    shell: Shell,
    rows: Vec<MerchantRow>,
    may_create: bool,
}

/// The merchants that the operator sees.
pub(crate) async fn list(request: PanelRequest) -> Answer {
    let merchants = visible_merchants(&request).await?;
    let rows = merchants.iter().map(|merchant| MerchantRow {
        path: format!("/merchants/{}", merchant.id),
        name: merchant.name.clone(),
        id: merchant.id.to_string(),
        currencies: codes(&merchant.currencies),
        created: show::instant(merchant.created_at),
    });
    let may_create = crate::guard::may(&request.operator, PanelAction::CreateMerchant);
    let page = MerchantsPage { shell: request.shell(texts().merchants), rows: rows.collect(), may_create };
    Ok(request.page(&page))
}

fn codes(currencies: &[Currency]) -> String {
    match currencies.len() == Currency::ALL.len() {
        true => texts().all_of_them.to_owned(),
        false => currencies.iter().map(|one| one.code()).collect::<Vec<_>>().join(", "),
    }
}

struct CurrencyBox {
    code: &'static str,
    ticked: bool,
}

#[derive(Template)]
#[template(path = "merchant_new.html")]
struct NewMerchantPage {
    shell: Shell,
    name: String,
    webhook_url: String,
    origins: String,
    note: String,
    currencies: Vec<CurrencyBox>,
    wrong: Vec<String>,
}

fn new_page(request: &PanelRequest, wrong: Vec<String>) -> NewMerchantPage {
    let fields = &request.fields;
    let ticked: Vec<_> = fields.all("currency[]").collect();
    let text = |name: &str| fields.text(name).to_owned();
    NewMerchantPage {
        shell: request.shell(texts().new_merchant),
        name: text("name"),
        webhook_url: text("webhook_url"),
        origins: text("origins"),
        note: text("note"),
        currencies: currency_boxes(&ticked),
        wrong,
    }
}

fn currency_boxes(ticked: &[&str]) -> Vec<CurrencyBox> {
    let boxes = Currency::ALL.iter().map(|one| CurrencyBox { code: one.code(), ticked: ticked.contains(&one.code()) });
    boxes.collect()
}

/// The form that makes one.
pub(crate) async fn new(request: PanelRequest) -> Answer {
    Ok(request.page(&new_page(&request, Vec::new())))
}

/// Makes one, and shows its secrets once.
pub(crate) async fn create(request: PanelRequest) -> Answer {
    let fields = &request.fields;
    let mut wrong = Vec::new();
    let currencies: Vec<Currency> = fields.all("currency[]").filter_map(|code| code.parse().ok()).collect();
    let origins = origins(fields.text("origins"), &mut wrong);
    let wanted = CreateMerchant {
        name: fields.text("name").to_owned(),
        webhook_url: fields.given("webhook_url").map(str::to_owned),
        origins,
        currencies: if currencies.is_empty() { Currency::ALL.to_vec() } else { currencies },
    };
    if !wrong.is_empty() {
        return Ok(request.rejected(&new_page(&request, wrong)));
    }
    match merchants(&request).create(wanted).await {
        Ok(made) => {
            let mut secrets = vec![(texts().api_user_name, made.username), (texts().api_password, made.password)];
            secrets.extend(made.webhook_secret.map(|secret| (texts().webhook_secret, secret)));
            let back = format!("/merchants/{}", made.merchant_id);
            secret::page(&request, texts().merchant_created, texts().hand_these_over, secrets, back)
        }
        Err(AccountError::Invalid(violations)) => Ok(request.rejected(&new_page(&request, in_words(&violations)))),
        Err(error) => Err(refusal(error)),
    }
}

/// One origin a line.
fn origins(text: &str, wrong: &mut Vec<String>) -> Vec<Origin> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .filter_map(|line| Origin::parse(line).map_err(|_no_origin| wrong.push(texts().no_origin(line))).ok())
        .collect()
}

/// Merchants' accounts, changed by this operator.
fn merchants(request: &PanelRequest) -> Merchants {
    Merchants { by: acting(request), ..request.deps.merchants.clone() }
}

fn refusal(error: AccountError) -> Refusal {
    match error {
        AccountError::Store(error) => error.into(),
        AccountError::Keyring(error) => error.into(),
        AccountError::NoMerchant => Refusal::NotFound("merchant"),
        AccountError::NoUser => Refusal::NotFound("API user"),
        AccountError::NoEndpoint => Refusal::NotFound("endpoint"),
        AccountError::Revoked | AccountError::Removed | AccountError::Changed => Refusal::Changed(sentence(&error)),
        AccountError::NotSandbox => Refusal::NotFound("page"),
        AccountError::Invalid(_) | AccountError::Merchant(_) => Refusal::Invalid(sentence(&error)),
    }
}

struct PermissionBox {
    code: &'static str,
    ticked: bool,
}

struct UserRow {
    username: String,
    permissions: String,
    boxes: Vec<PermissionBox>,
    revoked: bool,
    may_rotate: bool,
    retiring: Option<Html>,
}

#[derive(Template)]
#[template(path = "merchant.html")]
struct MerchantPage {
    shell: Shell,
    id: String,
    name: String,
    /// Where its settings are.
    settings: String,
    created: Html,
    currencies: String,
    lifetime: String,
    attempts: u32,
    methods: String,
    address_check: bool,
    google_pay: Option<String>,
    origins: String,
    users: Vec<UserRow>,
    endpoints: Vec<EndpointRow>,
    permissions: Vec<&'static str>,
    overlaps: Vec<(&'static str, &'static str)>,
    limits: String,
    may_limits: bool,
    may_users: bool,
    may_endpoints: bool,
    may_origins: bool,
    may_notifications: bool,
    may_settings: bool,
    screening: bool,
    may_screening: bool,
    may_trigger: bool,
    wallet: WalletCard,
    url: String,
    events: String,
    wrong: Vec<String>,
}

async fn load(request: &PanelRequest) -> Result<MerchantAccount, Refusal> {
    let id: MerchantId = request.id("merchant")?;
    request.own(id, "merchant")?;
    MerchantAccount::load(&*request.deps.access, id).await.map_err(refusal)
}

async fn page_of(
    request: &PanelRequest,
    account: &MerchantAccount,
    wrong: Vec<String>,
) -> Result<MerchantPage, Refusal> {
    let MerchantParts {
        id,
        name,
        currencies,
        origins,
        session_lifetime,
        attempts_allowed,
        methods,
        screening,
        created_at,
        ..
    } = &*account.merchant;
    let may = |action| request.may(action, *id);
    let may_notifications = may(PanelAction::ViewNotifications);
    let statuses = if may_notifications { request.deps.backlog.endpoint_statuses(*id).await? } else { Vec::new() };
    let now = request.deps.clock.now();
    let users = account.users.iter().map(|user| UserRow {
        username: user.username.clone(),
        permissions: user.permissions.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", "),
        boxes: Permission::ALL
            .iter()
            .map(|one| PermissionBox { code: one.as_str(), ticked: user.permissions.contains(*one) })
            .collect(),
        revoked: user.revoked_at.is_some(),
        may_rotate: may(PanelAction::ManageMoneyUsers) || !user.permissions.move_money(),
        retiring: user.previous.as_ref().filter(|old| now < old.until).map(|old| show::instant(old.until)),
    });
    let may_money = may(PanelAction::ManageMoneyUsers);
    let permissions = Permission::ALL.iter().filter(|one| may_money || !MONEY_PERMISSIONS.contains(one));
    let endpoints = account.endpoints.iter().map(|endpoint| {
        let status = statuses.iter().find(|status| status.endpoint_id == endpoint.id);
        EndpointRow::new(endpoint, status, now)
    });
    let limits = match request.fields.given("limits") {
        Some(typed) => typed.to_owned(),
        None => {
            write_limits(&request.deps.operators.approval_limits(&request.operator, *id).await.map_err(money_refusal)?)
        }
    };
    let typed = request.fields.given("origins").map(str::to_owned);
    let text = |name: &str| request.fields.text(name).to_owned();
    Ok(MerchantPage {
        shell: request.shell(name.clone()),
        id: id.to_string(),
        settings: format!("/merchants/{id}/settings"),
        name: name.clone(),
        created: show::instant(*created_at),
        currencies: codes(currencies),
        lifetime: dropin_kernel::write_span(*session_lifetime),
        attempts: *attempts_allowed,
        methods: if *methods == dropin_catalogue::MerchantMethods::default() {
            texts().methods_of_deployment.to_owned()
        } else {
            texts().methods_of_its_own.to_owned()
        },
        address_check: methods.address_check,
        google_pay: methods.google_pay.as_ref().map(ToString::to_string),
        origins: typed.unwrap_or_else(|| origins.iter().map(Origin::as_str).collect::<Vec<_>>().join("\n")),
        users: users.collect(),
        endpoints: endpoints.collect(),
        permissions: permissions.map(|one| one.as_str()).collect(),
        overlaps: OVERLAPS.iter().map(|(hours, text)| (*hours, text(texts()))).collect(),
        limits,
        may_limits: may(PanelAction::ChangeMerchant),
        may_users: may(PanelAction::ManageApiUsers),
        may_endpoints: may(PanelAction::ManageEndpoints),
        may_origins: may(PanelAction::ManageOrigins),
        may_notifications,
        may_settings: may(PanelAction::ChangeMerchant),
        screening: screening.on,
        may_screening: may(PanelAction::ManageScreening),
        may_trigger: events::may_trigger(request, &account.merchant),
        wallet: wallet(request, *id).await?,
        url: text("url"),
        events: text("events"),
        wrong,
    })
}

/// One merchant.
pub(crate) async fn show(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let page = page_of(&request, &account, Vec::new()).await?;
    Ok(request.page(&page))
}

/// The page again with what is wrong, or why there is none.
async fn again(request: &PanelRequest, account: &MerchantAccount, error: AccountError) -> Answer {
    match error {
        AccountError::Invalid(violations) => {
            Ok(request.rejected(&page_of(request, account, in_words(&violations)).await?))
        }
        error => Err(refusal(error)),
    }
}

/// Sets the origins that may embed the drop-in.
pub(crate) async fn set_origins(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let mut wrong = Vec::new();
    let origins = origins(request.fields.text("origins"), &mut wrong);
    if !wrong.is_empty() {
        return Ok(request.rejected(&page_of(&request, &account, wrong).await?));
    }
    let settings = MerchantSettings { origins: Some(origins), ..MerchantSettings::default() };
    match merchants(&request).set(account.merchant.id, settings).await {
        Ok(_) => Ok(see(format!("/merchants/{}?done=saved", account.merchant.id))),
        Err(error) => again(&request, &account, error).await,
    }
}

/// Sets above which amounts refunds need a second operator.
pub(crate) async fn set_limits(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let id = account.merchant.id;
    let wrong = match limits(&request.fields) {
        Err(why) => why,
        Ok(limits) => match request.deps.operators.set_approval_limits(&request.operator, id, limits).await {
            Ok(()) => return Ok(see(format!("/merchants/{id}?done=saved"))),
            Err(MoneyError::Invalid(violations)) => in_words(&violations).join(" "),
            Err(error) => return Err(money_refusal(error)),
        },
    };
    Ok(request.rejected(&page_of(&request, &account, vec![wrong]).await?))
}

fn money_refusal(error: MoneyError) -> Refusal {
    match error {
        MoneyError::Store(error) => error.into(),
        MoneyError::NotAllowed(refused) => Refusal::NotAllowed(sentence(&refused)),
        error => Refusal::Invalid(sentence(&error)),
    }
}

/// One of the overlaps that the form offers.
fn overlap(request: &PanelRequest) -> Result<Duration, Refusal> {
    let chosen = request.fields.text("overlap");
    let known = OVERLAPS.iter().any(|(hours, _)| *hours == chosen);
    let hours = chosen.parse::<u64>().ok().filter(|_| known);
    hours
        .map(|hours| Duration::from_secs(hours * 60 * 60))
        .ok_or_else(|| Refusal::Invalid(texts().choose_overlap.to_owned()))
}
