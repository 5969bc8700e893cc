use async_trait::async_trait;
use dropin_contract::{ChargeTry, Contract, TryResult};
use dropin_kernel::{Change, ContractId, MerchantId, OrderId, Timestamp};
use dropin_order::Order;

use crate::audit_log::NewAuditEntry;
use crate::credential_vault::SealedCredential;
use crate::idempotency::ResponseToStore;
use crate::store::{Changed, NewEvent, NewHistoryEntry, StoreError};

/// What the Order that is prepared does with a contract.
#[derive(Debug, Clone)]
pub enum ContractUse {
    /// Its payment, or the verification of its card, opens this new contract.
    Opens(Box<Contract>),
    /// Its card is charged, by the merchant or by the shopper. Of two charges that were decided at the same time, or of a charge and an end, one
    /// finds the other's revision.
    Charges(Box<Change<Contract>>),
    /// Its payment brings another card, which takes the place of the contract's when it is stored.
    Replaces(Box<Change<Contract>>),
}

impl ContractUse {
    /// The contract as it stands when this is written.
    pub fn contract(&self) -> &Contract {
        match self {
            Self::Opens(contract) => contract,
            Self::Charges(change) | Self::Replaces(change) => &change.next,
        }
    }
}

/// What becomes of a contract's stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialChange {
    /// It stays as it is, be there one or none.
    Keep,
    /// The processor gave this one, in the place of any before.
    Store(SealedCredential),
    /// The processor gave this one for another card: the one before is kept aside until it is deleted at the processor.
    Replace(SealedCredential),
    /// The processor gave this one for a contract that nobody may charge: it is kept until it is deleted at the processor.
    StoreToDelete(SealedCredential),
    /// Nobody may charge it any more: it is kept until it is deleted at the processor.
    Delete,
}

/// What is known of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeOutcome {
    /// The issuer was asked, or may have been.
    Tried(TryResult),
    /// The processor was surely never asked: no try.
    NeverAsked,
}

/// A charge whose outcome is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcludedCharge {
    /// Its Order.
    pub order: OrderId,
    /// What is known of it.
    pub outcome: ChargeOutcome,
}

/// What a settlement changes of the contract that its Order opens or is made under.
#[derive(Debug, Clone)]
pub struct ContractSettlement {
    /// The contract; its revision counts up also where only the credential or the try changes.
    pub change: Change<Contract>,
    /// Its credential.
    pub credential: CredentialChange,
    /// The charge; `None` of the payment that opens it.
    pub charge: Option<ConcludedCharge>,
}

/// A change of a contract that no payment causes: its end, its card's expiry.
#[derive(Debug, Clone)]
pub struct ChangeContract {
    /// The contract.
    pub change: Change<Contract>,
    /// Its credential.
    pub credential: CredentialChange,
    /// The history entry.
    pub history: NewHistoryEntry,
    /// The event for the merchant, if any.
    pub event: Option<NewEvent>,
    /// What a request with a key is answered.
    pub response: Option<ResponseToStore>,
    /// The entry of the audit log, where a person, an API user or a command does this.
    pub audit: Option<NewAuditEntry>,
}

/// How the merchant names a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractName {
    /// By its id.
    Id(ContractId),
    /// By the ReferenceId that `openContract` took.
    Reference(String),
}

/// A stored credential that is to be deleted at its processor.
#[derive(Debug, Clone)]
pub struct CredentialToDelete {
    /// Whose contract it was.
    pub contract: ContractId,
    /// The merchant.
    pub merchant: MerchantId,
    /// The Order that stored it, where it is kept aside: no contract ends with it.
    pub discarded: Option<OrderId>,
    /// The credential.
    pub sealed: SealedCredential,
}

/// Contracts, and the sealed credentials that they are charged by. What a payment changes of one is written by
/// [`PaymentStore`](crate::PaymentStore), in the payment's own transaction.
#[async_trait]
pub trait ContractStore: Send + Sync {
    /// The merchant's own contract that it knows of; `None` also for another merchant's.
    async fn find_contract(&self, merchant: MerchantId, name: &ContractName) -> Result<Option<Contract>, StoreError>;

    /// The merchant's contracts of one billing profile that it knows of, oldest first, at most `limit`.
    async fn list_contracts(
        &self,
        merchant: MerchantId,
        billing_profile_reference: &str,
        limit: u32,
    ) -> Result<Vec<Contract>, StoreError>;

    /// The contracts by which a returning shopper may pay, of one billing profile: ONE_CLICK and ACTIVE, those paid with or opened last first. At
    /// most `limit` of those opened last.
    async fn list_saved_cards(
        &self,
        merchant: MerchantId,
        billing_profile_reference: &str,
        limit: u32,
    ) -> Result<Vec<Contract>, StoreError>;

    /// The Orders made under a contract that were shown, newest first, at most `limit`.
    async fn list_contract_orders(
        &self,
        merchant: MerchantId,
        contract: ContractId,
        limit: u32,
    ) -> Result<Vec<Order>, StoreError>;

    /// The tries to charge a contract, newest first, at most `limit`.
    async fn list_charge_tries(&self, contract: ContractId, limit: u32) -> Result<Vec<ChargeTry>, StoreError>;

    /// The credential that a contract is charged by; `None` when it has none, and when it is to be deleted.
    async fn find_credential(&self, contract: ContractId) -> Result<Option<SealedCredential>, StoreError>;

    /// In one transaction: change the contract, its credential, its history and its event.
    async fn change_contract(&self, change: ChangeContract) -> Result<Changed, StoreError>;

    /// Contracts whose card has an end to be told or reached by `now`, at most `limit`, earliest first.
    async fn find_due_contracts(&self, now: Timestamp, limit: u32) -> Result<Vec<Contract>, StoreError>;

    /// Takes over credentials that are to be deleted, for until `lease_until`; at most `limit`.
    async fn claim_credentials_to_delete(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<CredentialToDelete>, StoreError>;

    /// Forgets a credential that is gone at its processor: the one that is kept aside of this Order, or the contract's own. One that must be kept is left.
    async fn remove_deleted_credential(
        &self,
        contract: ContractId,
        discarded: Option<OrderId>,
    ) -> Result<(), StoreError>;

    /// Whether any sealed credential is kept, so that the key ring knows whether one must be there.
    async fn has_credentials(&self) -> Result<bool, StoreError>;
}
