//! The workers for SQLite: one thread writes and commits all queued tasks in one transaction, other threads read.

use std::time::Duration;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::{QueryResult, SqliteConnection};
use dropin_ports::StoreError;

use super::checkpoint::WalWriter;
use super::queue::Queue;
use super::sqlite_transaction;
use super::task::{Job, RunOutcome};
use crate::connection::{self, AnyConnection};
use crate::fault::Fault;
use crate::wake::WakeSignal;

type Transactions = <AnyConnection as diesel::Connection>::TransactionManager;

/// Most steps that share one COMMIT, and so one wait for the disk.
const MAX_BATCH_TASKS: usize = 32;

/// Writes for the queue until it is closed and empty.
pub(super) fn serve_writes(
    queue: &Queue<Box<dyn Job>>,
    path: &str,
    deadline: Duration,
    wake_signal: &WakeSignal,
    wal: &WalWriter,
) {
    let mut connection = None;
    while let Some(jobs) = queue.take(MAX_BATCH_TASKS) {
        match opened(&mut connection, path, true, deadline) {
            Ok(open) => {
                if !commit_batch(open, jobs, wake_signal) {
                    connection = None;
                }
                wal.commit();
            }
            Err(error) => refuse_all(jobs, &error),
        }
    }
}

/// Reads for the queue until it is closed and empty.
pub(super) fn serve_reads(queue: &Queue<Box<dyn Job>>, path: &str, deadline: Duration) {
    let mut connection = None;
    while let Some(jobs) = queue.take(1) {
        for job in jobs {
            match opened(&mut connection, path, false, deadline) {
                Ok(open) => {
                    if !read(open, job) {
                        connection = None;
                    }
                }
                Err(error) => job.refuse(error),
            }
        }
    }
}

fn opened<'a>(
    connection: &'a mut Option<AnyConnection>,
    path: &str,
    writable: bool,
    deadline: Duration,
) -> Result<&'a mut AnyConnection, StoreError> {
    if connection.is_none() {
        let opened = connection::sqlite(path, writable, deadline).map_err(|why| {
            log::warn!("cannot open the SQLite database: {why}");
            StoreError::Unavailable("cannot open the database".to_owned())
        })?;
        *connection = Some(AnyConnection::Sqlite(opened));
    }
    connection.as_mut().ok_or_else(|| StoreError::Unavailable("cannot open the database".to_owned()))
}

fn refuse_all(jobs: Vec<Box<dyn Job>>, error: &StoreError) {
    for job in jobs {
        job.refuse(error.clone());
    }
}

/// One transaction for all of `jobs`, each in its savepoint, answered after COMMIT. Returns whether the connection is still good.
fn commit_batch(connection: &mut AnyConnection, jobs: Vec<Box<dyn Job>>, wake_signal: &WakeSignal) -> bool {
    if let Err(error) = begin_immediate(connection) {
        refuse_all(jobs, &Fault::from(error).into_store_error());
        return false;
    }
    let mut done = Vec::with_capacity(jobs.len());
    let mut failed = Vec::new();
    let mut enqueued = false;
    let mut jobs = jobs.into_iter();
    while let Some(mut job) = jobs.next() {
        if !job.start() {
            continue;
        }
        match in_savepoint(connection, job.as_mut()) {
            Ok(RunOutcome::Commit(of_job)) => {
                enqueued |= of_job.0;
                done.push(job);
            }
            Ok(RunOutcome::Rollback) => done.push(job),
            Ok(RunOutcome::Failed(fault)) => failed.push((job, fault)),
            Err(fault) => {
                // The transaction itself is gone (disk full, I/O error): nothing of this batch is stored.
                let _gone = Transactions::rollback_transaction(connection);
                let error = fault.into_store_error();
                done.push(job);
                done.extend(failed.into_iter().map(|(job, _fault)| job));
                done.extend(jobs);
                refuse_all(done, &error);
                return false;
            }
        }
    }
    let committed = Transactions::commit_transaction(connection);
    for (job, fault) in failed {
        job.refuse(fault.into_store_error());
    }
    match committed {
        Ok(()) => {
            done.into_iter().for_each(|job| job.answer());
            if enqueued {
                wake_signal.send();
            }
            true
        }
        Err(error) => {
            log::error!("SQLite did not confirm a COMMIT: {error}");
            refuse_all(done, &StoreError::OutcomeUnknown);
            false
        }
    }
}

fn begin_immediate(connection: &mut AnyConnection) -> QueryResult<()> {
    on_sqlite(connection, |connection| AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE"))
}

/// Runs a job so that its failure leaves the others alone. An error means that the whole transaction is spoilt.
fn in_savepoint(connection: &mut AnyConnection, job: &mut dyn Job) -> Result<RunOutcome, Fault> {
    on_sqlite(connection, sqlite_transaction::savepoint)?;
    let ran = job.run(connection);
    let undone =
        if matches!(ran, RunOutcome::Commit(_)) { Ok(()) } else { on_sqlite(connection, sqlite_transaction::undo) };
    match (undone.and_then(|()| on_sqlite(connection, sqlite_transaction::release)), ran) {
        (Ok(()), ran) => Ok(ran),
        // What spoilt the transaction took the savepoint along; that it is missing says nothing.
        (Err(_missing), RunOutcome::Failed(fault)) => Err(fault),
        (Err(error), _) => Err(error.into()),
    }
}

fn on_sqlite(
    connection: &mut AnyConnection,
    run: impl FnOnce(&mut SqliteConnection) -> QueryResult<()>,
) -> QueryResult<()> {
    match connection {
        AnyConnection::Sqlite(connection) => run(connection),
        AnyConnection::Postgres(_) => Err(diesel::result::Error::BrokenTransactionManager),
    }
}

/// Runs a read in one snapshot. Returns whether the connection is still good.
fn read(connection: &mut AnyConnection, mut job: Box<dyn Job>) -> bool {
    if let Err(error) = on_sqlite(connection, sqlite_transaction::begin_read) {
        job.refuse(Fault::from(error).into_store_error());
        return false;
    }
    let ran = job.start().then(|| job.run(connection));
    let sound = on_sqlite(connection, sqlite_transaction::end_read).is_ok();
    match ran {
        Some(RunOutcome::Commit(_) | RunOutcome::Rollback) => job.answer(),
        Some(RunOutcome::Failed(fault)) => job.refuse(fault.into_store_error()),
        None => {}
    }
    sound
}
