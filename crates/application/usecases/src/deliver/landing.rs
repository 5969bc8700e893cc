//! What follows from a try, for its notification and for its endpoint.

use std::cmp::Reverse;
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_notification::{AttemptOutcome, Change, Failure, Passage, Tried, Verdict};
use dropin_ports::{AttemptRecord, Delivery, DeliveryResult, FinishedTry};

use super::Delivering;
use super::flights::{Flights, Landed};
use super::told::{MendedBy, Named, Told, whose_fault};
use crate::chance::up_to;

impl Flights<'_> {
    /// Notes what came of a try.
    pub(super) fn note(&mut self, landed: Landed) {
        let Landed { delivery, probe, sent, flew } = landed;
        self.flying -= 1;
        let (endpoint, outcome) = (delivery.endpoint_id, &sent.outcome);
        let share = self.share(endpoint);
        share.busy -= 1;
        share.used();
        if *outcome == (AttemptOutcome::Failed { why: Failure::Stopped }) {
            return self.unsent(&delivery, probe);
        }
        self.by.counters.attempt(outcome);
        let result = match outcome {
            AttemptOutcome::Answered { status: 200, .. } => self.acknowledged(&delivery, probe),
            _ => self.failed(&delivery, outcome, probe),
        };
        let record = flew.map(|(started_at, took)| AttemptRecord {
            endpoint_id: endpoint,
            event_id: delivery.event_id,
            started_at,
            took,
            status: status(&sent.outcome),
            why: why(&sent.outcome),
            answer: sent.answer,
        });
        let finished = FinishedTry { key: delivery.key, result, record };
        match result {
            DeliveryResult::Parked if probe => self.end(endpoint, finished),
            _ => self.finished(finished),
        }
        self.start_waiting(endpoint);
        if self.share(endpoint).more {
            self.claim_more(endpoint);
        }
    }

    /// Gives back what could not be sent because there is nobody any more who sends: no try was made.
    fn unsent(&mut self, delivery: &Delivery, probe: bool) {
        let later = self.by.clock.now().plus(self.by.pace.breaker.first_wait);
        if probe {
            self.share(delivery.endpoint_id).breaker.not_tried(later);
        }
        self.give_back(delivery.key, Duration::ZERO);
        if !std::mem::replace(&mut self.senderless, true) {
            log::error!("notifier: whoever sends notifications has died; this stops so that it is started again");
        }
    }

    fn acknowledged(&mut self, delivery: &Delivery, probe: bool) -> DeliveryResult {
        const OK: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
        let now = self.by.clock.now();
        self.by.counters.acknowledged(now.since(delivery.happened_at));
        log::debug!("{} acknowledged", Named(delivery));
        self.share(delivery.endpoint_id).acknowledged();
        self.learn(delivery, &OK, probe, 0);
        DeliveryResult::Acknowledged
    }

    fn failed(&mut self, delivery: &Delivery, outcome: &AttemptOutcome, probe: bool) -> DeliveryResult {
        let by = self.by;
        let (now, jitter) = (by.clock.now(), by.jitter_per_mille());
        let schedule = delivery.retry.as_ref().unwrap_or(&by.schedule);
        self.share(delivery.endpoint_id).give_up_after = schedule.give_up_after();
        let look_at = self.learn(delivery, outcome, probe, jitter);
        let verdict = match look_at {
            Some(at) => schedule.after_probe(outcome, delivery.first_try, now, at),
            None => schedule.after(outcome, delivery.tries(), delivery.first_try, now, jitter),
        };
        if matches!(outcome, AttemptOutcome::Answered { status: 410, .. }) {
            self.tell_gone(delivery);
        }
        match verdict {
            Verdict::Acknowledged => DeliveryResult::Acknowledged,
            Verdict::Hold { at } => {
                log::info!("{}: {}; the endpoint is still dead, next look at {at}", Named(delivery), Told(outcome));
                DeliveryResult::Held { at }
            }
            Verdict::Retry { at } => {
                log::warn!("{}: {}; due again at {at}", Named(delivery), Told(outcome));
                DeliveryResult::Retry { at }
            }
            Verdict::Park => {
                by.counters.parked();
                log::error!(
                    "{}: {}; given up, `dropin notification replay {}` sends it again",
                    Named(delivery),
                    Told(outcome),
                    delivery.event_id
                );
                DeliveryResult::Parked
            }
        }
    }

    /// Lets the breaker learn from a try. Returns when the next look is made if this was one, in vain.
    fn learn(&mut self, delivery: &Delivery, outcome: &AttemptOutcome, probe: bool, jitter: i32) -> Option<Timestamp> {
        let (endpoint, merchant, now) = (delivery.endpoint_id, delivery.merchant_id, self.by.clock.now());
        let rules = self.by.pace.breaker;
        let share = self.share(endpoint);
        let tried = Tried { outcome, first: delivery.tries() == 1, probe };
        let change = share.breaker.tried(&rules, tried, now, jitter)?;
        let Passage::ProbeAt { at } = share.breaker.passage() else {
            log::info!("endpoint {endpoint} of merchant {merchant} is back");
            share.is_back();
            self.by.counters.breaker_closed(endpoint);
            self.hungry = true;
            return None;
        };
        match change {
            Change::Opened => log::warn!(
                "endpoint {endpoint} of merchant {merchant} is taken for dead: {}{}; it is looked at now and then, and what is for it waits",
                Told(outcome),
                whose_fault(outcome)
            ),
            Change::StillOpen if share.is_death_news(now) => log::error!(
                "endpoint {endpoint} of merchant {merchant} has been dead for an hour: {}{}; what is for it waits, and is given up in the end{}",
                Told(outcome),
                whose_fault(outcome),
                MendedBy { outcome, endpoint }
            ),
            Change::Asked => log::info!("endpoint {endpoint} of merchant {merchant} asks to be left alone until {at}"),
            Change::StillOpen | Change::Closed => {}
        }
        if change == Change::StillOpen && share.looks_for_overdue(now) {
            self.park_overdue(endpoint);
        }
        self.by.counters.breaker_opened(endpoint);
        self.probes.push(Reverse((at, endpoint)));
        self.give_back_waiting(endpoint);
        (change == Change::StillOpen).then_some(at)
    }

    fn tell_gone(&mut self, delivery: &Delivery) {
        let (endpoint, merchant, now) = (delivery.endpoint_id, delivery.merchant_id, self.by.clock.now());
        if self.share(endpoint).is_gone_news(now) {
            log::error!(
                "endpoint {endpoint} of merchant {merchant} answers 410: nobody is told of anything there. It is tried again as after any other \
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
