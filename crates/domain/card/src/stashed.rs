use dropin_kernel::Timestamp;

use crate::card::Card;
use crate::client_facts::ClientFacts;
use crate::scheme::Scheme;
use crate::wallet::{Wallet, WalletToken};
use crate::warning::Warning;

/// What a shopper's browser stashes for one payment (docs/SPECIFICATION.md#stash-request). It wipes itself when dropped.
///
/// ```
/// use dropin_card::{Card, Scheme, StashedData, StashedKind};
///
/// let data = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12"));
/// assert_eq!(data.kind(), StashedKind::Card(Some(Scheme::Visa)));
/// assert_eq!(format!("{data:?}"), "Card(Card(..))");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum StashedData {
    /// A card as it was typed.
    Card(Card),
    /// What a wallet gave instead of a card.
    WalletToken(WalletToken),
}

/// All that one entry of the stash seals: the data, and what is known of the client that posted them.
///
/// ```
/// use dropin_card::{Card, ClientFacts, StashContents, StashedData};
///
/// let data = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12"));
/// assert_eq!(StashContents::from(data).client, ClientFacts::default(), "nothing is known");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct StashContents {
    /// What is paid with.
    pub data: StashedData,
    /// Who posted it.
    pub client: ClientFacts,
}

impl From<StashedData> for StashContents {
    fn from(data: StashedData) -> Self {
        Self { data, client: ClientFacts::default() }
    }
}

/// What may be known of stashed data without opening it.
///
/// Its serialized form is the payment method's id, or nothing (`null` in JSON) for a card of no scheme that we know.
///
/// ```
/// use dropin_card::{Scheme, StashedKind, Wallet};
///
/// assert_eq!(StashedKind::Card(Some(Scheme::Visa)).method_id(), Some("VISA"));
/// assert_eq!(StashedKind::from_method_id(Some("APPLEPAY")), Some(StashedKind::Wallet(Wallet::ApplePay)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StashedKind {
    /// A card, and its scheme when the number belongs to one that we know.
    Card(Option<Scheme>),
    /// A token of this wallet.
    Wallet(Wallet),
}

impl StashedData {
    /// What may be known of it.
    ///
    /// ```
    /// # use dropin_card::{StashedData, Wallet, WalletToken};
    /// let token = StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, "{}"));
    /// assert_eq!(token.kind().method_id(), Some("APPLEPAY"));
    /// ```
    pub fn kind(&self) -> StashedKind {
        match self {
            Self::Card(card) => StashedKind::Card(card.scheme()),
            Self::WalletToken(token) => StashedKind::Wallet(token.wallet()),
        }
    }

    /// The last four digits of a card's number (docs/SPECIFICATION.md#stash-response); the wallet alone can tell those behind a token.
    ///
    /// ```
    /// # use dropin_card::{Card, StashedData};
    /// let card = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12"));
    /// assert_eq!(card.last4().as_deref(), Some("4242"));
    /// ```
    pub fn last4(&self) -> Option<String> {
        match self {
            Self::Card(card) => Some(card.last4()),
            Self::WalletToken(_) => None,
        }
    }

    /// Everything that is wrong with it at `now`; a token is for the processor to judge.
    ///
    /// ```
    /// # use {dropin_card::{Card, StashedData, Warning}, dropin_kernel::Timestamp};
    /// let card = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "", "2030", "12"));
    /// assert_eq!(card.warnings(Timestamp::from_micros(0)), [Warning::CardVerificationCodeInvalid]);
    /// ```
    pub fn warnings(&self, now: Timestamp) -> Vec<Warning> {
        match self {
            Self::Card(card) => card.warnings(now),
            Self::WalletToken(_) => Vec::new(),
        }
    }
}

impl StashedKind {
    /// The id of the payment method in the catalogue: of the card's scheme, or of the wallet. `None` for a card of no scheme that we know.
    ///
    /// ```
    /// assert_eq!(dropin_card::StashedKind::Card(None).method_id(), None);
    /// ```
    pub const fn method_id(self) -> Option<&'static str> {
        match self {
            Self::Card(Some(scheme)) => Some(scheme.as_str()),
            Self::Card(None) => None,
            Self::Wallet(wallet) => Some(wallet.as_str()),
        }
    }

    /// Reads the id back; `None` for one that belongs to neither.
    ///
    /// ```
    /// # use dropin_card::StashedKind;
    /// assert_eq!(StashedKind::from_method_id(None), Some(StashedKind::Card(None)));
    /// assert_eq!(StashedKind::from_method_id(Some("PAYPAL")), None);
    /// ```
    pub fn from_method_id(id: Option<&str>) -> Option<Self> {
        let Some(id) = id else { return Some(Self::Card(None)) };
        let scheme = id.parse().ok().map(|scheme: Scheme| Self::Card(Some(scheme)));
        scheme.or_else(|| id.parse().ok().map(Self::Wallet))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for StashedKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.method_id().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for StashedKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Option::<String>::deserialize(deserializer)?;
        Self::from_method_id(id.as_deref())
            .ok_or_else(|| serde::de::Error::custom("is the id of no card scheme and of no wallet"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_no_digits_and_is_for_others_to_judge() {
        let token = StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, "{}"));
        assert_eq!((token.kind(), token.last4()), (StashedKind::Wallet(Wallet::ApplePay), None));
        assert_eq!(token.warnings(Timestamp::from_micros(0)), []);
    }

    #[test]
    fn a_card_is_judged_as_it_is() {
        let card = StashedData::Card(Card::new("", "4242", "", "", ""));
        assert_eq!((card.kind(), card.last4().as_deref()), (StashedKind::Card(Some(Scheme::Visa)), Some("4242")));
        assert_eq!(card.warnings(Timestamp::from_micros(0)).len(), 3);
    }

    #[test]
    fn kinds_read_back() {
        let mut kinds: Vec<_> = Scheme::ALL.into_iter().map(|scheme| StashedKind::Card(Some(scheme))).collect();
        kinds.extend(Wallet::ALL.map(StashedKind::Wallet));
        kinds.push(StashedKind::Card(None));
        for kind in kinds {
            assert_eq!(StashedKind::from_method_id(kind.method_id()), Some(kind));
        }
        assert_eq!(StashedKind::from_method_id(Some("PAYPAL")), None);
    }
}
