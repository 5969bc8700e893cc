//! What the store is asked and told: claims, looks, and what came of tries.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::Passage;
use dropin_ports::{Claimed, Delivery, FinishedDeliveries, FinishedTry, StoreError};
use tokio::time::Instant;

use super::flights::{Done, Flights};
use super::told::GivenUp;

/// Results that are written down at once.
const BATCH: usize = 200;
/// Batches that are being written at once; more than one only while they are full.
const WRITES: u32 = 4;
/// How long results are collected when there are many; few are written down at once.
const COLLECTING: Duration = Duration::from_millis(4);
/// So many in one batch are many.
const MANY: usize = 8;
/// Looks at dead endpoints that are being claimed at once.
const LOOKS: u32 = 8;
/// Overdue notifications that are parked at once.
const PARKED_AT_ONCE: u32 = 200;
/// How often is looked whom to forget.
const SWEEPING: Duration = Duration::from_secs(60);

/// How much is claimed.
struct Portion {
    /// Of one endpoint.
    per_endpoint: u32,
    /// In all.
    limit: u32,
    /// For those endpoints alone that have nothing under way.
    for_newcomers: bool,
}

impl Flights<'_> {
    /// Begins what can be begun: writes down what has landed, claims as long as the queue has more for us and we have room, looks at dead
    /// endpoints.
    pub(super) fn work(&mut self) {
        let now = Instant::now();
        if let Some(error) = self.trouble.take() {
            if self.away_until.is_none() {
                log::warn!("notifier: cannot use the outbox, trying again: {error}");
            }
            self.away_until = Some(now + self.by.pace.poll);
        }
        if self.away_until.is_some_and(|until| now < until) {
            return;
        }
        self.write(now);
        if self.stopping {
            return;
        }
        if self.look_at <= now {
            (self.hungry, self.look_at) = (true, now + self.by.pace.poll);
        }
        self.claim(now);
        self.probe();
        self.sweep(now);
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn wake_at(&self) -> Instant {
        let now = Instant::now();
        if let Some(until) = self.away_until.filter(|until| now < *until) {
            return until;
        }
        let mut wake_at = if self.stopping { now + self.by.pace.poll } else { self.look_at };
        if !self.landed.is_empty() && self.writing == 0 {
            wake_at = wake_at.min(self.landed_since + self.collecting());
        }
        if let Some(Reverse((at, _))) = self.probes.peek().filter(|_| self.probing < LOOKS && !self.stopping) {
            wake_at = wake_at.min(now + at.since(self.by.clock.now()));
        }
        wake_at
    }

    /// Somebody told of new notifications.
    pub(super) fn look_soon(&mut self) {
        self.look_at = self.look_at.min(self.last_look + self.by.pace.debounce);
    }

    fn collecting(&self) -> Duration {
        if MANY <= self.last_batch { COLLECTING } else { Duration::ZERO }
    }

    /// Writes down what has landed. While one batch is being written the next one is collected, so that the more there is to do, the less each
    /// result costs.
    pub(super) fn write(&mut self, now: Instant) {
        while !self.landed.is_empty() {
            let is_full = BATCH <= self.landed.len();
            let collected = self.flying == 0 || self.landed_since + self.collecting() <= now;
            if self.writing != 0 && (WRITES <= self.writing || !is_full) || !is_full && !collected {
                return;
            }
            let rest = if is_full { self.landed.split_off(BATCH) } else { Vec::new() };
            let batch = std::mem::replace(&mut self.landed, rest);
            (self.last_batch, self.landed_since) = (batch.len(), now);
            self.write_batch(batch, self.lease(), None);
        }
    }

    /// For what is handed out next. Whoever stops lets nothing be handed out: what is set free is due at once, for whoever comes next.
    const fn lease(&self) -> Duration {
        if self.stopping { Duration::ZERO } else { self.by.pace.lease }
    }

    /// Writes down that a dead endpoint's notification was given up. What comes behind it is not handed out: its time has not begun by that,
    /// and may be over as well.
    pub(super) fn end(&mut self, endpoint: EndpointId, finished: FinishedTry) {
        self.write_batch(vec![finished], Duration::ZERO, Some(endpoint));
    }

    fn write_batch(&mut self, batch: Vec<FinishedTry>, lease: Duration, ended: Option<EndpointId>) {
        self.writing += 1;
        self.unwritten += batch.len() as u32;
        let (at, outbox) = (self.by.clock.now(), Arc::clone(&self.by.outbox));
        let lease_until = at.plus(lease);
        self.begin(async move {
            let result = outbox.finish_deliveries(batch.clone(), at, lease_until).await;
            Done::Written { batch, lease_until, ended, result }
        });
    }

    /// Goes on with what was set free.
    pub(super) fn written(
        &mut self,
        batch: Vec<FinishedTry>,
        lease_until: Timestamp,
        ended: Option<EndpointId>,
        result: Result<FinishedDeliveries, StoreError>,
    ) {
        if let Some(endpoint) = ended {
            self.park_overdue(endpoint);
        }
        match result {
            Ok(finished) => {
                self.store_is_there();
                self.by.counters.fenced(finished.fenced);
                self.accept(finished.next, lease_until);
            }
            Err(error @ (StoreError::Refused(_) | StoreError::Corrupt { .. })) => self.refused(batch, &error),
            Err(error) => {
                self.trouble = Some(error);
                let later = std::mem::replace(&mut self.landed, batch);
                self.landed.extend(later);
            }
        }
        if self.short && !self.portion().for_newcomers {
            (self.short, self.hungry) = (false, true);
        }
    }

    /// Halves what the store will not write down, until the one result that is to blame is alone: it must not hold up all others for ever.
    fn refused(&mut self, mut batch: Vec<FinishedTry>, error: &StoreError) {
        let rest = batch.split_off(batch.len() / 2);
        if batch.is_empty() {
            return log::error!(
                "what came of a notification cannot be written down, it is sent once more after its lease: {error}"
            );
        }
        for half in [batch, rest] {
            self.write_batch(half, self.lease(), None);
        }
    }

    fn store_is_there(&mut self) {
        if self.away_until.take().is_some() {
            log::info!("notifier: the store is there again");
        }
    }

    /// How much may be claimed. What is not written down yet counts as under way: what it sets free starts at once.
    ///
    /// The last quarter is for endpoints that have nothing of it, and each of them gets no more than a quarter of what is left: one of them
    /// alone cannot take it all, and what is freed goes to those first that have nothing.
    fn portion(&self) -> Portion {
        let pace = &self.by.pace;
        let taken = self.flying + self.waiting + self.landed.len() as u32 + self.unwritten;
        let room = pace.in_flight.saturating_sub(taken);
        match room.saturating_sub(pace.in_flight / 4) {
            0 => Portion { per_endpoint: pace.per_endpoint.min((room / 4).max(1)), limit: room, for_newcomers: true },
            limit => Portion { per_endpoint: pace.per_endpoint, limit, for_newcomers: false },
        }
    }

    /// Has the rest of `endpoint` claimed: at once if there is room for it, or when there is again after what has landed is written down. If
    /// only its own slots are taken, each try that lands asks anew.
    pub(super) fn claim_more(&mut self, endpoint: EndpointId) {
        let (slots, for_newcomers) = (self.by.pace.per_endpoint, self.portion().for_newcomers);
        if self.share(endpoint).has_room(slots, for_newcomers) {
            self.hungry = true;
        } else {
            self.short |= for_newcomers;
        }
    }

    /// Claims once, for endpoints that are not passed over.
    pub(super) fn claim(&mut self, now: Instant) {
        let Portion { per_endpoint, limit, for_newcomers } = self.portion();
        if !self.hungry || self.claiming || limit == 0 {
            return;
        }
        (self.hungry, self.claiming, self.last_look, self.look_at) = (false, true, now, now + self.by.pace.poll);
        let slots = self.by.pace.per_endpoint;
        let full =
            self.shares.iter_mut().filter_map(|(id, share)| share.is_passed_over(slots, for_newcomers).then_some(*id));
        let full: Vec<EndpointId> = full.collect();
        // Those that were passed over may have slots of their own, and nothing of theirs may land for long.
        self.short |= for_newcomers && !full.is_empty();
        let at = self.by.clock.now();
        let lease_until = at.plus(self.by.pace.lease);
        let outbox = Arc::clone(&self.by.outbox);
        self.begin(async move {
            let result = outbox.claim_deliveries(&full, at, lease_until, per_endpoint, limit).await;
            Done::Claimed { lease_until, limit, result }
        });
    }

    /// Goes on with what was claimed, and notes where there may be more.
    pub(super) fn share_out(&mut self, claimed: Claimed, lease_until: Timestamp, limit: u32) {
        self.store_is_there();
        self.hungry |= limit as usize <= claimed.deliveries.len();
        for endpoint in &claimed.more {
            self.share(*endpoint).more = true;
        }
        self.accept(claimed.deliveries, lease_until);
        // Its share of the claim was less than it takes, or the store passed some over.
        for endpoint in claimed.more {
            self.claim_more(endpoint);
        }
    }

    /// Claims looks at the endpoints whose time has come.
    fn probe(&mut self) {
        while let Some(Reverse((at, endpoint))) = self.probes.peek().copied() {
            let now = self.by.clock.now();
            if now < at || LOOKS <= self.probing {
                return;
            }
            self.probes.pop();
            let Some(share) =
                self.shares.get_mut(&endpoint).filter(|one| one.breaker.passage() == Passage::ProbeAt { at })
            else {
                continue;
            };
            share.breaker.probe();
            share.used();
            self.probing += 1;
            self.by.counters.breaker_half_open(endpoint);
            let (outbox, lease_until) = (Arc::clone(&self.by.outbox), now.plus(self.by.pace.lease));
            self.begin(async move {
                let result = outbox.claim_probe(endpoint, now, lease_until).await;
                Done::Probed { endpoint, lease_until, result }
            });
        }
    }

    /// Looks whether a dead endpoint is back, with what was claimed for that.
    pub(super) fn look(
        &mut self,
        endpoint: EndpointId,
        lease_until: Timestamp,
        result: Result<Option<Delivery>, StoreError>,
    ) {
        let later = self.by.clock.now().plus(self.by.pace.breaker.first_wait);
        let heard = self.heard(result);
        let still_open = self.share(endpoint).breaker.passage() == Passage::Nothing;
        let too_late = lease_until < self.latest_end();
        match heard {
            Some(Some(delivery)) if still_open && !self.stopping && too_late => {
                self.give_back(delivery.key, Duration::ZERO);
                self.look_again(endpoint, later);
            }
            Some(Some(delivery)) if still_open && !self.stopping => {
                self.took_over(&delivery);
                self.start(delivery, true);
            }
            Some(Some(delivery)) => self.accept(vec![delivery], lease_until),
            Some(None) if still_open => {
                self.share(endpoint).breaker.nothing_to_try();
                self.by.counters.breaker_opened(endpoint);
            }
            None if still_open => self.look_again(endpoint, later),
            Some(None) | None => {}
        }
    }

    /// Puts off a look that was not made.
    fn look_again(&mut self, endpoint: EndpointId, at: Timestamp) {
        self.share(endpoint).breaker.not_tried(at);
        self.probes.push(Reverse((at, endpoint)));
        self.by.counters.breaker_opened(endpoint);
    }

    /// Parks what a dead endpoint never got in time.
    pub(super) fn park_overdue(&mut self, endpoint: EndpointId) {
        if self.stopping {
            return;
        }
        let now = self.by.clock.now();
        let give_up_before = now.minus(self.share(endpoint).give_up_after);
        let outbox = Arc::clone(&self.by.outbox);
        self.begin(async move {
            let result = outbox.park_overdue(endpoint, give_up_before, now, PARKED_AT_ONCE).await;
            Done::Overdue { endpoint, result }
        });
    }

    pub(super) fn parked_overdue(&mut self, endpoint: EndpointId, result: Result<u32, StoreError>) {
        let Some(parked) = self.heard(result).filter(|parked| *parked != 0) else { return };
        for _ in 0..parked {
            self.by.counters.parked();
        }
        log::error!("{}", GivenUp { parked, endpoint });
        // There may be more of them, and what came behind these may be overdue as well.
        self.park_overdue(endpoint);
    }

    /// Forgets endpoints that nobody had anything for.
    fn sweep(&mut self, now: Instant) {
        if now < self.swept_at + SWEEPING {
            return;
        }
        self.swept_at = now;
        let by = self.by;
        self.shares.retain(|endpoint, share| {
            let forgotten = share.is_forgettable(now);
            if forgotten && share.breaker.open_since().is_some() {
                by.counters.breaker_closed(*endpoint);
            }
            !forgotten
        });
    }
}
