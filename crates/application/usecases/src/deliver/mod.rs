//! Notifications on their way to merchants (docs/SPECIFICATION.md#notifications).

mod attempt_display;
mod attempt_result;
mod backlog;
mod claims;
mod dispatcher;
mod endpoint_state;
mod measure;
mod queue;
mod result_queue;
mod store_access;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use dropin_notification::{EndpointBreakerRules, Schedule};
use dropin_ports::{Clock, IdSource, OutboxStore, Secrets, WebhookSender};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep_until, timeout};

pub use backlog::QueueMetrics;
use dispatcher::Dispatcher;
pub use measure::Counters;

/// Limits of the dispatcher: concurrency, leases, deadlines and poll intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySettings {
    /// Attempts in flight to one endpoint.
    pub per_endpoint: u32,
    /// Attempts in flight to all endpoints together; each holds a connection.
    pub in_flight: u32,
    /// How long this notifier holds a claimed notification; longer than `send_deadline`.
    pub lease: Duration,
    /// Deadline of one attempt.
    pub send_deadline: Duration,
    /// Poll interval when no wake-up arrives.
    pub poll: Duration,
    /// Shortest time between two polls that wake-ups cause.
    pub debounce: Duration,
    /// When the circuit breaker of an endpoint opens.
    pub breaker: EndpointBreakerRules,
}

/// By how much the lease exceeds the deadline of an attempt: enough to write its result, and so short that with the default deadline another notifier
/// takes over the notifications of a dead one within 15 s.
const LEASE_MARGIN: Duration = Duration::from_millis(4_500);

impl DeliverySettings {
    /// The default limits with this deadline for each attempt and a lease that fits: 32 per endpoint, 512 in all, a poll every 250 ms.
    pub fn within(send_deadline: Duration) -> Self {
        Self {
            per_endpoint: 32,
            in_flight: 512,
            lease: send_deadline + LEASE_MARGIN,
            send_deadline,
            poll: Duration::from_millis(250),
            debounce: Duration::from_millis(5),
            breaker: EndpointBreakerRules::default(),
        }
    }
}

impl Default for DeliverySettings {
    /// With 10 s for each attempt.
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
    /// Limits of the dispatcher.
    pub settings: DeliverySettings,
    /// Counts what is done.
    pub counters: Arc<Counters>,
}

impl Delivering {
    /// Delivers until `stop` turns true, its sender is dropped or the webhook sender has stopped; then it drains. `wakeups` signals new rows;
    /// without it the dispatcher finds them at the next poll, every [`DeliverySettings::poll`].
    pub async fn run(&self, mut stop: watch::Receiver<bool>, wakeups: Arc<Notify>) {
        let mut dispatcher = Dispatcher::new(self);
        while !*stop.borrow() && !dispatcher.sender_stopped {
            dispatcher.start_due_work();
            let wake_at = dispatcher.wake_at();
            tokio::select! {
                biased;
                stopping = stop.changed() => if stopping.is_err() { break },
                () = wakeups.notified() => dispatcher.claims.poll_soon(self.settings.debounce),
                () = dispatcher.wait_for_task(), if dispatcher.has_tasks() => {}
                () = sleep_until(wake_at) => {}
            }
        }
        self.finish(dispatcher).await;
    }

    /// Drains: waits for the attempts in flight and releases the rest.
    async fn finish(&self, mut dispatcher: Dispatcher<'_>) {
        dispatcher.stop();
        let drained = async {
            while !dispatcher.is_done() {
                dispatcher.start_due_work();
                let wake_at = dispatcher.wake_at();
                tokio::select! {
                    biased;
                    () = dispatcher.wait_for_task(), if dispatcher.has_tasks() => {}
                    () = sleep_until(wake_at) => {}
                }
            }
        };
        if timeout(self.settings.lease, drained).await.is_err() {
            log::warn!(
                "notifier: stopped before all was written down; those notifications are sent once more after their lease"
            );
        }
    }
}
