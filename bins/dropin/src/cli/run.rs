//! The commands beside serving: short programs that write to the store, also while a service runs on it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_boot::{Failure, SystemClock, SystemIds, report_failure};
use dropin_ports::{Acting, AuditSubject, Secrets, StoreHealth};
use dropin_store::{Deployment, Role, Store};
use dropin_usecases::access::Merchants;
use dropin_wire::audit_log::Document;

use super::assets::AssetsCommand;
use super::ledger::{self, LedgerCommand};
use super::merchant::{self, MerchantCommand};
use super::operations::{self, OpCommand};
use super::operator::{self, OperatorCommand};
use super::order::{self, OrderCommand};
use super::rates::{self, RatesCommand};
use super::screening::{self, ScreeningCommand};
use super::{
    Cli, Command, DeploymentCommand, acting, assets, audit_log, contract, dispute, doctor, keys, ledger_import, listen,
    notification, say, trigger, wallet,
};
use crate::files;

/// Runs one command.
pub(crate) async fn run(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let outcome = attempt(cli, command).await;
    match (command, outcome) {
        // The exit status tells a ledger that does not agree from one that could not be compared.
        (Command::Ledger(_), Err(failure)) => {
            report_failure(&failure.to_string());
            Ok(ExitCode::from(ledger::NOT_COMPARED))
        }
        (Command::Assets(AssetsCommand::Verify(_)), Err(failure)) => {
            report_failure(&failure.to_string());
            Ok(ExitCode::from(assets::NOT_COMPARED))
        }
        (Command::Screening(ScreeningCommand::Check(_)), Err(failure)) => {
            report_failure(&failure.to_string());
            Ok(ExitCode::from(screening::NOT_CHECKED))
        }
        (_, outcome) => outcome,
    }
}

async fn attempt(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let outcome = match command {
        // What needs no store does not ask for one.
        Command::Doctor(wanted) => return doctor::run(cli, *wanted).await,
        Command::Grants(wanted) => say(dropin_store::grants(&wanted.role, &wanted.database).trim_end()),
        Command::Listen(wanted) => listen::run(cli, wanted).await,
        Command::Contract(wanted) => contract::run(cli, wanted).await,
        Command::Assets(AssetsCommand::List(output)) => assets::list(*output),
        Command::Assets(AssetsCommand::Verify(wanted)) => return assets::verify(wanted).await,
        Command::Screening(ScreeningCommand::Check(wanted)) => return screening::check(cli, wanted),
        Command::Trigger(wanted) if wanted.list => trigger::list(wanted.output),
        Command::Migrate => with_store(open(cli, command)?, async |store| migrate(store)).await,
        Command::Ledger(LedgerCommand::Verify(wanted)) => {
            return with_ready(open(cli, command)?, async |store| ledger::verify(cli, store, wanted).await).await;
        }
        Command::Ledger(LedgerCommand::Import(wanted)) => {
            return with_ready(open(cli, command)?, async |store| ledger_import::import(cli, store, wanted).await)
                .await;
        }
        Command::Audit(wanted) => {
            return with_ready(open(cli, command)?, async |store| audit_log::run(cli, store, wanted).await).await;
        }
        Command::Keys(wanted) => {
            return with_ready(open(cli, command)?, async |store| keys::run(cli, store, wanted).await).await;
        }
        Command::Deployment(wanted) => {
            with_ready(open(cli, command)?, async |store| deployment(cli, store, *wanted).await).await
        }
        Command::Merchant(wanted) => {
            with_ready(open(cli, command)?, async |store| merchant::run(cli, store, wanted).await).await
        }
        Command::Notification(wanted) => {
            with_ready(open(cli, command)?, async |store| notification::run(cli, store, wanted).await).await
        }
        Command::Trigger(wanted) => {
            with_ready(open(cli, command)?, async |store| trigger::run(cli, store, wanted).await).await
        }
        Command::Op(OpCommand::List(wanted)) => {
            with_ready(open(cli, command)?, async |store| operations::list(store, wanted).await).await
        }
        Command::Order(OrderCommand::Show { id, output }) => {
            with_ready(open(cli, command)?, async |store| order::show(store, *id, *output).await).await
        }
        Command::Order(OrderCommand::Review(wanted)) => {
            with_ready(open(cli, command)?, async |store| order::review(cli, store, wanted).await).await
        }
        Command::Dispute(wanted) => {
            with_ready(open(cli, command)?, async |store| dispute::run(cli, store, wanted).await).await
        }
        Command::Operator(wanted) => {
            with_ready(open(cli, command)?, async |store| operator::run(cli, store, wanted).await).await
        }
        Command::Screening(ScreeningCommand::Rules(wanted)) => {
            with_ready(open(cli, command)?, async |store| screening::rules(cli, store, wanted).await).await
        }
        Command::Screening(ScreeningCommand::DryRun(wanted)) => {
            with_ready(open(cli, command)?, async |store| screening::dry_run(cli, store, wanted).await).await
        }
        Command::Screening(ScreeningCommand::Report(wanted)) => {
            with_ready(open(cli, command)?, async |store| screening::report(store, wanted).await).await
        }
        Command::Wallet(wanted) => {
            with_ready(open(cli, command)?, async |store| wallet::run(cli, store, wanted).await).await
        }
        Command::Rates(RatesCommand::Show(output)) => {
            with_ready(open(cli, command)?, async |store| rates::show(store, *output).await).await
        }
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Runs a command on the store, and closes it.
async fn with_store<T>(store: Store, run: impl AsyncFnOnce(&Store) -> Result<T, Failure>) -> Result<T, Failure> {
    let outcome = run(&store).await;
    store.close();
    outcome
}

/// The same for a command that needs the schema, which says what to do about one that is missing or too old.
async fn with_ready<T>(store: Store, run: impl AsyncFnOnce(&Store) -> Result<T, Failure>) -> Result<T, Failure> {
    with_store(store, async |store| {
        store.ready().await?;
        run(store).await
    })
    .await
}

/// Whether the command may be the first one on a deployment. Any other that finds no database was given a wrong place.
fn may_be_first(command: &Command) -> bool {
    matches!(
        command,
        Command::Migrate
            | Command::Merchant(MerchantCommand::Create(_))
            | Command::Operator(OperatorCommand::Invite(_))
    )
}

pub(super) fn no_database(path: &str) -> Failure {
    let advice = "give the service's --data folder or DATABASE_URL, or make a database with `dropin migrate`";
    format!("there is no database at {path}: {advice}").into()
}

fn open(cli: &Cli, command: &Command) -> Result<Store, Failure> {
    let url = cli.store.url()?;
    if let Some(path) = url.strip_prefix("sqlite://") {
        if !may_be_first(command) && !Path::new(path).exists() {
            return Err(no_database(path));
        }
        if !Path::new(path).exists() {
            log::warn!(
                "there is no database at {path}: making a new one; where the deployment has one already, give its --data folder or DATABASE_URL"
            );
        }
        if cli.store.database_url.is_none() && cli.store.database_url_file.is_none() {
            files::make_folder(&cli.store.data)?;
            files::check_writable(&cli.store.data)?;
        }
    }
    cli.store.open(Role::Tool)
}

/// The operator's side of merchant accounts, on this deployment.
pub(crate) fn merchants(cli: &Cli, store: &Store, secrets: Arc<dyn Secrets>, by: Acting) -> Merchants {
    Merchants {
        store: Arc::new(store.clone()),
        outbox: Arc::new(store.clone()),
        secrets,
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        targets: cli.serve.delivery.webhook.policy(cli.mode.mode()),
        by,
    }
}

fn migrate(store: &Store) -> Result<(), Failure> {
    match store.migrate()?.as_slice() {
        [] => say("The schema is up to date."),
        applied => say(&format!("Applied {}. The schema is up to date.", applied.join(", "))),
    }
}

async fn deployment(cli: &Cli, store: &Store, wanted: DeploymentCommand) -> Result<(), Failure> {
    let DeploymentCommand { forget_mode, forget_key } = wanted;
    if forget_mode || forget_key {
        let Deployment { mode, master_key } = store.find_deployment().await?;
        let writer = acting::writer(cli)?;
        let entry = writer.entry(None, AuditAction::DeploymentForget, AuditSubject::deployment());
        let before = Document::new().optional("Mode", mode).optional("MasterKeyFingerprint", master_key);
        let after = Document::new().flag("ForgetMode", forget_mode).flag("ForgetKey", forget_key);
        let entry = entry.with_before(before.finish()).with_after(after.finish());
        store.forget_deployment(forget_mode, forget_key, entry).await?;
    }
    let Deployment { mode, master_key } = store.find_deployment().await?;
    let unknown = "none yet: the next service that starts writes it down";
    let unchosen = "none yet: the next service that starts with DROPIN_MODE writes it down";
    let (mode, key) = (mode.map_or(unchosen, |mode| mode.as_str()), master_key.as_deref().unwrap_or(unknown));
    say(&format!("Mode: {mode}\nFingerprint of the master key: {key}"))
}
