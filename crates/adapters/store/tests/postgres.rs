//! The store on PostgreSQL: the whole contract, and what PostgreSQL alone has.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod common;

use common::RawPostgres;
use common::postgres::Database;
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::Bench;

fn open() -> Bench {
    let database = Database::create();
    let store = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    store.migrate().unwrap();
    Bench::new(store, RawPostgres::open(&database.url()), database)
}

mod contract {
    dropin_store_contract::all_cases!(super::open);
}
