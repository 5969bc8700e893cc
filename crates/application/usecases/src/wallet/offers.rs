use std::sync::Arc;

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
    /// The wallet's entry for a merchant, where the card methods with the ids `cards` may be used; `None` when the merchant has no certificate
    /// that counts, or when the wallet knows none of the schemes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(
        &self,
        merchant: MerchantId,
        cards: impl IntoIterator<Item = &str>,
    ) -> Result<Option<TokenMethodBody>, StoreError> {
        let networks: Vec<_> = cards.into_iter().filter_map(network_of).collect();
        if networks.is_empty() {
            return Ok(None);
        }
        let identity = self.store.find_wallet(merchant).await?;
        let now = self.clock.now();
        Ok(identity.filter(|identity| identity.is_valid_at(now)).map(|identity| {
            let url = format!("{}/v1/wallet/{merchant}/session", self.checkout_url.trim_end_matches('/'));
            TokenMethodBody::apple_pay(identity.identifier.as_str(), networks, &identity.country, url)
        }))
    }
}
