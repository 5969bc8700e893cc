//! Limits how often page loads make us poll the processor about one Order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dropin_kernel::{OrderId, Timestamp};

/// The processor is polled about one Order at most once in this time.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Orders polled within that time at most; beyond, only the settler polls.
const MAX_ORDERS: usize = 4_096;

/// Throttles polls of the processor per Order; clones share the state.
#[derive(Debug, Clone, Default)]
pub struct PollThrottle(Arc<Mutex<HashMap<OrderId, Timestamp>>>);

impl PollThrottle {
    /// Whether the processor may be polled about this Order at `now`; if so, that poll is counted.
    pub(super) fn may_ask(&self, order: OrderId, now: Timestamp) -> bool {
        // Every change of it is whole at any point.
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |at: Timestamp| at.since(now).max(now.since(at)) < POLL_INTERVAL;
        if asked.get(&order).is_some_and(|at| recent(*at)) {
            return false;
        }
        if MAX_ORDERS <= asked.len() {
            asked.retain(|_order, at| recent(*at));
        }
        if MAX_ORDERS <= asked.len() {
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
        let throttle = PollThrottle::default();
        assert!(throttle.may_ask(order(1), at(0)));
        assert!(!throttle.clone().may_ask(order(1), at(499)));
        assert!(throttle.may_ask(order(2), at(499)));
        assert!(throttle.may_ask(order(1), at(500)));
        assert!(throttle.may_ask(order(1), at(-5_000)), "a clock that was set back");
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let throttle = PollThrottle::default();
        let asked = |millis| (0..3 * MAX_ORDERS).filter(|number| throttle.may_ask(order(*number), at(millis))).count();
        assert_eq!(asked(0), MAX_ORDERS);
        assert_eq!(throttle.0.lock().unwrap().len(), MAX_ORDERS);
        assert_eq!(asked(600), MAX_ORDERS, "the old are forgotten");
    }
}
