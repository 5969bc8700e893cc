//! Merchants that were looked up a moment ago, by their public ids.

use std::sync::Arc;
use std::time::Instant;

use dropin_access::Merchant;
use dropin_kernel::MerchantId;
use dropin_ports::{AccessStore, StoreError};

use crate::store_cache::{Cached, StoreCache};

/// The merchants, each read from the store at most about once in a second: what shoppers and public pages ask about them is asked all the time.
/// Changes are in force within two seconds. Ids that name nobody are not remembered, so that nobody fills it with guesses.
#[derive(Clone)]
pub struct KnownMerchants {
    store: Arc<dyn AccessStore>,
    cache: Arc<StoreCache<MerchantId, Arc<Merchant>>>,
}

impl KnownMerchants {
    /// Knows nobody yet.
    pub fn new(store: Arc<dyn AccessStore>) -> Self {
        Self { store, cache: Arc::default() }
    }

    /// The merchant with this id, as it was at most a second and a half ago.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, id: MerchantId) -> Result<Option<Arc<Merchant>>, StoreError> {
        let asked = Instant::now();
        if let Cached::Known(merchant) = self.cache.recall(&id, asked) {
            return Ok(Some(merchant));
        }
        let found = self.store.find_merchant(id).await?.map(Arc::new);
        match &found {
            Some(merchant) => self.cache.keep(id, merchant.clone(), asked),
            None => self.cache.forget(&id),
        }
        Ok(found)
    }
}

/// Whom it knows is nobody's business.
impl std::fmt::Debug for KnownMerchants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KnownMerchants(..)")
    }
}

#[cfg(test)]
mod tests {
    use dropin_store::{Role, Store, StoreConfig};
    use dropin_store_contract::new_merchant;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn somebody_is_remembered_and_nobody_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        let new = new_merchant(false);
        let (id, nobody) = (new.merchant.id, MerchantId::new(Uuid::from_u128(7)));
        store.insert_merchant(new).await.unwrap();
        let merchants = KnownMerchants::new(Arc::new(store));
        assert_eq!(merchants.find(nobody).await, Ok(None));
        assert!(matches!(merchants.cache.recall(&nobody, Instant::now()), Cached::Unknown));
        let found = merchants.find(id).await.unwrap().unwrap();
        let again = merchants.find(id).await.unwrap().unwrap();
        assert!(Arc::ptr_eq(&found, &again), "the store was asked once");
    }
}
