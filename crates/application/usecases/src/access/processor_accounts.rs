//! Accounts that merchants have of their own at processors (docs/SPECIFICATION.md#processor-account).

use std::fmt;
use std::sync::Arc;

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::uuid::Uuid;
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_ports::{
    Acting, AuditSubject, Clock, IdSource, KeyringError, ProcessorAccount, ProcessorAccountPut,
    ProcessorAccountRemoved, ProcessorAccountStore, ProcessorAccountUse, Secrets, StoreError,
};
use zeroize::Zeroizing;

use crate::audit_log::{AuditWriter, processor_account_document};

/// Most accounts of a deployment: each has connections and a thread of its own in every program that asks processors.
pub const MAX_PROCESSOR_ACCOUNTS: u32 = 200;

/// What an account is reached with; wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct ProcessorAccountSecrets {
    /// The key that the processor knows the account by. It has no line end.
    pub key: Zeroizing<String>,
    /// The secrets that the processor signs the account's events with, one a line; empty for none.
    pub events: Zeroizing<String>,
}

impl fmt::Debug for ProcessorAccountSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessorAccountSecrets(..)")
    }
}

impl ProcessorAccountSecrets {
    /// Opens what an account has sealed.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open(secrets: &dyn Secrets, account: &ProcessorAccount) -> Result<Self, KeyringError> {
        let owner = owner(account.id, account.merchant_id, &account.processor);
        let opened = Zeroizing::new(secrets.open_secret(&owner, &account.sealed)?);
        let text = std::str::from_utf8(&opened).map_err(|_no_text| KeyringError::CannotOpen)?;
        let (key, events) = text.split_once('\n').ok_or(KeyringError::CannotOpen)?;
        Ok(Self { key: Zeroizing::new(key.to_owned()), events: Zeroizing::new(events.to_owned()) })
    }

    /// Key, line end, secrets.
    fn bundle(&self) -> Zeroizing<Vec<u8>> {
        let mut all = Zeroizing::new(Vec::with_capacity(self.key.len() + 1 + self.events.len()));
        all.extend_from_slice(self.key.as_bytes());
        all.push(b'\n');
        all.extend_from_slice(self.events.as_bytes());
        all
    }
}

/// What an account's secrets are sealed for.
pub(crate) fn owner(id: Uuid, merchant: MerchantId, processor: &ProcessorId) -> String {
    format!("processor account {id} {processor} of {merchant}")
}

/// Why an account was not set or removed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorAccountError {
    /// The name is a processor's.
    #[error("{0} is a processor's name: an account's has a word of its own behind a dot, such as {0}.acme")]
    NoAccountName(ProcessorId),
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    NoMerchant,
    /// The name is another merchant's, or of another account.
    #[error(
        "{0} is another merchant's, or the key is of another account than the one that {0} is: Orders are captured and refunded in the account that authorized them, \
         so choose another name for another account"
    )]
    NameTaken(ProcessorId),
    /// The account has another name here.
    #[error("the account has another name here: replace its key under that name")]
    AccountTaken,
    /// The deployment has as many as it may have.
    #[error("this deployment has {MAX_PROCESSOR_ACCOUNTS} accounts of merchants, and may not have more")]
    TooMany,
    /// The merchant has none of this name.
    #[error("the merchant has no account {0}")]
    Missing(ProcessorId),
    /// A rule of the merchant's names it.
    #[error("a rule of the merchant's names {0}: payments still begin there")]
    Named(ProcessorId),
    /// Something needs it.
    #[error(
        "{} Orders are open there or may still be refunded, {} contracts and saved cards are kept there, and {} disputes are undecided",
        .0.orders, .0.contracts, .0.disputes
    )]
    InUse(ProcessorAccountUse),
    /// The secrets cannot be sealed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sets and removes accounts that merchants have of their own at processors.
#[derive(Clone)]
pub struct ProcessorAccounts {
    /// Where they are kept.
    pub store: Arc<dyn ProcessorAccountStore>,
    /// Seals keys.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Who acts.
    pub by: Acting,
}

impl ProcessorAccounts {
    /// Sets key and secrets of an account, in place of those before; sealed before the store sees them. `account` is the processor's own id of the
    /// account that the key is of, as the processor says it.
    ///
    /// # Errors
    /// [`ProcessorAccountError`].
    pub async fn set(
        &self,
        merchant_id: MerchantId,
        processor: &ProcessorId,
        account: String,
        given: &ProcessorAccountSecrets,
    ) -> Result<ProcessorAccount, ProcessorAccountError> {
        if !processor.is_account() {
            return Err(ProcessorAccountError::NoAccountName(processor.clone()));
        }
        let before = self.store.find_processor_account(processor).await?;
        let id = before.as_ref().map_or_else(|| self.ids.ordered(), |before| before.id);
        let sealed = self.secrets.seal_secret(&owner(id, merchant_id, processor), &given.bundle())?;
        let (processor, has_events) = (processor.clone(), !given.events.is_empty());
        let set = ProcessorAccount {
            id,
            merchant_id,
            processor,
            account,
            has_events,
            sealed,
            set_at: self.clock.now(),
            removed_at: None,
        };
        let mut entry = self.entry(&set, AuditAction::ProcessorAccountSet);
        entry = entry.with_after(processor_account_document(&set).finish());
        let before = before.filter(|before| before.merchant_id == merchant_id && before.removed_at.is_none());
        entry.before = before.map(|before| processor_account_document(&before).finish());
        match self.store.put_processor_account(set.clone(), MAX_PROCESSOR_ACCOUNTS, entry).await? {
            ProcessorAccountPut::Done => Ok(set),
            ProcessorAccountPut::NoMerchant => Err(ProcessorAccountError::NoMerchant),
            ProcessorAccountPut::NameTaken => Err(ProcessorAccountError::NameTaken(set.processor)),
            ProcessorAccountPut::AccountTaken => Err(ProcessorAccountError::AccountTaken),
            ProcessorAccountPut::TooMany => Err(ProcessorAccountError::TooMany),
        }
    }

    /// The merchant's accounts that payments may begin at, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self, merchant: MerchantId) -> Result<Vec<ProcessorAccount>, StoreError> {
        let mut all = self.store.list_processor_accounts(Some(merchant)).await?;
        all.retain(|account| account.removed_at.is_none());
        Ok(all)
    }

    /// Takes an account away that no rule names and nothing needs.
    ///
    /// # Errors
    /// [`ProcessorAccountError`].
    pub async fn remove(&self, merchant: MerchantId, processor: &ProcessorId) -> Result<(), ProcessorAccountError> {
        let before = self.list(merchant).await?.into_iter().find(|account| account.processor == *processor);
        let before = before.ok_or_else(|| ProcessorAccountError::Missing(processor.clone()))?;
        let entry = self.entry(&before, AuditAction::ProcessorAccountRemove);
        let entry = entry.with_before(processor_account_document(&before).finish());
        match self.store.remove_processor_account(merchant, processor, self.clock.now(), entry).await? {
            ProcessorAccountRemoved::Done => Ok(()),
            ProcessorAccountRemoved::Missing => Err(ProcessorAccountError::Missing(processor.clone())),
            ProcessorAccountRemoved::Named => Err(ProcessorAccountError::Named(processor.clone())),
            ProcessorAccountRemoved::InUse(uses) => Err(ProcessorAccountError::InUse(uses)),
        }
    }

    fn entry(&self, account: &ProcessorAccount, action: AuditAction) -> dropin_ports::NewAuditEntry {
        let writer = AuditWriter { by: self.by.clone(), clock: self.clock.clone(), ids: self.ids.clone() };
        let subject = AuditSubject::new(AuditSubjectKind::ProcessorAccount, account.processor.as_str());
        writer.entry(Some(account.merchant_id), action, subject)
    }
}
