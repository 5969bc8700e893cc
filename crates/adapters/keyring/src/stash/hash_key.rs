use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::hmac;
use dropin_card::CardHash;
use dropin_kernel::MerchantId;

use crate::files::{self, DirLock, KeyBytes, KeyFileError};

/// Not the name of a stash key, so that no rotation destroys it.
const FILE: &str = "card-hash.key";

/// The key of card hashes: one file beside the stash keys, made once and never exchanged. Every process reads it when it hashes.
pub(crate) struct HashKey {
    path: PathBuf,
    /// Whether this process has found it: then it was lost when it is not there.
    is_known: AtomicBool,
}

impl HashKey {
    /// That of `dir`, which need not have it yet.
    pub(crate) fn of(dir: &Path) -> Self {
        Self { path: dir.join(FILE), is_known: AtomicBool::new(false) }
    }

    /// Reads it; `None` when this process never found one.
    pub(crate) fn read(&self) -> Result<Option<KeyBytes>, KeyFileError> {
        match files::read_key(&self.path)? {
            Some(key) => {
                self.is_known.store(true, Ordering::Relaxed);
                Ok(Some(key))
            }
            None if self.is_known.load(Ordering::Relaxed) => Err(KeyFileError::LostHashKey(self.path.clone())),
            None => Ok(None),
        }
    }

    /// Reads it, making it first where there was none.
    pub(crate) fn read_or_make(&self, dir: &Path, _lock: &DirLock) -> Result<KeyBytes, KeyFileError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        files::destroy_unfinished(dir)?;
        let key = files::random_key()?;
        files::publish_key(dir, FILE, &key)?;
        self.is_known.store(true, Ordering::Relaxed);
        log::info!("made the key of card hashes at {}", self.path.display());
        Ok(key)
    }
}

/// HMAC-SHA-256 of the merchant's id, which always has 16 bytes, and the number's digits.
pub(crate) fn hash(key: &KeyBytes, merchant: MerchantId, digits: &str) -> CardHash {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key.as_slice()));
    context.update(merchant.uuid().as_bytes());
    context.update(digits.as_bytes());
    CardHash(context.sign().as_ref().try_into().expect("SHA-256 gives 32 bytes"))
}
