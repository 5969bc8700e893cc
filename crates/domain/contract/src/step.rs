//! The moves of a contract. Each names its trigger; the table of transitions is the guard.

use dropin_kernel::{Change, Timestamp};
use dropin_order::FailureReason;

use crate::card::CardSummary;
use crate::contract::{Contract, StoredCard};
use crate::decline::{DeclineCategory, DeclineEffect};
use crate::mark::NetworkTransactionId;
use crate::state::{
    CloseReason, ContractEvent, ContractState, ContractStateKind, ContractTransition, ContractTrigger, SuspendReason,
    transition,
};

/// The contract is not in a state that allows this (docs/SPECIFICATION.md#contract-read: 409 INVALID_CONTRACT_STATE).
///
/// ```
/// use dropin_contract::{ContractStateKind, WrongState};
///
/// assert_eq!(WrongState { found: ContractStateKind::Closed }.to_string(), "the contract is CLOSED");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the contract is {}", .found.as_str())]
pub struct WrongState {
    /// The state it is in.
    pub found: ContractStateKind,
}

/// Why a shopper may not remove a contract.
///
/// ```
/// use dropin_contract::CloseRefused;
///
/// assert_eq!(CloseRefused::Kind.to_string(), "the shopper removes no contract but ONE_CLICK: the merchant closes this one");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseRefused {
    /// The state does not allow it.
    #[error(transparent)]
    State(#[from] WrongState),
    /// Its kind does not (docs/SPECIFICATION.md#one-click).
    #[error("the shopper removes no contract but ONE_CLICK: the merchant closes this one")]
    Kind,
}

/// Why a card does not take the place of a contract's.
///
/// ```
/// use dropin_contract::CardUpdateRefused;
///
/// assert_eq!(CardUpdateRefused::Expired.to_string(), "the new card has expired too");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardUpdateRefused {
    /// The state does not allow it.
    #[error(transparent)]
    State(#[from] WrongState),
    /// It would be suspended at once.
    #[error("the new card has expired too")]
    Expired,
}

/// A decided change of a contract, and what the merchant is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractStep {
    /// The contract after it.
    pub change: Change<Contract>,
    /// The row of the table.
    pub transition: ContractTransition,
    /// The notification: the row's, unless the merchant does not know of the contract.
    pub event: Option<ContractEvent>,
}

impl Contract {
    /// The move of the table to `state`, with nothing else changed.
    fn moved(
        &self,
        trigger: ContractTrigger,
        state: ContractState,
        now: Timestamp,
    ) -> Result<ContractStep, WrongState> {
        let found = self.state.kind();
        let row = transition(found, trigger).ok_or(WrongState { found })?;
        debug_assert_eq!(row.to, state.kind(), "the table and the step disagree on {trigger:?}");
        let mut next = self.clone().at_revision(self.revision.next());
        next.edit(|parts| (parts.state, parts.updated_at) = (state, now));
        let event = row.event.filter(|_| next.is_shown());
        Ok(ContractStep { change: Change { next, expected: self.revision }, transition: *row, event })
    }

    /// The processor stored `card` after the first payment or the verification. `network_transaction_id` is that payment's, where the processor tells.
    ///
    /// # Errors
    /// [`WrongState`] unless OPENING. The processor then keeps a credential that belongs to no contract: the caller has it deleted there.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::ContractEvent;
    /// # let (contract, card, now) = (opening(ContractKind::Recurring), visa("2031-12"), at("2026-11-23"));
    /// let step = contract.credential_stored(card, "483297487231504".parse().ok(), now).unwrap();
    /// assert_eq!(step.event, Some(ContractEvent::Opened));
    /// ```
    pub fn credential_stored(
        &self,
        card: CardSummary,
        network_transaction_id: Option<NetworkTransactionId>,
        now: Timestamp,
    ) -> Result<ContractStep, WrongState> {
        let mut step = self.moved(ContractTrigger::CredentialStored, ContractState::Active, now)?;
        step.change.next.edit(|parts| {
            parts.card = Some(StoredCard::new(card, now));
            parts.network_transaction_id = network_transaction_id;
        });
        Ok(step)
    }

    /// The first payment or the verification failed, or the shopper did not come back in time ([`FailureReason::Expired`]).
    ///
    /// # Errors
    /// [`WrongState`] unless OPENING.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_order::FailureReason;
    /// # let (contract, now) = (opening(ContractKind::OneClick), at("2026-11-23"));
    /// let step = contract.opening_failed(FailureReason::Declined, now).unwrap();
    /// assert_eq!(step.event, None, "the Session goes on without a word of it");
    /// ```
    pub fn opening_failed(&self, failure: FailureReason, now: Timestamp) -> Result<ContractStep, WrongState> {
        let state = ContractState::Closed { reason: CloseReason::OpeningFailed, failure: Some(failure) };
        self.moved(ContractTrigger::OpeningFailed, state, now)
    }

    /// The notice that the card ends, 30 days before its last valid day and once for each card; `None` when it is not due.
    ///
    /// A contract that is opened or gets its card within these days has the notice due at once. After the card's end it is
    /// [`expired`](Contract::expired) instead.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let contract = active(ContractKind::Recurring);
    /// assert!(contract.expiring(at("2031-11-30")).is_none());
    /// let told = contract.expiring(at("2031-12-01")).unwrap().change.next;
    /// assert!(told.expiring(at("2031-12-02")).is_none(), "once");
    /// ```
    pub fn expiring(&self, now: Timestamp) -> Option<ContractStep> {
        let expiry = self.active_card().filter(|card| card.expiry_told_at.is_none())?.summary.expiry;
        if now < expiry.notice_at() || expiry.is_over(now) {
            return None;
        }
        let mut step = self.moved(ContractTrigger::CardExpiring, self.state, now).ok()?;
        step.change.next.edit(|parts| {
            if let Some(card) = &mut parts.card {
                card.expiry_told_at = Some(now);
            }
        });
        Some(step)
    }

    /// The suspension of a contract whose card has ended; `None` when it has not, or may not be charged anyway.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::{ContractState, SuspendReason};
    /// # let contract = active(ContractKind::Recurring);
    /// assert!(contract.expired(at("2031-12-31")).is_none());
    /// let step = contract.expired(at("2032-01-01")).unwrap();
    /// assert_eq!(step.change.next.state, ContractState::Suspended { reason: SuspendReason::CardExpired });
    /// ```
    pub fn expired(&self, now: Timestamp) -> Option<ContractStep> {
        let is_over = self.active_card()?.summary.expiry.is_over(now);
        is_over.then(|| self.suspended(SuspendReason::CardExpired, now).ok()).flatten()
    }

    /// What follows from a payment that was tried at `tried_at` and declined: the contract is suspended or closed, or stays as it is (`None`).
    ///
    /// What an issuer said of a card that another has replaced meanwhile changes nothing, but for AUTHORIZATION_REVOKED, which is not about a card.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::{ContractStateKind, DeclineCategory};
    /// # let (contract, now) = (active(ContractKind::Recurring), at("2026-12-23"));
    /// assert!(contract.declined(DeclineCategory::InsufficientFunds, now, now).is_none());
    /// let step = contract.declined(DeclineCategory::AccountClosed, now, now).unwrap();
    /// assert_eq!(step.change.next.state.kind(), ContractStateKind::Closed);
    /// ```
    pub fn declined(&self, category: DeclineCategory, tried_at: Timestamp, now: Timestamp) -> Option<ContractStep> {
        let is_of_card = self.card.as_ref().is_some_and(|card| card.updated_at <= tried_at);
        if !is_of_card && category != DeclineCategory::AuthorizationRevoked {
            return None;
        }
        match category.rule().effect {
            DeclineEffect::TryAgain { .. } | DeclineEffect::AskShopper => None,
            DeclineEffect::Suspend(reason) => self.suspended(reason, now).ok(),
            DeclineEffect::Close(reason) => self.closed(ContractTrigger::ClosedByIssuer, reason, now).ok(),
        }
    }

    /// Another card takes the place of the contract's, or the same with a later expiry: from the account updater (without a transaction id), or from
    /// the shopper who authenticated (with that payment's). A suspended contract is ACTIVE again.
    ///
    /// # Errors
    /// [`CardUpdateRefused`]: the contract is neither ACTIVE nor SUSPENDED, or the new card has expired too.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::{ContractEvent, ContractStateKind};
    /// let suspended = active(ContractKind::Recurring).expired(at("2032-01-01")).unwrap().change.next;
    /// let step = suspended.card_updated(visa("2036-12"), None, at("2032-01-02")).unwrap();
    /// assert_eq!((step.change.next.state.kind(), step.event), (ContractStateKind::Active, Some(ContractEvent::Opened)));
    /// ```
    pub fn card_updated(
        &self,
        card: CardSummary,
        network_transaction_id: Option<NetworkTransactionId>,
        now: Timestamp,
    ) -> Result<ContractStep, CardUpdateRefused> {
        let mut step = self.moved(ContractTrigger::CardUpdated, ContractState::Active, now)?;
        if card.expiry.is_over(now) {
            return Err(CardUpdateRefused::Expired);
        }
        step.change.next.edit(|parts| {
            parts.card = parts.card.map(|stored| stored.updated(card, now));
            parts.payment_method = card.scheme.as_str().to_owned();
            if network_transaction_id.is_some() {
                parts.network_transaction_id = network_transaction_id;
            }
        });
        Ok(step)
    }

    /// The merchant closes it. The caller has the stored credential deleted, at the processor and here.
    ///
    /// # Errors
    /// [`WrongState`] unless ACTIVE or SUSPENDED; one that is OPENING ends by itself.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let now = at("2026-12-23");
    /// let closed = active(ContractKind::Recurring).close_by_merchant(now).unwrap().change.next;
    /// assert_eq!(closed.close_by_merchant(now).unwrap_err().to_string(), "the contract is CLOSED");
    /// ```
    pub fn close_by_merchant(&self, now: Timestamp) -> Result<ContractStep, WrongState> {
        self.closed(ContractTrigger::ClosedByMerchant, CloseReason::Merchant, now)
    }

    /// The shopper removes the saved card. The caller has the stored credential deleted, at the processor and here.
    ///
    /// # Errors
    /// [`CloseRefused`]: it is not ONE_CLICK, or neither ACTIVE nor SUSPENDED.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # use dropin_contract::CloseRefused;
    /// # let now = at("2026-12-23");
    /// assert!(active(ContractKind::OneClick).close_by_shopper(now).is_ok());
    /// assert_eq!(active(ContractKind::Recurring).close_by_shopper(now), Err(CloseRefused::Kind));
    /// ```
    pub fn close_by_shopper(&self, now: Timestamp) -> Result<ContractStep, CloseRefused> {
        if !self.kind.is_closed_by_shopper() {
            return Err(CloseRefused::Kind);
        }
        Ok(self.closed(ContractTrigger::ClosedByShopper, CloseReason::Shopper, now)?)
    }

    /// An operator closes it. The caller has the stored credential deleted, at the processor and here.
    ///
    /// # Errors
    /// [`WrongState`] unless ACTIVE or SUSPENDED; one that is OPENING ends by itself.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// assert!(active(ContractKind::OneClick).close_by_operator(at("2026-12-23")).is_ok());
    /// ```
    pub fn close_by_operator(&self, now: Timestamp) -> Result<ContractStep, WrongState> {
        self.closed(ContractTrigger::ClosedByOperator, CloseReason::Operator, now)
    }

    fn suspended(&self, reason: SuspendReason, now: Timestamp) -> Result<ContractStep, WrongState> {
        let trigger = match reason {
            SuspendReason::CardExpired => ContractTrigger::CardExpired,
            SuspendReason::CardInvalid => ContractTrigger::CardInvalid,
            SuspendReason::IssuerStopped => ContractTrigger::IssuerStopped,
        };
        self.moved(trigger, ContractState::Suspended { reason }, now)
    }

    fn closed(&self, by: ContractTrigger, reason: CloseReason, now: Timestamp) -> Result<ContractStep, WrongState> {
        self.moved(by, ContractState::Closed { reason, failure: None }, now)
    }
}
