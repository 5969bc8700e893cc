//! The worker pool: a bounded queue in front of threads that each own one connection (docs/adr/0002).

mod batch;
mod checkpoint;
mod deadline_timer;
mod postgres;
mod queue;
mod sqlite;
mod sqlite_transaction;
mod task;
#[cfg(test)]
mod tests;

pub use batch::{ASYNC_COMMIT, ASYNC_COMMIT_SHORT_WAITS, Batchable, serve as serve_batches};
pub use checkpoint::{WalActivity, WalWriter, serve as serve_sqlite_checkpoints};
pub use deadline_timer::DeadlineTimer;
pub use postgres::serve as serve_postgres;
pub use queue::Queue;
pub use sqlite::{serve_reads as serve_sqlite_reads, serve_writes as serve_sqlite_writes};
pub use task::{DbTask, Job, Kind, TxOutcome, Work, run, run_queued};

use std::thread::{self, JoinHandle};

use crate::config::OpenError;

/// Starts a thread of the store.
///
/// # Errors
/// [`OpenError::Thread`].
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(OpenError::Thread)
}
