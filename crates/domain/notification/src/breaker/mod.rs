use std::time::Duration;

use dropin_kernel::Timestamp;

use crate::schedule::{AttemptOutcome, asked_for, jittered};

/// When the circuit breaker of an endpoint opens, and how often the endpoint is probed then.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_notification::{EndpointBreakerRules, InvalidBreakerRules};
///
/// let patient = EndpointBreakerRules { unreached_in_a_row: 10, ..EndpointBreakerRules::default() };
/// assert_eq!(patient.checked(), Ok(patient));
/// let restless = EndpointBreakerRules { first_wait: Duration::ZERO, ..patient };
/// assert_eq!(restless.checked(), Err(InvalidBreakerRules::Wait));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "serialized::StoredRules")
)]
pub struct EndpointBreakerRules {
    /// Attempts in a row without a complete response that open the breaker.
    pub unreached_in_a_row: u32,
    /// So many of its last tries are remembered; 1 to 64.
    pub window: u32,
    /// It counts as dead when more than so many in a hundred of those failed.
    pub failed_percent: u32,
    /// Wait before the first probe; doubled after each failed probe.
    #[cfg_attr(feature = "serde", serde(with = "dropin_kernel::span_text"))]
    pub first_wait: Duration,
    /// Longest such wait, jitter included.
    #[cfg_attr(feature = "serde", serde(with = "dropin_kernel::span_text"))]
    pub longest_wait: Duration,
}

/// Why rules are none of a circuit breaker.
///
/// ```
/// use dropin_notification::InvalidBreakerRules;
///
/// assert_eq!(InvalidBreakerRules::Window.to_string(), "a circuit breaker remembers 1 to 64 tries");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBreakerRules {
    /// With zero the first try that went well would open it.
    #[error("a circuit breaker opens after at least one attempt without a response")]
    Unreached,
    /// They are kept as bits of one number.
    #[error("a circuit breaker remembers 1 to 64 tries")]
    Window,
    /// Of so many in a hundred no window has more.
    #[error("a circuit breaker opens when more than 0 to 99 percent of its tries failed")]
    Percent,
    /// Without a wait a dead endpoint would be probed without end.
    #[error("a circuit breaker waits before each probe")]
    Wait,
}

impl EndpointBreakerRules {
    /// The rules, when a breaker can open by them and waits before it probes.
    ///
    /// # Errors
    /// [`InvalidBreakerRules`].
    pub const fn checked(self) -> Result<Self, InvalidBreakerRules> {
        if self.unreached_in_a_row == 0 {
            return Err(InvalidBreakerRules::Unreached);
        }
        if self.window == 0 || u64::BITS < self.window {
            return Err(InvalidBreakerRules::Window);
        }
        if 99 < self.failed_percent {
            return Err(InvalidBreakerRules::Percent);
        }
        if self.first_wait.is_zero() || self.longest_wait.is_zero() {
            return Err(InvalidBreakerRules::Wait);
        }
        Ok(self)
    }
}

impl Default for EndpointBreakerRules {
    /// Five in a row, or more than half of twenty; probes after 5 s, 10 s, 20 s and so on, at least every five minutes.
    fn default() -> Self {
        Self {
            unreached_in_a_row: 5,
            window: 20,
            failed_percent: 50,
            first_wait: Duration::from_secs(5),
            longest_wait: Duration::from_secs(300),
        }
    }
}

/// What a try says about the endpoint, whatever it says about the notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    /// It works, if only to refuse this notification.
    Well,
    /// It answers that it does not work.
    Failing,
    /// It gives no complete answer.
    Unreached,
}

impl Health {
    fn of(outcome: &AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Failed { .. } => Self::Unreached,
            AttemptOutcome::Answered { status: 408 | 429 | 500..=599, .. } => Self::Failing,
            AttemptOutcome::Answered { .. } => Self::Well,
        }
    }
}

/// A try that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried<'a> {
    /// What came of it.
    pub outcome: &'a AttemptOutcome,
    /// Whether it was the notification's first: one that is refused again and again tells of the endpoint once.
    pub first: bool,
    /// Whether it was the probe of an endpoint with an open breaker.
    pub probe: bool,
}

/// What may be sent to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerPermit {
    /// Everything.
    All,
    /// One notification as a probe. Before `at` nothing.
    ProbeAt {
        /// When.
        at: Timestamp,
    },
    /// One notification as a probe, as soon as one is due: the last probe found none.
    Next,
    /// Nothing: a probe is in flight.
    Nothing,
}

/// What a try changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// The breaker opened: only probes are sent.
    Opened,
    /// Nothing is sent for as long as it asked.
    Asked,
    /// A probe failed.
    StillOpen,
    /// It is back.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { since: Timestamp, wait: Duration, permit: BreakerPermit },
}

/// The circuit breaker of one endpoint. A state machine without a clock: every instant is an argument. The README has the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    state: State,
    unreached_in_a_row: u32,
    /// The last tries, the newest in the lowest bit; set for those that failed.
    failed: u64,
    seen: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed, unreached_in_a_row: 0, failed: 0, seen: 0 }
    }
}

impl Breaker {
    /// What may be sent now.
    pub const fn permit(&self) -> BreakerPermit {
        match self.state {
            State::Closed => BreakerPermit::All,
            State::Open { permit, .. } => permit,
        }
    }

    /// Since when only probes are sent; `None` while the breaker is closed.
    pub const fn open_since(&self) -> Option<Timestamp> {
        match self.state {
            State::Closed => None,
            State::Open { since, .. } => Some(since),
        }
    }

    /// Whether there is nothing in it that a new one would not know.
    pub const fn is_blank(&self) -> bool {
        matches!(self.state, State::Closed) && self.unreached_in_a_row == 0 && self.failed == 0
    }

    /// A probe begins. It ends with [`Breaker::tried`], [`Breaker::nothing_to_try`] or [`Breaker::not_tried`].
    pub const fn probe(&mut self) {
        if let State::Open { permit, .. } = &mut self.state {
            *permit = BreakerPermit::Nothing;
        }
    }

    /// The probe found no due notification. The next notification is the probe.
    pub const fn nothing_to_try(&mut self) {
        if let State::Open { permit: permit @ BreakerPermit::Nothing, .. } = &mut self.state {
            *permit = BreakerPermit::Next;
        }
    }

    /// The probe could not be made. The next one is due at `at`.
    pub const fn not_tried(&mut self, at: Timestamp) {
        if let State::Open { permit: permit @ BreakerPermit::Nothing, .. } = &mut self.state {
            *permit = BreakerPermit::ProbeAt { at };
        }
    }

    /// Records an attempt. `jitter_per_mille` spreads probes: −200 to 200 thousandths of the wait.
    pub fn tried(
        &mut self,
        rules: &EndpointBreakerRules,
        tried: Tried<'_>,
        now: Timestamp,
        jitter_per_mille: i32,
    ) -> Option<BreakerChange> {
        let health = Health::of(tried.outcome);
        match self.state {
            State::Open { .. } if health == Health::Well => {
                *self = Self::default();
                Some(BreakerChange::Closed)
            }
            State::Open { since, wait, .. } if tried.probe => {
                let wait = wait.saturating_mul(2).min(rules.longest_wait);
                self.open(rules, since, wait, asked_for(tried.outcome), now, jitter_per_mille);
                Some(BreakerChange::StillOpen)
            }
            // It was under way when the breaker opened and says nothing new.
            State::Open { .. } => None,
            State::Closed => {
                self.record(rules, health, tried.first);
                let asked = asked_for(tried.outcome);
                let dead = rules.unreached_in_a_row <= self.unreached_in_a_row || self.is_failing(rules);
                if !dead && asked.is_zero() {
                    return None;
                }
                let wait = if dead { rules.first_wait } else { Duration::ZERO };
                self.open(rules, now, wait, asked, now, jitter_per_mille);
                Some(if dead { BreakerChange::Opened } else { BreakerChange::Asked })
            }
        }
    }

    fn open(
        &mut self,
        rules: &EndpointBreakerRules,
        since: Timestamp,
        wait: Duration,
        asked: Duration,
        now: Timestamp,
        jitter_per_mille: i32,
    ) {
        let at = now.plus(jittered(wait, jitter_per_mille).max(asked).min(rules.longest_wait));
        // A wait that was only asked for does not grow from what was asked.
        let wait = wait.max(rules.first_wait / 2);
        self.state = State::Open { since, wait, permit: BreakerPermit::ProbeAt { at } };
    }

    fn record(&mut self, rules: &EndpointBreakerRules, health: Health, first: bool) {
        self.unreached_in_a_row =
            if health == Health::Unreached { self.unreached_in_a_row.saturating_add(1) } else { 0 };
        if health == Health::Failing && !first {
            return;
        }
        let window = rules.window.clamp(1, u64::BITS);
        let all = u64::MAX >> (u64::BITS - window);
        self.failed = (self.failed << 1 | u64::from(health != Health::Well)) & all;
        self.seen = (self.seen + 1).min(window);
    }

    fn is_failing(&self, rules: &EndpointBreakerRules) -> bool {
        let window = rules.window.clamp(1, u64::BITS);
        // Its newest try failed, too: one that went well is no reason to open.
        window <= self.seen
            && self.failed & 1 == 1
            && window.saturating_mul(rules.failed_percent) < self.failed.count_ones().saturating_mul(100)
    }
}

/// The serialized form before it is checked.
#[cfg(feature = "serde")]
mod serialized {
    use std::time::Duration;

    use super::{EndpointBreakerRules, InvalidBreakerRules};

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase", deny_unknown_fields)]
    pub(super) struct StoredRules {
        unreached_in_a_row: u32,
        window: u32,
        failed_percent: u32,
        #[serde(with = "dropin_kernel::span_text")]
        first_wait: Duration,
        #[serde(with = "dropin_kernel::span_text")]
        longest_wait: Duration,
    }

    impl TryFrom<StoredRules> for EndpointBreakerRules {
        type Error = InvalidBreakerRules;

        fn try_from(stored: StoredRules) -> Result<Self, InvalidBreakerRules> {
            let StoredRules { unreached_in_a_row, window, failed_percent, first_wait, longest_wait } = stored;
            Self { unreached_in_a_row, window, failed_percent, first_wait, longest_wait }.checked()
        }
    }
}

#[cfg(test)]
mod tests;
