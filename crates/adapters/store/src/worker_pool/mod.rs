//! The worker pool: a bounded queue in front of threads that each own one connection (docs/adr/0002).

mod batch;
mod checkpoint;
mod deadline_timer;
mod postgres;
mod queue;
mod sqlite;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use batch::{ASYNC_COMMIT, ASYNC_COMMIT_SHORT_WAITS, Batchable, serve as serve_batches};
pub(crate) use checkpoint::{LogWriter, serve as serve_sqlite_checkpoints};
pub(crate) use deadline_timer::DeadlineTimer;
pub(crate) use postgres::serve as serve_postgres;
pub(crate) use queue::Queue;
pub(crate) use sqlite::{serve_reads as serve_sqlite_reads, serve_writes as serve_sqlite_writes};
pub(crate) use task::{DbTask, Job, Kind, TxOutcome, Work, run, run_queued};
