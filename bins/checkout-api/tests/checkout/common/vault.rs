//! The stash without keys.

use dropin_card::{Card, CardHash, StashContents, StashedData, Wallet, WalletToken};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{KeyringError, SealedCard, StashBinding, StashVault};

/// A vault that seals nothing: of a card the published test number is kept, and tokens are as they came.
pub(super) struct PlainVault;

impl StashVault for PlainVault {
    fn seal(&self, contents: &StashContents, _: StashBinding<'_>, _: Timestamp) -> Result<SealedCard, KeyringError> {
        let bytes = match &contents.data {
            StashedData::Card(card) => [&[0][..], card.expose_digits().as_bytes()].concat(),
            StashedData::WalletToken(token) => token.expose_data().as_bytes().to_vec(),
        };
        Ok(SealedCard { key_id: "none".to_owned(), bytes })
    }

    fn open(&self, sealed: &SealedCard, _: StashBinding<'_>) -> Result<StashContents, KeyringError> {
        if sealed.bytes[0] == 0 {
            return Ok(card(std::str::from_utf8(&sealed.bytes[1..]).unwrap()).into());
        }
        let data = String::from_utf8(sealed.bytes.clone()).unwrap();
        Ok(StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, data)).into())
    }

    fn hash_card(&self, _: MerchantId, digits: &str) -> Result<CardHash, KeyringError> {
        let mut hash = [0; 32];
        hash[..digits.len()].copy_from_slice(digits.as_bytes());
        Ok(CardHash(hash))
    }

    fn check_key(&self, _: &str) -> Result<(), KeyringError> {
        Ok(())
    }

    fn check(&self, _: Timestamp) -> Result<(), KeyringError> {
        Ok(())
    }
}

pub(crate) fn card(number: &str) -> StashedData {
    StashedData::Card(Card::new("Ana", number, "123", "2099", "12"))
}
