use std::iter;
use std::ops::Deref;

use dropin_kernel::{ContractId, MerchantId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_validation::{
    BillingProfile, Discount, Item, MAX_ITEMS, ShippingDetails, Text, Totals, WebUrl, total_amount,
};

use crate::attempts::{Attempts, InvalidAttempts};
use crate::rate::SaleRate;
use crate::state::{SessionState, SessionStateKind};

/// How the merchant named the billing profile: exactly one way (docs/SPECIFICATION.md#billing-choice).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum BillingChoice {
    /// Supplied in full; a new profile was made of it.
    Supplied,
    /// By the merchant's own reference, which is echoed.
    ByReference(Text),
    /// By the id we generated.
    ById,
}

/// Everything that [`SessionTerms`] consist of, to be read, and to be stored and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct SessionTermsParts {
    /// Unique per merchant for ever.
    pub merchant_reference: Text,
    /// Whether funds are captured as soon as they are authorized.
    pub auto_capture: bool,
    /// Where the shopper goes when a redirect completes.
    pub complete_url: WebUrl,
    /// Where the shopper goes when a redirect fails or is cancelled.
    pub cancel_url: WebUrl,
    /// The currency of every amount of the Session.
    pub currency: Currency,
    /// At least one, and [`MAX_ITEMS`] at most.
    pub items: Vec<Item>,
    /// Whether an agent places the Session for the consumer.
    pub via_agent: bool,
    /// Present when a physical good is shipped.
    pub shipping: Option<ShippingDetails>,
    /// Added to the total.
    pub tax: Option<Amount>,
    /// Each subtracted from the total; `None` when not supplied.
    pub discounts: Option<Vec<Discount>>,
    /// AllowContract as it was supplied: whether the shopper may save the card (docs/SPECIFICATION.md#allow-contract).
    pub allow_contract: Option<bool>,
    /// OpenContract as it was supplied: whether the payment opens a contract (docs/SPECIFICATION.md#open-contract-session).
    pub open_contract: Option<bool>,
    /// ContractId: the contract that the merchant brings the shopper back to (docs/SPECIFICATION.md#contract-return).
    pub contract_id: Option<ContractId>,
    /// The exact sum of the above (docs/SPECIFICATION.md#total-amount); positive, unless a contract is opened.
    pub total: Amount,
    /// The guaranteed rate that it is priced by, when a RateOfferId was supplied.
    pub rate: Option<SaleRate>,
    /// How the billing profile was named.
    pub billing_choice: BillingChoice,
    /// The billing profile itself.
    pub billing: BillingProfile,
}

/// What the merchant asked for: the part of a Session that a PUT replaces entirely.
///
/// A valid request leads to them ([`SessionDraft`](crate::SessionDraft)), or stored parts do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "SessionTermsParts", into = "SessionTermsParts")
)]
pub struct SessionTerms(SessionTermsParts);

/// Why parts are no terms of a Session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSessionTerms {
    /// Every amount and the rate are in the currency of the terms.
    #[error("the amounts have different currencies")]
    MixedCurrencies,
    /// There is something to buy, and no answer grows without a limit.
    #[error("a Session has 1 to {MAX_ITEMS} items")]
    Items,
    /// The total is the exact sum of its parts (docs/SPECIFICATION.md#total-amount), and above zero unless a contract is opened.
    #[error("the total is not the sum of its parts, or it is zero")]
    Total,
}

impl SessionTerms {
    /// Terms from their stored parts.
    ///
    /// # Errors
    /// [`InvalidSessionTerms`]: the parts do not belong together.
    pub fn restore(parts: SessionTermsParts) -> Result<Self, InvalidSessionTerms> {
        if !parts.have_one_currency() {
            return Err(InvalidSessionTerms::MixedCurrencies);
        }
        if !(1..=MAX_ITEMS).contains(&parts.items.len()) {
            return Err(InvalidSessionTerms::Items);
        }
        let sum = total_amount(Totals {
            currency: parts.currency,
            items: &parts.items,
            tax: parts.tax.as_ref(),
            shipping_and_duty: parts.shipping.as_ref().map(|to| (&to.shipping_amount, &to.duty_amount)),
            discounts: parts.discounts.as_deref().unwrap_or_default(),
            open_contract: parts.open_contract == Some(true),
        });
        if sum.is_ok_and(|sum| sum == parts.total) { Ok(Self(parts)) } else { Err(InvalidSessionTerms::Total) }
    }

    /// Terms that [`SessionDraft::parse`](crate::SessionDraft::parse) has checked.
    pub(crate) const fn of_draft(parts: SessionTermsParts) -> Self {
        Self(parts)
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> SessionTermsParts {
        self.0
    }

    /// The same terms with other parts, as [`SessionTerms::restore`] takes them: for repairs and for the terms that a test begins with.
    ///
    /// # Errors
    /// [`InvalidSessionTerms`]: the parts do not belong together.
    pub fn edited(mut self, edit: impl FnOnce(&mut SessionTermsParts)) -> Result<Self, InvalidSessionTerms> {
        edit(&mut self.0);
        Self::restore(self.0)
    }
}

impl SessionTermsParts {
    fn have_one_currency(&self) -> bool {
        let items = self.items.iter().map(|item| &item.amount);
        let discounts = self.discounts.iter().flatten().map(|discount| &discount.amount);
        let shipping = self.shipping.iter().flat_map(|to| [&to.shipping_amount, &to.duty_amount]);
        let mut amounts = items.chain(discounts).chain(shipping).chain(&self.tax).chain(iter::once(&self.total));
        let is_priced = |sale: &SaleRate| sale.rate.quote() == self.currency;
        amounts.all(|amount| amount.currency() == self.currency) && self.rate.as_ref().is_none_or(is_priced)
    }
}

impl TryFrom<SessionTermsParts> for SessionTerms {
    type Error = InvalidSessionTerms;

    fn try_from(parts: SessionTermsParts) -> Result<Self, InvalidSessionTerms> {
        Self::restore(parts)
    }
}

impl From<SessionTerms> for SessionTermsParts {
    fn from(terms: SessionTerms) -> Self {
        terms.0
    }
}

impl Deref for SessionTerms {
    type Target = SessionTermsParts;

    fn deref(&self) -> &SessionTermsParts {
        &self.0
    }
}

/// Everything that a [`Session`] consists of, to be read, and to be stored and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct SessionParts {
    /// Identifier that reaches the browser; random.
    pub id: SessionId,
    /// Whose Session it is.
    pub merchant_id: MerchantId,
    /// Counts changes; it is also the version that the shopper's page shows and names when paying.
    pub revision: Revision,
    /// Where it stands.
    pub state: SessionState,
    /// What is to be paid.
    pub terms: SessionTerms,
    /// The attempts to pay it that failed.
    pub attempts: Attempts,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When an unpaid Session ends (docs/SPECIFICATION.md#session-lifetime: 24 h unless configured).
    pub expires_at: Timestamp,
}

/// A Session: its parts, which only the moves of its life change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "SessionParts", into = "SessionParts")
)]
pub struct Session(SessionParts);

/// Why parts are no Session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSession {
    /// The attempts are none of a Session.
    #[error(transparent)]
    Attempts(#[from] InvalidAttempts),
    /// With the last attempt that it allows, a Session is FAILED.
    #[error("no attempt is left, and the Session is {}", .found.as_str())]
    NoAttemptLeft {
        /// The state that it is said to be in.
        found: SessionStateKind,
    },
    /// A Session lives from its creation on.
    #[error("the Session ends before it was created")]
    EndsBeforeCreation,
}

impl Session {
    /// A new Session in state CREATED that may be tried to be paid `attempts_allowed` times.
    ///
    /// # Errors
    /// [`InvalidSession`]: it allows no number of attempts that a merchant may set, or ends before `now`.
    pub fn create(
        id: SessionId,
        merchant_id: MerchantId,
        terms: SessionTerms,
        attempts_allowed: u32,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Self, InvalidSession> {
        Self::restore(SessionParts {
            id,
            merchant_id,
            revision: Revision::FIRST,
            state: SessionState::Created,
            terms,
            attempts: Attempts::new(attempts_allowed)?,
            created_at: now,
            updated_at: now,
            expires_at,
        })
    }

    /// A Session from its stored parts.
    ///
    /// The failure of a FAILED one may stand in its state alone, or be another than its attempts tell of: programs of before attempts wrote that.
    ///
    /// # Errors
    /// [`InvalidSession`]: the parts do not belong together.
    pub fn restore(parts: SessionParts) -> Result<Self, InvalidSession> {
        let found = parts.state.kind();
        if parts.attempts.left() == 0 && found != SessionStateKind::Failed {
            return Err(InvalidSession::NoAttemptLeft { found });
        }
        if parts.expires_at < parts.created_at {
            return Err(InvalidSession::EndsBeforeCreation);
        }
        Ok(Self(parts))
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> SessionParts {
        self.0
    }

    /// The same Session with other parts, as [`Session::restore`] takes them: for repairs and for the state that a test begins in.
    ///
    /// What happens in a Session's life has methods of its own.
    ///
    /// # Errors
    /// [`InvalidSession`]: the parts do not belong together.
    pub fn edited(mut self, edit: impl FnOnce(&mut SessionParts)) -> Result<Self, InvalidSession> {
        edit(&mut self.0);
        Self::restore(self.0)
    }

    /// Changes parts by a rule of this crate.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut SessionParts)) {
        edit(&mut self.0);
    }

    /// The same Session at `revision`: moves that are written together count as one change.
    #[must_use]
    pub fn at_revision(mut self, revision: Revision) -> Self {
        self.0.revision = revision;
        self
    }

    /// The stream its notifications are ordered in.
    pub fn payment_id(&self) -> PaymentId {
        self.id.into()
    }

    /// Whether the attempt that pays it stores its card for charges to come (docs/SPECIFICATION.md#open-contract-session).
    pub fn opens_contract(&self) -> bool {
        self.terms.open_contract == Some(true)
    }

    /// Whether the shopper may choose to save the card (docs/SPECIFICATION.md#allow-contract); OpenContract and ContractId leave nothing to choose.
    pub fn allows_contract(&self) -> bool {
        self.terms.allow_contract == Some(true) && !self.opens_contract() && self.terms.contract_id.is_none()
    }

    /// Whether nothing but a card pays it, since it is stored for charges to come or was before.
    pub fn takes_cards_alone(&self) -> bool {
        self.opens_contract() || self.terms.contract_id.is_some()
    }

    /// `{SessionId}` inside CompleteUrl and CancelUrl replaced (docs/SPECIFICATION.md#session-id-in-urls): (complete, cancel).
    pub fn return_urls(&self) -> (String, String) {
        let id = self.id.to_string();
        (self.terms.complete_url.with_session_id(&id), self.terms.cancel_url.with_session_id(&id))
    }
}

impl TryFrom<SessionParts> for Session {
    type Error = InvalidSession;

    fn try_from(parts: SessionParts) -> Result<Self, InvalidSession> {
        Self::restore(parts)
    }
}

impl From<Session> for SessionParts {
    fn from(session: Session) -> Self {
        session.0
    }
}

impl Deref for Session {
    type Target = SessionParts;

    fn deref(&self) -> &SessionParts {
        &self.0
    }
}
