//! The batch queues of PostgreSQL: each kind of work has a queue and threads of its own from its first task on.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use dropin_ports::StoreError;

use super::batch::{self, Batchable};
use super::queue::Queue;
use super::task::DbTask;
use crate::config::{DatabaseAddress, OpenError};
use crate::threads::spawn;
use crate::wake::WakeSignal;

/// The batch queues of one database.
pub(super) struct BatchQueues {
    address: Arc<DatabaseAddress>,
    /// How long callers wait.
    deadline: Duration,
    wake_signal: Arc<WakeSignal>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// By the type of the work.
    queues: HashMap<TypeId, Arc<dyn AnyQueue>>,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

/// A queue, whatever waits in it.
trait AnyQueue: Any + Send + Sync {
    fn close(&self);
}

impl<J: Send + 'static> AnyQueue for Queue<J> {
    fn close(&self) {
        Queue::close(self);
    }
}

impl BatchQueues {
    pub(super) fn new(address: Arc<DatabaseAddress>, deadline: Duration, wake_signal: Arc<WakeSignal>) -> Self {
        Self { address, deadline, wake_signal, state: RwLock::default() }
    }

    fn state(&self) -> RwLockWriteGuard<'_, State> {
        // A panic leaves nothing half done in it.
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue of a kind of work.
    pub(super) fn of<W: Batchable>(&self) -> Result<Arc<Queue<DbTask<W>>>, StoreError> {
        let found = self.state.read().unwrap_or_else(PoisonError::into_inner).queues.get(&TypeId::of::<W>()).cloned();
        let queue: Arc<dyn Any + Send + Sync> = match found {
            Some(queue) => queue,
            None => self.start::<W>()?,
        };
        queue.downcast().map_err(|_other| StoreError::Refused("a queue of another kind of work".to_owned()))
    }

    /// Starts the threads of a kind of work, or as many as the system lets it; each connects with its first task. The queue that is there when another
    /// caller was faster.
    fn start<W: Batchable>(&self) -> Result<Arc<dyn AnyQueue>, StoreError> {
        let mut state = self.state();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        if let Some(queue) = state.queues.get(&TypeId::of::<W>()) {
            return Ok(queue.clone());
        }
        let queue = Arc::new(Queue::default());
        let before = state.threads.len();
        for _ in 0..W::THREADS {
            match self.spawn::<W>(&queue) {
                Ok(thread) => state.threads.push(thread),
                Err(error) => log::error!("{}: {error}", W::THREAD),
            }
        }
        if state.threads.len() == before {
            return Err(StoreError::Unavailable("no thread could be started".to_owned()));
        }
        state.queues.insert(TypeId::of::<W>(), queue.clone());
        Ok(queue)
    }

    fn spawn<W: Batchable>(&self, queue: &Arc<Queue<DbTask<W>>>) -> Result<JoinHandle<()>, OpenError> {
        let (queue, address, wake_signal) = (queue.clone(), self.address.clone(), self.wake_signal.clone());
        let deadline = self.deadline;
        spawn(W::THREAD, move || batch::serve(&queue, &address, deadline, &wake_signal))
    }

    /// Refuses new tasks; queued tasks still run. Returns the threads, which end when that is done.
    pub(super) fn close(&self) -> Vec<JoinHandle<()>> {
        let mut state = self.state();
        state.closed = true;
        state.queues.values().for_each(|queue| queue.close());
        std::mem::take(&mut state.threads)
    }
}

#[cfg(test)]
mod tests {
    use diesel::PgConnection;

    use super::*;
    use crate::config::SERVICE_DEADLINE;
    use crate::connection::AnyConnection;
    use crate::fault::Fault;
    use crate::threads::join;
    use crate::worker_pool::{Batched, Kind, TxOutcome, Work};

    struct One;
    struct Other;

    macro_rules! work {
        ($work:ty, $kind:ident) => {
            impl Work for $work {
                type Answer = ();

                fn run(&self, _connection: &mut AnyConnection) -> Result<TxOutcome<()>, Fault> {
                    Ok(TxOutcome::Commit(()))
                }
            }

            impl Batchable for $work {
                const KIND: Kind = Kind::$kind;
                const THREAD: &'static str = "test";

                fn run_batched(_connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<()>, Fault> {
                    Ok(Batched::silent(vec![None; all.len()]))
                }
            }
        };
    }

    work!(One, Write);
    work!(Other, Read);

    #[test]
    fn each_kind_of_work_has_threads_of_its_own_from_its_first_task_until_the_end() {
        let address = Arc::new(DatabaseAddress::new("postgres://127.0.0.1:1/none", ""));
        let queues = BatchQueues::new(address, SERVICE_DEADLINE, Arc::default());
        let threads = || queues.state().threads.len();
        assert_eq!(threads(), 0);
        let first = queues.of::<One>().unwrap();
        assert_eq!(threads(), 2);
        assert!(Arc::ptr_eq(&first, &queues.of::<One>().unwrap()));
        // As one does who looked before the first had its queue.
        queues.start::<One>().unwrap();
        assert!(Arc::ptr_eq(&first, &queues.of::<One>().unwrap()));
        assert_eq!(threads(), 2, "one more caller starts none");
        queues.of::<Other>().unwrap();
        assert_eq!(threads(), 3, "a kind that only reads has one");
        join(queues.close());
        assert!(first.take(1).is_none(), "closed");
        struct Third;
        work!(Third, Write);
        let late = queues.of::<Third>();
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "nobody would end its threads");
    }
}
