//! The people who operate a deployment by its admin panel: who they are, what they may do, and when money needs two of them.

mod money;
mod password;
mod role;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dropin_kernel::{MerchantId, OperatorId, Timestamp, coded_enum};
use dropin_money::{Amount, Currency};
use dropin_validation::{Email, Text};

pub use money::{
    APPROVAL_LIFETIME, MoneyDecision, MoneyKind, MoneyRefused, MoneyRequest, MoneyRequestState, MoneyTotals,
    REFUND_WINDOW, decide_refund,
};
pub use password::{MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, PasswordRefused, check_password};
pub use role::{ActionReach, ActionRule, OperatorRole, OperatorRoles, PANEL_ACTIONS, PanelAction};
pub use session::{OperatorSession, SESSION_IDLE, SESSION_LIFETIME, SIGN_IN_LIFETIME, SessionEnded, SessionStage};

/// How long the one-time link of an invitation may be opened.
pub const INVITATION_LIFETIME: std::time::Duration = std::time::Duration::from_secs(72 * 60 * 60);

/// Recovery codes that an operator has at first.
pub const RECOVERY_CODES: usize = 10;

coded_enum! {
    /// Whether an operator can sign in.
    pub enum OperatorState: "operator state" {
        /// Has a one-time link, by which a password and an authenticator are to be set.
        Invited = "INVITED",
        /// Can sign in.
        Active = "ACTIVE",
        /// Cannot sign in until an owner enables it again.
        Disabled = "DISABLED",
    }
}

/// Whose payments an operator sees and changes.
///
/// ```
/// use dropin_access::operator::OperatorScope;
/// use dropin_kernel::MerchantId;
/// use dropin_kernel::uuid::Uuid;
///
/// let (mine, other) = (MerchantId::new(Uuid::from_u128(1)), MerchantId::new(Uuid::from_u128(2)));
/// let scope = OperatorScope::of_merchants([mine]).unwrap();
/// assert!(scope.covers(mine) && !scope.covers(other) && !scope.is_deployment());
/// assert!(OperatorScope::Deployment.covers(other));
/// assert_eq!(OperatorScope::of_merchants([]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorScope {
    /// Every merchant, those of later too, and what belongs to no merchant.
    Deployment,
    /// These merchants and nothing else; never none. Made by [`OperatorScope::of_merchants`].
    Merchants(BTreeSet<MerchantId>),
}

impl OperatorScope {
    /// Of named merchants; `None` without one.
    pub fn of_merchants<I: IntoIterator<Item = MerchantId>>(merchants: I) -> Option<Self> {
        let merchants: BTreeSet<_> = merchants.into_iter().collect();
        (!merchants.is_empty()).then_some(Self::Merchants(merchants))
    }

    /// Whether the merchant is in it.
    pub fn covers(&self, merchant: MerchantId) -> bool {
        match self {
            Self::Deployment => true,
            Self::Merchants(merchants) => merchants.contains(&merchant),
        }
    }

    /// Whether it is the whole deployment.
    pub const fn is_deployment(&self) -> bool {
        matches!(self, Self::Deployment)
    }
}

/// How much an operator of support may refund within 24 hours, by currency. In a currency without a limit: nothing.
///
/// ```
/// use dropin_access::operator::RefundLimits;
/// use dropin_money::{Amount, Currency};
///
/// let limits = RefundLimits::new([Amount::from_minor(Currency::Eur, 50_000).unwrap()]).unwrap();
/// assert_eq!(limits.of(Currency::Eur).minor(), 50_000);
/// assert!(limits.of(Currency::Usd).is_zero());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefundLimits(BTreeMap<Currency, Amount>);

impl RefundLimits {
    /// These; `None` when a currency stands twice or an amount is below zero.
    pub fn new<I: IntoIterator<Item = Amount>>(limits: I) -> Option<Self> {
        let mut all = BTreeMap::new();
        for limit in limits {
            if limit.minor() < 0 || all.insert(limit.currency(), limit).is_some() {
                return None;
            }
        }
        Some(Self(all))
    }

    /// The limit in a currency.
    pub fn of(&self, currency: Currency) -> Amount {
        self.0.get(&currency).cloned().unwrap_or_else(|| Amount::zero(currency))
    }

    /// Each limit, by the code of its currency.
    pub fn iter(&self) -> impl Iterator<Item = &Amount> {
        self.0.values()
    }
}

/// What an operator may do, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRights {
    /// Its roles; never none.
    pub roles: OperatorRoles,
    /// Where.
    pub scope: OperatorScope,
    /// How much it may refund, where support is the role that allows it.
    pub refund_limits: RefundLimits,
}

impl OperatorRights {
    /// Every right: an owner of the whole deployment.
    pub fn owner() -> Self {
        Self {
            roles: OperatorRoles::from_iter([OperatorRole::Owner]),
            scope: OperatorScope::Deployment,
            refund_limits: RefundLimits::default(),
        }
    }

    /// Whether they allow an action about a merchant's things, or one about the whole deployment where `merchant` is `None`.
    pub fn allow(&self, action: PanelAction, merchant: Option<MerchantId>) -> bool {
        let covered = match (action.rule().reach, merchant) {
            (ActionReach::Merchant, Some(merchant)) => self.scope.covers(merchant),
            // Everything of every merchant at once.
            (ActionReach::Merchant, None) | (ActionReach::Deployment, _) => self.scope.is_deployment(),
        };
        covered && self.roles.allow(action)
    }

    /// Whether the operator may invite and change operators: without one of these, nobody can.
    pub fn is_owner_of_deployment(&self) -> bool {
        self.allow(PanelAction::ManageOperators, None)
    }
}

/// A person who operates the deployment by its admin panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Identifier.
    pub id: OperatorId,
    /// Name, as the audit log and other operators show it.
    pub name: Text,
    /// What it signs in with; unique in the deployment whatever the case of its letters.
    pub email: Email,
    /// Whether it can sign in.
    pub state: OperatorState,
    /// What it may do.
    pub rights: OperatorRights,
    /// When it was invited first.
    pub created_at: Timestamp,
}

/// The operator may not do this, or not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRefused(
    /// What was refused.
    pub PanelAction,
);

impl fmt::Display for ActionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operator may not do this: {} needs a role of {}", self.0, self.0.rule().role_list())
    }
}

impl std::error::Error for ActionRefused {}

impl Operator {
    /// Whether it may do `action` about `merchant`'s things; `None` for what is about no single merchant. What is asked about a merchant out of its scope
    /// is to be answered as if the merchant did not exist.
    ///
    /// # Errors
    /// [`ActionRefused`].
    pub fn require(&self, action: PanelAction, merchant: Option<MerchantId>) -> Result<(), ActionRefused> {
        let is_allowed = self.state == OperatorState::Active && self.rights.allow(action, merchant);
        if is_allowed { Ok(()) } else { Err(ActionRefused(action)) }
    }
}

/// How e-mail addresses of operators are compared: no two people have the same but for the case of letters.
///
/// ```
/// use dropin_access::operator::email_key;
///
/// assert_eq!(email_key("Ana@Shop.example"), email_key(" ana@shop.example"));
/// ```
pub fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

#[cfg(test)]
mod tests;
