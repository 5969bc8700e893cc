use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_kernel::{MerchantId, ProcessorId, Timestamp};
use uuid::Uuid;

use crate::audit_log::NewAuditEntry;
use crate::store::StoreError;

/// An account that a merchant has of its own at one of the deployment's processors (docs/SPECIFICATION.md#processor-account).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorAccount {
    /// Of its row.
    pub id: Uuid,
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// Its name: operations, stored cards and disputes keep it.
    pub processor: ProcessorId,
    /// The processor's own id of it, by which a key of another account is told.
    pub account: String,
    /// Whether secrets of its events are sealed with the key.
    pub has_events: bool,
    /// Key and secrets of events.
    pub sealed: SealedSecret,
    /// When they were set.
    pub set_at: Timestamp,
    /// When it was removed: no payment begins there any more.
    pub removed_at: Option<Timestamp>,
}

/// What came of setting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorAccountPut {
    /// Written.
    Done,
    /// There is no such merchant.
    NoMerchant,
    /// The name is another merchant's, or of another account.
    NameTaken,
    /// The account has another name here.
    AccountTaken,
    /// The deployment has as many as it may have.
    TooMany,
}

/// What still needs an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorAccountUse {
    /// Orders that are open there, or of whose money there some may be given back.
    pub orders: u64,
    /// Contracts and saved cards whose card it keeps.
    pub contracts: u64,
    /// Undecided disputes.
    pub disputes: u64,
}

impl ProcessorAccountUse {
    /// Whether nothing does.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What came of removing an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorAccountRemoved {
    /// Written.
    Done,
    /// The merchant has none of this name, or it was removed before.
    Missing,
    /// A rule of the merchant's names it: nothing was written.
    Named,
    /// Something needs it: nothing was written.
    InUse(ProcessorAccountUse),
}

/// Accounts that merchants have of their own at processors.
#[async_trait]
pub trait ProcessorAccountStore: Send + Sync {
    /// Sets an account, in place of what is kept under its name for the same merchant and account, removed or not. At most `limit` have a key.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn put_processor_account(
        &self,
        account: ProcessorAccount,
        limit: u32,
        audit: NewAuditEntry,
    ) -> Result<ProcessorAccountPut, StoreError>;

    /// The account of this name, removed or not.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn find_processor_account(&self, processor: &ProcessorId) -> Result<Option<ProcessorAccount>, StoreError>;

    /// The merchant's accounts, or those of all merchants, by name; those that were removed and are still kept among them.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list_processor_accounts(&self, merchant: Option<MerchantId>) -> Result<Vec<ProcessorAccount>, StoreError>;

    /// Takes an account away that no rule of the merchant's names and nothing needs, which is checked where it is written: rules that name it are set before or
    /// refused ([`AccessStore::set_merchant`](crate::AccessStore::set_merchant)). Its key is kept until [`ProcessorAccountStore::purge_processor_accounts`], for what was about to begin.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn remove_processor_account(
        &self,
        merchant: MerchantId,
        processor: &ProcessorId,
        now: Timestamp,
        audit: NewAuditEntry,
    ) -> Result<ProcessorAccountRemoved, StoreError>;

    /// Deletes the keys of accounts that were removed before this moment and that nothing needs; how many. Such an account is not found any more, but its
    /// name stays its own.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn purge_processor_accounts(&self, removed_before: Timestamp) -> Result<u32, StoreError>;
}
