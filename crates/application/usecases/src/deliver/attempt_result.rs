//! The result of an attempt: what follows for its notification and for its endpoint.

use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_notification::{AttemptOutcome, BreakerChange, BreakerPermit, DeliveryFailure, RetryDecision, Tried};
use dropin_ports::{AttemptRecord, AttemptResult, Delivery, DeliveryResult};

use super::Delivering;
use super::attempt_display::{AttemptDisplay, NotificationDisplay, RepairHint, fault_note};
use super::dispatcher::{Dispatcher, FinishedAttempt};
use crate::random::up_to;

impl Dispatcher<'_> {
    /// Records the result of an attempt.
    pub(super) fn handle_attempt(&mut self, attempt: FinishedAttempt) {
        let FinishedAttempt { delivery, probe, sent, timing } = attempt;
        self.in_flight -= 1;
        let (endpoint, outcome) = (delivery.endpoint_id, &sent.outcome);
        let state = self.endpoint_state(endpoint);
        state.in_flight -= 1;
        state.touch();
        if *outcome == (AttemptOutcome::Failed { why: DeliveryFailure::Stopped }) {
            return self.release_unsent(&delivery, probe);
        }
        self.delivering.counters.attempt(outcome);
        let result = match outcome {
            AttemptOutcome::Answered { status: 200, .. } => self.acknowledged(&delivery, probe),
            _ => self.failed(&delivery, outcome, probe),
        };
        let record = timing.map(|(started_at, took)| AttemptRecord {
            endpoint_id: endpoint,
            event_id: delivery.event_id,
            started_at,
            took,
            status: status(&sent.outcome),
            why: why(&sent.outcome),
            answer: sent.answer,
        });
        let finished = AttemptResult { key: delivery.key, result, record };
        match result {
            DeliveryResult::Parked if probe => self.write_parked(endpoint, finished),
            _ => self.results.push(finished),
        }
        self.start_waiting(endpoint);
        if self.endpoint_state(endpoint).more {
            self.claim_more(endpoint);
        }
    }

    /// Releases a notification that was not sent because the webhook sender has stopped: this is no attempt.
    fn release_unsent(&mut self, delivery: &Delivery, probe: bool) {
        let later = self.delivering.clock.now().plus(self.delivering.settings.breaker.first_wait);
        if probe {
            self.endpoint_state(delivery.endpoint_id).breaker.not_tried(later);
        }
        self.release(delivery.key, Duration::ZERO);
        if !std::mem::replace(&mut self.sender_stopped, true) {
            log::error!(
                "notifier: the webhook client has stopped; the notifier ends, so that its supervisor starts it again"
            );
        }
    }

    fn acknowledged(&mut self, delivery: &Delivery, probe: bool) -> DeliveryResult {
        const OK: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
        let now = self.delivering.clock.now();
        self.delivering.counters.acknowledged(now.since(delivery.happened_at));
        log::debug!("{} acknowledged", NotificationDisplay(delivery));
        self.endpoint_state(delivery.endpoint_id).acknowledged();
        self.update_breaker(delivery, &OK, probe, 0);
        DeliveryResult::Acknowledged
    }

    fn failed(&mut self, delivery: &Delivery, outcome: &AttemptOutcome, probe: bool) -> DeliveryResult {
        let by = self.delivering;
        let (now, jitter) = (by.clock.now(), by.jitter_per_mille());
        let schedule = delivery.retry.as_ref().unwrap_or(&by.schedule);
        self.endpoint_state(delivery.endpoint_id).give_up_after = schedule.give_up_after();
        let probe_at = self.update_breaker(delivery, outcome, probe, jitter);
        let verdict = match probe_at {
            Some(at) => schedule.after_probe(outcome, delivery.first_try, now, at),
            None => schedule.after(outcome, delivery.tries(), delivery.first_try, now, jitter),
        };
        if matches!(outcome, AttemptOutcome::Answered { status: 410, .. }) {
            self.log_gone(delivery);
        }
        match verdict {
            RetryDecision::Acknowledged => DeliveryResult::Acknowledged,
            RetryDecision::Hold { at } => {
                log::info!(
                    "{}: {}; the endpoint is still dead, next probe at {at}",
                    NotificationDisplay(delivery),
                    AttemptDisplay(outcome)
                );
                DeliveryResult::Held { at }
            }
            RetryDecision::Retry { at } => {
                log::warn!("{}: {}; due again at {at}", NotificationDisplay(delivery), AttemptDisplay(outcome));
                DeliveryResult::Retry { at }
            }
            RetryDecision::Park => {
                by.counters.parked();
                log::error!(
                    "{}: {}; given up, `dropin notification replay {}` sends it again",
                    NotificationDisplay(delivery),
                    AttemptDisplay(outcome),
                    delivery.event_id
                );
                DeliveryResult::Parked
            }
        }
    }

    /// Reports an attempt to the breaker. Returns when the next probe is due if this was a probe that failed.
    fn update_breaker(
        &mut self,
        delivery: &Delivery,
        outcome: &AttemptOutcome,
        probe: bool,
        jitter: i32,
    ) -> Option<Timestamp> {
        let (endpoint, merchant, now) = (delivery.endpoint_id, delivery.merchant_id, self.delivering.clock.now());
        let rules = self.delivering.settings.breaker;
        let state = self.endpoint_state(endpoint);
        let tried = Tried { outcome, first: delivery.tries() == 1, probe };
        let change = state.breaker.tried(&rules, tried, now, jitter)?;
        let BreakerPermit::ProbeAt { at } = state.breaker.permit() else {
            log::info!("endpoint {endpoint} of merchant {merchant} is back");
            state.reset_after_close();
            self.delivering.counters.breaker_closed(endpoint);
            self.claims.poll_again = true;
            return None;
        };
        match change {
            BreakerChange::Opened => log::warn!(
                "endpoint {endpoint} of merchant {merchant} counts as dead: {}{}; it is probed, and its notifications wait",
                AttemptDisplay(outcome),
                fault_note(outcome)
            ),
            BreakerChange::StillOpen if state.should_log_dead(now) => log::error!(
                "endpoint {endpoint} of merchant {merchant} has been dead for an hour: {}{}; its notifications wait, and are parked when their time is over{}",
                AttemptDisplay(outcome),
                fault_note(outcome),
                RepairHint { outcome, endpoint }
            ),
            BreakerChange::Asked => {
                log::info!("endpoint {endpoint} of merchant {merchant} asked for no notifications until {at}")
            }
            BreakerChange::StillOpen | BreakerChange::Closed => {}
        }
        if change == BreakerChange::StillOpen && state.should_park_overdue(now) {
            self.park_overdue(endpoint);
        }
        self.delivering.counters.breaker_opened(endpoint);
        self.probes.add(endpoint, at);
        self.release_waiting(endpoint);
        (change == BreakerChange::StillOpen).then_some(at)
    }

    fn log_gone(&mut self, delivery: &Delivery) {
        let (endpoint, merchant, now) = (delivery.endpoint_id, delivery.merchant_id, self.delivering.clock.now());
        if self.endpoint_state(endpoint).should_log_gone(now) {
            log::error!(
                "endpoint {endpoint} of merchant {merchant} answers 410: it wants no notifications. It is tried again as after any other \
                 refusal; ask the merchant, then `dropin merchant endpoint set {endpoint} --url URL` moves it, or \
                 `dropin merchant endpoint remove {endpoint}` ends it"
            );
        }
    }
}

impl Delivering {
    /// From −200 to 200, evenly.
    pub(super) fn jitter_per_mille(&self) -> i32 {
        up_to(400, &*self.ids) as i32 - 200
    }
}

const fn status(outcome: &AttemptOutcome) -> Option<u16> {
    match outcome {
        AttemptOutcome::Answered { status, .. } => Some(*status),
        AttemptOutcome::Failed { .. } => None,
    }
}

const fn why(outcome: &AttemptOutcome) -> Option<&'static str> {
    match outcome {
        AttemptOutcome::Answered { .. } => None,
        AttemptOutcome::Failed { why } => Some(why.as_str()),
    }
}
