//! What those who run the deployment look for: Orders and Sessions of all merchants, and sums of Orders.

mod named;
mod orders;
mod scan;
mod sessions;
mod totals;
mod troubles;

use async_trait::async_trait;
use dropin_kernel::{ContractId, MerchantId, OrderId, SessionId, Timestamp};
use dropin_order::{Operation, Order};
use dropin_ports::{
    BackOfficeStore, DeliveryTroubles, OrderSearch, PaymentTotals, SearchPage, SessionSearch, StoreError,
};
use dropin_session::Session;
use dropin_store_runtime::sql::Id;

use crate::contract;
use crate::payment::operation;
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

    async fn list_open_operations_of(
        &self,
        merchants: Vec<MerchantId>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreError> {
        let merchants: Vec<Id> = merchants.iter().map(|merchant| Id(merchant.uuid())).collect();
        self.read(move |connection| operation::open_of(connection, &merchants, limit)).await
    }

    async fn find_contract_merchant(&self, id: ContractId) -> Result<Option<MerchantId>, StoreError> {
        self.read(move |connection| contract::find_merchant(connection, Id(id.uuid()))).await
    }

    async fn count_delivery_troubles(
        &self,
        merchants: Option<Vec<MerchantId>>,
    ) -> Result<DeliveryTroubles, StoreError> {
        self.read(move |connection| troubles::count(connection, merchants.as_deref())).await
    }
}
