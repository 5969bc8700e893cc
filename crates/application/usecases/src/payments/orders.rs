//! The merchant looks at an Order (decisions.md section 4).

use dropin_kernel::OrderId;
use dropin_order::Order;
use dropin_ports::StoreError;

use super::Payments;
use crate::access::Caller;

/// Why an Order is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// No such Order of this merchant, or one that never became the merchant's business.
    #[error("no such Order")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// The merchant's own Order.
    ///
    /// # Errors
    /// [`OrderError`].
    pub async fn order(&self, caller: &Caller, id: OrderId) -> Result<Order, OrderError> {
        self.store.find_order(caller.merchant.id, id).await?.ok_or(OrderError::NotFound)
    }
}
