//! Money flows. Every effect at the processor has one shape: *prepare* (one transaction, with a durable record of what is about to be asked),
//! *call* (nothing held), *settle* (one transaction, guarded by the operation being open). Whoever dies in between leaves an open operation,
//! and [`Payments::settle_one`] finishes it by asking the processor about its key.
//!
//! The caller runs these functions where nobody can cancel them halfway (the edge's tracked runtime): a shopper's reset connection must not
//! stop our code between the processor's yes and our commit.

mod capture;
mod decide;
mod orders;
mod recover;
mod shopper;
mod submit;

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::OpId;
use dropin_order::{OpKind, OpState, Operation, Order};
use dropin_ports::{
    Applied, CaptureRequest, ClaimedOperation, Clock, IdSource, PaymentStore, Processor, ProcessorAnswer, Settled,
    StoreError,
};
use dropin_session::Session;

pub use capture::{CaptureError, CaptureReason};
pub use orders::OrderError;
pub use shopper::{Progress, Shopper, ShopperError, ShopperView};
pub use submit::{Submit, SubmitError, Submitted};

/// How often a decision is made again after somebody else changed the row first.
const DECISIONS: usize = 8;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long an operation belongs to the flow that prepared it; longer than a call to the processor may take.
    pub lease: Duration,
    /// How long an operation belongs to the settler that took it over; longer than a question and a call together.
    pub claim: Duration,
    /// How long after an unclear answer the processor is asked about the key for the first time.
    pub first_look: Duration,
    /// Longest pause between two such questions.
    pub longest_pause: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(12),
            claim: Duration::from_secs(25),
            first_look: Duration::from_millis(500),
            longest_pause: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// The pause after `tries` questions without a clear answer: doubled each time, up to the longest.
    fn pause(&self, tries: u32) -> Duration {
        self.first_look.saturating_mul(1 << tries.min(16)).min(self.longest_pause)
    }
}

/// Who asked for a capture, and so who hears of a refusal that need not be for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A merchant who waits for the answer and decides whether to try again.
    Waiting,
    /// Nobody waits: it is tried again, under a new key, until it succeeds, is refused for good, or the capture window ends.
    Nobody,
}

/// Orders and everything that is asked of the processor.
#[derive(Clone)]
pub struct Payments {
    /// Where Orders and operations are kept.
    pub store: Arc<dyn PaymentStore>,
    /// Who moves the money.
    pub processor: Arc<dyn Processor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// How long things may take.
    pub timing: Timing,
}

/// How things stand after an answer was written down.
#[derive(Debug, Clone)]
pub(crate) struct Conclusion {
    /// What is known of the operation.
    pub(crate) state: OpState,
    /// Its Order.
    pub(crate) order: Order,
    /// Its Session.
    pub(crate) session: Option<Session>,
    /// What must be asked next, at once.
    pub(crate) follow_up: Option<Operation>,
}

impl Payments {
    /// Asks for a capture that was prepared, and writes down what came of it. The follow-up of a submit; harmless to repeat.
    ///
    /// # Errors
    /// [`StoreError`]; the operation then stays open and the settler finishes it.
    pub async fn finish_capture(&self, operation: Operation) -> Result<(), StoreError> {
        self.ask_capture(&operation, Asker::Nobody).await.map(drop)
    }

    async fn ask_capture(&self, operation: &Operation, asker: Asker) -> Result<Conclusion, StoreError> {
        let Some(authorization) = operation.authorization.filter(|_| operation.kind == OpKind::Capture) else {
            return Err(corrupt("a capture without its authorization"));
        };
        let request = CaptureRequest { key: operation.id, authorization, amount: operation.amount.clone() };
        let answer = self.processor.capture(request).await;
        self.conclude(operation.id, answer, asker).await.map_err(after_asking)
    }

    /// Writes down what the processor said, and all that follows from it, once: whoever comes second finds it done.
    pub(crate) async fn conclude(
        &self,
        key: OpId,
        answer: ProcessorAnswer,
        asker: Asker,
    ) -> Result<Conclusion, StoreError> {
        for _ in 0..DECISIONS {
            let payment = self.store.find_payment(key).await?.ok_or_else(|| corrupt("an operation is missing"))?;
            if !payment.operation.state.is_open() {
                let (state, follow_up) = (payment.operation.state, None);
                return Ok(Conclusion { state, order: payment.order, session: payment.session, follow_up });
            }
            let mut decision = decide::decide(self, &payment, &answer, asker)?;
            let answers = payment.operation.kind == OpKind::Capture;
            if decision.state.is_open() {
                // Nothing is known yet, so nothing changes but the time of the next look; whoever took the operation over since plans his own.
                let holder = ClaimedOperation { id: key, epoch: payment.operation.epoch };
                // Whoever asked with a key need not wait any longer: a notification will tell.
                let pending = answers.then(|| capture::answer(&payment.order));
                match self.store.postpone_operation(holder, decision.state, decision.due_at, pending).await? {
                    Applied::Done => {
                        let (state, follow_up) = (decision.state, None);
                        return Ok(Conclusion { state, order: payment.order, session: payment.session, follow_up });
                    }
                    Applied::Stale => continue,
                }
            }
            let after = Conclusion {
                state: decision.state,
                order: decision.order.as_ref().map_or(payment.order, |change| change.next.clone()),
                session: decision.session.as_ref().map(|change| change.next.clone()).or(payment.session),
                follow_up: decision.follow_up.clone(),
            };
            decision.answer = answers.then(|| capture::answer(&after.order));
            match self.store.settle(decision).await? {
                Settled::Done => return Ok(after),
                Settled::AlreadySettled | Settled::Stale => {}
            }
        }
        Err(StoreError::Unavailable("an Order changes faster than it can be settled".to_owned()))
    }
}

/// Once the processor was asked, "nothing was changed" would be a lie: the settler will write down what it did.
pub(crate) fn after_asking(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(_) => StoreError::OutcomeUnknown,
        other => other,
    }
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt { table: "processor_op", what: what.to_owned() }
}
