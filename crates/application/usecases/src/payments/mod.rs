//! Money flows. Every effect at the processor has one shape: *prepare* (one transaction, with a durable record of what is about to be asked),
//! *call* (nothing held), *settle* (one transaction, guarded by the operation being open). Whoever dies in between leaves an open operation,
//! and [`Payments::settle_one`] finishes it by asking the processor about its key.
//!
//! The caller runs these functions where nobody can cancel them halfway (the edge's tracked runtime): a shopper's reset connection must not
//! stop our code between the processor's yes and our commit.

mod answer;
mod cancel;
mod capture;
mod checkout;
mod decide;
mod expire;
mod looks;
mod orders;
mod recover;
mod refund;
mod review;
mod shopper;
mod submit;
mod till;
mod way_back;

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{MerchantId, OpId};
use dropin_order::{DeclineReason, OpKind, OpState, Operation, Order, Refund};
use dropin_ports::{
    Actor, Applied, CaptureRequest, ClaimedOperation, Clock, History, IdSource, Payment, PaymentStore, Processor,
    ProcessorAnswer, Question, RefundRequest, Settled, StoreError, Subject, VoidRequest,
};
use dropin_session::Session;

use self::decide::Terms;

pub use cancel::CancelError;
pub use capture::{CaptureError, CaptureReason};
pub use checkout::{CheckoutAsk, CheckoutError, Checkouts};
pub use looks::Looks;
pub use orders::OrderError;
pub use refund::{RefundAsk, RefundError};
pub use review::{ReviewError, ReviewOutcome};
pub use shopper::{Page, Progress, Shopper, ShopperError, ShopperView};
pub use submit::{Submit, SubmitError, Submitted};
pub use way_back::WayBack;

/// How often a decision is made again after somebody else changed the row first.
const DECISIONS: u32 = 8;
/// The same for writing down what a processor has done: giving up there leaves it to the settler, and whoever waits without an answer.
const SETTLEMENTS: u32 = 40;
/// Longest pause between two decisions.
const LONGEST_BREATH: Duration = Duration::from_millis(60);

/// Longest that a call to the processor may take: less than an operation's lease ([`Timing::lease`]), so that nobody takes one over while its call is
/// under way.
pub const PROCESSOR_DEADLINE: Duration = Duration::from_secs(8);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long an operation belongs to the flow that prepared it, counted from when that was decided. From then on the store may keep that flow
    /// waiting three times (for the merchant, for the stash, and to write it down; three seconds each, its deadline), and a call to the
    /// processor may end a little after its own. Whoever looks earlier asks about a call that is under way, hears that nothing
    /// is known of it, and has it refused for ever: nothing is lost, but a slow payment fails that need not. Whoever looks later leaves what a
    /// crash left open to wait for longer.
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
            lease: Duration::from_secs(20),
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

/// Who asked, and so who hears of a refusal that need not be for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A merchant who waits for the answer and decides whether to try again.
    Waiting,
    /// Nobody waits: it is tried again, under a new key, until it succeeds, is refused for good, or its time is over.
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
    /// Its refund.
    pub(crate) refund: Option<Refund>,
    /// What must be asked next.
    pub(crate) follow_up: Option<Operation>,
}

impl Conclusion {
    /// How things stand when nothing follows.
    fn of(payment: Payment) -> Self {
        let Payment { operation, order, session, refund } = payment;
        Self { state: operation.state, order, session, refund, follow_up: None }
    }

    /// What must be asked next, with all that it belongs to.
    fn into_next(self) -> Option<Payment> {
        let Self { order, session, follow_up, .. } = self;
        follow_up.map(|operation| Payment { operation, order, session, refund: None })
    }
}

impl Payments {
    /// Asks for an operation of this merchant's that was prepared, and writes down what came of it; harmless to repeat.
    ///
    /// # Errors
    /// [`StoreError`]; the operation then stays open and the settler finishes it.
    pub async fn finish(&self, merchant: MerchantId, operation: Operation) -> Result<(), StoreError> {
        self.ask(merchant, &operation, Asker::Nobody).await.map(drop)
    }

    /// The same for what follows from an outcome that was written down a moment ago.
    ///
    /// # Errors
    /// As for [`Payments::finish`].
    pub async fn follow_up(&self, next: Payment) -> Result<(), StoreError> {
        self.go_on(next).await.map(drop)
    }

    async fn go_on(&self, next: Payment) -> Result<Conclusion, StoreError> {
        let answer = self.call(next.order.merchant_id, &next.operation).await?;
        let terms = Terms { asker: Asker::Nobody, accept: false };
        self.conclude_known(next, answer, terms).await.map_err(after_asking)
    }

    /// Asks for anything but an authorization, whose card only the shopper's flow has.
    async fn ask(&self, merchant: MerchantId, operation: &Operation, asker: Asker) -> Result<Conclusion, StoreError> {
        let answer = self.call(merchant, operation).await?;
        let terms = Terms { asker, accept: false };
        self.conclude(operation.id, answer, terms).await.map_err(after_asking)
    }

    async fn call(&self, merchant_id: MerchantId, operation: &Operation) -> Result<ProcessorAnswer, StoreError> {
        let (key, amount) = (operation.id, operation.amount.clone());
        let about = operation.authorization.ok_or_else(|| corrupt("an operation without its authorization"));
        Ok(match operation.kind {
            OpKind::Authorize => return Err(corrupt("an authorization is never asked for again")),
            OpKind::Capture => {
                self.processor.capture(CaptureRequest { key, merchant_id, authorization: about?, amount }).await
            }
            OpKind::Void => self.processor.void(VoidRequest { key, merchant_id, authorization: about? }).await,
            OpKind::Refund => {
                self.processor.refund(RefundRequest { key, merchant_id, authorization: about?, amount }).await
            }
        })
    }

    /// Writes down what the processor said, and all that follows from it, once: whoever comes second finds it done.
    async fn conclude(&self, key: OpId, answer: ProcessorAnswer, terms: Terms) -> Result<Conclusion, StoreError> {
        self.conclude_from(key, None, answer, terms).await
    }

    /// The same for an operation that was written down a moment ago, so that it need not be read: whoever has changed anything since is found
    /// out when the outcome is written.
    async fn conclude_known(
        &self,
        payment: Payment,
        answer: ProcessorAnswer,
        terms: Terms,
    ) -> Result<Conclusion, StoreError> {
        self.conclude_from(payment.operation.id, Some(payment), answer, terms).await
    }

    async fn conclude_from(
        &self,
        key: OpId,
        mut written: Option<Payment>,
        answer: ProcessorAnswer,
        terms: Terms,
    ) -> Result<Conclusion, StoreError> {
        for round in 0..SETTLEMENTS {
            self.breathe(round).await;
            let payment = match written.take() {
                Some(payment) => payment,
                None => self.store.find_payment(key).await?.ok_or_else(|| corrupt("an operation is missing"))?,
            };
            if !payment.operation.state.is_open() {
                return Ok(Conclusion::of(payment));
            }
            let nothing_held = ProcessorAnswer::Declined { reason: DeclineReason::Voided, retryable: false };
            let moot = matches!(answer, ProcessorAnswer::Declined { .. }) && self.holds_nothing(&payment).await?;
            let answer = if moot { &nothing_held } else { &answer };
            let mut decision = decide::decide(self, &payment, answer, terms)?;
            let nothing_new = decision.order.is_none() && decision.session.is_none() && decision.follow_up.is_none();
            if decision.state.is_open() && nothing_new {
                // Nothing changes but the time of the next look; whoever took the operation over since plans his own.
                let holder = ClaimedOperation { id: key, epoch: payment.operation.epoch };
                let operation = payment.operation.clone();
                let known = Conclusion { state: decision.state, ..Conclusion::of(payment) };
                // Whoever asked with a key need not wait any longer: a notification will tell.
                let pending = answer::of(&operation, &known);
                match self.store.postpone_operation(holder, decision.state, decision.due_at, pending).await? {
                    Applied::Done => return Ok(known),
                    Applied::Stale => continue,
                }
            }
            let after = Conclusion {
                state: decision.state,
                order: decision.order.as_ref().map_or(payment.order, |change| change.next.clone()),
                session: decision.session.as_ref().map(|change| change.next.clone()).or(payment.session),
                refund: decision.refund.clone().or(payment.refund),
                follow_up: decision.follow_up.clone(),
            };
            decision.answer = answer::of(&payment.operation, &after);
            match self.store.settle(decision).await? {
                Settled::Done => return Ok(after),
                Settled::AlreadySettled | Settled::Stale => {}
            }
        }
        Err(StoreError::Unavailable("an Order changes faster than it can be settled".to_owned()))
    }

    /// Whether this is a void of an authorization that was refused while the void was under way, which ended the Order: there is nothing to be
    /// voided, and never will be.
    async fn holds_nothing(&self, payment: &Payment) -> Result<bool, StoreError> {
        if payment.operation.kind != OpKind::Void || !payment.order.state.is_final() {
            return Ok(false);
        }
        let authorization = self.authorization_of(&payment.order).await?;
        Ok(matches!(authorization.state, OpState::Declined | OpState::Abandoned))
    }

    /// Lets others go first when many change one Order at once: longer each time, and not all alike.
    async fn breathe(&self, round: u32) {
        if 0 < round {
            let most = Duration::from_millis(4).saturating_mul(round).min(LONGEST_BREATH);
            let share = self.ids.random().as_bytes()[15];
            tokio::time::sleep(most * u32::from(share) / 255).await;
        }
    }

    pub(crate) fn op_id(&self) -> OpId {
        OpId::new(self.ids.ordered())
    }

    /// The approved authorization of an Order, or the one that still waits.
    async fn authorization_of(&self, order: &Order) -> Result<Operation, StoreError> {
        let operations = self.store.list_operations(order.id).await?;
        let authorization = operations.into_iter().find(|operation| operation.kind == OpKind::Authorize);
        authorization.ok_or_else(|| corrupt("an Order without an authorization"))
    }
}

/// What is asked about an operation of this merchant's.
fn question(merchant_id: MerchantId, operation: &Operation) -> Question {
    Question { key: operation.id, merchant_id, kind: operation.kind }
}

/// The history row of a step of `order`, which is how it stood before.
fn remembered(order: &Order, actor: &Actor, step: &dropin_order::Step) -> History {
    History {
        merchant_id: order.merchant_id,
        subject: Subject::Order(order.id),
        actor: actor.clone(),
        what: step.transition.trigger.as_str(),
        at: step.change.next.updated_at,
        before: Some(order.state.as_str()),
        after: step.transition.to.as_str(),
    }
}

/// Once the processor was asked, "nothing was changed" would be a lie: the settler will write down what it did.
pub(crate) fn after_asking(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(_) => StoreError::OutcomeUnknown,
        other => other,
    }
}

fn busy(what: &str) -> StoreError {
    StoreError::Unavailable(format!("the Order changes faster than it can be {what}"))
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt { table: "processor_op", what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_ended_when_somebody_else_may_take_its_operation_over() {
        let Timing { lease, claim, .. } = Timing::default();
        // The store's own deadline (decisions.md section 1), and what a call may end after its own.
        let (step, grace) = (Duration::from_secs(3), Duration::from_secs(1));
        assert!(3 * step + PROCESSOR_DEADLINE + grace < lease);
        assert!(2 * PROCESSOR_DEADLINE < claim);
    }
}
