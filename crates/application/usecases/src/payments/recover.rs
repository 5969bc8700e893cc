//! The settler's work: operations whose outcome is open, finished by asking the processor about their key.
//!
//! A capture, void or refund that is surely absent is sent again under the same key. An authorization never is (its code is gone and the shopper
//! may have left): it is looked up, and when absent the processor is told to refuse its key for ever before the attempt fails.

use dropin_kernel::OpId;
use dropin_order::{DeclineReason, OpKind, Operation, OrderState};
use dropin_ports::{ClaimedOperation, NewAuditEntry, Payment, ProcessorReply, StatusReply, StoreError, Waiting};

use super::decide::DecisionPolicy;
use super::screened::ScreenedReply;
use super::{Asker, Conclusion, Payments, question};

/// What came of asking the processor about an operation.
pub(super) struct PollOutcome {
    pub(super) conclusion: Conclusion,
    /// The processor says that its page still waits for the shopper.
    pub(super) page_is_open: bool,
}

impl Payments {
    /// Takes over operations that are due, at most `limit`, oldest first. Each is then finished with [`Payments::settle_one`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn claim_due(&self, limit: u32) -> Result<Vec<ClaimedOperation>, StoreError> {
        let now = self.clock.now();
        self.store.claim_due_operations(now, now.plus(self.timing.claim), limit).await
    }

    /// Takes a processor's hint that something has happened to these operations: the settler asks about them at once. What the hint says besides is
    /// never believed.
    ///
    /// # Errors
    /// [`StoreError`]; the settler asks in its own time.
    pub async fn look_soon(&self, operations: &[OpId]) -> Result<(), StoreError> {
        if operations.is_empty() {
            return Ok(());
        }
        self.store.make_due(operations, self.clock.now()).await
    }

    /// Asks the processor about one operation and writes down what it says. Says whether the outcome is known now.
    ///
    /// # Errors
    /// [`StoreError`]; the operation stays due.
    pub async fn settle_one(&self, claim: ClaimedOperation) -> Result<bool, StoreError> {
        Ok(self.poll_processor(claim.id).await?.is_some_and(|polled| !polled.conclusion.state.is_open()))
    }

    /// Asks about an operation and does what follows at once; `None` when there is no such operation.
    pub(super) async fn poll_processor(&self, id: OpId) -> Result<Option<PollOutcome>, StoreError> {
        self.poll_as(id, DecisionPolicy::of(Asker::Nobody), None).await
    }

    /// The same by a policy, with the entry of the act that made it. A capture under a known key was asked for before, and is not again.
    pub(super) async fn poll_as(
        &self,
        id: OpId,
        policy: DecisionPolicy,
        audit: Option<NewAuditEntry>,
    ) -> Result<Option<PollOutcome>, StoreError> {
        let Some(payment) = self.store.find_payment(id).await? else { return Ok(None) };
        let merchant = payment.order.merchant_id;
        let answer = if payment.operation.state.is_open() {
            match self.processor.status(question(merchant, &payment.operation)).await {
                StatusReply::Absent => self.absent(&payment).await?,
                answer => answer,
            }
        } else {
            // Closed since it was claimed: concluding it once more only tells how it stands.
            StatusReply::Absent
        };
        let answer = match answer {
            StatusReply::Known(answer) => answer,
            StatusReply::Absent => ProcessorReply::Unknown { why: "absent, and could not be abandoned".to_owned() },
            StatusReply::Unreachable { why } => ProcessorReply::Unknown { why },
        };
        let heard = answer.clone();
        let page_is_open = matches!(answer, ProcessorReply::Pending(Waiting::Shopper { .. }));
        let screened = self.find_screened(&payment, &answer).await?;
        let ScreenedReply { reply, outcome } = self.after_screening(&payment.order, screened, answer).await;
        let mut conclusion = self.conclude_from(id, None, reply, policy, audit).await?;
        self.count_outcome(&conclusion, outcome).await;
        if payment.operation.kind == OpKind::Authorize {
            self.void_what_was_closed(&heard, &conclusion).await?;
        }
        // What follows is asked for at once; what is tried again waits until it is due.
        let is_asked = |next: &Operation| policy.capture_key == Some(next.id);
        if let Some(next) = conclusion.follow_up.take_if(|next| next.tries == 0 && !is_asked(next)) {
            self.finish(merchant, next).await?;
        }
        Ok(Some(PollOutcome { conclusion, page_is_open }))
    }

    /// What to do about an operation that the processor surely never did.
    async fn absent(&self, payment: &Payment) -> Result<StatusReply, StoreError> {
        let merchant = payment.order.merchant_id;
        match payment.operation.kind {
            OpKind::Authorize => Ok(self.processor.abandon(question(merchant, &payment.operation)).await),
            _ if is_overtaken(payment) => {
                if self.clock.now() < payment.operation.created_at.plus(self.timing.lease) {
                    return Ok(StatusReply::Unreachable { why: "the call may still be on its way".to_owned() });
                }
                let never_sent =
                    ProcessorReply::Declined { reason: DeclineReason::NeverSent, retryable: false, credential: None };
                Ok(StatusReply::Known(never_sent))
            }
            OpKind::Capture | OpKind::Void | OpKind::Refund => {
                self.call(merchant, &payment.operation).await.map(StatusReply::Known)
            }
        }
    }
}

/// Whether what happened since an operation was written down forbids to send it now.
fn is_overtaken(payment: &Payment) -> bool {
    let is_paid = payment.order.state == OrderState::Processed;
    match payment.operation.kind {
        // The shopper has paid meanwhile, and the merchant was notified: a void would reverse that at a processor whose voids reach captures, too.
        OpKind::Void => is_paid,
        // A bank has taken the money back for the shopper meanwhile.
        OpKind::Refund => is_paid && payment.order.amounts.is_overdrawn(),
        OpKind::Authorize | OpKind::Capture => false,
    }
}
