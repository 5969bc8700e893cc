//! The settler's work: operations whose outcome is open, finished by asking the processor about their key.
//!
//! A capture that is surely absent is sent again under the same key. An authorization never is (its code is gone and the shopper may have
//! left): it is looked up, and when absent the processor is told to refuse its key for ever before the attempt fails.

use dropin_order::{OpKind, OpState};
use dropin_ports::{Applied, ClaimedOperation, Payment, ProcessorAnswer, StatusAnswer, StoreError};

use super::Payments;

/// What one round of the settler found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Operations that were due.
    pub looked_at: usize,
    /// Of those, the ones whose outcome is known now.
    pub settled: usize,
}

impl Payments {
    /// Takes over operations that are due, at most `limit`, and finishes what can be finished.
    ///
    /// # Errors
    /// [`StoreError`] of the claim; a single operation's trouble is logged and retried later.
    pub async fn settle_due(&self, limit: u32) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let claims = self.store.claim_due_operations(now, now.plus(self.timing.lease), limit).await?;
        let mut swept = Swept { looked_at: claims.len(), settled: 0 };
        let looks: Vec<_> = claims
            .into_iter()
            .map(|claim| {
                let payments = self.clone();
                tokio::spawn(async move { (claim, payments.settle_one(claim).await) })
            })
            .collect();
        for look in looks {
            match look.await {
                Ok((_, Ok(true))) => swept.settled += 1,
                Ok((_, Ok(false))) => {}
                Ok((claim, Err(error))) => {
                    let operation = claim.id.to_string();
                    log::warn!(operation = operation.as_str(), error:% = error; "an operation could not be settled yet; it stays due");
                }
                Err(_panicked) => log::error!("settling an operation panicked; it stays due"),
            }
        }
        Ok(swept)
    }

    /// Whether the outcome is known now.
    async fn settle_one(&self, claim: ClaimedOperation) -> Result<bool, StoreError> {
        let Some(payment) = self.store.find_payment(claim.id).await? else { return Ok(false) };
        if !payment.operation.state.is_open() {
            return Ok(true);
        }
        let answer = match self.processor.status(claim.id).await {
            StatusAnswer::Absent => self.absent(&payment).await,
            answer => answer,
        };
        match answer {
            StatusAnswer::Known(ProcessorAnswer::Pending) => self.postpone(claim, &payment, OpState::Pending).await,
            StatusAnswer::Known(answer) => Ok(!self.conclude(claim.id, answer).await?.state.is_open()),
            StatusAnswer::Absent => self.postpone(claim, &payment, OpState::Unknown).await,
            StatusAnswer::Unreachable { why } => {
                let operation = claim.id.to_string();
                log::warn!(
                    operation = operation.as_str(), kind = payment.operation.kind.as_str(), why = why.as_str();
                    "the processor cannot be asked; the outcome stays open"
                );
                self.postpone(claim, &payment, OpState::Unknown).await
            }
        }
    }

    /// What to do about an operation that the processor surely never did.
    async fn absent(&self, payment: &Payment) -> StatusAnswer {
        match payment.operation.kind {
            OpKind::Authorize => self.processor.abandon(payment.operation.id).await,
            OpKind::Capture => match payment.operation.authorization {
                Some(authorization) => {
                    let (key, amount) = (payment.operation.id, payment.operation.amount.clone());
                    let request = dropin_ports::CaptureRequest { key, authorization, amount };
                    StatusAnswer::Known(self.processor.capture(request).await)
                }
                None => StatusAnswer::Unreachable { why: "a capture without its authorization".to_owned() },
            },
        }
    }

    async fn postpone(&self, claim: ClaimedOperation, payment: &Payment, state: OpState) -> Result<bool, StoreError> {
        let due_at = self.clock.now().plus(self.timing.pause(payment.operation.tries));
        match self.store.postpone_operation(claim, state, due_at).await? {
            Applied::Done => Ok(false),
            // Taken over or settled by somebody else: theirs now.
            Applied::Stale => Ok(false),
        }
    }
}
