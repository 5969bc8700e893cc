use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::{hkdf, hmac};
use dropin_access::{PasswordHash, SealedSecret};
use dropin_kernel::Timestamp;
use dropin_ports::{AccessStore, Fingerprint, KeyringError, SecretKeys, Secrets, StoreError};
use zeroize::Zeroizing;

use crate::files::{DirLock, KeyBytes, KeyFileError, is_private_file, private_dir, publish_key, random_key, read_key};
use crate::ring::{KeyInfo, KeyRing, RingKeyId};
use crate::sealing::SealingKey;

const FILE: &str = "master.key";

/// First byte of a password hash: HMAC-SHA256 under the derived key.
const HASH_FORMAT: u8 = 1;

/// Bytes of a key's id: 64 bits tell any two keys apart.
const ID_BYTES: usize = 8;

/// What a password is compared with where there is no hash; as long as a real one.
const NO_TAG: [u8; 32] = [0; 32];

/// The folder of the keys that a rotation made.
const FOLDER: &str = "master";

/// First byte of a secret that names its key: this byte, the key's id, then what the key sealed. What begins otherwise was sealed with `master.key`.
const NAMED_KEY: u8 = 2;

/// The deployment's long-lived keys. From `master.key` two keys are derived (HKDF, RFC 5869): one for API passwords, one for webhook secrets. The keys
/// that rotations made, in the folder `master`, seal secrets in its place; passwords stay with `master.key`, which also tells one deployment from
/// another. Beside them, a key of this process alone for fingerprints.
pub struct MasterKey {
    passwords: hmac::Key,
    secrets: KeyRing<SealingKey>,
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
            return Self::derive(dir, &key);
        }
        let _lock = DirLock::acquire(dir, Duration::from_secs(5))?;
        if let Some(key) = read_key(&path)? {
            return Self::derive(dir, &key);
        }
        crate::files::destroy_unfinished(dir)?;
        let key = random_key()?;
        publish_key(dir, FILE, &key)?;
        log::warn!("made a new master key at {}: back it up apart from the database", path.display());
        Self::derive(dir, &key)
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
        read_key(&dir.join(FILE))?.map(|key| Self::derive(dir, &key)).transpose()
    }

    fn derive(dir: &Path, master: &KeyBytes) -> Result<Self, KeyFileError> {
        let root = root(master);
        let passwords = expand(&root, b"API passwords, HMAC-SHA256");
        let id = expand(&root, b"id of the master key");
        Ok(Self {
            passwords: hmac::Key::new(hmac::HMAC_SHA256, passwords.as_slice()),
            secrets: KeyRing::open(&dir.join(FOLDER), Some(dir.join(FILE)), secrets_key)?,
            fingerprints: hmac::Key::new(hmac::HMAC_SHA256, random_key()?.as_slice()),
            id: id.iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// What tells this deployment's `master.key` from others, in hexadecimal: the same in every process and after every rotation, and good for nothing
    /// else. The database remembers it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The keys that there are, oldest first: `master.key`, then those of rotations. The last one seals.
    ///
    /// # Errors
    /// [`KeyFileError`] when a folder cannot be read.
    pub fn list_keys(&self) -> Result<Vec<KeyInfo>, KeyFileError> {
        self.secrets.list()
    }

    /// Makes the key that seals from now on, and returns its id. Programs that run find it within [`RELOAD_INTERVAL`](crate::RELOAD_INTERVAL).
    ///
    /// # Errors
    /// [`KeyFileError`] when the folder cannot be written.
    pub fn make_key(&self, now: Timestamp) -> Result<String, KeyFileError> {
        self.secrets.make(now).map(|id| id.to_string())
    }

    /// Destroys a key that no sealed secret names any more. `master.key` and the newest key are refused.
    ///
    /// # Errors
    /// [`KeyFileError::InUse`], and others when the folder cannot be written.
    pub fn destroy_key(&self, id: &str) -> Result<(), KeyFileError> {
        self.secrets.destroy(id)
    }
}

fn root(master: &KeyBytes) -> hkdf::Prk {
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"dropin master key").extract(master.as_slice())
}

fn secrets_key(master: &KeyBytes) -> SealingKey {
    SealingKey::new(&expand(&root(master), b"webhook secrets, AES-256-GCM"))
}

/// Takes a sealed secret apart: the key that sealed it, and what that key opens.
fn split(sealed: &SealedSecret) -> Result<(RingKeyId, &[u8]), KeyringError> {
    match sealed.0.split_first() {
        Some((&NAMED_KEY, rest)) => {
            let (id, rest) = rest.split_first_chunk().ok_or(KeyringError::CannotOpen)?;
            Ok((RingKeyId::from_bytes(id), rest))
        }
        _ => Ok((RingKeyId::FIRST, &sealed.0)),
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
        let (id, key) = self.secrets.newest()?;
        let plaintext = Zeroizing::new(secret.to_vec());
        if id == RingKeyId::FIRST {
            // As programs of before rotations read it.
            return key.seal(plaintext, &[owner.as_bytes()]).map(SealedSecret);
        }
        let id = id.to_bytes();
        let bytes = key.seal(plaintext, &[owner.as_bytes(), &id])?;
        Ok(SealedSecret([&[NAMED_KEY][..], &id, &bytes].concat()))
    }

    fn open_secret(&self, owner: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        let (id, bytes) = split(sealed)?;
        let key = self.secrets.find(id)?;
        let opened = match id {
            RingKeyId::FIRST => key.open(bytes, &[owner.as_bytes()]),
            id => key.open(bytes, &[owner.as_bytes(), &id.to_bytes()]),
        };
        opened.map(|mut secret| std::mem::take(&mut *secret))
    }
}

impl SecretKeys for MasterKey {
    fn newest_key_id(&self) -> Result<String, KeyringError> {
        Ok(self.secrets.newest()?.0.to_string())
    }

    fn key_id(&self, sealed: &SealedSecret) -> Result<String, KeyringError> {
        split(sealed).map(|(id, _)| id.to_string())
    }
}

#[cfg(test)]
mod tests;
