//! Notifications on their way to merchants (contract, Events; decisions.md section 9).

mod flights;
mod measure;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use dropin_notification::Schedule;
use dropin_ports::{Clock, IdSource, OutboxStore, Secrets, StoreError, WebhookSender};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

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
}

impl Default for Pace {
    /// 32 per endpoint, 512 in all, a lease of 15 s over a deadline of 10 s, a look every 250 ms.
    fn default() -> Self {
        Self {
            per_endpoint: 32,
            in_flight: 512,
            lease: Duration::from_secs(15),
            send_deadline: Duration::from_secs(10),
            poll: Duration::from_millis(250),
            debounce: Duration::from_millis(5),
        }
    }
}

/// What came of a round of tries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Acknowledged with 200.
    pub acknowledged: u32,
    /// Failed, to be tried again.
    pub retried: u32,
    /// Given up.
    pub parked: u32,
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
    /// When to try again.
    pub schedule: Schedule,
    /// How much at once.
    pub pace: Pace,
    /// Counts what is done.
    pub counters: Arc<Counters>,
}

impl Delivering {
    /// One step: claims what is due, sends it, writes down what came of it, and goes on with the notifications that this sets free.
    ///
    /// # Errors
    /// [`StoreError`]; what was sent without being written down is sent again after its lease.
    pub async fn deliver_due(&self) -> Result<Tally, StoreError> {
        let mut flights = Flights::new(self);
        flights.claim().await?;
        while flights.any() {
            flights.land().await;
            flights.write_down().await?;
        }
        Ok(flights.tally())
    }

    /// Delivers until `stop` turns true (or its sender is gone), then finishes what is under way. `wakeups` tells of new notifications;
    /// without it they are found by looking every [`Pace::poll`].
    pub async fn run(&self, mut stop: watch::Receiver<bool>, wakeups: Arc<Notify>) {
        let mut flights = Flights::new(self);
        let mut store_is_there = true;
        // When to look because somebody woke us.
        let (mut last_look, mut woken) = (Instant::now(), None);
        while !*stop.borrow() {
            if flights.is_hungry() {
                (last_look, woken) = (Instant::now(), None);
            }
            match flights.work().await {
                Ok(()) if store_is_there => {}
                Ok(()) => log::info!("notifier: the store is there again"),
                Err(error) if store_is_there => log::warn!("notifier: cannot use the outbox, trying again: {error}"),
                Err(_still_away) => {}
            }
            store_is_there = flights.store_is_there();
            let look_at = woken.unwrap_or_else(|| Instant::now() + self.pace.poll);
            tokio::select! {
                stopping = stop.changed() => if stopping.is_err() { break },
                () = flights.land(), if flights.any() && store_is_there => {}
                () = wakeups.notified(), if store_is_there && woken.is_none() => {
                    woken = Some(last_look + self.pace.debounce);
                }
                () = sleep_until(look_at) => flights.look_again(),
            }
        }
        self.finish(flights).await;
    }

    /// Lets what is under way land and gives back the rest.
    async fn finish(&self, mut flights: Flights<'_>) {
        flights.give_back_waiting();
        let landing = async {
            while !flights.is_done() {
                flights.land().await;
                if let Err(error) = flights.write_down_last().await {
                    log::warn!("notifier: cannot write down what came of the last tries: {error}");
                    sleep(self.pace.poll).await;
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
