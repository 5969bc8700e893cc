//! Calls that ask for an effect, once their form has been checked.

use dropin_kernel::OpId;
use dropin_money::Amount;

use crate::card::Verdict;
use crate::rows::Operation;
use crate::words::Kind;

/// A well-formed call that asks for an effect.
#[derive(Debug)]
pub(crate) enum Request {
    /// Reserve `amount` on a card.
    Authorize { amount: Amount, order_id: String, last4: String, verdict: Verdict },
    /// Take `amount` of an authorization; what is left of it is released.
    Capture { authorization: OpId, amount: Amount },
    /// Give an authorization up.
    Void { authorization: OpId },
    /// Pay `amount` of what was captured back.
    Refund { authorization: OpId, amount: Amount },
}

impl Request {
    /// What it asks for.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Authorize { .. } => Kind::Authorize,
            Self::Capture { .. } => Kind::Capture,
            Self::Void { .. } => Kind::Void,
            Self::Refund { .. } => Kind::Refund,
        }
    }

    /// The amount that the call names.
    pub(crate) const fn amount(&self) -> Option<&Amount> {
        match self {
            Self::Authorize { amount, .. } | Self::Capture { amount, .. } | Self::Refund { amount, .. } => Some(amount),
            Self::Void { .. } => None,
        }
    }

    /// The authorization that the call is about.
    pub(crate) const fn authorization(&self) -> Option<OpId> {
        match self {
            Self::Authorize { .. } => None,
            Self::Capture { authorization, .. } | Self::Void { authorization } | Self::Refund { authorization, .. } => {
                Some(*authorization)
            }
        }
    }

    /// Whether `earlier` was made by the same call. Of card data only the last four digits are compared: no more is kept.
    pub(crate) fn matches(&self, earlier: &Operation) -> bool {
        let same_money = match self.amount() {
            Some(amount) => {
                earlier.amount == Some(amount.minor()) && earlier.currency.as_deref() == Some(amount.currency().code())
            }
            None => true,
        };
        let same_card = match self {
            Self::Authorize { order_id, last4, .. } => {
                earlier.order_id.as_ref() == Some(order_id) && earlier.last4.as_ref() == Some(last4)
            }
            Self::Capture { .. } | Self::Void { .. } | Self::Refund { .. } => true,
        };
        earlier.kind == self.kind()
            && same_money
            && same_card
            && earlier.authorization_key == self.authorization().map(|key| key.to_string())
    }
}
