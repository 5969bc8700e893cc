//! The kinds of work that run in batches. On PostgreSQL each kind has a queue and worker threads of its own, whose statements serve all
//! queued callers; on SQLite the work is a task like any other.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use dropin_ports::StoreError;
use dropin_store_runtime::config::{DatabaseAddress, OpenError, Target};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::wake::WakeSignal;
use dropin_store_runtime::worker_pool::{self, Batchable, DbTask, Kind, Queue, spawn};

use crate::outbox::{Claiming, Finishing};
use crate::payment::{Changing, Preparation, Settling};
use crate::screening::Counting;
use crate::session::{Creation, Replacement, Search};
use crate::stash::{Peek, Put};
use crate::store::Store;

/// Work that has a batch queue.
pub(crate) trait BatchWork: Batchable {
    /// Whether it may change something.
    const KIND: Kind;
    /// Threads, and so connections to PostgreSQL. A read waits for no lock, and one thread makes larger batches. A write may wait for a locked row until the
    /// deadline of the statement: a second thread serves the others meanwhile.
    const THREADS: usize;
    /// What its threads are called.
    const THREAD: &'static str;

    /// Its queue.
    fn queue(batch_queues: &BatchQueues) -> &Arc<Queue<DbTask<Self>>>;
}

/// Declares the batch queues: name, kind of work, read or write, how many threads, and their name.
macro_rules! batch_queues {
    ($($queue:ident: $work:ty, $kind:ident, $threads:literal, $thread:literal;)*) => {
        /// The batch queues.
        #[derive(Default)]
        pub(crate) struct BatchQueues { $($queue: Arc<Queue<DbTask<$work>>>,)* }

        $(impl BatchWork for $work {
            const KIND: Kind = Kind::$kind;
            const THREADS: usize = $threads;
            const THREAD: &'static str = $thread;

            fn queue(batch_queues: &BatchQueues) -> &Arc<Queue<DbTask<Self>>> {
                &batch_queues.$queue
            }
        })*

        impl BatchQueues {
            /// Starts the threads of all batch queues. Each thread connects with its first task.
            pub(crate) fn start(
                &self,
                address: &Arc<DatabaseAddress>,
                deadline: Duration,
                wake_signal: &Arc<WakeSignal>,
                threads: &mut Vec<JoinHandle<()>>,
            ) -> Result<(), OpenError> {
                $(for _ in 0..<$work as BatchWork>::THREADS {
                    let (queue, address, wake_signal) = (self.$queue.clone(), address.clone(), wake_signal.clone());
                    let serve = move || worker_pool::serve_batches(&queue, &address, deadline, &wake_signal);
                    threads.push(spawn(<$work as BatchWork>::THREAD, serve)?);
                })*
                Ok(())
            }

            /// Refuses new tasks; queued tasks still run.
            pub(crate) fn close(&self) {
                $(self.$queue.close();)*
            }
        }
    };
}

batch_queues! {
    creations: Creation, Write, 2, "dropin-store-new";
    replacements: Replacement, Write, 2, "dropin-store-rep";
    searches: Search, Read, 1, "dropin-store-get";
    peeks: Peek, Read, 1, "dropin-store-see";
    preparations: Preparation, Write, 2, "dropin-store-pre";
    settlements: Settling, Write, 2, "dropin-store-set";
    changes: Changing, Write, 2, "dropin-store-chg";
    puts: Put, Write, 2, "dropin-store-put";
    // Two would count for one merchant at once, and one of them in vain. A payment waits for a count for a moment and no longer.
    counts: Counting, Write, 1, "dropin-store-cnt";
    claims: Claiming, Write, 2, "dropin-store-due";
    finishes: Finishing, Write, 2, "dropin-store-fin";
}

impl Store {
    /// Runs `work` in a batch on PostgreSQL, and as a single task on SQLite.
    pub(crate) async fn run_batched<W: BatchWork>(&self, work: W) -> Result<W::Answer, StoreError> {
        match self.target() {
            Target::Postgres(_) => {
                worker_pool::run_queued(W::queue(self.batch_queues()), self.deadline_timer(), W::KIND, work).await
            }
            Target::Sqlite(_) => {
                let alone = move |connection: &mut AnyConnection| work.run(connection);
                worker_pool::run(self.queue_of(W::KIND), self.deadline_timer(), W::KIND, alone).await
            }
        }
    }
}
