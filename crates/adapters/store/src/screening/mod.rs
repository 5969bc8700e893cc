//! Counts of tries to pay, and what screening made of each Order.

mod alarm;
mod codec;
mod counters;
mod counting;
mod counts;
mod document;
mod postgres;
mod purge;
mod rows;
mod shoppers;
mod sqlite;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{
    CountableOutcome, NewEvent, NewPaymentTry, ScreenedPaymentTry, ScreeningStore, StoreError, TryScreening,
};
use dropin_risk::{Screening, ScreeningLabel};

pub(crate) use counting::Counting;
use counting::{ToldOutcome, UndecidedTry};
use document::Keeping;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Instant;
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::schema::known_shopper;
use crate::store::Store;

impl Store {
    /// How many profiles and browsers that have paid were seen last within that time, its end excluded. Each is known by the newest key of the ring at
    /// that time alone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_known_shoppers(&self, since: Timestamp, until: Timestamp) -> Result<u64, StoreError> {
        self.read(move |connection| {
            let seen = known_shopper::seen_at.ge(Instant(since)).and(known_shopper::seen_at.lt(Instant(until)));
            let count: i64 =
                known_shopper::table.filter(seen).count().get_result(connection).in_table("known_shopper")?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
        .await
    }
}

#[async_trait]
impl ScreeningStore for Store {
    async fn screen_try(
        &self,
        payment_try: NewPaymentTry,
        decision: TryScreening,
    ) -> Result<ScreenedPaymentTry, StoreError> {
        let screened = self.run_batched(Counting::Try(UndecidedTry { new: payment_try, decision })).await?;
        screened.ok_or_else(|| StoreError::Refused("a try was not decided on".to_owned()))
    }

    async fn count_outcome(&self, order: OrderId, countable: CountableOutcome) -> Result<(), StoreError> {
        self.run_batched(Counting::Outcome(ToldOutcome { order, countable })).await.map(drop)
    }

    async fn note_alarm(&self, event: NewEvent) -> Result<bool, StoreError> {
        let note = move |connection: &mut _| {
            let raised = alarm::note(connection, &event)?;
            Ok(TxOutcome::commit(raised.0, raised))
        };
        self.write(note).await
    }

    async fn put_screening(
        &self,
        order: OrderId,
        merchant: MerchantId,
        screening: Screening,
    ) -> Result<(), StoreError> {
        let keeping = Keeping::new(order, merchant, &screening).map_err(Fault::into_store_error)?;
        self.write(move |connection| keeping.keep_alone(connection).map(TxOutcome::Commit)).await
    }

    async fn find_screening(&self, merchant: MerchantId, order: OrderId) -> Result<Option<Screening>, StoreError> {
        self.read(move |connection| document::find(connection, merchant, order)).await
    }

    async fn list_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(OrderId, Screening)>, StoreError> {
        self.read(move |connection| document::list(connection, merchant, since, limit)).await
    }

    async fn list_labelled_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Screening, ScreeningLabel)>, StoreError> {
        self.read(move |connection| document::list_labelled(connection, merchant, since, limit)).await
    }

    async fn purge_screening(&self, now: Timestamp, facts_before: Timestamp, limit: u32) -> Result<u32, StoreError> {
        let (mut purged, mut failed) = (0_usize, None);
        for over in purge::over(now, facts_before) {
            // What cannot be deleted keeps nothing else.
            match self.write(move |connection| over.delete(connection, limit).map(TxOutcome::Commit)).await {
                Ok(deleted) => purged += deleted,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or_else(|| Ok(u32::try_from(purged).unwrap_or(u32::MAX)), Err)
    }
}
