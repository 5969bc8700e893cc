//! What those who run the deployment look for: Orders and Sessions of all merchants, and sums of Orders.

mod named;
mod orders;
mod scan;
mod sessions;
mod totals;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId, SessionId, Timestamp};
use dropin_order::Order;
use dropin_ports::{BackOfficeStore, OrderSearch, PaymentTotals, SearchPage, SessionSearch, StoreError};
use dropin_session::Session;

use crate::store::Store;

#[async_trait]
impl BackOfficeStore for Store {
    async fn search_orders(&self, search: OrderSearch) -> Result<SearchPage<Order, OrderId>, StoreError> {
        self.read(move |connection| orders::search(connection, &search)).await
    }

    async fn search_sessions(&self, search: SessionSearch) -> Result<SearchPage<Session, SessionId>, StoreError> {
        self.read(move |connection| sessions::search(connection, &search)).await
    }

    async fn payment_totals(
        &self,
        merchant: Option<MerchantId>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<PaymentTotals>, StoreError> {
        self.read(move |connection| totals::read(connection, merchant, since, until)).await
    }
}
