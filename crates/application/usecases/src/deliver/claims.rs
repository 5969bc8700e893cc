//! When the dispatcher asks the outbox for due notifications.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use dropin_kernel::{EndpointId, Timestamp};
use tokio::time::Instant;

/// Probe claims in flight.
const MAX_PROBE_CLAIMS: u32 = 8;

/// Claims: at most one in flight, at the poll interval and whenever something says that there may be more.
pub(super) struct Claims {
    /// Whether the outbox may hold a due notification.
    pub(super) poll_again: bool,
    /// Whether the last claim skipped an endpoint for lack of free slots.
    pub(super) endpoints_skipped: bool,
    in_flight: bool,
    last_poll_at: Instant,
    poll_at: Instant,
}

impl Claims {
    pub(super) fn new(now: Instant) -> Self {
        Self { poll_again: true, endpoints_skipped: false, in_flight: false, last_poll_at: now, poll_at: now }
    }

    /// When the outbox is polled next.
    pub(super) fn due_at(&self) -> Instant {
        self.poll_at
    }

    /// A wake-up signalled new notifications.
    pub(super) fn poll_soon(&mut self, debounce: Duration) {
        self.poll_at = self.poll_at.min(self.last_poll_at + debounce);
    }

    /// Takes note that the poll interval is over, if it is.
    pub(super) fn check_poll(&mut self, now: Instant, poll: Duration) {
        if self.poll_at <= now {
            (self.poll_again, self.poll_at) = (true, now + poll);
        }
    }

    /// Whether a claim begins now.
    pub(super) fn begin(&mut self, now: Instant, poll: Duration) -> bool {
        if !self.poll_again || self.in_flight {
            return false;
        }
        (self.poll_again, self.in_flight) = (false, true);
        (self.last_poll_at, self.poll_at) = (now, now + poll);
        true
    }

    /// The claim has ended.
    pub(super) fn end(&mut self) {
        self.in_flight = false;
    }
}

/// Probes of endpoints whose breaker is open.
#[derive(Default)]
pub(super) struct Probes {
    /// An entry that its breaker does not confirm is stale.
    due: BinaryHeap<Reverse<(Timestamp, EndpointId)>>,
    in_flight: u32,
}

impl Probes {
    /// Probes `endpoint` at `at`.
    pub(super) fn add(&mut self, endpoint: EndpointId, at: Timestamp) {
        self.due.push(Reverse((at, endpoint)));
    }

    /// When the next probe may be claimed; `None` while there is none, or too many are being claimed.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        self.due.peek().filter(|_| self.in_flight < MAX_PROBE_CLAIMS).map(|Reverse((at, _))| *at)
    }

    /// The next probe that is due at `now`.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, EndpointId)> {
        self.due_at().filter(|at| *at <= now)?;
        self.due.pop().map(|Reverse(probe)| probe)
    }

    /// A claim of a probe begins.
    pub(super) fn begin(&mut self) {
        self.in_flight += 1;
    }

    /// The claim has ended.
    pub(super) fn end(&mut self) {
        self.in_flight -= 1;
    }
}
