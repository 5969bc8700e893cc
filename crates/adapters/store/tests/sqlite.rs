//! The store on SQLite: the whole contract, and what SQLite alone has.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod common;

use common::{RawSqlite, path, sqlite_url};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::Bench;

fn open() -> Bench {
    let (folder, url) = sqlite_url();
    let store = Store::open(StoreConfig::new(&url, Role::Service)).unwrap();
    Bench::new(store, RawSqlite::open(path(&url)), folder)
}

mod contract {
    dropin_store_contract::all_cases!(super::open);
}
