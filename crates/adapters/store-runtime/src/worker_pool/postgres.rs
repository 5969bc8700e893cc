//! The workers for PostgreSQL: each thread owns a connection, each write is a transaction of its own.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;
use std::time::Duration;

use diesel::connection::TransactionManager;
use dropin_ports::StoreError;

use super::queue::Queue;
use super::task::{Enqueued, Job, Kind, RunOutcome};
use crate::config::DatabaseAddress;
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::wake::WakeSignal;

type Transactions = <AnyConnection as diesel::Connection>::TransactionManager;

/// How often a step is run at most when the database asks to run it again (40001, 40P01).
const MAX_RUNS: u32 = 5;
/// The longest pause before the second run; doubles with each further one.
const MAX_FIRST_PAUSE: Duration = Duration::from_millis(4);

/// Serves the queue until it is closed and empty.
pub(super) fn serve(
    queue: &Queue<Box<dyn Job>>,
    address: &DatabaseAddress,
    deadline: Duration,
    wake_signal: &WakeSignal,
) {
    let mut worker = Worker::new(address, deadline, "", wake_signal);
    while let Some(jobs) = queue.take(1) {
        for job in jobs {
            worker.execute(job);
        }
    }
}

/// One thread's connection to PostgreSQL.
pub(super) struct Worker<'a> {
    address: &'a DatabaseAddress,
    /// How long callers wait.
    deadline: Duration,
    /// Settings of a new connection, beside those of all connections.
    settings: &'static str,
    /// Sent when notifications were committed.
    pub(super) wake_signal: &'a WakeSignal,
    /// `None` before the first job and after it broke.
    pub(super) connection: Option<AnyConnection>,
    /// Whether the server could not be reached the last time; said once, not with every job.
    away: bool,
}

/// What became of one run.
enum End {
    Answer(Enqueued),
    Refuse(StoreError),
    /// Run it again from the start, after a pause that grows.
    Retry(Fault),
    /// The connection was dead before anything was done on it; a new one may do.
    Stale(Fault),
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        address: &'a DatabaseAddress,
        deadline: Duration,
        settings: &'static str,
        wake_signal: &'a WakeSignal,
    ) -> Self {
        Self { address, deadline, settings, wake_signal, connection: None, away: false }
    }

    pub(super) fn execute(&mut self, mut job: Box<dyn Job>) {
        let mut runs = 1;
        let mut reconnects = 0;
        loop {
            if let Err(error) = self.connect() {
                return job.refuse(error);
            }
            match self.attempt(job.as_mut()) {
                None => return,
                Some(End::Answer(Enqueued(enqueued))) => {
                    job.answer();
                    // After the caller has its result.
                    if enqueued {
                        self.wake_signal.send();
                    }
                    return;
                }
                Some(End::Refuse(error)) => return job.refuse(error),
                Some(End::Retry(_)) if runs < MAX_RUNS && job.is_wanted() => {
                    thread::sleep(pause(runs));
                    runs += 1;
                }
                Some(End::Stale(_)) if reconnects == 0 => reconnects = 1,
                Some(End::Retry(fault) | End::Stale(fault)) => return job.refuse(fault.into_store_error()),
            }
        }
    }

    pub(super) fn connect(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() {
            match self.address.connect(self.deadline, self.settings) {
                Ok(connection) => self.connection = Some(AnyConnection::Postgres(connection)),
                Err(why) => {
                    if !std::mem::replace(&mut self.away, true) {
                        let why: Vec<_> = why.split_whitespace().collect();
                        log::warn!("cannot connect to PostgreSQL, trying again with each step: {}", why.join(" "));
                    }
                    return Err(StoreError::Unavailable("cannot connect".to_owned()));
                }
            }
            self.away = false;
        }
        Ok(())
    }

    /// Runs the task once; `None` when its caller did not wait any more.
    fn attempt(&mut self, job: &mut dyn Job) -> Option<End> {
        let connection = self.connection.as_mut()?;
        let (end, sound) = match job.kind() {
            Kind::Read => read(connection, job)?,
            Kind::Write => write(connection, job)?,
        };
        if !sound {
            self.connection = None;
        }
        Some(end)
    }
}

/// Runs a read by itself: each of its statements sees one state of the database. Tells also whether the connection is still good.
fn read(connection: &mut AnyConnection, job: &mut dyn Job) -> Option<(End, bool)> {
    if !job.start() {
        return None;
    }
    Some(match job.run(connection) {
        RunOutcome::Commit(_) | RunOutcome::Rollback => (End::Answer(Enqueued(false)), true),
        // Reading twice harms nobody.
        RunOutcome::Failed(fault) if fault.is_lost_connection() => (End::Stale(fault), false),
        RunOutcome::Failed(fault) if fault.is_retryable() => (End::Retry(fault), true),
        RunOutcome::Failed(fault) => (End::Refuse(fault.into_store_error()), true),
    })
}

/// Runs a write in its transaction. Tells also whether the connection is still good.
fn write(connection: &mut AnyConnection, job: &mut dyn Job) -> Option<(End, bool)> {
    if let Err(error) = Transactions::begin_transaction(connection) {
        return Some((End::Stale(error.into()), false));
    }
    if !job.start() {
        // The caller does not wait any more. An empty transaction that cannot be ended is found by the next BEGIN.
        let _empty = Transactions::rollback_transaction(connection);
        return None;
    }
    Some(match job.run(connection) {
        RunOutcome::Commit(enqueued) => match Transactions::commit_transaction(connection) {
            Ok(()) => (End::Answer(enqueued), true),
            Err(error) => commit_failed(Fault::from(error)),
        },
        RunOutcome::Rollback => (End::Answer(Enqueued(false)), Transactions::rollback_transaction(connection).is_ok()),
        RunOutcome::Failed(fault) => {
            let sound = Transactions::rollback_transaction(connection).is_ok() && !fault.is_lost_connection();
            let end = if fault.is_retryable() { End::Retry(fault) } else { End::Refuse(fault.into_store_error()) };
            (end, sound)
        }
    })
}

/// Only what the server judged is surely undone; after everything else the step may have been committed.
fn commit_failed(fault: Fault) -> (End, bool) {
    if fault.is_retryable() {
        (End::Retry(fault), true)
    } else if fault.is_judged() {
        (End::Refuse(fault.into_store_error()), true)
    } else {
        log::warn!("the connection was lost during COMMIT; whoever asked has to look what became of it");
        (End::Refuse(StoreError::OutcomeUnknown), false)
    }
}

/// A random pause, so that those who collided do not collide again.
fn pause(runs: u32) -> Duration {
    let longest = MAX_FIRST_PAUSE * 2_u32.pow(runs.min(8));
    let random = RandomState::new().build_hasher().finish();
    longest.mul_f64((random % 1_000) as f64 / 1_000.0)
}
