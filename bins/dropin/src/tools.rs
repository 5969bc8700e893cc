//! The commands beside serving: short programs that write to the store, also while a service runs on it.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use dropin_access::{Endpoint, Merchant};
use dropin_boot::{Failure, Mode, SystemClock, SystemIds};
use dropin_kernel::{EventId, MerchantId};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{AccessStore, Clock, OutboxStore, ParkedEvent, PaymentStore, StoreHealth};
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{CreateMerchant, Merchants};
use dropin_validation::{UrlPolicy, WebUrl};
use serde_json::{Value, json};

use crate::cli::{self, Cli, Command, MerchantCommand, NotificationCommand, NotificationState, OpCommand, Output};
use crate::demo::Credentials;
use crate::files;

/// Most rows that a list shows.
const MOST: u32 = 1_000;

/// Runs one command.
pub(crate) async fn run(cli: &Cli, command: &Command) -> Result<ExitCode, Failure> {
    let store = open(cli)?;
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
        Command::Merchant(MerchantCommand::Create(wanted)) => create_merchant(cli, store, wanted).await,
        Command::Merchant(MerchantCommand::List(output)) => list_merchants(store, *output).await,
        Command::Merchant(MerchantCommand::Show { id, output }) => show_merchant(store, *id, *output).await,
        Command::Notification(NotificationCommand::List { state: NotificationState::Parked, output }) => {
            list_parked(store, *output).await
        }
        Command::Notification(NotificationCommand::Replay(wanted)) => replay(store, wanted.id).await,
        Command::Op(OpCommand::List(output)) => list_operations(store, *output).await,
    }
}

fn open(cli: &Cli) -> Result<Store, Failure> {
    let url = cli.store.url()?;
    if url.starts_with("sqlite://") && cli.store.database_url.is_none() && cli.store.database_url_file.is_none() {
        files::make_folder(&cli.store.data)?;
    }
    Ok(Store::open(StoreConfig::new(url, Role::Tool))?)
}

fn migrate(store: &Store) -> Result<(), Failure> {
    match store.migrate()?.as_slice() {
        [] => say("The schema is up to date."),
        applied => say(&format!("Applied {}. The schema is up to date.", applied.join(", "))),
    }
}

/// The operator's side of merchant accounts.
pub(crate) fn merchants(store: &Store, secrets: Arc<MasterKey>) -> Merchants {
    Merchants { store: Arc::new(store.clone()), secrets, clock: Arc::new(SystemClock), ids: Arc::new(SystemIds) }
}

async fn create_merchant(cli: &Cli, store: &Store, wanted: &cli::CreateMerchant) -> Result<(), Failure> {
    let policy = match cli.mode.mode {
        Mode::Sandbox => UrlPolicy::Sandbox,
        Mode::Production => UrlPolicy::Production,
    };
    let webhook_url = match &wanted.webhook_url {
        Some(url) => Some(
            WebUrl::parse("--webhook-url", url, policy)
                .map_err(|violation| format!("{} {}", violation.field, violation.message))?,
        ),
        None => None,
    };
    if policy == UrlPolicy::Production && webhook_url.as_ref().is_some_and(|url| !url.as_str().starts_with("https://"))
    {
        return Err("--webhook-url has to begin with https:// in production".into());
    }
    let name = wanted.name.trim();
    if name.is_empty() || 255 < name.chars().count() || name.chars().any(char::is_control) {
        return Err("--name has to have 1 to 255 characters and no control characters".into());
    }
    let currencies = if wanted.currencies.is_empty() { Currency::ALL.to_vec() } else { wanted.currencies.clone() };
    let master = Arc::new(MasterKey::open_or_create(&cli.keys.folder(&cli.store.data))?);
    let created = merchants(store, master)
        .create(CreateMerchant {
            name: name.to_owned(),
            webhook_url: webhook_url.map(|url| url.as_str().to_owned()),
            origins: wanted.origins.clone(),
            currencies,
        })
        .await?;
    let credentials = Credentials::from(created);
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

async fn list_merchants(store: &Store, output: Output) -> Result<(), Failure> {
    let merchants = store.list_merchants().await?;
    if output.json {
        return say(&Value::from_iter(merchants.iter().map(|merchant| merchant_json(merchant, &[]))).to_string());
    }
    let lines = merchants.iter().map(|merchant| format!("{}  {}  {}", merchant.id, merchant.created_at, merchant.name));
    say_lines(lines, "There is no merchant yet; create one with `dropin merchant create --name NAME`.")
}

async fn show_merchant(store: &Store, id: MerchantId, output: Output) -> Result<(), Failure> {
    let merchant = store
        .find_merchant(id)
        .await?
        .ok_or("there is no merchant with this id; `dropin merchant list` shows them all")?;
    let endpoints = store.list_endpoints(id).await?;
    let shown = merchant_json(&merchant, &endpoints);
    say(&if output.json { shown.to_string() } else { serde_json::to_string_pretty(&shown)? })
}

fn merchant_json(merchant: &Merchant, endpoints: &[Endpoint]) -> Value {
    json!({
        "MerchantId": merchant.id.to_string(),
        "Name": merchant.name,
        "CreatedAt": merchant.created_at.to_string(),
        "Currencies": Value::from_iter(merchant.currencies.iter().map(|currency| currency.code())),
        "Origins": Value::from_iter(merchant.origins.iter().map(|origin| origin.as_str())),
        "Endpoints": Value::from_iter(endpoints.iter().map(|endpoint| {
            json!({ "EndpointId": endpoint.id.to_string(), "Url": endpoint.url })
        })),
    })
}

async fn list_parked(store: &Store, output: Output) -> Result<(), Failure> {
    let parked = store.list_parked(MOST).await?;
    if output.json {
        let rows = parked.iter().map(|event| {
            json!({
                "EventId": event.event_id.to_string(),
                "EventType": event.event_type,
                "MerchantId": event.merchant_id.to_string(),
                "EndpointId": event.endpoint_id.to_string(),
                "PaymentId": event.payment_id.to_string(),
                "Attempts": event.attempts,
                "ParkedAt": event.parked_at.to_string(),
            })
        });
        return say(&Value::from_iter(rows).to_string());
    }
    let lines = parked.iter().map(|event| {
        let ParkedEvent { event_id, parked_at, merchant_id, event_type, attempts, .. } = event;
        format!("{event_id}  {parked_at}  merchant {merchant_id}  {event_type}  {attempts} tries")
    });
    say_lines(lines, "No notification is parked.")
}

/// One notification, or all that are parked.
async fn replay(store: &Store, wanted: Option<EventId>) -> Result<(), Failure> {
    let now = SystemClock.now();
    let mut replayed = 0;
    loop {
        let parked = store.list_parked(MOST).await?;
        let chosen = parked.iter().filter(|event| wanted.is_none_or(|id| id == event.event_id));
        let before = replayed;
        for event in chosen {
            replayed += u32::from(store.replay_parked(event.event_id, event.endpoint_id, now).await?);
        }
        if replayed == before {
            break;
        }
    }
    match (replayed, wanted) {
        (0, Some(id)) => {
            Err(format!("{id} is not parked; `dropin notification list --state parked` shows what is").into())
        }
        (1, _) => say("1 notification is sent again."),
        (count, _) => say(&format!("{count} notifications are sent again.")),
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
