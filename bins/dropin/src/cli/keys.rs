//! `dropin keys …`: the long-lived keys, and rotating them while the services run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dropin_boot::{Failure, SystemClock, join_deployment};
use dropin_keyring::{CredentialKeys, KeyFileError, KeyInfo, MasterKey, MasterKeyError, RELOAD_INTERVAL};
use dropin_ports::{Clock, KeyringError, SealedValue};
use dropin_store::Store;
use dropin_usecases::key_rotation::{KeyRotation, KeyUsage, SealedRing};
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

/// The keys of a ring.
#[derive(Clone)]
enum RingKeys {
    Master(Arc<MasterKey>),
    Credential(Arc<CredentialKeys>),
}

impl RingKeys {
    fn list(&self) -> Result<Vec<KeyInfo>, KeyFileError> {
        match self {
            Self::Master(keys) => keys.list_keys(),
            Self::Credential(keys) => keys.list_keys(),
        }
    }

    fn make(&self) -> Result<String, KeyFileError> {
        match self {
            Self::Master(keys) => keys.make_key(SystemClock.now()),
            Self::Credential(keys) => keys.make_key(SystemClock.now()),
        }
    }

    fn destroy(&self, id: &str) -> Result<(), KeyFileError> {
        match self {
            Self::Master(keys) => keys.destroy_key(id),
            Self::Credential(keys) => keys.destroy_key(id),
        }
    }

    fn sealed(&self) -> SealedRing {
        match self {
            Self::Master(keys) => SealedRing::Master(keys.clone()),
            Self::Credential(keys) => SealedRing::Credential(keys.clone()),
        }
    }
}

/// A ring, and the values that it sealed.
struct OpenRing {
    ring: Ring,
    folder: PathBuf,
    keys: RingKeys,
    rotation: KeyRotation,
}

impl OpenRing {
    fn new(ring: Ring, folder: &Path, keys: RingKeys, store: &Store) -> Self {
        let rotation = KeyRotation { store: Arc::new(store.clone()), ring: keys.sealed() };
        Self { ring, folder: folder.join(ring.name()), keys, rotation }
    }

    /// The command that seals its values anew.
    const fn rotate_command(&self) -> &'static str {
        match self.ring {
            Ring::Master => "dropin keys rotate",
            Ring::Credential => "dropin keys rotate --ring credential",
        }
    }
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &KeysCommand) -> Result<ExitCode, Failure> {
    let folder = cli.keys.folder(&cli.store.data);
    let master = MasterKey::open(&folder)?.ok_or_else(|| MasterKeyError::Elsewhere(folder.clone()))?;
    join_deployment(store, None, Some(master.id())).await?;
    let credential = RingKeys::Credential(Arc::new(CredentialKeys::open(&folder)?));
    let master = OpenRing::new(Ring::Master, &folder, RingKeys::Master(Arc::new(master)), store);
    let credential = OpenRing::new(Ring::Credential, &folder, credential, store);
    match command {
        KeysCommand::List(output) => list(&[master, credential], *output).await.map(|()| ExitCode::SUCCESS),
        KeysCommand::Rotate(Rotate { ring: Ring::Master, output }) => rotate(&master, *output).await,
        KeysCommand::Rotate(Rotate { ring: Ring::Credential, output }) => rotate(&credential, *output).await,
        KeysCommand::Prune(output) => prune(&[master, credential], *output).await,
    }
}

/// A line of `keys list`.
struct Line {
    ring: Ring,
    id: String,
    made_at: Option<String>,
    state: &'static str,
    /// How many values of the database need it.
    values: u64,
}

impl Line {
    /// The keys of a ring, oldest first, and then those that are lost.
    fn of_ring(ring: Ring, keys: Vec<KeyInfo>, usage: &KeyUsage) -> Vec<Self> {
        let (newest, lost) = (keys.len(), lost(&keys, usage));
        let line = |(number, key): (usize, KeyInfo)| Self {
            ring,
            values: usage.count(&key.id),
            id: key.id,
            made_at: key.made_at.map(|at| at.to_string()),
            state: if number + 1 == newest { "SEALS" } else { "OPENS" },
        };
        let lost = lost.into_iter().map(|id| Self { ring, values: usage.count(&id), id, made_at: None, state: "LOST" });
        keys.into_iter().enumerate().map(line).chain(lost).collect()
    }

    fn json(&self) -> Value {
        json!({
            "Ring": self.ring.name(), "KeyId": self.id, "MadeAt": self.made_at, "State": self.state, "Values": self.values,
        })
    }

    fn text(&self) -> String {
        let made_at = self.made_at.as_deref().unwrap_or("-");
        format!("{:<10}  {:<20}  {:<5}  {made_at:<27}  {}", self.ring.name(), self.id, self.state, self.values)
    }
}

async fn list(rings: &[OpenRing], output: Output) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for ring in rings {
        lines.extend(Line::of_ring(ring.ring, ring.keys.list()?, &ring.rotation.usage().await?));
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

async fn rotate(ring: &OpenRing, output: Output) -> Result<ExitCode, Failure> {
    let there = ring.keys.list()?;
    let lost = lost(&there, &ring.rotation.usage().await?);
    if !lost.is_empty() {
        return Err(format!(
            "values in the database were sealed with keys that are not in {}: {}; restore them from your backup, or {}: `dropin keys list` counts them",
            ring.folder.display(),
            lost.join(", "),
            match ring.ring {
                Ring::Master => "replace those values first",
                Ring::Credential => "close the contracts that cannot be charged any more first",
            }
        )
        .into());
    }
    if there.is_empty() {
        let folder = ring.folder.display();
        return Err(format!("there is no key in {folder}: checkout-api or the settler makes the first one").into());
    }
    // What an older key sealed is left of a rotation that was interrupted. To finish that one needs no further key.
    let left = ring.rotation.reseal().await?;
    let is_new = left.count == 0;
    if is_new {
        ring.keys.make()?;
    }
    // Every program opens what the new key sealed at once, since it reads the folder on an unknown id. What it seals itself, it seals with the new key
    // only after it has looked at the folder again: without waiting, the pass below would miss such a value.
    tokio::time::sleep(SETTLE_TIME).await;
    let done = ring.rotation.reseal().await?;
    let count = left.count + done.count;
    let newest = ring.keys.list()?.pop().map(|key| key.id).unwrap_or_default();
    tell_rotated(ring.ring, &newest, is_new, count, &done.failed, output)?;
    Ok(if done.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell_rotated(
    ring: Ring,
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
            "Ring": ring.name(), "KeyId": id, "Made": is_new, "Resealed": count, "Failed": Value::from_iter(failed),
        });
        return say(&shown.to_string());
    }
    let begin = match is_new {
        true => format!("Made key {id}"),
        false => format!("Finished the rotation to key {id} that was interrupted; run it again for a new key"),
    };
    say(&format!("{begin}. Values sealed anew: {count}. Back up the key folder now."))?;
    let advice = match ring {
        Ring::Master => "Set a new one in its place",
        Ring::Credential => "Close that contract: it cannot be charged",
    };
    for (value, why) in failed {
        say(&format!("NOT SEALED ANEW: {:?} of {}: {why}. {advice}.", value.kind(), value.row()))?;
    }
    Ok(())
}

/// What pruning found of one ring.
#[derive(Default)]
struct Pruned {
    destroyed: Vec<String>,
    /// Older keys that values need, with how many.
    needed: Vec<(String, u64)>,
}

async fn prune(rings: &[OpenRing], output: Output) -> Result<ExitCode, Failure> {
    let (mut destroyed, mut needed, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for ring in rings {
        match prune_ring(ring).await {
            Err(refusal) => refusals.push(refusal.to_string()),
            Ok(pruned) => {
                if !pruned.needed.is_empty() {
                    let stay: Vec<_> =
                        pruned.needed.iter().map(|(id, values)| format!("{id} ({values} values)")).collect();
                    refusals.push(format!(
                        "these keys stay, since values of the database need them: {}; run `{}`",
                        stay.join(", "),
                        ring.rotate_command()
                    ));
                }
                destroyed.extend(pruned.destroyed);
                needed.extend(pruned.needed);
            }
        }
    }
    let values = |(id, values): &(String, u64)| json!({ "KeyId": id, "Values": values });
    match output.json {
        true => {
            say(&json!({ "Destroyed": destroyed, "Needed": Value::from_iter(needed.iter().map(values)) }).to_string())?
        }
        false => say_lines(destroyed.iter().map(|id| format!("Destroyed key {id}.")), "No key was destroyed.")?,
    }
    if refusals.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(refusals.join("; ").into()) }
}

async fn prune_ring(ring: &OpenRing) -> Result<Pruned, Failure> {
    let (there, usage) = (ring.keys.list()?, ring.rotation.usage().await?);
    if 0 < usage.damaged {
        return Err(format!("{} sealed values name no key: nothing was destroyed", usage.damaged).into());
    }
    let Some((newest, older)) = there.split_last() else { return Ok(Pruned::default()) };
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
    let mut pruned = Pruned::default();
    for key in older {
        match usage.count(&key.id) {
            0 => {
                ring.keys.destroy(&key.id)?;
                pruned.destroyed.push(key.id.clone());
            }
            values => pruned.needed.push((key.id.clone(), values)),
        }
    }
    Ok(pruned)
}
