//! What a defect of ours inside a step does to everybody else.

use std::sync::Arc;

use dropin_ports::StoreError;
use tempfile::TempDir;

use super::{
    DeadlineTimer, Job, Kind, Queue, TxOutcome, WalWriter, run, serve_sqlite_reads, serve_sqlite_writes, spawn,
};
use crate::config::SERVICE_DEADLINE;
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::wake::WakeSignal;

/// A writer and a reader for a database with one table, `task`. Their threads end when it is dropped.
struct Pool {
    writes: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<Queue<Box<dyn Job>>>,
    deadline_timer: DeadlineTimer,
}

impl Pool {
    async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
    {
        run(&self.writes, &self.deadline_timer, Kind::Write, work).await
    }

    async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<T, Fault> + Send + 'static,
    {
        let work = move |connection: &mut AnyConnection| work(connection).map(TxOutcome::Commit);
        run(&self.reads, &self.deadline_timer, Kind::Read, work).await
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.writes.close();
        self.reads.close();
    }
}

fn open() -> (TempDir, Arc<Pool>) {
    use diesel::RunQueryDsl;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db").display().to_string();
    let pool = Arc::new(Pool {
        writes: Arc::default(),
        reads: Arc::default(),
        deadline_timer: DeadlineTimer::new(SERVICE_DEADLINE),
    });
    let (queue, file) = (pool.writes.clone(), path.clone());
    let wal = WalWriter(Arc::default());
    spawn("write", move || serve_sqlite_writes(&queue, &file, SERVICE_DEADLINE, &WakeSignal::default(), &wal)).unwrap();
    let queue = pool.reads.clone();
    spawn("read", move || serve_sqlite_reads(&queue, &path, SERVICE_DEADLINE)).unwrap();
    wait(pool.write(|connection| {
        let sql = "CREATE TABLE task (name TEXT NOT NULL)";
        crate::on_each!(connection, inner => diesel::sql_query(sql).execute(inner))?;
        Ok(TxOutcome::Commit(()))
    }))
    .unwrap();
    (folder, pool)
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

fn names(store: &Pool) -> Vec<String> {
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
