//! What our page shows the shopper of a server-to-server checkout who pays by transfer.

use std::sync::Arc;

use dropin_access::Merchant;
use dropin_kernel::OrderId;
use dropin_order::Order;

use super::Shopper;
use super::shopper::ShopperError;

/// A transfer that a shopper was told to make.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Its Order, with the account.
    pub order: Order,
    /// Whose shop it is.
    pub merchant: Arc<Merchant>,
}

impl Shopper {
    /// The transfer of a checkout. Its page has no other secret than the Order's random id.
    ///
    /// # Errors
    /// [`ShopperError::NotFound`] also for Orders of Sessions, and of other methods: nothing tells them apart.
    pub async fn transfer(&self, id: OrderId) -> Result<Transfer, ShopperError> {
        let found = self.payments.store.find_order_anywhere(id).await?;
        let own = |order: &Order| order.transfer_page.is_some() && order.bank_details.is_some();
        let order = found.map(|(order, _session)| order).filter(own).ok_or(ShopperError::NotFound)?;
        Ok(Transfer { merchant: self.merchant(order.merchant_id).await?, order })
    }
}
