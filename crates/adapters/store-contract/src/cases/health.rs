use std::sync::Arc;

use dropin_kernel::{Change, Revision};
use dropin_ports::{Applied, Changed, MerchantInserted, OrderChanged, RateSourceCheck, RatesInForce, StoreError};

use super::access::particular_methods;
use super::order::{Touched, changing as changing_order};
use super::rates::{state, table};
use crate::Harness;
use crate::harness::changing;
use crate::values::{at, bank_details, event, full_terms, new_merchant, of_session};

pub async fn an_open_store_is_ready(harness: Arc<Harness>) {
    assert_eq!(harness.health.ready().await, Ok(()));
}

pub async fn a_schema_that_is_too_old_is_not_ready(harness: Arc<Harness>) {
    // A newer schema is fine: the program before a migration keeps running on its result.
    harness.raw.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231235959')").unwrap();
    assert_eq!(harness.health.ready().await, Ok(()));
    harness.raw.execute("DELETE FROM __diesel_schema_migrations").unwrap();
    for damage in [
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('20200101000000')",
        "DROP TABLE __diesel_schema_migrations",
    ] {
        let not_ready = harness.health.ready().await;
        let Err(StoreError::Refused(why)) = not_ready else { panic!("{not_ready:?}") };
        assert!(why.contains("dropin migrate"), "{why}");
        harness.raw.execute(damage).unwrap();
    }
    let not_ready = harness.health.ready().await;
    let Err(StoreError::Refused(why)) = not_ready else { panic!("{not_ready:?}") };
    assert!(why.contains("dropin migrate"), "{why}");
}

/// `document` as a later program may write it, with a member more in each of its objects; those that are maps get none, for a key is a value.
fn of_a_later_version(document: &str) -> String {
    let more = r#"{"of_a_later_version": {"items": [1, null]}, "#;
    let mut later = document.replace("{\"", &format!("{more}\""));
    for map in ["adjustments", "pay_later_clients"] {
        for space in ["", " "] {
            later = later.replace(&format!("\"{map}\":{space}{more}"), &format!("\"{map}\":{space}{{"));
        }
    }
    later.replace('\'', "''")
}

pub async fn documents_of_a_later_version_are_read(harness: Arc<Harness>) {
    let mut new = new_merchant(false);
    new.merchant = new.merchant.edited(|parts| parts.methods = particular_methods()).unwrap();
    assert_eq!(harness.access.insert_merchant(new.clone()).await, Ok(MerchantInserted::Done));
    let merchant = new.merchant.id;
    let session = harness.session_with(merchant, full_terms()).await;
    let order = harness.authorized(merchant).await.order;
    let change = order.edited(|parts| parts.bank_details = Some(Box::new(bank_details()))).unwrap().touched();
    let order = change.next.clone();
    assert_eq!(harness.payments.change_order(changing_order(change)).await, Ok(OrderChanged::Done));
    let look = RateSourceCheck { expected: 0, table: Some(table("1.1172")), state: state(at(2)) };
    assert_eq!(harness.rates.record_source_check(look).await, Ok(Applied::Done));
    for (table, column) in [
        ("merchant", "methods"),
        ("session", "terms"),
        ("billing_profile", "details"),
        ("purchase_order", "bank_details"),
        ("rate_feed", "refused"),
    ] {
        let stored = format!("SELECT DISTINCT CAST({column} AS TEXT) AS value FROM {table} WHERE {column} IS NOT NULL");
        let stored = harness.raw.values(&stored);
        assert!(!stored.is_empty(), "{table}.{column}");
        for document in stored {
            let later = of_a_later_version(&document);
            assert!(later.contains("of_a_later_version"), "{table}.{column}: {later}");
            let document = document.replace('\'', "''");
            let update = format!("UPDATE {table} SET {column} = '{later}' WHERE CAST({column} AS TEXT) = '{document}'");
            assert_ne!(harness.raw.execute(&update), Ok(0), "{update}");
        }
    }
    assert_eq!(harness.access.find_merchant(merchant).await, Ok(Some(new.merchant)));
    assert_eq!(harness.stored(session.id).await, session);
    assert_eq!(harness.find_order(merchant, order.id).await, Ok(Some(order)));
    let board = harness.rates.find_rates().await.unwrap().unwrap();
    assert_eq!(board, RatesInForce { number: board.number, table: table("1.1172"), state: state(at(2)) });
}

pub async fn a_failing_step_leaves_its_neighbours_alone(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let told = event(&harness.session(merchant.id).await, "TEST", at(1));
    // Every fourth step breaks a unique key after it has written its Session's change; all of them are in flight together.
    let mut racers = vec![];
    for number in 0..64 {
        let session = harness.session(merchant.id).await;
        let next = session.clone().at_revision(session.revision.next());
        let mut own = event(&session, "TEST", at(1));
        if number % 4 == 0 {
            own.id = told.id;
        }
        let history = of_session(&next, "TEST", at(1));
        let change = Change { next, expected: session.revision };
        let sessions = harness.sessions.clone();
        racers.push((
            number,
            session.id,
            tokio::spawn(async move { sessions.change_session(changing(change, history, vec![own])).await }),
        ));
    }
    let mut kept = 0;
    for (number, id, racer) in racers {
        let written = racer.await.unwrap();
        let expected = match &written {
            Ok(Changed::Done) => Revision::new(2),
            Err(StoreError::Refused(_)) if number % 4 == 0 => Revision::FIRST,
            other => panic!("{number}: {other:?}"),
        };
        kept += usize::from(number % 4 == 0 && written.is_ok());
        assert_eq!(harness.stored(id).await.revision, expected, "{number}");
    }
    assert_eq!(kept, 1, "one of them came first with the event");
    assert_eq!(harness.count("outbox_event", "1 = 1"), 49);
}
