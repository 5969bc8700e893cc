//! Orders and the operations asked of the processor: each method of the port is one step.

mod change;
mod find;
pub(crate) mod operation;
mod operation_batch;
mod order;
mod prepare;
mod prepare_batch;
mod refund;
mod settle;
mod settle_batch;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{OpState, Operation, Order, ProcessorReference, Refund};
use dropin_ports::{
    Applied, AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, LapsedOrder, OpenOperations,
    OrderChanged, OrderDetails, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement,
    StoreError, StoredResponse,
};
use dropin_session::Session;
use dropin_store_runtime::fault::Fault;
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

/// How long after its start a batch's statement is run again.
const MAX_CONTENTION: Duration = Duration::from_millis(500);

/// Runs the statement of a batch again where it failed by what changed meanwhile. A Session or an Order is rarely wanted by two at once; a contract is
/// that of many Orders, and one that another program charges must not send the payments of others out of the batch: the statement leaves it out when it sees the change, and
/// the last time every contract is left out. What took long runs no second time: its callers may not wait any more, which each alone looks at.
fn despite_contention<T: Copy, R>(
    mut eligible: Vec<T>,
    has_contract: impl Fn(&T) -> bool,
    mut run: impl FnMut(Vec<T>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    let begun = Instant::now();
    let is_contended = |done: &Result<R, Fault>| {
        matches!(done, Err(fault) if fault.is_retryable()) && begun.elapsed() < MAX_CONTENTION
    };
    let mut done = run(eligible.clone());
    if is_contended(&done) && eligible.iter().any(&has_contract) {
        done = run(eligible.clone());
    }
    if is_contended(&done) && eligible.iter().any(&has_contract) {
        eligible.retain(|one| !has_contract(one));
        if !eligible.is_empty() {
            done = run(eligible);
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each run of the statement was given, when so many fail: even numbers have a contract.
    fn runs(eligible: &[u32], failing: usize) -> (Vec<Vec<u32>>, bool) {
        let mut seen = vec![];
        let done = despite_contention(
            eligible.to_vec(),
            |number| number % 2 == 0,
            |all| {
                seen.push(all);
                if seen.len() <= failing { Err(Fault::Retry) } else { Ok(()) }
            },
        );
        (seen, done.is_ok())
    }

    #[test]
    fn a_contract_that_is_wanted_elsewhere_holds_up_no_other_payment() {
        let all = vec![1, 2, 3];
        assert_eq!(runs(&all, 0), (vec![all.clone()], true));
        assert_eq!(runs(&all, 1), (vec![all.clone(); 2], true));
        assert_eq!(runs(&all, 2), (vec![all.clone(), all.clone(), vec![1, 3]], true));
        assert_eq!(runs(&all, 3), (vec![all.clone(), all, vec![1, 3]], false));
        assert_eq!(runs(&[2], 2), (vec![vec![2]; 2], false), "nothing is left to be run");
        assert_eq!(runs(&[1], 1), (vec![vec![1]], false), "without contracts each runs alone");
    }
}
