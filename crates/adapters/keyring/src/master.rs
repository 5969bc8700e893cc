use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::{hkdf, hmac};
use dropin_access::{PasswordHash, SealedSecret};
use dropin_ports::{AccessStore, Fingerprint, KeyringError, Secrets, StoreError};
use zeroize::Zeroizing;

use crate::files::{DirLock, KeyBytes, KeyFileError, is_private_file, private_dir, publish_key, random_key, read_key};
use crate::sealing::SealingKey;

const FILE: &str = "master.key";

/// First byte of a password hash: HMAC-SHA256 under the derived key.
const HASH_FORMAT: u8 = 1;

/// Bytes of a key's id: 64 bits tell any two keys apart.
const ID_BYTES: usize = 8;

/// What a password is compared with where there is no hash; as long as a real one.
const NO_TAG: [u8; 32] = [0; 32];

/// The deployment's long-lived key, as the two keys derived from it (HKDF, RFC 5869): one for API passwords, one for webhook secrets. Beside
/// them, a key of this process alone for fingerprints.
pub struct MasterKey {
    passwords: hmac::Key,
    secrets: SealingKey,
    fingerprints: hmac::Key,
    id: String,
}

/// Why a deployment's key is not opened.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// The directory or file cannot be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// There are merchants and no key.
    #[error(
        "there is no master.key in {0}, and the database has merchants whose passwords need theirs: give the folder that it is in \
         with --keys or DROPIN_KEYS, or restore it from your backup"
    )]
    Elsewhere(PathBuf),
    /// There is no key, and whether it is the first start is not known.
    #[error(
        "there is no master.key in {folder}, and the database does not tell whether this deployment is new (does it run, and is it migrated?): {source}"
    )]
    Unsure {
        /// Where it should be.
        folder: PathBuf,
        /// What the store said.
        source: StoreError,
    },
}

impl MasterKey {
    /// Opens `master.key` in `dir`. The first start of a deployment, which has no merchant yet, makes it; later a new key would make every API
    /// password and webhook secret worthless, so that it is refused.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub async fn of_deployment(dir: &Path, access: &dyn AccessStore) -> Result<Self, MasterKeyError> {
        if let Some(key) = Self::open(dir)? {
            return Ok(key);
        }
        match access.list_merchants().await {
            Ok(merchants) if merchants.is_empty() => Ok(Self::open_or_create(dir)?),
            Ok(_) => Err(MasterKeyError::Elsewhere(dir.to_owned())),
            Err(source) => Err(MasterKeyError::Unsure { folder: dir.to_owned(), source }),
        }
    }

    /// Opens `master.key` in `dir`, or makes both when there is none yet; [`Self::of_deployment`] is for programs. Every process of a
    /// deployment needs the same file.
    ///
    /// Losing the file makes every API password and webhook secret worthless, so back it up apart from the database.
    ///
    /// # Errors
    /// [`KeyFileError`] when the directory or file cannot be used or is open to other users.
    pub fn open_or_create(dir: &Path) -> Result<Self, KeyFileError> {
        private_dir(dir)?;
        let path = dir.join(FILE);
        if let Some(key) = read_key(&path)? {
            return Self::derive(&key);
        }
        let _lock = DirLock::acquire(dir, Duration::from_secs(5))?;
        if let Some(key) = read_key(&path)? {
            return Self::derive(&key);
        }
        crate::files::destroy_unfinished(dir)?;
        let key = random_key()?;
        publish_key(dir, FILE, &key)?;
        log::warn!("made a new master key at {}: back it up apart from the database", path.display());
        Self::derive(&key)
    }

    /// Opens `master.key` in `dir`; `None` when there is none. For programs that work on a deployment which has its key already: a new one
    /// would make passwords that no service accepts.
    ///
    /// # Errors
    /// [`KeyFileError`] when the directory or file cannot be used or is open to other users.
    pub fn open(dir: &Path) -> Result<Option<Self>, KeyFileError> {
        if !is_private_file(dir)? {
            return Ok(None);
        }
        read_key(&dir.join(FILE))?.map(|key| Self::derive(&key)).transpose()
    }

    fn derive(master: &KeyBytes) -> Result<Self, KeyFileError> {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"dropin master key").extract(master.as_slice());
        let passwords = expand(&root, b"API passwords, HMAC-SHA256");
        let secrets = expand(&root, b"webhook secrets, AES-256-GCM");
        let id = expand(&root, b"id of the master key");
        Ok(Self {
            passwords: hmac::Key::new(hmac::HMAC_SHA256, passwords.as_slice()),
            secrets: SealingKey::new(&secrets),
            fingerprints: hmac::Key::new(hmac::HMAC_SHA256, random_key()?.as_slice()),
            id: id.iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// What tells this key from others, in hexadecimal: the same in every process, and good for nothing else. The database remembers it.
    pub fn id(&self) -> &str {
        &self.id
    }
}

fn expand(root: &hkdf::Prk, purpose: &[u8]) -> KeyBytes {
    let mut key = KeyBytes::default();
    let info = [purpose];
    let output = root.expand(&info, hkdf::HKDF_SHA256).expect("the length of one hash is allowed");
    output.fill(key.as_mut_slice()).expect("the buffer has the length asked for");
    key
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

/// A keyed hash without a slow function is enough because passwords are generated with 256 bits, never chosen by people.
impl Secrets for MasterKey {
    fn hash_password(&self, password: &str) -> PasswordHash {
        let tag = hmac::sign(&self.passwords, password.as_bytes());
        let mut hash = vec![HASH_FORMAT];
        hash.extend_from_slice(tag.as_ref());
        PasswordHash(hash)
    }

    fn verify_password(&self, password: &str, hash: Option<&PasswordHash>) -> bool {
        let (format, tag) =
            hash.and_then(|hash| hash.0.split_first()).map_or((0, &NO_TAG[..]), |(format, tag)| (*format, tag));
        // Computed in any case, so that a malformed hash takes as long as a wrong password.
        let right = hmac::verify(&self.passwords, password.as_bytes(), tag).is_ok();
        format == HASH_FORMAT && right
    }

    fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        let mut context = hmac::Context::with_key(&self.fingerprints);
        for part in parts {
            // Each part after its length, so that no two lists give the same bytes.
            context.update(&u64::try_from(part.len()).expect("a length fits 64 bits").to_be_bytes());
            context.update(part);
        }
        Fingerprint(context.sign().as_ref().try_into().expect("SHA-256 gives 32 bytes"))
    }

    fn seal_secret(&self, owner: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        self.secrets.seal(Zeroizing::new(secret.to_vec()), &[owner.as_bytes()]).map(SealedSecret)
    }

    fn open_secret(&self, owner: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        self.secrets.open(&sealed.0, &[owner.as_bytes()]).map(|mut secret| std::mem::take(&mut *secret))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn keys() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("keys");
        (folder, dir)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("metadata").permissions().mode() & 0o777
    }

    #[test]
    fn the_key_is_private_and_the_same_after_a_restart() {
        let (_folder, dir) = keys();
        let hash = MasterKey::open_or_create(&dir).expect("created").hash_password("right");
        assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
        let again = MasterKey::open_or_create(&dir).expect("opened");
        assert!(again.verify_password("right", Some(&hash)));
        assert_eq!(again.id(), MasterKey::open_or_create(&dir).expect("opened").id());
        assert_eq!(again.id().len(), 2 * ID_BYTES);
        assert!(!again.verify_password("wrong", Some(&hash)));
        assert!(!again.verify_password("right", Some(&PasswordHash(vec![]))));
        assert!(!again.verify_password("right", Some(&PasswordHash([&[2][..], &hash.0[1..]].concat()))));
    }

    #[test]
    fn another_deployment_verifies_and_opens_nothing() {
        let ((_a, a), (_b, b)) = (keys(), keys());
        let (a, b) = (MasterKey::open_or_create(&a).expect("created"), MasterKey::open_or_create(&b).expect("created"));
        assert!(!b.verify_password("right", Some(&a.hash_password("right"))));
        assert_ne!(a.id(), b.id());
        let sealed = a.seal_secret("endpoint 1", b"whsec").expect("sealed");
        assert_eq!(a.open_secret("endpoint 1", &sealed), Ok(b"whsec".to_vec()));
        assert_eq!(a.open_secret("endpoint 2", &sealed), Err(KeyringError::CannotOpen));
        assert_eq!(b.open_secret("endpoint 1", &sealed), Err(KeyringError::CannotOpen));
    }

    #[test]
    fn wide_permissions_are_refused_with_the_command_that_mends_them() {
        let (_folder, dir) = keys();
        MasterKey::open_or_create(&dir).expect("created");
        let refusal = |path: &Path, wide: u32, right: u32| {
            fs::set_permissions(path, Permissions::from_mode(wide)).expect("chmod");
            let message = MasterKey::open_or_create(&dir).expect_err("refused").to_string();
            fs::set_permissions(path, Permissions::from_mode(right)).expect("chmod");
            message
        };
        let message = refusal(&dir.join(FILE), 0o640, 0o600);
        assert!(message.contains("mode 640") && message.contains("chmod 600"), "{message}");
        let message = refusal(&dir, 0o755, 0o700);
        assert!(message.contains("mode 755") && message.contains("chmod 700"), "{message}");
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).expect("chmod");
        assert!(MasterKey::open(&dir).is_err(), "for commands, which make no key, too");
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("chmod");
        MasterKey::open_or_create(&dir).expect("mended");
    }

    #[test]
    fn a_damaged_key_is_never_replaced_silently() {
        let (_folder, dir) = keys();
        MasterKey::open_or_create(&dir).expect("created");
        for damage in ["", "AAAA", "not base64 at all, and rather long for a key, much longer than one"] {
            fs::write(dir.join(FILE), damage).expect("written");
            let message = MasterKey::open_or_create(&dir).expect_err("refused").to_string();
            assert!(message.contains("restore it from your backup"), "{message}");
        }
    }

    #[test]
    fn processes_that_start_together_agree_on_one_key() {
        let (_folder, dir) = keys();
        let hashes: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| MasterKey::open_or_create(&dir).expect("opened").hash_password("same")))
                .collect();
            starts.into_iter().map(|start| start.join().expect("no panic")).collect()
        });
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_key_is_opened_where_there_is_one() {
        let (_folder, dir) = keys();
        assert!(MasterKey::open(&dir).expect("no folder is no key").is_none());
        assert!(!dir.exists(), "nothing was made");
        let hash = MasterKey::open_or_create(&dir).expect("created").hash_password("right");
        assert!(MasterKey::open(&dir).expect("opened").expect("a key").verify_password("right", Some(&hash)));
    }

    #[test]
    fn a_fingerprint_is_of_these_parts_in_this_process() {
        let (_folder, dir) = keys();
        let master = MasterKey::open_or_create(&dir).expect("created");
        let one = master.fingerprint(&[b"ab", b"c"]);
        assert!(one == master.fingerprint(&[b"ab", b"c"]));
        for other in [&[b"a".as_slice(), b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[]] {
            assert!(one != master.fingerprint(other), "{other:?}");
        }
        let again = MasterKey::open_or_create(&dir).expect("opened");
        assert!(one != again.fingerprint(&[b"ab", b"c"]), "a key of its own for each process");
    }

    #[test]
    fn debug_shows_nothing() {
        let (_folder, dir) = keys();
        let master = MasterKey::open_or_create(&dir).expect("created");
        assert_eq!(format!("{master:?}"), "MasterKey(..)");
    }
}
