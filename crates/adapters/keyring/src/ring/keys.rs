use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use dropin_kernel::Timestamp;

use crate::files::{self, DirLock, KeyBytes, KeyFileError};
use crate::ring::key_id::RingKeyId;

/// How old a program's knowledge of the folder may be when it seals: so soon every program seals with a key that another one made.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// How long a program waits for another one that writes a key.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A long-lived key of a ring, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    /// Its id, as sealed values name it.
    pub id: String,
    /// When it was made; `None` for a `master.key`, which has no id in its name.
    pub made_at: Option<Timestamp>,
}

/// Long-lived keys of one purpose: a folder with a file for each. The newest seals, older ones open what they sealed.
///
/// A program that finds an unknown id reads the folder again, so a key may seal as soon as its file is safe on the disk.
pub(crate) struct KeyRing<K> {
    dir: PathBuf,
    /// The file of [`RingKeyId::FIRST`], where the ring has a key from before keys had ids.
    first: Option<PathBuf>,
    derive: fn(&KeyBytes) -> K,
    known: RwLock<Known<K>>,
}

struct Known<K> {
    keys: BTreeMap<RingKeyId, Arc<K>>,
    read_at: Instant,
}

impl<K> KeyRing<K> {
    /// Reads every key in `dir`, which need not exist yet, and the `first` one.
    pub(crate) fn open(dir: &Path, first: Option<PathBuf>, derive: fn(&KeyBytes) -> K) -> Result<Self, KeyFileError> {
        let known = Known { keys: BTreeMap::new(), read_at: Instant::now() };
        let ring = Self { dir: dir.to_owned(), first, derive, known: RwLock::new(known) };
        ring.reload()?;
        Ok(ring)
    }

    /// Whether there is no key at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.read().keys.is_empty()
    }

    /// The key of that id.
    pub(crate) fn find(&self, id: RingKeyId) -> Result<Arc<K>, KeyFileError> {
        if let Some(key) = self.read().keys.get(&id) {
            return Ok(key.clone());
        }
        self.reload()?;
        self.read().keys.get(&id).cloned().ok_or_else(|| KeyFileError::LostRingKey(self.path(id)))
    }

    /// The key to seal with.
    pub(crate) fn newest(&self) -> Result<(RingKeyId, Arc<K>), KeyFileError> {
        let is_old = RELOAD_INTERVAL <= self.read().read_at.elapsed();
        if is_old || self.is_empty() {
            self.reload()?;
        }
        let newest = self.read().keys.last_key_value().map(|(id, key)| (*id, key.clone()));
        newest.ok_or_else(|| KeyFileError::NoRingKey(self.dir.clone()))
    }

    /// Every key, newest first.
    pub(crate) fn newest_first(&self) -> Result<Vec<Arc<K>>, KeyFileError> {
        // Looks at the folder as often as one who seals.
        self.newest()?;
        Ok(self.read().keys.values().rev().cloned().collect())
    }

    /// Reads every key anew, so that a file that is gone, damaged or open to others is found.
    pub(crate) fn check(&self) -> Result<(), KeyFileError> {
        self.reload()?;
        let ids: Vec<_> = self.read().keys.keys().copied().collect();
        if ids.is_empty() {
            return Err(KeyFileError::NoRingKey(self.dir.clone()));
        }
        for id in ids {
            let path = self.path(id);
            if files::read_key(&path)?.is_none() {
                return Err(KeyFileError::LostRingKey(path));
            }
        }
        Ok(())
    }

    /// The keys that there are, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<KeyInfo>, KeyFileError> {
        self.reload()?;
        let known = self.read();
        Ok(known.keys.keys().map(|id| KeyInfo { id: id.to_string(), made_at: id.made_at() }).collect())
    }

    /// Makes a key that is newer than all others.
    pub(crate) fn make(&self, now: Timestamp) -> Result<RingKeyId, KeyFileError> {
        files::private_dir(&self.dir)?;
        let _lock = DirLock::acquire(&self.dir, LOCK_TIMEOUT)?;
        self.publish(now)
    }

    /// Makes the first key, unless another program did so meanwhile.
    pub(crate) fn make_first(&self, now: Timestamp) -> Result<(), KeyFileError> {
        files::private_dir(&self.dir)?;
        let _lock = DirLock::acquire(&self.dir, LOCK_TIMEOUT)?;
        self.reload()?;
        if self.is_empty() {
            let id = self.publish(now)?;
            log::warn!("made the first key at {}: back it up apart from the database", self.path(id).display());
        }
        Ok(())
    }

    /// Destroys the key of the id that is written `id`. Only for one that no sealed value names; the newest and the first are refused.
    pub(crate) fn destroy(&self, id: &str) -> Result<(), KeyFileError> {
        let id: RingKeyId = id.parse().map_err(|_no_id| KeyFileError::LostRingKey(self.dir.join(id)))?;
        let _lock = DirLock::acquire(&self.dir, LOCK_TIMEOUT)?;
        self.reload()?;
        let is_newest = self.read().keys.last_key_value().is_none_or(|(newest, _)| *newest == id);
        if is_newest || id == RingKeyId::FIRST {
            return Err(KeyFileError::InUse(self.path(id)));
        }
        files::destroy(&self.dir, &id.file_name())?;
        self.reload()
    }

    /// Only under the lock.
    fn publish(&self, now: Timestamp) -> Result<RingKeyId, KeyFileError> {
        files::destroy_unfinished(&self.dir)?;
        self.reload()?;
        // Newer than all others, also where the clock of the machine that made the last one is ahead.
        let after = self.read().keys.last_key_value().map_or(1, |(newest, _)| newest.made().saturating_add(1));
        let [a, b, c, d, ..] = *files::random_key()?;
        let id = RingKeyId::new(now.unix_seconds().max(after), u32::from_be_bytes([a, b, c, d]));
        files::publish_key(&self.dir, &id.file_name(), &files::random_key()?)?;
        self.reload()?;
        Ok(id)
    }

    /// Reads the folder, and the keys in it that are not known yet. A newest key that has disappeared was lost unless there is a newer one: `dropin keys
    /// prune` takes every key but the newest.
    fn reload(&self) -> Result<(), KeyFileError> {
        let mut known = self.write();
        let mut found = BTreeMap::new();
        for (id, path) in self.files()? {
            let key = match known.keys.get(&id) {
                Some(key) => Some(key.clone()),
                None => files::read_key(&path)?.map(|key| Arc::new((self.derive)(&key))),
            };
            found.extend(key.map(|key| (id, key)));
        }
        match known.keys.last_key_value() {
            Some((newest, _)) if found.last_key_value().is_none_or(|(found, _)| found < newest) => {
                Err(KeyFileError::LostRingKey(self.path(*newest)))
            }
            _ => {
                *known = Known { keys: found, read_at: Instant::now() };
                Ok(())
            }
        }
    }

    /// Every key file that is there.
    fn files(&self) -> Result<Vec<(RingKeyId, PathBuf)>, KeyFileError> {
        let mut files = Vec::new();
        if let Some(first) = &self.first
            && files::is_private_file(first)?
        {
            files.push((RingKeyId::FIRST, first.clone()));
        }
        if files::is_private_file(&self.dir)? {
            let ids = files::names(&self.dir)?.into_iter().filter_map(|name| RingKeyId::from_file_name(&name));
            files.extend(ids.map(|id| (id, self.path(id))));
        }
        Ok(files)
    }

    fn path(&self, id: RingKeyId) -> PathBuf {
        match &self.first {
            Some(first) if id == RingKeyId::FIRST => first.clone(),
            _ => self.dir.join(id.file_name()),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Known<K>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known<K>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
