//! Comparisons of the ledger with the processor's journal: one at a time, in the background, and what came of the last one that this process made.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_usecases::audit::{Audit, Report};

/// Longest that one may take.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Why one came to nothing.
#[derive(Debug, Clone)]
pub(crate) enum LedgerFailure {
    /// It passed the limit.
    TooLong,
    /// A fault of the program, which the log has.
    BrokeOff,
    /// What the comparison says itself.
    Failed(String),
}

/// One that was asked for.
#[derive(Clone)]
pub(crate) struct LedgerRun {
    /// By whom.
    pub(crate) by: String,
    /// When.
    pub(crate) began: Timestamp,
    /// Whether the processor's journal was left out.
    pub(crate) without_processor: bool,
    /// When it ended, and what came of it; `None` while it runs.
    pub(crate) outcome: Option<(Timestamp, Result<Arc<Report>, LedgerFailure>)>,
}

/// The last one.
#[derive(Clone, Default)]
pub(crate) struct LedgerRuns(Arc<Mutex<Option<LedgerRun>>>);

impl LedgerRuns {
    /// What is known of the last one.
    pub(crate) fn last(&self) -> Option<LedgerRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins one, unless one runs; whether it was begun. It goes on without whoever asked for it, and ends with the process.
    pub(crate) fn start(&self, audit: Audit, by: String) -> bool {
        let clock = audit.clock.clone();
        let run = LedgerRun { by, began: clock.now(), without_processor: audit.journal.is_none(), outcome: None };
        {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if last.as_ref().is_some_and(|last| last.outcome.is_none()) {
                return false;
            }
            *last = Some(run);
        }
        let runs = self.0.clone();
        actix_web::rt::spawn(async move {
            // A task of its own: whatever becomes of it, another comparison can begin.
            let verification =
                actix_web::rt::spawn(actix_web::rt::time::timeout(LIMIT, async move { audit.verify().await }));
            let outcome = match verification.await {
                Ok(Ok(Ok(report))) => Ok(Arc::new(report)),
                Ok(Ok(Err(error))) => Err(LedgerFailure::Failed(error.to_string())),
                Ok(Err(_elapsed)) => Err(LedgerFailure::TooLong),
                Err(_broken) => Err(LedgerFailure::BrokeOff),
            };
            if let Some(last) = runs.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                last.outcome = Some((clock.now(), outcome));
            }
        });
        true
    }
}
