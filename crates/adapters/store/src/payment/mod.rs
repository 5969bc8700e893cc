//! Orders and the operations asked of the processor: each method of the port is one step.

mod find;
mod operation;
mod order;
mod prepare;
mod refund;
mod settle;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{OpState, Operation, Order, Refund};
use dropin_ports::{
    Applied, AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, LapsedOrder, OpenOperations,
    OrderChanged, OrderDossier, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement,
    StoreError, StoredAnswer,
};
use dropin_session::Session;

use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::lane::Verdict;
use crate::session::apply_state;
use crate::store::Store;
use crate::{answers, journal};

pub(crate) use operation::tries;
pub(crate) use prepare::{Preparation, UsualPreparation};
pub(crate) use settle::{Settling, UsualSettlement};

#[async_trait]
impl PaymentStore for Store {
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError> {
        self.beside_others(Preparation(prepare)).await
    }

    async fn change_order(&self, change: ChangeOrder) -> Result<OrderChanged, StoreError> {
        self.write(move |connection| change_order(connection, &change)).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.beside_others(Settling(settlement)).await
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
        self.write(move |connection| operation::claim(connection, now, lease_until, limit).map(Verdict::Keep)).await
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
        answer: Option<StoredAnswer>,
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

    async fn find_dossier(&self, merchant: MerchantId, name: &OrderName) -> Result<Option<OrderDossier>, StoreError> {
        let name = name.clone();
        self.read(move |connection| find::dossier(connection, merchant, &name)).await
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

fn change_order(connection: &mut AnyConnection, change: &ChangeOrder) -> Result<Verdict<OrderChanged>, Fault> {
    if change.key_use.is_some() && change.operation.is_none() {
        return Err(Fault::Refused("a key waits for the outcome of an operation".to_owned()));
    }
    if !order::apply(connection, &change.order)? {
        return Ok(Verdict::Undo(OrderChanged::Stale));
    }
    if let Some(session) = &change.session
        && !apply_state(connection, session)?
    {
        return Ok(Verdict::Undo(OrderChanged::Stale));
    }
    if let Some(refund) = &change.refund
        && !refund::insert(connection, refund)?
    {
        // A request that is repeated finds its own refund: then the key tells so.
        let used = answers::is_used(connection, change.key_use.as_ref())?;
        return Ok(Verdict::Undo(if used { OrderChanged::KeyTaken } else { OrderChanged::DuplicateRefund }));
    }
    if let Some(operation) = &change.operation {
        operation::insert(connection, operation)?;
        // After the operation, to which it refers.
        if !answers::await_outcome(connection, change.key_use.as_ref(), operation.id)? {
            return Ok(Verdict::Undo(OrderChanged::KeyTaken));
        }
    }
    journal::remember_all(connection, &change.history)?;
    journal::announce(connection, &change.events)?;
    Ok(Verdict::Keep(OrderChanged::Done))
}
