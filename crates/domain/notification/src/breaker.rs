use std::time::Duration;

use dropin_kernel::Timestamp;

use crate::schedule::{AttemptOutcome, asked_for, jittered};

/// When an endpoint is taken for dead, and how often it is looked at then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// So many tries in a row without a complete answer, and it is taken for dead.
    pub unreached_in_a_row: u32,
    /// So many of its last tries are remembered; 1 to 64.
    pub window: u32,
    /// It is taken for dead when more than so many in a hundred of those failed.
    pub failed_percent: u32,
    /// How long nothing is sent before the first look; doubled each time a look fails.
    pub first_wait: Duration,
    /// Longest such wait, jitter included.
    pub longest_wait: Duration,
}

impl Default for BreakerRules {
    /// Five in a row, or more than half of twenty; looks after 5 s, 10 s, 20 s and so on, at least every five minutes.
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
    /// Whether it was the look whether the endpoint is back.
    pub probe: bool,
}

/// What may be sent to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Everything.
    All,
    /// One notification, to look whether it is back. Before `at` nothing.
    ProbeAt {
        /// When.
        at: Timestamp,
    },
    /// One notification, as soon as there is any: the last look found nothing to send.
    Next,
    /// Nothing: a look is under way.
    Nothing,
}

/// What a try changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing is sent from now on but looks: it answers nothing, or errors only.
    Opened,
    /// Nothing is sent for as long as it asked.
    Asked,
    /// A look was in vain.
    StillOpen,
    /// It is back.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { since: Timestamp, wait: Duration, passage: Passage },
}

/// The guard in front of one endpoint. A state machine without a clock: every instant is an argument. The README has the rule.
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
    pub const fn passage(&self) -> Passage {
        match self.state {
            State::Closed => Passage::All,
            State::Open { passage, .. } => passage,
        }
    }

    /// Since when nothing is sent but looks; `None` while everything is.
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

    /// A look is made from now on. It ends with [`Breaker::tried`], [`Breaker::nothing_to_try`] or [`Breaker::not_tried`].
    pub const fn probe(&mut self) {
        if let State::Open { passage, .. } = &mut self.state {
            *passage = Passage::Nothing;
        }
    }

    /// The look found nothing that is due. What comes next is the look.
    pub const fn nothing_to_try(&mut self) {
        if let State::Open { passage: passage @ Passage::Nothing, .. } = &mut self.state {
            *passage = Passage::Next;
        }
    }

    /// The look could not be made. The next one is made at `at`.
    pub const fn not_tried(&mut self, at: Timestamp) {
        if let State::Open { passage: passage @ Passage::Nothing, .. } = &mut self.state {
            *passage = Passage::ProbeAt { at };
        }
    }

    /// Learns from a try. `jitter_per_mille` spreads looks: −200 to 200 thousandths of the wait.
    pub fn tried(
        &mut self,
        rules: &BreakerRules,
        tried: Tried<'_>,
        now: Timestamp,
        jitter_per_mille: i32,
    ) -> Option<Change> {
        let health = Health::of(tried.outcome);
        match self.state {
            State::Open { .. } if health == Health::Well => {
                *self = Self::default();
                Some(Change::Closed)
            }
            State::Open { since, wait, .. } if tried.probe => {
                let wait = wait.saturating_mul(2).min(rules.longest_wait);
                self.open(rules, since, wait, asked_for(tried.outcome), now, jitter_per_mille);
                Some(Change::StillOpen)
            }
            // It was under way when the breaker opened and says nothing new.
            State::Open { .. } => None,
            State::Closed => {
                self.remember(rules, health, tried.first);
                let asked = asked_for(tried.outcome);
                let dead = rules.unreached_in_a_row <= self.unreached_in_a_row || self.is_failing(rules);
                if !dead && asked.is_zero() {
                    return None;
                }
                let wait = if dead { rules.first_wait } else { Duration::ZERO };
                self.open(rules, now, wait, asked, now, jitter_per_mille);
                Some(if dead { Change::Opened } else { Change::Asked })
            }
        }
    }

    fn open(
        &mut self,
        rules: &BreakerRules,
        since: Timestamp,
        wait: Duration,
        asked: Duration,
        now: Timestamp,
        jitter_per_mille: i32,
    ) {
        let at = now.plus(jittered(wait, jitter_per_mille).max(asked).min(rules.longest_wait));
        // A wait that was only asked for does not grow from what was asked.
        let wait = wait.max(rules.first_wait / 2);
        self.state = State::Open { since, wait, passage: Passage::ProbeAt { at } };
    }

    fn remember(&mut self, rules: &BreakerRules, health: Health, first: bool) {
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

    fn is_failing(&self, rules: &BreakerRules) -> bool {
        let window = rules.window.clamp(1, u64::BITS);
        // Its newest try failed, too: one that went well is no reason to open.
        window <= self.seen
            && self.failed & 1 == 1
            && window.saturating_mul(rules.failed_percent) < self.failed.count_ones().saturating_mul(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    const START: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

    fn at(seconds: u64) -> Timestamp {
        START.plus(Duration::from_secs(seconds))
    }

    const fn answered(status: u16) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: None }
    }

    fn asked(status: u16, seconds: u64) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: Some(Duration::from_secs(seconds)) }
    }

    const LATE: AttemptOutcome = AttemptOutcome::Failed { why: Failure::Late };

    /// First tries, one a second.
    fn after(tries: &[AttemptOutcome]) -> (Breaker, Vec<Option<Change>>) {
        let mut breaker = Breaker::default();
        let changes = (0..).zip(tries).map(|(second, outcome)| {
            breaker.tried(&BreakerRules::default(), Tried { outcome, first: true, probe: false }, at(second), 0)
        });
        let changes = changes.collect();
        (breaker, changes)
    }

    fn probe(breaker: &mut Breaker, outcome: &AttemptOutcome, second: u64) -> Option<Change> {
        breaker.probe();
        assert_eq!(breaker.passage(), Passage::Nothing, "one look at a time");
        breaker.tried(&BreakerRules::default(), Tried { outcome, first: false, probe: true }, at(second), 0)
    }

    #[test]
    fn what_takes_an_endpoint_for_dead() {
        let (ok, error, refusal) = (answered(200), answered(500), answered(404));
        let times = |outcome: &AttemptOutcome, times| vec![outcome.clone(); times];
        let half = |bad: &AttemptOutcome| [times(bad, 10), times(&ok, 9)].concat();
        for (what, tries, opens) in [
            ("five in a row without an answer", times(&LATE, 5), true),
            ("four", times(&LATE, 4), false),
            ("four, an answer, four", [times(&LATE, 4), times(&error, 1), times(&LATE, 4)].concat(), false),
            ("eleven errors of twenty", [half(&error), times(&error, 1)].concat(), true),
            ("ten errors of twenty", [times(&ok, 10), times(&error, 10)].concat(), false),
            ("errors only, before there are twenty", times(&error, 19), false),
            ("errors only", times(&error, 20), true),
            ("503 only", times(&answered(503), 20), true),
            ("429 only", times(&answered(429), 20), true),
            ("refusals only: it is there", times(&refusal, 40), false),
            ("gone, says somebody who is there", times(&answered(410), 40), false),
            ("redirects only", times(&answered(302), 40), false),
            ("errors of long ago", [times(&error, 10), times(&ok, 20), times(&error, 10)].concat(), false),
        ] {
            let (breaker, changes) = after(&tries);
            assert_eq!(changes.last(), Some(&opens.then_some(Change::Opened)), "{what}");
            assert!(changes.iter().rev().skip(1).all(Option::is_none), "{what}: {changes:?}");
            assert_eq!(breaker.open_since().is_some(), opens, "{what}");
        }
    }

    #[test]
    fn a_notification_that_fails_again_and_again_tells_of_the_endpoint_once() {
        let mut breaker = Breaker::default();
        let rules = BreakerRules::default();
        let mut tell = |outcome, first| breaker.tried(&rules, Tried { outcome, first, probe: false }, START, 0);
        let (ok, error) = (answered(200), answered(500));
        for _ in 0..10 {
            assert_eq!(tell(&ok, true), None);
            assert_eq!(tell(&error, true), None);
        }
        for _ in 0..100 {
            assert_eq!(tell(&error, false), None);
        }
        assert_eq!(tell(&LATE, false), Some(Change::Opened), "no answer always counts: eleven of the last twenty");
    }

    #[test]
    fn looks_come_later_and_later_and_a_200_ends_them() {
        let (mut breaker, _) = after(&vec![LATE; 5]);
        let mut now = 4;
        for wait in [5, 10, 20, 40, 80, 160, 300, 300] {
            assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(now + wait) });
            now += wait;
            assert_eq!(probe(&mut breaker, &LATE, now), Some(Change::StillOpen));
        }
        assert_eq!(breaker.open_since(), Some(at(4)));
        assert_eq!(probe(&mut breaker, &answered(200), now + 300), Some(Change::Closed));
        assert_eq!(breaker, Breaker::default(), "it begins anew");
        assert!(breaker.is_blank());
    }

    #[test]
    fn what_closes_it_and_what_does_not() {
        for (outcome, closes) in [
            (answered(200), true),
            (answered(404), true),
            (answered(500), false),
            (answered(503), false),
            (LATE, false),
        ] {
            for is_probe in [true, false] {
                let (mut breaker, _) = after(&vec![LATE; 5]);
                let tried = Tried { outcome: &outcome, first: true, probe: is_probe };
                let change = breaker.tried(&BreakerRules::default(), tried, at(9), 0);
                let expected = match (closes, is_probe) {
                    (true, _) => Some(Change::Closed),
                    (false, true) => Some(Change::StillOpen),
                    (false, false) => None,
                };
                assert_eq!(change, expected, "{outcome:?}, probe {is_probe}");
                assert_eq!(breaker.open_since().is_none(), closes);
            }
        }
    }

    #[test]
    fn a_look_that_finds_nothing_waits_for_what_comes() {
        let (mut breaker, _) = after(&vec![LATE; 5]);
        breaker.probe();
        breaker.nothing_to_try();
        assert_eq!(breaker.passage(), Passage::Next);
        assert_eq!(probe(&mut breaker, &LATE, 1_000), Some(Change::StillOpen));
        assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(1_010) });
        breaker.probe();
        breaker.not_tried(at(1_011));
        assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(1_011) }, "the store was away");
        breaker.nothing_to_try();
        assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(1_011) }, "no look was under way");
    }

    #[test]
    fn an_endpoint_is_left_alone_for_as_long_as_it_asks() {
        for (outcome, seconds) in
            [(asked(429, 30), 30), (asked(503, 1), 1), (asked(503, 86_400), 300), (asked(429, 86_400), 300)]
        {
            let (mut breaker, changes) = after(&[outcome]);
            assert_eq!(changes, [Some(Change::Asked)]);
            assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(seconds) });
            assert_eq!(probe(&mut breaker, &LATE, seconds), Some(Change::StillOpen));
            assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(seconds + 5) }, "and then it begins as usual");
        }
        for outcome in [asked(500, 30), asked(200, 30), asked(429, 0)] {
            assert_eq!(after(&[outcome]).1, [None]);
        }
    }

    #[test]
    fn no_wait_is_longer_than_the_longest() {
        for (jitter, wait) in [(-200, 240), (0, 300), (1, 300), (200, 300)] {
            let (mut breaker, _) = after(&vec![LATE; 5]);
            for _ in 0..7 {
                probe(&mut breaker, &LATE, 9);
            }
            breaker.probe();
            let tried = Tried { outcome: &LATE, first: false, probe: true };
            breaker.tried(&BreakerRules::default(), tried, at(1_000), jitter);
            assert_eq!(breaker.passage(), Passage::ProbeAt { at: at(1_000 + wait) }, "jitter {jitter}");
        }
    }

    #[test]
    fn looks_are_spread() {
        for (jitter, micros) in [(-1_000, 4_000_000), (0, 5_000_000), (100, 5_500_000), (1_000, 6_000_000)] {
            let mut breaker = Breaker::default();
            let tried = Tried { outcome: &LATE, first: true, probe: false };
            let rules = BreakerRules { unreached_in_a_row: 1, ..BreakerRules::default() };
            assert_eq!(breaker.tried(&rules, tried, START, jitter), Some(Change::Opened));
            assert_eq!(breaker.passage(), Passage::ProbeAt { at: START.plus(Duration::from_micros(micros)) });
        }
    }
}
