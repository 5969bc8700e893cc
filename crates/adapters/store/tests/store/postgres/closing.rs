//! The end of a store whose batches have callers.

use dropin_kernel::SessionId;
use dropin_ports::{Inserted, SessionStore, StoreError};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Harness, fresh, insertable};

use super::migrated;
use crate::common::RawPostgres;

#[tokio::test(flavor = "multi_thread")]
async fn closing_finishes_what_waits_in_batches() {
    let (database, store) = migrated();
    let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), ());
    let (merchant, _) = harness.merchant().await;
    // The first connects.
    assert_eq!(store.insert_session(insertable(merchant.id)).await, Ok(Inserted::Done));
    let racers: Vec<_> = (0..200)
        .map(|_| {
            let (store, new) = (store.clone(), insertable(merchant.id));
            tokio::spawn(async move { (new.session.id, store.insert_session(new).await) })
        })
        .collect();
    tokio::task::yield_now().await;
    let closing = store.clone();
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    let again = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let mut count = 0;
    for racer in racers {
        let (id, written) = racer.await.unwrap();
        let found = again.find_session(merchant.id, id).await.unwrap().is_some();
        match written {
            Ok(Inserted::Done) => assert!(found, "answered, so it is durable"),
            Err(StoreError::Unavailable(_)) => assert!(!found, "refused, so it never ran"),
            other => panic!("{other:?}"),
        }
        count += 1;
    }
    assert_eq!(count, 200);
    let created = store.insert_session(insertable(merchant.id)).await;
    assert!(matches!(created, Err(StoreError::Unavailable(_))), "a kind that has run: {created:?}");
    let found = store.find_session(merchant.id, SessionId::new(fresh())).await;
    assert!(matches!(found, Err(StoreError::Unavailable(_))), "a kind that never ran: {found:?}");
}
