//! What a defect of ours inside a step does to everybody else.

use std::sync::Arc;

use dropin_ports::{MetricSource, StoreError};
use tempfile::TempDir;

use super::{Enqueued, TxOutcome, WorkerPool};
use crate::config::{SERVICE_DEADLINE, Target};
use crate::connection::AnyConnection;
use crate::fault::Fault;

/// A pool for a database with one table, `task`.
fn open() -> (TempDir, Arc<WorkerPool>) {
    use diesel::RunQueryDsl;
    let folder = TempDir::new().unwrap();
    let target = Target::Sqlite(folder.path().join("store.db").display().to_string());
    let pool = WorkerPool::start(target, 1, SERVICE_DEADLINE, None).unwrap();
    wait(pool.write(|connection| {
        let sql = "CREATE TABLE task (name TEXT NOT NULL)";
        crate::on_each!(connection, inner => diesel::sql_query(sql).execute(inner))?;
        Ok(TxOutcome::Commit(()))
    }))
    .unwrap();
    (folder, Arc::new(pool))
}

/// One after the other on a runtime of its own: the store needs none.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[derive(diesel::QueryableByName)]
struct Name {
    #[diesel(sql_type = diesel::sql_types::Text)]
    name: String,
}

fn insert(connection: &mut AnyConnection, name: &str) -> Result<(), Fault> {
    use diesel::RunQueryDsl;
    let sql = format!("INSERT INTO task (name) VALUES ('{name}')");
    crate::on_each!(connection, inner => diesel::sql_query(sql).execute(inner))?;
    Ok(())
}

fn names(store: &WorkerPool) -> Vec<String> {
    use diesel::RunQueryDsl;
    let names = |connection: &mut AnyConnection| {
        let sql = "SELECT name FROM task ORDER BY name";
        let names: Vec<Name> = crate::on_each!(connection, inner => diesel::sql_query(sql).load(inner))?;
        Ok(names.into_iter().map(|row| row.name).collect())
    };
    wait(store.read(names)).unwrap()
}

#[test]
fn a_panic_rolls_its_task_back_and_the_worker_goes_on() {
    let (_folder, store) = open();
    for _ in 0..5 {
        let panics = wait(store.write::<(), _>(|connection| {
            insert(connection, "panicked")?;
            panic!("a defect")
        }));
        assert!(matches!(panics, Err(StoreError::Refused(_))), "{panics:?}");
        let panics = wait(store.read::<(), _>(|_connection| panic!("a defect")));
        assert!(matches!(panics, Err(StoreError::Refused(_))), "{panics:?}");
    }
    wait(store.write(|connection| insert(connection, "sound").map(TxOutcome::Commit))).unwrap();
    assert_eq!(names(&store), ["sound"]);
}

#[test]
fn steps_that_share_a_commit_are_kept_or_undone_by_themselves() {
    let (_folder, store) = open();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let steps: Vec<_> = (0..96)
        .map(|number| {
            let store = store.clone();
            runtime.spawn(async move {
                store
                    .write(move |connection| {
                        insert(connection, &format!("{:02}-{}", number % 4, number))?;
                        match number % 4 {
                            0 => Ok(TxOutcome::Commit(())),
                            1 => Ok(TxOutcome::Rollback(())),
                            2 => Err(Fault::Refused("on purpose".to_owned())),
                            _ => panic!("on purpose"),
                        }
                    })
                    .await
            })
        })
        .collect();
    for (number, step) in steps.into_iter().enumerate() {
        assert_eq!(runtime.block_on(step).unwrap().is_ok(), number % 4 < 2, "{number}");
    }
    let kept = names(&store);
    assert_eq!(kept.len(), 24);
    assert!(kept.iter().all(|name| name.starts_with("00-")), "{kept:?}");
}

#[test]
fn what_spoils_a_shared_transaction_is_told_as_it_is() {
    use diesel::RunQueryDsl;
    use diesel::result::{DatabaseErrorKind, Error};
    let (_folder, store) = open();
    // What SQLite does by itself when the disk is full while a statement runs.
    let full = wait(store.write::<(), _>(|connection| {
        insert(connection, "lost")?;
        crate::on_each!(connection, inner => diesel::sql_query("ROLLBACK").execute(inner))?;
        let message = Box::new("database or disk is full".to_owned());
        Err(Error::DatabaseError(DatabaseErrorKind::Unknown, message).into())
    }));
    assert_eq!(full, Err(StoreError::Unavailable("database or disk is full".to_owned())));
    wait(store.write(|connection| insert(connection, "sound").map(TxOutcome::Commit))).unwrap();
    assert_eq!(names(&store), ["sound"]);
}

#[test]
fn a_reader_cannot_write() {
    let (_folder, store) = open();
    let written = wait(store.read(|connection| insert(connection, "by a reader")));
    assert!(matches!(written, Err(StoreError::Refused(_))), "{written:?}");
    assert_eq!(names(&store), Vec::<String>::new());
}

#[test]
fn one_commit_of_many_steps_wakes_the_notifier_once() {
    let (_folder, store) = open();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let notify = Arc::default();
    let wake_ups = store.wake(&notify).unwrap();
    let woken = || runtime.block_on(wake_ups.collect_metrics()).unwrap()[1].samples()[0].value;
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let begun = std::sync::Mutex::new(begun);
    let slow = {
        let store = store.clone();
        runtime.spawn(async move {
            store
                .write(move |_| {
                    begun.lock().unwrap().recv().unwrap();
                    Ok(TxOutcome::Commit(()))
                })
                .await
        })
    };
    // While the writer is busy, these come together.
    let outcomes: [fn() -> TxOutcome<()>; 4] = [
        || TxOutcome::Rollback(()),
        || TxOutcome::commit((), Enqueued(true)),
        || TxOutcome::commit((), Enqueued(false)),
        || TxOutcome::Rollback(()),
    ];
    let steps: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| {
            let store = store.clone();
            let step = runtime.spawn(async move { store.write(move |_| Ok(outcome())).await });
            std::thread::sleep(std::time::Duration::from_millis(20));
            step
        })
        .collect();
    begin.send(()).unwrap();
    for step in std::iter::once(slow).chain(steps) {
        assert_eq!(runtime.block_on(step).unwrap(), Ok(()));
    }
    runtime.block_on(async { tokio::time::timeout(SERVICE_DEADLINE, notify.notified()).await }).expect("never woken");
    store.close();
    assert_eq!(woken(), 1);
}
