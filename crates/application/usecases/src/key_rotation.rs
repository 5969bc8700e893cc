//! Rotating the long-lived keys: which key every sealed value of the database needs, and sealing the values anew with the newest.

use std::collections::BTreeMap;
use std::sync::Arc;

use dropin_access::SealedSecret;
use dropin_ports::{
    Applied, CredentialVault, KeyringError, SealedKind, SealedStore, SealedValue, SecretKeys, StoreError,
};
use zeroize::Zeroizing;

use crate::{access, disputes, operators, wallet};

/// Values that are read at once.
const PAGE: u32 = 200;

/// Passes over the database before a rotation leaves values that keep changing to the next one.
const MAX_PASSES: u32 = 5;

/// Why a rotation stopped. What was sealed anew stays so, and the next rotation goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationError {
    /// The keys cannot be used.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many values of the database need a key, by its id and their kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyUsage {
    by_key: BTreeMap<String, BTreeMap<SealedKind, u64>>,
    /// Values that are no sealed value at all: no key opens them.
    pub damaged: u64,
}

impl KeyUsage {
    /// The kinds that need the key, with how many of each; empty when it is not needed.
    pub fn of(&self, key_id: &str) -> BTreeMap<SealedKind, u64> {
        self.by_key.get(key_id).cloned().unwrap_or_default()
    }

    /// The ids of the keys that values need.
    pub fn key_ids(&self) -> impl Iterator<Item = &str> {
        self.by_key.keys().map(String::as_str)
    }

    /// How many values need the key.
    pub fn count(&self, key_id: &str) -> u64 {
        self.by_key.get(key_id).map_or(0, |kinds| kinds.values().sum())
    }
}

/// What a rotation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Values that the newest key sealed in place of an older one.
    pub count: u64,
    /// Values that their key does not open, each with why; they stay as they are.
    pub failed: Vec<(SealedValue, KeyringError)>,
}

/// A ring of long-lived keys. Its values name the keys that sealed them.
#[derive(Clone)]
pub enum SealedRing {
    /// Of webhook secrets, wallet certificates, keys of merchants' accounts at processors, operators' authenticators and evidence in disputes.
    Master(Arc<dyn SecretKeys>),
    /// Of contracts' stored credentials.
    Credential(Arc<dyn CredentialVault>),
}

impl SealedRing {
    const fn kinds(&self) -> &'static [SealedKind] {
        match self {
            Self::Master(_) => &SealedKind::OF_MASTER_RING,
            Self::Credential(_) => &SealedKind::OF_CREDENTIAL_RING,
        }
    }

    fn newest_key_id(&self) -> Result<String, KeyringError> {
        match self {
            Self::Master(secrets) => secrets.newest_key_id(),
            Self::Credential(vault) => vault.current_key_id(),
        }
    }

    /// The key that sealed a value of this ring.
    fn key_id(&self, value: &SealedValue) -> Result<String, KeyringError> {
        match (self, value) {
            (
                Self::Master(secrets),
                SealedValue::WebhookSecret { sealed, .. }
                | SealedValue::PreviousWebhookSecret { sealed, .. }
                | SealedValue::WalletCertificate { sealed, .. }
                | SealedValue::OperatorAuthenticator { sealed, .. }
                | SealedValue::DisputeEvidence { sealed, .. }
                | SealedValue::ProcessorAccount { sealed, .. },
            ) => secrets.key_id(sealed),
            (Self::Credential(_), SealedValue::ContractCredential { sealed, .. }) => Ok(sealed.key_id.clone()),
            _ => Err(KeyringError::CannotOpen),
        }
    }

    /// The value, sealed with the newest key.
    fn seal_anew(&self, old: &SealedValue) -> Result<SealedValue, KeyringError> {
        Ok(match (self, old) {
            (Self::Master(secrets), SealedValue::WebhookSecret { endpoint, sealed }) => SealedValue::WebhookSecret {
                endpoint: *endpoint,
                sealed: seal_secret_anew(&**secrets, &endpoint.to_string(), sealed)?,
            },
            (Self::Master(secrets), SealedValue::PreviousWebhookSecret { endpoint, sealed }) => {
                SealedValue::PreviousWebhookSecret {
                    endpoint: *endpoint,
                    sealed: seal_secret_anew(&**secrets, &endpoint.to_string(), sealed)?,
                }
            }
            (Self::Master(secrets), SealedValue::WalletCertificate { merchant, sealed }) => {
                SealedValue::WalletCertificate {
                    merchant: *merchant,
                    sealed: seal_secret_anew(&**secrets, &wallet::owner(*merchant), sealed)?,
                }
            }
            (Self::Master(secrets), SealedValue::OperatorAuthenticator { operator, sealed }) => {
                SealedValue::OperatorAuthenticator {
                    operator: *operator,
                    sealed: seal_secret_anew(&**secrets, &operators::authenticator_owner(*operator), sealed)?,
                }
            }
            (Self::Master(secrets), SealedValue::DisputeEvidence { answer, sealed }) => SealedValue::DisputeEvidence {
                answer: *answer,
                sealed: seal_secret_anew(&**secrets, &disputes::evidence_owner(*answer), sealed)?,
            },
            (Self::Master(secrets), SealedValue::ProcessorAccount { id, merchant, processor, sealed }) => {
                let owner = access::processor_account_owner(*id, *merchant, processor);
                SealedValue::ProcessorAccount {
                    id: *id,
                    merchant: *merchant,
                    processor: processor.clone(),
                    sealed: seal_secret_anew(&**secrets, &owner, sealed)?,
                }
            }
            (
                Self::Credential(vault),
                &SealedValue::ContractCredential { merchant, contract, discarded, ref sealed },
            ) => {
                let credential = vault.open(merchant, contract, sealed)?;
                SealedValue::ContractCredential {
                    merchant,
                    contract,
                    discarded,
                    sealed: vault.seal(merchant, contract, &credential)?,
                }
            }
            _ => return Err(KeyringError::CannotOpen),
        })
    }
}

fn seal_secret_anew(secrets: &dyn SecretKeys, owner: &str, old: &SealedSecret) -> Result<SealedSecret, KeyringError> {
    let secret = Zeroizing::new(secrets.open_secret(owner, old)?);
    secrets.seal_secret(owner, &secret)
}

/// Seals the values of a ring anew.
#[derive(Clone)]
pub struct KeyRotation {
    /// What is sealed.
    pub store: Arc<dyn SealedStore>,
    /// The ring.
    pub ring: SealedRing,
}

impl KeyRotation {
    /// Counts the values by key.
    ///
    /// # Errors
    /// [`RotationError::Store`].
    pub async fn usage(&self) -> Result<KeyUsage, RotationError> {
        let mut usage = KeyUsage::default();
        for &kind in self.ring.kinds() {
            let mut after = None;
            loop {
                let page = self.store.list_sealed(kind, after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.row());
                for value in &page {
                    match self.ring.key_id(value) {
                        Ok(id) => *usage.by_key.entry(id).or_default().entry(kind).or_default() += 1,
                        Err(_damaged) => usage.damaged += 1,
                    }
                }
            }
        }
        Ok(usage)
    }

    /// Seals every value anew that the newest key did not seal. A value that changes meanwhile stays as it was changed. To be called again after it
    /// was interrupted.
    ///
    /// # Errors
    /// [`RotationError::Store`]; [`RotationError::Keyring`] when there is no key to seal with.
    pub async fn reseal(&self) -> Result<Resealed, RotationError> {
        let newest = self.ring.newest_key_id()?;
        let mut done = Resealed::default();
        for _ in 0..MAX_PASSES {
            done.failed.clear();
            let mut changed_meanwhile = 0;
            for &kind in self.ring.kinds() {
                changed_meanwhile += self.reseal_kind(kind, &newest, &mut done).await?;
            }
            if changed_meanwhile == 0 {
                break;
            }
        }
        Ok(done)
    }

    /// One pass over the values of a kind; how many changed meanwhile.
    async fn reseal_kind(&self, kind: SealedKind, newest: &str, done: &mut Resealed) -> Result<u64, RotationError> {
        let (mut after, mut changed_meanwhile) = (None, 0);
        loop {
            let page = self.store.list_sealed(kind, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(changed_meanwhile) };
            after = Some(last.row());
            for old in &page {
                if self.ring.key_id(old).as_deref() == Ok(newest) {
                    continue;
                }
                match self.ring.seal_anew(old) {
                    Err(error) => done.failed.push((old.clone(), error)),
                    Ok(new) => match self.store.replace_sealed(old, &new).await? {
                        Applied::Done => done.count += 1,
                        Applied::Stale => changed_meanwhile += 1,
                    },
                }
            }
        }
    }
}
