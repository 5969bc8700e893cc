use dropin_access::{PasswordHash, SealedSecret};
use dropin_card::{CardHash, StashContents};
use dropin_kernel::{MerchantId, Timestamp};

use crate::stash::StashKey;

/// Why the keyring could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The key directory cannot be read or written.
    #[error("the keys are not available: {0}")]
    Unavailable(String),
    /// The key has been destroyed, or the text was altered or belongs elsewhere.
    #[error("cannot be opened with any key there is")]
    CannotOpen,
}

/// An encrypted card, or an encrypted token of a wallet.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedCard {
    /// Which key of the keyring opens it.
    pub key_id: String,
    /// Nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for SealedCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedCard({})", self.key_id)
    }
}

/// What a sealed card is bound to; opening it under any other binding fails.
pub type StashBinding<'a> = &'a StashKey;

/// The keys of the stash, each of a short time. Only stash-api and checkout-api may open it.
pub trait StashVault: Send + Sync {
    /// Encrypts with the key of the moment.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn seal(
        &self,
        contents: &StashContents,
        binding: StashBinding<'_>,
        now: Timestamp,
    ) -> Result<SealedCard, KeyringError>;

    /// Decrypts.
    ///
    /// # Errors
    /// [`KeyringError`].
    fn open(&self, sealed: &SealedCard, binding: StashBinding<'_>) -> Result<StashContents, KeyringError>;

    /// The keyed hash of a card's number, given without what people write between the digits: the same for ever in every process of the deployment, and
    /// another one for each merchant.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn hash_card(&self, merchant: MerchantId, digits: &str) -> Result<CardHash, KeyringError>;

    /// Whether what was sealed under `key_id` could be opened now. A payment asks before anything of it is written down.
    ///
    /// # Errors
    /// [`KeyringError`].
    fn check_key(&self, key_id: &str) -> Result<(), KeyringError>;

    /// Whether the stash can seal at `now`, and open whatever was sealed before: for readiness.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] says which file or directory is in the way, and what to do.
    fn check(&self, now: Timestamp) -> Result<(), KeyringError>;
}

/// A keyed hash that only the process which made it can make again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

/// The deployment's long-lived master keys: API passwords, webhook secrets and wallet certificates.
pub trait Secrets: Send + Sync {
    /// Keyed hash of a generated password.
    fn hash_password(&self, password: &str) -> PasswordHash;

    /// Compares in constant time. Without a hash the answer is no, after the same work.
    fn verify_password(&self, password: &str, hash: Option<&PasswordHash>) -> bool;

    /// Keyed hash of `parts` under a key that this process drew when it started and keeps nowhere else: for remembering who was seen without
    /// keeping anything that tells of a password. No two lists of parts are one.
    fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint;

    /// Encrypts a secret that belongs to `owner`.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn seal_secret(&self, owner: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError>;

    /// Decrypts a secret of `owner`.
    ///
    /// # Errors
    /// [`KeyringError::CannotOpen`].
    fn open_secret(&self, owner: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError>;
}

/// Which of the master keys sealed a secret, for rotating them. What is sealed carries the id of its key.
pub trait SecretKeys: Secrets {
    /// The id of the key that seals now.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn newest_key_id(&self) -> Result<String, KeyringError>;

    /// The id of the key that sealed it. Tells nothing of whether that key is there.
    ///
    /// # Errors
    /// [`KeyringError::CannotOpen`] when these are not the bytes of a sealed secret.
    fn key_id(&self, sealed: &SealedSecret) -> Result<String, KeyringError>;
}
