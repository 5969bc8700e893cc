//! The dispatcher's store calls: claims, probe claims, and results of attempts.

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::BreakerPermit;
use dropin_ports::{AttemptResult, Claimed, Delivery, FinishedDeliveries, StoreError};
use tokio::time::Instant;

use super::attempt_display::ParkedDisplay;
use super::dispatcher::{Dispatcher, TaskOutcome};

/// Overdue notifications parked in one store call.
const MAX_PARKED_ROWS: u32 = 200;
/// How often the state of idle endpoints is dropped.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Size of a claim.
struct ClaimSize {
    /// Of one endpoint.
    per_endpoint: u32,
    /// In all.
    limit: u32,
    /// Only for endpoints without an attempt in flight.
    for_idle_endpoints: bool,
}

impl Dispatcher<'_> {
    /// Starts every task that is due: writes results, claims while the outbox has due notifications and slots are free, and probes endpoints
    /// with an open breaker.
    pub(super) fn start_due_work(&mut self) {
        let now = Instant::now();
        if !self.store.check(now, self.delivering.settings.poll) {
            return;
        }
        self.write(now);
        if self.stopping {
            return;
        }
        self.claims.check_poll(now, self.delivering.settings.poll);
        self.claim(now);
        self.claim_probes();
        self.sweep(now);
    }

    /// When the next task is due if no event comes before.
    pub(super) fn wake_at(&self) -> Instant {
        let now = Instant::now();
        if let Some(until) = self.store.blocked_until(now) {
            return until;
        }
        let result_at = self.results.due_at();
        if self.stopping {
            let poll_at = now + self.delivering.settings.poll;
            return result_at.map_or(poll_at, |at| at.min(poll_at));
        }
        let probe_at = self.probes.due_at().map(|at| now + at.since(self.delivering.clock.now()));
        [result_at, probe_at].into_iter().flatten().fold(self.claims.due_at(), Instant::min)
    }

    /// Writes the results that are to be written now.
    pub(super) fn write(&mut self, now: Instant) {
        while let Some(batch) = self.results.next_batch(now, self.in_flight == 0) {
            self.write_batch(batch, self.lease(), None);
        }
    }

    /// The lease of the notifications that a result frees. A stopping dispatcher takes none: they are due at once for another notifier.
    const fn lease(&self) -> Duration {
        if self.stopping { Duration::ZERO } else { self.delivering.settings.lease }
    }

    /// Writes that a notification of a dead endpoint was parked. The next one of its payment is not leased: its retry period has not begun,
    /// or it may be over as well.
    pub(super) fn write_parked(&mut self, endpoint: EndpointId, finished: AttemptResult) {
        self.write_batch(vec![finished], Duration::ZERO, Some(endpoint));
    }

    fn write_batch(&mut self, batch: Vec<AttemptResult>, lease: Duration, parked_for: Option<EndpointId>) {
        self.results.begin_write(&batch);
        let (at, outbox) = (self.delivering.clock.now(), Arc::clone(&self.delivering.outbox));
        let lease_until = at.plus(lease);
        self.push_task(async move {
            let result = outbox.finish_deliveries(batch.clone(), at, lease_until).await;
            TaskOutcome::Written { batch, lease_until, parked_for, result }
        });
    }

    /// Handles a written batch: starts the notifications that it freed.
    pub(super) fn handle_written(
        &mut self,
        batch: Vec<AttemptResult>,
        lease_until: Timestamp,
        parked_for: Option<EndpointId>,
        result: Result<FinishedDeliveries, StoreError>,
    ) {
        if let Some(endpoint) = parked_for {
            self.park_overdue(endpoint);
        }
        match result {
            Ok(finished) => {
                self.store.answered();
                self.delivering.counters.fenced(finished.fenced);
                self.accept(finished.next, lease_until);
            }
            Err(error @ (StoreError::Refused(_) | StoreError::Corrupt { .. })) => self.split_refused(batch, &error),
            Err(error) => {
                let _: Option<()> = self.store.ok_or_keep(Err(error));
                self.results.put_back(batch);
            }
        }
        if self.claims.endpoints_skipped && !self.claim_size().for_idle_endpoints {
            (self.claims.endpoints_skipped, self.claims.poll_again) = (false, true);
        }
    }

    /// Halves a batch that the store refuses, until the faulty result is alone and cannot block the others.
    fn split_refused(&mut self, mut batch: Vec<AttemptResult>, error: &StoreError) {
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

    /// Size of the next claim. A result that is not written yet counts as in flight: the notification that it frees starts at once.
    ///
    /// The last quarter is for endpoints that have nothing of it, and each of them gets no more than a quarter of what is left: one of them
    /// alone cannot take it all, and what is freed goes to those first that have nothing.
    fn claim_size(&self) -> ClaimSize {
        let settings = &self.delivering.settings;
        let taken = self.in_flight + self.waiting + self.results.len();
        let free_slots = settings.in_flight.saturating_sub(taken);
        match free_slots.saturating_sub(settings.in_flight / 4) {
            0 => ClaimSize {
                per_endpoint: settings.per_endpoint.min((free_slots / 4).max(1)),
                limit: free_slots,
                for_idle_endpoints: true,
            },
            limit => ClaimSize { per_endpoint: settings.per_endpoint, limit, for_idle_endpoints: false },
        }
    }

    /// Claims the rest of `endpoint`: at once if it has free slots, or after results are written if the dispatcher is full. If
    /// only the endpoint's own slots are taken, each attempt that ends calls this again.
    pub(super) fn claim_more(&mut self, endpoint: EndpointId) {
        let (slots, for_idle_endpoints) = (self.delivering.settings.per_endpoint, self.claim_size().for_idle_endpoints);
        if self.endpoint_state(endpoint).has_free_slots(slots, for_idle_endpoints) {
            self.claims.poll_again = true;
        } else {
            self.claims.endpoints_skipped |= for_idle_endpoints;
        }
    }

    /// Claims once, for endpoints that are not passed over.
    pub(super) fn claim(&mut self, now: Instant) {
        let ClaimSize { per_endpoint, limit, for_idle_endpoints } = self.claim_size();
        if limit == 0 || !self.claims.begin(now, self.delivering.settings.poll) {
            return;
        }
        let slots = self.delivering.settings.per_endpoint;
        let full = self
            .endpoint_states
            .iter_mut()
            .filter_map(|(id, state)| state.is_skipped(slots, for_idle_endpoints).then_some(*id));
        let full: Vec<EndpointId> = full.collect();
        // A skipped endpoint may have free slots, and no attempt of it may end for long.
        self.claims.endpoints_skipped |= for_idle_endpoints && !full.is_empty();
        let at = self.delivering.clock.now();
        let lease_until = at.plus(self.delivering.settings.lease);
        let outbox = Arc::clone(&self.delivering.outbox);
        self.push_task(async move {
            let result = outbox.claim_deliveries(&full, at, lease_until, per_endpoint, limit).await;
            TaskOutcome::Claimed { lease_until, limit, result }
        });
    }

    /// Starts what was claimed, and records which endpoints may have more.
    pub(super) fn handle_claimed(&mut self, claimed: Claimed, lease_until: Timestamp, limit: u32) {
        self.store.answered();
        self.claims.poll_again |= limit as usize <= claimed.deliveries.len();
        for endpoint in &claimed.more {
            self.endpoint_state(*endpoint).more = true;
        }
        self.accept(claimed.deliveries, lease_until);
        // Its part of the claim was smaller than its free slots, or the store skipped some of its rows.
        for endpoint in claimed.more {
            self.claim_more(endpoint);
        }
    }

    /// Claims a notification to probe with for every endpoint whose probe is due.
    fn claim_probes(&mut self) {
        let now = self.delivering.clock.now();
        while let Some((at, endpoint)) = self.probes.pop(now) {
            let Some(state) = self
                .endpoint_states
                .get_mut(&endpoint)
                .filter(|one| one.breaker.permit() == BreakerPermit::ProbeAt { at })
            else {
                continue;
            };
            state.breaker.probe();
            state.touch();
            self.probes.begin();
            self.delivering.counters.breaker_half_open(endpoint);
            let (outbox, lease_until) = (Arc::clone(&self.delivering.outbox), now.plus(self.delivering.settings.lease));
            self.push_task(async move {
                let result = outbox.claim_probe(endpoint, now, lease_until).await;
                TaskOutcome::Probed { endpoint, lease_until, result }
            });
        }
    }

    /// Probes an endpoint with the notification that was claimed for it.
    pub(super) fn handle_probe_claimed(
        &mut self,
        endpoint: EndpointId,
        lease_until: Timestamp,
        result: Result<Option<Delivery>, StoreError>,
    ) {
        let later = self.delivering.clock.now().plus(self.delivering.settings.breaker.first_wait);
        let claimed = self.store.ok_or_keep(result);
        let still_open = self.endpoint_state(endpoint).breaker.permit() == BreakerPermit::Nothing;
        let too_late = lease_until < self.latest_end();
        match claimed {
            Some(Some(delivery)) if still_open && !self.stopping && too_late => {
                self.release(delivery.key, Duration::ZERO);
                self.postpone_probe(endpoint, later);
            }
            Some(Some(delivery)) if still_open && !self.stopping => {
                self.count_takeover(&delivery);
                self.start(delivery, true);
            }
            Some(Some(delivery)) => self.accept(vec![delivery], lease_until),
            Some(None) if still_open => {
                self.endpoint_state(endpoint).breaker.nothing_to_try();
                self.delivering.counters.breaker_opened(endpoint);
            }
            None if still_open => self.postpone_probe(endpoint, later),
            Some(None) | None => {}
        }
    }

    /// Postpones a probe that was not made.
    fn postpone_probe(&mut self, endpoint: EndpointId, at: Timestamp) {
        self.endpoint_state(endpoint).breaker.not_tried(at);
        self.probes.add(endpoint, at);
        self.delivering.counters.breaker_opened(endpoint);
    }

    /// Parks notifications of a dead endpoint whose retry period is over.
    pub(super) fn park_overdue(&mut self, endpoint: EndpointId) {
        if self.stopping {
            return;
        }
        let now = self.delivering.clock.now();
        let give_up_before = now.minus(self.endpoint_state(endpoint).give_up_after);
        let outbox = Arc::clone(&self.delivering.outbox);
        self.push_task(async move {
            let result = outbox.park_overdue(endpoint, give_up_before, now, MAX_PARKED_ROWS).await;
            TaskOutcome::Overdue { endpoint, result }
        });
    }

    pub(super) fn parked_overdue(&mut self, endpoint: EndpointId, result: Result<u32, StoreError>) {
        let Some(parked) = self.store.ok_or_keep(result).filter(|parked| *parked != 0) else { return };
        for _ in 0..parked {
            self.delivering.counters.parked();
        }
        log::error!("{}", ParkedDisplay { parked, endpoint });
        // There may be more of them, and what came behind these may be overdue as well.
        self.park_overdue(endpoint);
    }

    /// Drops the state of idle endpoints.
    fn sweep(&mut self, now: Instant) {
        if now < self.swept_at + SWEEP_INTERVAL {
            return;
        }
        self.swept_at = now;
        let by = self.delivering;
        self.endpoint_states.retain(|endpoint, state| {
            let forgotten = state.is_expired(now);
            if forgotten && state.breaker.open_since().is_some() {
                by.counters.breaker_closed(*endpoint);
            }
            !forgotten
        });
    }
}
