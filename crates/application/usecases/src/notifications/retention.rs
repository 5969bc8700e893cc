//! Deleting by age.

use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_ports::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::Notifications;
use crate::random::up_to;

/// Tries deleted in one transaction.
const MAX_TRY_ROWS: u32 = 1_000;
/// Events looked at in one transaction.
const MAX_EVENT_ROWS: u32 = 500;
/// How often old rows are looked for, give or take a quarter: several programs may do so.
const PURGE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// How many of those looks leave events alone until one goes through them: all that are kept have to be passed.
const EVENT_PURGE_ROUNDS: u32 = 24;
/// How soon after the start, at most.
const MAX_FIRST_DELAY: Duration = Duration::from_secs(5 * 60);

/// For how long things are kept; `None` for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// What came of each try.
    pub tries: Option<Duration>,
    /// Events that have arrived or were passed over, wherever they were to go; a payment's newest is always kept, and so is what is parked.
    pub events: Option<Duration>,
}

impl Default for Retention {
    /// Tries for 30 days, events for 400.
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { tries: Some(DAY * 30), events: Some(DAY * 400) }
    }
}

/// What was deleted, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// Tries, with those at the events.
    pub tries: u64,
    /// Events.
    pub events: u64,
}

impl Notifications {
    /// Deletes what is older than it is kept, in steps so small that nobody waits for one, and rests after each as long as it took. With `dry_run`
    /// it only counts.
    ///
    /// # Errors
    /// [`StoreError`]; what is deleted until then stays deleted.
    pub async fn purge(&self, retention: Retention, dry_run: bool) -> Result<Purged, StoreError> {
        let mut purged = Purged::default();
        let now = self.clock.now();
        let tries_before = retention.tries.map(|kept| now.minus(kept));
        if let Some(before) = tries_before {
            purged.tries =
                if dry_run { self.store.count_attempts(before).await? } else { self.purge_attempts(before).await? };
        }
        if let Some(kept) = retention.events {
            let (before, mut after) = (now.minus(kept), None);
            loop {
                let begun = Instant::now();
                let step = match dry_run {
                    true => self.store.count_events(before, tries_before, after, MAX_EVENT_ROWS).await?,
                    false => self.store.purge_events(before, after, MAX_EVENT_ROWS).await?,
                };
                purged.events += u64::from(step.events);
                purged.tries += u64::from(step.tries);
                after = step.next;
                if after.is_none() {
                    break;
                }
                sleep(begun.elapsed()).await;
            }
        }
        Ok(purged)
    }

    async fn purge_attempts(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut purged = 0;
        loop {
            let begun = Instant::now();
            let deleted = self.store.purge_attempts(before, MAX_TRY_ROWS).await?;
            purged += u64::from(deleted);
            if deleted < MAX_TRY_ROWS {
                return Ok(purged);
            }
            sleep(begun.elapsed()).await;
        }
    }

    /// Purges every hour, events once a day, until `stop` turns true (or its sender is gone); at once then, because each step is whole.
    pub async fn keep(&self, retention: Retention, stop: watch::Receiver<bool>) {
        self.keep_every(PURGE_INTERVAL, retention, stop).await;
    }

    pub(super) async fn keep_every(&self, every: Duration, retention: Retention, mut stop: watch::Receiver<bool>) {
        if retention.tries.is_none() && retention.events.is_none() {
            return drop(stop.wait_for(|stopping| *stopping).await);
        }
        let mut pause = MAX_FIRST_DELAY.min(every) * up_to(1_000, &*self.ids) / 1_000;
        let mut round = 0;
        while timeout(pause, stop.wait_for(|stopping| *stopping)).await.is_err() {
            let mut stopping = stop.clone();
            let events = retention.events.filter(|_| round % EVENT_PURGE_ROUNDS == 0);
            let retention = Retention { events, ..retention };
            tokio::select! {
                purged = self.purge(retention, false) => {
                    // What could not be deleted now is meant to be in an hour, events too.
                    round = if purged.is_ok() { (round + 1) % EVENT_PURGE_ROUNDS } else { round };
                    log_purge(purged);
                }
                _ = stopping.wait_for(|stopping| *stopping) => return,
            }
            pause = every * (750 + up_to(500, &*self.ids)) / 1_000;
        }
    }
}

fn log_purge(purged: Result<Purged, StoreError>) {
    match purged {
        Ok(Purged { tries: 0, events: 0 }) => {}
        Ok(Purged { tries, events }) => log::info!("notifications: deleted {events} old events and {tries} old tries"),
        Err(error) => log::warn!("notifications: cannot delete what is old; trying again in an hour: {error}"),
    }
}
