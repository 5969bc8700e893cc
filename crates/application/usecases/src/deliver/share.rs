//! One endpoint's share: its slots, what waits for them, and the guard in front of it.

use std::collections::VecDeque;
use std::time::Duration;

use dropin_access::SealedSecret;
use dropin_kernel::Timestamp;
use dropin_notification::{Breaker, Passage};
use dropin_ports::{Delivery, KeyringError, Secrets};
use tokio::time::Instant;

/// So many claimed notifications may wait for each slot.
const WAITING_PER_SLOT: u32 = 4;

/// An endpoint that nobody had anything for is forgotten after that.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// One about which something is known, after that: as long as the schedule's longest wait but one.
const KNOWLEDGE_LASTS: Duration = Duration::from_secs(6 * 60 * 60);
/// The same person is not told the same more often.
const TOLD_EVERY: Duration = Duration::from_secs(60 * 60);
/// What an endpoint that is passed over never got in time is looked for that often.
const OVERDUE_EVERY: Duration = Duration::from_secs(10 * 60);

pub(super) struct Share {
    /// Notifications under way.
    pub(super) busy: u32,
    /// Claimed, with the end of the lease; starts when a slot is free.
    pub(super) waiting: VecDeque<(Delivery, Timestamp)>,
    pub(super) breaker: Breaker,
    /// Whether the queue may hold more than was handed out.
    pub(super) more: bool,
    /// How long its notifications are tried.
    pub(super) give_up_after: Duration,
    /// Acknowledged since the last claim, and between the last two.
    acknowledged: (u32, u32),
    /// Its secrets, sealed and opened, in the same order.
    secrets: (Vec<SealedSecret>, Vec<Vec<u8>>),
    used_at: Instant,
    gone_told_at: Option<Timestamp>,
    dead_told: bool,
    overdue_at: Option<Timestamp>,
}

impl Share {
    pub(super) fn new(give_up_after: Duration) -> Self {
        Self {
            busy: 0,
            waiting: VecDeque::new(),
            breaker: Breaker::default(),
            more: false,
            give_up_after,
            acknowledged: (0, 0),
            secrets: (Vec::new(), Vec::new()),
            used_at: Instant::now(),
            gone_told_at: None,
            dead_told: false,
            overdue_at: None,
        }
    }

    pub(super) fn acknowledged(&mut self) {
        self.acknowledged.0 = self.acknowledged.0.saturating_add(1);
    }

    /// Whether more may be claimed for it; `for_newcomers`: if it has nothing yet.
    pub(super) fn has_room(&self, slots: u32, for_newcomers: bool) -> bool {
        if for_newcomers { self.busy == 0 && self.waiting.is_empty() } else { !self.is_full(slots) }
    }

    /// Whether a claim has to pass it over, as it is about to be made.
    pub(super) fn is_passed_over(&mut self, slots: u32, for_newcomers: bool) -> bool {
        let passed_over = match self.breaker.passage() {
            Passage::All => !self.has_room(slots, for_newcomers),
            Passage::Next => return false,
            Passage::ProbeAt { .. } | Passage::Nothing => return true,
        };
        self.more = passed_over;
        if !passed_over {
            self.acknowledged = (0, self.acknowledged.0);
        }
        passed_over
    }

    /// Whether as much is under way and waits as may. For an endpoint that acknowledges quickly there waits what it will take until the next
    /// claim, so that its slots are never idle; for a slow one nothing, for others may have it.
    pub(super) fn is_full(&self, slots: u32) -> bool {
        let ahead = self.acknowledged.0.max(self.acknowledged.1).min(slots);
        let stock = self.busy + self.waiting.len() as u32;
        slots <= stock && slots + ahead < stock + (slots / 2).max(1)
    }

    /// Whether no more may wait. More only comes from a store that cannot pass over full endpoints.
    pub(super) fn is_crowded(&self, slots: u32) -> bool {
        slots * WAITING_PER_SLOT <= self.waiting.len() as u32
    }

    /// What signs `delivery` at `now`.
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

    pub(super) fn used(&mut self) {
        self.used_at = Instant::now();
    }

    /// Whether nothing is under way and nothing worth knowing is known about it.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        let unused = now.duration_since(self.used_at);
        let blank = self.breaker.is_blank() && self.gone_told_at.is_none();
        let lasts = if blank { FORGOTTEN_AFTER } else { KNOWLEDGE_LASTS };
        self.busy == 0 && self.waiting.is_empty() && self.breaker.passage() != Passage::Nothing && lasts <= unused
    }

    /// Whether somebody has to be told that it answers 410.
    pub(super) fn is_gone_news(&mut self, now: Timestamp) -> bool {
        let news = self.gone_told_at.is_none_or(|told| TOLD_EVERY <= now.since(told));
        if news {
            self.gone_told_at = Some(now);
        }
        news
    }

    /// Whether somebody has to be told that it has been dead for long.
    pub(super) fn is_death_news(&mut self, now: Timestamp) -> bool {
        let long = self.breaker.open_since().is_some_and(|since| TOLD_EVERY <= now.since(since));
        let news = long && !self.dead_told;
        self.dead_told |= long;
        news
    }

    /// It is there again.
    pub(super) fn is_back(&mut self) {
        (self.dead_told, self.overdue_at) = (false, None);
    }

    /// Whether it is time to look for what it never got in time.
    pub(super) fn looks_for_overdue(&mut self, now: Timestamp) -> bool {
        let looks = self.overdue_at.is_none_or(|at| OVERDUE_EVERY <= now.since(at));
        if looks {
            self.overdue_at = Some(now);
        }
        looks
    }
}
