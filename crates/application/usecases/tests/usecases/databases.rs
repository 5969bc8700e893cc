use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dropin_store::{Role, Store, StoreConfig};

/// The store of a service on the database in that folder.
pub(crate) fn open(folder: &Path) -> Store {
    let url = format!("sqlite://{}", folder.join("dropin.db").display());
    Store::open(StoreConfig::new(url, Role::Service)).unwrap()
}

/// The store on a new database: a copy of the first that was brought up to date.
pub(crate) fn create(folder: &Path) -> Store {
    static FIRST: OnceLock<Vec<u8>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).close();
        fs::read(folder.path().join("dropin.db")).unwrap()
    });
    fs::write(folder.join("dropin.db"), first).unwrap();
    open(folder)
}
