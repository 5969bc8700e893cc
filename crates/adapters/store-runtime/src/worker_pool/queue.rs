//! The bounded queue of the worker pool.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most steps that wait. A longer queue would only hold callers whose deadline passes before their turn.
const MAX_QUEUED_TASKS: usize = 1_024;

/// With this many queued tasks a second batch starts while the first one runs.
const SECOND_BATCH_TASKS: usize = 16;

/// How long fewer tasks wait while a batch runs: a statement costs the database as much as three or four more tasks in it.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(5);

/// Tasks that wait for a worker thread.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    filled: Condvar,
}

struct State<J> {
    jobs: VecDeque<J>,
    closed: bool,
    /// Batches that are running.
    running_batches: usize,
}

/// Tasks that run in one statement; the queue counts the batch as running until this is dropped.
pub(super) struct Batch<'a, J> {
    pub(super) jobs: Vec<J>,
    queue: &'a Queue<J>,
}

impl<J> Drop for Batch<'_, J> {
    fn drop(&mut self) {
        self.queue.state().running_batches -= 1;
        // A worker that waits for a larger batch may start now.
        self.queue.filled.notify_one();
    }
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State { jobs: VecDeque::new(), closed: false, running_batches: 0 }),
            filled: Condvar::new(),
        }
    }
}

impl<J> Queue<J> {
    fn state(&self) -> MutexGuard<'_, State<J>> {
        // Nothing in here can panic while it holds the lock; a poisoned one would be as good as new.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, or says why not.
    pub(super) fn push(&self, job: J) -> Result<(), &'static str> {
        let mut state = self.state();
        if state.closed {
            return Err("the store is closed");
        }
        if MAX_QUEUED_TASKS <= state.jobs.len() {
            return Err("too many steps are waiting");
        }
        state.jobs.push_back(job);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for work and takes what is there, at most `most`; `None` once the queue is closed and empty.
    pub(super) fn take(&self, most: usize) -> Option<Vec<J>> {
        let mut state = self.state();
        while state.jobs.is_empty() {
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let taken = most.min(state.jobs.len());
        Some(state.jobs.drain(..taken).collect())
    }

    /// Waits for work and takes what is there, at most `most`: at once when nothing is being done, and otherwise when enough have come or the
    /// first has waited long enough. `None` once the queue is closed and empty.
    pub(super) fn take_batch(&self, most: usize) -> Option<Batch<'_, J>> {
        let mut state = self.state();
        let mut since = None;
        loop {
            if state.jobs.is_empty() {
                if state.closed {
                    return None;
                }
                since = None;
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if state.running_batches == 0
                || state.closed
                || SECOND_BATCH_TASKS <= state.jobs.len()
                || MAX_BATCH_WAIT <= waited
            {
                break;
            }
            let (woken, _) =
                self.filled.wait_timeout(state, MAX_BATCH_WAIT - waited).unwrap_or_else(PoisonError::into_inner);
            state = woken;
        }
        state.running_batches += 1;
        let taken = most.min(state.jobs.len());
        Some(Batch { jobs: state.jobs.drain(..taken).collect(), queue: self })
    }

    /// Refuses new tasks; queued tasks still run.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_waits_for_more_only_while_another_runs_and_not_for_long() {
        let queue = Queue::default();
        queue.push(1).unwrap();
        let first = queue.take_batch(32).unwrap();
        assert_eq!(first.jobs, [1]);
        queue.push(2).unwrap();
        let begun = Instant::now();
        let second = queue.take_batch(32).unwrap();
        assert!(MAX_BATCH_WAIT <= begun.elapsed(), "the first is still being done");
        assert_eq!(second.jobs, [2]);
        std::thread::scope(|scope| {
            let third = scope.spawn(|| queue.take_batch(usize::MAX).unwrap().jobs.len());
            for number in 0..SECOND_BATCH_TASKS {
                queue.push(number).unwrap();
            }
            assert!(third.join().unwrap() <= SECOND_BATCH_TASKS);
        });
        drop((first, second));
        assert_eq!(queue.state().running_batches, 0);
    }

    #[test]
    fn a_batch_stops_waiting_when_the_other_has_run() {
        let queue = Queue::default();
        queue.push(1).unwrap();
        let first = queue.take_batch(1);
        queue.push(2).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| queue.take_batch(1).map(|batch| batch.jobs.clone()));
            drop(first);
            assert_eq!(second.join().unwrap(), Some(vec![2]));
        });
        queue.close();
        assert!(queue.take_batch(1).is_none(), "closed and empty");
    }
}
