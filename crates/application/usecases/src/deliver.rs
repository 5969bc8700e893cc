//! Notifications on their way to merchants (contract, Events; decisions.md section 9).

mod backlog;
mod flights;
mod landing;
mod measure;
mod queue;
mod share;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;
use std::time::Duration;

use dropin_notification::{BreakerRules, Schedule};
use dropin_ports::{Clock, IdSource, OutboxStore, Secrets, WebhookSender};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep_until, timeout};

pub use backlog::QueueWatch;
use flights::Flights;
pub use measure::Counters;

/// How much is done at once, and how often is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Notifications under way to one endpoint.
    pub per_endpoint: u32,
    /// Notifications under way in all; each holds a connection.
    pub in_flight: u32,
    /// How long a claimed notification belongs to us; longer than `send_deadline`.
    pub lease: Duration,
    /// Longest that the sender takes for one try.
    pub send_deadline: Duration,
    /// How often is looked when nobody wakes us.
    pub poll: Duration,
    /// Shortest time between two looks because of wake-ups.
    pub debounce: Duration,
    /// When an endpoint is taken for dead.
    pub breaker: BreakerRules,
}

/// How much longer than a try a claimed notification belongs to us: enough to write down what came of it, and so short that with the usual deadline
/// what a dead notifier had under way is taken over within 15 s.
const LEASE_OVER: Duration = Duration::from_millis(4_500);

impl Pace {
    /// The usual pace with so much time for each try, and a lease that fits: 32 per endpoint, 512 in all, a look every 250 ms.
    pub fn within(send_deadline: Duration) -> Self {
        Self {
            per_endpoint: 32,
            in_flight: 512,
            lease: send_deadline + LEASE_OVER,
            send_deadline,
            poll: Duration::from_millis(250),
            debounce: Duration::from_millis(5),
            breaker: BreakerRules::default(),
        }
    }
}

impl Default for Pace {
    /// With 10 s for each try.
    fn default() -> Self {
        Self::within(Duration::from_secs(10))
    }
}

/// Sends what is due in the outbox: in order within a payment, at least once, each endpoint with slots of its own.
#[derive(Clone)]
pub struct Delivering {
    /// The queue.
    pub outbox: Arc<dyn OutboxStore>,
    /// Sends.
    pub webhooks: Arc<dyn WebhookSender>,
    /// Opens the endpoints' secrets.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub ids: Arc<dyn IdSource>,
    /// Whether the deployment is a sandbox. Nothing is sent for accounts of the other kind: they live by other rules about where it may go.
    pub sandbox: bool,
    /// When to try again.
    pub schedule: Schedule,
    /// How much at once.
    pub pace: Pace,
    /// Counts what is done.
    pub counters: Arc<Counters>,
}

impl Delivering {
    /// Delivers until `stop` turns true (or its sender is gone), or nobody is there any more who sends, then finishes what is under way. `wakeups` tells of new notifications;
    /// without it they are found by looking every [`Pace::poll`].
    pub async fn run(&self, mut stop: watch::Receiver<bool>, wakeups: Arc<Notify>) {
        let mut flights = Flights::new(self);
        while !*stop.borrow() && !flights.senderless {
            flights.work();
            let wake_at = flights.wake_at();
            tokio::select! {
                biased;
                stopping = stop.changed() => if stopping.is_err() { break },
                () = wakeups.notified() => flights.look_soon(),
                () = flights.land(), if flights.any() => {}
                () = sleep_until(wake_at) => {}
            }
        }
        self.finish(flights).await;
    }

    /// Lets what is under way land and gives back the rest.
    async fn finish(&self, mut flights: Flights<'_>) {
        flights.stop();
        let landing = async {
            while !flights.is_done() {
                flights.work();
                let wake_at = flights.wake_at();
                tokio::select! {
                    biased;
                    () = flights.land(), if flights.any() => {}
                    () = sleep_until(wake_at) => {}
                }
            }
        };
        if timeout(self.pace.lease, landing).await.is_err() {
            log::warn!(
                "notifier: stopped before all was written down; those notifications are sent once more after their lease"
            );
        }
    }
}
