//! The merchant looks at an Order (docs/SPECIFICATION.md#order-read).

use dropin_kernel::{OrderId, RefundId};
use dropin_order::Refund;
use dropin_ports::{OrderDetails, OrderName, StoreError};
use dropin_risk::Screening;

use super::Payments;
use crate::access::Caller;

/// Why an Order is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// No such Order of this merchant, or one that never became the merchant's business.
    #[error("no such Order")]
    NotFound,
    /// No such refund of this Order.
    #[error("no such refund")]
    NoRefund,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// The merchant's own Order, with its refunds and its life.
    ///
    /// # Errors
    /// [`OrderError`].
    pub async fn order(&self, caller: &Caller, name: &OrderName) -> Result<OrderDetails, OrderError> {
        self.store.find_order_details(caller.merchant.id, name).await?.ok_or(OrderError::NotFound)
    }

    /// What screening made of the merchant's own Order; `None` when it was not screened.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find_screening(&self, caller: &Caller, id: OrderId) -> Result<Option<Screening>, StoreError> {
        self.screening.find(caller.merchant.id, id).await
    }

    /// The refunds of the merchant's own Order, oldest first.
    ///
    /// # Errors
    /// [`OrderError`].
    pub async fn refunds(&self, caller: &Caller, id: OrderId) -> Result<Vec<Refund>, OrderError> {
        Ok(self.order(caller, &OrderName::Id(id)).await?.refunds)
    }

    /// A refund of the merchant's own Order.
    ///
    /// # Errors
    /// [`OrderError`].
    pub async fn find_refund(&self, caller: &Caller, id: OrderId, refund: RefundId) -> Result<Refund, OrderError> {
        let merchant = caller.merchant.id;
        if let Some(found) = self.store.find_refund(merchant, id, refund).await? {
            return Ok(found);
        }
        let order = self.store.find_order(merchant, &OrderName::Id(id)).await?;
        Err(if order.is_some() { OrderError::NoRefund } else { OrderError::NotFound })
    }
}
