use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use std::{fmt, io, thread};

use dropin_card::{CardHash, StashContents};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{Clock, KeyringError, SealedCard, StashBinding, StashVault};

use crate::files::{self, DirLock, KeyBytes, KeyFileError};
use crate::sealing::SealingKey;
use crate::stash::hash_key::{self, HashKey};
use crate::stash::key_id::KeyId;

/// How far the clocks of two processes may be apart without a card being lost early.
const CLOCK_SKEW: i64 = 60;

/// How long sealing waits for another process that is writing a key.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a process looks after the keys.
const ROTATION: Duration = Duration::from_secs(60);

/// What one rotation did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Keys made and published.
    pub published: u32,
    /// Keys overwritten and removed.
    pub destroyed: u32,
}

/// The keys of the stash, one per period, in a directory that several processes share.
///
/// Whoever holds the lock file writes; everybody else reads. Every process that opens the directory calls
/// [`StashKeys::rotate_in_background`], so that keys under which no card is alive any more leave its memory too.
pub struct StashKeys {
    dir: PathBuf,
    period: i64,
    lifetime: i64,
    known: RwLock<Known>,
    hash_key: HashKey,
}

/// What a process knows of the directory.
#[derive(Default)]
struct Known {
    /// The keys that are there.
    loaded: BTreeMap<KeyId, Arc<SealingKey>>,
    /// Keys that were there, that nobody was due to destroy, and whose files have disappeared.
    lost: BTreeSet<KeyId>,
}

impl StashKeys {
    /// Opens `dir`, making it when it is not there. A key seals for one `period` (an hour) and is destroyed one `lifetime` (of a stash
    /// entry) and a minute for clocks that differ after that. Both are whole seconds, at least one.
    ///
    /// # Errors
    /// [`KeyFileError`] when the directory or a key in it cannot be used or is open to other users.
    pub fn open(dir: &Path, period: Duration, lifetime: Duration) -> Result<Self, KeyFileError> {
        files::private_dir(dir)?;
        let seconds =
            |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX / 4).clamp(1, i64::MAX / 4);
        let keys = Self {
            dir: dir.to_owned(),
            period: seconds(period),
            lifetime: seconds(lifetime),
            known: RwLock::default(),
            hash_key: HashKey::of(dir),
        };
        keys.reload()?;
        keys.hash_key.read()?;
        Ok(keys)
    }

    /// Reads every key in `dir` and changes nothing; how many there are. For looking after a deployment.
    ///
    /// # Errors
    /// [`KeyFileError`] when the directory or a key in it cannot be used or is open to other users.
    pub fn inspect(dir: &Path) -> Result<usize, KeyFileError> {
        dropin_private_file::check(dir)?;
        let keys: Vec<_> =
            files::names(dir)?.into_iter().filter(|name| KeyId::from_file_name(name).is_some()).collect();
        keys.iter().try_for_each(|name| files::read_key(&dir.join(name)).map(drop))?;
        HashKey::of(dir).read()?;
        Ok(keys.len())
    }

    /// Publishes the keys of this period and the next, and destroys those whose last entry has expired at `now`. Does only the reading
    /// part while another process writes.
    ///
    /// # Errors
    /// [`KeyFileError`]; what could be done was done, and the next call goes on.
    pub fn rotate(&self, now: Timestamp) -> Result<Rotation, KeyFileError> {
        let Some(lock) = DirLock::try_acquire(&self.dir)? else {
            self.reload()?;
            self.forget_past(now.unix_seconds());
            return Ok(Rotation::default());
        };
        self.rotate_under(&lock, now)
    }

    /// Calls [`StashKeys::rotate`] now, and then about once a minute on a thread of its own that ends when the last user of `keys` is gone.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn rotate_in_background(keys: &Arc<Self>, clock: Arc<dyn Clock>) -> io::Result<()> {
        let rotate = move |keys: &Self| {
            if let Err(error) = keys.rotate(clock.now()) {
                log::error!("stash keys cannot be rotated: {error}");
            }
        };
        // Before the program says that it is there: whoever starts and stops it at once finds nothing half done.
        rotate(keys);
        let keys = Arc::downgrade(keys);
        thread::Builder::new().name("stash-keys".to_owned()).spawn(move || {
            loop {
                thread::sleep(ROTATION);
                match keys.upgrade() {
                    Some(keys) => rotate(&keys),
                    None => return,
                }
            }
        })?;
        Ok(())
    }

    fn rotate_under(&self, lock: &DirLock, now: Timestamp) -> Result<Rotation, KeyFileError> {
        files::destroy_unfinished(&self.dir)?;
        let mut done = Rotation::default();
        let second = now.unix_seconds();
        self.reload()?;
        self.forget_past(second);
        let mut ids = self.published()?;
        // Another key in its place would hide that it is gone: other machines may still have it, when only this one lost the folder.
        let lost = self.lost(|id| id.seals_at(second) || id.seals_at(second.saturating_add(self.period)));
        if let Some(lost) = lost {
            return Err(lost);
        }
        for at in [second, second.saturating_add(self.period)] {
            if !ids.iter().any(|id| id.seals_at(at)) {
                ids.push(self.publish(at)?);
                done.published += 1;
            }
        }
        for id in ids.iter().filter(|id| id.gone <= second) {
            files::destroy(&self.dir, &id.file_name())?;
            done.destroyed += 1;
        }
        self.reload()?;
        self.forget_past(second);
        self.hash_key.read_or_make(&self.dir, lock)?;
        if done != Rotation::default() {
            log::info!("stash keys: {} published, {} destroyed", done.published, done.destroyed);
        }
        Ok(done)
    }

    fn publish(&self, at: i64) -> Result<KeyId, KeyFileError> {
        let from = at.div_euclid(self.period) * self.period;
        let until = from.saturating_add(self.period);
        let gone = until.saturating_add(self.lifetime).saturating_add(CLOCK_SKEW);
        let random = files::random_key()?;
        let [a, b, c, d, ..] = *random;
        let id = KeyId { from, until, gone, tag: u32::from_be_bytes([a, b, c, d]) };
        files::publish_key(&self.dir, &id.file_name(), &files::random_key()?)?;
        Ok(id)
    }

    fn published(&self) -> Result<Vec<KeyId>, KeyFileError> {
        Ok(files::names(&self.dir)?.iter().filter_map(|name| KeyId::from_file_name(name)).collect())
    }

    /// Learns keys that others published, and notes those that have disappeared.
    fn reload(&self) -> Result<(), KeyFileError> {
        let mut found = BTreeMap::new();
        for id in self.published()? {
            let known = self.read().loaded.get(&id).cloned();
            let key = match known {
                Some(key) => Some(key),
                None => self.load(&id)?,
            };
            found.extend(key.map(|key| (id, key)));
        }
        let mut known = self.write();
        let before = std::mem::replace(&mut known.loaded, found);
        known.lost.extend(before.into_keys());
        let Known { loaded, lost } = &mut *known;
        lost.retain(|id| !loaded.contains_key(id));
        Ok(())
    }

    /// Forgets lost keys that some process was due to destroy by now, its clock being right within [`CLOCK_SKEW`].
    fn forget_past(&self, second: i64) {
        self.write().lost.retain(|id| second < id.gone.saturating_sub(CLOCK_SKEW));
    }

    /// The first key that has disappeared and that `matters`, as an error.
    fn lost(&self, matters: impl Fn(&KeyId) -> bool) -> Option<KeyFileError> {
        let known = self.read();
        let lost = known.lost.iter().find(|id| matters(id));
        lost.map(|id| KeyFileError::Lost(self.dir.join(id.file_name())))
    }

    /// Reads a key file; `None` when the writer destroys it at this moment.
    fn load(&self, id: &KeyId) -> Result<Option<Arc<SealingKey>>, KeyFileError> {
        let path = self.dir.join(id.file_name());
        match files::read_key(&path) {
            Ok(key) => Ok(key.map(|key| Arc::new(SealingKey::new(&key)))),
            Err(KeyFileError::Malformed(_)) if !path.exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded_at(&self, second: i64) -> Option<(KeyId, Arc<SealingKey>)> {
        let known = self.read();
        let found = known.loaded.iter().rev().find(|(id, _)| id.seals_at(second));
        found.map(|(id, key)| (id.clone(), Arc::clone(key)))
    }

    /// The key to seal with now; makes it when the rotating task has not done so.
    fn current(&self, now: Timestamp) -> Result<(KeyId, Arc<SealingKey>), KeyFileError> {
        let second = now.unix_seconds();
        if let Some(current) = self.loaded_at(second) {
            // The file is the truth: other processes could not open what is sealed with a key that they cannot read.
            if !files::is_private_file(&self.dir.join(current.0.file_name()))? {
                self.reload()?;
                return self.lost(|id| id.seals_at(second)).map_or_else(|| self.made(now), Err);
            }
            if self.loaded_at(second.saturating_add(self.period)).is_none() {
                self.rotate(now).map_err(|error| log::warn!("the next stash key was not made: {error}")).ok();
            }
            return Ok(current);
        }
        self.made(now)
    }

    /// The key to seal with now, made under the lock where nobody has.
    fn made(&self, now: Timestamp) -> Result<(KeyId, Arc<SealingKey>), KeyFileError> {
        let lock = DirLock::acquire(&self.dir, PATIENCE)?;
        self.rotate_under(&lock, now)?;
        self.loaded_at(now.unix_seconds()).ok_or_else(|| KeyFileError::Malformed(self.dir.clone()))
    }

    fn find(&self, id: &KeyId) -> Result<Arc<SealingKey>, KeyringError> {
        // The file is the truth: a key that was destroyed opens nothing, even where it was loaded before.
        if !files::is_private_file(&self.dir.join(id.file_name()))? {
            return Err(KeyringError::CannotOpen);
        }
        let loaded = self.read().loaded.get(id).cloned();
        if let Some(key) = loaded {
            return Ok(key);
        }
        self.reload()?;
        self.read().loaded.get(id).cloned().ok_or(KeyringError::CannotOpen)
    }

    /// The key of card hashes, made under the lock where there never was one.
    fn hash_key(&self) -> Result<KeyBytes, KeyFileError> {
        if let Some(key) = self.hash_key.read()? {
            return Ok(key);
        }
        self.hash_key.read_or_make(&self.dir, &DirLock::acquire(&self.dir, PATIENCE)?)
    }

    /// Reads every key anew, and makes the one to seal with where there is none.
    fn prove(&self, now: Timestamp) -> Result<(), KeyFileError> {
        dropin_private_file::check(&self.dir)?;
        for id in self.published()? {
            self.load(&id)?;
        }
        self.reload()?;
        self.forget_past(now.unix_seconds());
        self.lost(|_any| true).map_or_else(|| self.current(now).map(drop), Err)?;
        self.hash_key().map(drop)
    }
}

/// Merchant, stash id, fingerprint and key: a sealed card moved to any other row opens no more.
fn binding<'a>(merchant: &'a [u8; 16], binding: StashBinding<'a>, key_id: &'a str) -> [&'a [u8]; 5] {
    [b"dropin stash", merchant, binding.stash_id.as_bytes(), binding.fingerprint.as_bytes(), key_id.as_bytes()]
}

impl StashVault for StashKeys {
    fn seal(&self, contents: &StashContents, to: StashBinding<'_>, now: Timestamp) -> Result<SealedCard, KeyringError> {
        let (id, key) = self.current(now)?;
        let key_id = id.to_string();
        let bytes =
            key.seal(contents.to_sealed_plaintext(), &binding(to.merchant_id.uuid().as_bytes(), to, &key_id))?;
        Ok(SealedCard { key_id, bytes })
    }

    fn open(&self, sealed: &SealedCard, to: StashBinding<'_>) -> Result<StashContents, KeyringError> {
        let id: KeyId = sealed.key_id.parse().map_err(|_no_key_id| KeyringError::CannotOpen)?;
        let merchant = to.merchant_id.uuid();
        let plaintext = self.find(&id)?.open(&sealed.bytes, &binding(merchant.as_bytes(), to, &sealed.key_id))?;
        StashContents::from_sealed_plaintext(&plaintext).map_err(|_malformed| KeyringError::CannotOpen)
    }

    fn hash_card(&self, merchant: MerchantId, digits: &str) -> Result<CardHash, KeyringError> {
        Ok(hash_key::hash(&self.hash_key()?, merchant, digits))
    }

    fn check_key(&self, key_id: &str) -> Result<(), KeyringError> {
        let id: KeyId = key_id.parse().map_err(|_no_key_id| KeyringError::CannotOpen)?;
        self.find(&id)?;
        // An attempt needs it as soon as the card is opened.
        Ok(self.hash_key().map(drop)?)
    }

    fn check(&self, now: Timestamp) -> Result<(), KeyringError> {
        Ok(self.prove(now)?)
    }
}

impl fmt::Debug for StashKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StashKeys({})", self.dir.display())
    }
}

#[cfg(test)]
mod tests;
