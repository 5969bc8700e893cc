//! The bounded queue in front of a lane.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Most steps that wait. A longer queue would only hold callers whose deadline passes before their turn.
const CAPACITY: usize = 1_024;

/// Jobs on their way to the threads of one lane.
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    filled: Condvar,
}

struct State<J> {
    jobs: VecDeque<J>,
    closed: bool,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self { state: Mutex::new(State { jobs: VecDeque::new(), closed: false }), filled: Condvar::new() }
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
        if CAPACITY <= state.jobs.len() {
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

    /// Lets nobody in any more; what waits is still done.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_all();
    }
}
