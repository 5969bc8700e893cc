use dropin_kernel::coded_enum;
use dropin_order::FailureReason;

coded_enum! {
    /// Why a contract may not be charged for now. Each is mended by another card.
    ///
    /// ```
    /// use dropin_contract::SuspendReason;
    ///
    /// assert_eq!(SuspendReason::CardExpired.to_string(), "CARD_EXPIRED");
    /// ```
    #[non_exhaustive]
    pub enum SuspendReason: "reason to suspend" {
        /// The card's last day is over, or the issuer says that it has ended.
        CardExpired = "CARD_EXPIRED",
        /// The issuer does not know the card's data any more.
        CardInvalid = "CARD_INVALID",
        /// The issuer forbids to try this card again.
        IssuerStopped = "ISSUER_STOPPED",
    }
}

coded_enum! {
    /// Why a contract is over.
    ///
    /// ```
    /// use dropin_contract::CloseReason;
    ///
    /// assert_eq!("AUTHORIZATION_REVOKED".parse(), Ok(CloseReason::AuthorizationRevoked));
    /// ```
    #[non_exhaustive]
    pub enum CloseReason: "reason to close" {
        /// It was never opened: the first payment or the verification failed.
        OpeningFailed = "OPENING_FAILED",
        /// The merchant closed it.
        Merchant = "MERCHANT",
        /// The shopper removed the saved card.
        Shopper = "SHOPPER",
        /// An operator closed it.
        Operator = "OPERATOR",
        /// The issuer says that the card is lost or stolen.
        CardLost = "CARD_LOST",
        /// The issuer says that the account is closed.
        AccountClosed = "ACCOUNT_CLOSED",
        /// The shopper told the issuer to let the merchant charge nothing more.
        AuthorizationRevoked = "AUTHORIZATION_REVOKED",
    }
}

/// Where a contract stands, with what belongs to that state alone. Serialized as its name beside that: `{"State":"SUSPENDED","SuspendReason":…}`.
///
/// ```
/// use dropin_contract::{ContractState, ContractStateKind, SuspendReason};
///
/// let state = ContractState::Suspended { reason: SuspendReason::CardExpired };
/// assert_eq!(state.kind(), ContractStateKind::Suspended);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "crate::serialized::StoredState", try_from = "crate::serialized::StoredState")
)]
pub enum ContractState {
    /// The first payment or the verification runs; leaves by itself.
    Opening,
    /// The card may be charged.
    Active,
    /// The card may not be charged until another takes its place.
    Suspended {
        /// Why.
        reason: SuspendReason,
    },
    /// Over for ever; the stored credential is deleted.
    Closed {
        /// Why.
        reason: CloseReason,
        /// Why the first payment failed; of a contract whose opening failed, and of no other.
        failure: Option<FailureReason>,
    },
}

impl ContractState {
    /// The state without what belongs to it.
    pub const fn kind(self) -> ContractStateKind {
        match self {
            Self::Opening => ContractStateKind::Opening,
            Self::Active => ContractStateKind::Active,
            Self::Suspended { .. } => ContractStateKind::Suspended,
            Self::Closed { .. } => ContractStateKind::Closed,
        }
    }

    /// Whether the contract never came to be charged: its opening runs, or failed.
    pub(crate) const fn is_unopened(self) -> bool {
        matches!(self, Self::Opening | Self::Closed { reason: CloseReason::OpeningFailed, .. })
    }
}

coded_enum! {
    /// The names of the states (docs/SPECIFICATION.md#contracts).
    ///
    /// ```
    /// use dropin_contract::ContractStateKind;
    ///
    /// assert_eq!(ContractStateKind::ALL.map(ContractStateKind::is_final), [false, false, false, true]);
    /// ```
    pub enum ContractStateKind: "contract state" {
        /// The first payment or the verification runs.
        Opening = "OPENING",
        /// The card may be charged.
        Active = "ACTIVE",
        /// The card may not be charged for now.
        Suspended = "SUSPENDED",
        /// Over for ever.
        Closed = "CLOSED",
    }
}

impl ContractStateKind {
    /// Whether the state never changes again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Closed)
    }
}

coded_enum! {
    /// What makes a contract change.
    ///
    /// ```
    /// use dropin_contract::ContractTrigger;
    ///
    /// assert_eq!(ContractTrigger::CredentialStored.as_str(), "CREDENTIAL_STORED");
    /// ```
    #[non_exhaustive]
    pub enum ContractTrigger: "contract trigger" {
        /// The first payment or the verification begins.
        Open = "OPEN",
        /// The processor stored the card after the first payment or the verification.
        CredentialStored = "CREDENTIAL_STORED",
        /// The first payment or the verification failed.
        OpeningFailed = "OPENING_FAILED",
        /// The card's last day is 30 days away.
        CardExpiring = "CARD_EXPIRING",
        /// The card's last day is over, or the issuer says that it has ended.
        CardExpired = "CARD_EXPIRED",
        /// The issuer does not know the card's data any more.
        CardInvalid = "CARD_INVALID",
        /// The issuer forbids to try this card again.
        IssuerStopped = "ISSUER_STOPPED",
        /// Another card takes its place: from the schemes' account updater, or from the shopper.
        CardUpdated = "CARD_UPDATED",
        /// The issuer says that the card or the shopper's permission is gone for good.
        ClosedByIssuer = "CLOSED_BY_ISSUER",
        /// The merchant closes it.
        ClosedByMerchant = "CLOSED_BY_MERCHANT",
        /// The shopper removes the saved card.
        ClosedByShopper = "CLOSED_BY_SHOPPER",
        /// An operator closes it.
        ClosedByOperator = "CLOSED_BY_OPERATOR",
    }
}

coded_enum! {
    /// A notification about a contract (docs/SPECIFICATION.md#contract-read).
    ///
    /// ```
    /// use dropin_contract::ContractEvent;
    ///
    /// assert_eq!(ContractEvent::Expiring.as_str(), "CONTRACT_EXPIRING");
    /// ```
    pub enum ContractEvent: "contract event" {
        /// It may be charged: for the first time, or again after it was suspended.
        Opened = "CONTRACT_OPENED",
        /// It may not be charged for now.
        Suspended = "CONTRACT_SUSPENDED",
        /// Its card ends in 30 days.
        Expiring = "CONTRACT_EXPIRING",
        /// It is over.
        Closed = "CONTRACT_CLOSED",
    }
}

/// One allowed move.
///
/// ```
/// use dropin_contract::{ContractStateKind, TRANSITIONS};
///
/// assert!(TRANSITIONS.iter().all(|step| step.from != Some(ContractStateKind::Closed)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractTransition {
    /// `None` for the opening.
    pub from: Option<ContractStateKind>,
    /// What happens.
    pub trigger: ContractTrigger,
    /// Where it leads.
    pub to: ContractStateKind,
    /// What the merchant is told, when the contract has been shown (one whose opening fails inside its Session never is).
    pub event: Option<ContractEvent>,
}

/// Every move there is. Guards and documentation read this table.
///
/// ```
/// use dropin_contract::{ContractEvent, ContractTrigger, TRANSITIONS};
///
/// let stored = TRANSITIONS.iter().find(|row| row.trigger == ContractTrigger::CredentialStored);
/// assert_eq!(stored.and_then(|row| row.event), Some(ContractEvent::Opened));
/// ```
pub const TRANSITIONS: &[ContractTransition] = {
    use ContractEvent as E;
    use ContractStateKind::{Active, Closed, Opening, Suspended};
    use ContractTrigger as T;
    const fn row(
        from: Option<ContractStateKind>,
        trigger: ContractTrigger,
        to: ContractStateKind,
        event: Option<ContractEvent>,
    ) -> ContractTransition {
        ContractTransition { from, trigger, to, event }
    }
    &[
        row(None, T::Open, Opening, None),
        row(Some(Opening), T::CredentialStored, Active, Some(E::Opened)),
        row(Some(Opening), T::OpeningFailed, Closed, Some(E::Closed)),
        row(Some(Active), T::CardExpiring, Active, Some(E::Expiring)),
        row(Some(Active), T::CardUpdated, Active, None),
        row(Some(Active), T::CardExpired, Suspended, Some(E::Suspended)),
        row(Some(Active), T::CardInvalid, Suspended, Some(E::Suspended)),
        row(Some(Active), T::IssuerStopped, Suspended, Some(E::Suspended)),
        row(Some(Active), T::ClosedByIssuer, Closed, Some(E::Closed)),
        row(Some(Active), T::ClosedByMerchant, Closed, Some(E::Closed)),
        row(Some(Active), T::ClosedByShopper, Closed, Some(E::Closed)),
        row(Some(Active), T::ClosedByOperator, Closed, Some(E::Closed)),
        row(Some(Suspended), T::CardUpdated, Active, Some(E::Opened)),
        row(Some(Suspended), T::ClosedByIssuer, Closed, Some(E::Closed)),
        row(Some(Suspended), T::ClosedByMerchant, Closed, Some(E::Closed)),
        row(Some(Suspended), T::ClosedByShopper, Closed, Some(E::Closed)),
        row(Some(Suspended), T::ClosedByOperator, Closed, Some(E::Closed)),
    ]
};

/// The row of the table for `trigger` in `from`, if the move is allowed.
pub(crate) fn transition(from: ContractStateKind, trigger: ContractTrigger) -> Option<&'static ContractTransition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}
