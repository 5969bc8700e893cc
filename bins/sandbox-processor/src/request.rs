//! Calls that ask for an effect, once their form has been checked.

use dropin_kernel::OpId;
use dropin_money::Amount;

use crate::card::Verdict;
use crate::credential::{AskedTerms, CredentialPayment};
use crate::enums::{CardScheme, Exemption, Kind, Method};
use crate::rows::{CredentialTerms, Operation};

/// A well-formed call that asks for an effect.
#[derive(Debug)]
pub(crate) enum Request {
    /// Reserve money.
    Authorize(Box<Authorization>),
    /// Take `amount` of an authorization; what is left of it is released.
    Capture { authorization: OpId, amount: Amount },
    /// Give an authorization up, or stop one that is pending.
    Void { authorization: OpId },
    /// Pay `amount` of what was captured back.
    Refund { authorization: OpId, amount: Amount },
}

/// What an authorization asks for.
#[derive(Debug)]
pub(crate) struct Authorization {
    pub(crate) amount: Amount,
    pub(crate) order_id: String,
    pub(crate) method: Method,
    /// Of the card, where there is one.
    pub(crate) last4: Option<String>,
    /// None for a payment by a stored credential: what that comes to, the store knows.
    pub(crate) verdict: Option<Verdict>,
    /// Where a hosted page sends the shopper afterwards; absolute, and in its one normal form.
    pub(crate) return_url: Option<String>,
    /// Two capital letters.
    pub(crate) shopper_country: Option<String>,
    pub(crate) review_allowed: bool,
    /// The shopper shall authenticate.
    pub(crate) challenge: bool,
    /// The shopper need not.
    pub(crate) exemption: Option<Exemption>,
    /// By which it shall pay, of a card that bears more than one.
    pub(crate) scheme: Option<CardScheme>,
    /// A verification code came along.
    pub(crate) has_code: bool,
    /// A postcode came along for the issuer to compare; it is not kept.
    pub(crate) has_postcode: bool,
    /// What the shopper writes on a transfer.
    pub(crate) payment_reference: Option<String>,
    /// What it says of a stored credential.
    pub(crate) terms: Option<AskedTerms>,
}

impl Authorization {
    /// The stored credential that it is paid by, and whose it is.
    pub(crate) fn credential(&self) -> Option<(&str, &CredentialPayment)> {
        let terms = self.terms.as_ref()?;
        terms.payment().map(|payment| (terms.merchant.as_str(), payment))
    }

    /// Nothing is charged: the card is looked at, and the shopper agrees.
    pub(crate) fn is_verification(&self) -> bool {
        self.amount.is_zero()
    }

    fn matches(&self, earlier: &Operation, terms: Option<&CredentialTerms>) -> bool {
        let same_terms = match (&self.terms, terms) {
            (None, None) => true,
            (Some(asked), Some(terms)) => asked.matches(terms),
            _ => false,
        };
        same_terms
            && earlier.order_id.as_ref() == Some(&self.order_id)
            && earlier.method == Some(self.method)
            // A stored credential's last four digits are not in the request.
            && (self.credential().is_some() || earlier.last4 == self.last4)
            && earlier.return_url == self.return_url
            && earlier.shopper_country == self.shopper_country
            && earlier.review_allowed == self.review_allowed
            && earlier.challenge == self.challenge
            && earlier.exemption == self.exemption
            && earlier.scheme == self.scheme
            && earlier.has_postcode == self.has_postcode
            && earlier.payment_reference == self.payment_reference
    }
}

impl Request {
    /// What it asks for.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Authorize(_) => Kind::Authorize,
            Self::Capture { .. } => Kind::Capture,
            Self::Void { .. } => Kind::Void,
            Self::Refund { .. } => Kind::Refund,
        }
    }

    /// The merchant whose stored credential it charges.
    pub(crate) fn payer(&self) -> Option<&str> {
        match self {
            Self::Authorize(asked) => asked.credential().map(|(merchant, _payment)| merchant),
            Self::Capture { .. } | Self::Void { .. } | Self::Refund { .. } => None,
        }
    }

    /// The amount that the call names.
    pub(crate) fn amount(&self) -> Option<&Amount> {
        match self {
            Self::Authorize(authorization) => Some(&authorization.amount),
            Self::Capture { amount, .. } | Self::Refund { amount, .. } => Some(amount),
            Self::Void { .. } => None,
        }
    }

    /// The authorization that the call is about.
    pub(crate) const fn authorization(&self) -> Option<OpId> {
        match self {
            Self::Authorize(_) => None,
            Self::Capture { authorization, .. } | Self::Void { authorization } | Self::Refund { authorization, .. } => {
                Some(*authorization)
            }
        }
    }

    /// What it says of a stored credential.
    pub(crate) const fn terms(&self) -> Option<&AskedTerms> {
        match self {
            Self::Authorize(asked) => asked.terms.as_ref(),
            Self::Capture { .. } | Self::Void { .. } | Self::Refund { .. } => None,
        }
    }

    /// Whether `earlier`, with `terms`, was made by the same call. Of card data only the last four digits are compared: no more is kept.
    pub(crate) fn matches(&self, earlier: &Operation, terms: Option<&CredentialTerms>) -> bool {
        let same_money = match self.amount() {
            Some(amount) => {
                earlier.amount == Some(amount.minor()) && earlier.currency.as_deref() == Some(amount.currency().code())
            }
            None => true,
        };
        let same_terms = match self {
            Self::Authorize(authorization) => authorization.matches(earlier, terms),
            Self::Capture { .. } | Self::Void { .. } | Self::Refund { .. } => true,
        };
        earlier.kind == self.kind()
            && same_money
            && same_terms
            && earlier.authorization_key == self.authorization().map(|key| key.to_string())
    }
}
