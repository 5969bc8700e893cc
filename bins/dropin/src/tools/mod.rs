//! The commands beside serving: short programs that write to the store, also while a service runs on it.

mod ledger;
mod merchant;
mod notification;
mod operations;
mod order;
mod processor;
mod rates;
mod wallet;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dropin_boot::{Failure, SystemClock, SystemIds};
use dropin_ports::{Secrets, StoreHealth};
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::Merchants;

use crate::cli::{Cli, Command, LedgerCommand, MerchantCommand, OpCommand, OrderCommand, RatesCommand};
use crate::files;

pub(crate) use wallet::setup as wallet_setup;

/// Most rows that a list shows.
const MOST: u32 = 1_000;

/// Runs one command.
pub(crate) async fn run(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let outcome = attempt(cli, command).await;
    match (command, outcome) {
        // Its exit status tells books that do not fit from books that nobody could read.
        (Command::Ledger(LedgerCommand::Verify(_)), Err(failure)) => {
            writeln!(io::stderr(), "error: {failure}")?;
            Ok(ExitCode::from(ledger::NOT_COMPARED))
        }
        (_, outcome) => outcome,
    }
}

async fn attempt(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let store = open(cli, command)?;
    let outcome = perform(cli, command, &store).await;
    store.close();
    outcome
}

async fn perform(cli: &Cli, command: &Command, store: &Store) -> Result<ExitCode, Failure> {
    if !matches!(command, Command::Migrate) {
        // Says what to do about a schema that is missing or too old.
        store.ready().await?;
    }
    match command {
        Command::Migrate => migrate(store),
        Command::Merchant(command) => merchant::run(cli, store, command).await,
        Command::Notification(command) => notification::run(store, command).await,
        Command::Op(OpCommand::List(wanted)) => operations::list(store, wanted).await,
        Command::Order(OrderCommand::Show { id, output }) => order::show(store, *id, *output).await,
        Command::Order(OrderCommand::Review(wanted)) => order::review(cli, store, wanted).await,
        Command::Wallet(command) => wallet::run(cli, store, command).await,
        Command::Rates(RatesCommand::Show(output)) => rates::show(store, *output).await,
        Command::Ledger(LedgerCommand::Verify(wanted)) => return ledger::verify(cli, store, wanted).await,
    }
    .map(|()| ExitCode::SUCCESS)
}

/// Whether the command may be the first one on a deployment. Any other that finds no database was given a wrong place.
fn may_be_first(command: &Command) -> bool {
    matches!(command, Command::Migrate | Command::Merchant(MerchantCommand::Create(_)))
}

fn open(cli: &Cli, command: &Command) -> Result<Store, Failure> {
    let url = cli.store.url()?;
    if let Some(path) = url.strip_prefix("sqlite://") {
        if !may_be_first(command) && !Path::new(path).exists() {
            let advice = "give the service's --data folder or DATABASE_URL, or make a database with `dropin migrate`";
            return Err(format!("there is no database at {path}: {advice}").into());
        }
        if cli.store.database_url.is_none() && cli.store.database_url_file.is_none() {
            files::make_folder(&cli.store.data)?;
        }
    }
    Ok(Store::open(StoreConfig::new(url, Role::Tool))?)
}

/// The operator's side of merchant accounts, on this deployment.
pub(crate) fn merchants(cli: &Cli, store: &Store, secrets: Arc<dyn Secrets>) -> Merchants {
    Merchants {
        store: Arc::new(store.clone()),
        outbox: Arc::new(store.clone()),
        secrets,
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        targets: cli.serve.delivery.webhook.policy(cli.mode.mode),
    }
}

fn migrate(store: &Store) -> Result<(), Failure> {
    match store.migrate()?.as_slice() {
        [] => say("The schema is up to date."),
        applied => say(&format!("Applied {}. The schema is up to date.", applied.join(", "))),
    }
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

fn say_lines(lines: impl Iterator<Item = String>, none: &str) -> Result<(), Failure> {
    let lines: Vec<_> = lines.collect();
    say(&if lines.is_empty() { none.to_owned() } else { lines.join("\n") })
}
