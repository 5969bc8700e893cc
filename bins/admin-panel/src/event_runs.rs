//! Events that operators make happen in a sandbox: one at a time for each merchant, in the background, and what came of the last ones that this
//! process made.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::rt::task::JoinHandle;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::Clock;
use dropin_trigger::TriggeredEvent;

/// Most that are kept of one merchant.
const MAX_RUNS: usize = 10;
/// Most merchants of which some are kept; then all that have ended are forgotten.
const MAX_MERCHANTS: usize = 500;

/// Why one did not happen.
#[derive(Debug, Clone)]
pub(crate) enum EventFailure {
    /// A fault of the program, which the log has.
    BrokeOff,
    /// What the run says itself.
    Failed(String),
}

/// One that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct EventRun {
    /// The EventType.
    pub(crate) event: &'static str,
    /// By whom.
    pub(crate) by: String,
    /// When.
    pub(crate) began: Timestamp,
    /// What came of it; `None` while it runs.
    pub(crate) outcome: Option<Result<TriggeredEvent, EventFailure>>,
}

type Runs = HashMap<MerchantId, VecDeque<EventRun>>;

/// The last ones of each merchant, newest first.
#[derive(Clone, Default)]
pub(crate) struct EventRuns(Arc<Mutex<Runs>>);

impl EventRuns {
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a merchant.
    pub(crate) fn of(&self, merchant: MerchantId) -> Vec<EventRun> {
        self.lock().get(&merchant).into_iter().flatten().cloned().collect()
    }

    /// Begins one, unless one of the merchant's runs. It goes on without who asked for it, and ends with the process.
    pub(crate) fn start(
        &self,
        merchant: MerchantId,
        event: &'static str,
        by: String,
        clock: &dyn Clock,
        run: impl Future<Output = Result<TriggeredEvent, EventFailure>> + 'static,
    ) -> Option<JoinHandle<()>> {
        {
            let mut all = self.lock();
            if MAX_MERCHANTS <= all.len() {
                all.retain(|_, runs| runs.front().is_some_and(|run| run.outcome.is_none()));
            }
            let runs = all.entry(merchant).or_default();
            if runs.front().is_some_and(|last| last.outcome.is_none()) {
                return None;
            }
            runs.truncate(MAX_RUNS - 1);
            runs.push_front(EventRun { event, by, began: clock.now(), outcome: None });
        }
        let all = self.clone();
        Some(actix_web::rt::spawn(async move {
            // A task of its own: whatever becomes of it, another one can begin.
            let outcome = actix_web::rt::spawn(run).await.unwrap_or(Err(EventFailure::BrokeOff));
            if let Some(run) = all.lock().get_mut(&merchant).and_then(VecDeque::front_mut) {
                run.outcome = Some(outcome);
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use dropin_boot::SystemClock;

    use super::*;

    type Run = Pin<Box<dyn Future<Output = Result<TriggeredEvent, EventFailure>>>>;

    #[actix_web::test]
    async fn one_runs_at_a_time_and_the_last_ones_are_kept() {
        let (runs, merchant) = (EventRuns::default(), MerchantId::new(uuid::Uuid::nil()));
        let start = |run: Run| runs.start(merchant, "ORDER_PROCESSED", "ada".to_owned(), &SystemClock, run);
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let first = start(Box::pin(async move {
            drop(ended.await);
            Err(EventFailure::Failed("why".to_owned()))
        }));
        let first = first.expect("none runs");
        assert!(start(Box::pin(async { Err(EventFailure::BrokeOff) })).is_none(), "one runs");
        assert!(runs.of(merchant)[0].outcome.is_none());
        drop(end);
        first.await.expect("it ends");
        assert!(matches!(&runs.of(merchant)[0].outcome, Some(Err(EventFailure::Failed(why))) if why == "why"));
        for _ in 0..MAX_RUNS + 3 {
            start(Box::pin(async { panic!("on purpose") })).expect("none runs").await.expect("it ends");
        }
        let kept = runs.of(merchant);
        assert_eq!(kept.len(), MAX_RUNS);
        assert!(kept.iter().all(|run| matches!(run.outcome, Some(Err(EventFailure::BrokeOff)))), "{kept:?}");
    }
}
