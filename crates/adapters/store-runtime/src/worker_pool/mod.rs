//! The worker pool: a bounded queue in front of threads that each own one connection (docs/adr/0002).

mod batch;
mod batch_queues;
mod checkpoint;
mod deadline_timer;
mod pool;
mod postgres;
mod queue;
mod sqlite;
mod sqlite_transaction;
mod task;
#[cfg(test)]
mod tests;

pub use batch::{ASYNC_COMMIT, ASYNC_COMMIT_SHORT_WAITS, Batchable, Batched, each_by_itself};
pub use pool::WorkerPool;
pub use task::{Enqueued, Kind, TxOutcome, Work};
