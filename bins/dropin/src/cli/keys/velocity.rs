//! The keys of what tries to pay are counted by: a hash does not name its key, so that what needs one is told by time.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_boot::{Failure, SystemClock};
use dropin_kernel::Timestamp;
use dropin_keyring::{KeyInfo, VelocityKeys};
use dropin_ports::Clock;
use dropin_store::Store;

use super::prune::Pruned;
use super::{Acts, Line, Ring, tell_rotated};
use crate::cli::Output;

/// So long after a rotation what the older key hashed may count still: a day and the hour that a bucket of it has (docs/SCREENING.md).
const COUNTED_FOR: Duration = Duration::from_secs(25 * 3_600);

/// The ring, and the database with what it hashed.
pub(super) struct VelocityRing<'a> {
    keys: VelocityKeys,
    folder: PathBuf,
    store: &'a Store,
}

/// A key, when the next one was made, and how many shoppers have not come since.
struct KeyUsed {
    key: KeyInfo,
    next: Option<Timestamp>,
    shoppers: u64,
}

impl<'a> VelocityRing<'a> {
    pub(super) fn open(folder: &Path, store: &'a Store) -> Result<Self, Failure> {
        Ok(Self { keys: VelocityKeys::open(folder)?, folder: folder.join(Ring::Velocity.name()), store })
    }

    async fn used(&self) -> Result<Vec<KeyUsed>, Failure> {
        let keys = self.keys.list_keys()?;
        let next: Vec<_> = keys.iter().skip(1).map(|key| key.made_at).chain([None]).collect();
        let mut used = Vec::new();
        for (key, next) in keys.into_iter().zip(next) {
            let since = key.made_at.unwrap_or(Timestamp::from_micros(0));
            let shoppers = self.store.count_known_shoppers(since, next.unwrap_or(Timestamp::MAX)).await?;
            used.push(KeyUsed { key, next, shoppers });
        }
        Ok(used)
    }

    /// Its lines of `keys list`.
    pub(super) async fn lines(&self) -> Result<Vec<Line>, Failure> {
        let line = |used: KeyUsed| Line {
            ring: Ring::Velocity,
            id: used.key.id,
            made_at: used.key.made_at.map(|at| at.to_string()),
            state: if used.next.is_none() { "HASHES" } else { "COUNTS" },
            values: used.shoppers,
        };
        Ok(self.used().await?.into_iter().map(line).collect())
    }

    /// A new key for what comes. What older ones hashed counts on, and so they stay.
    pub(super) async fn rotate(&self, acts: &Acts<'_>, output: Output) -> Result<ExitCode, Failure> {
        let there = self.keys.list_keys()?;
        let Some(newest) = there.last() else {
            let folder = self.folder.display();
            return Err(format!("there is no key in {folder}: checkout-api makes the first one").into());
        };
        acts.append(AuditAction::KeyRotate, Ring::Velocity.name().to_owned(), Some(newest)).await?;
        let made = self.keys.make_key(SystemClock.now())?;
        tell_rotated(Ring::Velocity, &made, true, 0, &[], output)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Destroys keys under which nothing counts any more, and no shopper is known unless they may be forgotten.
    pub(super) async fn prune(&self, forget_shoppers: bool, acts: &Acts<'_>) -> Result<Pruned, Failure> {
        let (used, now, mut pruned) = (self.used().await?, SystemClock.now(), Pruned::default());
        let newest = used.last().map(|used| used.key.clone());
        for KeyUsed { key, next, shoppers } in used {
            let Some(next) = next else { continue };
            let over = next.plus(COUNTED_FOR);
            if now < over {
                return Err(format!("what key {} hashed is counted until {over}: prune again then", key.id).into());
            }
            if 0 < shoppers && !forget_shoppers {
                pruned.needed.push((key.id, shoppers));
                continue;
            }
            let subject = format!("{}/{}", Ring::Velocity.name(), key.id);
            acts.append(AuditAction::KeyDestroy, subject, newest.as_ref()).await?;
            self.keys.destroy_key(&key.id)?;
            pruned.destroyed.push(key.id);
        }
        Ok(pruned)
    }
}
