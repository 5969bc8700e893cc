//! The store: the worker pool of its database, and what its program has found of it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dropin_ports::StoreError;
use dropin_store_runtime::config::{DatabaseAddress, OpenError, Role, Target};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::wake::WakeSubscription;
use dropin_store_runtime::worker_pool::{Batchable, TxOutcome, WorkerPool};
use tokio::sync::Notify;

use crate::start_state::StartState;

/// The store, on either database. Cheap to clone; all clones share one set of threads.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    pool: WorkerPool,
    role: Role,
    write_check: Duration,
    start: Mutex<StartState>,
    /// Microseconds that this machine's clock was ahead of the database's when it was measured last.
    clock_micros_ahead: AtomicI64,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.target() {
            Target::Postgres(_) => "Store(PostgreSQL)",
            Target::Sqlite(_) => "Store(SQLite)",
        })
    }
}

impl Store {
    pub(crate) fn new(pool: WorkerPool, role: Role, write_check: Duration) -> Self {
        let (start, clock_micros_ahead) = Default::default();
        Self(Arc::new(Inner { pool, role, write_check, start, clock_micros_ahead }))
    }

    /// Lets nothing new in, finishes what waits, and ends the threads. Blocks; call it when the services have stopped. Every other clone
    /// answers [`StoreError::Unavailable`] from then on.
    pub fn close(&self) {
        self.0.pool.close();
    }

    /// Runs a step that writes, in a transaction of its own.
    pub(crate) async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
    {
        self.0.pool.write(work).await
    }

    /// Runs a step that only reads.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&mut AnyConnection) -> Result<T, Fault> + Send + 'static,
    {
        self.0.pool.read(work).await
    }

    /// Runs `work` in a batch of its kind on PostgreSQL, and as a single task on SQLite.
    pub(crate) async fn run_batched<W: Batchable>(&self, work: W) -> Result<W::Answer, StoreError> {
        self.0.pool.run_batched(work).await
    }

    /// Where PostgreSQL is, whose user name and password may change while the store is open; `None` on SQLite.
    pub fn address(&self) -> Option<Arc<DatabaseAddress>> {
        self.0.pool.address()
    }

    /// Wakes `notifier` from now on as soon as notifications have been committed: by this process, and on PostgreSQL by any other, for which a
    /// connection of its own listens. Ends when `notifier` is dropped or the store is closed.
    ///
    /// It is only a hint: one may come too often, and none may come at all (a connection pooler that shares connections between transactions
    /// lets nobody listen). Then it comes every tenth of a second until listening works again.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub fn wake(&self, notifier: &Arc<Notify>) -> Result<WakeSubscription, OpenError> {
        self.0.pool.wake(notifier)
    }

    pub(crate) fn target(&self) -> &Target {
        self.0.pool.target()
    }

    pub(crate) fn role(&self) -> Role {
        self.0.role
    }

    /// How long a write that succeeded counts as proof that the next one will.
    pub(crate) fn write_check(&self) -> Duration {
        self.0.write_check
    }

    pub(crate) fn start_state(&self) -> MutexGuard<'_, StartState> {
        // Nothing can panic while it is held.
        self.0.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Microseconds that this machine's clock was ahead of the database's when it was measured last.
    pub(crate) fn clock_micros_ahead(&self) -> i64 {
        self.0.clock_micros_ahead.load(Ordering::Relaxed)
    }

    pub(crate) fn set_clock_micros_ahead(&self, micros: i64) {
        self.0.clock_micros_ahead.store(micros, Ordering::Relaxed);
    }
}
