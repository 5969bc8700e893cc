use dropin_kernel::Timestamp;

use crate::card::Card;
use crate::scheme::Scheme;
use crate::wallet::{Wallet, WalletToken};
use crate::warning::Warning;

/// What a shopper's browser stashes for one payment (contract, POST {stash_url}). It wipes itself when dropped.
#[derive(Debug, PartialEq, Eq)]
pub enum StashedData {
    /// A card as it was typed.
    Card(Card),
    /// What a wallet gave instead of a card.
    WalletToken(WalletToken),
}

/// What may be known of stashed data without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StashedKind {
    /// A card, and its scheme when the number belongs to one that we know.
    Card(Option<Scheme>),
    /// A token of this wallet.
    Wallet(Wallet),
}

impl StashedData {
    /// What may be known of it.
    pub fn kind(&self) -> StashedKind {
        match self {
            Self::Card(card) => StashedKind::Card(card.scheme()),
            Self::WalletToken(token) => StashedKind::Wallet(token.wallet()),
        }
    }

    /// The last four digits of a card's number (contract, Stash response); nobody but the wallet can tell those behind a token.
    pub fn last4(&self) -> Option<String> {
        match self {
            Self::Card(card) => Some(card.last4()),
            Self::WalletToken(_) => None,
        }
    }

    /// Everything that is wrong with it at `now`; a token is for the processor to judge.
    pub fn warnings(&self, now: Timestamp) -> Vec<Warning> {
        match self {
            Self::Card(card) => card.warnings(now),
            Self::WalletToken(_) => Vec::new(),
        }
    }
}

impl StashedKind {
    /// The id of the payment method in the catalogue: of the card's scheme, or of the wallet. `None` for a card of no scheme that we know.
    pub const fn method_id(self) -> Option<&'static str> {
        match self {
            Self::Card(Some(scheme)) => Some(scheme.as_str()),
            Self::Card(None) => None,
            Self::Wallet(wallet) => Some(wallet.as_str()),
        }
    }

    /// Reads the id back; `None` for one that belongs to neither.
    pub fn from_method_id(id: Option<&str>) -> Option<Self> {
        let Some(id) = id else { return Some(Self::Card(None)) };
        let scheme = Scheme::from_code(id).map(|scheme| Self::Card(Some(scheme)));
        scheme.or_else(|| Wallet::from_code(id).map(Self::Wallet))
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
