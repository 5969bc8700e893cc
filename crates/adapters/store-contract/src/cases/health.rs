use std::sync::Arc;

use dropin_kernel::{Change, Revision};
use dropin_ports::{Changed, StoreError};
use dropin_session::Session;

use crate::Bench;
use crate::bench::changing;
use crate::values::{at, event, of_session};

pub async fn an_open_store_is_ready(bench: Arc<Bench>) {
    assert_eq!(bench.health.ready().await, Ok(()));
}

pub async fn a_schema_that_is_too_old_is_not_ready(bench: Arc<Bench>) {
    // A newer schema is fine: the program before a migration keeps running on its result.
    bench.raw.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231235959')").unwrap();
    assert_eq!(bench.health.ready().await, Ok(()));
    bench.raw.execute("DELETE FROM __diesel_schema_migrations").unwrap();
    for damage in [
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('20200101000000')",
        "DROP TABLE __diesel_schema_migrations",
    ] {
        let not_ready = bench.health.ready().await;
        let Err(StoreError::Refused(why)) = not_ready else { panic!("{not_ready:?}") };
        assert!(why.contains("dropin migrate"), "{why}");
        bench.raw.execute(damage).unwrap();
    }
    let not_ready = bench.health.ready().await;
    let Err(StoreError::Refused(why)) = not_ready else { panic!("{not_ready:?}") };
    assert!(why.contains("dropin migrate"), "{why}");
}

pub async fn a_failing_step_leaves_its_neighbours_alone(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let told = event(&bench.session(merchant.id).await, "TEST", at(1));
    // Every fourth step breaks a unique key after it has written its Session's change; all of them are in flight together.
    let mut racers = vec![];
    for number in 0..64 {
        let session = bench.session(merchant.id).await;
        let next = Session { revision: session.revision.next(), ..session.clone() };
        let mut own = event(&session, "TEST", at(1));
        if number % 4 == 0 {
            own.id = told.id;
        }
        let history = of_session(&next, "TEST", at(1));
        let change = Change { next, expected: session.revision };
        let sessions = bench.sessions.clone();
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
        assert_eq!(bench.stored(id).await.revision, expected, "{number}");
    }
    assert_eq!(kept, 1, "one of them came first with the event");
    assert_eq!(bench.count("outbox_event", "1 = 1"), 49);
}
