//! The bounded queue in front of a lane.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most steps that wait. A longer queue would only hold callers whose deadline passes before their turn.
const CAPACITY: usize = 1_024;

/// So many that wait are worth a second statement beside the one that is under way.
const ENOUGH: usize = 16;

/// So long fewer wait for the one that is under way: a statement costs the database as much as three or four more jobs in it.
const PATIENCE: Duration = Duration::from_millis(5);

/// Jobs on their way to the threads of one lane.
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    filled: Condvar,
}

struct State<J> {
    jobs: VecDeque<J>,
    closed: bool,
    /// Bunches that are being done.
    busy: usize,
}

/// Jobs that are done together; the queue knows of them until this is dropped.
pub(super) struct Bunch<'a, J> {
    pub(super) jobs: Vec<J>,
    queue: &'a Queue<J>,
}

impl<J> Drop for Bunch<'_, J> {
    fn drop(&mut self) {
        self.queue.state().busy -= 1;
        // Whoever waits for more need not any longer.
        self.queue.filled.notify_one();
    }
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self { state: Mutex::new(State { jobs: VecDeque::new(), closed: false, busy: 0 }), filled: Condvar::new() }
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

    /// Waits for work and takes what is there, at most `most`: at once when nothing is being done, and otherwise when enough have come or the
    /// first has waited long enough. `None` once the queue is closed and empty.
    pub(super) fn take_bunch(&self, most: usize) -> Option<Bunch<'_, J>> {
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
            if state.busy == 0 || state.closed || ENOUGH <= state.jobs.len() || PATIENCE <= waited {
                break;
            }
            let (woken, _) = self.filled.wait_timeout(state, PATIENCE - waited).unwrap_or_else(PoisonError::into_inner);
            state = woken;
        }
        state.busy += 1;
        let taken = most.min(state.jobs.len());
        Some(Bunch { jobs: state.jobs.drain(..taken).collect(), queue: self })
    }

    /// Lets nobody in any more; what waits is still done.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bunch_waits_for_more_only_while_another_is_done_and_not_for_long() {
        let queue = Queue::default();
        queue.push(1).unwrap();
        let first = queue.take_bunch(32).unwrap();
        assert_eq!(first.jobs, [1]);
        queue.push(2).unwrap();
        let begun = Instant::now();
        let second = queue.take_bunch(32).unwrap();
        assert!(PATIENCE <= begun.elapsed(), "the first is still being done");
        assert_eq!(second.jobs, [2]);
        std::thread::scope(|scope| {
            let third = scope.spawn(|| queue.take_bunch(usize::MAX).unwrap().jobs.len());
            for number in 0..ENOUGH {
                queue.push(number).unwrap();
            }
            assert!(third.join().unwrap() <= ENOUGH);
        });
        drop((first, second));
        assert_eq!(queue.state().busy, 0);
    }

    #[test]
    fn whoever_waits_for_more_goes_on_when_the_other_is_done() {
        let queue = Queue::default();
        queue.push(1).unwrap();
        let first = queue.take_bunch(1);
        queue.push(2).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| queue.take_bunch(1).map(|bunch| bunch.jobs.clone()));
            drop(first);
            assert_eq!(second.join().unwrap(), Some(vec![2]));
        });
        queue.close();
        assert!(queue.take_bunch(1).is_none(), "closed and empty");
    }
}
