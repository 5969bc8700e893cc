//! Batches: one PostgreSQL statement, or a few in one transaction, do the queued work of one kind for many callers.
//!
//! All tasks of a batch share the cost of a round trip, of starting a plan and of a COMMIT. A task waits for a larger batch only while another
//! batch runs, and then for a few milliseconds. What the statement leaves out, and everything when it fails, runs alone in
//! a transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use diesel::PgConnection;

use super::postgres::Worker;
use super::queue::Queue;
use super::task::{DbTask, Enqueued, Job, Kind, Work};
use crate::config::DatabaseAddress;
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::wake::WakeSignal;

/// Most tasks of one batch. More would delay the first ones for little gain.
const MAX_BATCH_TASKS: usize = 32;

/// One plan for all calls, row by row and by index: these statements find everything by key, and a plan made while a table was small must
/// not outlive that.
macro_rules! by_key {
    () => {
        "; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"
    };
}

/// The same with asynchronous commit: what was committed just before a crash of the server may be lost.
pub const ASYNC_COMMIT: &str = concat!(by_key!(), "; SET synchronous_commit = off");
/// [`ASYNC_COMMIT`] with a lock timeout of 300 ms, for callers that wait only a moment: a locked row holds the batch up no longer.
pub const ASYNC_COMMIT_SHORT_WAITS: &str = concat!(by_key!(), "; SET synchronous_commit = off; SET lock_timeout = 300");

/// What one statement did for many callers.
#[derive(Debug)]
pub struct Batched<A> {
    /// The result of each, in their order; `None` for a task that has to run alone.
    pub answers: Vec<Option<A>>,
    /// Whether it enqueued notifications.
    pub enqueued: Enqueued,
}

impl<A> Batched<A> {
    /// Done without notifications.
    pub const fn silent(answers: Vec<Option<A>>) -> Self {
        Self { answers, enqueued: Enqueued(false) }
    }
}

/// Work that one statement can do for many callers. Alone ([`Work::run`]) it must give the right result even after it was done already by a
/// statement whose answer got lost.
pub trait Batchable: Work + Sized {
    /// Whether it may change something.
    const KIND: Kind;
    /// Threads, and so connections to PostgreSQL. A write may wait for a locked row until the deadline of the statement: a second thread serves the others
    /// meanwhile. A read waits for no lock, and one thread makes larger batches.
    const THREADS: usize = match Self::KIND {
        Kind::Write => 2,
        Kind::Read => 1,
    };
    /// What its threads are called; the system shows 15 bytes.
    const THREAD: &'static str;
    /// Settings of its connections, beside those of all connections.
    const SETTINGS: &'static str = by_key!();

    /// Runs one statement, or one transaction, for all.
    ///
    /// # Errors
    /// Nothing was changed, unless the connection is lost.
    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Self::Answer>, Fault>;
}

/// Does all of it with a statement each, every one its own transaction, without notifications. Those behind one that failed are left to be done alone.
///
/// # Errors
/// Nothing was changed, unless the connection is lost.
pub fn each_by_itself<W, T>(
    connection: &mut PgConnection,
    all: &[&W],
    run: impl Fn(&W, &mut PgConnection) -> Result<T, Fault>,
) -> Result<Batched<T>, Fault> {
    let mut answers = Vec::with_capacity(all.len());
    for one in all {
        match run(one, connection) {
            Ok(answer) => answers.push(Some(answer)),
            // Nothing of any was changed.
            Err(fault) if answers.is_empty() => return Err(fault),
            Err(_told_alone) => break,
        }
    }
    answers.resize_with(all.len(), || None);
    Ok(Batched::silent(answers))
}

/// Serves the queue until it is closed and empty.
pub(super) fn serve<W: Batchable>(
    queue: &Queue<DbTask<W>>,
    address: &DatabaseAddress,
    deadline: Duration,
    wake_signal: &WakeSignal,
) {
    let mut worker = Worker::new(address, deadline, W::SETTINGS, wake_signal);
    while let Some(mut batch) = queue.take_batch(MAX_BATCH_TASKS) {
        let steps = std::mem::take(&mut batch.jobs);
        for step in run_batch(&mut worker, steps) {
            worker.execute(Box::new(step));
        }
    }
}

/// Runs one statement for the tasks and answers their callers. Returns the tasks that the statement left out.
fn run_batch<W: Batchable>(worker: &mut Worker<'_>, steps: Vec<DbTask<W>>) -> Vec<DbTask<W>> {
    // Before they start: a call whose deadline passes while there is no connection ends with "nothing was done".
    if let Err(error) = worker.connect() {
        steps.into_iter().for_each(|step| Box::new(step).refuse(error.clone()));
        return Vec::new();
    }
    let mut steps: Vec<_> = steps.into_iter().filter(DbTask::start).collect();
    if steps.is_empty() {
        return steps;
    }
    let Some(AnyConnection::Postgres(connection)) = &mut worker.connection else { return steps };
    let all: Vec<_> = steps.iter().map(|step| &step.work).collect();
    match catch_unwind(AssertUnwindSafe(|| W::run_batched(connection, &all))) {
        Ok(Ok(Batched { answers, enqueued: Enqueued(enqueued) })) => {
            let mut alone = Vec::new();
            for (step, answer) in steps.into_iter().zip(answers) {
                match answer {
                    Some(answer) => step.answer_with(answer),
                    None => alone.push(step),
                }
            }
            if enqueued {
                worker.wake_signal.send();
            }
            alone
        }
        Ok(Err(fault)) => {
            if fault.is_lost_connection() {
                worker.connection = None;
            }
            // A standby surely wrote nothing.
            let in_doubt = fault.is_lost_connection() && !fault.is_standby();
            if in_doubt {
                steps.iter_mut().for_each(DbTask::doubt);
            }
            let writes = steps.iter().any(|step| step.kind() == Kind::Write);
            log_failure(fault, steps.len(), in_doubt && writes);
            steps
        }
        // Each task runs alone, so that only the one that panics fails.
        Err(_panic) => {
            worker.connection = None;
            steps.iter_mut().for_each(DbTask::doubt);
            steps
        }
    }
}

/// Logs why a batch failed, and what comes next. A constraint violation may come from one of the requests; that
/// caller gets its error when its task runs alone.
fn log_failure(fault: Fault, steps: usize, in_doubt: bool) {
    let level = if fault.is_judged() || fault.is_retryable() { log::Level::Info } else { log::Level::Warn };
    let next = if in_doubt { "looking what became of each" } else { "nothing of it was kept, each is done alone" };
    log::log!(level, "a shared statement of {steps} steps failed; {next}: {}", fault.classify());
}
