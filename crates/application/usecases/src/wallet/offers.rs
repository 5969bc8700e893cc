use std::sync::Arc;
use std::time::Instant;

use dropin_access::Merchant;
use dropin_card::Wallet;
use dropin_catalogue::{Class, Offered};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{Clock, StoreError, WalletStore};
use dropin_wire::wallet::{TokenMethodBody, network_of};

use crate::store_cache::{Cached, StoreCache};

/// Which merchants may offer the wallet. Their identities are read from the store at most about once in a second: whether there is one is asked
/// at every view and every submit. A change shows within two seconds.
#[derive(Clone)]
pub struct WalletOffers {
    store: Arc<dyn WalletStore>,
    clock: Arc<dyn Clock>,
    checkout_url: String,
    cache: Arc<StoreCache<MerchantId, Option<Arc<Identity>>>>,
}

/// What an offer says of a merchant's identity; nothing of its key.
struct Identity {
    identifier: String,
    country: String,
    expires_at: Timestamp,
}

impl WalletOffers {
    /// Identities out of `store`; pages ask for payment sessions below `checkout_url`.
    pub fn new(store: Arc<dyn WalletStore>, clock: Arc<dyn Clock>, checkout_url: String) -> Self {
        Self { store, clock, checkout_url, cache: Arc::default() }
    }

    /// {checkout_url}: pages ask there for payment sessions.
    pub fn checkout_url(&self) -> &str {
        &self.checkout_url
    }

    /// The wallets of a merchant who may offer `methods` for a payment, with the networks of the cards that are among them too: Apple Pay where the
    /// merchant has a certificate that counts, Google Pay where it has an account.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of(&self, merchant: &Merchant, methods: &[Offered]) -> Result<Vec<TokenMethodBody>, StoreError> {
        let mut entries = Vec::new();
        for wallet in Wallet::ALL {
            entries.extend(self.entry(wallet, merchant, methods).await?);
        }
        Ok(entries)
    }

    async fn entry(
        &self,
        wallet: Wallet,
        merchant: &Merchant,
        methods: &[Offered],
    ) -> Result<Option<TokenMethodBody>, StoreError> {
        let is_offered = methods.iter().any(|method| method.is_token() && method.id() == wallet.as_str());
        let cards = methods.iter().filter(|method| method.class() == Class::Card && !method.is_token());
        let networks: Vec<_> = cards.filter_map(|card| network_of(wallet, card.id())).collect();
        if !is_offered || networks.is_empty() {
            return Ok(None);
        }
        if wallet == Wallet::GooglePay {
            let account = merchant.methods.google_pay.as_ref();
            return Ok(account.map(|account| TokenMethodBody::google_pay(account, networks, merchant.sandbox)));
        }
        let (id, now) = (merchant.id, self.clock.now());
        let identity = self.identity(id).await?.filter(|identity| now < identity.expires_at);
        Ok(identity.map(|identity| {
            let url = format!("{}/v1/wallet/{id}/session", self.checkout_url.trim_end_matches('/'));
            TokenMethodBody::apple_pay(&identity.identifier, networks, &identity.country, url)
        }))
    }

    async fn identity(&self, merchant: MerchantId) -> Result<Option<Arc<Identity>>, StoreError> {
        let asked = Instant::now();
        if let Cached::Known(identity) = self.cache.recall(&merchant, asked) {
            return Ok(identity);
        }
        let identity = self.store.find_wallet(merchant).await?.map(|identity| {
            let (identifier, expires_at) = (identity.identifier.as_str().to_owned(), identity.expires_at);
            Arc::new(Identity { identifier, country: identity.country, expires_at })
        });
        self.cache.keep(merchant, identity.clone(), asked);
        Ok(identity)
    }

    /// Whether a token of the wallet that is called `id` is taken where `methods` are offered: wherever that wallet is listed, and nowhere else.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn takes_token(&self, id: &str, merchant: &Merchant, methods: &[Offered]) -> Result<bool, StoreError> {
        let Ok(wallet) = id.parse() else { return Ok(false) };
        Ok(self.entry(wallet, merchant, methods).await?.is_some())
    }
}
