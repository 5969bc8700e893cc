//! Refunds by operators from the request to the processor: a request is granted and its refund made in one flow.

use dropin_access::operator::{MoneyRefused, MoneyRequest, MoneyRequestState};
use dropin_kernel::{MoneyRequestId, OrderId};
use dropin_order::RefundState;
use dropin_ports::{Acting, OrderName, StoreError};

use super::sessions::CurrentOperator;
use super::{MoneyError, NewRefundRequest, Operators};
use crate::audit_log::MerchantAct;
use crate::payments::{Payments, RefundAsk, RefundError};

/// Asks for refunds, and makes those that are granted.
#[derive(Clone)]
pub struct OperatorRefunds {
    /// Who may, and how much.
    pub operators: Operators,
    /// What makes them.
    pub payments: Payments,
}

/// How far a refund came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundProgress {
    /// A second operator has to approve it.
    Waiting,
    /// It was made.
    Made(RefundState),
}

/// Why an operator's refund is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorRefundError {
    /// It was not granted.
    #[error(transparent)]
    Request(#[from] MoneyError),
    /// It was granted, and is not possible: it counts towards no limit any more.
    #[error(transparent)]
    NotPossible(RefundError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OperatorRefunds {
    /// Asks for a refund, and makes it when it is granted. Sent again with the same id it is one refund, and one that was interrupted is finished, as
    /// long as it counts towards the limits.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`OperatorRefundError`].
    pub async fn refund(
        &self,
        by: &CurrentOperator,
        new: &NewRefundRequest,
        acting: Acting,
    ) -> Result<RefundProgress, OperatorRefundError> {
        let order = self.payments.store.find_order(new.merchant, &OrderName::Id(new.order)).await?;
        let order = order.ok_or(MoneyError::NoOrder)?;
        let state = match self.operators.request_refund(by, new, &order.amounts.refundable()).await {
            Ok(request) if request.state == MoneyRequestState::Granted => self.make(by, &request, acting).await?,
            Ok(_waiting) => return Ok(RefundProgress::Waiting),
            Err(error) => self.made_before(new.order, new.id, error).await?,
        };
        Ok(RefundProgress::Made(state))
    }

    /// Approves what another operator asked for, and makes it. The one who approved finishes in the same way what was interrupted.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`OperatorRefundError`].
    pub async fn approve(
        &self,
        by: &CurrentOperator,
        id: MoneyRequestId,
        acting: Acting,
    ) -> Result<RefundState, OperatorRefundError> {
        let request = self.operators.find_money_request(by, id).await?;
        match self.operators.approve_money(by, id).await {
            Ok(granted) => self.make(by, &granted, acting).await,
            Err(error) if request.decided_by == Some(by.operator.id) => {
                self.made_before(request.order, id, error).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The refund of a request that is over, if it was made; else the error.
    async fn made_before(
        &self,
        order: OrderId,
        id: MoneyRequestId,
        error: MoneyError,
    ) -> Result<RefundState, OperatorRefundError> {
        let made = match error {
            MoneyError::Refused(MoneyRefused::NotWaiting) => {
                self.payments.store.find_refund_by_reference(order, &id.to_string()).await?
            }
            _ => None,
        };
        made.map(|refund| refund.state).ok_or_else(|| error.into())
    }

    /// Makes a granted refund. The request's id is its reference, so that it is made once.
    async fn make(
        &self,
        by: &CurrentOperator,
        request: &MoneyRequest,
        acting: Acting,
    ) -> Result<RefundState, OperatorRefundError> {
        let reference = request.id.to_string();
        let act = MerchantAct { merchant: request.merchant, by: acting };
        let ask =
            RefundAsk { reference: reference.clone(), amount: Some(request.amount.to_decimal()), description: None };
        match self.payments.refund(&act, request.order, &ask, None).await {
            Ok(_told) => {}
            Err(RefundError::Store(error)) => return Err(error.into()),
            Err(refused) => {
                if let Err(error) = self.operators.release_money(by, request.id).await {
                    log::warn!("a refund that was refused still counts against limits: {error}");
                }
                return Err(OperatorRefundError::NotPossible(refused));
            }
        }
        let made = self.payments.store.find_refund_by_reference(request.order, &reference).await?;
        Ok(made.map_or(RefundState::InProgress, |refund| refund.state))
    }
}
