//! `dropin merchant credentials …`: accounts that merchants have of their own at processors. The rules are the use cases'.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use dropin_boot::{Failure, Secret, SystemClock, SystemIds, join_deployment, read_event_secrets};
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_keyring::{MasterKey, MasterKeyError};
use dropin_ports::ProcessorAccount;
use dropin_store::Store;
use dropin_usecases::access::{ProcessorAccountError, ProcessorAccountSecrets, ProcessorAccounts};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{Cli, Output, acting, say, say_lines};
use crate::cli::processor::{self, ProcessorFlags};

/// Longest key that is read: Stripe's have some hundred characters.
const MAX_KEY_BYTES: u64 = 4_096;

#[derive(Debug, Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Set the key of an account, or another key of the same account; running services follow within two seconds
    Set(SetCredentials),
    /// Show a merchant's accounts; never a key
    List {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Take an account away that no rule names, and that no Order, contract or dispute needs any more
    Remove {
        /// MerchantId
        id: MerchantId,
        /// The account's name, such as stripe.acme
        name: ProcessorId,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SetCredentials {
    /// MerchantId
    pub(crate) id: MerchantId,
    /// The account's name for ever: that of the deployment's processor it is at, a dot, and a word, such as stripe.acme
    pub(crate) name: ProcessorId,
    /// File with the key that the processor knows the account by, readable by this user alone; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: PathBuf,
    /// File with the secrets that the processor signs the account's events with, one a line; it sends them to /v1/processor/NAME/event below {checkout_url}
    #[arg(long, value_name = "FILE")]
    pub(crate) events_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &CredentialsCommand) -> Result<(), Failure> {
    match command {
        CredentialsCommand::Set(wanted) => set(cli, store, wanted).await,
        CredentialsCommand::List { id, output } => {
            let found = accounts(cli, store).await?.list(*id).await?;
            if output.json {
                return say(&Value::from_iter(found.iter().map(of)).to_string());
            }
            let lines = found.iter().map(line);
            say_lines(lines, "It has no account of its own; set the key of one with `dropin merchant credentials set`.")
        }
        CredentialsCommand::Remove { id, name, output } => {
            accounts(cli, store).await?.remove(*id, name).await.map_err(|error| explain(error, *id))?;
            let shown = json!({ "MerchantId": id.to_string(), "Name": name.as_str(), "Removed": true });
            tell(*output, &shown, || {
                format!(
                    "No payment begins at {name} any more. The settler deletes its key an hour from now, once nothing needs it."
                )
            })
        }
    }
}

async fn accounts(cli: &Cli, store: &Store) -> Result<ProcessorAccounts, Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let key = MasterKey::open(&folder)?.ok_or(MasterKeyError::Elsewhere(folder))?;
    join_deployment(store, Some(&cli.mode), Some(key.id())).await?;
    Ok(ProcessorAccounts {
        store: Arc::new(store.clone()),
        secrets: Arc::new(key),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        by: acting(cli)?,
    })
}

async fn set(cli: &Cli, store: &Store, wanted: &SetCredentials) -> Result<(), Failure> {
    let SetCredentials { id, name, key_file, events_file, output } = wanted;
    let accounts = accounts(cli, store).await?;
    if !name.is_account() {
        return Err(explain(ProcessorAccountError::NoAccountName(name.clone()), *id));
    }
    let key = read_key(key_file)?;
    let events = match events_file {
        Some(file) => read_event_secrets(file)?,
        None => Secret::new(String::new()),
    };
    if let Some(file) = events_file.as_ref().filter(|_| events.expose().is_empty()) {
        return Err(format!("--events-file {} holds no secret: leave it out for none", file.display()).into());
    }
    // The processor says whether it is a key, and of which account: no other way tells that a key of another account takes no place of this one's.
    let clients = processor::account_clients(cli, &ProcessorFlags::default(), accounts.secrets.clone(), store)?;
    let client = clients.client(&name.processor(), &key)?;
    let account = client.find_account().await?;
    let given = ProcessorAccountSecrets {
        key: Zeroizing::new(key.expose().to_owned()),
        events: Zeroizing::new(events.expose().to_owned()),
    };
    let set = accounts.set(*id, name, account, &given).await.map_err(|error| explain(error, *id))?;
    tell(*output, &of(&set), || {
        format!(
            "{name} is the account {} at {}. Running services use the key within two seconds; payments go there as soon as a rule names it: \
             `dropin merchant processor set {id} --rule {name}`. The key is kept encrypted: delete its file if nothing else needs it.",
            set.account,
            name.processor()
        )
    })
}

/// A key from a private file, or from standard input for `-`.
fn read_key(file: &Path) -> Result<Secret, Failure> {
    let text = if file == Path::new("-") {
        let mut text = Zeroizing::new(String::new());
        let read = std::io::stdin().take(MAX_KEY_BYTES).read_to_string(&mut text);
        read.map_err(|error| format!("cannot read the key from standard input: {error}"))?;
        text
    } else {
        Zeroizing::new(dropin_private_file::read(file)?.to_string())
    };
    let key = text.trim();
    if key.is_empty() || key.chars().any(char::is_whitespace) {
        return Err("--key-file has to hold the key, in one line and alone".into());
    }
    Ok(Secret::new(key.to_owned()))
}

/// Says what to do about it, in the words of the command line.
fn explain(error: ProcessorAccountError, merchant: MerchantId) -> Failure {
    let advice = match &error {
        ProcessorAccountError::NoMerchant => "`dropin merchant list` shows them all".to_owned(),
        ProcessorAccountError::AccountTaken | ProcessorAccountError::Missing(_) => {
            format!("`dropin merchant credentials list {merchant}` shows the merchant's")
        }
        ProcessorAccountError::Named(_) => {
            format!("change the rules first with `dropin merchant processor set {merchant}` or `clear`")
        }
        ProcessorAccountError::InUse(_) => {
            "the key is kept until they are over; to use another key of the same account, set that".to_owned()
        }
        _ => return error.into(),
    };
    format!("{error}; {advice}").into()
}

fn tell(output: Output, json: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
    say(&if output.json { json.to_string() } else { text() })
}

fn line(account: &ProcessorAccount) -> String {
    let events = if account.has_events { "with secrets of events" } else { "without secrets of events" };
    format!("{:<32}  {}  set at {}, {events}", account.processor, account.account, account.set_at)
}

fn of(account: &ProcessorAccount) -> Value {
    json!({
        "MerchantId": account.merchant_id.to_string(),
        "Name": account.processor.as_str(),
        "Processor": account.processor.processor().as_str(),
        "Account": account.account,
        "HasEventSecrets": account.has_events,
        "SetAt": account.set_at.to_string(),
    })
}

/// The names of the merchant's accounts, for its rules.
pub(super) async fn names(store: &Store, merchant: MerchantId) -> Result<Vec<ProcessorId>, Failure> {
    let found = dropin_ports::ProcessorAccountStore::list_processor_accounts(store, Some(merchant)).await?;
    Ok(found.into_iter().filter(|account| account.removed_at.is_none()).map(|account| account.processor).collect())
}
