//! The worker pool of one database: its queues, its threads, and what callers run in them.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dropin_ports::StoreError;
use tokio::sync::Notify;

use super::batch::Batchable;
use super::batch_queues::BatchQueues;
use super::checkpoint::{self, WalWriter};
use super::deadline_timer::DeadlineTimer;
use super::queue::Queue;
use super::task::{self, Job, Kind, TxOutcome};
use super::{postgres, sqlite};
use crate::config::{DatabaseAddress, OpenError, Target};
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::threads::{join, spawn};
use crate::wake::{self, WakeSignal, WakeSubscription};

/// Reading threads beside SQLite's one writer.
const SQLITE_READERS: usize = 2;

/// The threads of one database, and the queues in front of them.
pub struct WorkerPool {
    target: Target,
    writes: Arc<Queue<Box<dyn Job>>>,
    reads: Arc<Queue<Box<dyn Job>>>,
    /// `None` on SQLite, whose one writer commits together whatever waits.
    batch_queues: Option<BatchQueues>,
    deadline_timer: Arc<DeadlineTimer>,
    /// Sent when notifications were committed.
    wake_signal: Arc<WakeSignal>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    workers: Vec<JoinHandle<()>>,
    /// The threads of the wake signal. They end after the workers, which send it.
    wake_threads: Vec<JoinHandle<()>>,
    deadline_timer: Option<JoinHandle<()>>,
}

impl WorkerPool {
    /// Starts the threads, for callers who wait for `deadline`; none connects before its first task. PostgreSQL gets `connections` beside those of the batch
    /// queues. SQLite's writer holds `lock` until its last write is done.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub fn start(target: Target, connections: u16, deadline: Duration, lock: Option<File>) -> Result<Self, OpenError> {
        let (writes, wake_signal): (Arc<Queue<_>>, Arc<WakeSignal>) = Default::default();
        let (reads, batch_queues) = match &target {
            Target::Postgres(address) => {
                (writes.clone(), Some(BatchQueues::new(address.clone(), deadline, wake_signal.clone())))
            }
            Target::Sqlite(_) => (Arc::default(), None),
        };
        let deadline_timer = Arc::new(DeadlineTimer::new(deadline));
        let threads = Mutex::default();
        // From here on a failure drops the pool, which ends the threads that already run.
        let pool = Self { target, writes, reads, batch_queues, deadline_timer, wake_signal, threads };
        pool.start_threads(connections.max(1), deadline, lock)?;
        Ok(pool)
    }

    fn start_threads(&self, connections: u16, deadline: Duration, lock: Option<File>) -> Result<(), OpenError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline_timer = self.deadline_timer.clone();
        threads.deadline_timer = Some(spawn("store-time", move || deadline_timer.serve())?);
        match &self.target {
            Target::Postgres(address) => {
                for _ in 0..connections {
                    let (queue, address, wake_signal) =
                        (self.writes.clone(), address.clone(), self.wake_signal.clone());
                    let serve = move || postgres::serve(&queue, &address, deadline, &wake_signal);
                    threads.workers.push(spawn("store-pg", serve)?);
                }
                let (address, wake_signal) = (address.clone(), self.wake_signal.clone());
                threads.wake_threads.push(spawn("store-notify", move || wake::serve_notify(&wake_signal, &address))?);
            }
            Target::Sqlite(path) => {
                let (queue, file, wake_signal) = (self.writes.clone(), path.clone(), self.wake_signal.clone());
                let wal = WalWriter(Arc::default());
                let (activity, wal_of) = (wal.0.clone(), path.clone());
                let copy = move || checkpoint::serve(&activity, &wal_of, deadline);
                threads.workers.push(spawn("store-wal", copy)?);
                threads.workers.push(spawn("store-write", move || {
                    sqlite::serve_writes(&queue, &file, deadline, &wake_signal, &wal);
                    // Held until the last write is done.
                    drop(lock);
                })?);
                for _ in 0..SQLITE_READERS {
                    let (queue, file) = (self.reads.clone(), path.clone());
                    let serve = move || sqlite::serve_reads(&queue, &file, deadline);
                    threads.workers.push(spawn("store-read", serve)?);
                }
            }
        }
        Ok(())
    }

    /// Runs a step that writes, in a transaction of its own.
    ///
    /// # Errors
    /// [`StoreError`], as docs/adr/0002 lists them.
    pub async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
    {
        task::run(&self.writes, &self.deadline_timer, Kind::Write, work).await
    }

    /// Runs a step that only reads.
    ///
    /// # Errors
    /// [`StoreError`], as docs/adr/0002 lists them.
    pub async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<T, Fault> + Send + 'static,
    {
        let keep = move |connection: &mut AnyConnection| work(connection).map(TxOutcome::Commit);
        task::run(&self.reads, &self.deadline_timer, Kind::Read, keep).await
    }

    /// Runs `work` in a batch of its kind on PostgreSQL, and as a single task on SQLite.
    ///
    /// # Errors
    /// [`StoreError`], as docs/adr/0002 lists them.
    pub async fn run_batched<W: Batchable>(&self, work: W) -> Result<W::Answer, StoreError> {
        match &self.batch_queues {
            Some(batch_queues) => {
                let queue = batch_queues.of::<W>()?;
                task::run_queued(&queue, &self.deadline_timer, W::KIND, work).await
            }
            None => {
                let queue = match W::KIND {
                    Kind::Read => &self.reads,
                    Kind::Write => &self.writes,
                };
                let alone = move |connection: &mut AnyConnection| work.run(connection);
                task::run(queue, &self.deadline_timer, W::KIND, alone).await
            }
        }
    }

    /// Wakes `notifier` from now on as soon as notifications have been committed: by this process, and on PostgreSQL by any other, for which a
    /// connection of its own listens. Ends when `notifier` is dropped or the pool is closed.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub fn wake(&self, notifier: &Arc<Notify>) -> Result<WakeSubscription, OpenError> {
        let (subscription, thread) = wake::subscribe(&self.wake_signal, notifier, self.address())?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).wake_threads.extend(thread);
        Ok(subscription)
    }

    /// Which database it is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Where PostgreSQL is; `None` on SQLite.
    pub fn address(&self) -> Option<Arc<DatabaseAddress>> {
        match &self.target {
            Target::Postgres(address) => Some(address.clone()),
            Target::Sqlite(_) => None,
        }
    }

    /// Lets nothing new in, finishes what waits, and ends the threads. Blocks.
    pub fn close(&self) {
        let batch_threads = self.let_nothing_in();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        join(threads.workers.into_iter().chain(batch_threads));
        self.wake_signal.close();
        join(threads.wake_threads);
        self.deadline_timer.close();
        join(threads.deadline_timer);
    }

    /// Returns the threads of the batch queues.
    fn let_nothing_in(&self) -> Vec<JoinHandle<()>> {
        self.writes.close();
        self.reads.close();
        self.batch_queues.as_ref().map(BatchQueues::close).unwrap_or_default()
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // Not joined: the last owner may drop it anywhere.
        self.let_nothing_in();
        self.wake_signal.close();
        self.deadline_timer.close();
    }
}
