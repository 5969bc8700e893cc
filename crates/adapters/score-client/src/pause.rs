use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many calls in a row that fail begin a pause.
const FAILURES: u32 = 5;
/// How long nothing is asked then.
const PAUSE: Duration = Duration::from_secs(10);

/// Leaves a service alone that answers nobody.
#[derive(Default)]
pub(crate) struct Pause(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

/// A call under way; one that is dropped before it ended has failed.
pub(crate) struct CallOutcome<'a> {
    pause: &'a Pause,
    is_ok: bool,
}

impl Pause {
    pub(crate) fn is_on(&self) -> bool {
        self.lock().until.is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn begin(&self) -> CallOutcome<'_> {
        CallOutcome { pause: self, is_ok: false }
    }

    fn ended(&self, is_ok: bool) {
        let mut state = self.lock();
        state.failures = if is_ok { 0 } else { state.failures.saturating_add(1) };
        state.until = (FAILURES <= state.failures).then(|| Instant::now() + PAUSE);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallOutcome<'_> {
    pub(crate) fn ended(mut self, is_ok: bool) {
        self.is_ok = is_ok;
    }
}

impl Drop for CallOutcome<'_> {
    fn drop(&mut self) {
        self.pause.ended(self.is_ok);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_are_a_pause_and_an_answer_ends_the_row() {
        let pause = Pause::default();
        let failed = |times| (0..times).for_each(|_| drop(pause.begin()));
        failed(4);
        assert!(!pause.is_on());
        pause.begin().ended(true);
        failed(4);
        assert!(!pause.is_on());
        pause.begin().ended(false);
        assert!(pause.is_on());
    }
}
