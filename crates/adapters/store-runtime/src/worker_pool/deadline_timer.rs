//! Ends the calls whose deadline has passed. Callers run on several runtimes, so the timer of one runtime does not serve.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A call that ends at its deadline.
pub(super) trait Expires: Send + Sync {
    /// Whether the call has ended.
    fn is_over(&self) -> bool;

    /// The deadline has passed.
    fn expire(&self);
}

/// Expires pending calls at their deadline. All calls have the same timeout, so the first call expires first.
pub(super) struct DeadlineTimer {
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    watched: VecDeque<(Instant, Weak<dyn Expires>)>,
    closed: bool,
}

impl DeadlineTimer {
    /// A timer for calls that wait for `timeout`; [`DeadlineTimer::serve`] is its thread.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, what: &Arc<dyn Expires>) {
        let mut state = self.state();
        // Taken under the lock, so that the queue is in the order of the deadlines.
        state.watched.push_back((Instant::now() + self.timeout, Arc::downgrade(what)));
        if state.watched.len() == 1 {
            self.changed.notify_one();
        }
    }

    /// The thread's work; returns once closed.
    pub(super) fn serve(&self) {
        let mut state = self.state();
        while !state.closed {
            let Some((deadline, first)) = state.watched.front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            match first.upgrade().filter(|first| !first.is_over()) {
                Some(_) if !left.is_zero() => {
                    state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                waiting => {
                    state.watched.pop_front();
                    drop(state);
                    if let Some(waiting) = waiting {
                        waiting.expire();
                    }
                    state = self.state();
                }
            }
        }
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }
}
