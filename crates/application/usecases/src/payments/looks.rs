//! How often the processor is asked because somebody loads a page: seldom, whoever loads it and however often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dropin_kernel::{OrderId, Timestamp};

/// The processor is asked about one Order at most once in this time.
const PAUSE: Duration = Duration::from_millis(500);
/// Orders asked about within that time at most: beyond, the settler alone asks.
const MOST: usize = 4_096;

/// Remembers about which Orders the processor was asked just now; shared by its clones.
#[derive(Debug, Clone, Default)]
pub struct Looks(Arc<Mutex<HashMap<OrderId, Timestamp>>>);

impl Looks {
    /// Whether the processor may be asked about this Order at `now`; if so, that counts as done.
    pub(super) fn may_ask(&self, order: OrderId, now: Timestamp) -> bool {
        // Every change of it is whole at any point.
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |at: Timestamp| at.since(now).max(now.since(at)) < PAUSE;
        if asked.get(&order).is_some_and(|at| recent(*at)) {
            return false;
        }
        if MOST <= asked.len() {
            asked.retain(|_order, at| recent(*at));
        }
        if MOST <= asked.len() {
            return false;
        }
        asked.insert(order, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn order(number: usize) -> OrderId {
        OrderId::new(Uuid::from_u128(number as u128))
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000 * (1_000_000 + millis))
    }

    #[test]
    fn one_order_is_asked_about_once_in_half_a_second_and_each_for_itself() {
        let looks = Looks::default();
        assert!(looks.may_ask(order(1), at(0)));
        assert!(!looks.clone().may_ask(order(1), at(499)));
        assert!(looks.may_ask(order(2), at(499)));
        assert!(looks.may_ask(order(1), at(500)));
        assert!(looks.may_ask(order(1), at(-5_000)), "a clock that was set back");
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let looks = Looks::default();
        let asked = |millis| (0..3 * MOST).filter(|number| looks.may_ask(order(*number), at(millis))).count();
        assert_eq!(asked(0), MOST);
        assert_eq!(looks.0.lock().unwrap().len(), MOST);
        assert_eq!(asked(600), MOST, "the old are forgotten");
    }
}
