//! How much memory the bodies of requests that prove no merchant may take, over all connections of a server.
//!
//! A deadline and a limit for each body do not bound the sum: six hundred clients that each send half of a body hold six hundred halves for
//! as long as the deadline. So every such body takes what it needs from one budget while its request runs, and is refused when there is
//! none left. Three rules keep a few clients from taking all of it from others: a client has a share, the larger a body is the less of the
//! budget it finds, and what was not sent yet takes nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dropin_wire::ErrorCode;

use crate::ApiError;
use crate::client::Client;
use crate::metrics::{Counters, Metrics};

/// A body of at most so many bytes may take the last quarter of the budget too: a card's form has some six hundred.
const TINY_BODY: usize = 1024;
/// A body of at most so many bytes may take three quarters of the budget, a larger one half.
const SMALL_BODY: usize = 4 * 1024;

/// Each client address has this part of the budget, so that it takes many addresses to fill any part of it.
const CLIENT_SHARE: usize = 64;

/// The budget of one server, shared by its workers.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    /// Bytes; 0 for any number.
    limit: usize,
    held: Mutex<Held>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    by_client: HashMap<Client, usize>,
}

impl BodyBudget {
    pub(crate) fn new(limit: usize, metrics: Arc<Metrics>) -> Self {
        Self { limit, held: Mutex::default(), metrics }
    }

    /// Takes `bytes` for the body of a request of `client`, which then has `size` bytes in all. They have to be given back.
    ///
    /// # Errors
    /// 429 RATE_LIMITED over the client's share, 503 SERVICE_UNAVAILABLE when the budget is spent.
    pub(crate) fn take(&self, client: Client, bytes: usize, size: usize) -> Result<(), ApiError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let room = if size <= TINY_BODY {
            self.limit
        } else if size <= SMALL_BODY {
            self.limit / 4 * 3
        } else {
            self.limit / 2
        };
        let of_client = held.by_client.get(&client).copied().unwrap_or_default();
        if self.limit != 0 {
            let share = (self.limit / CLIENT_SHARE).max(SMALL_BODY);
            if share < of_client + bytes {
                Counters::increment(&self.metrics.counters.limited_body);
                let message = "Your address is sending too many request bodies at once; finish some of them first.";
                return Err(ApiError::new(ErrorCode::RateLimited, message).retry_soon());
            }
            if room < held.bytes + bytes {
                Counters::increment(&self.metrics.counters.limited_body);
                let message =
                    "Too many request bodies are being received at once. Nothing was changed; try again in a moment.";
                return Err(ApiError::new(ErrorCode::ServiceUnavailable, message).retry_soon());
            }
        }
        held.bytes += bytes;
        held.by_client.insert(client, of_client + bytes);
        self.show(held.bytes);
        Ok(())
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, client: Client, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.bytes = held.bytes.saturating_sub(bytes);
        self.show(held.bytes);
        let Some(of_client) = held.by_client.get_mut(&client) else { return };
        *of_client = of_client.saturating_sub(bytes);
        if *of_client == 0 {
            held.by_client.remove(&client);
            if held.by_client.is_empty() {
                held.by_client.shrink_to_fit();
            }
        }
    }

    fn show(&self, bytes: usize) {
        let shown: &AtomicU64 = &self.metrics.counters.body_bytes;
        shown.store(bytes as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn budget(limit: usize) -> BodyBudget {
        BodyBudget::new(limit, Arc::default())
    }

    fn code(taken: Result<(), ApiError>) -> Option<u16> {
        taken.err().map(|error| error.code.status())
    }

    /// Lets `clients` take bodies of `size` until each has its share.
    fn fill(budget: &BodyBudget, clients: std::ops::Range<u64>, size: usize) {
        for one in clients {
            while code(budget.take(Client::V6(one), size, size)).is_none() {}
        }
    }

    #[test]
    fn a_client_has_a_share_and_the_larger_a_body_the_less_room() {
        let budget = budget(2_048 * KIB);
        assert_eq!(code(budget.take(Client::V6(0), 32 * KIB, 32 * KIB)), None);
        assert_eq!(code(budget.take(Client::V6(0), 1, 1)), Some(429), "its share of a sixty-fourth");
        fill(&budget, 1..40, 32 * KIB);
        assert_eq!(code(budget.take(Client::V6(99), 32 * KIB, 32 * KIB)), Some(503), "half is full of large ones");
        fill(&budget, 40..80, 4 * KIB);
        assert_eq!(code(budget.take(Client::V6(99), 4 * KIB, 4 * KIB)), Some(503), "three quarters are full");
        fill(&budget, 80..96, KIB);
        assert_eq!(code(budget.take(Client::V6(99), 1, 1)), Some(503), "nothing is left");
        budget.give_back(Client::V6(0), 32 * KIB);
        assert_eq!(code(budget.take(Client::V6(99), KIB, KIB)), None);
        assert_eq!(budget.metrics.counters.body_bytes.load(Ordering::Relaxed), (2_017 * KIB) as u64);
    }

    #[test]
    fn a_dozen_clients_leave_room_for_bodies_of_every_size() {
        for size in [KIB, 4 * KIB, 32 * KIB] {
            let budget = budget(crate::Limits::default().body_memory);
            fill(&budget, 0..12, size);
            for wanted in [KIB, 4 * KIB, 32 * KIB] {
                assert_eq!(code(budget.take(Client::V6(99), wanted, wanted)), None, "{size} {wanted}");
            }
        }
    }

    #[test]
    fn nothing_is_kept_of_clients_that_have_gone_and_0_is_no_limit() {
        let budget = budget(0);
        for one in 0..100 {
            assert_eq!(code(budget.take(Client::V6(one), 1 << 20, 1 << 20)), None);
        }
        (0..100).for_each(|one| budget.give_back(Client::V6(one), 1 << 20));
        let held = budget.held.lock().unwrap();
        assert_eq!((held.bytes, held.by_client.len()), (0, 0));
    }
}
