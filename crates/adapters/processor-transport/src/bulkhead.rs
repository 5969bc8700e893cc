//! The bulkhead: a limit of calls in flight, and of each merchant's part of it, so that one merchant cannot use all of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dropin_kernel::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::guard::HeldBack;
use crate::health::Occupancy;

/// Merchants tracked before those without a call are dropped.
const MAX_TRACKED_MERCHANTS: usize = 64;

/// Limits the calls of one kind, so that they never use up the permits of the other.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    capacity: usize,
    /// Permits that one merchant may hold.
    share: usize,
    free: Arc<Semaphore>,
    shares: Mutex<Shares>,
    waiting: AtomicUsize,
}

/// Permission for one call; held while the call is in flight. The bulkhead's permit is released before the merchant's.
#[derive(Debug)]
pub(crate) struct Permit {
    _of_bulkhead: OwnedSemaphorePermit,
    _of_merchant: Option<OwnedSemaphorePermit>,
}

/// The permits of merchants with a call in flight or waiting, and of at most as many more.
#[derive(Debug, Default)]
struct Shares {
    of: HashMap<MerchantId, Weak<Semaphore>>,
    /// From this number on, merchants without a call are dropped.
    forget_at: usize,
}

impl Shares {
    fn of(&mut self, merchant: MerchantId, share: usize) -> Arc<Semaphore> {
        if let Some(known) = self.of.get(&merchant).and_then(Weak::upgrade) {
            return known;
        }
        if self.forget_at <= self.of.len() {
            self.of.retain(|_merchant, permits| 0 < permits.strong_count());
            self.forget_at = (2 * self.of.len()).max(MAX_TRACKED_MERCHANTS);
        }
        let permits = Arc::new(Semaphore::new(share));
        self.of.insert(merchant, Arc::downgrade(&permits));
        permits
    }
}

/// Counts a waiting call, also when its caller is dropped.
struct WaitingCall<'a>(&'a AtomicUsize);

impl<'a> WaitingCall<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Bulkhead {
    /// `share` is the part of the capacity, in percent, that one merchant may have.
    pub(crate) fn new(capacity: usize, share: u8) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        let share = (capacity.saturating_mul(share.into()) / 100).clamp(1, capacity);
        let (free, shares) = (Arc::new(Semaphore::new(capacity)), Mutex::default());
        Self { capacity, share, free, shares, waiting: AtomicUsize::new(0) }
    }

    /// Waits for a permit, no longer than `patience`. A merchant that holds its share waits for one of its own calls, and only then in the common queue,
    /// where it blocks no other merchant.
    pub(crate) async fn enter(&self, merchant: Option<MerchantId>, patience: Duration) -> Result<Permit, HeldBack> {
        let until = Instant::now() + patience;
        let _waiting = WaitingCall::new(&self.waiting);
        let own = merchant.map(|merchant| {
            // Every change of it is whole at any point.
            self.shares.lock().unwrap_or_else(PoisonError::into_inner).of(merchant, self.share)
        });
        let of_merchant = match own {
            Some(own) => Some(permit(own, until).await.ok_or(HeldBack::Share)?),
            None => None,
        };
        let of_bulkhead = permit(Arc::clone(&self.free), until).await.ok_or(HeldBack::Full)?;
        Ok(Permit { _of_bulkhead: of_bulkhead, _of_merchant: of_merchant })
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        let under_way = self.capacity.saturating_sub(self.free.available_permits());
        Occupancy { capacity: self.capacity, under_way, waiting: self.waiting.load(Ordering::Relaxed) }
    }
}

async fn permit(permits: Arc<Semaphore>, until: Instant) -> Option<OwnedSemaphorePermit> {
    // The semaphore is never closed.
    timeout_at(until, permits.acquire_owned()).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW: Duration = Duration::from_millis(1);

    fn merchant(number: u128) -> Option<MerchantId> {
        Some(MerchantId::new(Uuid::from_u128(number)))
    }

    #[actix_web::test]
    async fn one_merchant_has_its_share_and_no_more_and_others_the_rest() {
        let bulkhead = Bulkhead::new(5, 50);
        let first = bulkhead.enter(merchant(1), NOW).await.unwrap();
        let _second = bulkhead.enter(merchant(1), NOW).await.unwrap();
        assert_eq!(bulkhead.enter(merchant(1), NOW).await.err(), Some(HeldBack::Share));
        let _two = (bulkhead.enter(merchant(2), NOW).await.unwrap(), bulkhead.enter(merchant(2), NOW).await.unwrap());
        let _nobody = bulkhead.enter(None, NOW).await.unwrap();
        assert_eq!(bulkhead.enter(merchant(3), NOW).await.err(), Some(HeldBack::Full));
        assert_eq!(bulkhead.occupancy(), Occupancy { capacity: 5, under_way: 5, waiting: 0 });
        drop(first);
        assert!(bulkhead.enter(merchant(1), NOW).await.is_ok(), "both permits were given back");
    }

    #[actix_web::test]
    async fn every_bulkhead_has_a_permit_and_no_more_than_its_capacity() {
        for (capacity, share, permits) in [(1, 1, 1), (3, 1, 1), (8, 100, 8), (8, 200, 8), (0, 0, 1)] {
            let bulkhead = Bulkhead::new(capacity, share);
            let mut held = Vec::new();
            while let Ok(permit) = bulkhead.enter(merchant(1), NOW).await {
                held.push(permit);
            }
            assert_eq!(held.len(), permits, "{bulkhead:?}");
        }
    }

    #[actix_web::test]
    async fn merchants_without_a_call_are_forgotten() {
        let bulkhead = Bulkhead::new(2, 50);
        let held = bulkhead.enter(merchant(0), NOW).await.unwrap();
        for number in 1..10 * MAX_TRACKED_MERCHANTS as u128 {
            drop(bulkhead.enter(merchant(number), NOW).await.unwrap());
        }
        assert!(bulkhead.shares.lock().unwrap().of.len() <= MAX_TRACKED_MERCHANTS + 1);
        assert_eq!(bulkhead.enter(merchant(0), NOW).await.err(), Some(HeldBack::Share), "who has one is not");
        drop(held);
    }
}
