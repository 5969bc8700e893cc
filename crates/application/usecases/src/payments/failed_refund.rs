//! Refunds that a processor fails after they had succeeded.

use dropin_kernel::OpId;
use dropin_order::{OpKind, OpState, OrderState};
use dropin_ports::{Payment, ProcessorReply, Settled, StatusReply, StoreError};

use super::{MAX_SETTLE_RETRIES, Payments, decide, question};

/// A refund whose outcome was known: it had succeeded.
fn has_succeeded(payment: &Payment) -> bool {
    (payment.operation.kind, payment.operation.state) == (OpKind::Refund, OpState::Approved)
}

impl Payments {
    /// Takes a processor's hint that something has happened to these operations: of each refund among them that had succeeded the processor is asked
    /// whether it still has. One that failed ends as FAILED, and its money can be refunded again. What the hint says besides is never believed.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Unavailable`] also while the processor does not answer.
    pub async fn look_at_refunds(&self, operations: &[OpId]) -> Result<(), StoreError> {
        for id in operations {
            let Some(payment) = self.store.find_payment(*id).await?.filter(has_succeeded) else { continue };
            let merchant = payment.order.merchant_id;
            let reply = self.processor.status(question(merchant, &payment.operation)).await;
            match reply {
                StatusReply::Known(ProcessorReply::Declined { .. }) => self.take_back_refund(*id).await?,
                // Nobody would ask again: whoever sent the hint sends it again.
                StatusReply::Unreachable { .. }
                | StatusReply::Known(ProcessorReply::Unknown { .. } | ProcessorReply::NotSent) => {
                    return Err(StoreError::Unavailable(
                        "the processor does not say what became of a refund".to_owned(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn take_back_refund(&self, id: OpId) -> Result<(), StoreError> {
        for round in 0..MAX_SETTLE_RETRIES {
            self.backoff(round).await;
            let Some(payment) = self.store.find_payment(id).await?.filter(has_succeeded) else { return Ok(()) };
            let (operation, order) = (id.to_string(), payment.order.id.to_string());
            if payment.order.state != OrderState::Processed {
                log::error!(
                    operation = operation.as_str(), order = order.as_str();
                    "the processor failed a refund of what arrived after the Order's end: give the money back in another way"
                );
                return Ok(());
            }
            match self.store.take_back_refund(decide::take_back_refund(self, &payment)?).await? {
                Settled::Done => {
                    log::warn!(
                        operation = operation.as_str(), order = order.as_str();
                        "a refund that had succeeded failed at the processor: the merchant is told"
                    );
                    return Ok(());
                }
                Settled::AlreadySettled => return Ok(()),
                Settled::Stale => {}
            }
        }
        Err(StoreError::Unavailable("an Order changes faster than its refund can be written".to_owned()))
    }
}
