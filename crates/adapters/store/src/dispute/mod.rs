//! Disputes, the answers to them with their sealed evidence, and how far processors' lists have been read.

mod change;
mod find;
mod given_answer;
mod rows;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::SealedSecret;
use dropin_kernel::{DisputeAnswerId, DisputeId, MerchantId, OpId, OrderId, ProcessorId, Timestamp};
use dropin_order::{Dispute, DisputeAnswer, Order};
use dropin_ports::{
    AnsweredDispute, Applied, ChangeDispute, DisputeChanged, DisputeFilter, DisputeStore, DisputeWithOrder,
    OpenDisputes, StoreError,
};
use dropin_store_runtime::fault::InTable;
use dropin_store_runtime::sql::Instant;
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::schema::dispute_position;
use crate::store::Store;

pub(crate) use rows::DisputeRow;

#[async_trait]
impl DisputeStore for Store {
    async fn change_dispute(&self, change: ChangeDispute) -> Result<DisputeChanged, StoreError> {
        self.write(move |connection| change::write(connection, &change)).await
    }

    async fn list_order_disputes(
        &self,
        merchant: MerchantId,
        order: OrderId,
    ) -> Result<Vec<AnsweredDispute>, StoreError> {
        self.read(move |connection| find::of_order(connection, merchant, order)).await
    }

    async fn find_dispute(&self, id: DisputeId) -> Result<Option<DisputeWithOrder>, StoreError> {
        self.read(move |connection| find::with_order(connection, id)).await
    }

    async fn find_reported_dispute(
        &self,
        processor: &ProcessorId,
        reference: &str,
    ) -> Result<Option<DisputeId>, StoreError> {
        let (processor, reference) = (processor.clone(), reference.to_owned());
        self.read(move |connection| find::by_reference(connection, &processor, &reference)).await
    }

    async fn find_disputed_order(
        &self,
        processor: &ProcessorId,
        authorization: OpId,
    ) -> Result<Option<Order>, StoreError> {
        let processor = processor.clone();
        self.read(move |connection| find::order_of(connection, &processor, authorization)).await
    }

    async fn list_disputes(&self, filter: DisputeFilter, limit: u32) -> Result<Vec<Dispute>, StoreError> {
        self.read(move |connection| find::list(connection, &filter, limit)).await
    }

    async fn list_open_disputes(
        &self,
        merchants: Option<Vec<MerchantId>>,
        limit: u32,
    ) -> Result<Vec<AnsweredDispute>, StoreError> {
        self.read(move |connection| find::open(connection, merchants.as_deref(), limit)).await
    }

    async fn count_open_disputes(&self) -> Result<Vec<OpenDisputes>, StoreError> {
        self.read(find::count_open).await
    }

    async fn claim_undecided_disputes(
        &self,
        processor: &ProcessorId,
        now: Timestamp,
        next_look: Timestamp,
        limit: u32,
    ) -> Result<Vec<DisputeId>, StoreError> {
        let processor = processor.clone();
        self.write(move |connection| {
            find::claim_undecided(connection, &processor, Instant(now), Instant(next_look), limit)
                .map(TxOutcome::Commit)
        })
        .await
    }

    async fn look_again(&self, id: DisputeId, at: Timestamp) -> Result<(), StoreError> {
        self.write(move |connection| find::look_again(connection, id, Instant(at)).map(TxOutcome::Commit)).await
    }

    async fn claim_due_answers(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<DisputeAnswer>, StoreError> {
        self.write(move |connection| {
            given_answer::claim(connection, Instant(now), Instant(lease_until), limit).map(TxOutcome::Commit)
        })
        .await
    }

    async fn postpone_answer(&self, id: DisputeAnswerId, due_at: Timestamp) -> Result<Applied, StoreError> {
        self.write(move |connection| given_answer::postpone(connection, id, Instant(due_at))).await
    }

    async fn find_evidence(&self, id: DisputeAnswerId) -> Result<Option<SealedSecret>, StoreError> {
        self.read(move |connection| given_answer::evidence(connection, id)).await
    }

    async fn find_dispute_position(&self, processor: &ProcessorId) -> Result<Option<String>, StoreError> {
        let processor = processor.clone();
        self.read(move |connection| {
            dispute_position::table
                .find(processor.as_str())
                .select(dispute_position::position)
                .first(connection)
                .optional()
                .in_table("dispute_position")
        })
        .await
    }

    async fn keep_dispute_position(
        &self,
        processor: &ProcessorId,
        old: Option<&str>,
        new: &str,
    ) -> Result<Applied, StoreError> {
        let (processor, old, new) = (processor.clone(), old.map(str::to_owned), new.to_owned());
        self.write(move |connection| change::keep_position(connection, &processor, old.as_deref(), &new)).await
    }
}
