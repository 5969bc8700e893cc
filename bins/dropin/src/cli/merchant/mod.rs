//! `dropin merchant …`: what is said about accounts. The rules are the use cases'.

mod args;
mod credentials;
mod endpoint;
mod processor;

use std::fmt::Display;
use std::sync::Arc;

use demo_shop::Credentials;
use dropin_access::{ApiUser, Merchant, Permission, Permissions, RateChange, RateForm, RateSettings};
use dropin_boot::{CatalogueFileArgs, Failure, join_deployment, read_adjustments};
use dropin_catalogue::{Adjustment, Catalogue, MerchantMethods, Method, MethodsChange, Range};
use dropin_kernel::Violation;
use dropin_keyring::{MasterKey, MasterKeyError};
use dropin_money::Currency;
use dropin_ports::{AccessStore, MerchantSettings, RateStore};
use dropin_rates::Markup;
use dropin_store::Store;
use dropin_usecases::access::{self, AccountError, MerchantAccount, Merchants};
use dropin_usecases::rates::set_rates;
use serde_json::{Map, Value, json};

use super::{Cli, Output, acting, merchants, say, say_lines};
use crate::demo;

pub(crate) use args::MerchantCommand;
use args::{CreateMerchant, SecretCommand, SetMerchant, Switch, UserCommand};

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &MerchantCommand) -> Result<(), Failure> {
    match command {
        MerchantCommand::List(output) => list(store, *output).await,
        MerchantCommand::Show { id, output } => {
            show(store, &MerchantAccount::load(store, *id).await.map_err(explain)?, *output).await
        }
        MerchantCommand::Create(wanted) => create(&open(cli, store, true).await?, store, wanted).await,
        MerchantCommand::Set(wanted) => set(cli, &open(cli, store, false).await?, store, wanted).await,
        MerchantCommand::User(command) => user(&open(cli, store, false).await?, command).await,
        MerchantCommand::Endpoint(command) => endpoint::run(&open(cli, store, false).await?, store, command).await,
        MerchantCommand::Secret(command) => secret(&open(cli, store, false).await?, command).await,
        MerchantCommand::Processor(command) => processor::run(cli, store, command).await,
        MerchantCommand::Credentials(command) => credentials::run(cli, store, command).await,
    }
}

/// The use cases, with the deployment's key. Only the first merchant may come before the key: a second key would make passwords that the running
/// services do not accept.
pub(super) async fn open(cli: &Cli, store: &Store, creating: bool) -> Result<Merchants, Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let key = match creating {
        true => MasterKey::of_deployment(&folder, store).await?,
        false => MasterKey::open(&folder)?.ok_or(MasterKeyError::Elsewhere(folder))?,
    };
    join_deployment(store, None, Some(key.id())).await?;
    Ok(merchants(cli, store, Arc::new(key), acting(cli)?))
}

/// Says what to do about it, in the words of the command line.
fn explain(error: AccountError) -> Failure {
    match error {
        AccountError::Invalid(violations) => violations.iter().map(in_flags).collect::<Vec<_>>().join("\n").into(),
        AccountError::NoMerchant => with(error, "`dropin merchant list` shows them all"),
        AccountError::NoUser => with(error, "`dropin merchant user list ID` shows those of a merchant"),
        AccountError::Revoked => with(error, "add another with `dropin merchant user add`"),
        AccountError::NoEndpoint => with(error, "`dropin merchant endpoint list ID` shows those of a merchant"),
        AccountError::Removed => with(error, "add another with `dropin merchant endpoint add`"),
        AccountError::NotSandbox
        | AccountError::Changed
        | AccountError::Merchant(_)
        | AccountError::Keyring(_)
        | AccountError::Store(_) => error.into(),
    }
}

fn with(error: impl Display, advice: &str) -> Failure {
    format!("{error}; {advice}").into()
}

/// The flag that sets the field, and what is wrong with it.
fn in_flags(violation: &Violation) -> String {
    let flag = match violation.field.as_str() {
        "Name" => "--name",
        "WebhookUrl" => "--webhook-url",
        "Url" => "--url",
        "Origins" => "--origin",
        "Currencies" => "--currency",
        "Permissions" => "--permission",
        "SessionLifetime" => "--session-lifetime",
        "Overlap" => "--overlap",
        "Events" => "--events",
        "Retry" => "--retry",
        other => other,
    };
    format!("{flag} {}", violation.message)
}

async fn create(merchants: &Merchants, store: &Store, wanted: &CreateMerchant) -> Result<(), Failure> {
    let currencies = if wanted.currencies.is_empty() { Currency::ALL.to_vec() } else { wanted.currencies.clone() };
    let created = merchants
        .create(access::CreateMerchant {
            name: wanted.name.clone(),
            webhook_url: wanted.webhook_url.clone(),
            origins: wanted.origins.clone(),
            currencies,
        })
        .await
        .map_err(explain)?;
    let change = rate_change(wanted.rates, wanted.settlement_currency, &wanted.markups);
    if !change.is_empty() {
        set_rates(store, &merchants.writer(), created.merchant_id, None, change).await.map_err(explain)?;
    }
    let credentials = demo::credentials(created);
    if wanted.output.json {
        return say(&serde_json::to_string(&credentials)?);
    }
    let Credentials { merchant_id, username, password, webhook_secret, .. } = credentials;
    let webhook_secret = webhook_secret.unwrap_or_else(|| "none, because there is no webhook URL".to_owned());
    say(&format!(
        "MerchantId      {merchant_id}\nUser name       {username}\nPassword        {password}\nWebhook secret  {webhook_secret}\n\n\
         Keep the password and the webhook secret now: they cannot be shown again."
    ))
}

async fn list(store: &Store, output: Output) -> Result<(), Failure> {
    let merchants = store.list_merchants().await?;
    if output.json {
        return say(&Value::from_iter(merchants.iter().map(of_merchant)).to_string());
    }
    let lines = merchants.iter().map(|merchant| {
        let kind = if merchant.sandbox { "sandbox" } else { "production" };
        format!("{}  {}  {kind:<10}  {}", merchant.id, merchant.created_at, merchant.name)
    });
    say_lines(lines, "There is no merchant yet; create one with `dropin merchant create --name NAME`.")
}

async fn show(store: &Store, account: &MerchantAccount, output: Output) -> Result<(), Failure> {
    let mut shown = of_merchant(&account.merchant);
    shown["Rates"] = of_rates(&store.find_rate_settings(account.merchant.id).await?);
    shown["Users"] = Value::from_iter(account.users.iter().map(of_user));
    shown["Endpoints"] = Value::from_iter(account.endpoints.iter().map(endpoint::shown));
    say(&if output.json { shown.to_string() } else { serde_json::to_string_pretty(&shown)? })
}

/// What is particular about its methods from now on; `None` when nothing of that is to be set.
async fn methods_of(cli: &Cli, store: &Store, wanted: &SetMerchant) -> Result<Option<MerchantMethods>, Failure> {
    let settings = &wanted.settings;
    let names_methods =
        !settings.methods.is_empty() || !settings.no_methods.is_empty() || settings.methods_file.is_some();
    // A change of something else does not depend on the file.
    let file = if names_methods { &cli.serve.methods } else { &CatalogueFileArgs::default() };
    let catalogue = file.known()?;
    let on = settings.methods.iter().map(|id| Ok((find(&catalogue, "--method", id)?, true)));
    let off = settings.no_methods.iter().map(|id| Ok((find(&catalogue, "--no-method", id)?, false)));
    let change = MethodsChange {
        adjustments: settings.methods_file.as_deref().map(|path| read_adjustments(path, &catalogue)).transpose()?,
        offered: on.chain(off).collect::<Result<_, Failure>>()?,
        pay_later_clients: settings.pay_later_clients.clone(),
        google_pay: settings.google_pay.clone().map(Some).or_else(|| settings.no_google_pay.then_some(None)),
        address_check: settings.address_check.map(Switch::is_on),
    };
    if change.is_empty() {
        return Ok(None);
    }
    let account = MerchantAccount::load(store, wanted.id).await.map_err(explain)?;
    let is_unregistered = change.google_pay.iter().flatten().any(|google| google.merchant_id().is_none());
    if is_unregistered && !account.merchant.sandbox {
        return Err("--google-pay needs Google's merchant id in production: register with Google, then name \
            GATEWAY:GATEWAY_MERCHANT_ID:COUNTRY:GOOGLE_MERCHANT_ID"
            .into());
    }
    Ok(Some(account.merchant.into_parts().methods.changed(change)))
}

/// The method that a flag names.
fn find(catalogue: &Catalogue, flag: &str, id: &str) -> Result<Method, Failure> {
    catalogue.method(id).cloned().ok_or_else(|| {
        let known = catalogue.known().map(Method::id).collect::<Vec<_>>().join(", ");
        format!("{flag} {id} must be one of {known}; the file of --catalogue (DROPIN_CATALOGUE) adds others").into()
    })
}

async fn set(cli: &Cli, merchants: &Merchants, store: &Store, wanted: &SetMerchant) -> Result<(), Failure> {
    let settings = &wanted.settings;
    let some = |list: bool| list.then_some(());
    let change = MerchantSettings {
        decided_on: None,
        name: settings.name.clone(),
        currencies: some(!settings.currencies.is_empty()).map(|()| settings.currencies.clone()),
        origins: some(settings.no_origins || !settings.origins.is_empty()).map(|()| settings.origins.clone()),
        session_lifetime: settings.session_lifetime,
        attempts_allowed: settings.attempts,
        saved_cards_offered: settings.saved_cards.map(Switch::is_on),
        saved_card_kind: settings.saved_card_kind,
        screening: settings.screening.map(Switch::is_on),
        methods: methods_of(cli, store, wanted).await?,
        processors: None,
    };
    let merchant = merchants.set(wanted.id, change).await.map_err(explain)?;
    let change = rate_change(settings.rates, settings.settlement_currency, &settings.markups);
    let mut shown = of_merchant(&merchant);
    shown["Rates"] = of_rates(&set_rates(store, &merchants.writer(), wanted.id, None, change).await.map_err(explain)?);
    say(&if wanted.output.json { shown.to_string() } else { serde_json::to_string_pretty(&shown)? })
}

async fn user(merchants: &Merchants, command: &UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Add { id, permissions, output } => {
            let permissions = match permissions.as_slice() {
                [] => Permissions::all(),
                some => some.iter().copied().collect(),
            };
            let added = merchants.add_user(*id, permissions).await.map_err(explain)?;
            let (username, password, may) = (&added.username, &added.password, words(added.permissions));
            let shown = json!({ "Username": username, "Password": password, "Permissions": may });
            tell(*output, &shown, || {
                let may = may.join(", ");
                format!(
                    "User name    {username}\nPassword     {password}\nPermissions  {may}\n\nKeep the password now: it cannot be shown again."
                )
            })
        }
        UserCommand::List { id, output } => {
            let users = merchants.users(*id).await.map_err(explain)?;
            if output.json {
                return say(&Value::from_iter(users.iter().map(of_user)).to_string());
            }
            let lines = users.iter().map(|user| {
                let state = user.revoked_at.map(|at| format!("  revoked {at}")).unwrap_or_default();
                format!("{}  {}{state}", user.username, words(user.permissions).join(", "))
            });
            say_lines(lines, "It has no API user; add one with `dropin merchant user add ID`.")
        }
        UserCommand::Set { username, permissions, output } => {
            let permissions: Permissions = permissions.iter().copied().collect();
            merchants.set_permissions(username, permissions).await.map_err(explain)?;
            let may = words(permissions);
            let shown = json!({ "Username": username, "Permissions": may });
            tell(*output, &shown, || format!("{username} may {} within two seconds.", may.join(", ")))
        }
        UserCommand::Revoke { username, output } => {
            merchants.revoke_user(username).await.map_err(explain)?;
            let shown = json!({ "Username": username, "Revoked": true });
            tell(*output, &shown, || format!("{username} is shut out within two seconds, for ever."))
        }
        UserCommand::Rotate { username, overlap, output } => {
            let rotated = merchants.rotate_password(username, *overlap).await.map_err(explain)?;
            let until = rotated.old_until.map(|until| until.to_string());
            let shown = json!({ "Username": username, "Password": rotated.password, "OldPasswordUntil": until });
            tell(*output, &shown, || {
                let old = old("password", "counts too", until.as_deref());
                format!("Password  {}\n\nKeep it now: it cannot be shown again. {old}", rotated.password)
            })
        }
    }
}

async fn secret(merchants: &Merchants, command: &SecretCommand) -> Result<(), Failure> {
    let SecretCommand::Rotate { id, overlap, output } = command;
    let rotated = merchants.rotate_secret(*id, *overlap).await.map_err(explain)?;
    let (secret, until) = (&rotated.webhook_secret, rotated.old_until.map(|until| until.to_string()));
    let shown = json!({ "EndpointId": id.to_string(), "WebhookSecret": secret, "OldSecretUntil": until });
    tell(*output, &shown, || {
        let old = old("secret", "signs too", until.as_deref());
        format!("Webhook secret  {secret}\n\nKeep it now: it cannot be shown again. {old}")
    })
}

/// What becomes of what was replaced.
fn old(what: &str, counts: &str, until: Option<&str>) -> String {
    match until {
        Some(until) => format!("The old {what} {counts} until {until}."),
        None => format!("The old {what} has ended."),
    }
}

fn tell(output: Output, json: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
    say(&if output.json { json.to_string() } else { text() })
}

fn words(permissions: Permissions) -> Vec<&'static str> {
    permissions.iter().map(Permission::as_str).collect()
}

fn of_merchant(merchant: &Merchant) -> Value {
    json!({
        "MerchantId": merchant.id.to_string(),
        "Name": merchant.name,
        "Sandbox": merchant.sandbox,
        "CreatedAt": merchant.created_at.to_string(),
        "SessionLifetimeSeconds": merchant.session_lifetime.as_secs(),
        "Attempts": merchant.attempts_allowed,
        "SavedCards": merchant.saved_cards.offered,
        "SavedCardKind": merchant.saved_cards.kind.as_str(),
        "AddressCheck": merchant.methods.address_check,
        "GooglePay": merchant.methods.google_pay.as_ref().map(ToString::to_string),
        "Screening": merchant.screening.on,
        "ScreeningRulesRevision": merchant.screening.rules_revision,
        "Currencies": Value::from_iter(merchant.currencies.iter().map(|currency| currency.code())),
        "Origins": Value::from_iter(merchant.origins.iter().map(|origin| origin.as_str())),
        "Methods": Value::from_iter(merchant.methods.adjustments.iter().map(|(id, one)| (id.to_owned(), of_adjustment(one)))),
        "Processors": Value::from_iter(merchant.processors.rules().iter().map(ToString::to_string)),
        "PayLaterClients": Value::from_iter(
            merchant.methods.pay_later_clients.iter().map(|(region, id)| (region.as_str().to_owned(), Value::from(id.as_str())))
        ),
    })
}

/// What is particular about one method, as far as something is.
fn of_adjustment(adjustment: &Adjustment) -> Value {
    let list = |words: Vec<String>| Value::from(words);
    let codes = |all: &Vec<Currency>| list(all.iter().map(|currency| currency.code().to_owned()).collect());
    let members = [
        ("Offered", adjustment.offered.map(Value::from)),
        ("Countries", adjustment.countries.clone().map(Value::from)),
        ("Currencies", adjustment.currencies.as_ref().map(codes)),
        ("Amounts", adjustment.amounts.as_ref().map(|all| list(all.iter().map(Range::to_string).collect()))),
        (
            "Channels",
            adjustment.channels.as_ref().map(|all| list(all.iter().map(|one| one.as_str().to_owned()).collect())),
        ),
        ("Recurring", adjustment.recurring.map(Value::from)),
        ("CaptureLater", adjustment.capture_later.map(Value::from)),
        ("Sandbox", adjustment.sandbox.map(Value::from)),
    ];
    Value::from_iter(members.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

fn rate_change(form: Option<RateForm>, settlement: Option<Currency>, markups: &[(Currency, Markup)]) -> RateChange {
    RateChange { form, settlement, markups: markups.iter().copied().collect() }
}

fn of_rates(settings: &RateSettings) -> Value {
    let points = |(code, markup): (&Currency, &Markup)| (code.code().to_owned(), markup.basis_points().into());
    json!({
        "Form": settings.form.as_str().to_lowercase(),
        "SettlementCurrency": settings.pricing.settlement.code(),
        "MarkupBasisPoints": Value::Object(settings.pricing.markups.iter().map(points).collect()),
    })
}

fn of_user(user: &ApiUser) -> Value {
    let mut shown = Map::new();
    shown.insert("Username".to_owned(), user.username.clone().into());
    shown.insert("Permissions".to_owned(), words(user.permissions).into());
    if let Some(old) = &user.previous {
        shown.insert("OldPasswordUntil".to_owned(), old.until.to_string().into());
    }
    if let Some(at) = user.revoked_at {
        shown.insert("RevokedAt".to_owned(), at.to_string().into());
    }
    shown.into()
}
