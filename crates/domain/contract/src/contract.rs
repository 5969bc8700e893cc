use std::ops::Deref;

use dropin_catalogue::{Locale, MAX_METHOD_ID_BYTES};
use dropin_kernel::{Change, ContractId, MerchantId, OrderId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::Currency;
use dropin_validation::Text;

use crate::card::CardSummary;
use crate::kind::ContractKind;
use crate::mark::NetworkTransactionId;
use crate::state::{CloseReason, ContractState, ContractStateKind};

/// What the shopper agreed to, and when.
///
/// ```
/// use dropin_contract::Consent;
/// use dropin_kernel::Timestamp;
///
/// let consent = Consent {
///     text_version: "2026-11".parse().unwrap(),
///     locale: "de_AT".parse().unwrap(),
///     at: Timestamp::from_micros(0),
/// };
/// assert_eq!(consent.locale.language(), "de");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct Consent {
    /// Which text was shown.
    pub text_version: Text,
    /// In which language.
    pub locale: Locale,
    /// When the shopper agreed.
    pub at: Timestamp,
}

/// Where a contract comes from.
///
/// ```
/// use dropin_contract::ContractOrigin;
///
/// let origin = ContractOrigin::Server { reference: "subscription-7".parse().unwrap() };
/// assert!(matches!(origin, ContractOrigin::Server { .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "PascalCase", deny_unknown_fields)
)]
pub enum ContractOrigin {
    /// A Session with AllowContract or OpenContract (docs/SPECIFICATION.md#open-contract-session).
    Session {
        /// The Session.
        session: SessionId,
        /// The Order of the attempt that opens it.
        order: OrderId,
    },
    /// A call of `openContract` (docs/SPECIFICATION.md#open-contract).
    Server {
        /// The ReferenceId, unique per merchant for ever, in one namespace with MerchantReference.
        reference: Text,
    },
}

/// The card of a contract, of which the processor keeps the number.
///
/// ```
/// use dropin_card::Scheme;
/// use dropin_contract::{CardSummary, StoredCard};
/// use dropin_kernel::Timestamp;
///
/// let summary = CardSummary {
///     scheme: Scheme::Visa,
///     last_four: "4242".parse().unwrap(),
///     expiry: "2031-12".parse().unwrap(),
/// };
/// let card = StoredCard::new(summary, Timestamp::from_micros(0));
/// assert_eq!((card.expiry_told_at, card.updated_at), (None, card.number_since));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct StoredCard {
    /// What may be shown of it.
    pub summary: CardSummary,
    /// Since when cards of this scheme and these last four digits are stored: limits on tries count from then.
    pub number_since: Timestamp,
    /// Since when the summary is as it is: declines of before say nothing of the card.
    pub updated_at: Timestamp,
    /// When the merchant was told that it ends; `None` before.
    pub expiry_told_at: Option<Timestamp>,
}

impl StoredCard {
    /// A card that is stored at `now`.
    pub const fn new(summary: CardSummary, now: Timestamp) -> Self {
        Self { summary, number_since: now, updated_at: now, expiry_told_at: None }
    }

    /// The card after an update. Before another card or another month of expiry ends, the merchant is told anew.
    pub(crate) fn updated(self, summary: CardSummary, now: Timestamp) -> Self {
        let number = |card: &CardSummary| (card.scheme, card.last_four);
        let has_same_number = number(&self.summary) == number(&summary);
        Self {
            number_since: if has_same_number { self.number_since } else { now },
            expiry_told_at: self.expiry_told_at.filter(|_| self.summary == summary),
            ..Self::new(summary, now)
        }
    }
}

/// What a contract begins with; every member is decided by the caller.
#[derive(Debug, Clone)]
pub struct NewContract {
    /// Identifier; random, since it stands in answers and addresses.
    pub id: ContractId,
    /// Whose contract it is.
    pub merchant_id: MerchantId,
    /// What it allows.
    pub kind: ContractKind,
    /// Where it comes from.
    pub origin: ContractOrigin,
    /// Id of the payment method in the catalogue, for example `VISA`.
    pub payment_method: String,
    /// The currency of every payment under it.
    pub currency: Currency,
    /// The merchant's reference of the shopper's billing profile.
    pub billing_profile_reference: Option<Text>,
    /// What the shopper agreed to.
    pub consent: Consent,
}

/// Everything that a [`Contract`] consists of, to be read, and to be stored and restored. The processor's stored credential is no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct ContractParts {
    /// Identifier.
    pub id: ContractId,
    /// Whose contract it is.
    pub merchant_id: MerchantId,
    /// Counts changes.
    pub revision: Revision,
    /// Where it stands.
    pub state: ContractState,
    /// What it allows.
    pub kind: ContractKind,
    /// Where it comes from.
    pub origin: ContractOrigin,
    /// Id of the payment method in the catalogue, for example `VISA`.
    pub payment_method: String,
    /// The currency of every payment under it.
    pub currency: Currency,
    /// The merchant's reference of the shopper's billing profile.
    pub billing_profile_reference: Option<Text>,
    /// What the shopper agreed to.
    pub consent: Consent,
    /// Its card; `None` while it opens, and when its opening failed.
    pub card: Option<StoredCard>,
    /// The network's id of the payment that stored the card; `None` without a card, and where the processor keeps it for itself.
    pub network_transaction_id: Option<NetworkTransactionId>,
    /// When its opening began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A contract: its parts, which only the steps of its life change.
///
/// ```
/// use dropin_contract::{Consent, Contract, ContractKind, ContractOrigin, ContractStateKind, InvalidContract, NewContract};
/// use dropin_kernel::{ContractId, MerchantId, Timestamp, uuid::Uuid};
/// use dropin_money::Currency;
///
/// let now = Timestamp::from_micros(0);
/// let new = NewContract {
///     id: ContractId::new(Uuid::from_u128(1)),
///     merchant_id: MerchantId::new(Uuid::from_u128(2)),
///     kind: ContractKind::Recurring,
///     origin: ContractOrigin::Server { reference: "subscription-7".parse().unwrap() },
///     payment_method: "VISA".to_owned(),
///     currency: Currency::Eur,
///     billing_profile_reference: None,
///     consent: Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: now },
/// };
/// let contract = Contract::open(new.clone(), now).unwrap();
/// assert_eq!(contract.state.kind(), ContractStateKind::Opening);
///
/// let parts = contract.into_parts();
/// assert_eq!(Contract::restore(parts.clone()).unwrap().into_parts(), parts);
///
/// let one_click = NewContract { kind: ContractKind::OneClick, ..new };
/// assert_eq!(Contract::open(one_click, now), Err(InvalidContract::KindOfOrigin));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "ContractParts", into = "ContractParts")
)]
pub struct Contract(ContractParts);

/// Why parts are no contract.
///
/// ```
/// use dropin_contract::InvalidContract;
///
/// assert_eq!(InvalidContract::KindOfOrigin.to_string(), "ONE_CLICK comes from a Session alone");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidContract {
    /// `openContract` makes RECURRING and UNSCHEDULED (docs/SPECIFICATION.md#open-contract).
    #[error("ONE_CLICK comes from a Session alone")]
    KindOfOrigin,
    /// Ids of payment methods have one form, in the catalogue too.
    #[error("the payment method is not 1 to {MAX_METHOD_ID_BYTES} capital letters and digits")]
    PaymentMethod,
    /// A contract has a card from the moment on that it is opened.
    #[error("an opened contract has a card")]
    CardMissing,
    /// Nothing is stored before that.
    #[error("a contract that was not opened has no card and no id of a network")]
    CardTooEarly,
    /// A failed opening says why it failed, and nothing else does.
    #[error("a contract is closed with a failure exactly when its opening failed")]
    Failure,
    /// The shopper closes ONE_CLICK alone (docs/SPECIFICATION.md#one-click).
    #[error("the shopper closes no contract but ONE_CLICK")]
    ClosedByShopper,
}

impl Contract {
    /// A contract whose first payment or verification begins now.
    ///
    /// # Errors
    /// [`InvalidContract`]: the kind is not one of its origin, or the payment method's id has another form.
    pub fn open(new: NewContract, now: Timestamp) -> Result<Self, InvalidContract> {
        Self::restore(ContractParts {
            id: new.id,
            merchant_id: new.merchant_id,
            revision: Revision::FIRST,
            state: ContractState::Opening,
            kind: new.kind,
            origin: new.origin,
            payment_method: new.payment_method,
            currency: new.currency,
            billing_profile_reference: new.billing_profile_reference,
            consent: new.consent,
            card: None,
            network_transaction_id: None,
            created_at: now,
            updated_at: now,
        })
    }

    /// A contract from its stored parts.
    ///
    /// # Errors
    /// [`InvalidContract`]: the parts do not belong together.
    pub fn restore(parts: ContractParts) -> Result<Self, InvalidContract> {
        if matches!(parts.origin, ContractOrigin::Server { .. }) && !parts.kind.is_opened_by_server() {
            return Err(InvalidContract::KindOfOrigin);
        }
        if !is_method_id(&parts.payment_method) {
            return Err(InvalidContract::PaymentMethod);
        }
        if let ContractState::Closed { reason, failure } = parts.state {
            if failure.is_some() != (reason == CloseReason::OpeningFailed) {
                return Err(InvalidContract::Failure);
            }
            if reason == CloseReason::Shopper && !parts.kind.is_closed_by_shopper() {
                return Err(InvalidContract::ClosedByShopper);
            }
        }
        let has_any = parts.card.is_some() || parts.network_transaction_id.is_some();
        match (parts.state.is_unopened(), &parts.card) {
            (true, _) if has_any => Err(InvalidContract::CardTooEarly),
            (false, None) => Err(InvalidContract::CardMissing),
            _ => Ok(Self(parts)),
        }
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> ContractParts {
        self.0
    }

    /// The same contract with other parts, as [`Contract::restore`] takes them: for repairs and for the state that a test begins in. What happens in
    /// a contract's life has methods of its own.
    ///
    /// # Errors
    /// [`InvalidContract`]: the parts do not belong together.
    pub fn edited(mut self, edit: impl FnOnce(&mut ContractParts)) -> Result<Self, InvalidContract> {
        edit(&mut self.0);
        Self::restore(self.0)
    }

    /// Changes parts by a rule of this crate.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut ContractParts)) {
        edit(&mut self.0);
    }

    /// The same contract at `revision`: steps that are written together count as one change.
    #[must_use]
    pub fn at_revision(mut self, revision: Revision) -> Self {
        self.0.revision = revision;
        self
    }

    /// The stream its notifications are ordered in: that of its Session's payment, or one of its own.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let contract = active(ContractKind::Recurring);
    /// assert_eq!(contract.payment_id(), contract.id.into());
    /// ```
    pub fn payment_id(&self) -> PaymentId {
        match self.origin {
            ContractOrigin::Session { session, .. } => session.into(),
            ContractOrigin::Server { .. } => self.id.into(),
        }
    }

    /// Whether the merchant knows of it: the answer to `openContract` names it, and a Session names it once it is opened.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let (from_server, from_session) = (opening(ContractKind::Recurring), opening(ContractKind::OneClick));
    /// assert!(from_server.is_shown() && !from_session.is_shown());
    /// ```
    pub fn is_shown(&self) -> bool {
        matches!(self.origin, ContractOrigin::Server { .. }) || !self.state.is_unopened()
    }

    /// When its card is to be looked at next: to tell the merchant that it ends ([`Contract::expiring`]), and at its end ([`Contract::expired`]). `None`
    /// unless ACTIVE.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let (opening, active) = (opening(ContractKind::Recurring), active(ContractKind::Recurring));
    /// let expiry = active.card.as_ref().unwrap().summary.expiry;
    /// assert_eq!((opening.due_at(), active.due_at()), (None, Some(expiry.notice_at())));
    /// ```
    pub fn due_at(&self) -> Option<Timestamp> {
        let card = self.active_card()?;
        let expiry = card.summary.expiry;
        Some(if card.expiry_told_at.is_none() { expiry.notice_at() } else { expiry.ends_at() })
    }

    /// A charge begins: nothing changes but the revision, so that of two that were decided at the same time one is decided anew.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind};
    /// # let contract = active(ContractKind::Recurring);
    /// let change = contract.charge_begun();
    /// assert_eq!((change.expected, change.next.state), (contract.revision, contract.state));
    /// ```
    pub fn charge_begun(&self) -> Change<Self> {
        Change { next: self.clone().at_revision(self.revision.next()), expected: self.revision }
    }

    /// The shopper agrees anew, and pays with a card that is to take the place of its own: until that is stored nothing changes but the consent.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use {common::*, dropin_contract::ContractKind, dropin_contract::Consent};
    /// # let contract = active(ContractKind::Recurring);
    /// let consent = Consent { text_version: "2027-01".parse().unwrap(), ..contract.consent.clone() };
    /// let change = contract.replacement_begun(consent.clone());
    /// assert_eq!((change.expected, &change.next.consent), (contract.revision, &consent));
    /// ```
    pub fn replacement_begun(&self, consent: Consent) -> Change<Self> {
        let mut change = self.charge_begun();
        change.next.edit(|parts| parts.consent = consent);
        change
    }

    /// Its card, while that may be charged.
    pub(crate) fn active_card(&self) -> Option<&StoredCard> {
        self.card.as_ref().filter(|_| self.state.kind() == ContractStateKind::Active)
    }
}

/// The form that the catalogue gives to the ids of its methods.
fn is_method_id(id: &str) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (1..=MAX_METHOD_ID_BYTES).contains(&id.len()) && id.bytes().all(is_capital)
}

impl TryFrom<ContractParts> for Contract {
    type Error = InvalidContract;

    fn try_from(parts: ContractParts) -> Result<Self, InvalidContract> {
        Self::restore(parts)
    }
}

impl From<Contract> for ContractParts {
    fn from(contract: Contract) -> Self {
        contract.0
    }
}

impl Deref for Contract {
    type Target = ContractParts;

    fn deref(&self) -> &ContractParts {
        &self.0
    }
}
