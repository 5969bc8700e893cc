//! The settler's work: operations whose outcome is open, finished by asking the processor about their key.
//!
//! A capture, void or refund that is surely absent is sent again under the same key. An authorization never is (its code is gone and the shopper
//! may have left): it is looked up, and when absent the processor is told to refuse its key for ever before the attempt fails.

use dropin_kernel::OpId;
use dropin_order::OpKind;
use dropin_ports::{ClaimedOperation, Payment, ProcessorAnswer, StatusAnswer, StoreError};

use super::decide::Terms;
use super::{Asker, Conclusion, Payments, question};

impl Payments {
    /// Takes over operations that are due, at most `limit`, oldest first. Each is then finished with [`Payments::settle_one`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn claim_due(&self, limit: u32) -> Result<Vec<ClaimedOperation>, StoreError> {
        let now = self.clock.now();
        self.store.claim_due_operations(now, now.plus(self.timing.claim), limit).await
    }

    /// Asks the processor about one operation and writes down what it says. Says whether the outcome is known now.
    ///
    /// # Errors
    /// [`StoreError`]; the operation stays due.
    pub async fn settle_one(&self, claim: ClaimedOperation) -> Result<bool, StoreError> {
        Ok(self.look(claim.id).await?.is_some_and(|conclusion| !conclusion.state.is_open()))
    }

    /// Asks about an operation and does what follows at once; `None` when there is no such operation.
    pub(super) async fn look(&self, id: OpId) -> Result<Option<Conclusion>, StoreError> {
        let Some(payment) = self.store.find_payment(id).await? else { return Ok(None) };
        let merchant = payment.order.merchant_id;
        let answer = if payment.operation.state.is_open() {
            match self.processor.status(question(merchant, &payment.operation)).await {
                StatusAnswer::Absent => self.absent(&payment).await?,
                answer => answer,
            }
        } else {
            // Closed since it was claimed: concluding it once more only tells how it stands.
            StatusAnswer::Absent
        };
        let answer = match answer {
            StatusAnswer::Known(answer) => answer,
            StatusAnswer::Absent => ProcessorAnswer::Unknown { why: "absent, and could not be abandoned".to_owned() },
            StatusAnswer::Unreachable { why } => ProcessorAnswer::Unknown { why },
        };
        let terms = Terms { asker: Asker::Nobody, accept: false };
        let mut conclusion = self.conclude(id, answer, terms).await?;
        // What follows is asked for at once; what is tried again waits until it is due.
        if let Some(next) = conclusion.follow_up.take_if(|next| next.tries == 0) {
            self.finish(merchant, next).await?;
        }
        Ok(Some(conclusion))
    }

    /// What to do about an operation that the processor surely never did.
    async fn absent(&self, payment: &Payment) -> Result<StatusAnswer, StoreError> {
        let merchant = payment.order.merchant_id;
        match payment.operation.kind {
            OpKind::Authorize => Ok(self.processor.abandon(question(merchant, &payment.operation)).await),
            OpKind::Capture | OpKind::Void | OpKind::Refund => {
                self.call(merchant, &payment.operation).await.map(StatusAnswer::Known)
            }
        }
    }
}
