use std::sync::Arc;

use dropin_card::Wallet;
use dropin_catalogue::{Class, Offered};
use dropin_kernel::MerchantId;
use dropin_ports::{Clock, StoreError, WalletStore};
use dropin_wire::wallet::{TokenMethodBody, network_of};

/// Which merchants may offer the wallet.
#[derive(Clone)]
pub struct WalletOffers {
    /// Merchants' identities.
    pub store: Arc<dyn WalletStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// {checkout_url}: pages ask there for payment sessions.
    pub checkout_url: String,
}

impl WalletOffers {
    /// The wallets of a merchant who may offer `methods` for a payment: one when Apple Pay is among them, with the networks of the cards that are
    /// among them too, and when the merchant has a certificate that counts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(&self, merchant: MerchantId, methods: &[Offered]) -> Result<Vec<TokenMethodBody>, StoreError> {
        let wallet = methods.iter().any(|method| method.token && method.id == Wallet::ApplePay.as_str());
        let cards = methods.iter().filter(|method| method.class == Class::Card && !method.token);
        let networks: Vec<_> = cards.filter_map(|card| network_of(card.id)).collect();
        if !wallet || networks.is_empty() {
            return Ok(Vec::new());
        }
        let identity = self.store.find_wallet(merchant).await?;
        let now = self.clock.now();
        let entry = identity.filter(|identity| identity.is_valid_at(now)).map(|identity| {
            let url = format!("{}/v1/wallet/{merchant}/session", self.checkout_url.trim_end_matches('/'));
            TokenMethodBody::apple_pay(identity.identifier.as_str(), networks, &identity.country, url)
        });
        Ok(entry.into_iter().collect())
    }

    /// Whether a wallet's token is taken where `methods` are offered: wherever a wallet is listed, and nowhere else.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn takes_token(&self, merchant: MerchantId, methods: &[Offered]) -> Result<bool, StoreError> {
        Ok(!self.of(merchant, methods).await?.is_empty())
    }
}
