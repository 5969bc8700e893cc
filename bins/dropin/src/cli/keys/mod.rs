//! `dropin keys …`: the long-lived keys, and rotating them while the services run.

mod prune;
mod velocity;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_boot::{Failure, SystemClock, join_deployment};
use dropin_keyring::{AuditKeys, CredentialKeys, KeyFileError, KeyInfo, MasterKey, MasterKeyError, RELOAD_INTERVAL};
use dropin_ports::{AuditLog, AuditSealStore, AuditSubject, Clock, KeyringError, SealedValue};
use dropin_store::Store;
use dropin_usecases::audit_log::AuditWriter;
use dropin_usecases::key_rotation::{KeyRotation, KeyUsage, SealedRing};
use dropin_wire::audit_log::Document;
use serde_json::{Value, json};

use self::prune::prune;
use self::velocity::VelocityRing;
use super::{Cli, Output, acting, say, say_lines};

/// How long a rotation waits for the programs that run: twice what they take to look at the key folder again. A value that one of them seals with an
/// older key even so is met by the next rotation.
const SETTLE_TIME: Duration = RELOAD_INTERVAL.saturating_mul(2);

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show the long-lived keys, and how many values of the database each one opens
    List(Output),
    /// Make a new key, and seal with it what older keys sealed, while the services run; one that was interrupted goes on
    Rotate(Rotate),
    /// Destroy the keys of rotations that nothing needs any more
    Prune(Prune),
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// Which keys
    #[arg(long, value_enum, default_value_t = Ring::Master)]
    ring: Ring,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Destroy velocity keys also where shoppers who have paid are known by them alone: those are new shoppers then
    #[arg(long)]
    forget_shoppers: bool,
    #[command(flatten)]
    output: Output,
}

/// Keys of one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ring {
    /// Webhook secrets, wallet certificates and operators' authenticators
    Master,
    /// Contracts' stored credentials
    Credential,
    /// Seals of the audit log: a new key seals from now on, and old ones stay
    Audit,
    /// What tries to pay are counted by: a new key hashes from now on, and what old ones hashed counts on
    Velocity,
}

impl Ring {
    const fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Credential => "credential",
            Self::Audit => "audit",
            Self::Velocity => "velocity",
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
            Ring::Audit => "dropin keys rotate --ring audit",
            Ring::Velocity => "dropin keys rotate --ring velocity",
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
    let audit_keys = AuditKeys::open(&folder)?;
    let velocity = VelocityRing::open(&folder, store)?;
    let acts = Acts { store, writer: acting::writer(cli)? };
    match command {
        KeysCommand::List(output) => {
            let mut others = audit_lines(audit_keys.list_keys()?, &store.count_seals_by_key().await?);
            others.extend(velocity.lines().await?);
            list(&[master, credential], others, *output).await.map(|()| ExitCode::SUCCESS)
        }
        KeysCommand::Rotate(Rotate { ring: Ring::Master, output }) => rotate(&master, &acts, *output).await,
        KeysCommand::Rotate(Rotate { ring: Ring::Credential, output }) => rotate(&credential, &acts, *output).await,
        KeysCommand::Rotate(Rotate { ring: Ring::Audit, output }) => {
            rotate_audit(&audit_keys, &folder.join(Ring::Audit.name()), &acts, *output).await
        }
        KeysCommand::Rotate(Rotate { ring: Ring::Velocity, output }) => velocity.rotate(&acts, *output).await,
        KeysCommand::Prune(Prune { forget_shoppers, output }) => {
            let of_velocity = velocity.prune(*forget_shoppers, &acts).await;
            prune(&[master, credential], of_velocity, &acts, *output).await
        }
    }
}

/// Writes acts on keys into the audit log. A key is a file, so the entry comes before it is made or destroyed.
struct Acts<'a> {
    store: &'a Store,
    writer: AuditWriter,
}

impl Acts<'_> {
    async fn append(&self, action: AuditAction, subject: String, newest: Option<&KeyInfo>) -> Result<(), Failure> {
        let entry = self.writer.entry(None, action, AuditSubject::new(AuditSubjectKind::Key, subject));
        let before = Document::new().optional("Newest", newest.map(|key| &key.id));
        Ok(self.store.append_audit_entry(entry.with_before(before.finish())).await?)
    }
}

/// A new key for the seals to come. Old seals stay as they are, and so do their keys.
async fn rotate_audit(keys: &AuditKeys, folder: &Path, acts: &Acts<'_>, output: Output) -> Result<ExitCode, Failure> {
    let there = keys.list_keys()?;
    let Some(newest) = there.last() else {
        return Err(format!("there is no key in {}: the settler makes the first one", folder.display()).into());
    };
    acts.append(AuditAction::KeyRotate, Ring::Audit.name().to_owned(), Some(newest)).await?;
    let made = keys.make_key(SystemClock.now())?;
    tell_rotated(Ring::Audit, &made, true, 0, &[], output)?;
    Ok(ExitCode::SUCCESS)
}

/// The keys of the audit log, with how many seals each made.
fn audit_lines(keys: Vec<KeyInfo>, seals: &[(String, u64)]) -> Vec<Line> {
    let newest = keys.len();
    let count = |id: &str| seals.iter().find(|(key, _)| key == id).map_or(0, |(_, count)| *count);
    let lost: Vec<_> = seals.iter().filter(|(id, _)| keys.iter().all(|key| key.id != *id)).collect();
    let lost = lost.into_iter().map(|(id, values)| Line {
        ring: Ring::Audit,
        id: id.clone(),
        made_at: None,
        state: "LOST",
        values: *values,
    });
    let lost: Vec<_> = lost.collect();
    let there = keys.into_iter().enumerate().map(|(number, key)| Line {
        ring: Ring::Audit,
        values: count(&key.id),
        id: key.id,
        made_at: key.made_at.map(|at| at.to_string()),
        state: if number + 1 == newest { "SEALS" } else { "OPENS" },
    });
    there.chain(lost).collect()
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
        format!("{:<10}  {:<20}  {:<6}  {made_at:<27}  {}", self.ring.name(), self.id, self.state, self.values)
    }
}

async fn list(rings: &[OpenRing], others: Vec<Line>, output: Output) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for ring in rings {
        lines.extend(Line::of_ring(ring.ring, ring.keys.list()?, &ring.rotation.usage().await?));
    }
    lines.extend(others);
    if output.json {
        return say(&Value::from_iter(lines.iter().map(Line::json)).to_string());
    }
    let head = format!("{:<10}  {:<20}  {:<6}  {:<27}  {}", "Ring", "Key", "State", "Made", "Values");
    say_lines([head].into_iter().chain(lines.iter().map(Line::text)), "")
}

/// Keys that values of the database name, and that are not there.
fn lost(there: &[KeyInfo], usage: &KeyUsage) -> Vec<String> {
    usage.key_ids().filter(|id| there.iter().all(|key| key.id != *id)).map(str::to_owned).collect()
}

async fn rotate(ring: &OpenRing, acts: &Acts<'_>, output: Output) -> Result<ExitCode, Failure> {
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
                Ring::Audit | Ring::Velocity => "",
            }
        )
        .into());
    }
    if there.is_empty() {
        let folder = ring.folder.display();
        return Err(format!("there is no key in {folder}: checkout-api or the settler makes the first one").into());
    }
    acts.append(AuditAction::KeyRotate, ring.ring.name().to_owned(), there.last()).await?;
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
        Ring::Audit | Ring::Velocity => "",
    };
    for (value, why) in failed {
        say(&format!("NOT SEALED ANEW: {:?} of {}: {why}. {advice}.", value.kind(), value.row()))?;
    }
    Ok(())
}
