use std::sync::Arc;

use dropin_access::WalletDomain;
use dropin_ports::{StoreError, WalletStore};

/// The file by which our own address is proven to the wallet's provider: the one that was registered last for it, by whichever merchant.
#[derive(Clone)]
pub struct AssociationFile {
    /// What merchants registered.
    pub store: Arc<dyn WalletStore>,
    /// The domain of {asset_url}; `None` when it has none that could be registered.
    pub domain: Option<WalletDomain>,
}

impl AssociationFile {
    /// Its text; `None` when nobody has registered one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn text(&self) -> Result<Option<String>, StoreError> {
        match &self.domain {
            Some(domain) => self.store.association_file(domain).await,
            None => Ok(None),
        }
    }
}
