//! `dropin keys …`: the long-lived keys, and rotating them while the services run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dropin_boot::{Failure, SystemClock, join_deployment};
use dropin_keyring::{CredentialKeys, KeyInfo, MasterKey, MasterKeyError, RELOAD_INTERVAL};
use dropin_ports::{Clock, KeyringError, SealedValue};
use dropin_store::Store;
use dropin_usecases::key_rotation::{KeyRotation, KeyUsage};
use serde_json::{Value, json};

use super::{Cli, Output, say, say_lines};

/// How long a rotation waits for the programs that run: twice what they take to look at the key folder again. A value that one of them seals with an
/// older key even so is met by the next rotation.
const SETTLE_TIME: Duration = RELOAD_INTERVAL.saturating_mul(2);

/// How old the newest key must be before older ones are destroyed: far longer than a program takes from sealing a value to writing it.
const PRUNE_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show the long-lived keys, and how many values of the database each one opens
    List(Output),
    /// Make a new key, and seal with it what older keys sealed, while the services run; one that was interrupted goes on
    Rotate(Rotate),
    /// Destroy the keys of rotations that seal nothing any more
    Prune(Output),
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// Which keys
    #[arg(long, value_enum, default_value_t = Ring::Master)]
    ring: Ring,
    #[command(flatten)]
    output: Output,
}

/// Keys of one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ring {
    /// Webhook secrets and wallet certificates
    Master,
    /// Contracts' stored credentials
    Credential,
}

impl Ring {
    const fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Credential => "credential",
        }
    }
}

/// What the commands work on.
struct Keys {
    folder: PathBuf,
    master: Arc<MasterKey>,
    rotation: KeyRotation,
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &KeysCommand) -> Result<ExitCode, Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let master = MasterKey::open(&folder)?.ok_or_else(|| MasterKeyError::Elsewhere(folder.clone()))?;
    join_deployment(store, None, Some(master.id())).await?;
    let master = Arc::new(master);
    let rotation = KeyRotation { store: Arc::new(store.clone()), secrets: master.clone() };
    let keys = Keys { folder, master, rotation };
    match command {
        KeysCommand::List(output) => list(&keys, *output).await.map(|()| ExitCode::SUCCESS),
        KeysCommand::Rotate(Rotate { ring: Ring::Master, output }) => rotate_master(&keys, *output).await,
        KeysCommand::Rotate(Rotate { ring: Ring::Credential, output }) => rotate_credential(&keys, *output),
        KeysCommand::Prune(output) => prune(&keys, *output).await,
    }
}

/// A line of `keys list`.
struct Line {
    ring: Ring,
    id: String,
    made_at: Option<String>,
    state: &'static str,
    /// How many values of the database need it, where that is known.
    values: Option<u64>,
}

impl Line {
    fn of_keys(ring: Ring, keys: Vec<KeyInfo>, usage: Option<&KeyUsage>) -> Vec<Self> {
        let newest = keys.len();
        let line = |(number, key): (usize, KeyInfo)| Self {
            ring,
            values: usage.map(|usage| usage.count(&key.id)),
            id: key.id,
            made_at: key.made_at.map(|at| at.to_string()),
            state: if number + 1 == newest { "SEALS" } else { "OPENS" },
        };
        keys.into_iter().enumerate().map(line).collect()
    }

    fn json(&self) -> Value {
        json!({
            "Ring": self.ring.name(), "KeyId": self.id, "MadeAt": self.made_at, "State": self.state, "Values": self.values,
        })
    }

    fn text(&self) -> String {
        let made_at = self.made_at.as_deref().unwrap_or("-");
        let values = self.values.map_or_else(|| "not counted".to_owned(), |count| count.to_string());
        format!("{:<10}  {:<20}  {:<5}  {made_at:<27}  {values}", self.ring.name(), self.id, self.state)
    }
}

async fn list(keys: &Keys, output: Output) -> Result<(), Failure> {
    let usage = keys.rotation.usage().await?;
    let there = keys.master.list_keys()?;
    let lost = lost(&there, &usage);
    let mut lines = Line::of_keys(Ring::Master, there, Some(&usage));
    lines.extend(lost.into_iter().map(|id| {
        let values = Some(usage.count(&id));
        Line { ring: Ring::Master, id, made_at: None, state: "LOST", values }
    }));
    if let Some(credential) = CredentialKeys::open(&keys.folder)? {
        lines.extend(Line::of_keys(Ring::Credential, credential.list_keys()?, None));
    }
    if output.json {
        return say(&Value::from_iter(lines.iter().map(Line::json)).to_string());
    }
    let head = format!("{:<10}  {:<20}  {:<5}  {:<27}  {}", "Ring", "Key", "State", "Made", "Values");
    say_lines([head].into_iter().chain(lines.iter().map(Line::text)), "")
}

/// Keys that values of the database name, and that are not there.
fn lost(there: &[KeyInfo], usage: &KeyUsage) -> Vec<String> {
    usage.key_ids().filter(|id| there.iter().all(|key| key.id != *id)).map(str::to_owned).collect()
}

async fn rotate_master(keys: &Keys, output: Output) -> Result<ExitCode, Failure> {
    let lost = lost(&keys.master.list_keys()?, &keys.rotation.usage().await?);
    if !lost.is_empty() {
        let folder = keys.folder.join("master");
        return Err(format!(
            "values in the database were sealed with keys that are not in {}: {}; restore them from your backup, or replace those values first: \
             `dropin keys list` counts them",
            folder.display(),
            lost.join(", ")
        )
        .into());
    }
    // What an older key sealed is left of a rotation that was interrupted. To finish that one needs no further key.
    let left = keys.rotation.reseal().await?;
    let is_new = left.count == 0;
    if is_new {
        keys.master.make_key(SystemClock.now())?;
    }
    // Every program opens what the new key sealed at once, since it reads the folder on an unknown id. What it seals itself, it seals with the new key
    // only after it has looked at the folder again: without waiting, the pass below would miss such a value.
    tokio::time::sleep(SETTLE_TIME).await;
    let done = keys.rotation.reseal().await?;
    let (id, count) = (dropin_ports::SecretKeys::newest_key_id(&*keys.master)?, left.count + done.count);
    tell_rotated(&id, is_new, count, &done.failed, output)?;
    Ok(if done.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell_rotated(
    id: &str,
    is_new: bool,
    count: u64,
    failed: &[(SealedValue, KeyringError)],
    output: Output,
) -> Result<(), Failure> {
    if output.json {
        let failed = failed.iter().map(|(value, why)| {
            json!({ "Kind": format!("{:?}", value.kind()), "Id": value.row().to_string(), "Why": why.to_string() })
        });
        let shown = json!({
            "Ring": Ring::Master.name(), "KeyId": id, "Made": is_new, "Resealed": count, "Failed": Value::from_iter(failed),
        });
        return say(&shown.to_string());
    }
    let begin = match is_new {
        true => format!("Made key {id}"),
        false => format!("Finished the rotation to key {id} that was interrupted; run it again for a new key"),
    };
    say(&format!("{begin}. Values sealed anew: {count}. Back up the key folder now."))?;
    for (value, why) in failed {
        say(&format!("NOT SEALED ANEW: {:?} of {}: {why}. Set a new one in its place.", value.kind(), value.row()))?;
    }
    Ok(())
}

fn rotate_credential(keys: &Keys, output: Output) -> Result<ExitCode, Failure> {
    let folder = keys.folder.join("credential");
    let none = || format!("there is no key in {}: checkout-api or the settler makes the first one", folder.display());
    let ring = CredentialKeys::open(&keys.folder)?.ok_or_else(none)?;
    let id = ring.make_key(SystemClock.now())?;
    let shown = json!({ "Ring": Ring::Credential.name(), "KeyId": id, "Made": true });
    say(&match output.json {
        true => shown.to_string(),
        false => format!("Made key {id}. Older keys go on opening what they sealed. Back up the key folder now."),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn prune(keys: &Keys, output: Output) -> Result<ExitCode, Failure> {
    let (there, usage) = (keys.master.list_keys()?, keys.rotation.usage().await?);
    if 0 < usage.damaged {
        return Err(format!("{} sealed values name no key: nothing was destroyed", usage.damaged).into());
    }
    let Some((newest, older)) = there.split_last() else { return Ok(ExitCode::SUCCESS) };
    // `master.key` has no time, and stays.
    let older: Vec<_> = older.iter().filter(|key| key.made_at.is_some()).collect();
    let now = SystemClock.now();
    if let Some(made_at) = newest.made_at
        && !older.is_empty()
        && now < made_at.plus(PRUNE_AFTER)
    {
        let at = made_at.plus(PRUNE_AFTER);
        return Err(format!(
            "key {} was made at {made_at}, and a program may still write what it sealed before: prune again after {at}",
            newest.id
        )
        .into());
    }
    let (needed, unneeded): (Vec<_>, Vec<_>) = older.into_iter().partition(|key| 0 < usage.count(&key.id));
    for key in &unneeded {
        keys.master.destroy_key(&key.id)?;
    }
    let destroyed: Vec<_> = unneeded.iter().map(|key| key.id.as_str()).collect();
    let values = |key: &&KeyInfo| json!({ "KeyId": key.id, "Values": usage.count(&key.id) });
    match output.json {
        true => {
            say(&json!({ "Destroyed": destroyed, "Needed": Value::from_iter(needed.iter().map(values)) }).to_string())?
        }
        false => say_lines(destroyed.iter().map(|id| format!("Destroyed key {id}.")), "No key was destroyed.")?,
    }
    if needed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let stay: Vec<_> = needed.iter().map(|key| format!("{} ({} values)", key.id, usage.count(&key.id))).collect();
    Err(format!(
        "these keys stay, since values of the database need them: {}; run `dropin keys rotate`",
        stay.join(", ")
    )
    .into())
}
