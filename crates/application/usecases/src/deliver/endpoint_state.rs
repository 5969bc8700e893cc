//! The state of one endpoint: its slots, the notifications that wait for them, and its circuit breaker.

use std::collections::VecDeque;
use std::time::Duration;

use dropin_access::SealedSecret;
use dropin_kernel::Timestamp;
use dropin_notification::{Breaker, BreakerPermit};
use dropin_ports::{Delivery, KeyringError, Secrets};
use tokio::time::Instant;

/// Claimed notifications that may wait for each slot.
const MAX_WAITING_PER_SLOT: u32 = 4;

/// After this time without a notification the state of an endpoint is dropped.
const IDLE_STATE_TTL: Duration = Duration::from_secs(60);
/// The same while its breaker has a record of failures: as long as the schedule's longest wait but one.
const FAILURE_STATE_TTL: Duration = Duration::from_secs(6 * 60 * 60);
/// The same message about an endpoint is logged at most once in this time.
const LOG_REPEAT_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// How often the overdue notifications of an endpoint with an open breaker are parked.
const OVERDUE_CHECK_INTERVAL: Duration = Duration::from_secs(10 * 60);

pub(super) struct EndpointState {
    /// Attempts in flight.
    pub(super) in_flight: u32,
    /// Claimed notifications with the end of their leases; each starts when a slot is free.
    pub(super) waiting: VecDeque<(Delivery, Timestamp)>,
    pub(super) breaker: Breaker,
    /// Whether the outbox may hold more than was claimed.
    pub(super) more: bool,
    /// How long its notifications are tried.
    pub(super) give_up_after: Duration,
    /// Acknowledged since the last claim, and between the last two.
    acknowledged: (u32, u32),
    /// Its secrets, sealed and opened, in the same order.
    secrets: (Vec<SealedSecret>, Vec<Vec<u8>>),
    last_used_at: Instant,
    gone_logged_at: Option<Timestamp>,
    dead_logged: bool,
    overdue_checked_at: Option<Timestamp>,
}

impl EndpointState {
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self {
            in_flight: 0,
            waiting: VecDeque::new(),
            breaker: Breaker::default(),
            more: false,
            give_up_after,
            acknowledged: (0, 0),
            secrets: (Vec::new(), Vec::new()),
            last_used_at: Instant::now(),
            gone_logged_at: None,
            dead_logged: false,
            overdue_checked_at: None,
        }
    }

    pub(super) fn acknowledged(&mut self) {
        self.acknowledged.0 = self.acknowledged.0.saturating_add(1);
    }

    /// Whether more may be claimed for it; `for_idle_endpoints`: if it has nothing yet.
    pub(super) fn has_free_slots(&self, slots: u32, for_idle_endpoints: bool) -> bool {
        if for_idle_endpoints { self.in_flight == 0 && self.waiting.is_empty() } else { !self.is_full(slots) }
    }

    /// Whether the claim that is about to be made skips this endpoint.
    pub(super) fn is_skipped(&mut self, slots: u32, for_idle_endpoints: bool) -> bool {
        let skipped = match self.breaker.permit() {
            BreakerPermit::All => !self.has_free_slots(slots, for_idle_endpoints),
            BreakerPermit::Next => return false,
            BreakerPermit::ProbeAt { .. } | BreakerPermit::Nothing => return true,
        };
        self.more = skipped;
        if !skipped {
            self.acknowledged = (0, self.acknowledged.0);
        }
        skipped
    }

    /// Whether no more may be claimed. For an endpoint that acknowledges quickly as many wait as it acknowledges until the next
    /// claim, so that its slots are never idle; for a slow one none, so that other endpoints get the slots.
    pub(super) fn is_full(&self, slots: u32) -> bool {
        let ahead = self.acknowledged.0.max(self.acknowledged.1).min(slots);
        let stock = self.in_flight + self.waiting.len() as u32;
        slots <= stock && slots + ahead < stock + (slots / 2).max(1)
    }

    /// Whether the waiting list is full. Only a store that cannot skip full endpoints fills it.
    pub(super) fn is_waiting_list_full(&self, slots: u32) -> bool {
        slots * MAX_WAITING_PER_SLOT <= self.waiting.len() as u32
    }

    /// The secrets that sign `delivery` at `now`.
    pub(super) fn secrets(
        &mut self,
        keys: &dyn Secrets,
        delivery: &Delivery,
        now: Timestamp,
    ) -> Result<Vec<Vec<u8>>, KeyringError> {
        let (sealed, opened) = &mut self.secrets;
        if *sealed != delivery.secrets {
            let owner = delivery.endpoint_id.to_string();
            *opened = delivery.secrets.iter().map(|one| keys.open_secret(&owner, one)).collect::<Result<_, _>>()?;
            sealed.clone_from(&delivery.secrets);
        }
        let old_has_ended = delivery.old_secret_until.is_some_and(|until| until <= now);
        let count = if old_has_ended { 1 } else { opened.len() };
        Ok(opened.iter().take(count).cloned().collect())
    }

    pub(super) fn touch(&mut self) {
        self.last_used_at = Instant::now();
    }

    /// Whether the endpoint is idle and its state carries nothing worth keeping.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        let unused = now.duration_since(self.last_used_at);
        let blank = self.breaker.is_blank() && self.gone_logged_at.is_none();
        let lasts = if blank { IDLE_STATE_TTL } else { FAILURE_STATE_TTL };
        self.in_flight == 0
            && self.waiting.is_empty()
            && self.breaker.permit() != BreakerPermit::Nothing
            && lasts <= unused
    }

    /// Whether to log that the endpoint answers 410.
    pub(super) fn should_log_gone(&mut self, now: Timestamp) -> bool {
        let news = self.gone_logged_at.is_none_or(|logged| LOG_REPEAT_INTERVAL <= now.since(logged));
        if news {
            self.gone_logged_at = Some(now);
        }
        news
    }

    /// Whether to log that the endpoint has been dead for long.
    pub(super) fn should_log_dead(&mut self, now: Timestamp) -> bool {
        let long = self.breaker.open_since().is_some_and(|since| LOG_REPEAT_INTERVAL <= now.since(since));
        let news = long && !self.dead_logged;
        self.dead_logged |= long;
        news
    }

    /// The breaker has closed.
    pub(super) fn reset_after_close(&mut self) {
        (self.dead_logged, self.overdue_checked_at) = (false, None);
    }

    /// Whether to park its overdue notifications now.
    pub(super) fn should_park_overdue(&mut self, now: Timestamp) -> bool {
        let is_due = self.overdue_checked_at.is_none_or(|at| OVERDUE_CHECK_INTERVAL <= now.since(at));
        if is_due {
            self.overdue_checked_at = Some(now);
        }
        is_due
    }
}
