use std::fmt;

use dropin_kernel::{ContractId, MerchantId};

use crate::credential::StoredCredential;
use crate::keyring::KeyringError;

/// An encrypted [`StoredCredential`], as the database keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedCredential {
    /// The key of the credential ring that opens it.
    pub key_id: String,
    /// Format, nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for SealedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedCredential({})", self.key_id)
    }
}

/// The long-lived keys of contracts' stored credentials. Only checkout-api and the settler open it, and `dropin`, which runs both.
///
/// A sealed credential is bound to its merchant, its contract and its key: the bytes of one contract open under no other.
pub trait CredentialVault: Send + Sync {
    /// Encrypts with the newest key.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] says which file or directory is in the way, and what to do.
    fn seal(
        &self,
        merchant: MerchantId,
        contract: ContractId,
        credential: &StoredCredential,
    ) -> Result<SealedCredential, KeyringError>;

    /// Decrypts with the key that `sealed` names, reading the key folder again where this process does not know that key yet.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] where the key's file is gone or cannot be read, and says what to do; [`KeyringError::CannotOpen`] where
    /// the bytes were altered or belong to another merchant or contract.
    fn open(
        &self,
        merchant: MerchantId,
        contract: ContractId,
        sealed: &SealedCredential,
    ) -> Result<StoredCredential, KeyringError>;

    /// The id of the key that seals now. Another process may have made a newer one a few seconds ago.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn current_key_id(&self) -> Result<String, KeyringError>;

    /// Whether the ring can seal, and every key in its folder can be read: for readiness. An older key that is gone shows when a credential names it.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`] says which file or directory is in the way, and what to do.
    fn check(&self) -> Result<(), KeyringError>;
}
