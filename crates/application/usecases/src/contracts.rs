//! Contracts, for their merchants and for the settler (docs/SPECIFICATION.md#contracts). What opens and charges one is a payment
//! ([`crate::payments`]).

use std::sync::Arc;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_contract::{Contract, ContractStateKind, ContractStep, WrongState};
use dropin_kernel::{ContractId, EventId, OpId};
use dropin_order::Order;
use dropin_ports::{
    Acting, Actor, ChangeContract, Changed, Clock, ContractName, ContractStore, CredentialChange, CredentialDeletion,
    CredentialToDelete, CredentialVault, DeleteCredentialRequest, IdSource, NewAuditEntry, NewEvent, NewHistoryEntry,
    Processor, ResponseToStore, StoreError, Subject,
};
use dropin_wire::event::contract_changed;

use crate::access::Caller;
use crate::audit_log::{MerchantAct, contract_document};
use crate::idempotency::{IdempotentOutcome, Reply};

/// How often a decision is made again after somebody else changed the contract first.
const MAX_CAS_RETRIES: usize = 8;
/// Most contracts of a billing profile, and most Orders of a contract, that an answer has.
const MAX_LISTED: u32 = 100;
/// How long a credential's deletion belongs to whoever took it over; longer than the call, and the pause before it is tried again.
const DELETION_LEASE: Duration = Duration::from_secs(30);

/// Contracts.
#[derive(Clone)]
pub struct Contracts {
    /// Where they are kept.
    pub store: Arc<dyn ContractStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
}

/// Why a contract is not shown or not closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The merchant has none of that name.
    #[error("there is no such contract")]
    NotFound,
    /// It is in a state that does not allow it.
    #[error("the contract is {}", .0.as_str())]
    WrongState(ContractStateKind),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<WrongState> for ContractError {
    fn from(WrongState { found }: WrongState) -> Self {
        Self::WrongState(found)
    }
}

impl Contracts {
    /// The merchant's own contract.
    ///
    /// # Errors
    /// [`ContractError`].
    pub async fn find(&self, caller: &Caller, name: &ContractName) -> Result<Contract, ContractError> {
        self.store.find_contract(caller.merchant.id, name).await?.ok_or(ContractError::NotFound)
    }

    /// The merchant's own contract with the newest 100 Orders made under it, oldest first.
    ///
    /// # Errors
    /// [`ContractError`].
    pub async fn details(&self, caller: &Caller, id: ContractId) -> Result<(Contract, Vec<Order>), ContractError> {
        let contract = self.find(caller, &ContractName::Id(id)).await?;
        let mut orders = self.store.list_contract_orders(caller.merchant.id, id, MAX_LISTED).await?;
        orders.reverse();
        Ok((contract, orders))
    }

    /// The merchant's contracts of a billing profile, oldest first, at most 100.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of_profile(&self, caller: &Caller, reference: &str) -> Result<Vec<Contract>, StoreError> {
        self.store.list_contracts(caller.merchant.id, reference, MAX_LISTED).await
    }

    /// The merchant closes a contract: nobody charges it from now on, and its card is deleted at the processor.
    ///
    /// # Errors
    /// [`ContractError`]; WrongState unless ACTIVE or SUSPENDED.
    pub async fn close(
        &self,
        act: &MerchantAct,
        id: ContractId,
        reply: Reply<Contract>,
    ) -> Result<IdempotentOutcome, ContractError> {
        for _ in 0..MAX_CAS_RETRIES {
            let contract = self.store.find_contract(act.merchant, &ContractName::Id(id)).await?;
            let contract = contract.ok_or(ContractError::NotFound)?;
            let step = contract.close_by_merchant(self.clock.now())?;
            let (answer, response) = reply.tell(&step.change.next);
            let change = self.change(&contract, act.by.actor.clone(), step, CredentialChange::Delete, response);
            let change = self.audited(change, &contract, &act.by);
            match self.store.change_contract(change).await? {
                Changed::Done => return Ok(IdempotentOutcome::Stored(answer)),
                Changed::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                Changed::Stale => {}
            }
        }
        Err(StoreError::Unavailable("the contract changes faster than it can be closed".to_owned()).into())
    }

    /// Tells merchants of cards that end soon, and suspends contracts whose card has ended; looks at `limit` at most. Says how many there were: when
    /// `limit`, there may be more.
    ///
    /// # Errors
    /// [`StoreError`]; what was written before stays.
    pub async fn expire_cards(&self, limit: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        let mut done = 0;
        for contract in self.store.find_due_contracts(now, limit).await? {
            let Some(step) = contract.expired(now).or_else(|| contract.expiring(now)) else { continue };
            let change = self.change(&contract, Actor::System, step, CredentialChange::Keep, None);
            // Stale: it changed at the last moment, or another settler was faster. It is found again while it is due.
            self.store.change_contract(change).await?;
            done += 1;
        }
        Ok(done)
    }

    pub(crate) fn change(
        &self,
        contract: &Contract,
        actor: Actor,
        step: ContractStep,
        credential: CredentialChange,
        response: Option<ResponseToStore>,
    ) -> ChangeContract {
        let ContractStep { change, transition, event } = step;
        let (next, at) = (&change.next, change.next.updated_at);
        let history = NewHistoryEntry {
            merchant_id: next.merchant_id,
            subject: Subject::Contract(next.id),
            actor,
            what: transition.trigger.as_str(),
            at,
            before: Some(contract.state.kind().as_str()),
            after: transition.to.as_str(),
        };
        let event = event.map(|event| NewEvent {
            id: EventId::new(self.ids.ordered()),
            merchant_id: next.merchant_id,
            payment_id: next.payment_id(),
            event_type: event.as_str(),
            body: contract_changed(event, next),
            at,
        });
        ChangeContract { change, credential, history, event, response, audit: None }
    }

    /// With the entry of the audit log that says who closes it.
    fn audited(&self, change: ChangeContract, before: &Contract, by: &Acting) -> ChangeContract {
        let (id, at, merchant) = (self.ids.ordered(), self.clock.now(), Some(before.merchant_id));
        let entry = NewAuditEntry::new(id, at, by.clone(), merchant, AuditAction::ContractClose, before.id);
        let entry = entry.with_before(contract_document(before).finish());
        let entry = entry.with_after(contract_document(&change.change.next).finish());
        ChangeContract { audit: Some(entry), ..change }
    }
}

/// Deletes stored credentials at their processor once nobody may charge them.
#[derive(Clone)]
pub struct CredentialDeletions {
    /// Where they are kept.
    pub store: Arc<dyn ContractStore>,
    /// Opens them.
    pub vault: Arc<dyn CredentialVault>,
    /// Who has them.
    pub processor: Arc<dyn Processor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
}

impl CredentialDeletions {
    /// Takes over credentials that are to be deleted, at most `limit`, and deletes them. Says how many there were. One that cannot be deleted now is
    /// tried again after 30 s.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run_due(&self, limit: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        let due = self.store.claim_credentials_to_delete(now, now.plus(DELETION_LEASE), limit).await?;
        let count = u32::try_from(due.len()).unwrap_or(limit);
        for one in due {
            self.delete(one).await?;
        }
        Ok(count)
    }

    async fn delete(&self, one: CredentialToDelete) -> Result<(), StoreError> {
        let CredentialToDelete { contract, merchant, discarded, sealed } = one;
        let id = contract.to_string();
        let credential = match self.vault.open(merchant, contract, &sealed) {
            Ok(credential) => credential,
            Err(error) => {
                log::error!(contract = id.as_str(), error:% = error; "a stored card cannot be deleted at the processor: restore its key");
                return Ok(());
            }
        };
        let key = OpId::new(self.ids.ordered());
        match self.processor.delete_credential(DeleteCredentialRequest { key, merchant_id: merchant, credential }).await
        {
            CredentialDeletion::Gone => self.store.remove_deleted_credential(contract, discarded).await,
            CredentialDeletion::Unknown { why } => {
                log::warn!(contract = id.as_str(), why = why.as_str(); "a stored card may not be deleted at the processor yet; trying again");
                Ok(())
            }
            CredentialDeletion::NotSent => Ok(()),
        }
    }
}
