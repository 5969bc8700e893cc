//! The guard in front of the client: a bulkhead for each kind of call, and a circuit breaker for all.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dropin_kernel::MerchantId;
use dropin_ports::DurationCounts;
use tokio::sync::watch;

use crate::breaker::{Breaker, BreakerState, Change};
use crate::bulkhead::{Bulkhead, Permit};
use crate::config::ProcessorConfig;
use crate::health::{CallKind, Outcomes, ProcessorHealth};
use crate::key_status::KeyStatus;

/// Bounds of the buckets of a call's time; the longest call has [`ProcessorConfig`]'s deadline, eight seconds in a deployment.
const CALL_TIME_BOUNDS: [Duration; 9] = [
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Why a call was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeldBack {
    /// It answers nobody.
    #[error("the processor answers nobody; calls are held back until it does")]
    Open,
    /// All places are taken, for too long.
    #[error("too many calls to the processor are under way")]
    Full,
    /// The merchant has its share of them.
    #[error("this merchant has as many calls to the processor under way as one may have")]
    Share,
}

#[derive(Debug)]
pub(crate) struct Guard {
    /// The processor's host and port, for the log.
    name: String,
    breaker: Mutex<Breaker>,
    /// Whether calls are held back; wakes those who wait in line.
    holding: watch::Sender<bool>,
    payments: Bulkhead,
    questions: Bulkhead,
    pub(crate) outcomes: Outcomes,
    /// How long calls of payments took.
    payment_times: DurationCounts,
    /// How long questions took.
    question_times: DurationCounts,
    /// Whether the processor accepts our key.
    pub(crate) key: KeyStatus,
}

impl Guard {
    pub(crate) fn new(config: &ProcessorConfig) -> Self {
        Self {
            name: config.name.clone(),
            breaker: Mutex::new(Breaker::new(config.breaker)),
            holding: watch::Sender::new(false),
            payments: Bulkhead::new(config.limits.payments, config.limits.share),
            questions: Bulkhead::new(config.limits.questions, config.limits.share),
            outcomes: Outcomes::new(),
            payment_times: DurationCounts::new(&CALL_TIME_BOUNDS),
            question_times: DurationCounts::new(&CALL_TIME_BOUNDS),
            key: KeyStatus::default(),
        }
    }

    /// Waits for a permit, no longer than `patience`. A call is in flight while it holds its permit.
    pub(crate) async fn enter(
        &self,
        asked: CallKind,
        merchant: Option<MerchantId>,
        patience: Duration,
    ) -> Result<Permit, HeldBack> {
        let bulkhead = if asked.is_payment() { &self.payments } else { &self.questions };
        let mut holding = self.holding.subscribe();
        tokio::select! {
            biased;
            _ = holding.wait_for(|holding| *holding) => Err(HeldBack::Open),
            permit = bulkhead.enter(merchant, patience) => permit,
        }
    }

    /// A call took so long, with an answer or without.
    pub(crate) fn took(&self, asked: CallKind, time: Duration) {
        let times = if asked.is_payment() { &self.payment_times } else { &self.question_times };
        times.count(time);
    }

    /// How long calls took, by the room that they need.
    pub(crate) fn times(&self) -> [(&'static str, &DurationCounts); 2] {
        [("payments", &self.payment_times), ("questions", &self.question_times)]
    }

    /// A call ended, with an answer or without. True: somebody has to watch over the processor, see [`Guard::pause`].
    pub(crate) fn ended(&self, answered: bool) -> bool {
        let mut breaker = self.breaker();
        if !answered {
            return breaker.unanswered(Instant::now());
        }
        let change = breaker.answered();
        self.changed(breaker, change);
        false
    }

    /// Whether calls are held back now.
    pub(crate) fn holds_back(&self) -> bool {
        *self.holding.borrow()
    }

    /// How long to wait before asking whether the processor is there; none when nobody needs to know any more.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.breaker().pause()
    }

    /// The pause is over. Whether to ask now.
    pub(crate) fn begin_probe(&self) -> bool {
        self.breaker().begin_probe()
    }

    /// It was asked, and answered or not.
    pub(crate) fn probed(&self, answered: bool) {
        let mut breaker = self.breaker();
        let change = breaker.probed(answered);
        self.changed(breaker, change);
    }

    pub(crate) fn health(&self) -> ProcessorHealth {
        let (breaker, opened) = {
            let breaker = self.breaker();
            (breaker.state(), breaker.opened())
        };
        let (payments, questions) = (self.payments.occupancy(), self.questions.occupancy());
        ProcessorHealth { breaker, opened, payments, questions, outcomes: self.outcomes.all() }
    }

    /// Tells everybody, while nobody can change it again; and the log, once.
    fn changed(&self, breaker: MutexGuard<'_, Breaker>, change: Option<Change>) {
        let Some(change) = change else { return };
        let holding = breaker.state() != BreakerState::Closed;
        self.holding.send_replace(holding);
        drop(breaker);
        let processor = self.name.as_str();
        match change {
            Change::Opened => log::warn!(
                processor;
                "processor: it answers nobody; new calls are held back until it does, and it is asked every few seconds"
            ),
            Change::Closed => log::info!(processor; "processor: it answers again; calls pass"),
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        // Every change of it is whole at any point.
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::breaker::ProcessorBreakerRules;
    use crate::config::CallLimits;
    use crate::health::Occupancy;

    const LONG: Duration = Duration::from_secs(60);

    fn guard() -> Guard {
        let config = ProcessorConfig::new("http://127.0.0.1:1", String::new(), LONG).unwrap();
        let breaker = ProcessorBreakerRules { failures: 1, ..ProcessorBreakerRules::default() };
        Guard::new(&config.with_call_limits(CallLimits { payments: 1, questions: 0, share: 50 }).with_breaker(breaker))
    }

    fn open(guard: &Guard) {
        assert!(guard.ended(false));
        guard.probed(false);
    }

    #[actix_web::test]
    async fn whoever_waits_in_line_hears_at_once_that_calls_are_held_back() {
        let guard = guard();
        let permit = guard.enter(CallKind::Capture, None, LONG).await.unwrap();
        {
            let mut waiter = pin!(guard.enter(CallKind::Refund, None, LONG));
            assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(guard.health().payments, Occupancy { capacity: 1, under_way: 1, waiting: 1 });
            open(&guard);
            assert_eq!(waiter.await.err(), Some(HeldBack::Open));
        }
        assert_eq!(guard.health().payments, Occupancy { capacity: 1, under_way: 1, waiting: 0 });
        drop(permit);
        assert_eq!(guard.enter(CallKind::Void, None, LONG).await.err(), Some(HeldBack::Open), "with a permit free");
        assert_eq!(guard.enter(CallKind::Status, None, LONG).await.err(), Some(HeldBack::Open));
        assert!(!guard.ended(true));
        assert!(guard.enter(CallKind::Void, None, LONG).await.is_ok());
    }

    #[actix_web::test]
    async fn a_permit_goes_to_the_first_waiter_and_waiting_has_an_end() {
        let guard = guard();
        let permit = guard.enter(CallKind::Authorize, None, LONG).await.unwrap();
        assert_eq!(guard.enter(CallKind::Authorize, None, Duration::from_millis(1)).await.err(), Some(HeldBack::Full));
        {
            let (mut first, mut second) =
                (pin!(guard.enter(CallKind::Void, None, LONG)), pin!(guard.enter(CallKind::Void, None, LONG)));
            let mut context = Context::from_waker(Waker::noop());
            assert!(first.as_mut().poll(&mut context).is_pending() && second.as_mut().poll(&mut context).is_pending());
            drop(permit);
            assert!(second.as_mut().poll(&mut context).is_pending());
            assert!(matches!(first.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
        }
        assert_eq!(guard.health().payments, Occupancy { capacity: 1, under_way: 0, waiting: 0 });
    }

    #[actix_web::test]
    async fn every_kind_of_call_has_its_bulkhead_and_none_is_without_a_permit() {
        let guard = guard();
        let _payment = guard.enter(CallKind::Capture, None, LONG).await.unwrap();
        let question = guard.enter(CallKind::Status, None, LONG).await.unwrap();
        for asked in [CallKind::Abandon, CallKind::Journal, CallKind::Authorize, CallKind::Refund] {
            assert_eq!(
                guard.enter(asked, None, Duration::from_millis(1)).await.err(),
                Some(HeldBack::Full),
                "{asked:?}"
            );
        }
        drop(question);
        assert!(guard.enter(CallKind::Abandon, None, LONG).await.is_ok());
    }
}
