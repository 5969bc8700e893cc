//! The settler's work: operations whose outcome is open, finished by asking the processor about their key.
//!
//! A capture that is surely absent is sent again under the same key. An authorization never is (its code is gone and the shopper may have
//! left): it is looked up, and when absent the processor is told to refuse its key for ever before the attempt fails.

use dropin_order::OpKind;
use dropin_ports::{CaptureRequest, ClaimedOperation, Payment, ProcessorAnswer, StatusAnswer, StoreError};

use super::{Asker, Payments};

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
        let Some(payment) = self.store.find_payment(claim.id).await? else { return Ok(false) };
        if !payment.operation.state.is_open() {
            return Ok(true);
        }
        let answer = match self.processor.status(claim.id).await {
            StatusAnswer::Absent => self.absent(&payment).await,
            answer => answer,
        };
        let answer = match answer {
            StatusAnswer::Known(answer) => answer,
            StatusAnswer::Absent => ProcessorAnswer::Unknown { why: "absent, and could not be abandoned".to_owned() },
            StatusAnswer::Unreachable { why } => ProcessorAnswer::Unknown { why },
        };
        let conclusion = self.conclude(claim.id, answer, Asker::Nobody).await?;
        // A capture that follows an authorization is asked for at once; one that is tried again waits until it is due.
        match conclusion.follow_up.filter(|_| payment.operation.kind == OpKind::Authorize) {
            Some(capture) => self.finish_capture(capture).await.map(|()| true),
            None => Ok(!conclusion.state.is_open()),
        }
    }

    /// What to do about an operation that the processor surely never did.
    async fn absent(&self, payment: &Payment) -> StatusAnswer {
        match payment.operation.kind {
            OpKind::Authorize => self.processor.abandon(payment.operation.id).await,
            OpKind::Capture => match payment.operation.authorization {
                Some(authorization) => {
                    let (key, amount) = (payment.operation.id, payment.operation.amount.clone());
                    let request = CaptureRequest { key, authorization, amount };
                    StatusAnswer::Known(self.processor.capture(request).await)
                }
                None => StatusAnswer::Unreachable { why: "a capture without its authorization".to_owned() },
            },
        }
    }
}
