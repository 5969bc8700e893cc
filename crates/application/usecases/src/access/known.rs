//! Merchants that were looked up a moment ago, by their public ids.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use dropin_access::Merchant;
use dropin_kernel::MerchantId;
use dropin_ports::{AccessStore, StoreError};

/// How long what the store said is used without asking again: half of the two seconds in which a change has to be in force.
const FRESH: Duration = Duration::from_secs(1);
/// Most merchants remembered.
const MOST: usize = 4_096;

type Memory = HashMap<MerchantId, (Instant, Arc<Merchant>)>;

/// The merchants, each read from the store at most about once in a second: what shoppers and public pages ask about them is asked all the time.
/// Changes are in force within that second. Ids that name nobody are not remembered, so that nobody fills it with guesses.
#[derive(Clone)]
pub struct KnownMerchants {
    store: Arc<dyn AccessStore>,
    memory: Arc<RwLock<Memory>>,
}

impl KnownMerchants {
    /// Knows nobody yet.
    pub fn new(store: Arc<dyn AccessStore>) -> Self {
        Self { store, memory: Arc::default() }
    }

    /// The merchant with this id, as it was at most a second ago.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, id: MerchantId) -> Result<Option<Arc<Merchant>>, StoreError> {
        let asked = Instant::now();
        if let Some(known) = self.recall(id, asked) {
            return Ok(Some(known));
        }
        let found = self.store.find_merchant(id).await?.map(Arc::new);
        if let Some(merchant) = &found {
            self.keep(merchant.clone(), asked);
        }
        Ok(found)
    }

    fn recall(&self, id: MerchantId, now: Instant) -> Option<Arc<Merchant>> {
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        let (asked, merchant) = memory.get(&id)?;
        (now.saturating_duration_since(*asked) < FRESH).then(|| merchant.clone())
    }

    fn keep(&self, merchant: Arc<Merchant>, asked: Instant) {
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        if memory.get(&merchant.id).is_some_and(|(known, _)| asked < *known) {
            return;
        }
        if MOST <= memory.len() && !memory.contains_key(&merchant.id) {
            memory.retain(|_, (known, _)| asked.saturating_duration_since(*known) < FRESH);
            if MOST <= memory.len() {
                // All of them are asked about right now: each is read once more.
                memory.clear();
            }
        }
        memory.insert(merchant.id, (asked, merchant));
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
    use std::sync::atomic::{AtomicU32, Ordering};

    use dropin_kernel::MerchantId;
    use dropin_store::{Role, Store, StoreConfig};
    use dropin_store_contract::new_merchant;
    use uuid::Uuid;

    use super::*;

    /// Nobody in it, and somebody of whom it is known how he is found.
    async fn known() -> (KnownMerchants, MerchantId, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        let new = new_merchant(false);
        let id = new.merchant.id;
        store.insert_merchant(new).await.unwrap();
        (KnownMerchants::new(Arc::new(store)), id, folder)
    }

    #[tokio::test]
    async fn somebody_is_remembered_for_a_second_and_nobody_never() {
        let (merchants, id, _folder) = known().await;
        let asked = Instant::now();
        assert_eq!(merchants.find(MerchantId::new(Uuid::from_u128(7))).await, Ok(None));
        let found = merchants.find(id).await.unwrap().unwrap();
        assert_eq!(merchants.memory.read().unwrap().len(), 1);
        let (at, _) = merchants.memory.read().unwrap()[&id].clone();
        assert!(asked <= at && Arc::ptr_eq(&found, &merchants.recall(id, at + FRESH / 2).unwrap()));
        assert!(merchants.recall(id, at + FRESH).is_none());
        merchants.keep(Arc::new(Merchant { name: "Older".to_owned(), ..(*found).clone() }), at - FRESH / 2);
        assert_eq!(merchants.recall(id, at).unwrap().name, found.name, "an older answer replaces no newer one");
    }

    #[tokio::test]
    async fn its_size_is_bounded() {
        let (merchants, id, _folder) = known().await;
        let (one, start) = (merchants.find(id).await.unwrap().unwrap(), Instant::now());
        let number = AtomicU32::new(1);
        let add = |at| {
            let id = MerchantId::new(Uuid::from_u128(number.fetch_add(1, Ordering::Relaxed).into()));
            merchants.keep(Arc::new(Merchant { id, ..(*one).clone() }), at);
            merchants.memory.read().unwrap().len()
        };
        while add(start) < MOST {}
        assert_eq!(add(start + FRESH), 1, "what is of no use any more goes first");
        for _ in 0..2 * MOST {
            assert!(add(start + FRESH) <= MOST);
        }
    }
}
