//! Wakes notifiers when notifications have been committed: outside of every transaction, and nobody waits for it. Whoever misses it finds them
//! by looking.

mod listen;
mod tell;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dropin_ports::{Measure, Measured};
use tokio::sync::Notify;

use crate::config::{OpenError, Target};
use crate::store::{Store, spawn};

pub(crate) use tell::serve as serve_tell;

/// Where PostgreSQL's sessions of one database hear of new notifications.
const CHANNEL: &str = "dropin_outbox";

thread_local! {
    /// Whether the step that runs on this thread has queued notifications.
    static QUEUED: Cell<bool> = const { Cell::new(false) };
}

/// Tells the lane of this thread that the step queued notifications, which are to be told of when they are committed.
pub(crate) fn note() {
    QUEUED.set(true);
}

/// Forgets what was noted: it is not going to be committed.
pub(crate) fn forget() {
    QUEUED.set(false);
}

/// Whether anything was noted since the last time.
pub(crate) fn take_note() -> bool {
    QUEUED.take()
}

/// What lanes ring when notifications were committed.
#[derive(Default)]
pub(crate) struct Bell {
    /// Notifiers of this process.
    here: Mutex<Vec<Weak<Ear>>>,
    state: Mutex<State>,
    rung: Condvar,
    closing: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether other processes are to be told.
    rung: bool,
    closed: bool,
}

impl Bell {
    /// Rings when the step of this thread noted something. For after the answer.
    pub(crate) fn ring_if_noted(&self) {
        if take_note() {
            self.ring();
        }
    }

    /// Wakes the notifiers of this process; where there is none, those of others will be told. Never waits.
    pub(crate) fn ring(&self) {
        let here = lock(&self.here);
        let woken = here.iter().filter_map(Weak::upgrade).filter(|ear| ear.wake()).count();
        drop(here);
        if 0 < woken {
            return;
        }
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.rung, true) {
            self.rung.notify_one();
        }
    }

    /// Waits until somebody rings; `false` once it is closed and everything was told.
    fn wait_for_ring(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.rung && !state.closed {
            state = self.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.rung)
    }

    /// Waits, not longer than until it is closed. Returns whether it is.
    fn pause(&self, pause: Duration) -> bool {
        let give_up = Instant::now() + pause;
        let mut state = lock(&self.state);
        while !state.closed {
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.closing.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Lets whoever waits for it end.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.rung.notify_all();
        self.closing.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here can panic while it holds a lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One notifier of this process.
#[derive(Debug)]
struct Ear {
    /// Gone when the notifier has ended.
    notifier: Weak<Notify>,
    /// Whether other processes reach it.
    hears: AtomicBool,
    from_here: AtomicU64,
    from_elsewhere: AtomicU64,
}

impl Ear {
    /// Wakes it because of this process; `false` when it has ended.
    fn wake(&self) -> bool {
        self.notify(Some(&self.from_here))
    }

    fn notify(&self, counter: Option<&AtomicU64>) -> bool {
        let notifier = self.notifier.upgrade();
        if let Some(notifier) = &notifier {
            // Before, so that whoever is woken sees it.
            if let Some(counter) = counter {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            notifier.notify_one();
        }
        notifier.is_some()
    }

    fn is_wanted(&self) -> bool {
        0 < self.notifier.strong_count()
    }
}

/// How a notifier hears of new notifications, in numbers for whoever watches.
#[derive(Debug, Clone)]
pub struct WakeUps(Arc<Ear>);

impl WakeUps {
    /// Whether the notifier hears of what other processes commit. On SQLite there is nobody else to hear of, and this is true.
    pub fn hears(&self) -> bool {
        self.0.hears.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Measured for WakeUps {
    async fn measure(&self) -> Result<Vec<Measure>, String> {
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(vec![
            Measure::now(
                "dropin_notifier_listening",
                "1: the notifier hears at once of what other processes commit; 0: it finds that by looking.",
                u64::from(self.hears()),
            ),
            Measure::total(
                "dropin_notifier_woken_here_total",
                "How often the notifier was woken by its own process.",
                total(&self.0.from_here),
            ),
            Measure::total(
                "dropin_notifier_woken_elsewhere_total",
                "How often the notifier was woken by another process.",
                total(&self.0.from_elsewhere),
            ),
        ])
    }
}

impl Store {
    /// Wakes `notifier` from now on as soon as notifications have been committed: by this process, and on PostgreSQL by any other, for which a
    /// connection of its own listens. Ends when `notifier` is dropped or the store is closed.
    ///
    /// It is only a hint: one may come too often, and none may come at all (a connection pooler that shares connections between transactions
    /// lets nobody listen). Then it comes every tenth of a second until listening works again.
    ///
    /// # Errors
    /// [`OpenError::Thread`].
    pub fn wake(&self, notifier: &Arc<Notify>) -> Result<WakeUps, OpenError> {
        let ear = Arc::new(Ear {
            notifier: Arc::downgrade(notifier),
            hears: AtomicBool::new(matches!(self.target(), Target::Sqlite(_))),
            from_here: AtomicU64::default(),
            from_elsewhere: AtomicU64::default(),
        });
        let mut here = lock(&self.bell().here);
        here.retain(|ear| ear.upgrade().is_some_and(|ear| ear.is_wanted()));
        here.push(Arc::downgrade(&ear));
        drop(here);
        if let Target::Postgres(url) = self.target() {
            let (bell, url, ear) = (self.bell().clone(), url.clone(), ear.clone());
            self.keep(spawn("dropin-store-ear", move || listen::serve(&bell, &url, &ear))?);
        }
        Ok(WakeUps(ear))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_is_told_while_somebody_here_listens() {
        let (bell, notifier) = (Bell::default(), Arc::new(Notify::new()));
        let ear = Arc::new(Ear {
            notifier: Arc::downgrade(&notifier),
            hears: AtomicBool::new(true),
            from_here: AtomicU64::default(),
            from_elsewhere: AtomicU64::default(),
        });
        lock(&bell.here).push(Arc::downgrade(&ear));
        bell.ring();
        assert_eq!(ear.from_here.load(Ordering::Relaxed), 1);
        assert!(!lock(&bell.state).rung);
        drop(notifier);
        bell.ring();
        assert!(bell.wait_for_ring(), "the notifier here has ended");
        assert!(!bell.pause(Duration::ZERO));
        bell.ring();
        bell.close();
        assert!(bell.wait_for_ring(), "what was rung before the end is told");
        assert!(!bell.wait_for_ring());
        assert!(bell.pause(Duration::from_secs(3_600)), "closed");
    }

    #[test]
    fn only_what_was_noted_rings() {
        let bell = Bell::default();
        bell.ring_if_noted();
        assert!(!lock(&bell.state).rung);
        note();
        bell.ring_if_noted();
        assert!(lock(&bell.state).rung);
        assert!(!take_note());
    }
}
