//! The commands beside serving: short programs that write to the store, also while a service runs on it.

mod merchant;
mod notification;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dropin_boot::{Failure, Mode, SystemClock, SystemIds};
use dropin_ports::{PaymentStore, Secrets, StoreHealth};
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::Merchants;
use serde_json::{Value, json};

use crate::cli::{Cli, Command, MerchantCommand, NotificationCommand, NotificationState, OpCommand, Output};
use crate::files;

/// Most rows that a list shows.
const MOST: u32 = 1_000;

/// Runs one command.
pub(crate) async fn run(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let store = open(cli, command)?;
    let outcome = perform(cli, command, &store).await;
    store.close();
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn perform(cli: &Cli, command: &Command, store: &Store) -> Result<(), Failure> {
    if !matches!(command, Command::Migrate) {
        // Says what to do about a schema that is missing or too old.
        store.ready().await?;
    }
    match command {
        Command::Migrate => migrate(store),
        Command::Merchant(command) => merchant::run(cli, store, command).await,
        Command::Notification(NotificationCommand::List { state: NotificationState::Parked, output }) => {
            notification::list_parked(store, *output).await
        }
        Command::Notification(NotificationCommand::Replay(wanted)) => notification::replay(store, wanted).await,
        Command::Op(OpCommand::List(output)) => list_operations(store, *output).await,
    }
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
        sandbox: cli.mode.mode == Mode::Sandbox,
    }
}

fn migrate(store: &Store) -> Result<(), Failure> {
    match store.migrate()?.as_slice() {
        [] => say("The schema is up to date."),
        applied => say(&format!("Applied {}. The schema is up to date.", applied.join(", "))),
    }
}

async fn list_operations(store: &Store, output: Output) -> Result<(), Failure> {
    let open = store.list_open_operations(MOST).await?;
    if output.json {
        let rows = open.iter().map(|operation| {
            json!({
                "OperationId": operation.id.to_string(),
                "OrderId": operation.order_id.to_string(),
                "Kind": operation.kind.as_str(),
                "State": operation.state.as_str(),
                "Amount": operation.amount.to_string(),
                "Currency": operation.amount.currency().code(),
                "Tries": operation.tries,
                "CreatedAt": operation.created_at.to_string(),
                "DueAt": operation.due_at.to_string(),
            })
        });
        return say(&Value::from_iter(rows).to_string());
    }
    let lines = open.iter().map(|operation| {
        let (state, kind, currency) = (operation.state.as_str(), operation.kind.as_str(), operation.amount.currency());
        format!(
            "{}  {}  order {}  {kind}  {} {currency}  {state}  {} tries",
            operation.id, operation.created_at, operation.order_id, operation.amount, operation.tries
        )
    });
    say_lines(lines, "Every operation has a known outcome.")
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

fn say_lines(lines: impl Iterator<Item = String>, none: &str) -> Result<(), Failure> {
    let lines: Vec<_> = lines.collect();
    say(&if lines.is_empty() { none.to_owned() } else { lines.join("\n") })
}
