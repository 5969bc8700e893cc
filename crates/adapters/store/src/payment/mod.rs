//! Orders and the operations asked of the processor: each method of the port is one step.

mod change;
mod contention;
mod find;
pub(crate) mod operation;
mod operation_batch;
mod order;
mod prepare;
mod prepare_batch;
mod refund;
mod settle;
mod settle_batch;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{OpState, Operation, Order, ProcessorReference, Refund};
use dropin_ports::{
    Applied, AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, LapsedOrder, OpenOperations,
    OrderChanged, OrderDetails, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement,
    StoreError, StoredResponse,
};
use dropin_session::Session;
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::store::Store;

pub(crate) use change::Changing;
pub(crate) use order::apply as apply_order;
pub(crate) use prepare::Preparation;
pub(crate) use settle::Settling;

#[async_trait]
impl PaymentStore for Store {
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError> {
        self.run_batched(Preparation(prepare)).await
    }

    async fn keep_reference(
        &self,
        authorization: OpId,
        reference: &ProcessorReference,
        due_at: Timestamp,
    ) -> Result<Applied, StoreError> {
        let reference = reference.clone();
        self.write(move |connection| operation::keep_reference(connection, authorization, &reference, due_at)).await
    }

    async fn change_order(&self, change: ChangeOrder) -> Result<OrderChanged, StoreError> {
        self.run_batched(Changing(change)).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.run_batched(Settling(settlement)).await
    }

    async fn take_back_refund(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.write(move |connection| settle::take_back_refund(connection, &settlement)).await
    }

    async fn find_payment(&self, operation: OpId) -> Result<Option<Payment>, StoreError> {
        self.read(move |connection| find::payment(connection, operation)).await
    }

    async fn claim_due_operations(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedOperation>, StoreError> {
        self.write(move |connection| operation::claim(connection, now, lease_until, limit).map(TxOutcome::Commit)).await
    }

    async fn make_due(&self, operations: &[OpId], now: Timestamp) -> Result<(), StoreError> {
        let operations = operations.to_vec();
        self.write(move |connection| operation::make_due(connection, &operations, now)).await
    }

    async fn list_open_operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError> {
        self.read(move |connection| operation::open(connection, limit)).await
    }

    async fn count_open_operations(&self) -> Result<Vec<OpenOperations>, StoreError> {
        self.read(operation::count).await
    }

    async fn postpone_operation(
        &self,
        claim: ClaimedOperation,
        state: OpState,
        due_at: Timestamp,
        answer: Option<StoredResponse>,
    ) -> Result<Applied, StoreError> {
        self.write(move |connection| operation::postpone(connection, claim, state, due_at, answer.as_ref())).await
    }

    async fn find_lapsed_orders(
        &self,
        now: Timestamp,
        after: Option<LapsedOrder>,
        limit: u32,
    ) -> Result<Vec<LapsedOrder>, StoreError> {
        self.read(move |connection| find::lapsed(connection, now, after, limit)).await
    }

    async fn find_order(&self, merchant: MerchantId, name: &OrderName) -> Result<Option<Order>, StoreError> {
        let name = name.clone();
        self.read(move |connection| find::order(connection, merchant, &name)).await
    }

    async fn find_order_details(
        &self,
        merchant: MerchantId,
        name: &OrderName,
    ) -> Result<Option<OrderDetails>, StoreError> {
        let name = name.clone();
        self.read(move |connection| find::order_details(connection, merchant, &name)).await
    }

    async fn find_order_anywhere(&self, id: OrderId) -> Result<Option<(Order, Option<Session>)>, StoreError> {
        self.read(move |connection| find::anywhere(connection, id)).await
    }

    async fn find_refund(
        &self,
        merchant: MerchantId,
        order: OrderId,
        id: RefundId,
    ) -> Result<Option<Refund>, StoreError> {
        self.read(move |connection| find::refund(connection, merchant, order, id)).await
    }

    async fn find_refund_by_reference(&self, order: OrderId, reference: &str) -> Result<Option<Refund>, StoreError> {
        let reference = reference.to_owned();
        self.read(move |connection| find::refund_by_reference(connection, order, &reference)).await
    }

    async fn list_operations(&self, order: OrderId) -> Result<Vec<Operation>, StoreError> {
        self.read(move |connection| find::operations(connection, order)).await
    }

    async fn find_checkout(&self, order: OrderId) -> Result<Option<CheckoutRecord>, StoreError> {
        self.read(move |connection| find::checkout(connection, order)).await
    }
}
