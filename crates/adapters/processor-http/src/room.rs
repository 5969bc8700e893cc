//! Rooms: so many calls at once and no more, and of one merchant no more than its share, so that nobody fills a room alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dropin_kernel::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::guard::HeldBack;
use crate::health::Occupancy;

/// So many merchants are remembered at least before those without a call are forgotten.
const REMEMBERED: usize = 64;

/// A room of its own, so that calls of one kind never use up what the other needs.
#[derive(Debug)]
pub(crate) struct Compartment {
    room: usize,
    /// Most places of one merchant.
    share: usize,
    free: Arc<Semaphore>,
    shares: Mutex<Shares>,
    waiting: AtomicUsize,
}

/// A place in a room; whoever holds it is under way. The room's is given back first.
#[derive(Debug)]
pub(crate) struct Place {
    _of_room: OwnedSemaphorePermit,
    _of_merchant: Option<OwnedSemaphorePermit>,
}

/// What merchants have left of their shares; of those that have a call under way or in line, and perhaps as many more.
#[derive(Debug, Default)]
struct Shares {
    of: HashMap<MerchantId, Weak<Semaphore>>,
    /// When so many are remembered, those without a call are forgotten.
    forget_at: usize,
}

impl Shares {
    fn of(&mut self, merchant: MerchantId, share: usize) -> Arc<Semaphore> {
        if let Some(known) = self.of.get(&merchant).and_then(Weak::upgrade) {
            return known;
        }
        if self.forget_at <= self.of.len() {
            self.of.retain(|_merchant, places| 0 < places.strong_count());
            self.forget_at = (2 * self.of.len()).max(REMEMBERED);
        }
        let places = Arc::new(Semaphore::new(share));
        self.of.insert(merchant, Arc::downgrade(&places));
        places
    }
}

/// One who waits in line, also when he goes away.
struct InLine<'a>(&'a AtomicUsize);

impl<'a> InLine<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Compartment {
    /// `share` is the part of the room, in percent, that one merchant may have.
    pub(crate) fn new(room: usize, share: u8) -> Self {
        let room = room.clamp(1, Semaphore::MAX_PERMITS);
        let share = (room.saturating_mul(share.into()) / 100).clamp(1, room);
        let (free, shares) = (Arc::new(Semaphore::new(room)), Mutex::default());
        Self { room, share, free, shares, waiting: AtomicUsize::new(0) }
    }

    /// Waits for a place, no longer than `patience`. A merchant that has its share waits for one of its own calls, and only then in the line of all,
    /// where it keeps nobody else from a place.
    pub(crate) async fn enter(&self, merchant: Option<MerchantId>, patience: Duration) -> Result<Place, HeldBack> {
        let until = Instant::now() + patience;
        let _in_line = InLine::new(&self.waiting);
        let own = merchant.map(|merchant| {
            // Every change of it is whole at any point.
            self.shares.lock().unwrap_or_else(PoisonError::into_inner).of(merchant, self.share)
        });
        let of_merchant = match own {
            Some(own) => Some(place(own, until).await.ok_or(HeldBack::Share)?),
            None => None,
        };
        let of_room = place(Arc::clone(&self.free), until).await.ok_or(HeldBack::Full)?;
        Ok(Place { _of_room: of_room, _of_merchant: of_merchant })
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        let under_way = self.room.saturating_sub(self.free.available_permits());
        Occupancy { room: self.room, under_way, waiting: self.waiting.load(Ordering::Relaxed) }
    }
}

async fn place(places: Arc<Semaphore>, until: Instant) -> Option<OwnedSemaphorePermit> {
    // Nobody closes it.
    timeout_at(until, places.acquire_owned()).await.ok()?.ok()
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
        let room = Compartment::new(5, 50);
        let first = room.enter(merchant(1), NOW).await.unwrap();
        let _second = room.enter(merchant(1), NOW).await.unwrap();
        assert_eq!(room.enter(merchant(1), NOW).await.err(), Some(HeldBack::Share));
        let _two = (room.enter(merchant(2), NOW).await.unwrap(), room.enter(merchant(2), NOW).await.unwrap());
        let _nobody = room.enter(None, NOW).await.unwrap();
        assert_eq!(room.enter(merchant(3), NOW).await.err(), Some(HeldBack::Full));
        assert_eq!(room.occupancy(), Occupancy { room: 5, under_way: 5, waiting: 0 });
        drop(first);
        assert!(room.enter(merchant(1), NOW).await.is_ok(), "both places were given back");
    }

    #[actix_web::test]
    async fn everybody_has_a_place_and_nobody_more_than_all() {
        for (room, share, places) in [(1, 1, 1), (3, 1, 1), (8, 100, 8), (8, 200, 8), (0, 0, 1)] {
            let room = Compartment::new(room, share);
            let mut held = Vec::new();
            while let Ok(place) = room.enter(merchant(1), NOW).await {
                held.push(place);
            }
            assert_eq!(held.len(), places, "{room:?}");
        }
    }

    #[actix_web::test]
    async fn merchants_without_a_call_are_forgotten() {
        let room = Compartment::new(2, 50);
        let held = room.enter(merchant(0), NOW).await.unwrap();
        for number in 1..10 * REMEMBERED as u128 {
            drop(room.enter(merchant(number), NOW).await.unwrap());
        }
        assert!(room.shares.lock().unwrap().of.len() <= REMEMBERED + 1);
        assert_eq!(room.enter(merchant(0), NOW).await.err(), Some(HeldBack::Share), "who has one is not");
        drop(held);
    }
}
