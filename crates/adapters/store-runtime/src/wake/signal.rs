//! The signal, and the notifiers of this process that it wakes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dropin_ports::{Metric, MetricSource};
use tokio::sync::Notify;

/// The channel of NOTIFY and LISTEN.
pub(super) const CHANNEL: &str = "dropin_outbox";

/// The signal that workers send after notifications were committed.
#[derive(Default)]
pub(crate) struct WakeSignal {
    /// The notifiers of this process.
    subscriptions: Mutex<Vec<Weak<Subscription>>>,
    state: Mutex<State>,
    sent: Condvar,
    closing: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether a NOTIFY is to be sent to other processes.
    notify_pending: bool,
    closed: bool,
}

impl WakeSignal {
    /// Wakes the notifiers of this process; where there is none, those of other processes by NOTIFY. Never waits.
    pub(crate) fn send(&self) {
        let subscriptions = lock(&self.subscriptions);
        let woken = subscriptions.iter().filter_map(Weak::upgrade).filter(|subscription| subscription.wake()).count();
        drop(subscriptions);
        if 0 < woken {
            return;
        }
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.notify_pending, true) {
            self.sent.notify_one();
        }
    }

    /// Wakes `notifier` from now on, until it is dropped.
    pub(super) fn subscribe(&self, notifier: &Arc<Notify>, is_listening: bool) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription {
            notifier: Arc::downgrade(notifier),
            is_listening: AtomicBool::new(is_listening),
            local_wake_ups: AtomicU64::default(),
            remote_wake_ups: AtomicU64::default(),
        });
        let mut subscriptions = lock(&self.subscriptions);
        subscriptions
            .retain(|subscription| subscription.upgrade().is_some_and(|subscription| subscription.is_wanted()));
        subscriptions.push(Arc::downgrade(&subscription));
        subscription
    }

    /// Waits for the signal; `false` once it is closed and the last signal was taken.
    pub(super) fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.notify_pending && !state.closed {
            state = self.sent.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.notify_pending)
    }

    /// Sleeps, at most until it is closed. Returns whether it is closed.
    pub(super) fn pause(&self, pause: Duration) -> bool {
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

    /// Ends all that wait for it.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.sent.notify_all();
        self.closing.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here can panic while it holds a lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A notifier of this process that the signal wakes.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Gone when the notifier has ended.
    notifier: Weak<Notify>,
    /// Whether it receives the NOTIFY of other processes.
    pub(super) is_listening: AtomicBool,
    local_wake_ups: AtomicU64,
    pub(super) remote_wake_ups: AtomicU64,
}

impl Subscription {
    /// Wakes it because of this process; `false` when it has ended.
    fn wake(&self) -> bool {
        self.notify(Some(&self.local_wake_ups))
    }

    pub(super) fn notify(&self, counter: Option<&AtomicU64>) -> bool {
        let notifier = self.notifier.upgrade();
        if let Some(notifier) = &notifier {
            // Before the wake-up, so that the notifier sees the new count.
            if let Some(counter) = counter {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            notifier.notify_one();
        }
        notifier.is_some()
    }

    pub(super) fn is_wanted(&self) -> bool {
        0 < self.notifier.strong_count()
    }
}

/// The subscription of a notifier to the wake signal, with its metrics.
#[derive(Debug, Clone)]
pub struct WakeSubscription(pub(super) Arc<Subscription>);

impl WakeSubscription {
    /// Whether the notifier receives the NOTIFY of other processes. Always true on SQLite, which serves one process.
    pub fn is_listening(&self) -> bool {
        self.0.is_listening.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl MetricSource for WakeSubscription {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let total = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(vec![
            Metric::gauge(
                "dropin_notifier_listening",
                "1: the notifier hears at once of what other processes commit; 0: it finds that by looking.",
                u64::from(self.is_listening()),
            ),
            Metric::counter(
                "dropin_notifier_woken_here_total",
                "How often the notifier was woken by its own process.",
                total(&self.0.local_wake_ups),
            ),
            Metric::counter(
                "dropin_notifier_woken_elsewhere_total",
                "How often the notifier was woken by another process.",
                total(&self.0.remote_wake_ups),
            ),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_are_not_notified_while_a_local_notifier_listens() {
        let (wake_signal, notifier) = (WakeSignal::default(), Arc::new(Notify::new()));
        let subscription = wake_signal.subscribe(&notifier, true);
        wake_signal.send();
        assert_eq!(subscription.local_wake_ups.load(Ordering::Relaxed), 1);
        assert!(!lock(&wake_signal.state).notify_pending);
        drop(notifier);
        wake_signal.send();
        assert!(wake_signal.wait(), "the notifier here has ended");
        assert!(!wake_signal.pause(Duration::ZERO));
        wake_signal.send();
        wake_signal.close();
        assert!(wake_signal.wait(), "a signal from before the end is sent");
        assert!(!wake_signal.wait());
        assert!(wake_signal.pause(Duration::from_secs(3_600)), "closed");
    }
}
