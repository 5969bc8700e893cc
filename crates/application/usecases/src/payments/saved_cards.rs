//! Cards that shoppers save, pay with again and have forgotten (docs/SPECIFICATION.md#one-click), and contracts that merchants bring them back to.

use dropin_access::{Merchant, SavedCardKind};
use dropin_contract::{Contract, ContractKind, ContractStateKind};
use dropin_kernel::{ContractId, SessionId, Timestamp};
use dropin_ports::{Actor, Changed, ContractName, CredentialChange, StoreError};
use dropin_session::{BillingChoice, Session, SessionStateKind};
use dropin_wire::shopper::SavedCardBody;

use super::MAX_CAS_RETRIES;
use super::shopper::{Shopper, purchase};
use crate::catalogue::Purchase;

/// Most saved cards that a shopper is shown.
const MAX_SHOWN: usize = 10;
/// Most that are looked at for these: some are in another currency, or cannot be charged.
const MAX_LOOKED_AT: u32 = 100;

/// What a payment by a new card does with a contract.
pub(super) enum ContractOffer {
    /// Nothing.
    None,
    /// It opens one.
    Opens(ContractKind),
    /// It opens one where the shopper wants it.
    Allows(ContractKind),
    /// Its card takes the place of this one's.
    Replaces(Box<Contract>),
}

impl ContractOffer {
    /// The kind of the contract, where the shopper's consent is required.
    pub(super) fn opens(&self) -> Option<ContractKind> {
        match self {
            Self::Opens(kind) => Some(*kind),
            Self::Replaces(contract) => Some(contract.kind),
            Self::None | Self::Allows(_) => None,
        }
    }

    /// The kind of the contract, where consent is the shopper's choice.
    pub(super) fn allows(&self) -> Option<ContractKind> {
        match self {
            Self::Allows(kind) => Some(*kind),
            Self::None | Self::Opens(_) | Self::Replaces(_) => None,
        }
    }
}

/// Why a saved card was not removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveCardError {
    /// No such Session.
    #[error("no such Session")]
    NotFound,
    /// The Session is being paid, or over.
    #[error("the Session is {}", .0.as_str())]
    WrongState(SessionStateKind),
    /// The Session shows no card of that contract which its shopper may remove.
    #[error("the Session shows no such card that its shopper may remove")]
    NoCard,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Shopper {
    /// What a payment of the Session by a new card does with a contract. One that ended since the merchant named it takes no card any more.
    pub(super) async fn contract_offer(
        &self,
        session: &Session,
        merchant: &Merchant,
    ) -> Result<ContractOffer, StoreError> {
        if let Some(id) = session.terms.contract_id {
            let named = self.contract(merchant, id).await?;
            let living = named.filter(takes_a_card);
            return Ok(living.map_or(ContractOffer::None, |contract| ContractOffer::Replaces(Box::new(contract))));
        }
        Ok(match (session.opens_contract(), session.allows_contract(), merchant.saved_cards.kind) {
            (true, _, _) => ContractOffer::Opens(ContractKind::Recurring),
            (false, true, SavedCardKind::OneClick) => ContractOffer::Allows(ContractKind::OneClick),
            (false, true, SavedCardKind::Unscheduled) => ContractOffer::Allows(ContractKind::Unscheduled),
            (false, false, _) => ContractOffer::None,
        })
    }

    /// The stored cards that the Session may be paid with, as its shopper is shown them.
    pub(super) async fn saved_cards(
        &self,
        session: &Session,
        merchant: &Merchant,
        now: Timestamp,
    ) -> Result<Vec<SavedCardBody>, StoreError> {
        // A SessionId that was kept shows no card of those to come.
        if session.state.kind().is_final() {
            return Ok(Vec::new());
        }
        let found = match (session.terms.contract_id, saved_under(session, merchant)) {
            (Some(id), _) => self.contract(merchant, id).await?.into_iter().collect(),
            (None, Some(reference)) => {
                self.contracts.store.list_saved_cards(merchant.id, reference, MAX_LOOKED_AT).await?
            }
            (None, None) => Vec::new(),
        };
        let payable = found.iter().filter(|contract| self.is_payable(session, merchant, contract, now));
        Ok(payable
            .filter_map(|contract| SavedCardBody::of(contract, is_removable(session, contract)))
            .take(MAX_SHOWN)
            .collect())
    }

    /// The contract by whose card the Session may be paid now.
    pub(super) async fn payable(
        &self,
        session: &Session,
        merchant: &Merchant,
        id: ContractId,
        now: Timestamp,
    ) -> Result<Option<Contract>, StoreError> {
        let found = self.contract(merchant, id).await?;
        Ok(found.filter(|contract| self.is_payable(session, merchant, contract, now)))
    }

    /// The shopper has a saved card forgotten: nobody pays with it from now on, and it is deleted at the processor. Of a removal and a submit with the card
    /// at the same time one wins.
    ///
    /// # Errors
    /// [`RemoveCardError`].
    pub async fn remove_card(&self, id: SessionId, contract: ContractId) -> Result<(), RemoveCardError> {
        let merchant_id = self.load(id).await?.ok_or(RemoveCardError::NotFound)?.session.merchant_id;
        let merchant = self.merchant(merchant_id).await?;
        for round in 0..MAX_CAS_RETRIES {
            self.payments.backoff(round).await;
            // Before the Session: a submit with the card that comes after this has changed the contract by the time that it is closed.
            let found = self.contract(&merchant, contract).await?;
            let session = self.load(id).await?.ok_or(RemoveCardError::NotFound)?.session;
            let state = session.state.kind();
            if state != SessionStateKind::Created {
                return Err(RemoveCardError::WrongState(state));
            }
            let now = self.payments.clock.now();
            let is_shown =
                |one: &Contract| self.is_payable(&session, &merchant, one, now) && is_removable(&session, one);
            let found = found.filter(is_shown).ok_or(RemoveCardError::NoCard)?;
            let step = found.close_by_shopper(now).map_err(|_refused| RemoveCardError::NoCard)?;
            let change = self.contracts.change(&found, Actor::Shopper, step, CredentialChange::Delete, None);
            match self.contracts.store.change_contract(change).await? {
                Changed::Done => return Ok(()),
                // Without a key none is taken.
                Changed::Stale | Changed::KeyTaken => {}
            }
        }
        Err(StoreError::Unavailable("the contract changes faster than its card can be removed".to_owned()).into())
    }

    async fn contract(&self, merchant: &Merchant, id: ContractId) -> Result<Option<Contract>, StoreError> {
        self.contracts.store.find_contract(merchant.id, &ContractName::Id(id)).await
    }

    /// Whether the Session may be paid with the contract's card now: by the one that the merchant named, else by one that its shopper saved.
    fn is_payable(&self, session: &Session, merchant: &Merchant, contract: &Contract, now: Timestamp) -> bool {
        let is_named = match session.terms.contract_id {
            Some(id) => id == contract.id,
            None => {
                let reference = contract.billing_profile_reference.as_ref().map(|reference| reference.as_str());
                let is_own = reference.is_some() && reference == saved_under(session, merchant);
                is_own && contract.kind == ContractKind::OneClick
            }
        };
        let purchase = Purchase { recurring: true, ..purchase(session, merchant) };
        is_named
            && contract.plan_shopper_payment(&session.terms.total, now).is_ok()
            && purchase.offer(&self.payments.catalogue, &contract.payment_method).is_ok()
    }
}

/// The reference of the billing profile whose saved cards the shopper may be shown: of an existing profile, and of a shopper who is there.
fn saved_under<'a>(session: &'a Session, merchant: &Merchant) -> Option<&'a str> {
    let terms = &session.terms;
    let is_known = matches!(terms.billing_choice, BillingChoice::ByReference(_) | BillingChoice::ById);
    let is_offered = merchant.saved_cards.offered && is_known && !terms.via_agent && !session.opens_contract();
    terms.billing.details.reference.as_ref().map(|reference| reference.as_str()).filter(|_| is_offered)
}

fn is_removable(session: &Session, contract: &Contract) -> bool {
    session.terms.contract_id.is_none() && contract.kind.is_closed_by_shopper()
}

/// Whether a payment may bring it another card.
fn takes_a_card(contract: &Contract) -> bool {
    matches!(contract.state.kind(), ContractStateKind::Active | ContractStateKind::Suspended)
}
