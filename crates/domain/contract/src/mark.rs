//! How a payment with a stored credential is marked, so that the issuer knows what the shopper agreed to.

use std::fmt;
use std::str::FromStr;

use dropin_kernel::coded_enum;

use crate::kind::{ContractKind, Initiator};

/// The longest [`NetworkTransactionId`], in bytes: ISO 20022's `Max35Text`, the type of identifiers in card messages.
pub const MAX_NETWORK_TRANSACTION_ID_BYTES: usize = 35;

/// The card network's identifier of a payment; later payments of a contract name that of the first.
///
/// 1 to [`MAX_NETWORK_TRANSACTION_ID_BYTES`] printable ASCII characters without a space. That leaves room for what the networks make: 15 digits at
/// Visa and American Express, at Mastercard 9 characters with a date of 4 digits (Banknet reference) or 22 characters (Transaction Link Identifier).
/// It is no secret, and it charges nothing by itself.
///
/// ```
/// use dropin_contract::NetworkTransactionId;
///
/// let id: NetworkTransactionId = "MCC8K2P9Q1123".parse().unwrap();
/// assert_eq!(id.as_str(), "MCC8K2P9Q1123");
/// assert!("two words".parse::<NetworkTransactionId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkTransactionId(String);

/// The text is no [`NetworkTransactionId`].
///
/// ```
/// use dropin_contract::NetworkTransactionId;
///
/// let refused = "".parse::<NetworkTransactionId>().unwrap_err();
/// assert_eq!(refused.to_string(), "must be 1 to 35 printable ASCII characters without a space");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_NETWORK_TRANSACTION_ID_BYTES} printable ASCII characters without a space")]
pub struct InvalidNetworkTransactionId;

impl NetworkTransactionId {
    /// The text, as the network wrote it.
    ///
    /// ```
    /// # use dropin_contract::NetworkTransactionId;
    /// assert_eq!("483297487231504".parse::<NetworkTransactionId>().unwrap().as_str(), "483297487231504");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NetworkTransactionId {
    type Err = InvalidNetworkTransactionId;

    /// Reads the exact text: nothing is trimmed.
    fn from_str(text: &str) -> Result<Self, InvalidNetworkTransactionId> {
        let fits = (1..=MAX_NETWORK_TRANSACTION_ID_BYTES).contains(&text.len());
        let is_id = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_id.then(|| Self(text.to_owned())).ok_or(InvalidNetworkTransactionId)
    }
}

impl fmt::Display for NetworkTransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(NetworkTransactionId);

coded_enum! {
    /// What a payment does with a stored credential.
    ///
    /// The card schemes want the first payment initiated by the customer and authenticated, and each later one marked with what was agreed
    /// (Visa and Mastercard: rules for stored credentials; EMV 3-D Secure: 3RI; in Europe Commission Delegated Regulation (EU) 2018/389).
    ///
    /// ```
    /// use dropin_contract::{Initiator, StoredCredentialUse};
    ///
    /// assert_eq!(StoredCredentialUse::First.initiator(), Initiator::Customer);
    /// assert_eq!(StoredCredentialUse::Unscheduled.initiator(), Initiator::Merchant);
    /// ```
    pub enum StoredCredentialUse: "use of a stored credential" {
        /// The shopper pays or verifies the card and agrees that it is stored, or authenticates anew for a contract that there is.
        First = "FIRST",
        /// The shopper pays again with the stored card.
        OneClick = "ONE_CLICK",
        /// The merchant charges at a regular interval.
        Recurring = "RECURRING",
        /// The merchant charges at no fixed time.
        Unscheduled = "UNSCHEDULED",
    }
}

impl StoredCredentialUse {
    /// Who begins such a payment.
    pub const fn initiator(self) -> Initiator {
        match self {
            Self::First | Self::OneClick => Initiator::Customer,
            Self::Recurring | Self::Unscheduled => Initiator::Merchant,
        }
    }

    /// What a later payment under a contract of this kind is.
    pub(crate) const fn of_later(kind: ContractKind) -> Self {
        match kind {
            ContractKind::OneClick => Self::OneClick,
            ContractKind::Recurring => Self::Recurring,
            ContractKind::Unscheduled => Self::Unscheduled,
        }
    }
}

/// How one payment is marked for the processor: [`Contract::plan_merchant_charge`](crate::Contract::plan_merchant_charge) and
/// [`Contract::plan_shopper_payment`](crate::Contract::plan_shopper_payment) make it of a contract.
///
/// ```
/// use dropin_contract::{Initiator, PaymentMark};
///
/// assert_eq!(PaymentMark::FIRST.initiator(), Initiator::Customer);
/// assert_eq!(PaymentMark::FIRST.network_transaction_id, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "crate::serialized::StoredMark")
)]
pub struct PaymentMark {
    /// What the payment does with the stored credential.
    pub credential_use: StoredCredentialUse,
    /// That of the first payment; `None` for a first one, and where the processor keeps it for itself.
    pub network_transaction_id: Option<NetworkTransactionId>,
}

impl PaymentMark {
    /// Of the payment or the verification that opens a contract.
    pub const FIRST: Self = Self { credential_use: StoredCredentialUse::First, network_transaction_id: None };

    /// Who begins the payment.
    ///
    /// ```
    /// # use dropin_contract::{Initiator, PaymentMark};
    /// assert_eq!(PaymentMark::FIRST.initiator(), Initiator::Customer);
    /// ```
    pub const fn initiator(&self) -> Initiator {
        self.credential_use.initiator()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_each_network_is_taken() {
        for text in
            ["483297487231504", "MCC8K2P9Q1123", "MDSabc1231225", "RmJsnB2cRDikc5ujvLNw6A", "~", &"9".repeat(35)]
        {
            let id = text.parse::<NetworkTransactionId>();
            assert_eq!(id.map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", " ", "a b", " a", "a ", "a\t", "a\n", "é", "a\u{7f}", &"9".repeat(36)] {
            assert_eq!(wrong.parse::<NetworkTransactionId>(), Err(InvalidNetworkTransactionId), "{wrong:?}");
        }
    }

    #[test]
    fn a_later_payment_is_initiated_by_whom_its_kind_allows() {
        for kind in ContractKind::ALL {
            let by_merchant = StoredCredentialUse::of_later(kind).initiator() == Initiator::Merchant;
            assert_eq!(by_merchant, kind.allows_merchant_charges(), "{kind}");
        }
    }
}
