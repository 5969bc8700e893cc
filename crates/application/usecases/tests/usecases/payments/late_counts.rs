//! A count that comes when the payment waits for it no longer, as where another program holds the merchant's row: nothing that was decided without it changes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{
    CountableOutcome, NewEvent, NewPaymentTry, ScreenedPaymentTry, ScreeningStore, StoreError, TryScreening,
};
use dropin_risk::{Decision, Screening, ScreeningLabel};
use dropin_store::Store;

use super::screening::{last, pay, seen, world};

/// A store whose counts of tries are done when the case says so.
struct LateCounts {
    store: Store,
    tries: Mutex<Vec<(NewPaymentTry, TryScreening)>>,
}

#[async_trait]
impl ScreeningStore for LateCounts {
    async fn screen_try(
        &self,
        payment_try: NewPaymentTry,
        decision: TryScreening,
    ) -> Result<ScreenedPaymentTry, StoreError> {
        self.tries.lock().unwrap().push((payment_try, decision));
        std::future::pending().await
    }

    async fn count_outcome(&self, order: OrderId, countable: CountableOutcome) -> Result<(), StoreError> {
        self.store.count_outcome(order, countable).await
    }

    async fn note_alarm(&self, event: NewEvent) -> Result<bool, StoreError> {
        self.store.note_alarm(event).await
    }

    async fn put_screening(&self, order: OrderId, merchant: MerchantId, kept: Screening) -> Result<(), StoreError> {
        self.store.put_screening(order, merchant, kept).await
    }

    async fn find_screening(&self, merchant: MerchantId, order: OrderId) -> Result<Option<Screening>, StoreError> {
        self.store.find_screening(merchant, order).await
    }

    async fn list_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(OrderId, Screening)>, StoreError> {
        self.store.list_screenings(merchant, since, limit).await
    }

    async fn list_labelled_screenings(
        &self,
        merchant: MerchantId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Screening, ScreeningLabel)>, StoreError> {
        self.store.list_labelled_screenings(merchant, since, limit).await
    }

    async fn purge_screening(&self, now: Timestamp, facts_before: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.store.purge_screening(now, facts_before, limit).await
    }
}

#[tokio::test]
async fn a_late_count_changes_nothing_that_was_decided_without_it() {
    // Whatever is counted is blocked.
    let mut world = world("[velocity]\nDEVICE_TRIES_HOUR = [0, 90]", None).await;
    let late = Arc::new(LateCounts { store: world.store.clone(), tries: Mutex::default() });
    world.shopper.payments.screening = world.screening_with(late.clone()).with_keyring(world.keyring.clone());
    let (id, submitted) = pay(&world).await;
    assert_eq!(seen(&submitted), ("COMPLETED", None), "it waits for 0.9 s and goes on");
    let (order, merchant) = (last(&world, id).await, world.caller.merchant.id);
    let kept = async || world.store.find_screening(merchant, order.id).await.unwrap().unwrap();
    let decided = kept().await;
    assert_eq!((decided.decision(), decided.facts().velocity.clone()), (Decision::Allow, Default::default()));
    let (new, decision) = late.tries.lock().unwrap().pop().unwrap();
    let counted = world.store.screen_try(new, decision).await.unwrap();
    assert_eq!((counted.screening.decision(), counted.is_kept), (Decision::Block, false));
    assert_eq!(kept().await, decided, "the payment went by that");
}
