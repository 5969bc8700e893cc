use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use std::{fmt, io, thread};

use dropin_card::{CardHash, StashedData};
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
    fn seal(&self, data: &StashedData, to: StashBinding<'_>, now: Timestamp) -> Result<SealedCard, KeyringError> {
        let (id, key) = self.current(now)?;
        let key_id = id.to_string();
        let bytes = key.seal(data.to_sealed_plaintext(), &binding(to.merchant_id.uuid().as_bytes(), to, &key_id))?;
        Ok(SealedCard { key_id, bytes })
    }

    fn open(&self, sealed: &SealedCard, to: StashBinding<'_>) -> Result<StashedData, KeyringError> {
        let id: KeyId = sealed.key_id.parse().map_err(|_no_key_id| KeyringError::CannotOpen)?;
        let merchant = to.merchant_id.uuid();
        let plaintext = self.find(&id)?.open(&sealed.bytes, &binding(merchant.as_bytes(), to, &sealed.key_id))?;
        StashedData::from_sealed_plaintext(&plaintext).map_err(|_malformed| KeyringError::CannotOpen)
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
mod tests {
    use std::fs;

    use dropin_card::Card;
    use dropin_ports::StashKey;
    use uuid::Uuid;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);
    /// Twenty minutes into a period.
    const NOW: Timestamp = Timestamp::from_micros((500_000 * 3_600 + 1_200) * 1_000_000);

    fn later(minutes: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(60 * minutes))
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("stash");
        (folder, dir)
    }

    fn open(dir: &Path) -> StashKeys {
        StashKeys::open(dir, HOUR, HALF_AN_HOUR).expect("opened")
    }

    fn card() -> StashedData {
        StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12"))
    }

    fn owner() -> StashKey {
        StashKey {
            merchant_id: MerchantId::new(Uuid::from_u128(1)),
            stash_id: "cart-1".to_owned(),
            fingerprint: "browser".to_owned(),
        }
    }

    fn key_files(dir: &Path) -> Vec<String> {
        let mut names = files::names(dir).expect("listed");
        names.retain(|name| KeyId::from_file_name(name).is_some());
        names.sort();
        names
    }

    #[test]
    fn what_one_process_seals_another_opens() {
        let (_folder, dir) = folder();
        let (writer, reader) = (open(&dir), open(&dir));
        let sealed = writer.seal(&card(), &owner(), NOW).expect("sealed");
        assert_eq!(reader.open(&sealed, &owner()), Ok(card()), "reloads on an unknown id");
    }

    #[test]
    fn a_card_moved_to_another_row_does_not_open() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        let others = [
            StashKey { merchant_id: MerchantId::new(Uuid::from_u128(2)), ..owner() },
            StashKey { stash_id: "cart-2".to_owned(), ..owner() },
            StashKey { fingerprint: "other".to_owned(), ..owner() },
            StashKey { stash_id: "cart-1b".to_owned(), fingerprint: "rowser".to_owned(), ..owner() },
        ];
        for other in others {
            assert_eq!(keys.open(&sealed, &other), Err(KeyringError::CannotOpen), "{other:?}");
        }
        let next = keys.seal(&card(), &owner(), later(60)).expect("sealed");
        assert_ne!(next.key_id, sealed.key_id);
        let mixed = SealedCard { key_id: next.key_id, bytes: sealed.bytes };
        assert_eq!(keys.open(&mixed, &owner()), Err(KeyringError::CannotOpen));
    }

    #[test]
    fn a_key_is_published_a_period_before_its_use_and_made_once() {
        let (_folder, dir) = folder();
        let (one, two) = (open(&dir), open(&dir));
        assert_eq!(one.rotate(NOW).expect("rotated"), Rotation { published: 2, destroyed: 0 });
        assert_eq!(two.rotate(NOW).expect("rotated"), Rotation::default());
        assert_eq!(key_files(&dir).len(), 2);
        assert_eq!(two.rotate(later(40)).expect("rotated"), Rotation { published: 1, destroyed: 0 });
        let before: Vec<_> = key_files(&dir);
        let sealed = one.seal(&card(), &owner(), later(60)).expect("sealed");
        assert!(before.contains(&format!("{}.key", sealed.key_id)), "sealed with a key that was there before");
    }

    #[test]
    fn a_key_goes_when_the_last_card_under_it_has_expired_and_not_before() {
        let (_folder, dir) = folder();
        let (keys, other) = (open(&dir), open(&dir));
        let sealed = keys.seal(&card(), &owner(), later(39)).expect("sealed");
        assert_eq!(other.open(&sealed, &owner()), Ok(card()));
        // The period ends at minute 40; 30 minutes of life and one for the clocks.
        keys.rotate(Timestamp::from_micros(later(71).micros() - 1)).expect("rotated");
        assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
        assert_eq!(keys.rotate(later(71)).expect("rotated").destroyed, 1);
        assert!(!dir.join(format!("{}.key", sealed.key_id)).exists());
        for keys in [&keys, &other, &open(&dir)] {
            assert_eq!(keys.open(&sealed, &owner()), Err(KeyringError::CannotOpen));
        }
    }

    #[test]
    fn sealing_rotates_when_nobody_else_does() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let first = keys.seal(&card(), &owner(), NOW).expect("sealed");
        for hour in 1..=5 {
            keys.seal(&card(), &owner(), later(60 * hour)).expect("sealed");
        }
        assert_eq!(keys.open(&first, &owner()), Err(KeyringError::CannotOpen));
        assert!(key_files(&dir).len() <= 4, "{:?}", key_files(&dir));
    }

    #[test]
    fn threads_that_seal_at_once_make_one_key() {
        let (_folder, dir) = folder();
        let ids: Vec<_> = thread::scope(|scope| {
            let seals: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| open(&dir).seal(&card(), &owner(), NOW).expect("sealed").key_id))
                .collect();
            seals.into_iter().map(|seal| seal.join().expect("no panic")).collect()
        });
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    }

    #[test]
    fn reading_goes_on_while_another_process_writes() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        let _lock = DirLock::try_acquire(&dir).expect("no error").expect("free");
        assert_eq!(keys.rotate(later(600)).expect("reads"), Rotation::default());
        assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
        assert!(keys.seal(&card(), &owner(), NOW).is_ok(), "the key of the hour is there");
    }

    struct Late;

    impl Clock for Late {
        fn now(&self) -> Timestamp {
            later(600)
        }
    }

    #[test]
    fn rotation_in_the_background_begins_at_once() {
        let (_folder, dir) = folder();
        let keys = Arc::new(open(&dir));
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        StashKeys::rotate_in_background(&keys, Arc::new(Late)).expect("a thread");
        assert!(keys.open(&sealed, &owner()).is_err(), "the old key is still there");
    }

    #[test]
    fn what_a_crashed_writer_left_is_destroyed() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let left = dir.join("3600-7200-9060-000000ab.key.unfinished");
        fs::write(&left, "half a key").expect("written");
        keys.rotate(NOW).expect("rotated");
        assert!(!left.exists());
    }

    #[test]
    fn a_key_that_is_lost_stops_the_stash_until_it_is_back() {
        let (folder, dir) = folder();
        let keys = open(&dir);
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        assert_eq!((keys.check(NOW), keys.check_key(&sealed.key_id)), (Ok(()), Ok(())));
        let (file, aside) = (dir.join(format!("{}.key", sealed.key_id)), folder.path().join("aside"));
        fs::rename(&file, &aside).expect("moved away");
        for _ in 0..2 {
            let message = keys.seal(&card(), &owner(), NOW).expect_err("lost").to_string();
            assert!(message.contains(&sealed.key_id) && message.contains("put it back"), "{message}");
            assert!(keys.check(NOW).is_err() && keys.rotate(NOW).is_err());
            assert_eq!(keys.check_key(&sealed.key_id), Err(KeyringError::CannotOpen));
        }
        assert_eq!(key_files(&dir).len(), 1, "none is made in its place");
        fs::rename(&aside, &file).expect("put back");
        assert_eq!((keys.check(NOW), keys.check_key(&sealed.key_id)), (Ok(()), Ok(())));
        assert_eq!(keys.open(&sealed, &owner()), Ok(card()));
        assert!(keys.seal(&card(), &owner(), NOW).is_ok());
    }

    #[test]
    fn a_lost_key_is_forgotten_when_it_would_have_been_destroyed() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        fs::remove_file(dir.join(format!("{}.key", sealed.key_id))).expect("removed");
        assert!(keys.check(NOW).is_err());
        // Its last card is dead at minute 70; whoever has it destroys it a minute later.
        assert!(keys.check(later(69)).is_err(), "a card may still need it");
        assert_eq!(keys.check(later(70)), Ok(()));
    }

    #[test]
    fn a_folder_or_key_that_others_may_open_is_found_while_the_program_runs() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        let file = dir.join(format!("{}.key", sealed.key_id));
        for (path, wide, right) in [(&file, 0o644, 0o600), (&dir, 0o755, 0o700)] {
            fs::set_permissions(path, PermissionsExt::from_mode(wide)).expect("chmod");
            let message = keys.check(NOW).expect_err("refused").to_string();
            assert!(message.contains(&format!("chmod {right:o}")), "{message}");
            fs::set_permissions(path, PermissionsExt::from_mode(right)).expect("chmod");
            assert_eq!(keys.check(NOW), Ok(()));
        }
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("chmod");
        assert!(matches!(keys.seal(&card(), &owner(), NOW), Err(KeyringError::Unavailable(_))));
        assert!(matches!(keys.check_key(&sealed.key_id), Err(KeyringError::Unavailable(_))));
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
        fs::write(&file, "no key").expect("damaged");
        assert!(keys.check(NOW).is_err() && StashKeys::inspect(&dir).is_err(), "read anew");
        fs::remove_file(&file).expect("removed");
        assert_eq!(StashKeys::inspect(&dir).expect("the other is right"), 1, "that of the next period");
    }

    #[test]
    fn a_card_has_one_hash_in_every_process_for_ever() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, dir) = folder();
        let (one, two) = (open(&dir), open(&dir));
        let (merchant, other) = (owner().merchant_id, MerchantId::new(Uuid::from_u128(2)));
        let hash = one.hash_card(merchant, "4242424242424242").expect("hashed");
        for keys in [&one, &two, &open(&dir)] {
            assert_eq!(keys.hash_card(merchant, "4242424242424242"), Ok(hash));
            assert_ne!(keys.hash_card(merchant, "5555555555554444"), Ok(hash), "another number");
            assert_ne!(keys.hash_card(other, "4242424242424242"), Ok(hash), "another merchant");
        }
        let mode = fs::metadata(dir.join("card-hash.key")).expect("the file").permissions().mode();
        assert_eq!((mode & 0o777, key_files(&dir)), (0o600, vec![]), "private, and no stash key");
        for hour in 0..5 {
            one.rotate(later(60 * hour)).expect("rotated");
        }
        assert_eq!(open(&dir).hash_card(merchant, "4242424242424242"), Ok(hash), "never rotated");
        let (_folder, elsewhere) = folder();
        assert_ne!(open(&elsewhere).hash_card(merchant, "4242424242424242"), Ok(hash), "another deployment");
    }

    #[test]
    fn threads_that_hash_at_once_make_one_key() {
        let (_folder, dir) = folder();
        let hash = || open(&dir).hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
        let hashes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(hash)).collect();
            threads.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_hash_key_that_is_lost_stops_the_stash_until_it_is_back_or_the_program_begins_anew() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, dir) = folder();
        let keys = open(&dir);
        keys.rotate(NOW).expect("rotated");
        let hash = keys.hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
        let (file, aside) = (dir.join("card-hash.key"), folder.path().join("aside"));
        fs::rename(&file, &aside).expect("moved away");
        for _ in 0..2 {
            let message = keys.check(NOW).expect_err("lost").to_string();
            assert!(message.contains("card-hash.key is gone") && message.contains("put it back"), "{message}");
            assert!(keys.hash_card(owner().merchant_id, "4242424242424242").is_err() && keys.rotate(NOW).is_err());
        }
        assert!(!file.exists(), "none is made in its place");
        fs::rename(&aside, &file).expect("put back");
        assert_eq!(keys.check(NOW), Ok(()));
        assert_eq!(keys.hash_card(owner().merchant_id, "4242424242424242"), Ok(hash));
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("chmod");
        assert!(keys.check(NOW).is_err() && StashKeys::inspect(&dir).is_err(), "others may open it");
        fs::remove_file(&file).expect("removed");
        let anew = open(&dir).hash_card(owner().merchant_id, "4242424242424242").expect("hashed");
        assert_ne!(anew, hash);
        assert_eq!(keys.hash_card(owner().merchant_id, "4242424242424242"), Ok(anew), "the file is the truth");
        assert_eq!(keys.check(NOW), Ok(()));
    }

    #[test]
    fn a_row_cannot_name_a_path() {
        let (_folder, dir) = folder();
        let keys = open(&dir);
        let mut sealed = keys.seal(&card(), &owner(), NOW).expect("sealed");
        sealed.key_id = format!("../stash/{}", sealed.key_id);
        assert_eq!(keys.open(&sealed, &owner()), Err(KeyringError::CannotOpen));
    }
}
