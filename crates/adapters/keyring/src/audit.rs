use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use dropin_kernel::Timestamp;
use dropin_ports::{AuditSealer, ExportSignature, KeyringError, StoreError};
use zeroize::Zeroizing;

use crate::files::{KeyBytes, KeyFileError};
use crate::ring::{KeyInfo, KeyRing, RingKeyId};

/// The keys of the audit log: the folder `audit` in the key folder. Old ones stay for ever, since old seals name them.
pub struct AuditKeys {
    ring: KeyRing<AuditKey>,
}

/// Two keys for two purposes, derived from one file.
struct AuditKey {
    seal: hmac::Key,
    export_seed: Zeroizing<[u8; 32]>,
}

/// Why the keys of the audit log are not opened.
#[derive(Debug, thiserror::Error)]
pub enum AuditKeysError {
    /// The directory or a file cannot be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// There are seals and no key.
    #[error(
        "there is no key in {0}, and the database has an audit log that was sealed by one: give the folder that it is in with --keys or DROPIN_KEYS, \
         or restore it from your backup"
    )]
    Elsewhere(PathBuf),
    /// There is no key, and whether one is needed is not known.
    #[error(
        "there is no key in {folder}, and the database does not tell whether its audit log was sealed by one: {source}"
    )]
    Unsure {
        /// Where it should be.
        folder: PathBuf,
        /// What the store said.
        source: StoreError,
    },
}

impl AuditKeys {
    /// Opens the keys in the key folder `dir`. Where there is none yet, the first one is made, unless `has_seals` finds a seal in the database: a new key
    /// would verify none of them. It is asked only where there is no key.
    ///
    /// # Errors
    /// [`AuditKeysError`].
    pub async fn of_deployment(
        dir: &Path,
        has_seals: impl Future<Output = Result<bool, StoreError>>,
        now: Timestamp,
    ) -> Result<Self, AuditKeysError> {
        let keys = Self::open(dir)?;
        if !keys.ring.is_empty() {
            return Ok(keys);
        }
        let folder = folder(dir);
        match has_seals.await {
            Ok(false) => {
                keys.ring.make_first(now)?;
                Ok(keys)
            }
            Ok(true) => Err(AuditKeysError::Elsewhere(folder)),
            Err(source) => Err(AuditKeysError::Unsure { folder, source }),
        }
    }

    /// Opens the keys in the key folder `dir`, perhaps none; makes nothing.
    ///
    /// # Errors
    /// [`KeyFileError`] when the directory or a file cannot be used or is open to other users.
    pub fn open(dir: &Path) -> Result<Self, KeyFileError> {
        Ok(Self { ring: KeyRing::open(&folder(dir), None, derive)? })
    }

    /// The keys that there are, oldest first. The last one seals.
    ///
    /// # Errors
    /// [`KeyFileError`] when the folder cannot be read.
    pub fn list_keys(&self) -> Result<Vec<KeyInfo>, KeyFileError> {
        self.ring.list()
    }

    /// Makes the key that seals from now on, and returns its id. Programs that run find it within [`RELOAD_INTERVAL`](crate::RELOAD_INTERVAL).
    ///
    /// # Errors
    /// [`KeyFileError`] when the folder cannot be written.
    pub fn make_key(&self, now: Timestamp) -> Result<String, KeyFileError> {
        self.ring.make(now).map(|id| id.to_string())
    }

    /// Reads every key anew.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] says which file or directory is in the way, and what to do.
    pub fn check(&self) -> Result<(), KeyringError> {
        Ok(self.ring.check()?)
    }
}

fn folder(dir: &Path) -> PathBuf {
    dir.join("audit")
}

fn derive(key: &KeyBytes) -> AuditKey {
    let root = hmac::Key::new(hmac::HMAC_SHA256, key.as_slice());
    let derived = |purpose: &[u8]| {
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.copy_from_slice(hmac::sign(&root, purpose).as_ref());
        bytes
    };
    let seal = hmac::Key::new(hmac::HMAC_SHA256, derived(b"dropin audit seal").as_slice());
    AuditKey { seal, export_seed: derived(b"dropin audit export") }
}

impl fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKeys(..)")
    }
}

impl AuditSealer for AuditKeys {
    fn seal(&self, message: &[u8]) -> Result<(String, [u8; 32]), KeyringError> {
        let (id, key) = self.ring.newest()?;
        let mut mac = [0; 32];
        mac.copy_from_slice(hmac::sign(&key.seal, message).as_ref());
        Ok((id.to_string(), mac))
    }

    fn verify(&self, key_id: &str, message: &[u8], mac: &[u8; 32]) -> Result<bool, KeyringError> {
        let id: RingKeyId = key_id.parse().map_err(|_no_id| KeyringError::CannotOpen)?;
        let key = match self.ring.find(id) {
            Ok(key) => key,
            Err(KeyFileError::LostRingKey(_)) => return Err(KeyringError::CannotOpen),
            Err(error) => return Err(error.into()),
        };
        Ok(hmac::verify(&key.seal, message, mac).is_ok())
    }

    fn sign_export(&self, message: &[u8]) -> Result<ExportSignature, KeyringError> {
        let (id, key) = self.ring.newest()?;
        let failed = || KeyringError::Unavailable("signing failed in the library".to_owned());
        let pair = Ed25519KeyPair::from_seed_unchecked(key.export_seed.as_slice()).map_err(|_rejected| failed())?;
        let public_key = pair.public_key().as_ref().try_into().map_err(|_length| failed())?;
        let signature = pair.sign(message).as_ref().try_into().map_err(|_length| failed())?;
        Ok(ExportSignature { key_id: id.to_string(), public_key, signature })
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_795_489_200_000_000);

    fn made(dir: &Path) -> AuditKeys {
        let keys = AuditKeys::open(dir).expect("opened");
        keys.make_key(NOW).expect("made");
        keys
    }

    #[test]
    fn a_mac_fits_its_message_and_key_alone_and_old_keys_verify() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = made(folder.path());
        let (old, mac) = keys.seal(b"entry").expect("sealed");
        let new = keys.make_key(NOW).expect("made");
        assert_eq!(keys.seal(b"entry").map(|(id, _)| id), Ok(new.clone()), "the newest seals");
        let elsewhere = AuditKeys::open(folder.path()).expect("opened");
        assert_eq!(elsewhere.verify(&old, b"entry", &mac), Ok(true));
        assert_eq!(elsewhere.verify(&old, b"another", &mac), Ok(false));
        assert_eq!(elsewhere.verify(&new, b"entry", &mac), Ok(false));
        let mut altered = mac;
        altered[31] ^= 1;
        assert_eq!(elsewhere.verify(&old, b"entry", &altered), Ok(false));
        for unknown in ["1-00000001", "../audit/x", ""] {
            assert_eq!(elsewhere.verify(unknown, b"entry", &mac), Err(KeyringError::CannotOpen), "{unknown}");
        }
    }

    #[test]
    fn an_exports_signature_is_checked_by_the_public_key_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = made(folder.path());
        let signed = keys.sign_export(b"manifest").expect("signed");
        let public = UnparsedPublicKey::new(&ED25519, signed.public_key);
        assert!(public.verify(b"manifest", &signed.signature).is_ok());
        assert!(public.verify(b"another", &signed.signature).is_err());
        assert_eq!(keys.sign_export(b"manifest"), Ok(signed), "the same key, the same signature");
    }

    /// Runs a future that never waits.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn a_deployment_with_seals_gets_no_new_first_key() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("keys");
        let opened = |found: Result<bool, StoreError>| now(AuditKeys::of_deployment(&dir, async { found }, NOW));
        assert!(matches!(opened(Ok(true)), Err(AuditKeysError::Elsewhere(_))));
        let away = StoreError::Unavailable("away".to_owned());
        assert!(matches!(opened(Err(away.clone())), Err(AuditKeysError::Unsure { .. })));
        assert!(!dir.exists(), "nothing was made");
        let (id, mac) = opened(Ok(false)).expect("made").seal(b"entry").expect("sealed");
        assert_eq!(opened(Err(away)).expect("opened").verify(&id, b"entry", &mac), Ok(true));
    }
}
