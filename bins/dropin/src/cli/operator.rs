//! `dropin operator …`: the people who sign in to the admin panel, as who runs the deployment sees them. The rules are the use cases'.

use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, Subcommand};
use dropin_access::operator::{
    Operator, OperatorRights, OperatorRole, OperatorRoles, OperatorScope, OperatorState, RefundLimits, email_key,
};
use dropin_boot::{Failure, SystemClock, SystemIds, join_deployment};
use dropin_kernel::{MerchantId, Violation};
use dropin_keyring::MasterKey;
use dropin_money::Amount;
use dropin_ports::{OperatorAccount, OperatorStore};
use dropin_store::Store;
use dropin_usecases::operators::{
    InvitationLink, ManageError, ManagedBy, NewOperator, OperatorInvitation, Operators, PasswordCost,
    SecondFactorPolicy,
};
use serde_json::{Map, Value, json};

use super::{Cli, Output, acting, say, say_lines};

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorCommand {
    /// Invite a person; prints the one-time link, which works for 72 hours
    Invite(InviteOperator),
    /// Show every operator
    List(Output),
    /// Show one operator
    Show {
        /// E-mail address
        email: String,
        #[command(flatten)]
        output: Output,
    },
    /// Shut an operator out: its sessions end at once
    Disable {
        /// E-mail address
        email: String,
        #[command(flatten)]
        output: Output,
    },
    /// Let an operator in again that was disabled
    Enable {
        /// E-mail address
        email: String,
        #[command(flatten)]
        output: Output,
    },
    /// Take an operator's password, authenticator and sessions away and print a new one-time link: for a lost authenticator, a forgotten password or a
    /// lost link, the last owner's too
    ResetAuthenticator {
        /// E-mail address
        email: String,
        #[command(flatten)]
        panel: PanelAddress,
        #[command(flatten)]
        output: Output,
    },
    /// Change what an operator may do, and where; in force with its next request
    SetRole(SetRole),
}

#[derive(Debug, Args)]
pub(crate) struct PanelAddress {
    /// Address of the admin panel, as the person reaches it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8082")]
    pub(crate) panel_url: String,
}

#[derive(Debug, Args)]
pub(crate) struct InviteOperator {
    /// Name of the person
    #[arg(long)]
    pub(crate) name: String,
    /// E-mail address, to sign in with
    #[arg(long)]
    pub(crate) email: String,
    /// viewer, support, reviewer, developer or owner; may be repeated
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = OperatorRole::from_str)]
    pub(crate) roles: Vec<OperatorRole>,
    /// MerchantId whose payments it sees; may be repeated [default: the whole deployment]
    #[arg(long = "merchant", value_name = "ID")]
    pub(crate) merchants: Vec<MerchantId>,
    /// How much the role support may refund in 24 hours, such as EUR=500.00; may be repeated
    #[arg(long = "refund-limit", value_name = "CODE=AMOUNT", value_parser = amount)]
    pub(crate) refund_limits: Vec<Amount>,
    #[command(flatten)]
    pub(crate) panel: PanelAddress,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct SetRole {
    /// E-mail address
    pub(crate) email: String,
    /// viewer, support, reviewer, developer or owner, in place of all that it has; may be repeated
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = OperatorRole::from_str)]
    pub(crate) roles: Vec<OperatorRole>,
    /// MerchantId whose payments it sees; may be repeated [default: as it is]
    #[arg(long = "merchant", value_name = "ID", conflicts_with = "whole_deployment")]
    pub(crate) merchants: Vec<MerchantId>,
    /// It sees the payments of every merchant
    #[arg(long)]
    pub(crate) whole_deployment: bool,
    /// How much the role support may refund in 24 hours, such as EUR=500.00, in place of all limits; may be repeated [default: as it is]
    #[arg(long = "refund-limit", value_name = "CODE=AMOUNT", value_parser = amount)]
    pub(crate) refund_limits: Vec<Amount>,
    #[command(flatten)]
    pub(crate) output: Output,
}

fn amount(text: &str) -> Result<Amount, String> {
    let (code, number) = text.split_once('=').ok_or("must be like EUR=500.00")?;
    format!("{number} {code}").parse().map_err(|error| format!("{error}"))
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &OperatorCommand) -> Result<(), Failure> {
    match command {
        OperatorCommand::List(output) => list(store, *output).await,
        OperatorCommand::Show { email, output } => show(&find(store, email).await?, *output),
        OperatorCommand::Invite(wanted) => invite(cli, store, wanted).await,
        OperatorCommand::Disable { email, output } => {
            let account = find(store, email).await?;
            let (operators, acting) = (open(cli, store).await?, acting(cli)?);
            operators.disable(ManagedBy::CommandLine(&acting), account.operator.id).await.map_err(explain)?;
            tell(*output, store, email, "is shut out; its sessions have ended.").await
        }
        OperatorCommand::Enable { email, output } => {
            let account = find(store, email).await?;
            let (operators, acting) = (open(cli, store).await?, acting(cli)?);
            let by = ManagedBy::CommandLine(&acting);
            let done = match operators.enable(by, account.operator.id).await.map_err(explain)? {
                OperatorState::Invited => {
                    "is enabled and has no password: `dropin operator reset-authenticator` makes a new link."
                }
                OperatorState::Active | OperatorState::Disabled => "is let in again.",
            };
            tell(*output, store, email, done).await
        }
        OperatorCommand::ResetAuthenticator { email, panel, output } => {
            let account = find(store, email).await?;
            let (operators, acting) = (open(cli, store).await?, acting(cli)?);
            let by = ManagedBy::CommandLine(&acting);
            let reset = operators.reset(by, account.operator.id).await.map_err(explain)?;
            say_link(&reset, panel, *output)
        }
        OperatorCommand::SetRole(wanted) => set_role(cli, store, wanted).await,
    }
}

/// The use cases, with the deployment's key.
async fn open(cli: &Cli, store: &Store) -> Result<Operators, Failure> {
    let key = MasterKey::of_deployment(&cli.keys.folder(&cli.store.data), store).await?;
    join_deployment(store, None, Some(key.id())).await?;
    // No command signs anybody in.
    let (policy, cost) = (SecondFactorPolicy::Required, PasswordCost::OWASP);
    let store = Arc::new(store.clone());
    Ok(Operators::new(store, Arc::new(key), Arc::new(SystemClock), Arc::new(SystemIds), policy, cost))
}

async fn find(store: &Store, email: &str) -> Result<OperatorAccount, Failure> {
    let found = store.find_operator_by_email(&email_key(email)).await?;
    found.ok_or_else(|| explain(ManageError::NoOperator))
}

/// Says what to do about it, in the words of the command line.
fn explain(error: ManageError) -> Failure {
    match error {
        ManageError::Invalid(violations) => violations.iter().map(in_flags).collect::<Vec<_>>().join("\n").into(),
        ManageError::NoOperator => format!("{error}; `dropin operator list` shows them all").into(),
        ManageError::DuplicateEmail => {
            format!("{error}; `dropin operator reset-authenticator` gives it a new link").into()
        }
        ManageError::NoMerchant => format!("{error}; `dropin merchant list` shows them all").into(),
        other => other.into(),
    }
}

fn in_flags(violation: &Violation) -> String {
    let flag = match violation.field.as_str() {
        "Name" => "--name",
        "Email" => "--email",
        "Roles" => "--role",
        other => other,
    };
    format!("{flag} {}", violation.message)
}

fn limits(amounts: &[Amount]) -> Result<RefundLimits, Failure> {
    RefundLimits::new(amounts.iter().cloned())
        .ok_or_else(|| "--refund-limit must name each currency once, with 0 or more".to_owned().into())
}

async fn invite(cli: &Cli, store: &Store, wanted: &InviteOperator) -> Result<(), Failure> {
    let rights = OperatorRights {
        roles: wanted.roles.iter().copied().collect(),
        scope: OperatorScope::of_merchants(wanted.merchants.iter().copied()).unwrap_or(OperatorScope::Deployment),
        refund_limits: limits(&wanted.refund_limits)?,
    };
    let new = NewOperator { name: wanted.name.clone(), email: wanted.email.clone(), rights };
    let (operators, acting) = (open(cli, store).await?, acting(cli)?);
    let invited = operators.invite(ManagedBy::CommandLine(&acting), new).await.map_err(explain)?;
    say_link(&invited, &wanted.panel, wanted.output)
}

fn say_link(invited: &OperatorInvitation, panel: &PanelAddress, output: Output) -> Result<(), Failure> {
    let OperatorInvitation { operator, link: InvitationLink { token, expires_at } } = invited;
    let link = format!("{}/accept?token={token}", panel.panel_url.trim_end_matches('/'));
    if output.json {
        let mut shown = of_operator(operator);
        shown.insert("Link".to_owned(), link.into());
        shown.insert("LinkExpiresAt".to_owned(), expires_at.to_string().into());
        return say(&Value::from(shown).to_string());
    }
    say(&format!(
        "Give this link to {} alone, by a way that nobody else reads. It works once, until {expires_at}:\n{link}",
        operator.email.as_str()
    ))
}

async fn set_role(cli: &Cli, store: &Store, wanted: &SetRole) -> Result<(), Failure> {
    let account = find(store, &wanted.email).await?;
    let before = account.operator.rights;
    let scope = match OperatorScope::of_merchants(wanted.merchants.iter().copied()) {
        Some(scope) => scope,
        None if wanted.whole_deployment => OperatorScope::Deployment,
        None => before.scope,
    };
    let refund_limits = match wanted.refund_limits.as_slice() {
        [] => before.refund_limits,
        some => limits(some)?,
    };
    let roles = wanted.roles.iter().copied().collect::<OperatorRoles>();
    let rights = OperatorRights { roles, scope, refund_limits };
    let (operators, acting) = (open(cli, store).await?, acting(cli)?);
    let by = ManagedBy::CommandLine(&acting);
    operators.set_rights(by, account.operator.id, rights).await.map_err(explain)?;
    show(&find(store, &wanted.email).await?, wanted.output)
}

async fn list(store: &Store, output: Output) -> Result<(), Failure> {
    let all = store.list_operators().await?;
    if output.json {
        return say(&Value::from_iter(all.iter().map(of_account)).to_string());
    }
    let lines = all.iter().map(|OperatorAccount { operator, .. }| {
        let scope = match &operator.rights.scope {
            OperatorScope::Deployment => "whole deployment".to_owned(),
            OperatorScope::Merchants(merchants) => format!("{} merchants", merchants.len()),
        };
        let (state, roles) = (operator.state, operator.rights.roles.to_string());
        format!("{}  {state:<8}  {roles}  {scope}  {}", operator.email.as_str(), operator.name.as_str())
    });
    say_lines(lines, "There is no operator yet; invite one with `dropin operator invite`.")
}

fn show(account: &OperatorAccount, output: Output) -> Result<(), Failure> {
    let shown = of_account(account);
    say(&if output.json { shown.to_string() } else { serde_json::to_string_pretty(&shown)? })
}

async fn tell(output: Output, store: &Store, email: &str, what: &str) -> Result<(), Failure> {
    let account = find(store, email).await?;
    if output.json { show(&account, output) } else { say(&format!("{} {what}", account.operator.email.as_str())) }
}

fn of_operator(operator: &Operator) -> Map<String, Value> {
    let limits = operator.rights.refund_limits.iter();
    let limits = limits.map(|limit| (limit.currency().code().to_owned(), limit.to_string().into()));
    let merchants = match &operator.rights.scope {
        OperatorScope::Deployment => Value::Null,
        OperatorScope::Merchants(merchants) => Value::from_iter(merchants.iter().map(ToString::to_string)),
    };
    let members = [
        ("OperatorId", operator.id.to_string().into()),
        ("Name", operator.name.as_str().into()),
        ("Email", operator.email.as_str().into()),
        ("State", operator.state.as_str().into()),
        ("Roles", Value::from_iter(operator.rights.roles.iter().map(OperatorRole::as_str))),
        ("WholeDeployment", operator.rights.scope.is_deployment().into()),
        ("Merchants", merchants),
        ("RefundLimits", Value::Object(limits.collect())),
        ("CreatedAt", operator.created_at.to_string().into()),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn of_account(account: &OperatorAccount) -> Value {
    let mut shown = of_operator(&account.operator);
    shown.insert("Authenticator".to_owned(), json!(account.credentials.authenticator.is_some()));
    shown.insert("RecoveryCodesLeft".to_owned(), account.credentials.recovery_codes_left.into());
    shown.into()
}
